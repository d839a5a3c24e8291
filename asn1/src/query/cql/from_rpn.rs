//! Translates an RPN query to CQL, if CQL and the properties can express it. As a check, each clause is translated back
//! with [`to_rpn()`]: the result must have every attribute of the operand, and either the same term or, for a pattern, a
//! term that matches the same words.

mod masks;

use std::borrow::Cow;
use std::sync::Arc;

use self::masks::{escaped, from_regexp, from_z3958};

use super::to_rpn::{RELATIONS, UNITS, operator};
use super::{
    Boolean, BooleanOperator, Clause, Cql, MAX_DEPTH, Modifier, Node, Properties,
    PropertyAttribute, Relation, SERVER_CHOICE, Sign, Word, to_rpn,
};
use crate::apdu::{
    AttributeElement, AttributeValue, Operand, Operator, ProximityOperator, ProximityUnitCode,
    RpnQuery, RpnStructure, StringOrNumeric, Term,
};
use crate::bib1::attributes::{TRUNCATION, USE};
use crate::oid::{BIB_1, Oid};
use crate::query::UnsupportedQuery;

/// Translates an RPN query to CQL.
///
/// The query may lack attributes that the properties add to every clause, such as `always` or the relation for `=`.
/// Numeric and character string terms become text, which [`to_rpn()`] translates back to general terms. Patterns with
/// truncation 102 or 104 become masks, which may be translated back to a different truncation. A Use attribute with a
/// name that is not in the properties becomes the index with that name.
///
/// # Errors
/// [`UnsupportedQuery`], with the part that CQL cannot express.
pub fn from_rpn(query: &RpnQuery, properties: &Properties) -> Result<Cql, UnsupportedQuery> {
    if query.rpn.depth() > MAX_DEPTH {
        return Err(UnsupportedQuery(format!(
            "operators nested more than {MAX_DEPTH} deep"
        )));
    }
    let operand = |operand: &Operand| clause(operand, query.attribute_set, properties);
    query.rpn.evaluate(operand, boolean).map(Cql::of)
}

fn boolean(op: &Operator, left: Node, right: Node) -> Result<Node, UnsupportedQuery> {
    let (operator, modifiers) = match op {
        Operator::And => (BooleanOperator::And, Vec::new()),
        Operator::Or => (BooleanOperator::Or, Vec::new()),
        Operator::AndNot => (BooleanOperator::Not, Vec::new()),
        Operator::Prox(proximity) => (BooleanOperator::Prox, proximity_modifiers(proximity)?),
    };
    let boolean = Boolean {
        operator,
        modifiers,
        left,
        right,
    };
    // An absent exclusion means false, so both forms must compare as equal.
    let meant = match op {
        Operator::Prox(proximity) => Operator::Prox(Box::new(ProximityOperator {
            exclusion: Some(proximity.exclusion.unwrap_or_default()),
            ..(**proximity).clone()
        })),
        other => other.clone(),
    };
    match self::operator(&boolean) {
        Ok(operator) if operator == meant => Ok(Node::Boolean(Box::new(boolean))),
        _ => Err(no_proximity()),
    }
}

fn no_proximity() -> UnsupportedQuery {
    UnsupportedQuery("CQL cannot express this proximity".into())
}

fn proximity_modifiers(proximity: &ProximityOperator) -> Result<Vec<Modifier>, UnsupportedQuery> {
    let mut signs = RELATIONS.iter();
    let sign = signs.find(|(_, relation)| *relation == proximity.relation_type);
    let (sign, _) = *sign.ok_or_else(no_proximity)?;
    let unit = match proximity.proximity_unit_code {
        ProximityUnitCode::Known(unit) => UNITS.iter().find(|(_, known)| *known == unit),
        ProximityUnitCode::Private(_) => None,
    };
    let (unit, _) = unit.ok_or_else(no_proximity)?;
    let modifier = |name: &str, value| Modifier {
        name: Word::new(name),
        value,
    };
    let mut modifiers = Vec::new();
    if *unit != "word" || sign != Sign::LessOrEqual || proximity.distance != 1 {
        let distance = Word::new(proximity.distance.to_string());
        modifiers.push(modifier("distance", Some((sign, distance))));
    }
    if *unit != "word" {
        modifiers.push(modifier("unit", Some((Sign::Equal, Word::new(*unit)))));
    }
    if proximity.ordered {
        modifiers.push(modifier("ordered", None));
    }
    Ok(modifiers)
}

