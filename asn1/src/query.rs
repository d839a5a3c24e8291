//! Text forms of search queries (Z39.50-2003 §3.7): PQF (the prefix query format), CCL and CQL can be parsed and
//! printed, words with index names can be parsed, and queries can be explained in English.
//!
//! ```
//! use z3950_asn1::apdu::RpnQuery;
//!
//! let query: RpnQuery = "@and @attr 1=4 war @attr 1=1003 tolstoy".parse()?;
//! assert_eq!(query.to_string(), "@and @attr 1=4 war @attr 1=1003 tolstoy");
//! # Ok::<(), z3950_asn1::query::QueryError>(())
//! ```

pub mod ccl;
pub mod cql;
mod explain;
mod language;
mod lexer;
pub mod names;
mod pqf;
mod print;
mod sets;
mod suggest;

pub use explain::{explain, tree};
pub use language::{Dialects, Language};
pub use pqf::{MAX_ATTRIBUTES, MAX_SPREAD, parse as parse_pqf};
pub use sets::{attribute_set, attribute_set_name};
pub use suggest::nearest;

use crate::apdu::{
    AttributeElement, KnownProximityUnit, Operator, ProximityOperator, ProximityUnitCode,
    RelationType,
};

/// The error for a query text that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at octet {offset} of the query{}", kind.suggestion())]
#[non_exhaustive]
pub struct QueryError {
    /// The kind of fault.
    pub kind: QueryErrorKind,
    /// The offset of the fault from the start of the text, in octets.
    pub offset: usize,
}

impl QueryError {
    /// Returns the message with the position of the fault in characters, counted from 1, which people understand better
    /// than an offset in octets.
    pub fn described(&self, text: &str) -> String {
        let before = text.get(..self.offset).unwrap_or(text).chars().count();
        let suggestion = self.kind.suggestion();
        format!(
            "{} at character {} of the query{suggestion}",
            self.kind,
            before + 1
        )
    }

    /// Returns the text with a caret under the fault, on two lines that end with a newline. If the text is long, only
    /// the part around the fault is shown.
    pub fn pointed_out(&self, text: &str) -> String {
        let before = text.get(..self.offset).unwrap_or(text).chars().count();
        let skipped = if before > MAX_SHOWN {
            before - MAX_SHOWN / 2
        } else {
            0
        };
        let mut rest = text.chars().skip(skipped);
        let mut line = String::new();
        if skipped > 0 {
            line.push('…');
        }
        let shown = rest.by_ref().take(2 * MAX_SHOWN);
        line.extend(shown.map(|shown| if shown.is_control() { ' ' } else { shown }));
        if rest.next().is_some() {
            line.push('…');
        }
        let column = before - skipped + usize::from(skipped > 0);
        format!("{line}\n{}^\n", " ".repeat(column))
    }
}

/// The maximum number of characters shown before the fault. At most twice as many are shown in total.
const MAX_SHOWN: usize = 80;

/// The error for a part of a query that a language cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnsupportedQuery(String);

