//! Prints an RPN query as PQF (Z39.50-2003 §3.7). Parsing the text gives the same query or an error, but never a
//! different query.
//!
//! PQF cannot express some parts of a query, which are printed in a form that the parser refuses. These are terms of an
//! external type or with a unit, a result set restricted by attributes, negative numbers in attributes and proximity
//! operators, attribute values that are empty or have alternatives or a semantic action, and two attributes of one type
//! on a term. An attribute of the default set before an attribute that names another set is printed with the name of
//! the default set, which means the same.

use std::fmt::{self, Display, Formatter};

use super::sets::attribute_set_name;
use crate::apdu::{
    AttributeElement, AttributeValue, ComplexAttribute, Operand, Operator, ProximityUnitCode,
    RpnQuery, RpnStructure, StringOrNumeric, Term,
};
use crate::oid::{BIB_1, Oid};

impl Display for RpnQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.attribute_set != BIB_1 {
            write!(f, "@attrset {} ", set_name(&self.attribute_set))?;
        }
        let mut term_type = "general";
        let mut rest = vec![&self.rpn];
        while let Some(tree) = rest.pop() {
            match tree {
                RpnStructure::RpnRpnOp(node) => {
                    write!(f, "{} ", node.op)?;
                    rest.extend([&node.rpn2, &node.rpn1]);
                }
                RpnStructure::Op(operand) => {
                    print_operand(f, operand, self.attribute_set, &mut term_type)?;
                    if !rest.is_empty() {
                        f.write_str(" ")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Prints the operator in PQF.
impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let proximity = match self {
            Self::And => return f.write_str("@and"),
            Self::Or => return f.write_str("@or"),
            Self::AndNot => return f.write_str("@not"),
            Self::Prox(proximity) => proximity,
        };
        let exclusion = match proximity.exclusion {
            None => "void",
            Some(false) => "0",
            Some(true) => "1",
        };
        let (which, unit) = match proximity.proximity_unit_code {
            ProximityUnitCode::Known(unit) => ("known", unit.0),
            ProximityUnitCode::Private(unit) => ("private", unit),
        };
        let (distance, relation) = (proximity.distance, proximity.relation_type.0);
        let ordered = u8::from(proximity.ordered);
        write!(
            f,
            "@prox {exclusion} {distance} {ordered} {relation} {which} {unit}"
        )
    }
}

fn print_operand(
    f: &mut Formatter<'_>,
    operand: &Operand,
    default_set: Oid,
    term_type: &mut &'static str,
) -> fmt::Result {
    match operand {
        Operand::AttributesPlusTerm(operand) => {
            print_attributes(f, &operand.attributes, default_set)?;
            print_term(f, &operand.term, term_type)
        }
        Operand::ResultSet(name) => write!(f, "@set {}", Quoted(name.0.as_bytes())),
        Operand::ResultAttr(operand) => {
            print_attributes(f, &operand.attributes, default_set)?;
            write!(f, "@restrict {}", Quoted(operand.result_set.0.as_bytes()))
        }
    }
}

/// Prints attributes in PQF's order, which is the reverse of the order in which they are sent.
fn print_attributes(
    f: &mut Formatter<'_>,
    attributes: &[AttributeElement],
    default_set: Oid,
) -> fmt::Result {
    let mut inherited = None;
    let mut nearer = attributes;
    while let Some((attribute, rest)) = nearer.split_last() {
        nearer = rest;
        f.write_str("@attr ")?;
        // In PQF, an attribute set also applies to the following attributes, so the default set may have to be named.
        let set = attribute.attribute_set.or(inherited.map(|_| default_set));
        if let Some(set) = set.filter(|set| inherited != Some(*set)) {
            write!(f, "{} ", set_name(&set))?;
            inherited = Some(set);
        }
        let hidden = nearer
            .iter()
            .any(|nearer| nearer.attribute_type == attribute.attribute_type);
        let attribute_type = attribute.attribute_type;
        match &attribute.attribute_value {
            AttributeValue::Numeric(value) if !hidden && *value >= 0 => {
                write!(f, "{attribute_type}={value} ")?;
            }
            AttributeValue::Complex(complex) if !hidden && let Some(name) = only_name(complex) => {
                print_named(f, attribute_type, name)?;
            }
            // The parser refuses a space after the equals sign, so this text cannot be mistaken for a different query.
            value => write!(f, "{attribute_type}= {} ", Quoted(&for_people(value)))?,
        }
    }
    Ok(())
}

/// Prints `TYPE=VALUE` as one word. A name that consists of digits only is escaped, so that it is not taken for a
/// number.
fn print_named(f: &mut Formatter<'_>, attribute_type: i64, name: &[u8]) -> fmt::Result {
    let quotation_mark = if name.contains(&b' ') { "\"" } else { "" };
    write!(f, "{quotation_mark}{attribute_type}=")?;
    let rest = match name.split_first() {
        Some((first, rest)) if name.iter().all(u8::is_ascii_digit) => {
            write!(f, "\\x{first:02X}")?;
            rest
        }
        _ => name,
    };
    write!(f, "{}{quotation_mark} ", Escaped(rest))
}

/// Returns the name in a value with only one alternative, if PQF can express it.
fn only_name(complex: &ComplexAttribute) -> Option<&[u8]> {
    match (complex.list.as_slice(), &complex.semantic_action) {
        ([StringOrNumeric::String(name)], None) => Some(name.as_bytes()),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

/// Returns a value in human-readable form: a number, or the alternatives separated by `|`.
fn for_people(value: &AttributeValue) -> Vec<u8> {
    let complex = match value {
        AttributeValue::Numeric(value) => return value.to_string().into_bytes(),
        AttributeValue::Complex(complex) => complex,
    };
    let alternatives: Vec<Vec<u8>> = complex
        .list
        .iter()
        .map(|alternative| match alternative {
            StringOrNumeric::String(value) => value.as_bytes().to_vec(),
            StringOrNumeric::Numeric(value) => value.to_string().into_bytes(),
        })
        .collect();
    alternatives.join(&b'|')
}

fn print_term(f: &mut Formatter<'_>, term: &Term, current: &mut &'static str) -> fmt::Result {
    let (term_type, octets) = match term {
        Term::General(octets) => ("general", octets.to_vec()),
        Term::Numeric(number) => ("numeric", number.to_string().into_bytes()),
        Term::CharacterString(text) => ("string", text.as_bytes().to_vec()),
        Term::Oid(oid) => ("oid", oid.to_string().into_bytes()),
        Term::DateTime(time) => ("datetime", time.as_bytes().to_vec()),
        Term::External(_) => ("external", Vec::new()),
        Term::IntegerAndUnit(number) => ("integer-and-unit", number.value.to_string().into_bytes()),
        Term::Null => ("null", Vec::new()),
    };
    if *current != term_type {
        write!(f, "@term {term_type} ")?;
        *current = term_type;
    }
    write!(f, "{}", Quoted(&octets))
}

/// Returns the name of an attribute set, or its object identifier.
pub(super) fn set_name(set: &Oid) -> String {
    attribute_set_name(set).map_or_else(|| set.to_string(), str::to_owned)
}

/// Displays octets as a word that is parsed to the same octets, quoted if necessary.
struct Quoted<'a>(&'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quote = self.0.is_empty()
            || matches!(self.0.first(), Some(b'@' | b'{' | b'"'))
            || self.0.contains(&b' ');
        let quotation_mark = if quote { "\"" } else { "" };
        f.write_str(quotation_mark)?;
        let mut rest = self.0;
        if let [at @ b'@', digit, ..] = rest
            && digit.is_ascii_digit()
        {
            // YAZ reads an `@` before a digit as the start of an attribute even within quotation marks, so the `@` is escaped.
            write!(f, "\\x{at:02X}")?;
            rest = rest.get(1..).unwrap_or_default();
        }
        write!(f, "{}{quotation_mark}", Escaped(rest))
    }
}

/// Displays octets as a part of a word. UTF-8 is unchanged; quotes, backslashes, control characters and octets that are
/// not UTF-8 are escaped.
pub(super) struct Escaped<'a>(pub(super) &'a [u8]);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    control if control.is_control() => {
                        let mut buffer = [0; 4];
                        for octet in control.encode_utf8(&mut buffer).bytes() {
                            write!(f, "\\x{octet:02X}")?;
                        }
                    }
                    other => write!(f, "{other}")?,
                }
            }
            for octet in chunk.invalid() {
                write!(f, "\\x{octet:02X}")?;
            }
        }
        Ok(())
    }
}
