//! Search: a query in, the number of hits and perhaps first records out (Z39.50-2003 §3.2.2).

use z3950_asn1::apdu::Options;
use z3950_asn1::apdu::{
    Apdu, CloseReason, DatabaseName, ElementSetNames, OtherInformation, PresentStatus, Query,
    ResultSetStatus, SearchRequest, SearchResponse,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::format::search_result1::SearchInfoReport;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::close::CloseOptions;
use super::records::{self, ResultRecord};
use crate::error::{Diagnostics, Error, Phase, ProtocolFault};
use crate::session::Session;

/// The result set that needs no name (Z39.50-2003 §3.2.2.1.4).
pub const DEFAULT_RESULT_SET: &str = "default";

/// How to search. By default in no database, without records in the response.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The databases, searched together; at least one, or the server refuses.
    pub databases: Vec<DatabaseName>,
    /// The name of the result set; any but `default` needs the option namedResultSets.
    pub result_set: InternationalString,
    /// Whether a result set of this name may be replaced.
    pub replace: bool,
    /// Up to this many hits, all records come with the response.
    pub small_set_upper_bound: i64,
    /// From this many hits on, no record does.
    pub large_set_lower_bound: i64,
    /// Between the two bounds, so many records come.
    pub medium_set_present_number: i64,
    /// The element set name of records in the response.
    pub element_set: Option<InternationalString>,
    /// The preferred syntax of records in the response.
    pub record_syntax: Option<Oid>,
    /// Further information for the search, such as the facets wanted.
    pub additional_search_info: Option<OtherInformation>,
    /// Whatever else the server is to know.
    pub other_info: Option<OtherInformation>,
    /// Whether a number of hits below 0 is taken for one that the server does not know. Otherwise it is a fault of the
    /// protocol, which ends the session.
    pub takes_unknown_count: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            databases: Vec::new(),
            result_set: DEFAULT_RESULT_SET.into(),
            replace: true,
            small_set_upper_bound: 0,
            large_set_lower_bound: 1,
            medium_set_present_number: 0,
            element_set: None,
            record_syntax: None,
            additional_search_info: None,
            other_info: None,
            takes_unknown_count: false,
        }
    }
}

impl SearchOptions {
    /// The same, with as many as `count` first records in the response, however many match.
    pub fn with_records(self, count: u64) -> Self {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Self {
            // A set of one record is small whatever a server makes of bounds that leave no room between them.
            small_set_upper_bound: count.min(1),
            large_set_lower_bound: i64::from(i32::MAX),
            medium_set_present_number: count,
            ..self
        }
    }

