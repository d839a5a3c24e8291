//! Sort: orders result sets, and merges several into one (Z39.50-2003 §3.2.7.1).

use z3950_asn1::apdu::{
    AttributeElement, AttributeList, CaseSensitivity, MissingValueAction, Options, SortAttributes,
    SortElement, SortKey, SortKeySpec, SortRelation, SortRequest, SortResponse, SortStatus,
};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::types::InternationalString;

use super::diagnostics::with_information;
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// Creates a sort key from Bib-1 attributes. Sorting ignores case. The server decides where to sort records without the
/// key.
pub fn key_by_attributes(attributes: Vec<AttributeElement>, relation: SortRelation) -> SortKeySpec {
    key(
        SortKey::SortAttributes(SortAttributes {
            id: BIB_1,
            list: AttributeList(attributes),
        }),
        relation,
    )
}

/// Creates a key like [`key_by_attributes`], but from the name of a field.
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

impl Session {
    /// Sorts result sets; [`SortRequest::in_place`] is the usual request.
    ///
    /// # Errors
    /// [`Error::Refused`] if nothing was sorted, or if there is a diagnostic and the set is not partially sorted, or
    /// [`ProtocolFault::NotGranted`] if the server does not offer Sort. The session continues after these errors. Other
    /// errors end the session.
    pub async fn sort(&self, request: SortRequest) -> Result<SortResponse, Error> {
        let phase = Phase::Sort;
        self.require(phase, Options::SORT)?;
        let response: SortResponse = self.ask(request).await?;
        let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
        let diagnostics = with_information(diagnostics, response.other_info.as_ref());
        let is_refused = match response.sort_status {
            SortStatus::FAILURE => true,
            SortStatus::PARTIAL_1 => false,
            _ => !diagnostics.is_empty(),
        };
        if is_refused {
            return Err(Error::Refused { phase, diagnostics });
        }
        Ok(SortResponse {
            diagnostics: Some(diagnostics.0).filter(|some| !some.is_empty()),
            ..response
        })
    }
}
