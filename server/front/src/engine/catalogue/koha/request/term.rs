//! Folded terms in a field, alone or at positions.

use serde_json::{Value, json};
use z3950_server::Diagnostic;

use super::expression::{bounded, push};
use crate::engine::elastic::request::{any_span, matching, nothing};

/// A term in a field, or a pattern for terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Exact(String),
    Beginning(String),
    Expression(String),
}

impl Term {
    /// Creates a term. The flags `left` and `right` say which ends are truncated.
    ///
    /// # Errors
    /// Fails with condition 11 for a term that is too long.
    pub(super) fn open(text: String, left: bool, right: bool) -> Result<Self, Diagnostic> {
        Ok(match (left, right) {
            (false, false) => Self::Exact(text),
            (false, true) => Self::Beginning(text),
            (true, _) => {
                let mut expression = ".*".to_owned();
                push(&mut expression, &text);
                if right {
                    expression.push_str(".*");
                }
                Self::Expression(bounded(expression)?)
            }
        })
    }

    pub(super) fn query(&self, field: &str) -> Value {
        match self {
            Self::Exact(text) => json!({ "term": { field: text } }),
            Self::Beginning(text) => json!({ "prefix": { field: text } }),
            Self::Expression(text) => matching(field, text),
        }
    }

    fn span(&self, field: &str) -> Value {
        match self {
            Self::Exact(text) => json!({ "span_term": { field: text } }),
            other => json!({ "span_multi": { "match": other.query(field) } }),
        }
    }
}

/// Returns the span query that matches any of these terms.
pub(super) fn terms_span(field: &str, terms: &[Term]) -> Value {
    let spans = terms.iter().map(|term| term.span(field));
    any_span(spans.collect()).unwrap_or_else(nothing)
}
