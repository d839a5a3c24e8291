//! The query of a search: `Query`, `RPNQuery`, attributes, terms and operators (Z39.50-2003 §3.7, §4.1).

use super::{External, ResultSetId};
use crate::describe::{Describe, Value, bare_choices, described};
use crate::oid::{BIB_1, Oid};
use crate::production::productions;
use crate::types::{Any, GeneralizedTime, InternationalString, OctetString};

pub use super::rpn::{MAX_RPN_DEPTH, RpnRpnOp, RpnStructure};

productions! {
    /// A query of any type.
    pub enum Query {
        /// A type-0 query, whose meaning the peers have agreed on.
        [0] Type0(Any),
        /// A type-1 query, in reverse Polish notation.
        [1] Type1(RpnQuery),
        /// A type-2 query, in CCL (ISO 8777).
        [explicit 2] Type2(OctetString),
        /// A type-100 query, in the language of ANSI Z39.58.
        [explicit 100] Type100(OctetString),
        /// A type-101 query: reverse Polish notation with proximity, for protocol version 2.
        [101] Type101(RpnQuery),
        /// A type-102 query, for a ranked list.
        [explicit 102] Type102(OctetString),
        /// A type-104 query, whose type is defined elsewhere, such as CQL.
        [104] Type104(External),
    }

    /// A query in reverse Polish notation, with its default attribute set.
    pub struct RpnQuery {
        attribute_set: Oid,
        rpn: RpnStructure,
    }

    /// A leaf of the query tree.
    pub enum Operand {
        [102] AttributesPlusTerm(AttributesPlusTerm),
        ResultSet(ResultSetId),
        [214] ResultAttr(Box<ResultSetPlusAttributes>),
    }

    /// A term and the attributes that qualify it.
    [102]
    pub struct AttributesPlusTerm {
        [44] attributes: Vec<AttributeElement>,
        term: Term,
    }

    /// A result set that is restricted by attributes.
    [214]
    pub struct ResultSetPlusAttributes {
        result_set: ResultSetId,
        [44] attributes: Vec<AttributeElement>,
    }

    /// The value to search for.
    pub enum Term {
        [45] General(OctetString),
        [215] Numeric(i64),
        [216] CharacterString(InternationalString),
        [217] Oid(Oid),
        [218] DateTime(GeneralizedTime),
        [219] External(Box<External>),
        [220] IntegerAndUnit(Box<IntUnit>),
        [221] Null,
    }

    /// An operator that combines two operands of a query.
    pub enum Operator {
        [0] And,
        [1] Or,
        [2] AndNot,
        [3] Prox(Box<ProximityOperator>),
    }

    /// Proximity: the distance and order of two operands (Z39.50-2003 §3.7.2).
    pub struct ProximityOperator {
        [1] exclusion: Option<bool>,
        [2] distance: i64,
        [3] ordered: bool,
        [4] relation_type: RelationType,
        [5] proximity_unit_code: ProximityUnitCode,
    }

    /// The unit of a proximity distance.
    pub enum ProximityUnitCode {
        [1] Known(KnownProximityUnit),
        [2] Private(i64),
    }

    /// The relation between the actual distance and the requested distance.
    pub integer RelationType {
        LESS_THAN = 1 "lessThan", LESS_THAN_OR_EQUAL = 2 "lessThanOrEqual", EQUAL = 3 "equal",
        GREATER_THAN_OR_EQUAL = 4 "greaterThanOrEqual", GREATER_THAN = 5 "greaterThan", NOT_EQUAL = 6 "notEqual",
    }

    /// The units of distance defined in the standard.
    pub integer KnownProximityUnit {
        CHARACTER = 1 "character", WORD = 2 "word", SENTENCE = 3 "sentence", PARAGRAPH = 4 "paragraph",
        SECTION = 5 "section", CHAPTER = 6 "chapter", DOCUMENT = 7 "document", ELEMENT = 8 "element",
        SUBELEMENT = 9 "subelement", ELEMENT_TYPE = 10 "elementType", BYTE = 11 "byte",
    }
}

