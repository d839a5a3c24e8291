//! The query of a search: `Query`, `RPNQuery`, attributes, terms and operators (Z39.50-2003 §3.7, §4.1).

use rasn::prelude::*;

use super::{External, ResultSetId};
use crate::oid::Oid;
use crate::types::{Any, GeneralizedTime, InternationalString, OctetString, named_integer};

pub use super::rpn::{MAX_RPN_DEPTH, RpnRpnOp, RpnStructure};

/// A query, by its type.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Query {
    /// By agreement between the two sides.
    #[rasn(tag(0))]
    Type0(Any),
    /// Reverse Polish notation.
    #[rasn(tag(1))]
    Type1(RpnQuery),
    /// CCL, ISO 8777.
    #[rasn(tag(explicit(2)))]
    Type2(OctetString),
    /// ANSI Z39.58.
    #[rasn(tag(explicit(100)))]
    Type100(OctetString),
    /// Reverse Polish notation with proximity, of version 2.
    #[rasn(tag(101))]
    Type101(RpnQuery),
    /// Ranked list.
    #[rasn(tag(explicit(102)))]
    Type102(OctetString),
    /// Externally defined, such as CQL.
    #[rasn(tag(104))]
    Type104(External),
}

impl Query {
    /// The number the standard gives the query type.
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

/// A query in reverse Polish notation with the attribute set its attributes come from by default.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct RpnQuery {
    pub attribute_set: Oid,
    pub rpn: RpnStructure,
}

/// A leaf of the query tree.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Operand {
    #[rasn(tag(102))]
    AttributesPlusTerm(AttributesPlusTerm),
    ResultSet(ResultSetId),
    #[rasn(tag(214))]
    ResultAttr(Box<ResultSetPlusAttributes>),
}

/// A term and the attributes that qualify it.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(tag(context, 102))]
pub struct AttributesPlusTerm {
    #[rasn(tag(44))]
    pub attributes: Vec<AttributeElement>,
    pub term: Term,
}

/// A result set restricted by attributes.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(tag(context, 214))]
pub struct ResultSetPlusAttributes {
    pub result_set: ResultSetId,
    #[rasn(tag(44))]
    pub attributes: Vec<AttributeElement>,
}

/// AttributeList `[44]`, where it stands by itself.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(delegate, tag(context, 44))]
pub struct AttributeList(pub Vec<AttributeElement>);

/// The value searched for.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Term {
    #[rasn(tag(45))]
    General(OctetString),
    #[rasn(tag(215))]
    Numeric(i64),
    #[rasn(tag(216))]
    CharacterString(InternationalString),
    #[rasn(tag(217))]
    Oid(Oid),
    #[rasn(tag(218))]
    DateTime(GeneralizedTime),
    #[rasn(tag(219))]
    External(Box<External>),
    #[rasn(tag(220))]
    IntegerAndUnit(Box<IntUnit>),
    #[rasn(tag(221))]
    Null,
}

/// How two operands are combined.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Operator {
    #[rasn(tag(0))]
    And,
    #[rasn(tag(1))]
    Or,
    #[rasn(tag(2))]
    AndNot,
    #[rasn(tag(3))]
    Prox(Box<ProximityOperator>),
}

/// One attribute: type and value, in the query's attribute set unless it names its own.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct AttributeElement {
    #[rasn(tag(1))]
    pub attribute_set: Option<Oid>,
    #[rasn(tag(120))]
    pub attribute_type: i64,
    pub attribute_value: AttributeValue,
}

impl AttributeElement {
    /// A numeric attribute of the query's attribute set.
    pub fn numeric(attribute_type: i64, value: i64) -> Self {
        Self {
            attribute_set: None,
            attribute_type,
            attribute_value: AttributeValue::Numeric(value),
        }
    }
}

/// The value of an attribute.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum AttributeValue {
    #[rasn(tag(121))]
    Numeric(i64),
    #[rasn(tag(224))]
    Complex(Box<ComplexAttribute>),
}

/// A list of alternatives, as an attribute's value.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ComplexAttribute {
    #[rasn(tag(1))]
    pub list: Vec<StringOrNumeric>,
    #[rasn(tag(2))]
    pub semantic_action: Option<Vec<i64>>,
}

/// A name or a number.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum StringOrNumeric {
    #[rasn(tag(1))]
    String(InternationalString),
    #[rasn(tag(2))]
    Numeric(i64),
}

/// Proximity: how near and in which order the operands stand (Z39.50-2003 §3.7.2).
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ProximityOperator {
    #[rasn(tag(1))]
    pub exclusion: Option<bool>,
    #[rasn(tag(2))]
    pub distance: i64,
    #[rasn(tag(3))]
    pub ordered: bool,
    #[rasn(tag(4))]
    pub relation_type: RelationType,
    #[rasn(tag(5))]
    pub proximity_unit_code: ProximityUnitCode,
}

/// What a proximity distance counts.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum ProximityUnitCode {
    #[rasn(tag(1))]
    Known(KnownProximityUnit),
    #[rasn(tag(2))]
    Private(i64),
}

named_integer!(
    /// How the distance found compares with the one asked for.
    RelationType {
        LESS_THAN = 1 "lessThan", LESS_THAN_OR_EQUAL = 2 "lessThanOrEqual", EQUAL = 3 "equal",
        GREATER_THAN_OR_EQUAL = 4 "greaterThanOrEqual", GREATER_THAN = 5 "greaterThan", NOT_EQUAL = 6 "notEqual",
    }
);

named_integer!(
    /// The units of distance the standard names.
    KnownProximityUnit {
        CHARACTER = 1 "character", WORD = 2 "word", SENTENCE = 3 "sentence", PARAGRAPH = 4 "paragraph",
        SECTION = 5 "section", CHAPTER = 6 "chapter", DOCUMENT = 7 "document", ELEMENT = 8 "element",
        SUBELEMENT = 9 "subelement", ELEMENT_TYPE = 10 "elementType", BYTE = 11 "byte",
    }
);

/// A number with its unit.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct IntUnit {
    #[rasn(tag(1))]
    pub value: i64,
    #[rasn(tag(2))]
    pub unit_used: Unit,
}

/// A unit of measure.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
pub struct Unit {
    #[rasn(tag(explicit(1)))]
    pub unit_system: Option<InternationalString>,
    #[rasn(tag(2))]
    pub unit_type: Option<StringOrNumeric>,
    #[rasn(tag(3))]
    pub unit: Option<StringOrNumeric>,
    #[rasn(tag(4))]
    pub scale_factor: Option<i64>,
}
