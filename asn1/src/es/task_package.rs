//! TaskPackage: a task as kept by the server, which is a record in the database IR-Extend-1 (Z39.50-2003 Appendix REC,
//! record syntax ESTaskPackage).

use super::TaskParameters;
use crate::apdu::{DiagRec, External, IntUnit, Permission};
use crate::describe::{Describe, Value, described};
use crate::oid::Oid;
use crate::production::productions;
use crate::types::{GeneralizedTime, InternationalString, OctetString};

productions! {
    /// TaskPackage: a task as kept by the server.
    pub struct TaskPackage {
        [1] package_type: Oid,
        [2] package_name: Option<InternationalString>,
        [3] user_id: Option<InternationalString>,
        [4] retention_time: Option<IntUnit>,
        [5] permissions: Option<Vec<Permission>>,
        [6] description: Option<InternationalString>,
        /// The name that the server gives to the task.
        [7] target_reference: Option<OctetString>,
        [8] creation_date_time: Option<GeneralizedTime>,
        [9] task_status: TaskStatus,
        [10] package_diagnostics: Option<Vec<DiagRec>>,
        /// The parameters of the service: the alternative `taskPackage` of [`TaskParameters`].
        [11] task_specific_parameters: External,
    }
}

described! {
    /// The progress of a task.
    pub integer TaskStatus { PENDING = 0 "pending", ACTIVE = 1 "active", COMPLETE = 2 "complete", ABORTED = 3 "aborted" }
}

impl Describe for TaskPackage {
    /// Describes the package; its parameters are decoded if the service is known.
    fn describe(&self) -> Value {
        let parameters = &self.task_specific_parameters;
        let parameters = match TaskParameters::from_external(parameters) {
            Ok(known) => known.describe(),
            Err(_) => parameters.describe(),
        };
        Value::group(vec![
            ("package_type", self.package_type.describe()),
            ("package_name", self.package_name.describe()),
            ("user_id", self.user_id.describe()),
            ("retention_time", self.retention_time.describe()),
            ("permissions", self.permissions.describe()),
            ("description", self.description.describe()),
            ("target_reference", self.target_reference.describe()),
            ("creation_date_time", self.creation_date_time.describe()),
            ("task_status", self.task_status.describe()),
            ("package_diagnostics", self.package_diagnostics.describe()),
            ("task_specific_parameters", parameters),
        ])
    }
}
