//! Search (Z39.50-2003 §3.2.2): a result set of the query, and with it the records that the small, medium and large sets
//! of the request ask for.

use z3950_asn1::apdu::{
    Apdu, ElementSetNames, PresentStatus, Records, ResultSetStatus, SearchRequest, SearchResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::composition::Composition;
use super::count;
use super::pack::pack;
use super::query::rpn;
use crate::backend::{Hits, Search};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::session::Association;

/// Searches, keeps the result set and answers.
///
/// A search that fails leaves no result set of its name, except where the name was taken and not to be replaced.
pub(crate) fn answer(association: &mut Association, request: &SearchRequest) -> Apdu {
    let response = match search(association, request) {
        Ok(hits) => found(association, request, &hits),
        Err(diagnostic) => SearchResponse {
            search_status: false,
            result_set_status: Some(ResultSetStatus::NONE),
            records: Records::NonSurrogateDiagnostic(diagnostic).into(),
            ..SearchResponse::default()
        },
    };
    response.into()
}

fn search(association: &mut Association, request: &SearchRequest) -> Result<Hits, Diagnostic> {
    let name = request.result_set_name.as_bytes();
    if !request.replace_indicator && association.result_sets.find(name).is_some() {
        return Err(diagnostic(Condition::RESULT_SET_EXISTS, name));
    }
    association.result_sets.check_room(name)?;
    // An operand of the query may be the very set that is replaced.
    let found = evaluate(association, request);
    association.result_sets.delete(name);
    let hits = found?;
    association.result_sets.keep(name, hits.clone())?;
    Ok(hits)
}

fn evaluate(association: &Association, request: &SearchRequest) -> Result<Hits, Diagnostic> {
    let databases = &*request.database_names;
    let most = association.limits.databases_per_search;
    if databases.is_empty() {
        return Err(diagnostic(Condition::COMBINATION, "no database is named"));
    }
    if databases.len() > most {
        return Err(diagnostic(Condition::TOO_MANY_DATABASES, most.to_string()));
    }
    let query = rpn(&request.query)?;
    association.backend.search(&Search {
        databases,
        query: &query,
        result_set: &|name| association.result_sets.find(name).cloned(),
    })
}

/// The answer to a search that worked, with the records it asks for. That these cannot be had makes the Present part of
/// the answer fail, not the search.
fn found(association: &Association, request: &SearchRequest, hits: &Hits) -> SearchResponse {
    let mut response = SearchResponse {
        result_count: count(hits.len()),
        next_result_set_position: 1,
        search_status: true,
        present_status: Some(PresentStatus::SUCCESS),
        ..SearchResponse::default()
    };
    let (number, element_sets) = records_wanted(request, hits.len());
    if number == 0 {
        return response;
    }
    let backend = &*association.backend;
    match Composition::of_names(backend, request.preferred_record_syntax, element_sets) {
        Ok(composition) => {
            let packed = pack(association, hits.iter().take(number).copied(), &composition);
            let returned = count(packed.records.len());
            response.number_of_records_returned = returned;
            response.next_result_set_position = returned.saturating_add(1);
            response.present_status = Some(packed.status);
            response.records = Records::ResponseRecords(packed.records).into();
        }
        Err(diagnostic) => {
            response.present_status = Some(PresentStatus::FAILURE);
            response.records = Records::NonSurrogateDiagnostic(diagnostic).into();
        }
    }
    response
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
