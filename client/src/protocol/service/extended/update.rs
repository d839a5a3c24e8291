//! Database Update: inserts, replaces or deletes records (Z39.50-2003 Appendix EXT.5 and its revision 1).

use z3950_asn1::apdu::External;
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::update::{
    Action, CorrelationInfo, EsRequest, OriginPartToKeep, RecordId, SuppliedRecord, Update,
};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

use super::Task;

/// The version of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateVersion {
    /// The one of Z39.50-1995, without qualifiers and special updates.
    First,
    /// Revision 1, called version 3.
    #[default]
    Third,
}

impl UpdateVersion {
    /// The type of the task package.
    pub fn package_type(self) -> Oid {
        match self {
            Self::First => oid::DATABASE_UPDATE_1,
            Self::Third => oid::DATABASE_UPDATE,
        }
    }
}

/// An update of one database.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DatabaseUpdate {
    /// What to do with the records.
    pub action: Action,
    /// The database.
    pub database: InternationalString,
    /// The records, with their identifiers in the database if they have one.
    pub records: Vec<SuppliedRecord>,
    /// The schema of the records.
    pub schema: Option<Oid>,
    /// The element set in which the package returns the updated records; `None` for no records.
    pub element_set: Option<InternationalString>,
    /// Details of an element update or special update; not sent in the first version.
    pub action_qualifier: Option<External>,
    /// The version of the service.
    pub version: UpdateVersion,
}

impl DatabaseUpdate {
    /// An action on records of a database, in version 3.
    pub fn new(
        action: Action,
        database: impl Into<InternationalString>,
        records: Vec<SuppliedRecord>,
    ) -> Self {
        Self {
            action,
            database: database.into(),
            records,
            schema: None,
            element_set: None,
            action_qualifier: None,
            version: UpdateVersion::default(),
        }
    }

    /// The task for this update.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let qualifier = match self.version {
            UpdateVersion::First => None,
            UpdateVersion::Third => self.action_qualifier.clone(),
        };
        let update = Update::EsRequest(Box::new(EsRequest {
            to_keep: OriginPartToKeep {
                action: self.action,
                database_name: self.database.clone(),
                schema: self.schema,
                element_set_name: self.element_set.clone(),
                action_qualifier: qualifier,
            },
            not_to_keep: self.records.clone(),
        }));
        let package_type = self.version.package_type();
        Ok(Task {
            package_type,
            parameters: Some(update.to_external_as(package_type)?),
        })
    }

    /// A record for an update, with its identifier in the database if it has one, and the number by which the task package
    /// refers to it.
    pub fn record(
        record: External,
        id: Option<RecordId>,
        correlation: Option<i64>,
    ) -> SuppliedRecord {
        SuppliedRecord {
            record_id: id,
            supplemental_id: None,
            correlation_info: correlation.map(|id| CorrelationInfo {
                note: None,
                id: Some(id),
            }),
            record,
        }
    }
}