/// A fault in a query text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryErrorKind {
    /// The text ends where a term, an operand or an argument is expected. The value names what is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// There is text after a complete query.
    #[error("{0:?} after the end of the query")]
    ExtraToken(String),
    /// No attribute set with this name is known.
    #[error("attribute set {0:?} is not known")]
    AttributeSet(String),
    /// The text after `@attr` is not `type=value`.
    #[error("{0:?} is not an attribute of the form type=value")]
    Attribute(String),
    /// A term has more attributes than this limit.
    #[error("more than {0} attributes for a term")]
    TooManyAttributes(usize),
    /// Repeating the attributes for each term would exceed this limit, in octets.
    #[error("attributes that would take more than {0} octets, repeated for each term")]
    TooMuchRepeated(usize),
    /// The text is not an integer, or does not fit into 64 bits.
    #[error("{0:?} is not a number")]
    Number(String),
    /// An argument of `@prox` is invalid.
    #[error("{0:?} cannot be an argument of @prox here")]
    Proximity(String),
    /// The term type after `@term` is unknown.
    #[error("{0:?} is not a term type: general, numeric, string, oid, datetime or null")]
    TermType(String),
    /// The term is not valid for its type.
    #[error("{0:?} is not a term of the type that @term names")]
    Term(String),
    /// PQF does not define this word, which begins with `@`.
    #[error("{0} is not a word of PQF")]
    UnknownWord(String),
    /// A backslash is followed by too few digits or none.
    #[error("{0} is not \\xHH or \\OOO")]
    Escape(String),
    /// A quote is opened, but not closed.
    #[error("a quote is not closed")]
    UnclosedQuote,
    /// The operators are nested deeper than this limit. A query that is nested deeper cannot be sent.
    #[error("operators nested more than {0} deep")]
    TooDeep(usize),
    /// The text is longer than this limit, in octets.
    #[error("a query of more than {0} octets")]
    TooLong(usize),
    /// The grammar does not allow this word or symbol at this position.
    #[error("{0:?} is not allowed here")]
    Unexpected(String),
    /// A word is excluded with `-`, but no operand precedes the `-`.
    #[error("an exclusion with no word before it (to search for the -, put it in quotes)")]
    Exclusion,
    /// The range of years ends before it begins.
    #[error("the years {0:?} end before they begin")]
    Years(String),
    /// A term in a year index contains digits and other characters, but is not a range of years.
    #[error(
        "{0:?} is not a range of years, which is written 1850-1860, 1850-, -1860, >1850 or 18?? (a term in quotes is sent as it is)"
    )]
    NoYears(String),
    /// The text ends with a backslash.
    #[error("a backslash with nothing after it")]
    LoneBackslash,
    /// The index name, with its prefix if it has one, is not in the table or the properties in use.
    #[error("index {name:?} is not known")]
    Index {
        /// The index name as written.
        name: String,
        /// The most similar known index name.
        nearest: Option<String>,
    },
    /// The prefix or URI of the context set is unknown.
    #[error("context set {0:?} is not known")]
    ContextSet(String),
    /// The properties in use do not define this CQL relation.
    #[error("relation {0:?} is not in the properties")]
    Relation(String),
    /// This modifier of a CQL relation or operator cannot be translated.
    #[error("modifier {0:?} cannot be translated")]
    Modifier(String),
    /// This property is required to translate the clause, but is missing.
    #[error("the properties lack {0}")]
    Property(&'static str),
    /// There are more operands, or more consecutive modifiers, than this limit.
    #[error("more than {0} {1}")]
    TooMany(usize, &'static str),
    /// The qualifier does not allow this CCL relation, or the text after the relation cannot have one.
    #[error("relation {0:?} cannot be used with this qualifier")]
    QualifierRelation(String),
    /// The qualifier does not allow this CCL truncation or mask.
    #[error("{0} cannot be used with this qualifier")]
    Truncation(&'static str),
}

/// Parses a number that consists only of digits.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| is_digits(text))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit())
}

/// The maximum length of a query text, in octets.
pub const MAX_QUERY_LENGTH: usize = 1 << 20;

fn check_length(text: &str) -> Result<(), QueryError> {
    if text.len() > MAX_QUERY_LENGTH {
        Err(QueryErrorKind::TooLong(MAX_QUERY_LENGTH).at(MAX_QUERY_LENGTH))
    } else {
        Ok(())
    }
}

/// Creates a proximity operator without exclusion.
fn near(
    distance: i64,
    ordered: bool,
    relation_type: RelationType,
    unit: KnownProximityUnit,
) -> Operator {
    Operator::Prox(Box::new(ProximityOperator {
        exclusion: Some(false),
        distance,
        ordered,
        relation_type,
        proximity_unit_code: ProximityUnitCode::Known(unit),
    }))
}

/// Converts the attributes of a term from the order of the text to the order in which they are sent. Only the last
/// attribute of each type is sent, and the order is reversed. An attribute without a set gets the set of the
/// attribute written before it.
fn as_sent(written: &[AttributeElement]) -> Vec<AttributeElement> {
    let mut set = None;
    let mut sent: Vec<AttributeElement> = Vec::new();
    for attribute in written {
        set = attribute.attribute_set.or(set);
        sent.retain(|earlier| earlier.attribute_type != attribute.attribute_type);
        sent.push(AttributeElement {
            attribute_set: set,
            ..attribute.clone()
        });
    }
    sent.reverse();
    sent
}

impl QueryErrorKind {
    /// Returns the error for this fault, with an offset in octets from the start of the text.
    pub fn at(self, offset: usize) -> QueryError {
        QueryError { kind: self, offset }
    }

    /// Returns the end of the message, which suggests what may have been meant.
    fn suggestion(&self) -> String {
        match self {
            Self::AttributeSet(name) => sets::suggestion(name),
            Self::Index {
                nearest: Some(nearest),
                ..
            } => format!("; did you mean {nearest:?}?"),
            Self::UnknownWord(_) => "; quote it to search for it".to_owned(),
            _ => String::new(),
        }
    }
}
