//! Search: sends a query, and returns the number of hits and possibly the first records (Z39.50-2003 §3.2.2).

use z3950_asn1::apdu::{
    Close, CloseReason, DatabaseName, ElementSetNames, External, Options, OtherInformation,
    PresentStatus, Query, ResultSetStatus, SearchRequest, SearchResponse, SortKeySpec,
};
use z3950_asn1::codec::encode_value;
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::format::search_result1::SearchInfoReport;
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::{CQL, Oid};
use z3950_asn1::types::{Any, InternationalString};

use super::diagnostics::{is_of_form, is_refusal, of_failure, with_information};
use super::{DEFAULT_RESULT_SET, ResultRecord, separate};
use crate::error::{Diagnostics, Error, Phase, ProtocolFault};
use crate::protocol::session::Session;

/// The options of a search. By default, the response contains no records. The list of databases is empty and must be
/// filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The databases to search together. Servers refuse an empty list.
    pub databases: Vec<DatabaseName>,
    /// The name of the result set. Any name except `default` requires the option namedResultSets.
    pub result_set: InternationalString,
    /// Whether the search may replace an existing result set with the same name.
    pub replace: bool,
    /// The small-set upper bound: with at most this many hits, the response contains all records.
    pub small_set_upper_bound: i64,
    /// The large-set lower bound: with at least this many hits, the response contains no records.
    pub large_set_lower_bound: i64,
    /// The number of records in the response if the number of hits is between the two bounds.
    pub medium_set_present_number: i64,
    /// The element set name for records in the response.
    pub element_set: Option<InternationalString>,
    /// The preferred syntax of records in the response.
    pub record_syntax: Option<Oid>,
    /// Additional information for the search, such as the requested facets.
    pub additional_search_info: Option<OtherInformation>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
    /// Whether to accept a negative number of hits, which means that the number is unknown. If not, a negative number
    /// is a protocol error, which ends the session.
    pub takes_unknown_count: bool,
    /// The sort keys, most important first, for servers that sort the result as part of the search. They are used only
    /// if [`Session::sorts_searches`] is true. For other servers, use [`Session::sort`].
    pub sort: Vec<SortKeySpec>,
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
            sort: Vec::new(),
        }
    }
}

impl SearchOptions {
    /// Sets the bounds so that the response contains the first `count` records, for any number of hits. With 0, no
    /// records are requested.
    pub fn with_records(self, count: u64) -> Self {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if count == 0 {
            return self;
        }
        Self {
            // Some servers mishandle adjacent bounds, so these are far apart. A set of one record counts as small.
            small_set_upper_bound: count.min(1),
            large_set_lower_bound: i64::from(i32::MAX),
            medium_set_present_number: count,
            ..self
        }
    }

    /// Adds a request for facets of the records found. This is an extension defined by Index Data.
    ///
    /// # Errors
    /// Fails only if BER cannot encode a value.
    pub fn with_facets(mut self, facets: &FacetList) -> Result<Self, EncodeError> {
        let info = self.additional_search_info.get_or_insert_default();
        info.put_value(facets)?;
        Ok(self)
    }

    /// Returns the SearchRequest for a query.
    pub fn request(&self, query: Query) -> SearchRequest {
        let element_set = self
            .element_set
            .clone()
            .map(ElementSetNames::GenericElementSetName);
        SearchRequest {
            small_set_upper_bound: self.small_set_upper_bound,
            large_set_lower_bound: self.large_set_lower_bound,
            medium_set_present_number: self.medium_set_present_number,
            replace_indicator: self.replace,
            result_set_name: self.result_set.clone(),
            small_set_element_set_names: element_set.clone(),
            medium_set_element_set_names: element_set,
            preferred_record_syntax: self.record_syntax,
            additional_search_info: self.additional_search_info.clone(),
            other_info: self.other_info.clone(),
            ..SearchRequest::new(self.databases.iter().cloned(), query)
        }
    }
}

