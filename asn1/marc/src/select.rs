//! Parts of records, and conditions on parts, by which records are selected from a file: `852`, `!880`, `245$a:war`, `008/35-37=eng`,
//! `650^2=2`, `year>1990`.

use std::fmt;
use std::str::FromStr;

use crate::record::{Field, MarcRecord, Tag};
use crate::standard_number::{NumberKind, numbers};
use crate::table::{Content, RowOrigin, TableRow, content};
use crate::text::composed;

/// A part of a record. Its name is the name of one of the [columns](crate::table::Columns), or one of the following:
///
/// | name | the part |
/// |---|---|
/// | `852`, `001` | these fields |
/// | `9XX`, `85X` | all fields whose tags differ only where an `X` is |
/// | `245$a`, `245ab` | subfields |
/// | `650^2` | the second indicator |
/// | `008/35-37`, `LDR/06` | characters of a control field or of the leader, from 0 |
/// | `title`, `author`, `year`, `isbn`, `language` … | the values of the table column with this name |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    name: String,
    part: Part,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A column that has no tag.
    Column(Content),
    /// Parts of the fields whose tags match. The tag in the content is ignored.
    Fields(TagPattern, Content),
    /// An indicator, counted from 0.
    Indicator(TagPattern, usize),
}

/// A tag in which some characters are arbitrary, as in `6XX`.
///
/// ```
/// use z3950_marc::record::Tag;
/// use z3950_marc::select::TagPattern;
///
/// let subjects = TagPattern::from(Tag(*b"6XX"));
/// assert!(subjects.matches(Tag(*b"650")) && !subjects.matches(Tag(*b"700")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagPattern([Option<u8>; 3]);

impl From<Tag> for TagPattern {
    /// Converts a tag to a pattern. An `X` in it, in either case, matches any character.
    fn from(tag: Tag) -> Self {
        Self(tag.0.map(|octet| match octet {
            b'X' | b'x' => None,
            octet => Some(octet),
        }))
    }
}

/// The reason why text does not name a part of a record, or is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The text is not the name of a part of a record.
    #[error(
        "{0:?} is not a part of a record: use fields such as 852, 9XX, 245$a, 650^2, 008/35-37 or LDR/06, or title, author, year, isbn …"
    )]
    Place(String),
    /// The condition does not contain a value to compare with.
    #[error("nothing to compare with in {0:?}")]
    Value(String),
    /// The condition is negated in the syntax of another language, such as `!=`.
    #[error("{0:?} has no meaning here; ! before the whole condition negates it: !{1}")]
    Negation(String, String),
}

impl TagPattern {
    /// Parses three characters as a pattern; an `X` in either case matches any character.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let octets: [u8; 3] = text.as_bytes().try_into().ok()?;
        let is_known =
            |octet: &u8| octet.is_ascii_digit() || octet.is_ascii_uppercase() || *octet == b'x';
        octets.iter().all(is_known).then(|| Tag(octets).into())
    }

    /// Returns whether the pattern matches this tag.
    pub fn matches(self, tag: Tag) -> bool {
        let mut pairs = self.0.iter().zip(tag.0);
        pairs.all(|(wanted, octet)| wanted.is_none_or(|wanted| wanted == octet))
    }
}

impl FromStr for Place {
    type Err = SelectError;

    fn from_str(text: &str) -> Result<Self, SelectError> {
        let name = text.trim();
        let part = part(name).ok_or_else(|| SelectError::Place(name.to_owned()))?;
        let name = name.to_owned();
        Ok(Self { name, part })
    }
}

