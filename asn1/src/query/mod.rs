//! Text forms of the query of a search (Z39.50-2003 §3.7): PQF, the prefix query format of the field, read
//! and printed, and plain words.
//!
//! ```
//! use z3950_asn1::apdu::RpnQuery;
//!
//! let query: RpnQuery = "@and @attr 1=4 war @attr 1=1003 tolstoy".parse()?;
//! assert_eq!(query.to_string(), "@and @attr 1=4 war @attr 1=1003 tolstoy");
//! # Ok::<(), z3950_asn1::query::QueryError>(())
//! ```

mod lexer;
mod pqf;
mod print;
mod words;

pub use pqf::parse as parse_pqf;
pub use words::parse as parse_words;

/// A query text that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at octet {offset} of the query")]
pub struct QueryError {
    /// What is wrong.
    pub kind: QueryErrorKind,
    /// Octets from the start of the text.
    pub offset: usize,
}

impl QueryError {
    /// The text and a line below it with a caret under the fault, both ending with a newline.
    pub fn pointed_out(&self, text: &str) -> String {
        let line: String = text
            .chars()
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .collect();
        let before = text.get(..self.offset).unwrap_or(text).chars().count();
        format!("{line}\n{}^\n", " ".repeat(before))
    }
}

/// What can be wrong with a query text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryErrorKind {
    /// The text ends where a term, an operand or an argument should follow.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A complete query, and something behind it.
    #[error("{0:?} behind the end of the query")]
    ExtraToken(String),
    /// The attribute set is not known by that name.
    #[error("attribute set {0:?} is not known")]
    AttributeSet(String),
    /// What follows `@attr` is not `type=value`.
    #[error("{0:?} is not an attribute of the form type=value")]
    Attribute(String),
    /// Not a whole number, or one beyond 64 bits.
    #[error("{0:?} is not a number")]
    Number(String),
    /// An argument of `@prox` is none of those allowed.
    #[error("{0:?} cannot be an argument of @prox here")]
    Proximity(String),
    /// A term type `@term` does not have.
    #[error("{0:?} is not a term type: general, numeric, string, oid, datetime or null")]
    TermType(String),
    /// A term that its type does not allow.
    #[error("{0:?} is not a term of the type that @term names")]
    Term(String),
    /// A word beginning with `@` that means nothing.
    #[error("{0} is not a word of PQF; quote it to search for it")]
    UnknownWord(String),
    /// An opening quote without its closing one.
    #[error("a quote is not closed")]
    UnclosedQuote,
    /// The query is nested deeper than can be sent.
    #[error("operators nested more than {0} deep")]
    TooDeep(usize),
    /// The text is longer than the limit, in octets.
    #[error("a query of more than {0} octets")]
    TooLong(usize),
}

/// The longest query text read, in octets.
pub const MAX_QUERY_LENGTH: usize = 1 << 20;
