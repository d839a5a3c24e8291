//! Answers searchRetrieve requests, either with a Search that returns the first records, or with a Search, a Sort and a Present.

use std::collections::HashMap;
use std::time::Duration;

use z3950_asn1::apdu::{
    Apdu, ElementSetNames, NamePlusRecord, Operand, OtherInformation, PresentRequest,
    PresentStatus, Query, RecordComposition, Records, ResultSetId, ResultSetStatus, RpnQuery,
    RpnStructure, SearchRequest, SearchResponse, SortKeySpec, SortRequest, SortStatus,
};
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::sru::{
    Packing, RecordSources, SearchRetrieve, SearchRetrieveResponse, SruCondition, SruDiagnostic,
    SruFacet, SruRecord,
};

use super::exchange::Deadline;
use super::facets::WantedFacets;
use super::failure::{SruFailure, default_form, non_surrogate};
use super::schema::RecordForm;
use super::{Context, SruSession, query, records};
use crate::shared_sets::SetOwner;
use crate::units::count;

/// The name of the result set in the Z39.50 session.
const SET: &str = "default";

impl SruSession {
    /// Answers a searchRetrieve.
    ///
    /// # Errors
    /// The reason why there is no result.
    pub(super) async fn search(
        &mut self,
        context: &Context,
        search: &SearchRetrieve,
    ) -> Result<SearchRetrieveResponse, SruFailure> {
        let deadline = self.deadline();
        let wanted = self.wanted(context, search)?;
        let response = self.find(context, search, &wanted, deadline).await;
        // Later requests can name only shared sets, so the session's own sets are deleted.
        if let Some(association) = self.session.association() {
            association.result_sets().clear();
        }
        response
    }

    async fn find(
        &mut self,
        context: &Context,
        search: &SearchRetrieve,
        wanted: &WantedRecords,
        deadline: Deadline,
    ) -> Result<SearchRetrieveResponse, SruFailure> {
        let (query, keys) = query::read(search, self.target.limits.query_text)?;
        let facets = WantedFacets::read(&search.facets)?;
        let shared = self.adopt(context, &query)?;
        let is_plain = wanted.start == 1 && keys.is_empty();
        let mut found = match shared.filter(|_| facets.is_empty()) {
            Some(shared) => shared,
            None => {
                // The search response includes the first records, unless the set must be sorted first.
                let first = if is_plain { wanted.most } else { 0 };
                let request = search_request(context, query, wanted, first, &facets);
                let found = self.search_for(request, &facets, deadline).await;
                found.map_err(|failure| failure.mapped(|why| query::in_its_terms(search, why)))?
            }
        };
        let is_sorted = !keys.is_empty();
        if is_sorted {
            self.sort(keys, deadline).await?;
        }
        let (total, start) = (found.total, wanted.start);
        let all = if start > total && start > 1 {
            let position = start.to_string();
            Err(SruDiagnostic::new(SruCondition::OUT_OF_RANGE, position).into())
        } else if wanted.most == 0 || total == 0 {
            Ok(NamedRecords::default())
        } else {
            match found.first_records.take().filter(|_| is_plain) {
                Some(records) => records,
                None => self.present(wanted, total, deadline).await,
            }
        };
        let (records, diagnostics) = match all {
            Ok(all) => (wanted.records(all, &context.database), Vec::new()),
            Err(failure) => (Vec::new(), failure.diagnostics),
        };
        let mut response = SearchRetrieveResponse::new(context.version, total, start, records)
            .with_sources(&found.sources);
        // If there are no records, there is no record after the last.
        if response.records.is_empty() {
            response.next_record_position = None;
        }
        // YAZ's ZOOM takes any diagnostic to mean that the search failed, and does not show the records.
        if total == 0 || !context.takes_diagnostics_as_failure {
            response.diagnostics = failures(&found.sources);
        }
        response.diagnostics.extend(diagnostics);
        response.facets = found.facets;
        response.result_count_precision = Some(format!("{PRECISION}{}", found.precision));
        let shared = match found.shared.filter(|_| !is_sorted) {
            None => self.share(context, search.result_set_ttl),
            shared => shared,
        };
        if let Some((name, time)) = shared {
            response.result_set_id = Some(name);
            response.result_set_ttl = Some(time.as_secs());
        }
        Ok(response)
    }

