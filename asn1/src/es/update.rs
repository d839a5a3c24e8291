//! Database Update in all its versions: inserts, replaces or deletes records (Z39.50-2003 Appendix EXT.5 and its
//! revision 1, which is called version 3).
//!
//! On the wire, the first version is a subset of the third: it lacks `actionQualifier`, `specialUpdate` and
//! `supplementalDiagnostics`, and has one surrogate diagnostic where the third version has a list. One type therefore reads all
//! versions; [`Update::to_external_as`] writes it under any of the three identifiers.

use crate::apdu::{DiagRec, External};
use crate::describe::described;
use crate::error::EncodeError;
use crate::oid::Oid;
use crate::types::{GeneralizedTime, InternationalString, OctetString};

described! {
    /// Update: the client's request, or the task package at the server.
    pub enum Update {
        [1] EsRequest(Box<EsRequest>),
        [2] TaskPackage(Box<TaskPackage>),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: OriginPartToKeep,
        [explicit 2] not_to_keep: Vec<SuppliedRecord>,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: OriginPartToKeep,
        [explicit 2] target_part: TargetPart,
    }

    /// The part of the request that the package keeps.
    pub struct OriginPartToKeep {
        [1] action: Action,
        [2] database_name: InternationalString,
        [3] schema: Option<Oid>,
        /// The element set of the updated records in the package. If it is absent, the package does not contain them.
        [4] element_set_name: Option<InternationalString>,
        /// A qualifier for the action. Only version 3 has this element.
        [5] action_qualifier: Option<External>,
    }

    /// The action on the records.
    pub integer Action {
        RECORD_INSERT = 1 "recordInsert", RECORD_REPLACE = 2 "recordReplace", RECORD_DELETE = 3 "recordDelete",
        ELEMENT_UPDATE = 4 "elementUpdate", SPECIAL_UPDATE = 5 "specialUpdate",
    }

    /// SuppliedRecords: a record with its identifiers.
    pub struct SuppliedRecord {
        [1] record_id: Option<RecordId>,
        [2] supplemental_id: Option<SupplementalId>,
        [3] correlation_info: Option<CorrelationInfo>,
        [4] record: External,
    }

    /// The identifier of the record in the database.
    pub enum RecordId {
        [1] Number(i64),
        [2] String(InternationalString),
        [3] Opaque(OctetString),
    }

    /// The version of the record that the client has seen, by which the server detects that another client has changed
    /// the record since.
    pub enum SupplementalId {
        [1] TimeStamp(GeneralizedTime),
        [2] VersionNumber(InternationalString),
        [3] PreviousVersion(Box<External>),
    }

    /// CorrelationInfo: identifies the client's record within the package.
    #[derive(Default)]
    pub struct CorrelationInfo {
        [1] note: Option<InternationalString>,
        [2] id: Option<i64>,
    }

    /// The server's part of the task package.
    pub struct TargetPart {
        [1] update_status: UpdateStatus,
        /// Diagnostics that concern the task and not a single record.
        [2] global_diagnostics: Option<Vec<DiagRec>>,
        /// The result for each supplied record; required in version 3.
        [3] task_package_records: Option<Vec<TaskPackageRecordStructure>>,
    }

    /// The result of the complete update.
    pub integer UpdateStatus { SUCCESS = 1 "success", PARTIAL = 2 "partial", FAILURE = 3 "failure" }

    /// TaskPackageRecordStructure: the result for one record.
    pub struct TaskPackageRecordStructure {
        [1] record_or_sur_diag: Option<RecordOrSurDiag>,
        /// The client's identification of the record.
        [2] correlation_info: Option<CorrelationInfo>,
        [3] record_status: RecordStatus,
        /// Additional diagnostics. Only version 3 has this element.
        [4] supplemental_diagnostics: Option<Vec<DiagRec>>,
    }

    /// The record after the update, or the reason why the update failed.
    pub enum RecordOrSurDiag {
        [1] Record(Box<External>),
        /// Diagnostics for the record; the first version has exactly one.
        [2] SurrogateDiagnostics(Vec<DiagRec>),
    }

    /// The status of the update of one record.
    pub integer RecordStatus { SUCCESS = 1 "success", QUEUED = 2 "queued", IN_PROCESS = 3 "inProcess", FAILURE = 4 "failure" }
}

impl Update {
    /// Returns the parameters in an EXTERNAL with the identifier of a version, which is also the package type. The
    /// caller has to leave out elements that the first version does not have.
    ///
    /// # Errors
    /// Fails if BER cannot encode the value.
    pub fn to_external_as(&self, version: Oid) -> Result<External, EncodeError> {
        External::of_value(version, self)
    }
}

impl EsRequest {
    /// Creates a request for an action on records in a database.
    pub fn new(
        action: Action,
        database: impl Into<InternationalString>,
        records: Vec<SuppliedRecord>,
    ) -> Self {
        Self {
            to_keep: OriginPartToKeep {
                action,
                database_name: database.into(),
                schema: None,
                element_set_name: None,
                action_qualifier: None,
            },
            not_to_keep: records,
        }
    }
}

impl SuppliedRecord {
    /// Creates a supplied record with its identifier in the database, if it has one, and the number that identifies it
    /// in the task package.
    pub fn new(record: External, id: Option<RecordId>, number: Option<i64>) -> Self {
        Self {
            record_id: id,
            supplemental_id: None,
            correlation_info: number.map(|id| CorrelationInfo {
                note: None,
                id: Some(id),
            }),
            record,
        }
    }
}
