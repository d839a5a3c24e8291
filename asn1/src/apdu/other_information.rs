//! OtherInformation: values of any syntax that an APDU carries beside its own elements (Z39.50-2003 §4.1).

use rasn::prelude::*;

use super::{External, ExternalValue};
use crate::describe::{bare_choice, describe, sequence};
use crate::error::EncodeError;
use crate::oid::Oid;
use crate::types::{InternationalString, OctetString};

/// OtherInformation `[201]`: what an APDU carries beside its own elements.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
#[rasn(delegate, tag(context, 201))]
pub struct OtherInformation(pub Vec<OtherInformationUnit>);

describe!(OtherInformation: units => units.0.describe());

impl OtherInformation {
    /// The first value of the type `T`; `None` if there is none, or it is malformed.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        self.0.iter().find_map(|unit| match &unit.information {
            Information::ExternallyDefinedInfo(external) => T::from_external(external).ok(),
            _ => None,
        })
    }

    /// Adds a value under its own identifier, without a category.
    ///
    /// # Errors
    /// Only for values that BER cannot encode.
    pub fn put_value(&mut self, value: &impl ExternalValue) -> Result<(), EncodeError> {
        let information = Information::ExternallyDefinedInfo(value.to_external()?);
        self.0.push(OtherInformationUnit {
            category: None,
            information,
        });
        Ok(())
    }
}

sequence! {
    /// One unit of OtherInformation.
    pub struct OtherInformationUnit {
        #[rasn(tag(1))] category: Option<InfoCategory>,
        information: Information,
    }
}

bare_choice! {
    /// The value of a unit of OtherInformation.
    pub enum Information {
        #[rasn(tag(2))] CharacterInfo(InternationalString),
        #[rasn(tag(3))] BinaryInfo(OctetString),
        #[rasn(tag(4))] ExternallyDefinedInfo(External),
        #[rasn(tag(5))] Oid(Oid),
    }
}

sequence! {
    /// What a unit of OtherInformation is about.
    pub struct InfoCategory {
        #[rasn(tag(1))] category_type_id: Option<Oid>,
        #[rasn(tag(2))] category_value: i64,
    }
}
