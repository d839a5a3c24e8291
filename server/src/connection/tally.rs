//! The log of a session: a line for each request, and its totals at the end.

use std::time::Instant;

use tracing::{Level, debug, enabled, info};
use z3950_asn1::apdu::{Apdu, Query, Records};

/// The totals of a session.
#[derive(Debug)]
pub(super) struct Tally {
    begun: Instant,
    requests: usize,
    searches: usize,
    records: usize,
    diagnostics: usize,
    octets_in: usize,
    octets_out: usize,
}

impl Tally {
    /// No totals yet; `None` if the log takes neither requests nor totals.
    pub(super) fn if_logged() -> Option<Self> {
        let is_logged =
            enabled!(target: ACCESS, Level::INFO) || enabled!(target: METRICS, Level::INFO);
        is_logged.then(|| Self {
            begun: Instant::now(),
            requests: 0,
            searches: 0,
            records: 0,
            diagnostics: 0,
            octets_in: 0,
            octets_out: 0,
        })
    }

    /// Counts an APDU that was received.
    pub(super) fn received(&mut self, octets: usize, apdu: Option<&Apdu>) {
        self.requests += 1;
        self.octets_in += octets;
        self.searches += usize::from(matches!(apdu, Some(Apdu::SearchRequest(_))));
    }

    /// Counts octets that are sent, and the records of their APDU.
    pub(super) fn sent(&mut self, octets: usize, apdu: Option<&Apdu>) {
        self.octets_out += octets;
        let records = match apdu {
            Some(Apdu::SearchResponse(search)) => &search.records,
            Some(Apdu::PresentResponse(present)) => &present.records,
            Some(Apdu::Segment(segment)) => {
                self.records += segment.segment_records.len();
                return;
            }
            _ => return,
        };
        match &**records {
            Some(Records::ResponseRecords(records)) => self.records += records.len(),
            Some(_) => self.diagnostics += 1,
            None => {}
        }
    }

    /// Logs the totals at the end of the session.
    pub(super) fn log(&self) {
        info!(
            target: METRICS,
            milliseconds = self.begun.elapsed().as_millis(),
            requests = self.requests,
            searches = self.searches,
            records = self.records,
            diagnostics = self.diagnostics,
            octets_in = self.octets_in,
            octets_out = self.octets_out,
            "session over"
        );
    }
}

/// Logs a request and its answer.
pub(super) fn log_access(request: &Apdu, answer: Option<&Apdu>, begun: Instant) {
    let microseconds = begun.elapsed().as_micros();
    match (request, answer) {
        (Apdu::SearchRequest(search), Some(Apdu::SearchResponse(found))) => {
            let databases: Vec<_> = search
                .database_names
                .iter()
                .map(|name| name.0.to_string_lossy())
                .collect();
            info!(
                target: ACCESS,
                databases = databases.join("+"),
                query = ?shown(&search.query),
                hits = found.result_count,
                records = found.number_of_records_returned,
                diagnostic = ?diagnostic(&found.records),
                microseconds,
                "search"
            );
        }
        (Apdu::PresentRequest(present), Some(Apdu::PresentResponse(shown))) => {
            info!(
                target: ACCESS,
                set = ?present.result_set_id.0,
                start = present.result_set_start_point,
                number = present.number_of_records_requested,
                records = shown.number_of_records_returned,
                diagnostic = ?diagnostic(&shown.records),
                microseconds,
                "present"
            );
        }
        _ => {
            let answer = answer.map_or("nothing", Apdu::name);
            debug!(target: ACCESS, request = request.name(), answer, microseconds, "answered");
        }
    }
}

/// The targets of the lines, for filters.
const ACCESS: &str = "z3950_server::access";
const METRICS: &str = "z3950_server::metrics";

fn diagnostic(records: &Option<Records>) -> Option<i64> {
    match records {
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => Some(diagnostic.condition),
        _ => None,
    }
}

/// Most characters of a query in a line.
const MAX_QUERY: usize = 200;

/// A query as text: PQF, or what the client wrote.
fn shown(query: &Query) -> String {
    let text = match query {
        Query::Type1(query) | Query::Type101(query) => query.to_string(),
        Query::Type2(text) | Query::Type100(text) | Query::Type102(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        other => format!("type {}", other.type_number()),
    };
    text.chars().take(MAX_QUERY).collect()
}
