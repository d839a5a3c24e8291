//! AccessInfo: the information that a client needs to use a server or a database (Z39.50-2003 Appendix REC.1).

use super::HumanString;
use crate::apdu::{ElementSetName, IntUnit, Unit};
use crate::describe::described;
use crate::oid::Oid;
use crate::types::InternationalString;

described! {
    /// AccessInfo: the supported query types, sets and syntaxes, and the restrictions and costs.
    #[derive(Default)]
    pub struct AccessInfo {
        [0] query_types_supported: Option<Vec<QueryTypeDetails>>,
        [1] diagnostics_sets: Option<Vec<Oid>>,
        [2] attribute_set_ids: Option<Vec<Oid>>,
        [3] schemas: Option<Vec<Oid>>,
        [4] record_syntaxes: Option<Vec<Oid>>,
        [5] resource_challenges: Option<Vec<Oid>>,
        [6] restricted_access: Option<AccessRestrictions>,
        [8] cost_info: Option<Costs>,
        [9] variant_sets: Option<Vec<Oid>>,
        [10] element_set_names: Option<Vec<ElementSetName>>,
        /// The supported systems of units. The ASN.1 module requires this element, but records without it are accepted.
        [11] unit_systems: Option<Vec<InternationalString>>,
    }

    /// QueryTypeDetails: a query type, and its supported features.
    pub enum QueryTypeDetails {
        [0] Private(PrivateCapabilities),
        [1] Rpn(RpnCapabilities),
        [2] Iso8777(Iso8777Capabilities),
        [100] Z3958(HumanString),
        [101] Erpn(RpnCapabilities),
        [102] RankedList(HumanString),
    }

    /// PrivateCapabilities: the supported features of type-0 queries.
    pub struct PrivateCapabilities {
        [0] operators: Option<Vec<PrivateOperator>>,
        [1] search_keys: Option<Vec<SearchKey>>,
        [2] description: Option<Vec<HumanString>>,
    }

    /// An operator in type-0 queries.
    pub struct PrivateOperator {
        [0] operator: InternationalString,
        [1] description: Option<HumanString>,
    }

    /// RpnCapabilities: the supported features of type-1 and type-101 queries. If `operators` is absent, all operators
    /// are supported.
    pub struct RpnCapabilities {
        [0] operators: Option<Vec<i64>>,
        [1] result_set_as_operand_supported: bool,
        [2] restriction_operand_supported: bool,
        [3] proximity: Option<ProximitySupport>,
    }

    /// Iso8777Capabilities: the supported features of type-2 queries.
    pub struct Iso8777Capabilities {
        [0] search_keys: Vec<SearchKey>,
        [1] restrictions: Option<HumanString>,
    }

    /// ProximitySupport: the units in which distances can be stated.
    pub struct ProximitySupport {
        [0] any_support: bool,
        [1] units_supported: Option<Vec<ProximityUnit>>,
    }

    /// A unit of proximity: a KnownProximityUnit, or a private unit.
    pub enum ProximityUnit {
        [1] Known(i64),
        [2] Private(PrivateProximityUnit),
    }

    /// A private unit of proximity.
    pub struct PrivateProximityUnit {
        [0] unit: i64,
        [explicit 1] description: Option<HumanString>,
    }

    /// SearchKey: the name of a field that can be searched.
    pub struct SearchKey {
        [0] search_key: InternationalString,
        [1] description: Option<HumanString>,
    }

    /// A restriction on one kind of access.
    pub struct AccessRestriction {
        [explicit 0] access_type: AccessType,
        [1] access_text: Option<HumanString>,
        [2] access_challenges: Option<Vec<Oid>>,
    }

    /// The kind of access that is restricted.
    pub integer AccessType {
        ANY = 0 "any", SEARCH = 1 "search", PRESENT = 2 "present", SPECIFIC_ELEMENTS = 3 "specific-elements",
        EXTENDED_SERVICES = 4 "extended-services", BY_DATABASE = 5 "by-database",
    }

    /// Costs: the charges for access.
    pub struct Costs {
        [0] connect_charge: Option<Charge>,
        [1] connect_time: Option<Charge>,
        [2] display_charge: Option<Charge>,
        [3] search_charge: Option<Charge>,
        [4] subscript_charge: Option<Charge>,
        [5] other_charges: Option<Vec<OtherCharge>>,
    }

    /// A charge for another service.
    pub struct OtherCharge {
        [1] for_what: HumanString,
        [2] charge: Charge,
    }

    /// Charge: an amount and its unit.
    pub struct Charge {
        [1] cost: IntUnit,
        [2] per_what: Option<Unit>,
        [3] text: Option<HumanString>,
    }
}

/// AccessRestrictions: the restricted kinds of access, with the challenges for each kind.
pub type AccessRestrictions = Vec<AccessRestriction>;
