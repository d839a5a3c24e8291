//! CQL 1.1 and 1.2, the Contextual Query Language of the Library of Congress (type-104 queries, Z39.50-2003 §3.7): its syntax
//! tree, and its translation to RPN and back with the same properties as in YAZ.
//!
//! ```
//! use z3950_asn1::query::cql;
//!
//! let properties = cql::Properties::default();
//! let query = cql::parse("dc.title = tolst* and dc.date > 1990")?;
//! assert_eq!(query.to_string(), "dc.title = tolst* and dc.date > 1990");
//! let rpn = cql::to_rpn(&query, &properties)?;
//! assert_eq!(cql::from_rpn(&rpn, &properties).as_ref(), Ok(&query));
//! # Ok::<(), z3950_asn1::query::QueryError>(())
//! ```

mod from_rpn;
mod lexer;
mod parse;
mod print;
mod properties;
mod to_rpn;

use std::sync::Arc;

pub use from_rpn::from_rpn;
pub use parse::{MAX_DEPTH, MAX_MODIFIERS, parse};
pub use properties::{Properties, PropertiesError, PropertyAttribute};
pub use to_rpn::{MAX_OPERANDS, sort_keys, to_rpn};

/// The index of a clause that does not name an index (CQL 1.2 §Search Clause).
pub const SERVER_CHOICE: &str = "cql.serverChoice";

/// A query, and the keys by which its result is sorted.
///
/// [`Display`](std::fmt::Display) prints CQL that [`parse`] reads as the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cql {
    /// The query itself.
    pub query: Node,
    /// The keys after `sortby`, primary key first; [`sort_keys`] translates them because RPN has no place for them.
    pub sort: Vec<SingleSpec>,
}

impl Cql {
    /// Creates a query without sort keys.
    fn of(query: Node) -> Self {
        let sort = Vec::new();
        Self { query, sort }
    }
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// An index, a relation and a term.
    Clause(Clause),
    /// Two parts and the operator between them.
    Boolean(Box<Boolean>),
    /// A part with a prefix for a context set.
    Prefixed(Box<Prefixed>),
}

/// A search clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Where and how the terms are searched for; shared by the clauses of `title = (war or peace)`.
    pub relation: Arc<Relation>,
    /// The term.
    pub term: Word,
    /// Unquoted words after the term, all of which must also occur: YAZ's addition to the grammar.
    pub extra_terms: Vec<Word>,
}

/// The index, relation and modifiers before a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The index; `cql.serverChoice` if none was written.
    pub index: Word,
    /// The relation: a sign, or a name such as `all`, `exact` or `cql.any`; `=` if none was written.
    pub name: Word,
    /// The modifiers of the relation, in the order written.
    pub modifiers: Vec<Modifier>,
}

/// `/name` or `/name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modifier {
    /// The name of the modifier, with its prefix if it has one.
    pub name: Word,
    /// The sign and the value.
    pub value: Option<(Sign, Word)>,
}

/// A comparison sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `=`
    Equal,
    /// `==`
    Exact,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Sign {
    /// Returns the sign as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Exact => "==",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// Two parts and the operator between them; all operators have the same rank and are applied from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boolean {
    /// The operator.
    pub operator: BooleanOperator,
    /// The modifiers of the operator, in the order written.
    pub modifiers: Vec<Modifier>,
    /// The part before the operator.
    pub left: Node,
    /// The part after the operator.
    pub right: Node,
}

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BooleanOperator {
    /// Both parts.
    And,
    /// Either part, or both.
    Or,
    /// The left part without the right part.
    Not,
    /// Both parts, near each other.
    Prox,
}

impl BooleanOperator {
    /// Returns the operator as it is written; the letters may be in any case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::Prox => "prox",
        }
    }
}

/// `> prefix = "uri"` and the part of the query to which it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefixed {
    /// The prefix; `None` for names without a prefix.
    pub prefix: Option<Word>,
    /// The identifier of the context set.
    pub uri: Word,
    /// The part to which the prefix applies.
    pub query: Node,
}

/// A key after `sortby`: `singleSpec` in the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleSpec {
    /// The index to sort by.
    pub index: Word,
    /// Modifiers such as `/sort.descending`, in the order written.
    pub modifiers: Vec<Modifier>,
}

/// A word of a query and its offset. Words that differ only in their offset are equal.
#[derive(Debug, Clone)]
pub struct Word {
    /// The text as written between its quotes: a backslash distinguishes a character from a mask, anchor or quote.
    pub text: String,
    /// The offset of the word or its quote from the start of the query, in octets.
    pub offset: usize,
}

impl Word {
    /// Creates a word that was not parsed, with its backslashes.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            offset: 0,
        }
    }

    /// Returns the characters without backslashes.
    pub fn unescaped(&self) -> String {
        unescaped(&self.text)
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        });
    }
    plain
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Word {}
