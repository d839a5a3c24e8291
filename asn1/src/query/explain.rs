//! Explains a query in English (Z39.50-2003 §3.7, §ATR.1): as a tree with named attributes, or as a sentence. Neither
//! form can be parsed.

use std::convert::Infallible;
use std::fmt::Write;

use super::print::{Escaped, set_name};
use crate::apdu::{
    AttributeElement, AttributeValue, Operand, Operator, ProximityOperator, ProximityUnitCode,
    RelationType, ResultSetId, RpnQuery, RpnStructure, StringOrNumeric, Term,
};
use crate::bib1::attributes::{self, RELATION, RELATION_EQUAL, USE};
use crate::oid::{BIB_1, Oid};

/// The deepest level that is indented. Lines at deeper levels begin with the number of the level instead.
const MAX_INDENTED: usize = 32;

/// Returns the query as a tree: an operator or operand on each line, with operands indented below their operator. A
/// term is followed by its attributes in the order in which they are sent, as in `"war" Use=4 title`.
///
/// Lines are separated by newlines; there is none after the last line.
pub fn tree(query: &RpnQuery) -> String {
    let mut lines = Vec::new();
    if query.attribute_set != BIB_1 {
        lines.push(format!("attribute set {}", set_name(&query.attribute_set)));
    }
    let mut rest = vec![(&query.rpn, 0)];
    while let Some((tree, level)) = rest.pop() {
        let words = match tree {
            RpnStructure::RpnRpnOp(node) => {
                rest.extend([(&node.rpn2, level + 1), (&node.rpn1, level + 1)]);
                match &node.op {
                    Operator::Prox(proximity) => format!("proximity: {}", distance(proximity)),
                    operator => operator_in_words(operator),
                }
            }
            RpnStructure::Op(operand) => operand_in_tree(operand, query.attribute_set),
        };
        let mut line = "  ".repeat(level.min(MAX_INDENTED));
        if level > MAX_INDENTED {
            line.push_str(&format!("[{level}] "));
        }
        line.push_str(&words);
        lines.push(line);
    }
    lines.join("\n")
}

/// Returns the query as a sentence: `Records where title has "war" and author has "tolstoy".`
pub fn explain(query: &RpnQuery) -> String {
    // Each part keeps its outermost operator, which decides whether the part needs parentheses.
    let operand = |operand: &Operand| {
        let words = operand_in_sentence(operand, query.attribute_set);
        Ok::<_, Infallible>((words, None))
    };
    let Ok((sentence, _)) = query.rpn.evaluate(operand, |op, left, right| {
        let grouped = |(words, inner): (String, Option<Operator>), associates: bool| match inner {
            Some(inner) if inner != *op || !associates => format!("({words})"),
            _ => words,
        };
        let left = grouped(left, true);
        let right = grouped(right, matches!(op, Operator::And | Operator::Or));
        let words = format!("{left} {} {right}", operator_in_words(op));
        Ok((words, Some(op.clone())))
    });
    format!("Records where {sentence}.")
}

fn operator_in_words(operator: &Operator) -> String {
    match operator {
        Operator::And => "and".into(),
        Operator::Or => "or".into(),
        Operator::AndNot => "and not".into(),
        Operator::Prox(proximity) => distance(proximity),
    }
}

/// Returns the distance of a proximity operator: for example, `at most 3 words before`.
fn distance(proximity: &ProximityOperator) -> String {
    let exclusion = match proximity.exclusion {
        Some(true) => "not ",
        Some(false) | None => "",
    };
    let relation = match proximity.relation_type {
        RelationType::LESS_THAN => "less than",
        RelationType::LESS_THAN_OR_EQUAL => "at most",
        RelationType::EQUAL => "exactly",
        RelationType::GREATER_THAN_OR_EQUAL => "at least",
        RelationType::GREATER_THAN => "more than",
        RelationType::NOT_EQUAL => "not exactly",
        RelationType(other) => &format!("in relation {other} to"),
    };
    let distance = proximity.distance;
    let unit = match proximity.proximity_unit_code {
        ProximityUnitCode::Known(unit) => match unit.name() {
            Some("elementType") => "element type".to_owned(),
            Some(name) => name.to_owned(),
            None => format!("unit {}", unit.0),
        },
        ProximityUnitCode::Private(unit) => format!("private unit {unit}"),
    };
    let plural = if unit.ends_with(|last: char| last.is_ascii_alphabetic()) && distance != 1 {
        "s"
    } else {
        ""
    };
    let direction = if proximity.ordered { "before" } else { "from" };
    format!("{exclusion}{relation} {distance} {unit}{plural} {direction}")
}

fn operand_in_tree(operand: &Operand, default_set: Oid) -> String {
    let (mut line, attributes) = match operand {
        Operand::AttributesPlusTerm(of) => (term_in_words(&of.term), &of.attributes[..]),
        Operand::ResultSet(name) => (result_set_in_words(name), &[][..]),
        Operand::ResultAttr(of) => (result_set_in_words(&of.result_set), &of.attributes[..]),
    };
    for attribute in attributes {
        line.push_str("  ");
        line.push_str(&attribute_in_words(attribute, default_set));
    }
    line
}

