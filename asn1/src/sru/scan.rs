//! The start of a scan as text: index, relation and term, in the form of a CQL search clause (SRU, "Scan").

use super::{SruCondition, SruDiagnostic};
use crate::query::cql::{Cql, Node, parse};

/// Parses a scan clause, such as `dc.title = "war"`. If it is only a term, the server chooses the index.
///
/// # Errors
/// A diagnostic for invalid CQL, operators between clauses, or `sortby`.
pub fn scan_clause(text: &str) -> Result<Cql, SruDiagnostic> {
    let clause = parse(text).map_err(|error| SruDiagnostic::from_query_error(&error, text))?;
    match (&clause.query, &*clause.sort) {
        (Node::Clause(_), []) => Ok(clause),
        (Node::Clause(_), _) => {
            let one = SruDiagnostic::new(SruCondition::QUERY_FEATURE, "sortby");
            Err(one.with_message("terms cannot be sorted"))
        }
        _ => {
            let one = SruDiagnostic::new(SruCondition::BOOLEAN, text);
            Err(one.with_message("a scan has one clause"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_clauses_are_single_clauses() {
        for (text, number) in [
            ("war", 0),
            ("dc.title = \"war and peace\"", 0),
            ("dc.title exact \"\"", 0),
            ("a and b", 37),
            ("(a or b)", 37),
            ("a sortby title", 48),
            ("a and", 10),
            ("", 10),
        ] {
            let found = match scan_clause(text) {
                Ok(_) => SruCondition(0),
                Err(diagnostic) => diagnostic.condition().expect(text),
            };
            assert_eq!(found, SruCondition(number), "{text}");
        }
    }
}
