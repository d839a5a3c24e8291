//! Sort: result sets put in order, or merged into one (Z39.50-2003 §3.2.7.1).

use z3950_asn1::apdu::{
    Apdu, AttributeElement, AttributeList, CaseSensitivity, MissingValueAction, Options,
    OtherInformation, SortAttributes, SortElement, SortKey, SortKeySpec, SortRelation, SortRequest,
    SortResultSetStatus, SortStatus,
};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::types::InternationalString;

use super::search::DEFAULT_RESULT_SET;
use crate::error::{Diagnostics, Error, Phase};
use crate::session::Session;

/// What to sort and where to. By default the set `default`, in place.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SortOptions {
    /// The result sets to sort, merged if there are several.
    pub input_result_sets: Vec<InternationalString>,
    /// The set that is made; it may be one of those to sort.
    pub sorted_result_set: InternationalString,
    /// Whatever else the server is to know.
    pub other_info: Option<OtherInformation>,
}

impl Default for SortOptions {
    fn default() -> Self {
        Self {
            input_result_sets: vec![DEFAULT_RESULT_SET.into()],
            sorted_result_set: DEFAULT_RESULT_SET.into(),
            other_info: None,
        }
    }
}

impl SortOptions {
    /// The request that these options make of the keys, most important first.
    pub fn request(&self, keys: Vec<SortKeySpec>) -> SortRequest {
        SortRequest {
            reference_id: None,
            input_result_set_names: self.input_result_sets.clone(),
            sorted_result_set_name: self.sorted_result_set.clone(),
            sort_sequence: keys,
            other_info: self.other_info.clone(),
        }
    }
}

/// A key by Bib-1 attributes in the given order; records without it come where the server puts them, case does not count.
pub fn key_by_attributes(attributes: Vec<AttributeElement>, relation: SortRelation) -> SortKeySpec {
    key(
        SortKey::SortAttributes(SortAttributes {
            id: BIB_1,
            list: AttributeList(attributes),
        }),
        relation,
    )
}

/// A key by the name of a field, otherwise like [`key_by_attributes`].
pub fn key_by_field(field: impl Into<InternationalString>, relation: SortRelation) -> SortKeySpec {
    key(SortKey::SortField(field.into()), relation)
}

fn key(key: SortKey, sort_relation: SortRelation) -> SortKeySpec {
    SortKeySpec {
        sort_element: SortElement::Generic(key),
        sort_relation,
        case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
        missing_value_action: Some(MissingValueAction::Null),
    }
}

/// What became of a sort.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SortResult {
    /// Whether all of it was done.
    pub status: SortStatus,
    /// What is in the sorted set, where not all was done.
    pub result_set_status: Option<SortResultSetStatus>,
    /// What the server says about it.
    pub diagnostics: Diagnostics,
    /// How many records the sorted set has, where the server says so.
    pub hits: Option<i64>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

/// Sends `request`; the status failure is [`Error::Refused`].
pub(crate) async fn sort(session: &Session, request: SortRequest) -> Result<SortResult, Error> {
    session.require(Phase::Sort, Options::SORT, "sort")?;
    let response = match session.ask(request.into()).await? {
        Apdu::SortResponse(response) => *response,
        other => return Err(super::unexpected(Phase::Sort, &other)),
    };
    let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
    if response.sort_status == SortStatus::FAILURE {
        return Err(Error::Refused {
            phase: Phase::Sort,
            diagnostics,
        });
    }
    Ok(SortResult {
        status: response.sort_status,
        result_set_status: response.result_set_status,
        diagnostics,
        hits: response.result_count,
        other_info: response.other_info,
    })
}
