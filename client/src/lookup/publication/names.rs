//! The names of the persons and bodies that are responsible for a publication, in the forms that are compared and
//! searched for.

use z3950_marc::fold::{folded, is_written_without_blanks};
use z3950_marc::{Field, MarcRecord};

use super::fields::{Places, fields, text};

/// The maximum number of names in a record that are compared. Like the maximum numbers of characters below, it bounds
/// the work for a record of any size that a server may send.
const MOST_NAMES: usize = 50;
const MOST_OF_HEADING: usize = 200;
const MOST_OF_RESPONSIBILITY: usize = 2_000;
const MOST_OF_TERM: usize = 60;

/// The names of the persons and bodies responsible for a publication, as they appear in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Authors {
    /// The main entries, in each script, followed by the added entries.
    names: Vec<Name>,
    /// The statements of responsibility, folded.
    responsibility: String,
}

/// A name of a person or body.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    shown: String,
    /// The surname of a person, or the name of a body, in the form that is searched for.
    term: String,
    /// The text of `term`, folded.
    surname: String,
    /// The first letter of the forename.
    initial: Option<char>,
    /// All words of the name, folded.
    whole: String,
}

/// The degree to which the names of two records agree, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AuthorMatch {
    /// At least one name is the same.
    Agrees,
    /// One record has no name, or no name in the script of the other record.
    Unknown,
    /// The surname is the same, but the forename begins with a different letter.
    OtherForename,
}

impl Authors {
    /// Reads the names of a record.
    pub(super) fn of(record: &MarcRecord, places: &Places) -> Self {
        let tags = places.main_entries.iter().chain(places.added_entries);
        let names = tags.flat_map(|tag| {
            let is_person = matches!(*tag, [_, b'0', b'0'..=b'2'] | b"720");
            let names = fields(record, tag).into_iter();
            names.filter_map(move |field| Name::of(field, is_person, places.is_marc_21))
        });
        let titles = places.titles(record).into_iter();
        let said = titles
            .map(|title| places.responsibility(title))
            .collect::<Vec<_>>()
            .join(" ");
        let begin: String = said.chars().take(MOST_OF_RESPONSIBILITY).collect();
        Self {
            names: names.take(MOST_NAMES).collect(),
            responsibility: folded(&begin),
        }
    }

    /// Returns the first name in the form that is shown.
    pub(super) fn shown(&self) -> Option<&str> {
        self.names.first().map(|name| &*name.shown)
    }

    /// Returns the first name in the form that is searched for.
    pub(super) fn term(&self) -> Option<&str> {
        self.names.first().map(|name| &*name.term)
    }

    /// Compares the names of two records. Returns `None` if the names can be compared and no two of them are the same.
    pub(super) fn compare(&self, other: &Self) -> Option<AuthorMatch> {
        let pairs = self
            .names
            .iter()
            .flat_map(|one| other.names.iter().map(move |two| one.compare(two)));
        let said = said_in(&self.names, &other.responsibility)
            .chain(said_in(&other.names, &self.responsibility));
        let mut comparisons = pairs.chain(said).peekable();
        if comparisons.peek().is_none() {
            return Some(AuthorMatch::Unknown);
        }
        // Names in different scripts are not comparable.
        let mut is_comparable = false;
        let mut best = None;
        for comparison in comparisons {
            is_comparable |= comparison != Comparison::OtherScript;
            if let Comparison::Same(found) = comparison {
                best = Some(best.map_or(found, |best: AuthorMatch| best.min(found)));
            }
        }
        best.or((!is_comparable).then_some(AuthorMatch::Unknown))
    }

    /// Returns a key that is the same for equal names.
    pub(super) fn key(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(|name| &*name.whole).collect();
        format!("{}; {}", names.join(", "), self.responsibility)
    }
}

/// The result of comparing one name with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Same(AuthorMatch),
    Different,
    OtherScript,
}

impl Name {
    /// Reads a heading. Returns `None` if it contains neither a letter nor a digit.
    fn of(field: &Field, is_person: bool, is_marc_21: bool) -> Option<Self> {
        let part = |code: &str| {
            let text = field.subfield(code).map(text).unwrap_or_default();
            text.chars().take(MOST_OF_HEADING).collect::<String>()
        };
        let heading = part("a");
        let is_inverted = field.indicators().first() != Some(&b'0');
        let (surname, forename) = if !is_person {
            (heading.clone(), String::new())
        } else if !is_marc_21 {
            (heading.clone(), part("b"))
        } else if let Some((surname, forename)) = heading.split_once(',') {
            (surname.to_owned(), forename.to_owned())
        } else if is_inverted && !heading.contains(is_written_without_blanks) {
            let (forename, surname) = heading.rsplit_once(' ').unwrap_or(("", &heading));
            (surname.to_owned(), forename.to_owned())
        } else {
            (heading.clone(), String::new())
        };
        let whole = folded(&format!("{heading} {forename}"));
        let surname = surname.trim_matches(|mark: char| !mark.is_alphanumeric() && mark != ')');
        let folded_surname = folded(surname);
        if folded_surname.is_empty() {
            return None;
        }
        let shown =
            [heading.as_str(), part("b").as_str()].join(if is_marc_21 { " " } else { ", " });
        Some(Self {
            shown: shown.trim_end_matches([' ', ',', '.']).to_owned(),
            term: surname.chars().take(MOST_OF_TERM).collect(),
            surname: folded_surname,
            initial: folded(&forename).chars().next(),
            whole,
        })
    }

