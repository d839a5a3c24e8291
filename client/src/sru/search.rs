//! Translates Search, Present and Sort (Z39.50-2003 §3.2.2, §3.2.3, §3.2.7.1) to searchRetrieve. SRU has no lasting
//! result sets, so the client stores the query of each set, and sends it again for each range of records. Records in
//! the response to the search or the sort are not requested again.

mod schema;

use tracing::{debug, warn};
use z3950_asn1::apdu::{
    DatabaseName, DefaultDiagFormat, DiagRec, NamePlusRecord, OtherInformation, PresentRequest,
    PresentResponse, PresentStatus, Records, ResultSetStatus, SearchRequest, SearchResponse,
    SortKeySpec, SortRequest, SortResponse, SortStatus,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::sru::{
    FacetParameters, Response, SearchRetrieve, SearchRetrieveResponse, SruCondition, SruDiagnostic,
};
use z3950_asn1::types::InternationalString;

use self::schema::MAX_SCHEMAS;
use super::Refused;
use super::facets::AskedFacets;
use super::query::{SruQuery, sort_keys, sort_parameter};
use super::records::{
    AskedSchema, Form, has_only_blank_records, misplaced, placed, repair_messages, schema_refusal,
    to_diag_recs,
};
use super::sets::{LastPage, SruExchange, StoredSearch};
use crate::error::{Error, Phase, SruFault};
use crate::protocol::service::diagnostics::inform;
use crate::transport::timeouts::Timeouts;

/// The maximum number of records that are requested at a time.
const MAX_PAGE: u64 = 1000;
impl SruExchange {
    pub(super) async fn search(
        &mut self,
        request: &SearchRequest,
        sort: &[SortKeySpec],
        timeouts: &Timeouts,
    ) -> Result<SearchResponse, Error> {
        if request.replace_indicator {
            self.sets.remove(&request.result_set_name);
        }
        match self.found(request, sort, timeouts).await {
            Ok(response) => Ok(response),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::For(diagnostics)) => Ok(SearchResponse {
                search_status: false,
                result_set_status: Some(ResultSetStatus::NONE),
                records: Some(refusal(diagnostics)).into(),
                ..SearchResponse::default()
            }),
        }
    }

    async fn found(
        &mut self,
        request: &SearchRequest,
        sort: &[SortKeySpec],
        timeouts: &Timeouts,
    ) -> Result<SearchResponse, Refused> {
        if !request.replace_indicator && self.sets.by_name.contains_key(&request.result_set_name) {
            let name = request.result_set_name.to_string_lossy();
            return Err(Refused::because(Condition::RESULT_SET_EXISTS, name));
        }
        let database = database(&request.database_names)?;
        let names = &self.sets.by_name;
        let query = SruQuery::of_search(
            &request.query,
            &self.server.options,
            &mut self.translations,
            |name| names.get(name).map(|set| set.query.clone()),
        )?;
        let facets = AskedFacets::of_search(request, &self.server.options)?;
        let elements = request
            .medium_set_element_set_names
            .as_ref()
            .or(request.small_set_element_set_names.as_ref());
        let mut set = StoredSearch {
            database,
            query,
            sort: sort_keys(sort, &self.server.options)?,
            hits: 0,
            is_estimate: false,
            form: Form::new(request.preferred_record_syntax, elements)?,
            first: Vec::new(),
            facets: facets.parameters(),
            end: None,
            last: LastPage::default(),
        };
        let wanted = Bounds::of(request);
        let (page, came) = self
            .page(Phase::Search, &mut set, 1, wanted.most(), timeouts)
            .await?;
        let mut sources = page.sources(&self.server.limits);
        let diagnostics = of_the_whole(&page, &sources);
        let is_failure = page.number_of_records.unwrap_or_default() == 0 && came.is_empty();
        if is_failure && !diagnostics.is_empty() {
            return Err(Refused::For(to_diag_recs(&diagnostics)));
        }
        set.hits = counted(&page, 1, &came);
        let is_miscounted = is_miscounted(&page);
        set.is_estimate = is_estimate(&page) || is_miscounted;
        if is_miscounted && !std::mem::replace(&mut self.sets.has_logged_miscount, true) {
            let (sent, hits) = (page.records.len(), set.hits);
            warn!(
                "the server sent {sent} records and counts fewer; taking {hits} hits as an estimate"
            );
        }
        let wanted = wanted.at(set.hits);
        let returned = came.iter().take(wanted).cloned().collect::<Vec<_>>();
        let count = returned.len();
        let (status, records) = match (returned.is_empty(), diagnostics.is_empty()) {
            (false, _) => (
                PresentStatus::SUCCESS,
                Some(Records::ResponseRecords(returned)),
            ),
            (true, false) if wanted > 0 => {
                let diagnostics = to_diag_recs(&diagnostics);
                (PresentStatus::FAILURE, Some(refusal(diagnostics)))
            }
            (true, _) => (PresentStatus::SUCCESS, None),
        };
        if records.is_none() || count > 0 {
            let remarks = diagnostics.iter().map(ToString::to_string);
            sources.remarks.extend(remarks);
        }
        let next = count.saturating_add(1);
        let response = SearchResponse {
            result_count: to_i64(set.hits),
            number_of_records_returned: i64::try_from(count).unwrap_or(i64::MAX),
            next_result_set_position: i64::try_from(next).unwrap_or(i64::MAX),
            search_status: true,
            result_set_status: set.is_estimate.then_some(ResultSetStatus::ESTIMATE),
            present_status: records.is_some().then_some(status),
            records: records.into(),
            additional_search_info: information(facets.found(&page.facets), &sources, set.hits),
            ..SearchResponse::default()
        };
        set.last = LastPage::of(1, &came, &LastPage::default());
        set.first = came;
        // The facets have now been received, so they are not requested again.
        set.facets = FacetParameters::default();
        let name = request.result_set_name.clone();
        self.sets.by_name.insert(name, set);
        Ok(response)
    }

    pub(super) async fn present(
        &mut self,
        request: &PresentRequest,
        timeouts: &Timeouts,
    ) -> Result<PresentResponse, Error> {
        match self.presented(request, timeouts).await {
            Ok(response) => Ok(response),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::For(diagnostics)) => Ok(PresentResponse {
                present_status: PresentStatus::FAILURE,
                records: Some(refusal(diagnostics)).into(),
                ..PresentResponse::default()
            }),
        }
    }

    async fn presented(
        &mut self,
        request: &PresentRequest,
        timeouts: &Timeouts,
    ) -> Result<PresentResponse, Refused> {
        if request.additional_ranges.is_some() {
            return Err(Refused::because(Condition::ADDITIONAL_RANGES, ""));
        }
        let name = &request.result_set_id.0;
        let mut set = self.set(name)?.clone();
        let start = u64::try_from(request.result_set_start_point).unwrap_or_default();
        let asked = u64::try_from(request.number_of_records_requested).unwrap_or_default();
        if start == 0 || start > set.hits {
            let words = format!("{start} of {}", set.hits);
            return Err(Refused::because(Condition::OUT_OF_RANGE, words));
        }
        let rest = set.hits - start + 1;
        let count = asked.min(rest).min(MAX_PAGE);
        let composition = request.record_composition.0.as_ref();
        let form = Form::composed(request.preferred_record_syntax, composition)?;
        let mut other_info = None;
        let records = match held(&set, &form, start, count) {
            Some(records) => records,
            None => {
                set.form = form;
                let (records, beside) = self.further(&mut set, start, count, timeouts).await?;
                if !beside.is_empty() {
                    inform(&mut other_info, beside);
                }
                if let Some(stored) = self.sets.by_name.get_mut(name) {
                    stored.end = set.end;
                    stored.last = set.last;
                }
                records
            }
        };
        let came = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let next = start.saturating_add(came);
        Ok(PresentResponse {
            number_of_records_returned: to_i64(came),
            next_result_set_position: if next > set.hits { 0 } else { to_i64(next) },
            present_status: if came == asked {
                PresentStatus::SUCCESS
            } else {
                PresentStatus::PARTIAL_2
            },
            records: Some(Records::ResponseRecords(records)).into(),
            other_info,
            ..PresentResponse::default()
        })
    }

    /// Requests records that are not stored, and returns them with the diagnostics that are not in place of records.
    async fn further(
        &mut self,
        set: &mut StoredSearch,
        start: u64,
        count: u64,
        timeouts: &Timeouts,
    ) -> Result<(Vec<NamePlusRecord>, Vec<DiagRec>), Refused> {
        if count == 0 {
            return Ok(Default::default());
        }
        if let Some(end) = set.end.filter(|end| start > *end) {
            let hits = set.hits;
            return Err(faulty(SruFault::Stalled { hits, end }));
        }
        let first = set.first.first().cloned();
        let before = std::mem::take(&mut set.last);
        let (page, came) = self
            .page(Phase::Present, set, start, count, timeouts)
            .await?;
        if came.is_empty() && !page.diagnostics.is_empty() {
            return Err(Refused::For(to_diag_recs(&page.diagnostics)));
        }
        if came.is_empty() && set.is_estimate {
            return Err(Refused::because(Condition::OUT_OF_RANGE, start.to_string()));
        }
        if came.is_empty() {
            let hits = set.hits;
            return Err(faulty(SruFault::Missing { hits, start }));
        }
        let says_first = page.records.first().and_then(|record| record.position) == Some(1);
        if start > 1 && says_first && came.first() == first.as_ref() {
            return Err(faulty(SruFault::FirstAgain(start)));
        }
        set.last = LastPage::of(start, &came, &before);
        if !has_positions(&page) && set.last.repeats(&before) {
            let before = before.start;
            return Err(faulty(SruFault::SamePage { before, start }));
        }
        Ok((came, to_diag_recs(&page.diagnostics)))
    }

    pub(super) async fn sort(
        &mut self,
        request: &SortRequest,
        timeouts: &Timeouts,
    ) -> Result<SortResponse, Error> {
        match self.sorted(request, timeouts).await {
            Ok(response) => Ok(response),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::For(diagnostics)) => Ok(SortResponse {
                sort_status: SortStatus::FAILURE,
                diagnostics: Some(diagnostics),
                ..SortResponse::default()
            }),
        }
    }

    /// Requests the first records again in the sorted order, which shows whether the server can sort.
    async fn sorted(
        &mut self,
        request: &SortRequest,
        timeouts: &Timeouts,
    ) -> Result<SortResponse, Refused> {
        let [name] = request.input_result_set_names.as_slice() else {
            let words = "SRU does not merge result sets";
            return Err(Refused::because(Condition::ILLEGAL_SORT, words));
        };
        let mut set = self.set(name)?.clone();
        set.sort = sort_keys(&request.sort_sequence, &self.server.options)?;
        let count = u64::try_from(set.first.len()).unwrap_or_default().max(1);
        let (page, came) = self.page(Phase::Sort, &mut set, 1, count, timeouts).await?;
        if !page.diagnostics.is_empty() {
            return Err(Refused::For(to_diag_recs(&page.diagnostics)));
        }
        set.last = LastPage::of(1, &came, &LastPage::default());
        set.first = came;
        let hits = to_i64(set.hits);
        let name = request.sorted_result_set_name.clone();
        self.sets.by_name.insert(name, set);
        Ok(SortResponse {
            sort_status: SortStatus::SUCCESS,
            result_count: Some(hits),
            ..SortResponse::default()
        })
    }

    fn set(&self, name: &InternationalString) -> Result<&StoredSearch, Refused> {
        let set = self.sets.by_name.get(name);
        set.ok_or_else(|| {
            Refused::because(Condition::RESULT_SET_DOES_NOT_EXIST, name.to_string_lossy())
        })
    }

    /// Requests a range of records in the requested schema. If the server refuses the schema and the caller did not
    /// name it, another schema is tried.
    async fn page(
        &mut self,
        phase: Phase,
        set: &mut StoredSearch,
        start: u64,
        count: u64,
        timeouts: &Timeouts,
    ) -> Result<(SearchRetrieveResponse, Vec<NamePlusRecord>), Refused> {
        let mut count = count.min(MAX_PAGE);
        let mut tried = Vec::new();
        let mut candidates: Option<std::vec::IntoIter<String>> = None;
        // An answer without data is used if no other schema has data.
        let mut blank = None;
        let response = loop {
            if let Some(refused) = self.sets.schemas.refused_before(set, start, count) {
                break refused;
            }
            let schema = self.schema(&set.form);
            let search = self.request(set, schema.clone(), start, count)?;
            let answer = self
                .server
                .ask(phase, &set.database, search, timeouts)
                .await?;
            let Response::SearchRetrieve(response) = answer else {
                return Err(Error::fault(phase, SruFault::Operation("searchRetrieve")).into());
            };
            let takes_none = || {
                let mut all = response.diagnostics.iter();
                all.any(|one| one.condition() == Some(SruCondition::PARAMETER_VALUE))
            };
            if count == 0 && response.number_of_records.is_none_or(|hits| hits == 0) && takes_none()
            {
                // Some servers reject a request for zero records, so one record is requested.
                count = 1;
                continue;
            }
            let may_change =
                set.form.schema == AskedSchema::Default && !self.sets.schemas.are_exhausted;
            let is_blank = has_only_blank_records(&response);
            let refusal = schema_refusal(&response)
                .map(ToString::to_string)
                .or(is_blank.then(|| "the records are empty".to_owned()));
            let Some(refusal) = refusal.filter(|_| may_change) else {
                break response;
            };
            let refused = schema.unwrap_or_default();
            debug!("no records in the schema {refused}: {refusal}");
            tried.push(refused);
            if is_blank && blank.is_none() {
                blank = Some(response.clone());
            }
            if candidates.is_none() {
                let known = self.described_schemas(&set.database, timeouts).await;
                candidates = Some(known.into_iter());
            }
            let mut others = candidates.iter_mut().flatten();
            let next = others.find(|name| !tried.contains(name));
            match next.filter(|_| tried.len() < MAX_SCHEMAS) {
                Some(next) => {
                    self.sets.schemas.chosen = Some(next);
                }
                None => {
                    let last = blank.unwrap_or(response);
                    self.sets.schemas.exhaust(set, start, count, &last);
                    break last;
                }
            }
        };
        if let (Some(first), Some(chosen)) = (tried.first(), &self.sets.schemas.chosen) {
            warn!(
                "the server gives no {first}; used {chosen}; save it with schema = \"{chosen}\" in the sru table of its profile"
            );
        }
        if let Some(sent) = misplaced(&response, start, count) {
            let asked = start;
            return Err(Error::fault(phase, SruFault::Misplaced { asked, sent }).into());
        }
        for words in repair_messages(&response, start) {
            warn!("{words}");
        }
        let limits = &self.server.limits;
        let records = placed(&response, &set.form, &set.database, start, count, limits);
        if stalls(&response, start, count, &records) {
            let came = u64::try_from(records.len()).unwrap_or(u64::MAX);
            set.end = Some(start.saturating_add(came).saturating_sub(1));
        }
        Ok((response, records))
    }

    fn request(
        &self,
        set: &StoredSearch,
        schema: Option<String>,
        start: u64,
        count: u64,
    ) -> Result<SearchRetrieve, Refused> {
        let mut search = SearchRetrieve::default();
        let by_parameter = self.server.options.sort_keys;
        let query = if set.sort.is_empty() || by_parameter {
            set.query.clone()
        } else {
            set.query.sorted_by(&set.sort)?
        };
        if by_parameter && !set.sort.is_empty() {
            search.sort_keys = Some(sort_parameter(&set.sort));
        }
        search.query = query.text;
        search.query_type = query.query_type;
        search.start_record = Some(start);
        search.maximum_records = Some(count);
        search.facets.clone_from(&set.facets);
        search.record_schema = schema.filter(|_| count > 0);
        Ok(search)
    }
}

