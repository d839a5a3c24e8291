//! The bib file, which defines the qualifiers for CCL queries, because ISO 8777 does not define any. It has YAZ's
//! format, with a line for each qualifier, alias or directive.

use super::super::{number, sets};
use crate::apdu::AttributeValue;
use crate::oid::Oid;

/// The maximum length of a bib file, in octets.
pub const MAX_BIB_LENGTH: usize = 1 << 20;

/// The qualifiers for CCL queries, and the words and symbols of the operators.
///
/// Each line of the file has one of these forms; `#` begins a comment:
/// - `ti u=4 s=pw t=l,r`: a qualifier and its attributes. A type is a number or one of the letters `u r p s t c` for 1
///   to 6, with its attribute set before it if this is not the attribute set of the query: `gils,u=2040`. A value is a
///   number, a name, or one of the special values of relation (`o r omiteq`), structure (`pw al ol ag sl`) and truncation
///   (`l r b n x z`), which say what a query may contain. If several lines define a qualifier, it has the attributes of
///   all these lines.
/// - `tiau ti au`: an alias, which searches for the term under each of the qualifiers.
/// - `@and og`: a directive. There are directives for the words of operators (`@and @or @not @set`), for symbols
///   (`@truncation` and `@mask`), `@case 0` to ignore the case of words and qualifiers, and `@field or` to search under
///   each qualifier in a list instead of merging the attributes.
///
/// The qualifier `term` is used if a query does not name a qualifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bib {
    pub(super) qualifiers: Vec<Qualifier>,
    pub(super) and: Vec<String>,
    pub(super) or: Vec<String>,
    pub(super) not: Vec<String>,
    pub(super) set: Vec<String>,
    pub(super) truncation: Vec<String>,
    pub(super) mask: Vec<String>,
    pub(super) case_sensitive: bool,
    /// Whether each qualifier in a list is searched separately.
    pub(super) each_field: bool,
}

impl Default for Bib {
    /// Returns the built-in qualifiers, which have the index names used in all query languages.
    fn default() -> Self {
        // The tests ensure that the file is valid, so the fallback is never used.
        Self::parse(include_str!("default.bib")).unwrap_or_else(|_| Self::empty())
    }
}

