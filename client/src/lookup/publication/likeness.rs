//! Chooses the record that is most similar to another record. Its title must be the same, and its author must not
//! conflict. Among the records that meet these conditions, the author, the kind of material, the year and the subtitle
//! decide, in this order.

use super::Publication;
use super::names::AuthorMatch;
use super::title::TitleMatch;

/// The maximum number of records that are named in a message.
const MOST_NAMED: usize = 5;

/// The similarity of a record to the wanted publication. A more similar record compares as less, and the first field in
/// which two likenesses differ decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Likeness {
    author: AuthorMatch,
    material: MaterialMatch,
    year: YearMatch,
    title: TitleMatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MaterialMatch {
    Same,
    Unknown,
    Other,
}

/// The difference between two years of publication, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum YearMatch {
    Same,
    /// The years differ by one. This is a better match than a greater difference, because catalogues often differ by
    /// one year.
    Next,
    Unknown,
    Other(u16),
}

/// The records that are most similar to a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The indexes of the chosen records. If there are several, they are equally similar.
    pub(crate) places: Vec<usize>,
    pub(crate) likeness: Likeness,
    /// The number of records with the same title and no conflicting author.
    fitting: usize,
    /// The reason for the choice, such as `b1 chosen because its title, author and year agree`.
    reason: String,
    /// The differences between the chosen record and the publication, such as `its year is 1995, not 1813`, or `None`
    /// if there are none.
    pub(crate) doubt: Option<String>,
}

impl Likeness {
    /// Returns whether a more similar record may exist, because the year of this record differs or is unknown.
    pub(crate) fn may_be_exceeded(&self) -> bool {
        self.year > YearMatch::Next
    }
}

impl Choice {
    /// Describes the choice in words, given the number of matching records and the number of records that were
    /// compared.
    pub(crate) fn in_words(&self, hits: u64, compared: u64) -> String {
        let hits = match (hits, compared) {
            (1, _) => "1 hit".to_owned(),
            (hits, compared) if compared < hits => format!("the first {compared} of {hits} hits"),
            (hits, _) => format!("{hits} hits"),
        };
        let fitting = match self.fitting {
            0 | 1 => String::new(),
            fitting => format!(", {fitting} with this title"),
        };
        format!("by title: {hits}{fitting}, {}", self.reason)
    }
}

impl Publication {
    /// Compares the publication with `found`, the publication in a record. Returns `None` if they are different
    /// publications.
    fn likeness(&self, found: &Self) -> Option<Likeness> {
        let pairs = self
            .titles
            .iter()
            .flat_map(|one| found.titles.iter().map(move |two| one.compare(two)));
        Some(Likeness {
            title: pairs.flatten().min()?,
            author: self.authors.compare(&found.authors)?,
            material: match (self.material, found.material) {
                (Some(one), Some(other)) if one == other => MaterialMatch::Same,
                (Some(_), Some(_)) => MaterialMatch::Other,
                _ => MaterialMatch::Unknown,
            },
            year: match (self.year, found.year) {
                (Some(one), Some(other)) => match one.abs_diff(other) {
                    0 => YearMatch::Same,
                    1 => YearMatch::Next,
                    distance => YearMatch::Other(distance),
                },
                _ => YearMatch::Unknown,
            },
        })
    }

    /// Chooses the records that are most similar to this publication. Returns `None` if no record has the same title.
    /// In `found`, a record without a title is `None`.
    pub(crate) fn choose(&self, found: &[Option<Self>]) -> Option<Choice> {
        let mut alike: Vec<(usize, &Self, Likeness)> = Vec::new();
        for (place, found) in found.iter().enumerate() {
            let likeness = found
                .as_ref()
                .and_then(|found| Some((found, self.likeness(found)?)));
            alike.extend(likeness.map(|(found, likeness)| (place, found, likeness)));
        }
        // The sort is stable, so the first of equal records stays first.
        alike.sort_by_key(|(_, _, likeness)| *likeness);
        let (_, first, likeness) = *alike.first()?;
        let equal = alike.iter().take_while(|(_, _, other)| *other == likeness);
        let places: Vec<usize> = equal.map(|(place, _, _)| *place).collect();
        let reason = match (places.as_slice(), alike.get(1)) {
            ([place], Some((other, second, unlike))) => {
                let (name, other) = (first.name(*place), second.name(*other));
                let reason = self.difference(first, likeness, second, *unlike, &other);
                format!("{name} chosen because {reason}")
            }
            ([place], None) => {
                let name = first.name(*place);
                format!("{name} chosen because {}", self.agreement(likeness))
            }
            _ => {
                let all = alike.iter().take(places.len());
                let names: Vec<String> = all.map(|(place, found, _)| found.name(*place)).collect();
                format!("{} agree alike", listed(&names))
            }
        };
        Some(Choice {
            fitting: alike.len(),
            doubt: self.doubt(first, likeness),
            places,
            likeness,
            reason,
        })
    }