/// Returns the diagnostics in an answer, except those that repeat the reason why one of its sources failed.
fn of_the_whole(page: &SearchRetrieveResponse, sources: &SearchSources) -> Vec<SruDiagnostic> {
    let is_of_source = |diagnostic: &&SruDiagnostic| {
        sources.failures().any(|(name, _)| {
            let rest = diagnostic.details.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(": "))
        })
    };
    let diagnostics = page.diagnostics.iter();
    diagnostics
        .filter(|one| !is_of_source(one))
        .cloned()
        .collect()
}

/// Converts facets and sources to additional search information. Omits values that cannot be encoded.
fn information(
    facets: Option<OtherInformation>,
    sources: &SearchSources,
    hits: u64,
) -> Option<OtherInformation> {
    let mut information = facets.unwrap_or_default();
    let _ = sources.put(to_i64(hits), &mut information);
    (!information.0.is_empty()).then_some(information)
}

/// Returns the single database in a request. For a request without a database, this is the database at the root of the
/// server.
pub(super) fn database(names: &[DatabaseName]) -> Result<String, Refused> {
    let name = match names {
        [] => return Ok(String::new()),
        [name] => name.0.to_string_lossy(),
        _ => return Err(Refused::because(Condition::TOO_MANY_DATABASES, "1")),
    };
    if name.eq_ignore_ascii_case("IR-Explain-1") || name.eq_ignore_ascii_case("IR-Extend-1") {
        let words = format!("{name}: a server of SRU has no databases about itself");
        Err(Refused::because(Condition::DATABASE_DOES_NOT_EXIST, words))
    } else {
        Ok(name.into_owned())
    }
}