fn result_set_in_words(name: &ResultSetId) -> String {
    format!("result set {}", quoted(name.0.as_bytes()))
}

/// Returns the attribute as text, such as `Use=4 title`, or `GILS 1=4` if it belongs to a set other than Bib-1.
fn attribute_in_words(attribute: &AttributeElement, default_set: Oid) -> String {
    let set = attribute.attribute_set.unwrap_or(default_set);
    let attribute_type = attribute.attribute_type;
    let mut words = match attributes::type_name(attribute_type).filter(|_| set == BIB_1) {
        Some(name) => format!("{name}="),
        None if set == BIB_1 => format!("{attribute_type}="),
        None => format!("{} {attribute_type}=", set_name(&set)),
    };
    words.push_str(&value_in_words(&attribute.attribute_value));
    if let Some(name) = value_name(attribute, default_set) {
        words.push(' ');
        words.push_str(&name);
    }
    words
}

fn operand_in_sentence(operand: &Operand, default_set: Oid) -> String {
    let (attributes, predicate) = match operand {
        Operand::AttributesPlusTerm(operand) => {
            let relation = operand.attributes.iter().find_map(|attribute| {
                (attribute.attribute_type == RELATION)
                    .then(|| relation_in_words(attribute, default_set))?
            });
            let relation = relation.unwrap_or("has");
            let term = term_in_words(&operand.term);
            (&operand.attributes, format!("{relation} {term}"))
        }
        Operand::ResultSet(name) => {
            return format!("the record is in {}", result_set_in_words(name));
        }
        Operand::ResultAttr(operand) => {
            let set = result_set_in_words(&operand.result_set);
            (&operand.attributes, format!("is in {set} restricted"))
        }
    };
    let mut subject = "the record".to_owned();
    let mut remarks = Vec::new();
    for attribute in attributes {
        let is_bib1 = attribute.attribute_set.unwrap_or(default_set) == BIB_1;
        match attribute.attribute_type {
            USE if is_bib1 => {
                let value = || value_in_words(&attribute.attribute_value);
                subject = value_name(attribute, default_set)
                    .unwrap_or_else(|| format!("access point {}", value()));
            }
            RELATION if relation_in_words(attribute, default_set).is_some() => {}
            _ => remarks.push(
                value_name(attribute, default_set)
                    .unwrap_or_else(|| attribute_in_words(attribute, default_set)),
            ),
        }
    }
    let mut words = format!("{subject} {predicate}");
    if !remarks.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(words, " ({})", remarks.join(", "));
    }
    words
}

/// Returns the verb for a Relation attribute; `None` for other attributes and unknown values.
fn relation_in_words(attribute: &AttributeElement, default_set: Oid) -> Option<&'static str> {
    let value = bib1_value(attribute, default_set)?;
    Some(match value {
        1 => "is less than",
        2 => "is at most",
        RELATION_EQUAL => "is equal to",
        4 => "is at least",
        5 => "is greater than",
        6 => "is not equal to",
        100 => "sounds like",
        101 => "has the stem of",
        102 => "is relevant to",
        103 => "exists, whatever the term:",
        _ => return None,
    })
}

/// Returns the name of the attribute's value in Bib-1, in lower case.
fn value_name(attribute: &AttributeElement, default_set: Oid) -> Option<String> {
    let value = bib1_value(attribute, default_set)?;
    attributes::name(attribute.attribute_type, value).map(in_small_letters)
}

/// Returns the value of the attribute, if it is a number and the attribute is from Bib-1.
fn bib1_value(attribute: &AttributeElement, default_set: Oid) -> Option<i64> {
    match attribute.attribute_value {
        AttributeValue::Numeric(value) => {
            (attribute.attribute_set.unwrap_or(default_set) == BIB_1).then_some(value)
        }
        AttributeValue::Complex(_) => None,
    }
}

