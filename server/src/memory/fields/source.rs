//! The textual form of the parts of a MARC record that feed an index: `245$^ch 700$at 008/07-10`.

use std::fmt;
use std::str::FromStr;

/// A part of a MARC record: a field or some of its subfields, or character positions in a field, a subfield or the
/// leader.
///
/// | text | meaning |
/// |---|---|
/// | `001`, `500` | a control field; all subfields of a data field, except those whose code is a digit |
/// | `6XX` | `X` is any digit |
/// | `245$abnp`, `245$^ch` | only the subfields listed; all subfields except those listed |
/// | `008/35-37`, `LDR/06`, `100$a/09-12` | character positions, counted from 0 |
/// | `650(i2=0)$a`, `246(i1=1)` | only fields whose indicator has this value |
/// | `650(2=ram)$a` | only fields with a subfield `$2` of this value, regardless of case |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub(super) tag: [u8; 3],
    pub(super) condition: Option<Condition>,
    pub(super) codes: Codes,
    pub(super) positions: Option<(usize, usize)>,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The indicator at this index, 0 or 1, has this value.
    Indicator(usize, u8),
    /// A subfield with this code has this value, compared regardless of case.
    Subfield(u8, String),
}

/// A selection of the subfields of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Codes {
    /// All subfields, except those whose code is a digit.
    All,
    Only(Vec<u8>),
    /// All subfields, except those listed and those whose code is a digit.
    Except(Vec<u8>),
}

/// The tag that denotes the leader.
pub(super) const LEADER: [u8; 3] = *b"LDR";

/// The reason why a string does not name a part of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a part of a MARC record such as 245$^ch, 6XX, 650(i2=0)$a or 008/07-10")]
pub struct SourceError(
    /// The invalid string.
    pub String,
);

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        parse(text).ok_or_else(|| SourceError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Source> {
    let tag: [u8; 3] = *text.as_bytes().first_chunk()?;
    let is_digit = |octet: &u8| octet.is_ascii_digit() || *octet == b'X';
    if tag != LEADER && !tag.iter().all(is_digit) {
        return None;
    }
    let mut rest = text.get(3..)?;
    let mut condition = None;
    if let Some((inner, after)) = rest
        .strip_prefix('(')
        .and_then(|inner| inner.split_once(')'))
    {
        condition = Some(parse_condition(inner)?);
        rest = after;
    }
    let (codes, positions) = match rest.split_once('/') {
        Some((codes, positions)) => (codes, Some(parse_positions(positions)?)),
        None => (rest, None),
    };
    let sound = |codes: &str| {
        !codes.is_empty()
            && codes
                .bytes()
                .all(|code| code.is_ascii_lowercase() || code.is_ascii_digit())
    };
    let codes = match codes.strip_prefix('$') {
        None if codes.is_empty() => Codes::All,
        None => return None,
        Some(codes) => match codes.strip_prefix('^') {
            Some(codes) if sound(codes) => Codes::Except(codes.into()),
            None if sound(codes) => Codes::Only(codes.into()),
            _ => return None,
        },
    };
    let leader_is_positions =
        tag != LEADER || positions.is_some() && codes == Codes::All && condition.is_none();
    leader_is_positions.then_some(Source {
        tag,
        condition,
        codes,
        positions,
    })
}

fn parse_condition(text: &str) -> Option<Condition> {
    let (name, value) = text.split_once('=')?;
    let one = || match value.as_bytes() {
        [one] => Some(*one),
        _ => None,
    };
    match name.as_bytes() {
        b"i1" => one().map(|value| Condition::Indicator(0, value)),
        b"i2" => one().map(|value| Condition::Indicator(1, value)),
        [code] if !value.is_empty() => Some(Condition::Subfield(*code, value.to_owned())),
        _ => None,
    }
}

fn parse_positions(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.tag))?;
        match &self.condition {
            Some(Condition::Indicator(place, value)) => {
                write!(f, "(i{}={})", place + 1, char::from(*value))?
            }
            Some(Condition::Subfield(code, value)) => write!(f, "({}={value})", char::from(*code))?,
            None => {}
        }
        match &self.codes {
            Codes::All => {}
            Codes::Only(codes) => write!(f, "${}", String::from_utf8_lossy(codes))?,
            Codes::Except(codes) => write!(f, "$^{}", String::from_utf8_lossy(codes))?,
        }
        match self.positions {
            Some((from, to)) if from == to => write!(f, "/{from:02}"),
            Some((from, to)) => write!(f, "/{from:02}-{to:02}"),
            None => Ok(()),
        }
    }
}

/// A list of parts of a record, which are separated by spaces in the textual form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(
    /// The parts, in any order.
    pub Vec<Source>,
);

impl FromStr for Sources {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        text.split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, source) in self.0.iter().enumerate() {
            let blank = if number == 0 { "" } else { " " };
            write!(f, "{blank}{source}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_written() {
        for text in [
            "001",
            "6XX",
            "245$abnp",
            "245$^ch",
            "008/35-37",
            "LDR/06",
            "100$a/09-12",
            "650(i2=0)$a",
            "246(i1=1)",
            "650(2=ram)$^x",
            "",
            "130 245$a 008/07-10",
        ] {
            let sources: Sources = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(sources.to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "24",
            "24é",
            "2450",
            "xyz",
            "245$",
            "245$^",
            "245$A",
            "245a",
            "LDR",
            "LDR$a/06",
            "008/",
            "008/a",
            "008/4-2",
            "650()",
            "650(i2=)",
            "650(i3=0)",
            "650(i2=00)",
            "650(2=)",
            "650(2=ram",
        ] {
            assert_eq!(text.parse::<Source>(), Err(SourceError(text.to_owned())));
        }
    }
}
