//! Sort: orders result sets, and merges several into one (Z39.50-2003 §3.2.7.1).

use z3950_asn1::apdu::{
    Apdu, AttributeElement, AttributeList, CaseSensitivity, MissingValueAction, Options,
    OtherInformation, SortAttributes, SortElement, SortKey, SortKeySpec, SortRelation, SortRequest,
    SortResultSetStatus, SortStatus,
};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::types::InternationalString;

use super::{DEFAULT_RESULT_SET, unexpected};
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// What to sort. By default the set `default`, in place.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SortOptions {
    /// The result sets to sort; several are merged.
    pub input_result_sets: Vec<InternationalString>,
    /// The resulting set, which may be one of the input sets.
    pub sorted_result_set: InternationalString,
    /// Additional information for the server.
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
    /// The request for these keys, most important first.
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

/// A key by Bib-1 attributes, ignoring case. The server decides where records without the key go.
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

/// The result of a sort.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SortResult {
    /// Whether all records were sorted.
    pub status: SortStatus,
    /// What the sorted set contains after a partial or failed sort.
    pub result_set_status: Option<SortResultSetStatus>,
    /// The server's diagnostics.
    pub diagnostics: Diagnostics,
    /// The number of records in the sorted set, if the server says.
    pub hits: Option<i64>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl Session {
    /// Sorts result sets by keys, most important first.
    ///
    /// # Errors
    /// Those of [`sort_request`](Self::sort_request).
    pub async fn sort(
        &self,
        keys: Vec<SortKeySpec>,
        options: &SortOptions,
    ) -> Result<SortResult, Error> {
        self.sort_request(options.request(keys)).await
    }

    /// Sends a complete SortRequest.
    ///
    /// # Errors
    /// [`Error::Refused`] if nothing was sorted, [`ProtocolFault::NotGranted`] if the server does not offer Sort; the session
    /// continues. Others end it.
    pub async fn sort_request(&self, request: SortRequest) -> Result<SortResult, Error> {
        let phase = Phase::Sort;
        self.require(phase, Options::SORT, "sort")?;
        let response = match self.ask(request.into()).await? {
            Apdu::SortResponse(response) => *response,
            other => return Err(unexpected(phase, &other)),
        };
        let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
        if response.sort_status == SortStatus::FAILURE {
            return Err(Error::Refused { phase, diagnostics });
        }
        Ok(SortResult {
            status: response.sort_status,
            result_set_status: response.result_set_status,
            diagnostics,
            hits: response.result_count,
            other_info: response.other_info,
        })
    }
}