/// Returns a name in lower case, such as `title` for `Title`; names in capitals, such as `ISBN`, are unchanged.
fn in_small_letters(name: &str) -> String {
    let words = name.split(' ').map(|word| {
        let is_capitalised = word.chars().skip(1).all(|letter| !letter.is_uppercase());
        if is_capitalised && word.chars().count() > 1 {
            word.to_lowercase()
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn value_in_words(value: &AttributeValue) -> String {
    let complex = match value {
        AttributeValue::Numeric(value) => return value.to_string(),
        AttributeValue::Complex(complex) => complex,
    };
    let alternatives = complex.list.iter().map(|alternative| match alternative {
        StringOrNumeric::String(name) => quoted(name.as_bytes()),
        StringOrNumeric::Numeric(value) => value.to_string(),
    });
    let mut words = alternatives.collect::<Vec<_>>().join(" or ");
    for action in complex.semantic_action.iter().flatten() {
        // Writing to a String cannot fail.
        let _ = write!(words, " by semantic action {action}");
    }
    words
}

fn term_in_words(term: &Term) -> String {
    match term {
        Term::General(octets) => quoted(octets),
        Term::Numeric(number) => number.to_string(),
        Term::CharacterString(text) => format!("the text {}", quoted(text.as_bytes())),
        Term::Oid(oid) => format!("the identifier {oid}"),
        Term::DateTime(time) => format!("the time {}", Escaped(time.as_bytes())),
        Term::External(external) => match external.direct_reference {
            Some(syntax) => format!("a term of the syntax {syntax:?}"),
            None => "a term of an unnamed syntax".into(),
        },
        Term::IntegerAndUnit(number) => {
            let unit = match &number.unit_used.unit {
                Some(StringOrNumeric::String(unit)) => quoted(unit.as_bytes()),
                Some(StringOrNumeric::Numeric(unit)) => format!("of unit {unit}"),
                None => "of a unit without a name".into(),
            };
            format!("{} {unit}", number.value)
        }
        Term::Null => "null".into(),
    }
}

fn quoted(octets: &[u8]) -> String {
    format!("\"{}\"", Escaped(octets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::MAX_RPN_DEPTH;

    fn read(text: &str) -> RpnQuery {
        text.parse().expect(text)
    }

    #[test]
    fn trees() {
        for (text, lines) in [
            ("war", &["\"war\""][..]),
            (
                "@and @attr 1=4 war @attr 1=1003 tolstoy",
                &[
                    "and",
                    "  \"war\"  Use=4 title",
                    "  \"tolstoy\"  Use=1003 author",
                ],
            ),
            (
                "@attr 4=104 @attr 1=1032 pg1342",
                &["\"pg1342\"  Use=1032 doc-id  Structure=104 urx"],
            ),
            (
                "@not @or @attr 1=7 a @set 1 @attr 9=9 @term numeric 5",
                &[
                    "and not",
                    "  or",
                    "    \"a\"  Use=7 ISBN",
                    "    result set \"1\"",
                    "  5  9=9",
                ],
            ),
            (
                "@attrset gils @attr 1=4 @attr bib-1 2=3 @attr 5=x a",
                &[
                    "attribute set GILS",
                    "\"a\"  Truncation=\"x\"  Relation=3 equal  GILS 1=4",
                ],
            ),
            (
                "@prox 1 2 1 2 known 2 \"a\\\"\" b\\x01",
                &[
                    "proximity: not at most 2 words before",
                    "  \"a\\\"\"",
                    "  \"b\\x01\"",
                ],
            ),
        ] {
            assert_eq!(tree(&read(text)), lines.join("\n"), "{text}");
        }
    }

    #[test]
    fn sentences() {
        for (text, sentence) in [
            ("war", "the record has \"war\""),
            (
                "@and @attr 1=4 war @attr 1=1003 tolstoy",
                "title has \"war\" and author has \"tolstoy\"",
            ),
            (
                "@attr 4=104 @attr 1=1032 pg1342",
                "doc-id has \"pg1342\" (urx)",
            ),
            (
                "@attr 1=31 @attr 2=4 @attr 4=4 1990",
                "date of publication is at least \"1990\" (year)",
            ),
            (
                "@attr 1=4 @or @and a b @not c d",
                "(title has \"a\" and title has \"b\") or (title has \"c\" and not title has \"d\")",
            ),
            (
                "@and a @and b c",
                "the record has \"a\" and the record has \"b\" and the record has \"c\"",
            ),
            (
                "@not a @not b c",
                "the record has \"a\" and not (the record has \"b\" and not the record has \"c\")",
            ),
            (
                "@prox 0 1 0 2 known 3 a b",
                "the record has \"a\" at most 1 sentence from the record has \"b\"",
            ),
            (
                "@prox 0 3 0 3 private 17 a b",
                "the record has \"a\" exactly 3 private unit 17 from the record has \"b\"",
            ),
            (
                "@and @set 1 @attr 1=dc.title x",
                "the record is in result set \"1\" and access point \"dc.title\" has \"x\"",
            ),
            ("@attr gils 1=2000 x", "the record has \"x\" (GILS 1=2000)"),
            ("@attr 2=100 x", "the record sounds like \"x\""),
            ("@attr 2=77 x", "the record has \"x\" (Relation=77)"),
        ] {
            let expected = format!("Records where {sentence}.");
            assert_eq!(explain(&read(text)), expected, "{text}");
        }
    }

    #[test]
    fn the_deepest_query_is_shown() {
        for nested in [
            format!(
                "{}x{}",
                "@and ".repeat(MAX_RPN_DEPTH),
                " y".repeat(MAX_RPN_DEPTH)
            ),
            format!("{}y", "@not x ".repeat(MAX_RPN_DEPTH)),
        ] {
            let query = read(&nested);
            assert_eq!(tree(&query).lines().count(), 2 * MAX_RPN_DEPTH + 1);
            assert!(tree(&query).contains(
                "\n                                                                [1000] \""
            ));
            assert!(explain(&query).ends_with('.'));
        }
    }
}