fn clause(
    operand: &Operand,
    default_set: Oid,
    properties: &Properties,
) -> Result<Node, UnsupportedQuery> {
    match operand {
        Operand::ResultAttr(_) => Err(UnsupportedQuery(
            "CQL cannot restrict a result set by attributes".into(),
        )),
        Operand::AttributesPlusTerm(operand) => {
            let search = ClauseSearch {
                properties: Cow::Borrowed(properties),
                wanted: in_one_set(&operand.attributes, default_set),
                term: text(&operand.term)?,
                masks: None,
            };
            let masked = || search.masked().and_then(|masked| masked.clause().ok());
            // Many servers support masks but few know the modifier for regular expressions, so masks are preferred.
            if search.truncation() == Some(REGEXP)
                && let Some(clause) = masked()
            {
                return Ok(clause);
            }
            search
                .clause()
                .or_else(|refusal| masked().or_else(|| search.named()).ok_or(refusal))
        }
        Operand::ResultSet(name) => {
            let name = std::str::from_utf8(name.0.as_bytes())
                .map_err(|_| no_term("a name that is not UTF-8"))?;
            let clause = new_clause("cql.resultSet", "=", Vec::new(), escaped(name));
            let cql = Cql::of(Node::Clause(clause));
            match to_rpn(&cql, properties).map(|query| query.rpn) {
                Ok(RpnStructure::Op(Operand::ResultSet(_))) => Ok(cql.query),
                _ => Err(UnsupportedQuery(
                    "the properties have no context set cql for a result set".into(),
                )),
            }
        }
    }
}

fn text(term: &Term) -> Result<String, UnsupportedQuery> {
    let text = match term {
        Term::General(octets) => std::str::from_utf8(octets).map(str::to_owned),
        Term::CharacterString(text) => text.to_str().map(str::to_owned),
        Term::Numeric(number) => Ok(number.to_string()),
        Term::Oid(_) => return Err(no_term("an object identifier")),
        Term::DateTime(_) => return Err(no_term("a date and time")),
        Term::External(_) => return Err(no_term("an external value")),
        Term::IntegerAndUnit(_) => return Err(no_term("a number with a unit")),
        Term::Null => return Err(no_term("the null term")),
    };
    text.map_err(|_| no_term("octets that are not UTF-8"))
}

fn no_term(kind: &str) -> UnsupportedQuery {
    UnsupportedQuery(format!("CQL has no term for {kind}"))
}

/// Returns the attributes, each with an explicit set.
fn in_one_set(attributes: &[AttributeElement], default_set: Oid) -> Vec<AttributeElement> {
    attributes
        .iter()
        .map(|attribute| AttributeElement {
            attribute_set: Some(attribute.attribute_set.unwrap_or(default_set)),
            ..attribute.clone()
        })
        .collect()
}

/// The truncation value for a regular expression.
const REGEXP: i64 = 102;
const Z3958: i64 = 104;

/// The state of the search for a clause that expresses an operand.
#[derive(Clone)]
struct ClauseSearch<'a> {
    properties: Cow<'a, Properties>,
    /// The attributes that the clause must produce, each with an explicit set.
    wanted: Vec<AttributeElement>,
    term: String,
    /// The term with CQL masks, if these can express the truncation.
    masks: Option<String>,
}

