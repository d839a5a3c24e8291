//! Converts faults in queries to diagnostics.

use super::{SruCondition, SruDiagnostic};
use crate::query::{QueryError, QueryErrorKind};

impl SruDiagnostic {
    /// Returns the diagnostic for a fault in a query. The message includes the position in the text.
    pub fn from_query_error(error: &QueryError, query: &str) -> Self {
        let (condition, details) = match &error.kind {
            QueryErrorKind::Index { name, .. } => (SruCondition::INDEX, name.clone()),
            QueryErrorKind::ContextSet(set) => (SruCondition::CONTEXT_SET, set.clone()),
            QueryErrorKind::Relation(relation) => (SruCondition::RELATION, relation.clone()),
            QueryErrorKind::Modifier(modifier) => {
                (SruCondition::RELATION_MODIFIER, modifier.clone())
            }
            QueryErrorKind::TooLong(limit) => {
                (SruCondition::TOO_MANY_CHARACTERS, limit.to_string())
            }
            QueryErrorKind::TooDeep(limit) | QueryErrorKind::TooMany(limit, _) => {
                (SruCondition::TOO_MANY_BOOLEANS, limit.to_string())
            }
            QueryErrorKind::UnclosedQuote => (SruCondition::QUOTES, String::new()),
            QueryErrorKind::LoneBackslash => (SruCondition::ESCAPE, "\\".into()),
            QueryErrorKind::Unexpected(sign) if sign == "(" || sign == ")" => {
                (SruCondition::PARENTHESES, sign.clone())
            }
            QueryErrorKind::Proximity(value) => (SruCondition::PROXIMITY, value.clone()),
            QueryErrorKind::Number(value) => (SruCondition::TERM_FORMAT, value.clone()),
            QueryErrorKind::Property(_) => (SruCondition::QUERY_FEATURE, String::new()),
            _ => (SruCondition::QUERY_SYNTAX, String::new()),
        };
        Self::new(condition, details).with_message(error.described(query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::cql::{Properties, parse, to_rpn};

    fn check(query: &str, shown: &str) {
        let error = match parse(query) {
            Ok(cql) => to_rpn(&cql, &Properties::default()).expect_err(query),
            Err(error) => error,
        };
        let diagnostic = SruDiagnostic::from_query_error(&error, query);
        assert_eq!(diagnostic.to_string(), shown, "{query}");
    }

    #[test]
    fn faults_of_queries_have_their_conditions() {
        check(
            "a and",
            "diagnostic 10 (a term is missing at character 6 of the query)",
        );
        check(
            "war and colour=red",
            "diagnostic 16 (index \"colour\" is not known at character 9 of the query): colour",
        );
    }
}