impl Bib {
    /// Parses a bib file.
    ///
    /// Lines that YAZ ignores or misreads are errors. An unknown attribute set is an error only when a query uses it.
    ///
    /// # Errors
    /// [`BibError`] with the invalid line and the fault.
    pub fn parse(text: &str) -> Result<Self, BibError> {
        let mut bib = Self::empty();
        if text.len() > MAX_BIB_LENGTH {
            return Err(BibError {
                line: 1,
                reason: format!("a bib file of more than {MAX_BIB_LENGTH} octets"),
            });
        }
        let mut aliases = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let at = |reason| BibError {
                line: number + 1,
                reason,
            };
            let line = line.trim_matches(is_blank);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, rest) = line.split_once(is_blank).unwrap_or((line, ""));
            let rest = rest.split('#').next().unwrap_or_default();
            match name.strip_prefix('@') {
                Some(directive) => bib.directive(directive, rest).map_err(at)?,
                None => {
                    let alias = bib.qualifier(name, rest).map_err(at)?;
                    aliases.extend(alias.then(|| (number + 1, name.to_owned())));
                }
            }
        }
        for (line, name) in aliases {
            bib.check_alias(&name)
                .map_err(|reason| BibError { line, reason })?;
        }
        Ok(bib)
    }

    /// Returns the names of the qualifiers, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.qualifiers
            .iter()
            .map(|qualifier| qualifier.name.as_str())
    }

    /// Returns a bib without qualifiers, but with YAZ's words and symbols for operators.
    fn empty() -> Self {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self {
            qualifiers: Vec::new(),
            and: words(&["and"]),
            or: words(&["or"]),
            not: words(&["not", "andnot"]),
            set: words(&["set"]),
            truncation: words(&["?"]),
            mask: words(&["#"]),
            case_sensitive: true,
            each_field: false,
        }
    }

    /// Returns whether two words are the same. Case is ignored if the bib file has `@case 0`.
    pub(super) fn same(&self, a: &str, b: &str) -> bool {
        if self.case_sensitive {
            a == b
        } else {
            a.eq_ignore_ascii_case(b)
        }
    }

    /// Returns the qualifier for one of the alternatives of a name; `alternative` is counted from 0.
    pub(super) fn find(&self, name: &str, alternative: usize) -> Option<&Qualifier> {
        // If `@case 0` makes two names equal, the last line applies, as in YAZ.
        let found = self
            .qualifiers
            .iter()
            .rev()
            .find(|qualifier| self.same(&qualifier.name, name))?;
        if found.alias_of.is_empty() {
            (alternative == 0).then_some(found)
        } else {
            self.exact(found.alias_of.get(alternative)?)
        }
    }

    fn exact(&self, name: &str) -> Option<&Qualifier> {
        self.qualifiers
            .iter()
            .find(|qualifier| qualifier.name == name)
    }

    fn directive(&mut self, directive: &str, rest: &str) -> Result<(), String> {
        let values: Vec<String> = rest.split_ascii_whitespace().map(str::to_owned).collect();
        let first = values.first().map(String::as_str);
        let value_fault = || format!("{:?} is not a value of this directive", rest.trim());
        match directive {
            "and" => self.and = values,
            "or" => self.or = values,
            "not" => self.not = values,
            "set" => self.set = values,
            "truncation" => self.truncation = values,
            "mask" => self.mask = values,
            "case" => {
                self.case_sensitive =
                    number(first.unwrap_or_default()).ok_or_else(value_fault)? != 0
            }
            "field" => {
                self.each_field = match first {
                    Some("or") => true,
                    Some("merge") => false,
                    _ => return Err(value_fault()),
                }
            }
            // A YAZ bib file may have stop words; they are accepted and ignored here.
            _ if directive.starts_with("stop.") => {}
            _ => {
                return Err(format!(
                    "@{directive} is not a directive: and, or, not, set, truncation, mask, case, field or stop.NAME"
                ));
            }
        }
        Ok(())
    }

    /// Parses the part of a line after the qualifier's name. Returns whether the qualifier is an alias.
    fn qualifier(&mut self, name: &str, rest: &str) -> Result<bool, String> {
        if name.contains(['(', ')', ',', '%', '!', '>', '<', '=', '"']) {
            return Err(format!("{name:?} cannot be the name of a qualifier"));
        }
        let mut words = BibLine { rest };
        let mut attributes = Vec::new();
        let mut names = Vec::new();
        while let Some(word) = words.next()? {
            match words.sign() {
                None => names.push(word.to_owned()),
                sign => attributes.extend(words.attributes(word, sign == Some(','))?),
            }
            if let (Some(name), false) = (names.first(), attributes.is_empty()) {
                return Err(not_an_attribute(name));
            }
        }
        let is_alias = !names.is_empty();
        match self.qualifiers.iter_mut().find(|known| known.name == name) {
            None => self.qualifiers.push(Qualifier {
                name: name.to_owned(),
                attributes,
                alias_of: names,
            }),
            Some(known) if known.alias_of.is_empty() && !is_alias => {
                known.attributes.extend(attributes);
            }
            Some(_) => return Err(format!("qualifier {name:?} is defined twice")),
        }
        Ok(is_alias)
    }

    fn check_alias(&self, name: &str) -> Result<(), String> {
        for name in self.exact(name).map_or(&[][..], |alias| &alias.alias_of) {
            match self.exact(name) {
                Some(meant) if meant.alias_of.is_empty() => {}
                Some(_) => return Err(format!("an alias of {name:?}, which is an alias itself")),
                None => return Err(format!("an alias of {name:?}, which is not defined")),
            }
        }
        Ok(())
    }
}

/// The error for an invalid line in a bib file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the bib file: {reason}")]
#[non_exhaustive]
pub struct BibError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// A description of the fault.
    pub reason: String,
}

/// A qualifier with its attributes, or an alias for other qualifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qualifier {
    pub(super) name: String,
    pub(super) attributes: Vec<Attribute>,
    /// The names of the qualifiers that an alias refers to; empty if this is not an alias.
    pub(super) alias_of: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    /// The attribute set: `Ok(None)` for the attribute set of the query, and `Err` with the name of an unknown set.
    pub(super) set: Result<Option<Oid>, String>,
    pub(super) attribute_type: i64,
    pub(super) value: BibValue,
}