    /// The same, asking also for the facets of the records found, as Index Data's servers understand it.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    pub fn with_facets(mut self, facets: &FacetList) -> Result<Self, EncodeError> {
        let info = self.additional_search_info.get_or_insert_default();
        info.put_value(facets)?;
        Ok(self)
    }

    /// The request that these options make of a query.
    pub fn request(&self, query: Query) -> SearchRequest {
        let element_set = self
            .element_set
            .clone()
            .map(ElementSetNames::GenericElementSetName);
        SearchRequest {
            reference_id: None,
            small_set_upper_bound: self.small_set_upper_bound,
            large_set_lower_bound: self.large_set_lower_bound,
            medium_set_present_number: self.medium_set_present_number,
            replace_indicator: self.replace,
            result_set_name: self.result_set.clone(),
            database_names: self.databases.clone(),
            small_set_element_set_names: element_set.clone(),
            medium_set_element_set_names: element_set,
            preferred_record_syntax: self.record_syntax,
            query,
            additional_search_info: self.additional_search_info.clone(),
            other_info: self.other_info.clone(),
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SearchResult {
    /// How many records match, `resultCount`; 0 where the server does not know.
    pub hits: u64,
    /// `resultCount` where it is below 0, and taken for a number that the server does not know.
    pub negative_count: Option<i64>,
    /// Records that came with the response, from position 1 on.
    pub records: Vec<ResultRecord>,
    /// The first position not returned, as the server says; servers differ when there is none.
    pub next_position: i64,
    /// How complete the result set is, where the server says so.
    pub result_set_status: Option<ResultSetStatus>,
    /// Whether the records asked for came, where the server says so.
    pub present_status: Option<PresentStatus>,
    /// Why no records came although they were asked for; the result set exists all the same.
    pub diagnostics: Diagnostics,
    /// Further information on the search, such as SearchResult-1.
    pub additional_search_info: Option<OtherInformation>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

impl SearchResult {
    /// How many records match; `None` where the server does not know.
    pub fn count(&self) -> Option<u64> {
        self.negative_count.is_none().then_some(self.hits)
    }

    /// What the parts of the query found (SearchResult-1), where the server says so.
    pub fn report(&self) -> Option<SearchInfoReport> {
        self.information().find_map(OtherInformation::value)
    }

    /// The facets of the records found, where they were asked for and the server has them.
    pub fn facets(&self) -> Option<FacetList> {
        self.information().find_map(OtherInformation::value)
    }

    /// Some servers put into one what belongs into the other.
    fn information(&self) -> impl Iterator<Item = &OtherInformation> {
        let information = [&self.additional_search_info, &self.other_info];
        information.into_iter().flatten()
    }

    /// Whether [`hits`](Self::hits) is an estimate, and not a count.
    pub fn is_estimate(&self) -> bool {
        self.result_set_status == Some(ResultSetStatus::ESTIMATE)
    }
}

/// Sends `request`; `searchStatus` false is [`Error::Refused`], with or without a diagnostic.
pub(crate) async fn search(
    session: &Session,
    request: SearchRequest,
    takes_unknown_count: bool,
) -> Result<SearchResult, Error> {
    if request.result_set_name.as_bytes() != DEFAULT_RESULT_SET.as_bytes() {
        session.require(Phase::Search, Options::NAMED_RESULT_SETS, "namedResultSets")?;
    }
    let response = match session.ask(request.into()).await? {
        Apdu::SearchResponse(response) => *response,
        other => return Err(super::unexpected(Phase::Search, &other)),
    };
    let (records, diagnostics) = records::sort(response.records.0);
    if !response.search_status {
        return Err(Error::Refused {
            phase: Phase::Search,
            diagnostics,
        });
    }
    let negative_count = Some(response.result_count).filter(|count| *count < 0);
    if let Some(value) = negative_count.filter(|_| !takes_unknown_count) {
        let fault = ProtocolFault::NegativeCount {
            name: "resultCount",
            value,
        };
        let farewell = CloseOptions {
            reason: CloseReason::PROTOCOL_ERROR,
            info: Some(fault.to_string()),
            ..CloseOptions::default()
        };
        // What ended otherwise need not be closed.
        let _ = session.close_with(&farewell).await;
        return Err(Error::fault(Phase::Search, fault));
    }
    Ok(SearchResult {
        hits: u64::try_from(response.result_count).unwrap_or(0),
        negative_count,
        records,
        next_position: response.next_result_set_position,
        result_set_status: response.result_set_status,
        present_status: response.present_status,
        diagnostics,
        additional_search_info: response.additional_search_info,
        other_info: response.other_info,
    })
}

/// `numberOfRecordsReturned` must make sense, or nothing else can be trusted. What a `resultCount` below 0 means is for those
/// who search to say.
pub(super) fn examine(response: &SearchResponse) -> Result<(), ProtocolFault> {
    let hits = response.result_count;
    let came = records::count(
        response.records.as_ref(),
        response.number_of_records_returned,
    )?;
    // A failed search may leave records of an unfinished result set, which it does not count.
    let is_counted = response.search_status && hits >= 0;
    if is_counted && i64::try_from(came).is_ok_and(|came| came > hits) {
        return Err(ProtocolFault::MoreRecordsThanHits { hits, came });
    }
    Ok(())
}
