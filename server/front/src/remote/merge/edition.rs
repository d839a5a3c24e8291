//! Identifies the edition that a record describes, and decides whether two records describe the same edition.

use std::collections::BTreeSet;

use z3950_marc::standard_number::{NumberKind, numbers};
use z3950_marc::{Field, MarcRecord};

use super::text::{TextRuns, are_abbreviated, are_equal_but_for_a_slip, folded, is_begin};

/// The maximum number of identifiers in a record that are compared.
const MAX_IDENTIFIERS: usize = 32;

/// The properties that identify the edition of a bibliographic record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// The class of the record type (text, score, sound …) and the class of the bibliographic level (serial or not), from the
    /// leader.
    form: [u8; 2],
    /// Whether the resource is an online resource.
    is_online: bool,
    language: Option<String>,
    /// The title proper, prepared for comparison.
    title: String,
    /// The remainder of the title.
    remainder: String,
    /// The number and name of the part of a work.
    part: String,
    author: Vec<String>,
    publisher: Vec<String>,
    years: BTreeSet<u16>,
    /// The number of the edition, or the words of the edition statement; `None` without a statement.
    statement: Option<String>,
    isbns: BTreeSet<String>,
    issns: BTreeSet<String>,
    lccns: BTreeSet<String>,
    runs: TitleRuns,
    /// The keys by which records of the same edition are found. Any two such records have at least one key in common.
    keys: Vec<String>,
}

/// The titles, prepared for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TitleRuns {
    title: TextRuns,
    remainder: TextRuns,
    /// The title with its remainder.
    whole: TextRuns,
}

/// The tags of the fields that identify an edition.
struct Tags {
    isbn: &'static str,
    issn: &'static str,
    title: &'static str,
    remainder: &'static str,
    part: [&'static str; 2],
    authors: &'static [&'static str],
    author: &'static [&'static str],
    statement: &'static str,
    publications: &'static [&'static str],
    publisher: &'static str,
    date: &'static str,
}

const MARC_21: Tags = Tags {
    isbn: "020",
    issn: "022",
    title: "245",
    remainder: "b",
    part: ["n", "p"],
    authors: &["100", "110", "111", "700", "710"],
    author: &["a"],
    statement: "250",
    publications: &["260", "264"],
    publisher: "b",
    date: "c",
};

const UNIMARC: Tags = Tags {
    isbn: "010",
    issn: "011",
    title: "200",
    remainder: "e",
    part: ["h", "i"],
    authors: &["700", "710", "701", "702"],
    author: &["a", "b"],
    statement: "205",
    publications: &["210", "214"],
    publisher: "c",
    date: "d",
};

