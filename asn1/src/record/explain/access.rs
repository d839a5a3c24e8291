//! AccessInfo: what a client needs to use a server or a database (Z39.50-2003 Appendix REC.1).

use rasn::prelude::*;

use super::HumanString;
use crate::apdu::{ElementSetName, IntUnit, Unit};
use crate::describe::{choice, sequence};
use crate::oid::Oid;
use crate::types::InternationalString;

sequence! {
    /// AccessInfo: query types, sets and syntaxes supported, restrictions and costs.
    #[derive(Default)]
    pub struct AccessInfo {
        #[rasn(tag(0))] query_types_supported: Option<Vec<QueryTypeDetails>>,
        #[rasn(tag(1))] diagnostics_sets: Option<Vec<Oid>>,
        #[rasn(tag(2))] attribute_set_ids: Option<Vec<Oid>>,
        #[rasn(tag(3))] schemas: Option<Vec<Oid>>,
        #[rasn(tag(4))] record_syntaxes: Option<Vec<Oid>>,
        #[rasn(tag(5))] resource_challenges: Option<Vec<Oid>>,
        #[rasn(tag(6))] restricted_access: Option<AccessRestrictions>,
        #[rasn(tag(8))] cost_info: Option<Costs>,
        #[rasn(tag(9))] variant_sets: Option<Vec<Oid>>,
        #[rasn(tag(10))] element_set_names: Option<Vec<ElementSetName>>,
        /// Required by the module, but records without it are accepted.
        #[rasn(tag(11))] unit_systems: Option<Vec<InternationalString>>,
    }
}

choice! {
    /// QueryTypeDetails: a query type, and what is supported of it.
    pub enum QueryTypeDetails {
        #[rasn(tag(0))] Private(PrivateCapabilities),
        #[rasn(tag(1))] Rpn(RpnCapabilities),
        #[rasn(tag(2))] Iso8777(Iso8777Capabilities),
        #[rasn(tag(100))] Z3958(HumanString),
        #[rasn(tag(101))] Erpn(RpnCapabilities),
        #[rasn(tag(102))] RankedList(HumanString),
    }
}

sequence! {
    /// PrivateCapabilities: type-0 queries.
    pub struct PrivateCapabilities {
        #[rasn(tag(0))] operators: Option<Vec<PrivateOperator>>,
        #[rasn(tag(1))] search_keys: Option<Vec<SearchKey>>,
        #[rasn(tag(2))] description: Option<Vec<HumanString>>,
    }
}

sequence! {
    /// An operator of type-0 queries.
    pub struct PrivateOperator {
        #[rasn(tag(0))] operator: InternationalString,
        #[rasn(tag(1))] description: Option<HumanString>,
    }
}

sequence! {
    /// RpnCapabilities: type-1 and type-101 queries. Without `operators`, all are supported.
    pub struct RpnCapabilities {
        #[rasn(tag(0))] operators: Option<Vec<i64>>,
        #[rasn(tag(1))] result_set_as_operand_supported: bool,
        #[rasn(tag(2))] restriction_operand_supported: bool,
        #[rasn(tag(3))] proximity: Option<ProximitySupport>,
    }
}

sequence! {
    /// Iso8777Capabilities: type-2 queries.
    pub struct Iso8777Capabilities {
        #[rasn(tag(0))] search_keys: Vec<SearchKey>,
        #[rasn(tag(1))] restrictions: Option<HumanString>,
    }
}

sequence! {
    /// ProximitySupport: the units in which distance can be counted.
    pub struct ProximitySupport {
        #[rasn(tag(0))] any_support: bool,
        #[rasn(tag(1))] units_supported: Option<Vec<ProximityUnit>>,
    }
}

choice! {
    /// A unit of proximity: of KnownProximityUnit, or private.
    pub enum ProximityUnit {
        #[rasn(tag(1))] Known(i64),
        #[rasn(tag(2))] Private(PrivateProximityUnit),
    }
}

sequence! {
    /// A private unit of proximity.
    pub struct PrivateProximityUnit {
        #[rasn(tag(0))] unit: i64,
        #[rasn(tag(explicit(1)))] description: Option<HumanString>,
    }
}

sequence! {
    /// SearchKey: a field name that can be searched.
    pub struct SearchKey {
        #[rasn(tag(0))] search_key: InternationalString,
        #[rasn(tag(1))] description: Option<HumanString>,
    }
}

/// AccessRestrictions: what is restricted, and by which challenges.
pub type AccessRestrictions = Vec<AccessRestriction>;

sequence! {
    /// A restriction on one kind of access.
    pub struct AccessRestriction {
        #[rasn(tag(explicit(0)))] access_type: AccessType,
        #[rasn(tag(1))] access_text: Option<HumanString>,
        #[rasn(tag(2))] access_challenges: Option<Vec<Oid>>,
    }
}

crate::types::named_integer!(
    /// What a restriction is about.
    AccessType {
        ANY = 0 "any", SEARCH = 1 "search", PRESENT = 2 "present", SPECIFIC_ELEMENTS = 3 "specific-elements",
        EXTENDED_SERVICES = 4 "extended-services", BY_DATABASE = 5 "by-database",
    }
);
crate::describe::described_by_name!(AccessType);

sequence! {
    /// Costs: what is charged for.
    pub struct Costs {
        #[rasn(tag(0))] connect_charge: Option<Charge>,
        #[rasn(tag(1))] connect_time: Option<Charge>,
        #[rasn(tag(2))] display_charge: Option<Charge>,
        #[rasn(tag(3))] search_charge: Option<Charge>,
        #[rasn(tag(4))] subscript_charge: Option<Charge>,
        #[rasn(tag(5))] other_charges: Option<Vec<OtherCharge>>,
    }
}

sequence! {
    /// A charge for something else.
    pub struct OtherCharge {
        #[rasn(tag(1))] for_what: HumanString,
        #[rasn(tag(2))] charge: Charge,
    }
}

sequence! {
    /// Charge: an amount, and its unit.
    pub struct Charge {
        #[rasn(tag(1))] cost: IntUnit,
        #[rasn(tag(2))] per_what: Option<Unit>,
        #[rasn(tag(3))] text: Option<HumanString>,
    }
}
