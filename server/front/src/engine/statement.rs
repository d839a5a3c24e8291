//! Statements of SphinxQL, and their answers.

use bytes::Bytes;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::SourceReport;
use z3950_server::{Diagnostic, diagnostic};

use super::link::{LinkError, UNKNOWN_PLACE};
use super::mysql::Rows;
use super::setup::agent_address;
use super::token;
use crate::text::clean;

/// Of what a select takes its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Select<'a> {
    pub(super) index: &'a str,
    /// The columns.
    pub(super) columns: &'a str,
    /// The expression.
    pub(super) query: &'a str,
    /// A condition beside the expression, such as ` AND p>=5`.
    pub(super) filter: &'a str,
    /// Grouping and order, such as `ORDER BY id ASC`.
    pub(super) order: &'a str,
    pub(super) skip: usize,
    pub(super) rows: usize,
    /// The engine's own time limit, in milliseconds.
    pub(super) milliseconds: u128,
}

impl Select<'_> {
    /// The statement.
    pub(super) fn text(&self) -> Vec<u8> {
        let Self {
            index,
            columns,
            query,
            filter,
            order,
            skip,
            rows,
            milliseconds,
        } = self;
        let query = token::literal(query.as_bytes());
        let most = skip.saturating_add(*rows).max(1);
        let mut text = format!("SELECT {columns} FROM {index} WHERE MATCH('").into_bytes();
        text.extend(query);
        let rest = format!(
            "'){filter} {order} LIMIT {skip},{rows} OPTION max_matches={most}, ranker=none, max_query_time={milliseconds}"
        );
        text.extend(rest.into_bytes());
        text
    }
}

/// The records with these numbers.
pub(super) fn by_number(index: &str, numbers: &[u64]) -> Vec<u8> {
    let most = numbers.len().max(1);
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let numbers = numbers.join(",");
    format!(
        "SELECT id, record FROM {index} WHERE id IN ({numbers}) LIMIT {most} OPTION max_matches={most}"
    )
    .into_bytes()
}

/// Asks for the totals of the statement before, and for its warnings.
pub(super) const TOTALS: &[u8] = b"; SHOW META; SHOW WARNINGS";
/// The results of a select and [`TOTALS`].
pub(super) const RESULTS: usize = 3;

/// A select with its totals.
#[derive(Debug, Default)]
pub(super) struct Selected {
    pub(super) rows: Rows,
    /// The number of records found.
    pub(super) count: usize,
    /// The engine's words, such as those about a node that does not answer.
    pub(super) warnings: Vec<String>,
}

impl Selected {
    /// Reads the answer to a select and [`TOTALS`].
    ///
    /// # Errors
    /// An answer that is something else.
    pub(super) fn read(results: Vec<Rows>) -> Result<Self, LinkError> {
        let mut results = results.into_iter();
        let rows = results.next().ok_or(LinkError::malformed("no rows"))?;
        let meta = results.next().ok_or(LinkError::malformed("no totals"))?;
        let warnings = results.next().unwrap_or_default();
        let warnings = warnings
            .into_iter()
            .filter_map(|row| row.into_iter().last()?);
        Ok(Self {
            rows,
            count: total(&meta)?,
            warnings: warnings
                .flat_map(|words| split_warnings(&String::from_utf8_lossy(&words)))
                .collect(),
        })
    }

    /// Reads the answers to several selects, each of which is followed by [`TOTALS`].
    ///
    /// # Errors
    /// An answer that is something else.
    pub(super) fn read_each(results: Vec<Rows>) -> Result<Vec<Self>, LinkError> {
        let mut results = results.into_iter();
        let mut each = Vec::new();
        while results.len() > 0 {
            each.push(Self::read(results.by_ref().take(RESULTS).collect())?);
        }
        Ok(each)
    }
}

/// The totals of selects, each of which is followed by [`TOTALS`].
pub(super) fn totals(results: &[Rows]) -> Result<Vec<usize>, LinkError> {
    let of_each = results.iter().skip(1).step_by(RESULTS);
    of_each.map(total).collect()
}

