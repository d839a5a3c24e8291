//! Scan: ScanRequest `[35]`, ScanResponse `[36]` (Z39.50-2003 §3.2.8).

use super::{
    AttributeList, AttributesPlusTerm, DatabaseName, DiagRec, OtherInformation, ReferenceId, Term,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A request for the terms around a given term.
    pub struct ScanRequest {
        reference_id: Option<ReferenceId>,
        [3] database_names: Vec<DatabaseName>,
        attribute_set: Option<Oid>,
        term_list_and_start_point: AttributesPlusTerm,
        [5] step_size: Option<i64>,
        [6] number_of_terms_requested: i64,
        /// The 1-based position at which the given term should be in the response.
        [7] preferred_position_in_response: Option<i64>,
        other_info: Option<OtherInformation>,
    }

    /// A section of the term list.
    #[derive(Default)]
    pub struct ScanResponse {
        reference_id: Option<ReferenceId>,
        [3] step_size: Option<i64>,
        [4] scan_status: ScanStatus,
        [5] number_of_entries_returned: i64,
        /// The 1-based position of the given term in the response.
        [6] position_of_term: Option<i64>,
        [7] entries: Option<ListEntries>,
        [8] attribute_set: Option<Oid>,
        other_info: Option<OtherInformation>,
    }

    /// Whether all requested terms were sent.
    pub integer ScanStatus {
        SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", PARTIAL_2 = 2 "partial-2", PARTIAL_3 = 3 "partial-3",
        PARTIAL_4 = 4 "partial-4", PARTIAL_5 = 5 "partial-5", FAILURE = 6 "failure",
    }

    /// The terms, or the reason why they are missing.
    #[derive(Default)]
    pub struct ListEntries {
        [1] entries: Option<Vec<Entry>>,
        [2] nonsurrogate_diagnostics: Option<Vec<DiagRec>>,
    }

    /// A term, or the diagnostic in its place.
    pub enum Entry {
        [1] TermInfo(Box<TermInfo>),
        [2] SurrogateDiagnostic(DiagRec),
    }

    /// A term and the number of its occurrences.
    pub struct TermInfo {
        term: Term,
        [0] display_term: Option<InternationalString>,
        suggested_attributes: Option<AttributeList>,
        [4] alternative_term: Option<Vec<AttributesPlusTerm>>,
        [2] global_occurrences: Option<i64>,
        [3] by_attributes: Option<Vec<OccurrenceByAttributes>>,
        other_term_info: Option<OtherInformation>,
    }

    /// The number of occurrences of a term with given attributes.
    pub struct OccurrenceByAttributes {
        [explicit 1] attributes: AttributeList,
        occurrences: OptionalChoice<Occurrences>,
        other_occur_info: Option<OtherInformation>,
    }

    /// The number of occurrences, in total or for each database.
    pub enum Occurrences {
        [explicit 2] Global(i64),
        [3] ByDatabase(Vec<DatabaseOccurrences>),
    }

    /// The number of occurrences in one database.
    pub struct DatabaseOccurrences {
        db: DatabaseName,
        [1] num: Option<i64>,
        other_db_info: Option<OtherInformation>,
    }
}
