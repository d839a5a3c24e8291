//! Search (Z39.50-2003 §3.2.2): creates a result set from a query, and sends its first records as requested by the parameters for
//! small, medium and large sets.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use z3950_asn1::apdu::{
    ElementSetNames, External, ExternalEncoding, ExternalValue, Information, Options,
    OtherInformation, PresentStatus, Query, Records, ResultSetStatus, RpnQuery, RpnStructure,
    SearchRequest, SearchResponse,
};
use z3950_asn1::codec::decode_value;
use z3950_asn1::format::diag1::{Diagnostic as DiagnosticOfUnit, DiagnosticUnit};
use z3950_asn1::format::facets::{FacetField, FacetList, FacetTerm};
use z3950_asn1::format::search_result1::{SearchInfoReport, SubqueryReport};
use z3950_asn1::format::sources::{SearchSource, SearchSources};
use z3950_asn1::oid::CQL;
use z3950_asn1::query::{Dialects, Language};
use z3950_asn1::types::InternationalString;

use super::records::{self, Packed, Sizes, listed, most_records, pack};
use crate::association::{Association, Operation};
use crate::backend::{FacetRequest, Found, ResultSet, Search, SourceReport};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::target::Target;
use crate::units::count;

/// Runs a search, keeps its result set, and returns the answer.
///
/// If the search fails, the result set with the requested name is deleted, unless the set already exists and must not be
/// replaced.
pub(super) async fn answer(operation: &Operation, request: &SearchRequest) -> SearchResponse {
    let (response, found) = match search(operation, request).await {
        Ok((set, found)) => (
            response(operation, request, &set, &found).await,
            set.hits.len(),
        ),
        Err(diagnostic) => (failed(diagnostic), 0),
    };
    let mut usage = operation.usage();
    usage.searches += 1;
    usage.found = found;
    usage.records += usize::try_from(response.number_of_records_returned).unwrap_or(0);
    response
}

pub(super) fn failed(diagnostic: Diagnostic) -> SearchResponse {
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
    operation.check_set_name(name)?;
    {
        let sets = operation.result_sets();
        if !request.replace_indicator && sets.has(name) {
            return Err(diagnostic(Condition::RESULT_SET_EXISTS, name));
        }
        sets.check_room(name)?;
    }
    // The query may use the set that it replaces, so the old set is deleted only afterwards.
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
    let query = rpn(&request.query, operation)?;
    let facets = facets_wanted(operation, request);
    let result_set = |name: &[u8]| {
        let set = operation.result_sets().find(name).ok()?;
        Arc::ptr_eq(&set.backend, &backend).then_some(set.hits)
    };
    let search = backend.search(Search {
        caller: operation.caller(),
        databases,
        query: &query,
        result_set: &result_set,
        term_counts: term_counts_wanted(operation, request, &query),
        term_counts_asked: is_asked(request),
        facets: &facets,
        first_records: first_records_wanted(request).min(most_records(operation)),
        syntax: request.preferred_record_syntax,
        work: Some(&operation.target.work),
    });
    let found = operation.or_stopped(search).await;
    let found = found.map_err(|why| {
        let is_set = why.condition == Condition::RESULT_SET_DOES_NOT_EXIST.0;
        // The backend cannot distinguish an evicted set from one that never existed.
        match operation.result_sets().find(why.addinfo.as_bytes()) {
            Err(deleted) if is_set => deleted,
            _ => why,
        }
    })?;
    let hits = found.hits.clone();
    Ok((ResultSet { backend, hits }, found))
}

/// Returns the answer to a successful search, with the records that it requests. If the records cannot be retrieved, only the
/// Present part of the answer reports a failure. An interrupted search counts as failed, and its result set is a subset.
async fn response(
    operation: &Operation,
    request: &SearchRequest,
    set: &ResultSet,
    found: &Found,
) -> SearchResponse {
    let result_count = count(set.hits.len());
    let additional_search_info = information(operation, found);
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
        result_set_status: status(found),
        present_status: Some(PresentStatus::SUCCESS),
        additional_search_info,
        ..SearchResponse::default()
    };
    match first_records(operation, request, set).await {
        Ok(None) => {}
        Ok(Some(packed)) => {
            let returned = count(packed.records);
            response.other_info = packed.other_info();
            response.number_of_records_returned = returned;
            response.next_result_set_position = returned.saturating_add(1);
            response.present_status = Some(packed.status);
            response.records = Records::ResponseRecords(packed.last).into();
        }
        Err(diagnostic) => {
            response.present_status = Some(PresentStatus::FAILURE);
            response.records = Records::NonSurrogateDiagnostic(diagnostic).into();
        }
    }
    response
}

