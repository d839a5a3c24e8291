//! Notes that the prompt's `find` shows in addition to the number of hits: whether this number is an estimate, the
//! number of hits for each source and for each part of the query (SearchResult-1, Z39.50-2003 Appendix USR.1), and the
//! requested facets.

use z3950::service::search::SearchResult;
use z3950_asn1::apdu::{Query, RpnQuery};
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::format::search_result1::{
    Databases, QueryExpression, ResultsByDb, SearchInfoReport, SubqueryReport, TermExpression,
};
use z3950_asn1::format::sources::{SearchSources, reason};

use super::{facet_lines, no_facets, part_names};
use crate::console::output::{Failure, Output};
use crate::render::{query as query_on_a_line, term, text_of};

/// Shows notes on additional results of a search: whether the number of hits is an estimate, and the number of hits for
/// each part of the query.
pub(crate) fn say_details(result: &SearchResult, query: &Query, output: &Output) {
    if result.is_estimate() {
        output.note("this number is an estimate of the server");
    }
    let report = result.report().unwrap_or_default();
    let query = match query {
        Query::Type1(query) | Query::Type101(query) => Some(query),
        _ => None,
    };
    let sources = result.sources();
    if let Some(words) = hits_of(&sources) {
        output.note(&words);
    }
    for remark in &sources.remarks {
        output.note(remark);
    }
    for remark in parts(&report, query, result.hits) {
        output.note(&remark);
    }
}

/// Returns the number of hits at each source, such as `hits: town 4, county 1; closed failed: connection refused`. The
/// name of the database is not repeated for each source.
fn hits_of(sources: &SearchSources) -> Option<String> {
    let all = &sources.sources;
    if all.len() < 2 && !sources.has_failed() {
        return None;
    }
    let database = |name: &str| {
        name.split_once('@')
            .map(|(database, _)| database.to_owned())
    };
    let first = all.first().and_then(|first| database(&first.name));
    let is_common = first.is_some() && all.iter().all(|one| database(&one.name) == first);
    let short = |name: &str| match name.split_once('@') {
        Some((_, part)) if is_common => part.to_owned(),
        _ => name.to_owned(),
    };
    let answered = all.iter().filter(|source| source.failure.is_none());
    let hits = answered.map(|source| match source.records {
        Some(records) => format!("{} {records}", short(&source.name)),
        None => short(&source.name),
    });
    let hits = hits.collect::<Vec<_>>().join(", ");
    let failures = sources
        .failures()
        .map(|(name, why)| format!("{} failed: {}", short(name), reason(why)));
    let hits = Some(format!("hits: {hits}")).filter(|_| !hits.is_empty());
    let parts: Vec<String> = hits.into_iter().chain(failures).collect();
    Some(parts.join("; "))
}

/// Shows the facets of a search.
pub(crate) fn say_facets(
    result: &SearchResult,
    asked: Option<&FacetList>,
    output: &mut Output,
) -> Result<(), Failure> {
    let found = result.facets().map(|list| list.0).unwrap_or_default();
    if let Some(asked) = asked.filter(|_| found.is_empty()) {
        output.note(&no_facets(&asked.0));
    }
    for facet in found {
        // The character set of the output may lack the block characters of the bars.
        let bars = output.is_terminal() && !output.is_converted();
        for line in facet_lines(&facet, bars) {
            output.line(&line)?;
        }
    }
    Ok(())
}

