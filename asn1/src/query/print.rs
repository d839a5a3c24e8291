//! An RPN query as PQF text. What PQF cannot say (a term of an external type, a result set with attributes)
//! prints in a form that the reader refuses.

use std::fmt::{self, Display, Formatter};

use crate::apdu::{
    AttributeElement, AttributeValue, Operand, Operator, ProximityOperator, ProximityUnitCode,
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
                    print_operator(f, &node.op)?;
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

fn print_operator(f: &mut Formatter<'_>, operator: &Operator) -> fmt::Result {
    match operator {
        Operator::And => f.write_str("@and "),
        Operator::Or => f.write_str("@or "),
        Operator::AndNot => f.write_str("@not "),
        Operator::Prox(proximity) => print_proximity(f, proximity),
    }
}

fn print_proximity(f: &mut Formatter<'_>, proximity: &ProximityOperator) -> fmt::Result {
    let exclusion = match proximity.exclusion {
        None => "void",
        Some(false) => "0",
        Some(true) => "1",
    };
    let (which, unit) = match proximity.proximity_unit_code {
        ProximityUnitCode::Known(unit) => ("known", unit.0),
        ProximityUnitCode::Private(unit) => ("private", unit),
    };
    let ordered = u8::from(proximity.ordered);
    let relation = proximity.relation_type.0;
    write!(
        f,
        "@prox {exclusion} {} {ordered} {relation} {which} {unit} ",
        proximity.distance
    )
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

/// In the order written, the reverse of the wire's.
fn print_attributes(
    f: &mut Formatter<'_>,
    attributes: &[AttributeElement],
    default_set: Oid,
) -> fmt::Result {
    let mut inherited = None;
    for attribute in attributes.iter().rev() {
        f.write_str("@attr ")?;
        // A set holds for the attributes behind it; one without a set then needs the default one by name.
        let set = attribute.attribute_set.or(inherited.map(|_| default_set));
        if let Some(set) = set {
            write!(f, "{} ", set_name(&set))?;
            inherited = Some(set);
        }
        let mut text = format!("{}=", attribute.attribute_type).into_bytes();
        match &attribute.attribute_value {
            AttributeValue::Numeric(value) => text.extend(value.to_string().into_bytes()),
            AttributeValue::Complex(complex) => {
                for (i, alternative) in complex.list.iter().enumerate() {
                    if i > 0 {
                        text.push(b'|');
                    }
                    match alternative {
                        StringOrNumeric::String(value) => text.extend(value.as_bytes()),
                        StringOrNumeric::Numeric(value) => {
                            text.extend(value.to_string().into_bytes())
                        }
                    }
                }
            }
        }
        write!(f, "{} ", Quoted(&text))?;
    }
    Ok(())
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

fn set_name(set: &Oid) -> String {
    // A name with a blank in it would be read as two words.
    set.name()
        .filter(|name| !name.contains(' '))
        .map_or_else(|| set.to_string(), str::to_owned)
}

/// A word that reads back as the same octets, quoted where it has to be.
struct Quoted<'a>(&'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quote = self.0.is_empty()
            || matches!(self.0.first(), Some(b'@' | b'{' | b'"'))
            || self.0.iter().any(|octet| octet.is_ascii_whitespace());
        if quote {
            f.write_str("\"")?;
        }
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    control if control.is_ascii_control() => {
                        write!(f, "\\x{:02X}", u32::from(control))?
                    }
                    other => write!(f, "{other}")?,
                }
            }
            for octet in chunk.invalid() {
                write!(f, "\\x{octet:02X}")?;
            }
        }
        if quote {
            f.write_str("\"")?;
        }
        Ok(())
    }
}