/// Returns the records to send with the answer; `None` if none are requested.
async fn first_records(
    operation: &Operation,
    request: &SearchRequest,
    set: &ResultSet,
) -> Result<Option<Packed>, Diagnostic> {
    let (number, element_sets) = records_wanted(request, set.hits.len());
    if number == 0 {
        return Ok(None);
    }
    let syntax = request.preferred_record_syntax;
    let composition = records::of_names(
        &*set.backend,
        operation.target.offer.strict_element_sets,
        syntax,
        element_sets,
    )?;
    let wanted = listed(&set.hits, 0..number.min(most_records(operation)))?;
    let sizes = Sizes::of(operation);
    let packed = pack(operation, set, wanted, &composition, &sizes).await?;
    Ok(Some(packed))
}

/// Returns the number of records to send with the answer, and their element set (Z39.50-2003 §3.2.2.1.6): all records of a small
/// set, mediumSetPresentNumber records of a medium set, and none of a large set.
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

/// Returns the maximum number of records that may be sent with the answer, whatever the number of hits.
fn first_records_wanted(request: &SearchRequest) -> usize {
    let small = request.small_set_upper_bound;
    // A result set can be of medium size only if there are sizes between the two bounds.
    let has_medium = request.large_set_lower_bound > small.saturating_add(1).max(1);
    let medium = if has_medium {
        request.medium_set_present_number
    } else {
        0
    };
    natural(small.max(medium))
}

/// The CCL qualifiers and the CQL indexes.
static DIALECTS: LazyLock<Dialects> = LazyLock::new(Dialects::built_in);

/// Returns the query as type-1 (Z39.50-2003 §3.7): type-1 and type-101 are returned unchanged, and CCL (type-2) and CQL
/// (type-104, 1.2.840.10003.16.2) are translated.
///
/// # Errors
/// Condition 107 for an unsupported query type, 108 for CCL or CQL that is too long or malformed.
fn rpn<'q>(query: &'q Query, association: &Association) -> Result<Cow<'q, RpnQuery>, Diagnostic> {
    let Target { limits, offer, .. } = &*association.target;
    let type_104 = offer.options.contains(Options::QUERY_TYPE_104);
    let read = |language, text: &[u8]| {
        if text.len() <= limits.query_text {
            read(language, text)
        } else {
            let message = format!("longer than {} octets", limits.query_text);
            Err(diagnostic(Condition::MALFORMED_QUERY, message))
        }
    };
    match query {
        Query::Type1(rpn) | Query::Type101(rpn) => Ok(Cow::Borrowed(rpn)),
        Query::Type2(text) => read(Language::Ccl, text),
        Query::Type104(external) if type_104 && external.direct_reference == Some(CQL) => {
            cql(external, read)
        }
        Query::Type104(External {
            direct_reference: Some(syntax),
            ..
        }) => Err(diagnostic(
            Condition::QUERY_TYPE,
            format!("type-104 of {syntax}"),
        )),
        other => {
            let query_type = format!("type-{}", other.type_number());
            Err(diagnostic(Condition::QUERY_TYPE, query_type))
        }
    }
}

/// Translates a CQL query, whose text may be sent as an InternationalString or as octets.
fn cql(
    external: &External,
    read: impl Fn(Language, &[u8]) -> Result<Cow<'static, RpnQuery>, Diagnostic>,
) -> Result<Cow<'static, RpnQuery>, Diagnostic> {
    match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => {
            let text = decode_value::<InternationalString>(value.as_bytes()).map_err(|_| {
                diagnostic(
                    Condition::MALFORMED_QUERY,
                    "the CQL is not an InternationalString",
                )
            })?;
            read(Language::Cql, text.as_bytes())
        }
        ExternalEncoding::OctetAligned(text) => read(Language::Cql, text),
        ExternalEncoding::Arbitrary(_) => Err(diagnostic(
            Condition::MALFORMED_QUERY,
            "the CQL is a bit string",
        )),
    }
}

fn read(language: Language, text: &[u8]) -> Result<Cow<'static, RpnQuery>, Diagnostic> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let message = format!(
            "octet {} of the query is not UTF-8",
            error.valid_up_to() + 1
        );
        diagnostic(Condition::MALFORMED_QUERY, message)
    })?;
    let rpn = DIALECTS.read(language, text);
    rpn.map(Cow::Owned)
        .map_err(|error| diagnostic(Condition::MALFORMED_QUERY, error.described(text)))
}

