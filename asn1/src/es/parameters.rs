//! The parameters of a task of any service, chosen by the identifier of the EXTERNAL that contains them (Z39.50-2003
//! §3.2.9.1.2, Appendix EXT).

use super::export_invocation::ExportInvocation;
use super::export_specification::ExportSpecification;
use super::item_order::ItemOrder;
use super::periodic_query::PeriodicQuerySchedule;
use super::persistent_query::PersistentQuery;
use super::persistent_result_set::PersistentResultSet;
use super::update::Update;
use crate::apdu::{External, ExternalEncoding, ExternalError, ExternalValue};
use crate::describe::{Describe, Value};
use crate::error::EncodeError;
use crate::oid::{self, Oid};
use crate::types::OctetString;

macro_rules! services {
    ($($(#[$meta:meta])* $service:ident,)*) => {
        /// taskSpecificParameters, with an alternative for each service.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TaskParameters {
            $($(#[$meta])* $service(Box<$service>),)*
            /// XML ES: an XML document whose meaning the peers have agreed on.
            Xml(OctetString),
        }

        impl TaskParameters {
            /// Decodes the parameters in an EXTERNAL.
            ///
            /// # Errors
            /// Fails if the service is unknown, or the EXTERNAL does not contain the type of its service.
            pub fn from_external(external: &External) -> Result<Self, ExternalError> {
                let found = external.direct_reference;
                $(if found.as_ref().is_some_and($service::is_syntax) {
                    return $service::from_external(external).map(|value| Self::$service(Box::new(value)));
                })*
                match &external.encoding {
                    ExternalEncoding::OctetAligned(octets) if found == Some(oid::XML_ES) => Ok(Self::Xml(octets.clone())),
                    _ => Err(ExternalError::Syntax { expected: Oid::z3950(&[9]), found }),
                }
            }

            /// Returns the parameters in an EXTERNAL. The parameters for an update have the identifier of version 3.
            ///
            /// # Errors
            /// Fails if BER cannot encode the value.
            pub fn to_external(&self) -> Result<External, EncodeError> {
                match self {
                    $(Self::$service(value) => value.to_external(),)*
                    Self::Xml(octets) => Ok(External::octet_aligned(oid::XML_ES, octets.clone())),
                }
            }

            /// Returns the identifier of the service, which is also the type of the task package.
            pub fn package_type(&self) -> Oid {
                match self {
                    $(Self::$service(_) => $service::SYNTAX,)*
                    Self::Xml(_) => oid::XML_ES,
                }
            }
        }

        $(impl From<$service> for TaskParameters {
            fn from(value: $service) -> Self {
                Self::$service(Box::new(value))
            }
        })*

        impl Describe for TaskParameters {
            fn describe(&self) -> Value {
                match self {
                    $(Self::$service(value) => Value::group(vec![(stringify!($service), value.describe())]),)*
                    Self::Xml(octets) => Value::group(vec![("xml", octets.describe())]),
                }
            }
        }
    };
}

services! {
    /// A result set that is kept beyond the session.
    PersistentResultSet,
    /// A query that is kept beyond the session.
    PersistentQuery,
    /// A query that is run periodically.
    PeriodicQuerySchedule,
    /// An order for a document.
    ItemOrder,
    /// A change to a database.
    Update,
    /// A way to deliver records.
    ExportSpecification,
    /// A delivery of records.
    ExportInvocation,
}