/// The words of a query, as the engine has read them.
pub(super) fn keywords(meta: &Rows) -> Vec<&[u8]> {
    let words = meta.iter().filter_map(|row| match row.as_slice() {
        [Some(name), Some(word), ..] if name.starts_with(b"keyword[") => Some(word.as_slice()),
        _ => None,
    });
    words.collect()
}

fn total(meta: &Rows) -> Result<usize, LinkError> {
    let found = meta.iter().find_map(|row| match row.as_slice() {
        [Some(name), Some(value), ..] if name == b"total_found" => number(value),
        _ => None,
    });
    found.ok_or(LinkError::malformed("no total_found"))
}

/// The warnings of several nodes come as one.
fn split_warnings(words: &str) -> Vec<String> {
    let words = words.trim_end_matches('\0').split(['\n', ';']);
    let words = words.map(str::trim).filter(|words| !words.is_empty());
    words.map(clean).collect()
}

/// The name of the engine as a source of records, if its words name no node.
pub(super) const WHOLE_ENGINE: &str = "engine";

/// Why a node has no records in an answer. It has the address of the settings if that is known, that of the engine's own protocol if the
/// words have it, or else it is the engine as a whole.
pub(super) fn failed_source(words: &str, nodes: &[String]) -> SourceReport {
    let agent = words.split("agent ").nth(1).and_then(|rest| {
        let (address, _) = rest.split_once(": ")?;
        let mut parts = address.split(':');
        Some(format!("{}:{}", parts.next()?, parts.next()?))
    });
    let known = agent.as_ref().and_then(|agent| {
        let mut nodes = nodes.iter();
        nodes.find(|node| agent_address(node).as_ref() == Some(agent))
    });
    let name = known.cloned().or(agent);
    let failure = diagnostic(Condition::DATABASE_UNAVAILABLE, words);
    SourceReport::new(
        name.unwrap_or_else(|| WHOLE_ENGINE.to_owned()),
        Err(failure),
    )
}

/// The numbers and records of rows.
pub(super) fn records(rows: Rows) -> Result<Vec<(u64, Bytes)>, LinkError> {
    let rows = rows.into_iter().map(|row| {
        let mut values = row.into_iter();
        let id = values.next().flatten();
        let id = id.and_then(|id| number(&id));
        let record = values.next().flatten();
        let known = id.zip(record);
        let (id, record) = known.ok_or(LinkError::malformed("a row without a record"))?;
        Ok((id, Bytes::from(token::restored(record))))
    });
    rows.collect()
}

/// The numbers of rows.
pub(super) fn numbers(rows: Rows) -> Result<Vec<u64>, LinkError> {
    let rows = rows.into_iter().map(|row| {
        let id = row.into_iter().next().flatten();
        let id = id.and_then(|id| number(&id));
        id.ok_or(LinkError::malformed("a row without a number"))
    });
    rows.collect()
}