    fn compare(&self, other: &Self) -> Comparison {
        if is_latin(&self.surname) != is_latin(&other.surname) {
            return Comparison::OtherScript;
        }
        if !has_name(&self.whole, &other.surname) && !has_name(&other.whole, &self.surname) {
            return Comparison::Different;
        }
        Comparison::Same(match (self.initial, other.initial) {
            (Some(one), Some(other)) if one != other => AuthorMatch::OtherForename,
            _ => AuthorMatch::Agrees,
        })
    }
}

/// Compares each name with a statement of responsibility. Yields nothing if the statement is empty.
fn said_in(names: &[Name], responsibility: &str) -> impl Iterator<Item = Comparison> {
    let names = names.iter().filter(|_| !responsibility.is_empty());
    names.map(move |name| {
        if is_latin(&name.surname) != is_latin(responsibility) {
            Comparison::OtherScript
        } else if has_name(responsibility, &name.surname) {
            Comparison::Same(AuthorMatch::Agrees)
        } else {
            Comparison::Different
        }
    })
}

/// Returns whether folded text contains all words of a folded name. A name in ideographs may also be a part of a longer
/// word.
fn has_name(text: &str, name: &str) -> bool {
    if name.contains(is_written_without_blanks) {
        return text.contains(name);
    }
    let words: Vec<&str> = text.split(' ').collect();
    name.split(' ').all(|word| words.contains(&word))
}

/// Returns whether the first letter of folded text is Latin. Text without letters counts as Latin.
fn is_latin(folded: &str) -> bool {
    let first = folded.chars().find(|letter| letter.is_alphabetic());
    first.is_none_or(|first| first.is_ascii())
}

#[cfg(test)]
mod tests {
    use z3950_marc::mrk;

    use super::*;

    fn authors(lines: &str) -> Authors {
        let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
        let records = mrk::parse_all(&text).expect("a record");
        let record = records.first().expect("a record");
        Authors::of(record, Places::of(record))
    }

    #[test]
    fn r_b9_names_as_terms() {
        for (lines, term, shown) in [
            (
                "=100  1\\$aAusten, Jane,$d1775-1817.",
                "Austen",
                "Austen, Jane",
            ),
            ("=100  1\\$aJane Austen", "Austen", "Jane Austen"),
            ("=100  0\\$aThomas,$cAquinas, Saint", "Thomas", "Thomas"),
            ("=100  0\\$aJohn Paul", "John Paul", "John Paul"),
            (
                "=100  1\\$aVan Gogh, Vincent",
                "Van Gogh",
                "Van Gogh, Vincent",
            ),
            (
                "=110  2\\$aUnited Nations.",
                "United Nations",
                "United Nations",
            ),
            ("=100  1\\$a曹雪芹", "曹雪芹", "曹雪芹"),
            (
                "=700  1\\$aMaude, Aylmer,$etranslator.",
                "Maude",
                "Maude, Aylmer",
            ),
            ("=880  1\\$6100-01/$1$a曹雪芹,", "曹雪芹", "曹雪芹"),
            (
                "=200  1\\$aUn\n=700  \\1$aCamus$bAlbert",
                "Camus",
                "Camus, Albert",
            ),
            ("=100  1\\$a...", "", ""),
        ] {
            let found = authors(lines);
            let found = (
                found.term().unwrap_or_default(),
                found.shown().unwrap_or_default(),
            );
            assert_eq!(found, (term, shown), "{lines}");
        }
    }

    #[test]
    fn r_b9_names_agree_or_differ() {
        use AuthorMatch::{Agrees, OtherForename, Unknown};
        let austen = "=100  1\\$aAusten, Jane,$d1775-1817.";
        let many = "=700  1\\$aSmith, J.\n".repeat(3_000);
        for (one, other, expected) in [
            (austen, "=100  1\\$aAUSTEN, J.", Some(Agrees)),
            (austen, "=100  1\\$aJane Austen", Some(Agrees)),
            (austen, "=100  1\\$aAusten, Sarah", Some(OtherForename)),
            (
                austen,
                "=100  1\\$aShelley, Mary\n=700  1\\$aAusten, Jane",
                Some(Agrees),
            ),
            (austen, "=100  1\\$aShelley, Mary", None),
            (austen, "", Some(Unknown)),
            ("", "", Some(Unknown)),
            (austen, "=245  10$aEmma /$cby Jane Austen.", Some(Agrees)),
            (austen, "=245  10$aEmma /$cby the Brontë sisters.", None),
            (
                "=245  10$aEmma /$cby Austen.",
                "=245  10$aEmma",
                Some(Unknown),
            ),
            (austen, "=100  1\\$aОстин, Джейн", Some(Unknown)),
            (
                "=100  1\\$a曹雪芹",
                "=245  10$a紅樓夢 /$c曹雪芹著.",
                Some(Agrees),
            ),
            (
                "=100  1\\$aGarcía Márquez, Gabriel",
                "=100  1\\$aGarcia Marquez, G.",
                Some(Agrees),
            ),
            (
                "=110  2\\$aUnited Nations.",
                "=110  2\\$aUnited Nations.$bOffice",
                Some(Agrees),
            ),
            (austen, &many, None),
        ] {
            let [one, other] = [one, other].map(authors);
            assert_eq!(one.compare(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.compare(&one), expected, "{one:?} {other:?}");
        }
    }
}
