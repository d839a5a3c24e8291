//! Periodic Query Schedule: a query that is run periodically, and whose records are kept or delivered (Z39.50-2003 Appendix
//! EXT.3).

use super::export_specification::{Destination, ExportSpecification};
use crate::apdu::{IntUnit, Query};
use crate::describe::described;
use crate::types::{GeneralizedTime, InternationalString};

described! {
    /// PeriodicQuerySchedule: the client's request, or the task package at the server.
    pub enum PeriodicQuerySchedule {
        [1] EsRequest(Box<EsRequest>),
        [2] TaskPackage(Box<TaskPackage>),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: OriginPartToKeep,
        [explicit 2] not_to_keep: OriginPartNotToKeep,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: OriginPartToKeep,
        [explicit 2] target_part: TargetPart,
    }

    /// The part of the request that the package keeps.
    pub struct OriginPartToKeep {
        [1] active_flag: bool,
        [2] database_names: Option<Vec<InternationalString>>,
        /// Whether the records of each run replace or extend the result set, if the task is created with a result set.
        [3] result_set_disposition: Option<ResultSetDisposition>,
        [4] alert_destination: Option<Destination>,
        [5] export_parameters: Option<ExportParameters>,
    }

    /// The treatment of records that were found in earlier runs.
    pub integer ResultSetDisposition { REPLACE = 1 "replace", APPEND = 2 "append", CREATE_NEW = 3 "createNew" }

    /// The specification of the delivery: the name of another package that contains it, or the specification itself.
    pub enum ExportParameters {
        [1] PackageName(InternationalString),
        [explicit 2] ExportPackage(Box<ExportSpecification>),
    }

    /// The part of the request that the package does not keep.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        /// The query; present when the task is created.
        [1] query_spec: Option<QuerySpec>,
        /// The interval between runs that the client suggests; present when the task is created.
        [2] origin_suggested_period: Option<Period>,
        [3] expiration: Option<GeneralizedTime>,
        [4] result_set_package: Option<InternationalString>,
    }

    /// The query, or the name of the package that contains it.
    pub enum QuerySpec {
        [1] ActualQuery(Box<Query>),
        [2] PackageName(InternationalString),
    }

    /// The server's part of the task package.
    pub struct TargetPart {
        [1] actual_query: Query,
        [2] target_stated_period: Period,
        /// The end of the schedule. If it is absent, the schedule does not end.
        [3] expiration: Option<GeneralizedTime>,
        [4] result_set_package: Option<InternationalString>,
        [5] last_query_time: GeneralizedTime,
        [6] last_result_number: i64,
        [7] number_since_modify: Option<i64>,
    }

    /// Period: the interval between two runs of the query.
    pub enum Period {
        [1] Unit(IntUnit),
        [2] BusinessDaily,
        [3] Continuous,
        [4] Other(InternationalString),
    }
}
