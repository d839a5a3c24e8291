//! Translates Scan (Z39.50-2003 §3.2.8) to the SRU operation of the same name.

use z3950_asn1::apdu::{
    DiagRec, Entry, ListEntries, ScanRequest, ScanResponse, ScanStatus, Term, TermInfo,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::sru::{self, Response, SruTerm};

use super::Refused;
use super::query::SruQuery;
use super::records::to_diag_recs;
use super::search::database;
use super::sets::SruExchange;
use crate::error::{Error, Phase, SruFault};
use crate::transport::timeouts::Timeouts;

impl SruExchange {
    pub(super) async fn scan(
        &mut self,
        request: &ScanRequest,
        timeouts: &Timeouts,
    ) -> Result<ScanResponse, Error> {
        match self.scanned(request, timeouts).await {
            Ok(response) => Ok(response),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::For(diagnostics)) => Ok(refusal(diagnostics)),
        }
    }

    async fn scanned(
        &mut self,
        request: &ScanRequest,
        timeouts: &Timeouts,
    ) -> Result<ScanResponse, Refused> {
        if request.step_size.is_some_and(|step| step != 0) {
            return Err(Refused::because(Condition::SCAN_STEP_SIZE_ZERO_ONLY, ""));
        }
        if request.other_info.is_some() {
            let words = "SRU scans whole databases";
            return Err(Refused::because(Condition::MALFORMED_SCAN, words));
        }
        let database = database(&request.database_names)?;
        let start = &request.term_list_and_start_point;
        let clause = SruQuery::of_scan(start, request.attribute_set, &self.server.options)?;
        let asked = u64::try_from(request.number_of_terms_requested).unwrap_or_default();
        let position = request.preferred_position_in_response;
        let mut scan = sru::ScanRequest::cql(clause.text);
        scan.query_type = clause.query_type;
        scan.response_position = position.and_then(|position| u64::try_from(position).ok());
        scan.maximum_terms = Some(asked);
        let answer = self
            .server
            .ask(Phase::Scan, &database, scan, timeouts)
            .await?;
        let Response::Scan(answer) = answer else {
            let diagnostics = answer.diagnostics();
            return Err(if diagnostics.is_empty() {
                Error::fault(Phase::Scan, SruFault::Operation("scan")).into()
            } else {
                Refused::For(to_diag_recs(diagnostics))
            });
        };
        let diagnostics = to_diag_recs(&answer.diagnostics);
        if answer.terms.is_empty() && !diagnostics.is_empty() {
            return Err(Refused::For(diagnostics));
        }
        let most = usize::try_from(asked).unwrap_or(usize::MAX);
        let entries: Vec<Entry> = answer.terms.iter().take(most).map(entry).collect();
        let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        Ok(ScanResponse {
            scan_status: if count == request.number_of_terms_requested {
                ScanStatus::SUCCESS
            } else {
                ScanStatus::PARTIAL_5
            },
            number_of_entries_returned: count,
            position_of_term: position.filter(|position| *position <= count),
            entries: Some(ListEntries {
                entries: Some(entries),
                nonsurrogate_diagnostics: Some(diagnostics).filter(|some| !some.is_empty()),
            }),
            attribute_set: request.attribute_set,
            ..ScanResponse::default()
        })
    }
}

fn entry(term: &SruTerm) -> Entry {
    let occurrences = term.number_of_records;
    Entry::TermInfo(Box::new(TermInfo {
        term: Term::General(term.value.as_bytes().into()),
        display_term: term.display_term.as_deref().map(Into::into),
        suggested_attributes: None,
        alternative_term: None,
        global_occurrences: occurrences.and_then(|count| i64::try_from(count).ok()),
        by_attributes: None,
        other_term_info: None,
    }))
}

fn refusal(diagnostics: Vec<DiagRec>) -> ScanResponse {
    ScanResponse {
        scan_status: ScanStatus::FAILURE,
        entries: Some(ListEntries {
            entries: None,
            nonsurrogate_diagnostics: Some(diagnostics),
        }),
        ..ScanResponse::default()
    }
}