    /// Returns the records that a request asks for, and their form.
    ///
    /// # Errors
    /// Diagnostic 72 for an XPath, 66 for an unknown schema.
    fn wanted(
        &self,
        context: &Context,
        search: &SearchRetrieve,
    ) -> Result<WantedRecords, SruFailure> {
        if let Some(path) = &search.record_xpath {
            return Err(SruDiagnostic::new(SruCondition::XPATH, path).into());
        }
        let association = self
            .session
            .association()
            .ok_or_else(SruFailure::unanswered)?;
        let backend = association.backend_of(&context.databases())?;
        let limits = &self.target.limits;
        let most = search.maximum_records.map_or(limits.sru_records, |number| {
            usize::try_from(number).unwrap_or(usize::MAX)
        });
        Ok(WantedRecords {
            start: search.start(),
            most: most.min(limits.records_per_response),
            form: RecordForm::of(search.record_schema.as_deref(), &*backend)?,
            packing: search.packing.unwrap_or_default(),
        })
    }

    /// Runs a search, and returns its result set.
    async fn search_for(
        &mut self,
        request: SearchRequest,
        facets: &WantedFacets,
        deadline: Deadline,
    ) -> Result<FoundSet, SruFailure> {
        let found = match self.exchange(request.into(), deadline).await? {
            Apdu::SearchResponse(found) if found.search_status => *found,
            Apdu::SearchResponse(failed) => return Err(non_surrogate(failed.records.0).into()),
            _ => return Err(SruFailure::unanswered()),
        };
        Ok(FoundSet {
            total: u64::try_from(found.result_count).unwrap_or(0),
            precision: match found.result_set_status {
                Some(ResultSetStatus::ESTIMATE) => "estimate",
                _ => "exact",
            },
            facets: facets.found(found.additional_search_info.as_ref()),
            sources: found
                .additional_search_info
                .as_ref()
                .map(SearchSources::of)
                .unwrap_or_default(),
            first_records: Some(first_records(found)),
            shared: None,
        })
    }