impl Edition {
    /// Returns the edition described by a record in UTF-8; `None` if the record has no title.
    pub fn of(record: &MarcRecord) -> Option<Self> {
        let is_marc_21 = record.fields_by_tag(MARC_21.title).next().is_some();
        let tags = if is_marc_21 { &MARC_21 } else { &UNIMARC };
        let heading = record.fields_by_tag(tags.title).next()?;
        let title = title_proper(heading, is_marc_21);
        if title.is_empty() {
            return None;
        }
        let identifiers = |tag: &'static str, kind: NumberKind| {
            let fields = record.fields_by_tag(tag).take(MAX_IDENTIFIERS);
            let texts = fields.filter_map(|field| field.subfield("a"));
            texts
                .flat_map(|text| valid(kind, &lossy(text)))
                .collect::<BTreeSet<String>>()
        };
        let isbns = identifiers(tags.isbn, NumberKind::Isbn);
        let issns = identifiers(tags.issn, NumberKind::Issn);
        let lccns = if is_marc_21 {
            identifiers("010", NumberKind::Lccn)
        } else {
            BTreeSet::new()
        };
        let oclc = identifiers("035", NumberKind::Oclc);
        let [level, kind] = [record.leader.octet(7), record.leader.octet(6)];
        let statement = record.fields_by_tag(tags.statement).next();
        let marked = |mark: &str, values: &BTreeSet<String>| {
            let marked = values.iter().map(|value| format!("{mark} {value}"));
            marked.collect::<Vec<_>>()
        };
        let mut keys = vec![format!("title {title}")];
        keys.extend(marked("isbn", &isbns));
        keys.extend(marked("issn", &issns));
        keys.extend(marked("lccn", &lccns));
        keys.extend(marked("oclc", &oclc));
        let (author, years) = (author(record, tags), years(record, tags, is_marc_21));
        // The longest word of the author's name, together with the year, finds editions whose titles differ by a typing error.
        if let Some(name) = author.iter().max_by_key(|name| name.len()) {
            keys.extend(years.iter().map(|year| format!("by {name} {year}")));
        }
        let remainder = joined(heading, &[tags.remainder]);
        let whole = format!("{title} {remainder}");
        let runs = TitleRuns {
            title: TextRuns::of(&title),
            remainder: TextRuns::of(&remainder),
            whole: TextRuns::of(whole.trim()),
        };
        Some(Self {
            runs,
            form: [
                if kind == b't' { b'a' } else { kind },
                if matches!(level, b's' | b'i') {
                    b's'
                } else {
                    b'm'
                },
            ],
            is_online: is_online(record, heading),
            language: language(record, is_marc_21),
            remainder,
            part: joined(heading, &tags.part),
            title,
            author,
            publisher: publisher(record, tags),
            years,
            statement: statement.and_then(|field| statement_of(&joined(field, &["a"]))),
            isbns,
            issns,
            lccns,
            keys,
        })
    }

    /// Returns the keys of the record. Two records without a common key are not of the same edition, so they need not be
    /// compared.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// Returns whether both records describe the same edition: they do not contradict each other, and share an identifier, or
    /// title, author and year.
    pub fn is_same(&self, other: &Self) -> bool {
        !self.contradicts(other) && self.agrees(other)
    }

    /// Returns whether the records share an identifier, or title, author and year.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.shares_identifier(other) || self.has_same_description(other)
    }

    /// Returns whether the records cannot be of the same edition: they differ in form, language, part, edition statement or
    /// years, only one is an online resource, they have different identifiers of the same kind, or their titles are not similar.
    pub fn contradicts(&self, other: &Self) -> bool {
        let is_serial = self.form[1] == b's';
        let other_year = |most: u16| match (self.years.is_empty(), other.years.is_empty()) {
            (false, false) => !self
                .years
                .iter()
                .any(|year| other.years.iter().any(|one| one.abs_diff(*year) <= most)),
            _ => false,
        };
        let shared = self.shares_identifier(other);
        self.form != other.form
            || self.is_online != other.is_online
            || differ(&self.language, &other.language)
            || self.part != other.part
            || differ(&self.statement, &other.statement)
            || other_year(u16::from(shared))
            || (is_serial && are_disjoint(&self.issns, &other.issns))
            || (!is_serial && are_disjoint(&self.isbns, &other.isbns))
            || are_disjoint(&self.lccns, &other.lccns)
            || !self.has_similar_title(other)
            || self.has_other_remainder(other) && !shared
    }

    /// Returns whether the titles are similar, with or without the remainder of the title.
    fn has_similar_title(&self, other: &Self) -> bool {
        self.runs.title.is_similar(&other.runs.title)
            || self.runs.whole.is_similar(&other.runs.whole)
    }

    fn has_other_remainder(&self, other: &Self) -> bool {
        let (one, two) = (&self.remainder, &other.remainder);
        !one.is_empty() && !two.is_empty() && !self.runs.remainder.is_similar(&other.runs.remainder)
    }

    fn shares_identifier(&self, other: &Self) -> bool {
        let is_serial = self.form[1] == b's';
        let of_work = |key: &&String| match key.split_once(' ') {
            Some(("isbn" | "lccn" | "oclc", _)) => true,
            // The ISSN in a monograph's record belongs to its series.
            Some(("issn", _)) => is_serial,
            _ => false,
        };
        self.keys
            .iter()
            .filter(of_work)
            .any(|key| other.keys.contains(key))
    }

    /// Returns whether the records share the title, the edition statement and a year, and their authors and publishers do not
    /// differ.
    fn has_same_description(&self, other: &Self) -> bool {
        let is_written = !self.author.is_empty() && !other.author.is_empty();
        let is_published = !self.publisher.is_empty() && !other.publisher.is_empty();
        are_equal_but_for_a_slip(&self.title, &other.title)
            && !self.years.is_disjoint(&other.years)
            && (is_written || (is_published && self.author.is_empty() == other.author.is_empty()))
            && are_abbreviated(&self.author, &other.author)
            && statement_of_first(self) == statement_of_first(other)
            && (!is_published || has_begin_in_common(&self.publisher, &other.publisher))
    }
}

