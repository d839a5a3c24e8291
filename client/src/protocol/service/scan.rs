//! Scan: the terms around a given one in an index (Z39.50-2003 §3.2.8.1).

use z3950_asn1::apdu::{
    Apdu, AttributesPlusTerm, DatabaseName, Entry, Options, OtherInformation, ScanRequest,
    ScanResponse, ScanStatus,
};
use z3950_asn1::format::conventions::Convention;
use z3950_asn1::oid::{BIB_1, Oid};
use z3950_asn1::types::InternationalString;

use crate::error::{Diagnostics, Error, Phase, ProtocolFault};
use crate::session::Session;

/// Where to scan and how far. By default twenty terms from the given one on, in no database.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The databases whose index is scanned; at least one, or the server refuses.
    pub databases: Vec<DatabaseName>,
    /// The attribute set of the term's attributes.
    pub attribute_set: Option<Oid>,
    /// How many terms are left out between two that are given; `None` leaves it to the server.
    pub step_size: Option<u64>,
    /// How many terms are wanted.
    pub number_of_terms: u64,
    /// Where among them the given term, or the one after its place, is to stand: 1 is first, 0 leaves only those after
    /// it, one more than their number only those before.
    pub preferred_position: Option<u64>,
    /// Whatever else the server is to know, such as a result set to scan in.
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
    /// The same, counting in the records of a result set alone, as Index Data's servers understand it.
    pub fn in_result_set(mut self, name: impl Into<InternationalString>) -> Self {
        let information = self.other_info.get_or_insert_default();
        Convention::ScanSet.put(information, name);
        self
    }

    /// The request that these options make of a term.
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

/// A stretch of an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanResult {
    /// The terms, or the diagnostics in their places, in the order of the index.
    pub entries: Vec<Entry>,
    /// Whether all came; the partial ones say why not.
    pub status: ScanStatus,
    /// Where the given term, or the one after its place, stands among them: 1-based, where the server says so.
    pub position_of_term: Option<i64>,
    /// How many terms were left out between two, where the server says so.
    pub step_size: Option<i64>,
    /// What the server says beside the terms.
    pub diagnostics: Diagnostics,
    /// The attribute set of attributes in the entries.
    pub attribute_set: Option<Oid>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

/// Sends `request`; a failure status, or a diagnostic instead of any term, is [`Error::Refused`].
pub(crate) async fn scan(session: &Session, request: ScanRequest) -> Result<ScanResult, Error> {
    session.require(Phase::Scan, Options::SCAN, "scan")?;
    let response = match session.ask(request.into()).await? {
        Apdu::ScanResponse(response) => *response,
        other => return Err(super::unexpected(Phase::Scan, &other)),
    };
    let entries = response.entries.unwrap_or_default();
    let diagnostics = Diagnostics(entries.nonsurrogate_diagnostics.unwrap_or_default());
    let entries = entries.entries.unwrap_or_default();
    let failed = response.scan_status == ScanStatus::FAILURE;
    if failed || (entries.is_empty() && !diagnostics.is_empty()) {
        return Err(Error::Refused {
            phase: Phase::Scan,
            diagnostics,
        });
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

/// `numberOfEntriesReturned` must fit the entries, and these the request. Diagnostics in the place of all entries are
/// none, whatever the number says.
pub(super) fn examine(request: &ScanRequest, response: &ScanResponse) -> Result<(), ProtocolFault> {
    let announced = response.number_of_entries_returned;
    if announced < 0 {
        return Err(ProtocolFault::NegativeCount {
            name: "numberOfEntriesReturned",
            value: announced,
        });
    }
    let entries = response.entries.as_ref();
    let came = entries
        .and_then(|entries| entries.entries.as_ref())
        .map_or(0, Vec::len);
    let is_refusal = entries.is_some_and(|entries| entries.nonsurrogate_diagnostics.is_some());
    if usize::try_from(announced) != Ok(came) && !(is_refusal && came == 0) {
        return Err(ProtocolFault::MiscountedEntries { announced, came });
    }
    let asked = request.number_of_terms_requested;
    if i64::try_from(came).is_ok_and(|came| came > asked.max(0)) {
        return Err(ProtocolFault::MoreEntriesThanAsked { asked, came });
    }
    Ok(())
}