/// The bounds for the number of records in a search response (Z39.50-2003 §3.2.2.1.6).
struct Bounds {
    small: u64,
    large: u64,
    medium: u64,
}

impl Bounds {
    fn of(request: &SearchRequest) -> Self {
        let number = |value: i64| u64::try_from(value).unwrap_or_default();
        Self {
            small: number(request.small_set_upper_bound),
            large: number(request.large_set_lower_bound),
            medium: number(request.medium_set_present_number),
        }
    }

    /// Returns the maximum number of records that the bounds allow for any number of hits.
    fn most(&self) -> u64 {
        let medium = if self.large > self.small.saturating_add(1) {
            self.medium
        } else {
            0
        };
        self.small.max(medium)
    }

    fn at(&self, hits: u64) -> usize {
        let count = match hits {
            hits if hits <= self.small => hits,
            hits if hits >= self.large => 0,
            _ => self.medium,
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }
}

/// Returns the error for a Present whose answer has this fault.
fn faulty(fault: SruFault) -> Refused {
    Error::fault(Phase::Present, fault).into()
}

/// Returns the number of hits. If the server does not state it, it is the position of the last record in the answer,
/// plus one if the answer names a next record. It is never less than the number of records sent.
fn counted(page: &SearchRetrieveResponse, start: u64, came: &[NamePlusRecord]) -> u64 {
    let came = u64::try_from(came.len()).unwrap_or(u64::MAX);
    let last = start.saturating_add(came).saturating_sub(1);
    let next = page.next_record_position.filter(|next| *next == last + 1);
    let Some(hits) = page.number_of_records else {
        return next.unwrap_or(last);
    };
    let sent = u64::try_from(page.records.len()).unwrap_or(u64::MAX);
    hits.max(start.saturating_add(sent).saturating_sub(1))
}

/// Returns whether a search response contains more records than its count.
fn is_miscounted(page: &SearchRetrieveResponse) -> bool {
    let sent = u64::try_from(page.records.len()).unwrap_or(u64::MAX);
    page.number_of_records.is_some_and(|hits| sent > hits)
}

/// Returns whether the records after an answer cannot be requested: its `nextRecordPosition` is not after `start`, or
/// its records are too few and are not at the requested positions.
fn stalls(page: &SearchRetrieveResponse, start: u64, count: u64, came: &[NamePlusRecord]) -> bool {
    let came = u64::try_from(came.len()).unwrap_or(u64::MAX);
    let next = page.next_record_position;
    let goes_back = next.is_some_and(|next| next <= start);
    let position = page.records.first().and_then(|record| record.position);
    let is_elsewhere = position.is_some_and(|position| position != start)
        && next != Some(start.saturating_add(came))
        && came < count;
    came > 0 && (goes_back || is_elsewhere)
}

/// Returns whether the number of hits is missing or not exact (SRU 2.0, `resultCountPrecision`).
fn is_estimate(page: &SearchRetrieveResponse) -> bool {
    let precision = page.result_count_precision.as_deref().unwrap_or("exact");
    !precision.ends_with("exact") || page.number_of_records.is_none()
}

/// Returns whether the server states the positions of its records.
fn has_positions(page: &SearchRetrieveResponse) -> bool {
    page.records.iter().any(|record| record.position.is_some())
}

/// Returns the records in a range, if all of them have already been received in this form.
fn held(set: &StoredSearch, form: &Form, start: u64, count: u64) -> Option<Vec<NamePlusRecord>> {
    let begin = usize::try_from(start.checked_sub(1)?).ok()?;
    let end = begin.checked_add(usize::try_from(count).ok()?)?;
    let records = set.first.get(begin..end).filter(|_| set.form == *form)?;
    Some(records.to_vec())
}

fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a response that contains diagnostics instead of records.
fn refusal(mut diagnostics: Vec<DiagRec>) -> Records {
    match (diagnostics.pop(), diagnostics.is_empty()) {
        (Some(DiagRec::DefaultFormat(only)), true) => Records::NonSurrogateDiagnostic(only),
        (None, _) => {
            let unspecified = DefaultDiagFormat::bib1(Condition::UNSPECIFIED.0, "");
            Records::NonSurrogateDiagnostic(unspecified)
        }
        (Some(last), _) => {
            diagnostics.push(last);
            Records::MultipleNonSurDiagnostics(diagnostics)
        }
    }
}