/// Creates a query in CQL (Z39.50-2003 §3.7, type 104) in the form used by YAZ: an InternationalString, or plain octets
/// if it cannot be encoded.
pub fn type_104(text: &str) -> Query {
    let value = encode_value(&InternationalString::from(text)).ok();
    Query::Type104(match value.and_then(Any::new) {
        Some(value) => External::single_asn1_type(CQL, value),
        None => External::octet_aligned(CQL, text),
    })
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SearchResult {
    /// The number of matching records: `resultCount`, or the number of `records` if that is larger. It is 0 if the
    /// server does not know the number.
    pub hits: u64,
    /// The value of `resultCount` if it is negative, which means that the server does not know the number.
    pub negative_count: Option<i64>,
    /// The records in the response, beginning at position 1.
    pub records: Vec<ResultRecord>,
    /// The position of the first record that was not returned, according to the server. If all records were returned,
    /// the value depends on the server.
    pub next_position: i64,
    /// The completeness of the result set, if the server reports it.
    pub result_set_status: Option<ResultSetStatus>,
    /// Whether the requested records are present, if the server reports it.
    pub present_status: Option<PresentStatus>,
    /// The reason why the requested records are missing, although the result set exists.
    pub diagnostics: Diagnostics,
    /// Additional information about the search, such as SearchResult-1.
    pub additional_search_info: Option<OtherInformation>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl SearchResult {
    /// Returns the number of matching records, or `None` if it is unknown to the server.
    pub fn count(&self) -> Option<u64> {
        self.negative_count.is_none().then_some(self.hits)
    }

    /// Returns the number of hits for each part of the query (SearchResult-1), or `None` if the server did not send
    /// them.
    pub fn report(&self) -> Option<SearchInfoReport> {
        self.information().find_map(OtherInformation::value)
    }

    /// Returns the facets of the records found, or `None` if the server did not send them.
    pub fn facets(&self) -> Option<FacetList> {
        self.information().find_map(OtherInformation::value)
    }

    /// Returns the sources that the server searched, if it reports several: for each source, the number of its hits or
    /// the reason why it failed. The result also contains the server's remarks. These include
    /// [`diagnostics`](Self::diagnostics), except diagnostics about the record form, because a Present would return
    /// them again.
    pub fn sources(&self) -> SearchSources {
        let mut all = SearchSources::default();
        for information in self.information() {
            all.join(SearchSources::of(information));
        }
        let diagnostics = self.diagnostics.0.iter();
        let remarks = diagnostics.filter(|one| !is_of_form(one));
        all.join(SearchSources {
            remarks: remarks.map(ToString::to_string).collect(),
            ..SearchSources::default()
        });
        all
    }

    /// Returns the two elements of the response that may contain information about the search. Both are read, because
    /// some servers confuse them.
    fn information(&self) -> impl Iterator<Item = &OtherInformation> {
        let information = [&self.additional_search_info, &self.other_info];
        information.into_iter().flatten()
    }

    /// Returns whether [`hits`](Self::hits) is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.result_set_status == Some(ResultSetStatus::ESTIMATE)
    }
}

impl Session {
    /// Sends a search and returns its result.
    ///
    /// # Errors
    /// [`Error::Refused`] if `searchStatus` is false, with or without a diagnostic, or if there are no hits but a
    /// diagnostic, which is how Metaproxy refuses a search. The session continues after this error.
    /// [`Error::ProtocolError`] with [`ProtocolFault::NotGranted`] for a named result set that the server does not
    /// offer. All other errors end the session.
    pub async fn search(
        &self,
        query: Query,
        options: &SearchOptions,
    ) -> Result<SearchResult, Error> {
        let request = options.request(query);
        let mut found = self
            .send_search(request, options.sort.clone(), options.takes_unknown_count)
            .await?;
        if let Ok(came) = u64::try_from(found.records.len())
            && came > found.hits
            && found.negative_count.is_none()
        {
            let hits = found.hits;
            if self.is_first_miscount() {
                tracing::warn!(
                    "the server sent {came} records and counts {hits}; taking {came} as an estimate"
                );
            }
            found.hits = came;
            found.result_set_status = Some(ResultSetStatus::ESTIMATE);
        }
        Ok(found)
    }

    /// Ends the session because of a wrong count in a search response, and returns the error.
    pub(crate) async fn miscounted(&self, words: String) -> Error {
        let fault = ProtocolFault::Count(words.into());
        let close = Close::new(CloseReason::PROTOCOL_ERROR, Some(&fault.to_string()));
        // An error means that the session has already ended in another way.
        let _ = self.close_with(close).await;
        Error::fault(Phase::Search, fault)
    }

    pub(crate) async fn send_search(
        &self,
        request: SearchRequest,
        sort: Vec<SortKeySpec>,
        takes_unknown_count: bool,
    ) -> Result<SearchResult, Error> {
        let phase = Phase::Search;
        if request.result_set_name.as_bytes() != DEFAULT_RESULT_SET.as_bytes() {
            self.require(phase, Options::NAMED_RESULT_SETS)?;
        }
        let response: SearchResponse = self.ask_sorted(request, sort).await?;
        let (records, diagnostics) = separate(response.records.0, response.other_info.as_ref());
        let finds_none = response.result_count == 0 && records.is_empty();
        if !response.search_status || (finds_none && is_refusal(&diagnostics)) {
            let diagnostics = of_failure(diagnostics, records);
            let told = [&response.additional_search_info, &response.other_info];
            let told = told.into_iter().flatten();
            let diagnostics = told.fold(diagnostics, |all, information| {
                with_information(all, Some(information))
            });
            return Err(Error::Refused { phase, diagnostics });
        }
        let negative_count = Some(response.result_count).filter(|count| *count < 0);
        if let Some(value) = negative_count.filter(|_| !takes_unknown_count) {
            return Err(self.miscounted(format!("resultCount is {value}")).await);
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
}