impl Attribute {
    /// Returns the value to send, if any. The value 0 is not sent, and special values only say what a query may
    /// contain.
    pub(super) fn sent(&self) -> Option<AttributeValue> {
        match &self.value {
            BibValue::Special(_) | BibValue::Number(0) => None,
            BibValue::Number(number) => Some(AttributeValue::Numeric(*number)),
            BibValue::Name(name) => Some(AttributeValue::named(name.as_str())),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BibValue {
    /// A number, which is sent unless it is 0.
    Number(i64),
    Name(String),
    /// One of [`SPECIAL`], which says what a query may contain.
    Special(&'static str),
}

/// The special values of relation, structure and truncation, which are the only attribute types with such values.
const SPECIAL: [(&str, &[&str]); 3] = [
    ("r", &["o", "r", "omiteq"]),
    ("s", &["pw", "al", "ol", "ag", "sl"]),
    ("t", &["l", "r", "b", "n", "x", "z"]),
];

fn special(letter: &str, value: &str) -> Option<&'static str> {
    let (_, values) = SPECIAL.iter().find(|(known, _)| *known == letter)?;
    values
        .iter()
        .copied()
        .find(|known| known.eq_ignore_ascii_case(value))
}

/// The part of a line that has not been parsed yet.
struct BibLine<'a> {
    rest: &'a str,
}

impl<'a> BibLine<'a> {
    /// Returns the next word; `None` at the end of the line.
    fn next(&mut self) -> Result<Option<&'a str>, String> {
        let rest = self.rest.trim_start_matches(is_blank);
        if let Some(quoted) = rest.strip_prefix('"') {
            return Err(format!("a quote before {quoted:?}"));
        }
        let end = rest
            .find(|character| is_blank(character) || matches!(character, ',' | '='))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.rest = after;
        if word.is_empty() && !rest.is_empty() {
            Err(not_an_attribute(rest))
        } else {
            Ok(Some(word).filter(|word| !word.is_empty()))
        }
    }

    /// Consumes and returns a `,` or `=`, if one of them comes next.
    fn sign(&mut self) -> Option<char> {
        let rest = self.rest.trim_start_matches(is_blank);
        let sign = rest
            .chars()
            .next()
            .filter(|sign| matches!(sign, ',' | '='))?;
        self.rest = rest.get(1..).unwrap_or_default();
        Some(sign)
    }

    /// Parses the rest of `[SET,]TYPE=VALUE,VALUE…`, whose first word and the symbol after this word have been
    /// consumed.
    fn attributes(&mut self, word: &str, is_set: bool) -> Result<Vec<Attribute>, String> {
        let mut letter = word;
        let mut set = Ok(None);
        if is_set {
            set = known_set(word).map(Some).ok_or_else(|| word.to_owned());
            letter = self.next()?.unwrap_or_default();
            if self.sign() != Some('=') {
                return Err(not_an_attribute(&format!("{word},{letter}")));
            }
        }
        let letter = letter.to_ascii_lowercase();
        let mut letters = ["u", "r", "p", "s", "t", "c"].into_iter().zip(1..);
        let attribute_type = letters
            .find(|(known, _)| *known == letter)
            .map(|(_, number)| number);
        let attribute_type = attribute_type
            .or_else(|| number(&letter).filter(|number| *number > 0))
            .ok_or_else(|| {
                format!("{letter:?} is not an attribute type: a number, or one of u r p s t c")
            })?;
        let mut attributes = Vec::new();
        loop {
            let Some(value) = self.next()? else {
                return Err(not_an_attribute(&format!("{letter}=")));
            };
            let value = match special(&letter, value) {
                Some(special) => BibValue::Special(special),
                None if value.starts_with(|first: char| first.is_ascii_digit()) => {
                    let fault = || format!("{value:?} is not an attribute value");
                    BibValue::Number(number(value).ok_or_else(fault)?)
                }
                None => BibValue::Name(value.to_owned()),
            };
            attributes.push(Attribute {
                set: set.clone(),
                attribute_type,
                value,
            });
            if !self.rest.trim_start_matches(is_blank).starts_with(',') {
                return Ok(attributes);
            }
            self.sign();
        }
    }
}

/// Returns the attribute set with a name; bib files use `exp1` for Exp-1.
fn known_set(name: &str) -> Option<Oid> {
    let number = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let hyphened = || {
        let digits = name.get(number.len()..)?;
        sets::attribute_set(&format!("{number}-{digits}"))
    };
    sets::attribute_set(name).or_else(hyphened)
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r')
}

fn not_an_attribute(text: &str) -> String {
    format!("{text:?} is not an attribute of the form type=value")
}