    fn name(&self, place: usize) -> String {
        match &self.control_number {
            Some(number) => number.clone(),
            None => format!("record {}", place + 1),
        }
    }

    /// Describes which parts agree, if a record is the only one with the title.
    fn agreement(&self, likeness: Likeness) -> String {
        let author = likeness.author == AuthorMatch::Agrees;
        let year = likeness.year <= YearMatch::Next;
        let what = match (author, year) {
            (true, true) => "its title, author and year agree",
            (true, false) => "its title and author agree",
            (false, true) => "its title and year agree",
            (false, false) => "its title agrees",
        };
        what.to_owned()
    }

    /// Describes in which respect the first record is more similar than the second, which is called `name`.
    fn difference(
        &self,
        first: &Self,
        likeness: Likeness,
        second: &Self,
        other: Likeness,
        name: &str,
    ) -> String {
        let year = |found: &Self| match found.year {
            Some(year) => year.to_string(),
            None => "unknown".to_owned(),
        };
        if likeness.author != other.author {
            match other.author {
                AuthorMatch::OtherForename => format!("the author of {name} has another forename"),
                _ => format!("its author agrees, that of {name} is unknown"),
            }
        } else if likeness.material != other.material {
            format!("it is of the same kind, {name} is not")
        } else if likeness.year != other.year {
            format!(
                "its year is {}, that of {name} is {}",
                year(first),
                year(second)
            )
        } else {
            format!("its whole title agrees, that of {name} in part")
        }
    }

    /// Describes the differences between the publication and the chosen record. Returns `None` if there are none.
    fn doubt(&self, found: &Self, likeness: Likeness) -> Option<String> {
        let mut doubts = Vec::new();
        if let (AuthorMatch::OtherForename, Some(author)) = (likeness.author, found.authors.shown())
        {
            doubts.push(format!("its author is {author}"));
        }
        // If both records have names that could not be compared, the names are in different scripts.
        if let (AuthorMatch::Unknown, Some(author)) = (likeness.author, found.authors.shown())
            && self.authors.shown().is_some()
        {
            doubts.push(format!("its author is {author}, in another script"));
        }
        if likeness.material == MaterialMatch::Other {
            doubts.push("it is of another kind of material".to_owned());
        }
        if let (YearMatch::Other(_), Some(found), Some(wanted)) =
            (likeness.year, found.year, self.year)
        {
            doubts.push(format!("its year is {found}, not {wanted}"));
        }
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }
}