impl ClauseSearch<'_> {
    /// Returns the truncation value, if it is a number.
    fn truncation(&self) -> Option<i64> {
        let mut wanted = self.wanted.iter();
        let attribute = wanted.find(|one| one.attribute_type == TRUNCATION)?;
        match attribute.attribute_value {
            AttributeValue::Numeric(number) if attribute.attribute_set == Some(BIB_1) => {
                Some(number)
            }
            _ => None,
        }
    }

    /// Returns the same operand, but with its truncation expressed only by masks.
    fn masked(&self) -> Option<Self> {
        let plain = escaped(&self.term);
        let masks = match self.truncation()? {
            1 => format!("{plain}*"),
            2 => format!("*{plain}"),
            3 => format!("*{plain}*"),
            REGEXP => from_regexp(&self.term)?,
            Z3958 => from_z3958(&self.term)?,
            _ => return None,
        };
        let mut masked = self.clone();
        masked.wanted.retain(|one| one.attribute_type != TRUNCATION);
        masked.masks = Some(masks);
        Some(masked)
    }

    /// Returns the clause for a Use attribute that is a name, as if the properties had an index of that name.
    fn named(&self) -> Option<Node> {
        let mut uses = self.wanted.iter().filter(|one| one.attribute_type == USE);
        let (attribute, None) = (uses.next()?, uses.next()) else {
            return None;
        };
        let AttributeValue::Complex(_) = &attribute.attribute_value else {
            return None;
        };
        let name = written_value(&attribute.attribute_value)?;
        let is_letter = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-');
        let prefix = self.properties.prefix(self.properties.uri(None)?)?;
        let property = format!("index.{prefix}.{name}");
        if name.is_empty()
            || !name.chars().all(is_letter)
            || self.properties.attributes(&property).is_some()
        {
            return None;
        }
        let mut named = self.clone();
        let attribute = PropertyAttribute {
            attribute_set: attribute.attribute_set.filter(|set| *set != BIB_1),
            attribute_type: USE,
            value: name.clone(),
        };
        named.properties = Cow::Owned(self.properties.with(&property, attribute));
        match named.clause().ok()? {
            Node::Clause(mut clause) => {
                // An index without a prefix belongs to the default context set.
                Arc::make_mut(&mut clause.relation).index = Word::new(name);
                Some(Node::Clause(clause))
            }
            other => Some(other),
        }
    }

    fn clause(&self) -> Result<Node, UnsupportedQuery> {
        let mut missing = self.wanted.clone();
        let forms = self.forms();
        for index in self.indexes() {
            for modifiers in self.modifiers() {
                for relation in self.relations() {
                    for form in &forms {
                        let clause = new_clause(&index, &relation, modifiers.clone(), form.clone());
                        match self.missing_from(&clause) {
                            Some(none) if none.is_empty() => return Ok(Node::Clause(clause)),
                            Some(some) if some.len() < missing.len() => missing = some,
                            _ => {}
                        }
                    }
                }
            }
        }
        for attribute in &mut missing {
            attribute.attribute_set = attribute.attribute_set.filter(|set| *set != BIB_1);
        }
        let query = RpnQuery::bib1(RpnStructure::term(missing, self.term.as_bytes()));
        Err(UnsupportedQuery(format!(
            "the properties have no CQL for {query}"
        )))
    }

    /// Returns the attributes that the clause does not produce; `None` if its term differs or the clause cannot be
    /// translated.
    fn missing_from(&self, clause: &Clause) -> Option<Vec<AttributeElement>> {
        let query = to_rpn(&Cql::of(Node::Clause(clause.clone())), &self.properties).ok()?;
        let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = query.rpn else {
            return None;
        };
        let Term::General(octets) = &operand.term else {
            return None;
        };
        let produced = in_one_set(&operand.attributes, query.attribute_set);
        let missing = self
            .wanted
            .iter()
            .filter(|wanted| !produced.contains(wanted));
        let is_meant = self.masks.is_some() || octets[..] == *self.term.as_bytes();
        is_meant.then(|| missing.cloned().collect())
    }

    /// Returns whether the operand has every attribute of a property.
    fn has(&self, property: &str, name: &str) -> bool {
        let attributes = self.properties.attributes(property);
        attributes.is_some_and(|attributes| {
            let elements: Vec<_> = attributes.iter().map(|one| one.element(name)).collect();
            in_one_set(&elements, BIB_1)
                .iter()
                .all(|element| self.wanted.contains(element))
        })
    }

    /// Returns the indexes whose attributes the operand has; indexes with more attributes come first.
    fn indexes(&self) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        let count = |property: &str| self.properties.attributes(property).map_or(0, <[_]>::len);
        for name in self.properties.names("index") {
            let property = format!("index.{name}");
            match name.strip_suffix(".*") {
                Some(set) => {
                    let uses = self.wanted.iter().filter(|one| one.attribute_type == USE);
                    for value in uses.filter_map(|one| written_value(&one.attribute_value)) {
                        if self.has(&property, &value) {
                            found.push((count(&property), format!("{set}.{value}")));
                        }
                    }
                }
                None if self.has(&property, name) => {
                    found.push((count(&property), name.to_owned()));
                }
                None => {}
            }
        }
        if self.wanted.iter().all(|one| one.attribute_type != USE) {
            found.push((0, SERVER_CHOICE.to_owned()));
        }
        found.sort_by_key(|(attributes, _)| std::cmp::Reverse(*attributes));
        found.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the relation symbols, followed by the named relations.
    fn relations(&self) -> Vec<String> {
        let signs = ["=", "<", "<=", ">", ">=", "<>", "=="].map(str::to_owned);
        let named = self.properties.names("relation").filter(|name| {
            name.starts_with(|first: char| first.is_ascii_alphabetic())
                && !["eq", "le", "ge"].contains(name)
        });
        let named = named.map(|name| match name {
            "all" | "any" | "adj" | "exact" | "within" | "encloses" => name.to_owned(),
            other => format!("cql.{other}"),
        });
        signs.into_iter().chain(named).collect()
    }

    /// Returns lists of modifiers to try: the empty list, each modifier whose attributes the operand has, and a list of
    /// all these modifiers.
    fn modifiers(&self) -> Vec<Vec<Modifier>> {
        let names = self.properties.names("relationModifier").filter(|name| {
            let property = format!("relationModifier.{name}");
            let empty = self
                .properties
                .attributes(&property)
                .is_none_or(<[_]>::is_empty);
            !empty && self.has(&property, name)
        });
        let mut all: Vec<_> = names
            .map(|name| Modifier {
                name: Word::new(name),
                value: None,
            })
            .take(super::MAX_MODIFIERS)
            .collect();
        // Sort the modifiers in the order of their attributes on the wire, because the parser keeps that order.
        all.sort_by_key(|modifier| self.place(&modifier.name.text));
        let single = all.iter().map(|modifier| vec![modifier.clone()]);
        let mut modifiers = vec![Vec::new()];
        modifiers.extend(single);
        if all.len() > 1 {
            modifiers.push(all);
        }
        modifiers
    }

    /// Returns the position of a modifier's first attribute in `wanted`.
    fn place(&self, modifier: &str) -> Option<usize> {
        let attributes = self
            .properties
            .attributes(&format!("relationModifier.{modifier}"))?;
        let first = attributes.first()?.attribute_type;
        let mut wanted = self.wanted.iter();
        wanted.position(|attribute| attribute.attribute_type == first)
    }

    /// Returns the possible spellings of the term: plain, with masks, and with the anchors that express the operand's
    /// position attributes.
    fn forms(&self) -> Vec<String> {
        let plain = escaped(&self.term);
        let mut masked = vec![self.masks.clone().unwrap_or_else(|| plain.clone())];
        for (side, form) in [
            ("right", Some(format!("{plain}*"))),
            ("left", Some(format!("*{plain}"))),
            ("both", Some(format!("*{plain}*"))),
            ("z3958", from_z3958(&self.term)),
        ] {
            if self.masks.is_none() && self.has(&format!("truncation.{side}"), side) {
                masked.extend(form);
            }
        }
        let mut forms = masked.clone();
        for (place, before, after) in [
            ("first", "^", ""),
            ("last", "", "^"),
            ("firstAndLast", "^", "^"),
        ] {
            if self.has(&format!("position.{place}"), place) {
                forms.extend(masked.iter().map(|form| format!("{before}{form}{after}")));
            }
        }
        forms
    }
}

