//! OtherInformation: values in any syntax that an APDU contains in addition to its own elements (Z39.50-2003 §4.1).

use super::{External, ExternalValue};
use crate::describe::{bare_choices, described};
use crate::error::EncodeError;
use crate::oid::Oid;
use crate::types::{InternationalString, OctetString};

described! {
    /// OtherInformation `[201]`: values that an APDU contains in addition to its own elements.
    #[derive(Default)]
    [201] pub struct OtherInformation(pub Vec<OtherInformationUnit>)

    /// One unit of OtherInformation.
    pub struct OtherInformationUnit {
        [1] category: Option<InfoCategory>,
        information: Information,
    }

    /// The category of a unit of OtherInformation.
    pub struct InfoCategory {
        [1] category_type_id: Option<Oid>,
        [2] category_value: i64,
    }
}

bare_choices! {
    /// The value of a unit of OtherInformation.
    pub enum Information {
        [2] CharacterInfo(InternationalString),
        [3] BinaryInfo(OctetString),
        [4] ExternallyDefinedInfo(External),
        [5] Oid(Oid),
    }
}

impl OtherInformation {
    /// Returns the first value of the type `T`; `None` if there is no such value or it is malformed.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        self.0.iter().find_map(|unit| match &unit.information {
            Information::ExternallyDefinedInfo(external) => T::from_external(external).ok(),
            _ => None,
        })
    }

    /// Adds a value with its own identifier, without a category.
    ///
    /// # Errors
    /// Fails if BER cannot encode the value.
    pub fn put_value(&mut self, value: &impl ExternalValue) -> Result<(), EncodeError> {
        let information = Information::ExternallyDefinedInfo(value.to_external()?);
        self.0.push(OtherInformationUnit {
            category: None,
            information,
        });
        Ok(())
    }
}