/// Returns the part with this name.
fn part(name: &str) -> Option<Part> {
    match content(name) {
        // These columns describe the file or the copies, so they cannot be used to select records.
        Some(Content::OfCopies(_) | Content::Named("source" | "input" | "input_record")) => {
            return None;
        }
        Some(column @ (Content::Named(_) | Content::Leader | Content::Positions(None, ..))) => {
            return Some(Part::Column(column));
        }
        Some(Content::Field(..) | Content::Positions(..)) | None => {}
    }
    let (tag, rest) = name.split_at_checked(3)?;
    let pattern = TagPattern::read(tag)?;
    if let Some(number) = rest.strip_prefix('^') {
        let number: usize = number
            .parse()
            .ok()
            .filter(|number| (1..=9).contains(number))?;
        return Some(Part::Indicator(pattern, number - 1));
    }
    // The text after the tag is read in the same way for every tag.
    let content = content(&format!("{ANY_TAG}{rest}"))?;
    Some(Part::Fields(pattern, content))
}

const ANY_TAG: &str = "000";

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Place {
    /// Returns the fields or subfields that the place names; `None` for any other place.
    pub(crate) fn of_fields(&self) -> Option<(TagPattern, &str)> {
        match &self.part {
            Part::Fields(pattern, Content::Field(_, codes)) => Some((*pattern, codes)),
            _ => None,
        }
    }

    /// Returns whether the record, which must be in UTF-8, has this part.
    pub fn is_in(&self, record: &MarcRecord) -> bool {
        let (pattern, codes) = match &self.part {
            Part::Fields(pattern, Content::Field(_, codes)) => (*pattern, codes.as_str()),
            Part::Indicator(pattern, _) => (*pattern, ""),
            _ => return !self.values(record).is_empty(),
        };
        let mut fields = record
            .fields
            .iter()
            .filter(|field| pattern.matches(field.tag));
        let code_length = record.leader.code_length();
        let has_code = |field: &Field| {
            let mut subfields = field.subfields_with(code_length);
            subfields
                .any(|subfield| matches!(subfield.code, [code] if codes.as_bytes().contains(code)))
        };
        fields.any(|field| codes.is_empty() || has_code(field))
    }

    /// Returns the values of this part, as a table shows them. Empty values are left out.
    pub fn values(&self, record: &MarcRecord) -> Vec<String> {
        let mut row = TableRow::new(record, RowOrigin::default());
        match &self.part {
            Part::Column(column) => row.values(column),
            Part::Fields(pattern, content) => {
                let mut tags: Vec<Tag> = record.fields.iter().map(|field| field.tag).collect();
                tags.retain(|tag| pattern.matches(*tag));
                tags.sort_unstable();
                tags.dedup();
                let contents = tags.into_iter().map(|tag| match content {
                    Content::Field(_, codes) => Content::Field(tag, codes.clone()),
                    Content::Positions(_, first, last) => {
                        Content::Positions(Some(tag), *first, *last)
                    }
                    other => other.clone(),
                });
                contents.flat_map(|content| row.values(&content)).collect()
            }
            Part::Indicator(pattern, number) => {
                let fields = record
                    .fields
                    .iter()
                    .filter(|field| pattern.matches(field.tag));
                let indicators = fields.map(|field| String::from_utf8_lossy(field.indicators()));
                indicators
                    .filter_map(|all| all.chars().nth(*number).map(String::from))
                    .collect()
            }
        }
    }

    /// Returns whether the values are codes, in which every character counts.
    fn is_coded(&self) -> bool {
        matches!(
            self.part,
            Part::Indicator(..)
                | Part::Column(Content::Leader | Content::Positions(..))
                | Part::Fields(_, Content::Positions(..))
        )
    }

    /// Returns the text in the form in which the values of this part are compared: numbers in their normal form, codes unchanged,
    /// and other text in lower case without the ISBD punctuation around it.
    fn comparable(&self, text: &str) -> String {
        let kind = match &self.part {
            Part::Column(Content::Named("isbn")) => Some(NumberKind::Isbn),
            Part::Column(Content::Named("issn")) => Some(NumberKind::Issn),
            Part::Column(Content::Named("lccn")) => Some(NumberKind::Lccn),
            Part::Column(Content::Named("oclc")) => Some(NumberKind::Oclc),
            _ => None,
        };
        let normal = kind.and_then(|kind| {
            numbers(kind, text)
                .first()
                .map(|number| number.normal.clone())
        });
        match normal {
            Some(normal) => normal,
            None if self.is_coded() => text.to_owned(),
            None => {
                let is_punctuation =
                    |character: char| character.is_whitespace() || "/:;,=.".contains(character);
                composed(text.to_lowercase())
                    .trim_matches(is_punctuation)
                    .to_owned()
            }
        }
    }
}