fn lossy(octets: &[u8]) -> String {
    /// The maximum number of octets that are compared, which is more than an identifier or a heading needs. If a title is longer,
    /// only its beginning is compared.
    const MAX_OCTETS: usize = 2000;
    let begin = octets.get(..MAX_OCTETS).unwrap_or(octets);
    String::from_utf8_lossy(begin).into_owned()
}

/// Returns the valid numbers in a string, in their normal forms.
fn valid(kind: NumberKind, text: &str) -> Vec<String> {
    let found = numbers(kind, text).into_iter();
    let valid = found.filter(|number| number.is_valid);
    valid.map(|number| number.normal).collect()
}

/// Returns the subfields with these codes, joined and folded.
fn joined(field: &Field, codes: &[&str]) -> String {
    let subfields = field.subfields();
    let wanted = subfields.filter(|one| codes.iter().any(|code| code.as_bytes() == one.code));
    let texts: Vec<String> = wanted.take(8).map(|one| lossy(one.data)).collect();
    folded(&texts.join(" "))
}

/// Returns the title without its initial article. In MARC 21, the second indicator gives the length of the article. Without this
/// length, known articles are removed.
fn title_proper(heading: &Field, is_marc_21: bool) -> String {
    let title = heading.subfield("a").map(lossy).unwrap_or_default();
    let skipped = heading
        .indicators()
        .get(1)
        .filter(|_| is_marc_21)
        .and_then(|digit| char::from(*digit).to_digit(10));
    let skipped = usize::try_from(skipped.unwrap_or(0)).unwrap_or(0);
    let article = title.chars().take(skipped).collect::<String>();
    if skipped > 0 && article.ends_with([' ', '\'', '’']) {
        return folded(title.get(article.len()..).unwrap_or_default());
    }
    let title = folded(&title);
    let rest = [
        "the ", "a ", "an ", "der ", "die ", "das ", "le ", "la ", "les ", "el ",
    ]
    .iter()
    .find_map(|article| title.strip_prefix(article));
    rest.map(str::to_owned).unwrap_or(title)
}

fn is_online(record: &MarcRecord, heading: &Field) -> bool {
    let first = |tag: &str| record.fields_by_tag(tag).next();
    let carrier = first("338").and_then(|field| field.subfield("b"));
    let physical = first("007").and_then(Field::value);
    let of_fixed = first("008").and_then(Field::value);
    let item = of_fixed.and_then(|fixed| fixed.get(23));
    let medium = heading.subfield("h").map(lossy).unwrap_or_default();
    carrier == Some(b"cr")
        || physical.is_some_and(|physical| physical.starts_with(b"cr"))
        || matches!(item, Some(b'o' | b's'))
        || medium.to_lowercase().contains("electronic")
}

/// Returns the language code; `None` for a code that does not stand for one language.
fn language(record: &MarcRecord, is_marc_21: bool) -> Option<String> {
    let code = if is_marc_21 {
        record.fields_by_tag("008").next()?.value()?.get(35..38)?
    } else {
        record.fields_by_tag("101").next()?.subfield("a")?
    };
    let is_one = code.len() == 3
        && code.iter().all(u8::is_ascii_lowercase)
        && !matches!(code, b"und" | b"mul" | b"zxx");
    is_one.then(|| lossy(code))
}

