//! Resource report format resource-1: estimates of the cost of an operation, so far and in total, for a fixed set of
//! quantities (Z39.50-2003 Appendix RSC.1).

use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// ResourceReport: estimates, and a message for people.
    pub struct ResourceReport {
        [1] estimates: Vec<Estimate>,
        [2] message: InternationalString,
    }

    /// Estimate: one estimated number.
    pub struct Estimate {
        [1] r#type: EstimateType,
        /// The estimated number: records, thousandths of a second, per cent, or units of a currency, depending on
        /// `type`.
        [2] value: i64,
        /// The currency of a cost, by its ISO 4217 number.
        [3] currency_code: Option<i64>,
    }

    /// EstimateType: the estimated quantity; times are in thousandths of a second.
    pub integer EstimateType {
        CURRENT_SEARCH_RECORDS = 1 "currentSearchRecords", FINAL_SEARCH_RECORDS = 2 "finalSearchRecords",
        CURRENT_PRESENT_RECORDS = 3 "currentPresentRecords", FINAL_PRESENT_RECORDS = 4 "finalPresentRecords",
        CURRENT_OP_TIME_PROCESSING = 5 "currentOpTimeProcessing", FINAL_OP_TIME_PROCESSING = 6 "finalOpTimeProcessing",
        CURRENT_ASSOC_TIME = 7 "currentAssocTime", CURRENT_OPERATION_COST = 8 "currentOperationCost",
        FINAL_OPERATION_COST = 9 "finalOperationCost", CURRENT_ASSOC_COST = 10 "currentAssocCost",
        FINAL_OP_TIME_ELAPSED = 11 "finalOpTimeElapsed", PERCENT_COMPLETE = 12 "percentComplete",
        CURRENT_SEARCH_ASSOC_COST = 13 "currentSearchAssocCost",
        CURRENT_PRESENT_ASSOC_COST = 14 "currentPresentAssocCost",
        CURRENT_CONNECT_ASSOC_COST = 15 "currentConnectAssocCost",
        CURRENT_OTHER_ASSOC_COST = 16 "currentOtherAssocCost",
    }
}
