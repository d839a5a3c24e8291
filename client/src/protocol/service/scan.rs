//! Scan: lists the terms around a given term in an index (Z39.50-2003 §3.2.8.1).

use z3950_asn1::apdu::{
    AttributesPlusTerm, DatabaseName, DiagRec, Entry, External, Options, OtherInformation,
    ScanRequest, ScanResponse, ScanStatus, Term,
};
use z3950_asn1::format::conventions::Convention;
use z3950_asn1::oid::{BIB_1, CQL, Oid};
use z3950_asn1::types::InternationalString;

use super::diagnostics::with_information;
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// The options of a scan. By default, twenty terms are requested, beginning with the given term. The list of databases
/// is empty and must be filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The databases whose index is scanned. Servers refuse an empty list.
    pub databases: Vec<DatabaseName>,
    /// The default attribute set for the attributes of the term.
    pub attribute_set: Option<Oid>,
    /// The number of terms to skip between two entries. `None` leaves the number to the server.
    pub step_size: Option<u64>,
    /// The number of terms to return.
    pub number_of_terms: u64,
    /// The preferred position of the given term, or of the term after it, among the entries. Position 1 is the first
    /// entry. With 0, only terms after the given term are returned. With `number_of_terms + 1`, only terms before it
    /// are returned.
    pub preferred_position: Option<u64>,
    /// Additional information for the server, such as a result set to which counts are restricted.
    pub other_info: Option<OtherInformation>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            databases: Vec::new(),
            attribute_set: Some(BIB_1),
            step_size: None,
            number_of_terms: 20,
            preferred_position: Some(1),
            other_info: None,
        }
    }
}

impl ScanOptions {
    /// Restricts the counts to the records in a result set. This is an extension defined by Index Data.
    pub fn in_result_set(mut self, name: impl Into<InternationalString>) -> Self {
        let information = self.other_info.get_or_insert_default();
        Convention::ScanSet.put(information, name);
        self
    }

    /// Returns the request for the terms around `start`.
    pub fn request(&self, start: AttributesPlusTerm) -> ScanRequest {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        ScanRequest {
            reference_id: None,
            database_names: self.databases.clone(),
            attribute_set: self.attribute_set,
            term_list_and_start_point: start,
            step_size: self.step_size.map(number),
            number_of_terms_requested: number(self.number_of_terms),
            preferred_position_in_response: self.preferred_position.map(number),
            other_info: self.other_info.clone(),
        }
    }
}

/// Creates the start term of a scan from a CQL search clause, such as `dc.title=war`. SRU servers receive the clause
/// unchanged, but Z39.50 servers do not understand it.
pub fn cql_clause(text: &str) -> AttributesPlusTerm {
    AttributesPlusTerm {
        attributes: Vec::new(),
        term: Term::External(Box::new(External::octet_aligned(CQL, text))),
    }
}

/// The result of a scan: a section of an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanResult {
    /// The terms, or diagnostics in their place, in the order of the index.
    pub entries: Vec<Entry>,
    /// Whether all requested terms are present, or the reason why some are missing.
    pub status: ScanStatus,
    /// The 1-based position of the given term, or of the term after it, among the entries, if the server reports it.
    pub position_of_term: Option<i64>,
    /// The number of terms skipped between two entries, if the server reports it.
    pub step_size: Option<i64>,
    /// Diagnostics in addition to the terms.
    pub diagnostics: Diagnostics,
    /// The default attribute set for attributes in the entries.
    pub attribute_set: Option<Oid>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl Session {
    /// Lists the terms of an index around a given term.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server sent no term, or [`ProtocolFault::NotGranted`] if it does not offer Scan. The
    /// session continues after these errors. Other errors end the session.
    pub async fn scan(
        &self,
        start: AttributesPlusTerm,
        options: &ScanOptions,
    ) -> Result<ScanResult, Error> {
        let phase = Phase::Scan;
        self.require(phase, Options::SCAN)?;
        let response: ScanResponse = self.ask(options.request(start)).await?;
        let entries = response.entries.unwrap_or_default();
        let diagnostics = Diagnostics(entries.nonsurrogate_diagnostics.unwrap_or_default());
        let diagnostics = with_information(diagnostics, response.other_info.as_ref());
        let entries = entries.entries.unwrap_or_default();
        let failed = response.scan_status == ScanStatus::FAILURE;
        if failed || (entries.is_empty() && !diagnostics.is_empty()) {
            let diagnostics = if diagnostics.is_empty() {
                Diagnostics(entries.into_iter().filter_map(surrogate).collect())
            } else {
                diagnostics
            };
            return Err(Error::Refused { phase, diagnostics });
        }
        Ok(ScanResult {
            entries,
            status: response.scan_status,
            position_of_term: response.position_of_term,
            step_size: response.step_size,
            diagnostics,
            attribute_set: response.attribute_set,
            other_info: response.other_info,
        })
    }
}

/// Returns the diagnostic in place of an entry.
fn surrogate(entry: Entry) -> Option<DiagRec> {
    match entry {
        Entry::SurrogateDiagnostic(diagnostic) => Some(diagnostic),
        Entry::TermInfo(_) => None,
    }
}