pub(super) fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The nodes for want of which the engine refuses a statement.
pub(super) fn failed_nodes(error: &LinkError, nodes: &[String]) -> Vec<SourceReport> {
    match error {
        LinkError::Refused(words) if is_unreachable(words) => {
            let words = split_warnings(words).into_iter();
            words.map(|words| failed_source(&words, nodes)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether neither the query nor a server that does not answer explains a failure.
pub(super) fn is_unexpected(error: &LinkError) -> bool {
    match error {
        LinkError::Refused(words) => !is_too_complex(words),
        // Those that a server has sent are reported with its name.
        LinkError::Malformed { place, .. } => place == UNKNOWN_PLACE,
        _ => false,
    }
}

/// What the engine's failure means to a client.
pub(super) fn failure(error: &LinkError) -> Diagnostic {
    match error {
        LinkError::Refused(words) if is_too_complex(words) => {
            diagnostic(Condition::RESOURCES_EXHAUSTED, words)
        }
        LinkError::Refused(words) if is_unreachable(words) => {
            diagnostic(Condition::DATABASE_UNAVAILABLE, words)
        }
        LinkError::Refused(words) => diagnostic(Condition::UNSUPPORTED_SEARCH, words),
        other => diagnostic(Condition::DATABASE_UNAVAILABLE, other.to_string()),
    }
}

/// What it means to a client that updates.
pub(super) fn update_failure(error: &LinkError) -> Diagnostic {
    let condition = match error {
        LinkError::Refused(_) => Condition::TEMPORARY_SYSTEM_ERROR,
        _ => Condition::DATABASE_UNAVAILABLE,
    };
    diagnostic(condition, error.to_string())
}

fn is_too_complex(words: &str) -> bool {
    ["too complex", "not enough stack", "too many"]
        .iter()
        .any(|part| words.contains(part))
}

/// Whether all nodes failed.
fn is_unreachable(words: &str) -> bool {
    let parts = [
        "connect",
        "timed out",
        "no enabled",
        "closed",
        "reset",
        "receive",
        "send",
    ];
    words.contains("agent") && parts.iter().any(|part| words.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Vec<Option<Vec<u8>>> {
        let values = values.iter();
        values
            .map(|value| Some(value.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn answers_of_another_form_are_errors() {
        let meta = vec![row(&["total", "1"]), row(&["total_found", "3"])];
        for (results, expected) in [
            (vec![], "no rows"),
            (vec![vec![]], "no totals"),
            (vec![vec![], vec![]], "no total_found"),
            (
                vec![vec![], vec![row(&["total_found", "many"])]],
                "no total_found",
            ),
        ] {
            let error = Selected::read(results).expect_err(expected);
            assert_eq!(error, LinkError::malformed(expected));
        }
        let rows = vec![row(&["7", "a"]), row(&["8"])];
        let selected = Selected::read(vec![rows, meta]).expect("an answer");
        assert_eq!(selected.count, 3);
        assert!(records(selected.rows).is_err());
        assert!(numbers(vec![row(&["-1"])]).is_err());
        assert!(numbers(vec![vec![None]]).is_err());
    }

    #[test]
    fn failed_nodes_are_named() {
        let words =
            "index books: agent 127.0.0.1:9402: connect() failed: errno=111, Connection refused\0";
        let meta = vec![row(&["total_found", "3"])];
        let warnings = vec![row(&["warning", "1000", words])];
        let selected = Selected::read(vec![vec![], meta, warnings]).expect("an answer");
        let [warning] = &*selected.warnings else {
            panic!("{:?}", selected.warnings);
        };
        let source = failed_source(warning, &[]);
        assert_eq!(source.name, "127.0.0.1:9402");
        let nodes = ["127.0.0.1:9411", "127.0.0.1:9401"].map(str::to_owned);
        assert_eq!(failed_source(warning, &nodes).name, "127.0.0.1:9401");
        let failure = source.failure.expect("a failure");
        assert_eq!(
            Condition(failure.condition),
            Condition::DATABASE_UNAVAILABLE
        );
        assert_eq!(failed_source("query time exceeded", &nodes).name, "engine");
        assert_eq!(
            split_warnings("agent a:1:\x1b[2J failed\r\n;b\0c"),
            ["agent a:1:\u{fffd}[2J failed", "b\u{fffd}c"]
        );
    }

    #[test]
    fn failures_have_conditions() {
        let refused = |words: &str| LinkError::Refused(words.to_owned());
        for (error, condition) in [
            (
                refused("index books: query too complex, not enough stack"),
                Condition::RESOURCES_EXHAUSTED,
            ),
            (
                refused("index books: agent a:1: connect() failed"),
                Condition::DATABASE_UNAVAILABLE,
            ),
            (
                refused("index books: agent a:1: query timed out"),
                Condition::DATABASE_UNAVAILABLE,
            ),
            (
                refused("index books: syntax error"),
                Condition::UNSUPPORTED_SEARCH,
            ),
            (LinkError::malformed("x"), Condition::DATABASE_UNAVAILABLE),
        ] {
            assert_eq!(Condition(failure(&error).condition), condition, "{error}");
        }
    }
}
