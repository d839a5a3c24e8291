//! Search (Z39.50-2003 §3.2.2): a result set of the query, and with it the records that the small, medium and large sets
//! of the request ask for.

use std::sync::Arc;

use z3950_asn1::apdu::{
    Apdu, ElementSetNames, Options, PresentStatus, Records, ResultSetStatus, SearchRequest,
    SearchResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::composition;
use super::count;
use super::pack::{Packed, Sizes, pack};
use super::query::rpn;
use super::resource::{self, Held};
use super::search_info;
use crate::backend::{Found, Search};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::result_sets::ResultSet;
use crate::session::{Association, Conclusion, Operation};

/// Searches, keeps the result set and answers, or asks for leave first.
///
/// A search that fails leaves no result set of its name, except where the name was taken and not to be replaced.
pub(crate) async fn answer(operation: &Operation, request: &SearchRequest) -> Conclusion {
    let (set, found) = match search(operation, request).await {
        Ok(found) => found,
        Err(diagnostic) => {
            operation.usage().count_search(0, 0);
            return Apdu::from(failed(diagnostic)).into();
        }
    };
    let response = response(operation, request, &set, &found).await;
    let records = usize::try_from(response.number_of_records_returned).unwrap_or(0);
    operation.usage().count_search(set.hits.len(), records);
    if !resource::is_to_be_asked(operation, set.hits.len()) {
        return Apdu::from(response).into();
    }
    let held = Held {
        reference_id: request.reference_id.clone(),
        result_set: request.result_set_name.as_bytes().to_vec(),
        response,
    };
    let question = resource::question(&held);
    Conclusion::Asked(Box::new(held), question)
}

/// A search that fails.
pub(crate) fn failed(diagnostic: Diagnostic) -> SearchResponse {
    SearchResponse {
        search_status: false,
        result_set_status: Some(ResultSetStatus::NONE),
        records: Records::NonSurrogateDiagnostic(diagnostic).into(),
        ..SearchResponse::default()
    }
}

async fn search(
    operation: &Operation,
    request: &SearchRequest,
) -> Result<(ResultSet, Found), Diagnostic> {
    let name = request.result_set_name.as_bytes();
    check_name(operation, name)?;
    {
        let sets = operation.result_sets();
        if !request.replace_indicator && sets.has(name) {
            return Err(diagnostic(Condition::RESULT_SET_EXISTS, name));
        }
        sets.check_room(name)?;
    }
    // An operand of the query may be the very set that is replaced.
    let found = evaluate(operation, request).await;
    let mut sets = operation.result_sets();
    match &found {
        Ok((set, _)) => sets.keep(name, set.clone())?,
        Err(_) => {
            sets.delete(name);
        }
    }
    found
}

async fn evaluate(
    operation: &Operation,
    request: &SearchRequest,
) -> Result<(ResultSet, Found), Diagnostic> {
    let databases = &*request.database_names;
    let backend = operation.backend_of(databases)?;
    let query = rpn(&request.query, operation.target.offer.options)?;
    let facets = search_info::facets_wanted(operation, request);
    let result_set = |name: &[u8]| {
        let set = operation.result_sets().find(name).ok()?;
        Arc::ptr_eq(&set.backend, &backend).then_some(set.hits)
    };
    let search = backend.search(Search {
        databases,
        query: &query,
        result_set: &result_set,
        term_counts: search_info::term_counts_wanted(operation, request, &query),
        facets: &facets,
    });
    let found = operation.or_stopped(search).await;
    let found = found.map_err(|why| {
        let is_set = why.condition == Condition::RESULT_SET_DOES_NOT_EXIST.0;
        // The backend does not know that the set had to make room.
        match operation.result_sets().find(why.addinfo.as_bytes()) {
            Err(deleted) if is_set => deleted,
            _ => why,
        }
    })?;
    let hits = found.hits.clone();
    Ok((ResultSet { backend, hits }, found))
}

/// The answer to a search that worked, with the records it asks for. That these cannot be had makes the Present part of
/// the answer fail, not the search. A search that ended before its time has found a subset, and failed otherwise.
async fn response(
    operation: &Operation,
    request: &SearchRequest,
    set: &ResultSet,
    found: &Found,
) -> SearchResponse {
    let records = match found.interrupted {
        None => records(operation, request, set).await,
        Some(_) => None,
    };
    let result_count = count(set.hits.len());
    let additional_search_info = search_info::information(operation, found);
    if let Some(interrupted) = &found.interrupted {
        return SearchResponse {
            result_count,
            result_set_status: Some(ResultSetStatus::SUBSET),
            additional_search_info,
            ..failed(interrupted.clone())
        };
    }
    let mut response = SearchResponse {
        result_count,
        next_result_set_position: 1,
        search_status: true,
        result_set_status: found.estimate.then_some(ResultSetStatus::ESTIMATE),
        present_status: Some(PresentStatus::SUCCESS),
        additional_search_info,
        ..SearchResponse::default()
    };
    match records {
        None => {}
        Some(Ok(packed)) => {
            let returned = count(packed.records);
            response.number_of_records_returned = returned;
            response.next_result_set_position = returned.saturating_add(1);
            response.present_status = Some(packed.status);
            response.records = Records::ResponseRecords(packed.last).into();
        }
        Some(Err(diagnostic)) => {
            response.present_status = Some(PresentStatus::FAILURE);
            response.records = Records::NonSurrogateDiagnostic(diagnostic).into();
        }
    }
    response
}

/// The records that the answer to a search is to bring along; `None` if it is to bring none.
async fn records(
    operation: &Operation,
    request: &SearchRequest,
    set: &ResultSet,
) -> Option<Result<Packed, Diagnostic>> {
    let (number, element_sets) = records_wanted(request, set.hits.len());
    if number == 0 {
        return None;
    }
    let syntax = request.preferred_record_syntax;
    let composition = match composition::of_names(&*set.backend, syntax, element_sets) {
        Ok(composition) => composition,
        Err(diagnostic) => return Some(Err(diagnostic)),
    };
    let wanted = set.hits.ids(0..number.min(most_records(operation)));
    let sizes = Sizes::of(operation);
    Some(pack(operation, set, wanted, &composition, &sizes).await)
}

/// Whether result sets may be called so.
///
/// # Errors
/// Condition 22 for any name but `default` where the server does not offer to name them.
pub(super) fn check_name(association: &Association, name: &[u8]) -> Result<(), Diagnostic> {
    let offered = association.target.offer.options;
    if name == DEFAULT_SET || offered.contains(Options::NAMED_RESULT_SETS) {
        return Ok(());
    }
    Err(diagnostic(Condition::RESULT_SET_NAMING, name))
}

/// The name that every server has a result set under (§3.2.2.1.4).
const DEFAULT_SET: &[u8] = b"default";

/// One record more than go into a response, so that it can be told whether all did.
pub(super) fn most_records(association: &Association) -> usize {
    let most = association.target.limits.records_per_response.max(1);
    most.saturating_add(1)
}

/// How many records come with the answer, and their element sets (Z39.50-2003 §3.2.2.1.6): of a small set all, of a medium
/// one so many as the request says, of a large one none.
fn records_wanted(request: &SearchRequest, hits: usize) -> (usize, Option<&ElementSetNames>) {
    let found = count(hits);
    if found <= request.small_set_upper_bound {
        (hits, request.small_set_element_set_names.as_ref())
    } else if found < request.large_set_lower_bound {
        let medium = usize::try_from(request.medium_set_present_number).unwrap_or(0);
        (
            medium.min(hits),
            request.medium_set_element_set_names.as_ref(),
        )
    } else {
        (0, None)
    }
}
