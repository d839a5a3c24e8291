//! searchRetrieve: a Search with its first records, or a Search, a Sort and a Present.

use z3950_asn1::apdu::{
    Apdu, ElementSetNames, NamePlusRecord, PresentRequest, PresentStatus, Query, RecordComposition,
    Records, ResultSetId, ResultSetStatus, SearchRequest, SearchResponse, SortRequest, SortStatus,
};
use z3950_asn1::sru::{
    SearchRetrieve, SearchRetrieveResponse, SruCondition, SruDiagnostic, SruRecord,
};

use super::exchange::Deadline;
use super::failure::{SruFailure, default_form, non_surrogate};
use super::schema::RecordForm;
use super::{Context, SruSession, query, records};
use crate::units::count;

/// The name of the result set of a request.
const SET: &str = "default";

impl SruSession {
    /// Answers a searchRetrieve.
    ///
    /// # Errors
    /// Why there is no result.
    pub(super) async fn search(
        &mut self,
        context: &Context,
        search: &SearchRetrieve,
    ) -> Result<SearchRetrieveResponse, SruFailure> {
        let deadline = self.deadline();
        let wanted = self.wanted(context, search)?;
        let limits = &self.target.limits;
        let (query, keys) = query::read(search, limits.query_text)?;
        let is_sorted = !keys.is_empty();
        let request = SearchRequest {
            reference_id: None,
            small_set_upper_bound: 0,
            large_set_lower_bound: i64::MAX,
            // The first records are those of the answer, if they are not sorted first.
            medium_set_present_number: match wanted.start == 1 && !is_sorted {
                true => count(wanted.most),
                false => 0,
            },
            replace_indicator: true,
            result_set_name: SET.into(),
            database_names: context.databases(),
            small_set_element_set_names: None,
            medium_set_element_set_names: Some(element_set_names(&wanted.form)),
            preferred_record_syntax: Some(wanted.form.syntax),
            query: Query::Type1(query),
            additional_search_info: None,
            other_info: None,
        };
        let found = match self.exchange(request.into(), deadline).await? {
            Apdu::SearchResponse(found) if found.search_status => *found,
            Apdu::SearchResponse(failed) => {
                return Err(non_surrogate(failed.records.0).into());
            }
            _ => return Err(SruFailure::unanswered()),
        };
        let total = u64::try_from(found.result_count).unwrap_or(0);
        let mut diagnostics = Vec::new();
        let is_estimate = found.result_set_status == Some(ResultSetStatus::ESTIMATE);
        let mut found_records = Vec::new();
        if is_sorted {
            self.sort(keys, deadline).await?;
        }
        if wanted.start > total && wanted.start > 1 {
            let position = wanted.start.to_string();
            diagnostics.push(SruDiagnostic::new(SruCondition::OUT_OF_RANGE, position));
        } else if wanted.most > 0 && total > 0 {
            let all = match wanted.start == 1 && !is_sorted {
                true => first_records(found),
                false => self.present(&wanted, total, deadline).await,
            };
            match all {
                Ok(all) => found_records = wanted.records(all),
                Err(failure) => diagnostics = failure.diagnostics,
            }
        }
        let version = context.version;
        let mut response = SearchRetrieveResponse::new(version, total, wanted.start, found_records);
        // Without records there is no record after the last.
        if response.records.is_empty() {
            response.next_record_position = None;
        }
        response.diagnostics = diagnostics;
        response.result_count_precision = Some(match is_estimate {
            true => format!("{PRECISION}estimate"),
            false => format!("{PRECISION}exact"),
        });
        Ok(response)
    }

    /// Checks what a request says about records.
    ///
    /// # Errors
    /// 72 for a path, 66 for an unknown schema.
    fn wanted(&self, context: &Context, search: &SearchRetrieve) -> Result<Wanted, SruFailure> {
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
        Ok(Wanted {
            start: search.start(),
            most: most.min(limits.records_per_response),
            form: RecordForm::of(search.record_schema.as_deref(), &*backend)?,
            packing: search.packing.unwrap_or_default(),
        })
    }

    async fn sort(
        &mut self,
        keys: Vec<z3950_asn1::apdu::SortKeySpec>,
        deadline: Deadline,
    ) -> Result<(), SruFailure> {
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

    /// The records from a position on; there is at least one.
    async fn present(
        &mut self,
        wanted: &Wanted,
        total: u64,
        deadline: Deadline,
    ) -> Result<Vec<NamePlusRecord>, SruFailure> {
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
                Some(Records::ResponseRecords(records)) => Ok(records),
                other => Err(non_surrogate(other).into()),
            },
            _ => Err(SruFailure::unanswered()),
        }
    }
}

/// The records of an answer.
struct Wanted {
    /// The position of the first one.
    start: u64,
    most: usize,
    form: RecordForm,
    packing: z3950_asn1::sru::Packing,
}

impl Wanted {
    fn records(&self, all: Vec<NamePlusRecord>) -> Vec<SruRecord> {
        let all = all.into_iter();
        all.map(|one| records::record(one, &self.form, self.packing))
            .collect()
    }
}

fn element_set_names(form: &RecordForm) -> ElementSetNames {
    ElementSetNames::GenericElementSetName(form.element_set.as_str().into())
}

/// The records in the answer to a Search.
fn first_records(found: SearchResponse) -> Result<Vec<NamePlusRecord>, SruFailure> {
    match found.records.0 {
        Some(Records::ResponseRecords(records)) => Ok(records),
        other if found.present_status == Some(PresentStatus::FAILURE) => {
            Err(non_surrogate(other).into())
        }
        _ => Ok(Vec::new()),
    }
}

/// The beginning of the values of `resultCountPrecision`.
const PRECISION: &str = "info:srw/vocabulary/resultCountPrecision/1/";
