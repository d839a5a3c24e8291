//! The text form of a scan's start: index, relation and term, as a search clause of CQL (SRU, "Scan").

use super::{SruCondition, SruDiagnostic};
use crate::query::cql::{Cql, Node, parse};

/// Reads a scan clause, such as `dc.title = "war"`; for a term alone, the server chooses the index.
///
/// # Errors
/// Faults of CQL, operators between clauses, and `sortby`.
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