/// Returns notes about the parts of the query: the number of hits for each part, unless it is the same as for the whole
/// query, and other information.
fn parts(report: &SearchInfoReport, query: Option<&RpnQuery>, hits: u64) -> Vec<String> {
    let is_all = |part: &SubqueryReport| {
        let count = part.subquery_count.map(u64::try_from);
        let is_only = part.full_query || report.0.len() == 1;
        is_only && count.is_none_or(|count| count == Ok(hits))
    };
    let (mut counts, mut remarks) = (Vec::new(), Vec::new());
    for (part, name) in report.0.iter().zip(part_names(&report.0, query)) {
        let named = match (&part.subquery_expression, &part.subquery_id) {
            (Some(QueryExpression::Term(part)), _) => name + &commented(part),
            (Some(QueryExpression::Query(asked)), _) => query_on_a_line(asked),
            (None, Some(id)) => text_of(id),
            (None, None) => "the query".into(),
        };
        if !is_all(part) {
            counts.push(counted(&named, part.subquery_count));
        }
        for (word, expression) in [
            ("is understood as", &part.subquery_interpretation),
            ("is better asked as", &part.subquery_recommendation),
        ] {
            if let Some(expression) = expression {
                remarks.push(format!("{named} {word} {}", expressed(expression)));
            }
        }
        let by_database = part.results_by_db.as_deref().unwrap_or_default();
        if by_database.len() > 1 && !part.full_query {
            let counts: Vec<String> = by_database.iter().map(in_databases).collect();
            remarks.push(format!("{named} is in {}", counts.join(", ")));
        }
    }
    if !counts.is_empty() {
        remarks.insert(0, format!("parts of the query: {}", counts.join(", ")));
    }
    remarks
}

fn in_databases(found: &ResultsByDb) -> String {
    let names = match &found.databases {
        Databases::All => "all databases".into(),
        Databases::List(names) => {
            let names: Vec<String> = names.iter().map(|name| text_of(&name.0)).collect();
            names.join(" ")
        }
    };
    counted(&names, found.count)
}

/// Returns a name with its count, such as `war (3)`.
fn counted(named: &str, count: Option<i64>) -> String {
    match count {
        Some(count) => format!("{named} ({count})"),
        None => named.to_owned(),
    }
}

fn expressed(expression: &QueryExpression) -> String {
    match expression {
        QueryExpression::Term(part) => term(&part.query_term) + &commented(part),
        QueryExpression::Query(asked) => query_on_a_line(asked),
    }
}

fn commented(part: &TermExpression) -> String {
    let comment = part
        .term_comment
        .as_ref()
        .map(|text| format!(" – {}", text_of(text)));
    comment.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::{DefaultDiagFormat, Term};
    use z3950_asn1::format::sources::SearchSource;

    #[test]
    fn hits_and_failures_of_sources_are_on_one_line() {
        let source = |name: &str, found: Result<u64, (i64, &str)>| SearchSource {
            name: name.into(),
            records: found.ok(),
            failure: found
                .err()
                .map(|(code, words)| DefaultDiagFormat::bib1(code, words)),
        };
        for (sources, expected) in [
            (vec![], None),
            (vec![source("a", Ok(3))], None),
            (
                vec![source("u@a", Ok(4)), source("u@b:1/c", Ok(0))],
                Some("hits: a 4, b:1/c 0"),
            ),
            (
                vec![
                    source("u@a", Ok(4)),
                    source("b", Err((109, "connection refused"))),
                    source("c", Err((109, ""))),
                ],
                Some(
                    "hits: u@a 4; b failed: connection refused; c failed: the database is not available (109)",
                ),
            ),
            (vec![source("u@b", Err((109, "x")))], Some("b failed: x")),
        ] {
            let remarks = Vec::new();
            let found = hits_of(&SearchSources { sources, remarks });
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn parts_are_shown_unless_they_only_repeat_the_hits() {
        let part = |term: &str, count| SubqueryReport::of_term(Term::General(term.into()), count);
        let whole = SubqueryReport {
            full_query: true,
            subquery_count: Some(3),
            ..SubqueryReport::default()
        };
        let better = SubqueryReport {
            subquery_recommendation: Some(QueryExpression::Term(TermExpression {
                query_term: Term::General("peace".into()),
                term_comment: Some("did you mean".into()),
            })),
            ..part("peece", 0)
        };
        for (report, expected) in [
            (vec![], &[][..]),
            (vec![part("war", 3)], &[]),
            (vec![whole.clone()], &[]),
            (
                vec![whole, part("war", 5), part("peace", 4)],
                &["parts of the query: war (5), peace (4)"],
            ),
            (
                vec![better],
                &[
                    "parts of the query: peece (0)",
                    "peece is better asked as peace – did you mean",
                ],
            ),
        ] {
            assert_eq!(parts(&SearchInfoReport(report), None, 3), expected);
        }
    }
}