described! {
    /// AttributeList `[44]` as a separate type.
    [44] pub struct AttributeList(pub Vec<AttributeElement>)

    /// One attribute: its type and value, in the query's attribute set unless the attribute names another set.
    pub struct AttributeElement {
        [1] attribute_set: Option<Oid>,
        [120] attribute_type: i64,
        attribute_value: AttributeValue,
    }

    /// A list of alternatives as the value of an attribute.
    pub struct ComplexAttribute {
        [1] list: Vec<StringOrNumeric>,
        [2] semantic_action: Option<Vec<i64>>,
    }

    /// A number with its unit.
    pub struct IntUnit {
        [1] value: i64,
        [2] unit_used: Unit,
    }

    /// A unit of measure.
    #[derive(Default)]
    pub struct Unit {
        [explicit 1] unit_system: Option<InternationalString>,
        [2] unit_type: Option<StringOrNumeric>,
        [3] unit: Option<StringOrNumeric>,
        [4] scale_factor: Option<i64>,
    }
}

bare_choices! {
    /// The value of an attribute.
    pub enum AttributeValue {
        [121] Numeric(i64),
        [224] Complex(Box<ComplexAttribute>),
    }

    /// A name or a number.
    pub enum StringOrNumeric {
        [1] String(InternationalString),
        [2] Numeric(i64),
    }
}

impl Query {
    /// Returns the number of the query type in the standard.
    pub fn type_number(&self) -> u32 {
        match self {
            Self::Type0(_) => 0,
            Self::Type1(_) => 1,
            Self::Type2(_) => 2,
            Self::Type100(_) => 100,
            Self::Type101(_) => 101,
            Self::Type102(_) => 102,
            Self::Type104(_) => 104,
        }
    }
}

impl Describe for Query {
    /// Describes the query by the name of its type; a query in reverse Polish notation is shown as PQF.
    fn describe(&self) -> Value {
        let value = match self {
            Self::Type1(rpn) | Self::Type101(rpn) => Value::Text(rpn.to_string()),
            Self::Type0(value) => Value::Octets(value.to_bytes()),
            Self::Type2(octets) | Self::Type100(octets) | Self::Type102(octets) => {
                octets.describe()
            }
            Self::Type104(external) => external.describe(),
        };
        let name = format!("type-{}", self.type_number());
        Value::Group(vec![(name.into(), value)])
    }
}

impl RpnQuery {
    /// Creates a query with Bib-1 as the attribute set for all attributes that do not name another set.
    pub fn bib1(rpn: RpnStructure) -> Self {
        Self {
            attribute_set: BIB_1,
            rpn,
        }
    }
}

impl Describe for Term {
    /// Describes only the value of the term; octets are shown as text.
    fn describe(&self) -> Value {
        match self {
            Self::General(octets) => Value::text(octets),
            Self::Numeric(number) => number.describe(),
            Self::CharacterString(string) => string.describe(),
            Self::Oid(oid) => oid.describe(),
            Self::DateTime(time) => time.describe(),
            Self::External(external) => external.describe(),
            Self::IntegerAndUnit(one) => one.describe(),
            Self::Null => Value::Flag(true),
        }
    }
}

impl AttributeElement {
    /// Creates a numeric attribute in the query's attribute set.
    pub fn numeric(attribute_type: i64, value: i64) -> Self {
        Self {
            attribute_set: None,
            attribute_type,
            attribute_value: AttributeValue::Numeric(value),
        }
    }
}

impl AttributeValue {
    /// Creates an attribute value from a name.
    pub fn named(name: impl Into<InternationalString>) -> Self {
        Self::Complex(Box::new(ComplexAttribute {
            list: vec![StringOrNumeric::String(name.into())],
            semantic_action: None,
        }))
    }
}