/// A condition that a record can meet.
///
/// | text | the record … |
/// |---|---|
/// | `852` | has a field with this tag |
/// | `245$a=emma` | has a subfield with this value; `*` matches any text, as in `050$a=PR*` |
/// | `245$a:war` | has a subfield that contains this text |
/// | `year>1990`, `005>=2024` | has a value in this range: numbers are compared as numbers, other text by characters |
/// | `!880`, `!245$a:war` | does not meet the condition after `!` |
///
/// Case is ignored, and so is ISBD punctuation at the ends of values. In codes (`008/35-37`, `LDR/06`, `650^2`), a
/// blank is written `#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
    place: Place,
    is_negated: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    /// The value consists of these parts, with any text between them.
    Is(Vec<String>),
    Has(String),
    Less {
        value: String,
        or_equal: bool,
    },
    Greater {
        value: String,
        or_equal: bool,
    },
}

impl FromStr for Condition {
    type Err = SelectError;

    fn from_str(text: &str) -> Result<Self, SelectError> {
        let text = text.trim();
        let (is_negated, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let end = rest.find(['=', ':', '<', '>']).unwrap_or(rest.len());
        let (name, test) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if let Some(name) = name.strip_suffix('!') {
            let whole = [name, test].concat();
            return Err(SelectError::Negation("!=".to_owned(), whole));
        }
        let place: Place = name.parse()?;
        let test = test_of(&place, test, text)?;
        Ok(Self {
            text: text.to_owned(),
            place,
            is_negated,
            test,
        })
    }
}

/// Parses the part of a condition after the place.
fn test_of(place: &Place, test: &str, text: &str) -> Result<Test, SelectError> {
    let mut characters = test.chars();
    let Some(operator) = characters.next() else {
        return Ok(Test::Exists);
    };
    let value = characters.as_str();
    let (or_equal, value) = match value.strip_prefix('=') {
        Some(rest) if matches!(operator, '<' | '>') => (true, rest),
        _ => (false, value),
    };
    let value = value.trim();
    let value = if place.is_coded() {
        value.replace('#', " ")
    } else {
        value.to_owned()
    };
    if value.is_empty() {
        return Err(SelectError::Value(text.to_owned()));
    }
    Ok(match operator {
        '=' if value.contains('*') => {
            let parts = value.split('*');
            Test::Is(parts.map(|part| composed(part.to_lowercase())).collect())
        }
        '=' => Test::Is(vec![place.comparable(&value)]),
        ':' => Test::Has(composed(value.to_lowercase())),
        '<' => Test::Less { value, or_equal },
        _ => Test::Greater { value, or_equal },
    })
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Returns whether a record, which must be in UTF-8, meets the condition.
    pub fn holds(&self, record: &MarcRecord) -> bool {
        let found = match &self.test {
            Test::Exists => self.place.is_in(record),
            _ => {
                let values = self.place.values(record);
                values.iter().any(|value| self.holds_of(value))
            }
        };
        found != self.is_negated
    }

    fn holds_of(&self, value: &str) -> bool {
        let lower = || composed(value.to_lowercase());
        match &self.test {
            Test::Exists => true,
            Test::Is(parts) => match parts.as_slice() {
                [whole] => self.place.comparable(value) == *whole,
                parts => {
                    has_parts(&self.place.comparable(value), parts) || has_parts(&lower(), parts)
                }
            },
            Test::Has(text) => lower().contains(text),
            Test::Less {
                value: limit,
                or_equal,
            } => is_less(value, limit, *or_equal),
            Test::Greater {
                value: limit,
                or_equal,
            } => is_less(limit, value, *or_equal),
        }
    }
}

/// Returns whether text consists of these parts, with any text between them.
fn has_parts(text: &str, parts: &[String]) -> bool {
    let [first, middle @ .., last] = parts else {
        return false;
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else {
        return false;
    };
    for part in middle {
        match rest.split_once(part.as_str()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

/// Compares numbers as numbers, and other text by characters.
fn is_less(left: &str, right: &str, or_equal: bool) -> bool {
    let number = |text: &str| -> Option<u128> { text.trim().parse().ok() };
    let order = match (number(left), number(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => composed(left.to_lowercase()).cmp(&composed(right.to_lowercase())),
    };
    order.is_lt() || (or_equal && order.is_eq())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrk;

    const RECORD: &str = "=LDR  00000cam a2200000 i 4500\n=001  b7\n=005  20240229120000.0\n\
        =008  971201s1813\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\\n=020  \\\\$a0141439513 (pbk.)\n=050  00$aPR4034$b.P7\n\
        =100  1\\$aAusten, Jane,$d1775-1817.\n=245  10$aÉmma of War and Peace /$cJane Austen.\n=650  \\2$aWar\n=852  \\\\$aMain\n\
        =852  \\\\$x\n";

    fn check(text: &str, expected: bool) {
        let records = mrk::parse_all(RECORD).expect("a record");
        let record = records.first().expect("one");
        let condition: Condition = text
            .parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(condition.holds(record), expected, "{text}");
        assert_eq!(condition.to_string(), text);
        let negated: Condition = format!("!{text}").parse().expect("the same");
        assert_eq!(negated.holds(record), !expected, "!{text}");
    }

    #[test]
    fn r_f15_conditions_on_records() {
        for text in [
            "852",
            "8XX",
            "8x2",
            "852$x",
            "852ax",
            "650^2",
            "001=b7",
            "001=B7",
            "245$a=émma of war and peace",
            "245$a=e\u{301}mma of war and peace /",
            "245a=émma*",
            "245$a=*war*peace",
            "245$a=*PEACE*",
            "245ac:peace / jane",
            "245:jane aus",
            "100$a=austen, jane",
            "050$a=PR*",
            "008/35-37=eng",
            "008/35-37=e*",
            "008/15-18=enk#",
            "LDR/06=a",
            "LDR/08-09=#a",
            "650^1=#",
            "650^2=2",
            "year=1813",
            "year>1812",
            "year<=1813",
            "year<20000",
            "005>=20240229",
            "title:WAR",
            "isbn=0141439513",
            "isbn=978-0-14-143951-8",
            "language=eng",
            "0XX:pbk",
        ] {
            check(text, true);
        }
        for text in [
            "880",
            "9XX",
            "852$b",
            "245$a=émma",
            "245$a=*war",
            "245$a:jane",
            "245$a:emma",
            "008/35-37=en",
            "008/90=#",
            "650^2=#",
            "650^9=2",
            "year>1813",
            "year<1813",
            "isbn=0306406152",
            "author:tolstoy",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn r_f15_invalid_conditions_are_refused() {
        for (text, words) in [
            ("", "\"\" is not a part of a record"),
            ("!", "is not a part"),
            ("84", "is not a part"),
            ("8é2", "is not a part"),
            ("titel:war", "\"titel\" is not a part"),
            ("source=x", "is not a part"),
            ("call_number=x", "is not a part"),
            ("650^0=1", "is not a part"),
            ("650^=1", "is not a part"),
            ("008/37-35=x", "is not a part"),
            ("245$a=", "nothing to compare with in \"245$a=\""),
            ("year> ", "nothing to compare with"),
            ("245$a!=war", "!245$a=war"),
        ] {
            let error = text.parse::<Condition>().expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