/// Returns whether to count the records of each term: in version 3, if the query has several terms or the client requests the
/// counts with an empty report. The count of a single term would equal the size of the result set.
fn term_counts_wanted(
    association: &Association,
    request: &SearchRequest,
    query: &RpnQuery,
) -> bool {
    let several = matches!(query.rpn, RpnStructure::RpnRpnOp(_));
    association.terms.version >= 3
        && association.target.limits.term_counts > 0
        && (several || is_asked(request))
}

fn is_asked(request: &SearchRequest) -> bool {
    let mut units = request.additional_search_info.iter().flat_map(|all| &all.0);
    units.any(|unit| match &unit.information {
        Information::ExternallyDefinedInfo(external) => external
            .direct_reference
            .as_ref()
            .is_some_and(SearchInfoReport::is_syntax),
        _ => false,
    })
}

/// Returns the requested facets, within the limits.
fn facets_wanted(association: &Association, request: &SearchRequest) -> Vec<FacetRequest> {
    let information = request.additional_search_info.as_ref();
    let list = information.and_then(OtherInformation::value::<FacetList>);
    let limits = &association.target.limits;
    let fields = list.into_iter().flat_map(|list| list.0);
    let wanted = fields.take(limits.facets).map(|field| FacetRequest {
        skip: field
            .start()
            .map_or(0, |start| natural(start.saturating_sub(1))),
        terms: field
            .limit()
            .map_or(DEFAULT_TERMS, natural)
            .min(limits.facet_terms),
        alphabetical: field.by_term(),
        attributes: field.attributes,
    });
    wanted.collect()
}

/// The default number of terms in a facet.
const DEFAULT_TERMS: usize = 10;

fn natural(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Returns the status of a result set that is incomplete because a source failed, or whose number of records is an estimate;
/// `None` for other result sets.
fn status(found: &Found) -> Option<ResultSetStatus> {
    let has_failed = found.sources.iter().any(|source| source.failure.is_some());
    if has_failed {
        Some(ResultSetStatus::SUBSET)
    } else {
        found.estimate.then_some(ResultSetStatus::ESTIMATE)
    }
}

/// Returns the additional search information of the response (Z39.50-2003 §3.2.2.1.12): the number of records of each source and
/// term (SearchResult-1, Appendix USR.1), facets as defined by Index Data, failures of sources, and remarks (diag-1). Returns
/// `None` if there is nothing to report.
fn information(association: &Association, found: &Found) -> Option<OtherInformation> {
    let mut information = OtherInformation::default();
    let most = association.target.limits.term_counts;
    let terms = found.term_counts.iter().take(most).map(|counted| {
        let term = counted.operand.term.clone();
        SubqueryReport::of_term(term, count(counted.records))
    });
    let sources = SearchSources {
        sources: found.sources.iter().map(source).collect(),
        remarks: found.remarks.clone(),
    };
    let whole = sources.report(count(found.hits.len()));
    let terms = SearchInfoReport(whole.into_iter().chain(terms).collect());
    let facets = found.facets.iter().map(|facet| {
        let terms = facet.terms.iter().map(|(term, records)| FacetTerm {
            term: term.clone(),
            count: count(*records),
        });
        FacetField {
            attributes: facet.attributes.clone(),
            terms: Some(terms.collect()),
        }
    });
    let facets = FacetList(facets.collect());
    // A list that cannot be encoded is left out.
    if !terms.0.is_empty() {
        let _ = information.put_value(&terms);
    }
    if !facets.0.is_empty() {
        let _ = information.put_value(&facets);
    }
    let uncounted = found.sources.iter().filter(|source| source.lacks_facets);
    let mut diagnostics = sources.diagnostics().unwrap_or_default();
    diagnostics.0.extend(uncounted.map(without_facets));
    if !diagnostics.0.is_empty() {
        let _ = information.put_value(&diagnostics);
    }
    (!information.0.is_empty()).then_some(information)
}

/// Returns the number of records found at a source, or the reason why the source did not answer.
fn source(report: &SourceReport) -> SearchSource {
    let records = u64::try_from(report.records).unwrap_or(u64::MAX);
    SearchSource {
        name: report.name.clone(),
        records: report.failure.is_none().then_some(records),
        failure: report.failure.clone(),
    }
}

/// Returns a remark saying that the records of a source are not included in the facets.
fn without_facets(source: &SourceReport) -> DiagnosticUnit {
    let service = diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "facets");
    let message = format!("{}: its records are not counted in facets", source.name);
    DiagnosticUnit {
        message: Some(message.as_str().into()),
        diagnostic: Some(DiagnosticOfUnit::DefaultDiagRec(service)),
    }
}