/// Returns the words of the first author's name, without years and titles.
fn author(record: &MarcRecord, tags: &Tags) -> Vec<String> {
    let mut fields = tags
        .authors
        .iter()
        .filter_map(|tag| record.fields_by_tag(tag).next());
    let name = fields
        .next()
        .map(|field| joined(field, tags.author))
        .unwrap_or_default();
    let words = name
        .split(' ')
        .filter(|word| !word.is_empty())
        .filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
    words.map(str::to_owned).collect()
}

/// Returns the words that distinguish the publisher from other publishers.
fn publisher(record: &MarcRecord, tags: &Tags) -> Vec<String> {
    const COMMON: [&str; 16] = [
        "and",
        "by",
        "co",
        "company",
        "for",
        "house",
        "inc",
        "ltd",
        "of",
        "press",
        "printed",
        "pub",
        "publishers",
        "publishing",
        "the",
        "verlag",
    ];
    let mut fields = tags
        .publications
        .iter()
        .filter_map(|tag| record.fields_by_tag(tag).next());
    let name = fields
        .next()
        .map(|field| joined(field, &[tags.publisher]))
        .unwrap_or_default();
    let words = name
        .split(' ')
        .filter(|word| word.chars().count() > 1)
        .filter(|word| !COMMON.contains(word));
    words.map(str::to_owned).collect()
}

fn has_begin_in_common(one: &[String], other: &[String]) -> bool {
    one.iter()
        .any(|word| other.iter().any(|long| is_begin(word, long)))
}

/// Returns the years of publication from the publication statement or, without one, from the fixed field.
fn years(record: &MarcRecord, tags: &Tags, is_marc_21: bool) -> BTreeSet<u16> {
    let fields = tags
        .publications
        .iter()
        .flat_map(|tag| record.fields_by_tag(tag).take(4));
    let texts = fields.filter_map(|field| field.subfield(tags.date));
    let stated: BTreeSet<u16> = texts.flat_map(|text| years_in(&lossy(text))).collect();
    if !stated.is_empty() {
        return stated;
    }
    let fixed = if is_marc_21 {
        record.fields_by_tag("008").next().and_then(Field::value)
    } else {
        record
            .fields_by_tag("100")
            .next()
            .and_then(|field| field.subfield("a"))
    };
    let first = if is_marc_21 { 7..11 } else { 9..13 };
    let year = fixed.and_then(|fixed| fixed.get(first)).map(lossy);
    year.into_iter().flat_map(|year| years_in(&year)).collect()
}

fn years_in(text: &str) -> Vec<u16> {
    let numbers = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|number| number.len() == 4);
    numbers
        .filter_map(|number| number.parse().ok())
        .take(8)
        .collect()
}

/// Returns the number of an edition, or the words of the edition statement.
fn statement_of(text: &str) -> Option<String> {
    const ORDINALS: [(&str, u32); 12] = [
        ("first", 1),
        ("second", 2),
        ("third", 3),
        ("fourth", 4),
        ("fifth", 5),
        ("sixth", 6),
        ("seventh", 7),
        ("eighth", 8),
        ("ninth", 9),
        ("tenth", 10),
        ("zweite", 2),
        ("deuxieme", 2),
    ];
    let number = text.split(' ').find_map(|word| {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let spelled = ORDINALS.iter().find(|(ordinal, _)| *ordinal == word);
        digits.parse().ok().or(spelled.map(|(_, number)| *number))
    });
    let words = text.split(' ').filter_map(|word| match word {
        "ed" | "edition" | "edn" | "aufl" | "auflage" | "the" | "" => None,
        _ if word.starts_with("rev") => Some("rev"),
        _ if word.starts_with("enl") => Some("enl"),
        _ => Some(word),
    });
    match number {
        Some(number) => Some(number.to_string()),
        None => Some(words.collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty()),
    }
}

/// Returns the edition statement; a record without one is treated as the first edition.
fn statement_of_first(edition: &Edition) -> &str {
    edition.statement.as_deref().unwrap_or("1")
}

/// Returns whether both values are present and differ.
fn differ(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_some() && other.is_some() && one != other
}

/// Returns whether both records have identifiers but share none.
fn are_disjoint(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    !one.is_empty() && !other.is_empty() && one.is_disjoint(other)
}
