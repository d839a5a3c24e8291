//! CQL 1.1 and 1.2, the Contextual Query Language from the Library of Congress (type-104 queries, Z39.50-2003 §3.7):
//! its syntax tree, and its translation to RPN and back with YAZ's properties.
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

/// A query with the keys for sorting its result.
///
/// [`Display`](std::fmt::Display) prints CQL that [`parse`] parses to the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cql {
    /// The query without its sort keys.
    pub query: Node,
    /// The sort keys after `sortby`, primary key first. RPN cannot express them, so [`sort_keys`] translates them to
    /// the keys for a Sort.
    pub sort: Vec<SingleSpec>,
}

impl Cql {
    /// Creates a query without sort keys.
    fn of(query: Node) -> Self {
        let sort = Vec::new();
        Self { query, sort }
    }
}

/// A part of a query: a search clause, a Boolean operation, or a part with a prefix map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A search clause: an index, a relation and a term.
    Clause(Clause),
    /// Two parts with an operator between them.
    Boolean(Box<Boolean>),
    /// A part with a prefix for a context set.
    Prefixed(Box<PrefixMap>),
}

/// A search clause: a term, and the index and relation before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The index and relation of the terms; shared by the clauses of `title = (war or peace)`.
    pub relation: Arc<Relation>,
    /// The term to search for.
    pub term: Word,
    /// Unquoted words after the term, which must occur too: a YAZ extension to the grammar.
    pub extra_terms: Vec<Word>,
}

/// The index, relation and modifiers before a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The index; `cql.serverChoice` if the clause has none.
    pub index: Word,
    /// The relation: a symbol, or a name such as `all`, `exact` or `cql.any`; `=` if the clause has none.
    pub name: Word,
    /// The modifiers of the relation, in the order written.
    pub modifiers: Vec<Modifier>,
}

/// A modifier: `/name` or `/name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modifier {
    /// The name of the modifier, with its prefix if it has one.
    pub name: Word,
    /// The comparison symbol and the value, if the modifier has a value.
    pub value: Option<(Sign, Word)>,
}

/// A comparison symbol.
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
    /// Returns the symbol as it is written.
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

/// Two parts with an operator between them. All operators have equal precedence and are applied from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boolean {
    /// The operator between the parts.
    pub operator: BooleanOperator,
    /// The modifiers of the operator, in the order written.
    pub modifiers: Vec<Modifier>,
    /// The part before the operator.
    pub left: Node,
    /// The part after the operator.
    pub right: Node,
}

/// A CQL Boolean operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BooleanOperator {
    /// Finds records that match both parts.
    And,
    /// Finds records that match either part, or both.
    Or,
    /// Finds records that match the left part but not the right part.
    Not,
    /// Finds records that match both parts near each other.
    Prox,
}

impl BooleanOperator {
    /// Returns the operator in its usual spelling; in a query, its letters may be in any case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::Prox => "prox",
        }
    }
}

/// A prefix map, `> prefix = "uri"`, and the part of the query to which it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixMap {
    /// The prefix; `None` if the map is for names without a prefix.
    pub prefix: Option<Word>,
    /// The identifier of the context set.
    pub uri: Word,
    /// The part to which the prefix applies.
    pub query: Node,
}

/// A sort key after `sortby`; called `singleSpec` in the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleSpec {
    /// The index to sort by.
    pub index: Word,
    /// Modifiers such as `/sort.descending`, in the order written.
    pub modifiers: Vec<Modifier>,
}

/// A word in a query, with its offset. Words that differ only in their offsets are equal.
#[derive(Debug, Clone)]
pub struct Word {
    /// The text between the quotes, as written. A backslash marks a literal character that would otherwise be a mask,
    /// anchor or quote.
    pub text: String,
    /// The offset of the word, or of its opening quote, from the start of the query in octets.
    pub offset: usize,
}

impl Word {
    /// Creates a word from text in which special characters already have their backslashes.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            offset: 0,
        }
    }

    /// Returns the text of the word without its backslashes.
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
