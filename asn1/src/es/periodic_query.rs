//! Periodic Query Schedule: a query that is run periodically, its records kept or delivered (Z39.50-2003 Appendix EXT.3).

use rasn::prelude::*;

use super::export_specification::{Destination, ExportSpecification};
use crate::apdu::{ExternalValue, IntUnit, Query};
use crate::describe::{choice, described_by_name, sequence};
use crate::oid::{self, Oid};
use crate::types::{GeneralizedTime, InternationalString, named_integer};

choice! {
    /// PeriodicQuerySchedule.
    pub enum PeriodicQuerySchedule {
        #[rasn(tag(1))] EsRequest(Box<EsRequest>),
        #[rasn(tag(2))] TaskPackage(Box<TaskPackage>),
    }
}

impl ExternalValue for PeriodicQuerySchedule {
    const SYNTAX: Oid = oid::PERIODIC_QUERY_SCHEDULE;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        #[rasn(tag(explicit(1)))] to_keep: OriginPartToKeep,
        #[rasn(tag(explicit(2)))] not_to_keep: OriginPartNotToKeep,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        #[rasn(tag(explicit(1)))] origin_part: OriginPartToKeep,
        #[rasn(tag(explicit(2)))] target_part: TargetPart,
    }
}

sequence! {
    /// The part of the request that the package keeps.
    pub struct OriginPartToKeep {
        #[rasn(tag(1))] active_flag: bool,
        #[rasn(tag(2))] database_names: Option<Vec<InternationalString>>,
        /// On create with a result set: replace or append.
        #[rasn(tag(3))] result_set_disposition: Option<ResultSetDisposition>,
        #[rasn(tag(4))] alert_destination: Option<Destination>,
        #[rasn(tag(5))] export_parameters: Option<ExportParameters>,
    }
}

named_integer!(
    /// What happens to the records found before.
    ResultSetDisposition { REPLACE = 1 "replace", APPEND = 2 "append", CREATE_NEW = 3 "createNew" }
);
described_by_name!(ResultSetDisposition);

choice! {
    /// How records are delivered: as another package says, or as specified here.
    pub enum ExportParameters {
        #[rasn(tag(1))] PackageName(InternationalString),
        #[rasn(tag(explicit(2)))] ExportPackage(Box<ExportSpecification>),
    }
}

sequence! {
    /// The part of the request that the package does not keep.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        /// On create.
        #[rasn(tag(1))] query_spec: Option<QuerySpec>,
        /// On create.
        #[rasn(tag(2))] origin_suggested_period: Option<Period>,
        #[rasn(tag(3))] expiration: Option<GeneralizedTime>,
        #[rasn(tag(4))] result_set_package: Option<InternationalString>,
    }
}

choice! {
    /// The query, or the package that has it.
    pub enum QuerySpec {
        #[rasn(tag(1))] ActualQuery(Box<Query>),
        #[rasn(tag(2))] PackageName(InternationalString),
    }
}

sequence! {
    /// The server's part of the package.
    pub struct TargetPart {
        #[rasn(tag(1))] actual_query: Query,
        #[rasn(tag(2))] target_stated_period: Period,
        /// Without one the schedule does not end.
        #[rasn(tag(3))] expiration: Option<GeneralizedTime>,
        #[rasn(tag(4))] result_set_package: Option<InternationalString>,
        #[rasn(tag(5))] last_query_time: GeneralizedTime,
        #[rasn(tag(6))] last_result_number: i64,
        #[rasn(tag(7))] number_since_modify: Option<i64>,
    }
}

choice! {
    /// Period: how often the query runs.
    pub enum Period {
        #[rasn(tag(1))] Unit(IntUnit),
        #[rasn(tag(2))] BusinessDaily,
        #[rasn(tag(3))] Continuous,
        #[rasn(tag(4))] Other(InternationalString),
    }
}