fn written_value(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::Numeric(number) => Some(number.to_string()),
        AttributeValue::Complex(complex) => match complex.list.as_slice() {
            [StringOrNumeric::String(text)] => {
                std::str::from_utf8(text.as_bytes()).ok().map(str::to_owned)
            }
            _ => None,
        },
    }
}

fn new_clause(index: &str, relation: &str, modifiers: Vec<Modifier>, term: String) -> Clause {
    Clause {
        relation: Arc::new(Relation {
            index: Word::new(index),
            name: Word::new(relation),
            modifiers,
        }),
        term: Word::new(term),
        extra_terms: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{cql, parse_pqf};

    #[test]
    fn queries_that_can_be_expressed() {
        let properties = Properties::default();
        for (pqf, expected) in [
            ("war", "war"),
            ("@attr 1=1016 war", "war"),
            ("@attr 1=4 war", "dc.title = war"),
            ("@attr 1=7 0140444173", "bath.isbn = 0140444173"),
            ("@attr 1=4 @attr 2=3 @attr 4=2 war", "dc.title all war"),
            (
                "@attr 1=4 \"war and peace\"",
                "dc.title = \"war and peace\"",
            ),
            ("@attr 1=4 @attr 5=1 war", "dc.title = war*"),
            ("@attr 5=3 w*r", "*w\\*r*"),
            ("@attr 5=104 w#r?n", "w?r*n"),
            ("@attr 1=4 @attr 3=1 war", "dc.title = ^war"),
            ("@attr 1=4 @attr 3=1 @attr 6=3 war", "dc.title = ^war^"),
            ("@attr 1=30 @attr 2=5 1990", "dc.date > 1990"),
            ("@attr 1=4 @attr 2=102 war", "dc.title =/relevant war"),
            ("@attr 1=4 @attr 4=108 war", "dc.title exact war"),
            ("@attr 1=1183 war", "bib1.1183 = war"),
            ("@and @or a b @not c d", "a or b and (c not d)"),
            ("@prox 0 1 0 2 k 2 a b", "a prox b"),
            (
                "@prox 0 3 1 1 k 3 a b",
                "a prox/distance<3/unit=sentence/ordered b",
            ),
            ("@set mine", "cql.resultSet = mine"),
            ("@attr Bib-1 1=4 war", "dc.title = war"),
            ("@term numeric 5", "5"),
        ] {
            let query = parse_pqf(pqf).expect(pqf);
            let produced = from_rpn(&query, &properties).expect(pqf);
            assert_eq!(produced.to_string(), expected, "{pqf}");
            assert_eq!(cql::parse(expected), Ok(produced), "{pqf}");
        }
    }

    #[test]
    fn queries_that_cannot_be_expressed() {
        let properties = Properties::default();
        for (pqf, message) in [
            (
                "@attr 1=4 @attr 2=99 war",
                "the properties have no CQL for @attr 2=99 war",
            ),
            (
                "@attr gils 1=4 war",
                "the properties have no CQL for @attr GILS 1=4 war",
            ),
            ("@term null x", "CQL has no term for the null term"),
            ("\\xff", "CQL has no term for octets that are not UTF-8"),
            ("@prox 1 1 0 2 k 2 a b", "CQL cannot express this proximity"),
            ("@prox 0 1 0 2 p 2 a b", "CQL cannot express this proximity"),
        ] {
            let query = parse_pqf(pqf).expect(pqf);
            let error = from_rpn(&query, &properties).expect_err(pqf);
            assert_eq!(error.to_string(), message, "{pqf}");
        }
    }
}