    /// Copies the shared result sets that a query names into the session. If the query consists of a single such set and nothing
    /// else, returns this set.
    ///
    /// # Errors
    /// Diagnostic 51 for a set that does not exist, has expired, belongs to another user, or was found in another database.
    fn adopt(&self, context: &Context, query: &RpnQuery) -> Result<Option<FoundSet>, SruFailure> {
        let mut names = query.rpn.result_sets().peekable();
        if names.peek().is_none() {
            return Ok(None);
        }
        let association = self
            .session
            .association()
            .ok_or_else(SruFailure::unanswered)?;
        let user = self.session.user();
        let database = context.database.to_lowercase();
        let mut last = None;
        for ResultSetId(id) in names {
            let name = id.to_string_lossy();
            let found = self.target.shared_sets.find(&name, user, &database);
            let unknown = || SruDiagnostic::new(SruCondition::RESULT_SET_DOES_NOT_EXIST, &*name);
            let (set, time) = found.ok_or_else(unknown)?;
            association.result_sets().keep(id.as_bytes(), set.clone())?;
            last = Some((name.into_owned(), set, time));
        }
        match (&query.rpn, last) {
            (RpnStructure::Op(Operand::ResultSet(_)), Some((name, set, time))) => {
                let total = set.hits.len();
                association.result_sets().keep(SET.as_bytes(), set)?;
                Ok(Some(FoundSet {
                    total: u64::try_from(total).unwrap_or(u64::MAX),
                    precision: "exact",
                    facets: Vec::new(),
                    sources: SearchSources::default(),
                    first_records: None,
                    shared: Some((name, time)),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Shares the result set, if the client wants to use it in later requests; returns its name and lifetime. A set that exceeds
    /// the limits is not shared.
    fn share(&self, context: &Context, seconds: Option<u64>) -> Option<(String, Duration)> {
        let time = seconds
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs)?;
        let set = self
            .session
            .association()?
            .result_sets()
            .find(SET.as_bytes())
            .ok()?;
        let owner = SetOwner {
            user: self.session.user().map(str::to_owned),
            address: self.session.peer(),
            database: context.database.to_lowercase(),
        };
        self.target.shared_sets.keep(owner, set, time).ok()
    }

    async fn sort(&mut self, keys: Vec<SortKeySpec>, deadline: Deadline) -> Result<(), SruFailure> {
        let request = SortRequest::in_place(SET, keys);
        match self.exchange(request.into(), deadline).await? {
            Apdu::SortResponse(sorted) if sorted.sort_status == SortStatus::SUCCESS => Ok(()),
            Apdu::SortResponse(failed) => {
                let why = failed.diagnostics.into_iter().flatten().next();
                Err(why.map_or_else(SruFailure::unanswered, |why| default_form(why).into()))
            }
            _ => Err(SruFailure::unanswered()),
        }
    }

    /// Returns the records from a position onwards. There must be a record at this position.
    async fn present(
        &mut self,
        wanted: &WantedRecords,
        total: u64,
        deadline: Deadline,
    ) -> Result<NamedRecords, SruFailure> {
        let left = total.saturating_sub(wanted.start).saturating_add(1);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let request = PresentRequest {
            result_set_id: ResultSetId::from(SET),
            result_set_start_point: i64::try_from(wanted.start).unwrap_or(i64::MAX),
            number_of_records_requested: count(wanted.most.min(left)),
            record_composition: Some(RecordComposition::Simple(element_set_names(&wanted.form)))
                .into(),
            preferred_record_syntax: Some(wanted.form.syntax),
            ..PresentRequest::default()
        };
        match self.exchange(request.into(), deadline).await? {
            Apdu::PresentResponse(present) => match present.records.0 {
                Some(Records::ResponseRecords(records)) => {
                    Ok(NamedRecords::new(records, present.other_info.as_ref()))
                }
                other => Err(non_surrogate(other).into()),
            },
            _ => Err(SruFailure::unanswered()),
        }
    }
}

/// Returns a Search whose answer includes the first `first` records.
fn search_request(
    context: &Context,
    query: RpnQuery,
    wanted: &WantedRecords,
    first: usize,
    facets: &WantedFacets,
) -> SearchRequest {
    SearchRequest {
        reference_id: None,
        small_set_upper_bound: 0,
        large_set_lower_bound: i64::MAX,
        medium_set_present_number: count(first),
        replace_indicator: true,
        result_set_name: SET.into(),
        database_names: context.databases(),
        small_set_element_set_names: None,
        medium_set_element_set_names: Some(element_set_names(&wanted.form)),
        preferred_record_syntax: Some(wanted.form.syntax),
        query: Query::Type1(query),
        additional_search_info: facets.information(),
        other_info: None,
    }
}

/// The result set of a request, with the information that the server returned about it.
struct FoundSet {
    total: u64,
    /// The last part of the value of `resultCountPrecision`, after [`PRECISION`].
    precision: &'static str,
    facets: Vec<SruFacet>,
    /// The sources of the records; empty if they have a single source.
    sources: SearchSources,
    /// The records that were sent with the answer to the Search.
    first_records: Option<Result<NamedRecords, SruFailure>>,
    /// The name and lifetime of the shared result set; `None` if it is not shared.
    shared: Option<(String, Duration)>,
}

/// The records that a request asks for.
struct WantedRecords {
    /// The position of the first record, from 1.
    start: u64,
    most: usize,
    form: RecordForm,
    packing: Packing,
}

impl WantedRecords {
    /// Converts the records of a search in `database`.
    fn records(&self, all: NamedRecords, database: &str) -> Vec<SruRecord> {
        let NamedRecords {
            records,
            mut sources,
        } = all;
        let records = (1..).zip(records).map(|(number, one)| {
            let sources = sources.remove(&number);
            records::record(one, sources, database, &self.form, self.packing)
        });
        records.collect()
    }
}

/// The records of an answer, with the sources of merged records.
#[derive(Default)]
struct NamedRecords {
    records: Vec<NamePlusRecord>,
    /// For each record that was merged from several records, the databases that contain it. The key is the number of the record
    /// in the answer.
    sources: HashMap<u64, RecordSources>,
}

impl NamedRecords {
    fn new(records: Vec<NamePlusRecord>, information: Option<&OtherInformation>) -> Self {
        let sources = information.into_iter().flat_map(RecordSources::all);
        Self {
            records,
            sources: sources.filter_map(|one| Some((one.record?, one))).collect(),
        }
    }
}

fn element_set_names(form: &RecordForm) -> ElementSetNames {
    ElementSetNames::GenericElementSetName(form.element_set.as_str().into())
}

/// Returns a diagnostic for each source that did not answer.
fn failures(sources: &SearchSources) -> Vec<SruDiagnostic> {
    let failures = sources.failures().map(|(name, why)| {
        let mut failure = SruDiagnostic::from_bib1(why);
        failure.details = format!("{name}: {}", why.addinfo.to_string_lossy());
        failure
    });
    failures.collect()
}

/// Returns the records that were sent with the answer to a Search.
fn first_records(found: SearchResponse) -> Result<NamedRecords, SruFailure> {
    match found.records.0 {
        Some(Records::ResponseRecords(records)) => {
            Ok(NamedRecords::new(records, found.other_info.as_ref()))
        }
        other if found.present_status == Some(PresentStatus::FAILURE) => {
            Err(non_surrogate(other).into())
        }
        _ => Ok(NamedRecords::default()),
    }
}

/// The prefix of the values of `resultCountPrecision`.
const PRECISION: &str = "info:srw/vocabulary/resultCountPrecision/1/";