/// Joins names into a list such as `b1, b2 and b3`, with at most [`MOST_NAMED`] of them.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, before)) if names.len() <= MOST_NAMED && !before.is_empty() => {
            format!("{} and {last}", before.join(", "))
        }
        _ => {
            let shown = names.get(..MOST_NAMED).unwrap_or(names);
            let more = names.len() - shown.len();
            format!("{} and {more} more", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::mrk;

    use super::*;

    fn publication(text: &str) -> Option<Publication> {
        // `id | author | title | year | leader/06-07`
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        let [id, author, title, year, kind] = parts.as_slice() else {
            panic!("{text}");
        };
        let text = format!(
            "=LDR  00000n{kind} a2200000 a 4500\n=001  {id}\n=100  1\\$a{author}\n=245  00$a{title}\n=260  \\\\$c{year}\n"
        );
        let records = mrk::parse_all(&text).expect(&text);
        Publication::of(records.first().expect("a record"))
    }

    const EMMA: &str = "o1|Austen, Jane|Emma|1816|am";

    #[test]
    fn r_b9_the_most_similar_record_is_chosen_and_the_choice_reported() {
        for (wanted, found, expected) in [
            (
                EMMA,
                &[
                    "b1|Austen, Jane|Persuasion|1816|am",
                    "b2|Shelley, Mary|Emma|1816|am",
                ][..],
                "",
            ),
            (
                EMMA,
                &["b1|Austen, Jane|Emma|1816|am"],
                "by title: 1 hit, b1 chosen because its title, author and year agree",
            ),
            (
                EMMA,
                &[
                    "b1|Austen, Jane|Emma|1995|am",
                    "b2|Austen, J.|Emma.|[1817]|am",
                    "b3|Austen, Jane|Emma and more|1816|am",
                ],
                "by title: 3 hits, 2 with this title, b2 chosen because its year is 1817, that of b1 is 1995",
            ),
            (
                EMMA,
                &["b1|Austen, Jane|Emma|1995|am"],
                "by title: 1 hit, b1 chosen because its title and author agree; doubt: its year is 1995, not 1816",
            ),
            (
                EMMA,
                &["b1|...|Emma|1816|am", "b2|Austen, Jane|Emma||am"],
                "by title: 2 hits, 2 with this title, b2 chosen because its author agrees, that of b1 is unknown",
            ),
            (
                EMMA,
                &[
                    "b1|Austen, Jane|Emma|1816|im",
                    "b2|Austen, Jane|Emma|1990|am",
                ],
                "by title: 2 hits, 2 with this title, b2 chosen because it is of the same kind, b1 is not; doubt: its year is 1990, not 1816",
            ),
            (
                EMMA,
                &["b1|漢字太郎|Emma|1816|am"],
                "by title: 1 hit, b1 chosen because its title and year agree; doubt: its author is 漢字太郎, in another script",
            ),
            (
                EMMA,
                &["b1|Austen, Sarah|Emma|1816|am"],
                "by title: 1 hit, b1 chosen because its title and year agree; doubt: its author is Austen, Sarah",
            ),
            (
                EMMA,
                &["b1|Austen, Jane|Emma|1816|am", "|Austen, Jane|Emma|1816|am"],
                "by title: 2 hits, 2 with this title, b1 and record 2 agree alike",
            ),
            (
                "o2|...|Emma||am",
                &["b1|Austen, Jane|Emma|1995|am"],
                "by title: 1 hit, b1 chosen because its title agrees",
            ),
        ] {
            let wanted = publication(wanted).expect("a title");
            let found: Vec<_> = found.iter().map(|text| publication(text)).collect();
            let hits = found.len() as u64;
            let told = wanted.choose(&found).map(|choice| {
                let doubt = choice
                    .doubt
                    .as_ref()
                    .map(|doubt| format!("; doubt: {doubt}"));
                choice.in_words(hits, hits) + &doubt.unwrap_or_default()
            });
            assert_eq!(told.unwrap_or_default(), expected, "{found:?}");
        }
    }

    #[test]
    fn r_b9_of_many_equal_records_few_are_named() {
        let wanted = publication(EMMA).expect("a title");
        let found: Vec<_> = (0..50).map(|_| publication(EMMA)).collect();
        let choice = wanted.choose(&found).expect("a choice");
        assert_eq!(choice.places.len(), 50);
        assert_eq!(
            choice.in_words(230, 50),
            "by title: the first 50 of 230 hits, 50 with this title, o1, o1, o1, o1, o1 and 45 more agree alike"
        );
        assert!(wanted.choose(&[None, None]).is_none());
    }

    /// Checks that comparison takes little time for any record that a server may send, because it does not compare the
    /// words of long texts pairwise.
    #[test]
    fn r_b9_long_records_are_compared_quickly() {
        let words = |begin: char| {
            let words = (0..20_000).map(|number| format!("{begin}{number} "));
            words.collect::<String>()
        };
        let [one, other] = ['a', 'b'].map(|begin| {
            let names = words(begin);
            let responsibility = words('r');
            let text = format!("o1|{names}, X|Emma :$b{names} /$c{responsibility}|1816|am");
            publication(&text)
        });
        let wanted = one.clone().expect("a title");
        let found: Vec<_> = (0..20).map(|_| other.clone()).collect();
        assert!(wanted.choose(&found).is_none());
        assert_eq!(
            wanted.choose(&[one]).map(|choice| choice.places.len()),
            Some(1)
        );
    }

    #[test]
    fn r_b9_any_record_is_a_publication_or_none() {
        let long = "x ".repeat(45_000);
        for (text, expected) in [
            (EMMA, Some("Emma / Austen, Jane, 1816")),
            ("o1|...|???|1816|am", None),
            ("o1||||am", None),
            (&format!("o1|Austen|{long}|1816|am"), Some("")),
            ("o1||紅樓夢 / 曹雪芹|[1980]|am", Some("紅樓夢, 1980")),
        ] {
            let found = publication(text).map(|found| found.to_string());
            match expected {
                Some("") => assert!(found.is_some_and(|found| found.chars().count() < 130)),
                expected => assert_eq!(found.as_deref(), expected, "{text}"),
            }
        }
        let one = publication(&format!("o1|Austen|{long}a|1816|am")).expect("a title");
        let other = publication(&format!("o1|Austen|{long}b|1816|am"));
        assert!(one.choose(&[other]).is_none());
    }
}
