//! The number of records for each term of a query (SearchResult-1, Z39.50-2003 Appendix USR.1). The numbers from all targets
//! are added up if every target that answered reports them.

use z3950::service::search::SearchResult;
use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::format::search_result1::{QueryExpression, SubqueryReport};
use z3950_server::backend::TermCount;

/// Returns the number of records for each term of a query, from left to right, as reported by a target; `None` if any number
/// is missing.
pub(super) fn of_target(found: &SearchResult, query: &RpnQuery) -> Option<Vec<usize>> {
    let terms: Vec<_> = query.rpn.terms().collect();
    let natural = |count: i64| usize::try_from(count).ok();
    if let [_] = *terms {
        let all = found.count().and_then(|count| usize::try_from(count).ok());
        return all.map(|all| vec![all]);
    }
    let report = found.report()?;
    let of_terms: Vec<SubqueryReport> = report
        .0
        .into_iter()
        .filter(|part| !part.full_query)
        .collect();
    if of_terms.len() != terms.len() {
        return None;
    }
    let counts = of_terms.into_iter().zip(terms).map(|(part, term)| {
        let is_of_term = match &part.subquery_expression {
            Some(QueryExpression::Term(expression)) => expression.query_term == term.term,
            _ => false,
        };
        part.subquery_count.filter(|_| is_of_term).and_then(natural)
    });
    counts.collect()
}

/// Returns the total number of records for each term, from the numbers of each target; an empty list if any target does not
/// report its numbers.
pub(super) fn summed<'a>(
    query: &RpnQuery,
    of_targets: impl Iterator<Item = Option<&'a [usize]>>,
) -> Vec<TermCount> {
    let mut sums: Vec<TermCount> = { query.rpn.terms() }
        .map(|operand| TermCount {
            operand: operand.clone(),
            records: 0,
        })
        .collect();
    for counts in of_targets {
        let Some(counts) = counts else {
            return Vec::new();
        };
        for (sum, count) in sums.iter_mut().zip(counts) {
            sum.records = sum.records.saturating_add(*count);
        }
    }
    sums
}
