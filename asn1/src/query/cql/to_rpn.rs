//! Uses the properties to translate CQL to the same RPN query as YAZ: one with the same attributes in the same order,
//! and the same terms (Z39.50-2003 §3.7), with ANSI Z39.58 masks if necessary.

use super::{
    Boolean, Clause, Cql, Modifier, Node, PrefixMap, Properties, PropertyAttribute, Relation, Sign,
    Word,
};
use crate::apdu::{
    AttributeElement, KnownProximityUnit, MAX_RPN_DEPTH, Operand, Operator, RelationType,
    ResultSetId, RpnQuery, RpnStructure,
};
use crate::query::suggest::nearest;
use crate::query::{QueryError, QueryErrorKind, as_sent, near};

mod operator;
mod sort;
mod term;

pub(super) use operator::{RELATIONS, UNITS, operator};
pub use sort::sort_keys;
use term::Pattern;

/// The maximum number of operands in a translated query.
pub const MAX_OPERANDS: usize = 10_000;

/// The beginning shared by the identifiers for all versions of the context set `cql`.
const CQL_URI: &str = "info:srw/cql-context-set/1/cql-";

/// Translates a query. Its sort keys are left out because RPN cannot express them; see [`sort_keys`].
///
/// Terms after `all` and `any` are split at spaces. The additional words after a term must all occur; after `all` and
/// `any`, they are treated like the words of the term.
///
/// # Errors
/// [`QueryError`] with its offset, for names that are not in the properties and parts that RPN cannot express.
pub fn to_rpn(query: &Cql, properties: &Properties) -> Result<RpnQuery, QueryError> {
    let mut translator = Translator {
        properties,
        maps: Vec::new(),
        operands: 0,
    };
    let rpn = translator.tree(&query.query)?;
    if rpn.depth() > MAX_RPN_DEPTH {
        return Err(QueryErrorKind::TooDeep(MAX_RPN_DEPTH).at(0));
    }
    Ok(RpnQuery::bib1(rpn))
}

/// A step of the translation that remains to be done.
enum CqlStep<'a> {
    Translate(&'a Node),
    Combine(&'a Boolean),
    LeaveMap,
}

struct Translator<'a> {
    properties: &'a Properties,
    /// The prefix maps that apply, innermost last.
    maps: Vec<&'a PrefixMap>,
    operands: usize,
}

/// A resolved name: the URI of its context set, and the name within the set.
type Resolved<'a> = (&'a str, &'a str);

/// The placeholder for the URI of an index if the properties do not name a context set.
const NO_SET: &str = "";

impl<'a> Translator<'a> {
    fn tree(&mut self, query: &'a Node) -> Result<RpnStructure, QueryError> {
        let mut steps = vec![CqlStep::Translate(query)];
        let mut done: Vec<RpnStructure> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                CqlStep::Translate(Node::Clause(clause)) => done.push(self.clause(clause)?),
                CqlStep::Translate(Node::Prefixed(map)) => {
                    self.maps.push(map);
                    steps.extend([CqlStep::LeaveMap, CqlStep::Translate(&map.query)]);
                }
                CqlStep::Translate(Node::Boolean(boolean)) => steps.extend([
                    CqlStep::Combine(boolean),
                    CqlStep::Translate(&boolean.right),
                    CqlStep::Translate(&boolean.left),
                ]),
                CqlStep::LeaveMap => drop(self.maps.pop()),
                CqlStep::Combine(boolean) => {
                    let op = operator(boolean)?;
                    if let (Some(rpn2), Some(rpn1)) = (done.pop(), done.pop()) {
                        done.push(RpnStructure::combined(rpn1, op, rpn2));
                    }
                }
            }
        }
        let tree = done.pop();
        tree.ok_or_else(|| QueryErrorKind::Missing("a query").at(0))
    }

    fn clause(&mut self, clause: &'a Clause) -> Result<RpnStructure, QueryError> {
        let relation = &*clause.relation;
        let index = self.resolve_index(&relation.index)?;
        if index.0.starts_with(CQL_URI) && is_result_set(index.1) {
            if let Some(extra) = clause.extra_terms.first() {
                return Err(QueryErrorKind::ExtraToken(extra.text.clone()).at(extra.offset));
            }
            self.operand(clause.term.offset)?;
            let name = clause.term.unescaped();
            return Ok(RpnStructure::Op(Operand::ResultSet(ResultSetId::from(
                name.as_bytes(),
            ))));
        }
        let name = self.without_prefix(&relation.name.text);
        let own = self.own_attributes(relation, index)?;
        if name.eq_ignore_ascii_case("within") && self.properties.find("relation", name).is_none() {
            return self.within(clause, &own);
        }
        let common = self.common_attributes(&relation.name, name)?;
        let mut words: Vec<&str> = Vec::new();
        for term in std::iter::once(&clause.term).chain(&clause.extra_terms) {
            if name.eq_ignore_ascii_case("all") || name.eq_ignore_ascii_case("any") {
                words.extend(term::words(&term.text))
            } else {
                words.push(&term.text)
            }
        }
        if words.is_empty() {
            words.push("");
        }
        let offset = clause.term.offset;
        if words.len() > MAX_RPN_DEPTH {
            return Err(QueryErrorKind::TooDeep(MAX_RPN_DEPTH).at(offset));
        }
        let mut tree = None;
        for word in words.into_iter().rev() {
            self.operand(offset)?;
            let left = self.term(relation, &common, &own, word, offset)?;
            let op = if name.eq_ignore_ascii_case("any") {
                Operator::Or
            } else {
                Operator::And
            };
            tree = Some(match tree {
                None => left,
                Some(right) => RpnStructure::combined(left, op, right),
            });
        }
        let tree = tree.ok_or_else(|| QueryErrorKind::Missing("a term").at(offset))?;
        self.with_values(tree, relation)
    }

    /// Translates a range, such as `date within "1850 1860"`, to two comparisons (at least the first word, at most the
    /// second), unless the properties define the relation.
    fn within(
        &mut self,
        clause: &'a Clause,
        own: &[AttributeElement],
    ) -> Result<RpnStructure, QueryError> {
        let (relation, offset) = (&*clause.relation, clause.term.offset);
        let terms = std::iter::once(&clause.term).chain(&clause.extra_terms);
        let ends: Vec<&str> = terms.flat_map(|term| term::words(&term.text)).collect();
        let [first, last] = ends.as_slice() else {
            return Err(QueryErrorKind::Missing("one of the two ends of the range").at(offset));
        };
        let mut end = |sign, word| {
            self.operand(offset)?;
            let common = self.common_attributes(&relation.name, sign)?;
            self.term(relation, &common, own, word, offset)
        };
        let (first, last) = (end(">=", first)?, end("<=", last)?);
        let tree = RpnStructure::combined(first, Operator::And, last);
        self.with_values(tree, relation)
    }

    /// Returns the attributes that all terms of a clause have: those from `always`, the relation and the structure.
    fn common_attributes(
        &self,
        word: &Word,
        name: &str,
    ) -> Result<Vec<AttributeElement>, QueryError> {
        let alias = match name {
            "==" => "exact",
            "=" => "eq",
            "<=" => "le",
            ">=" => "ge",
            other => other,
        };
        let relation = self
            .properties
            .attributes(&format!("relation.{name}"))
            .or_else(|| self.properties.find("relation", alias))
            .or_else(|| self.none_of("relation", alias == "eq"))
            .ok_or_else(|| QueryErrorKind::Relation(name.to_owned()).at(word.offset))?;
        let no_structure = QueryErrorKind::Property("a structure for this relation");
        let structure = self
            .properties
            .find("structure", name)
            .or_else(|| self.none_of("structure", true))
            .ok_or_else(|| no_structure.at(word.offset))?;
        let always = self
            .properties
            .attributes("always")
            .or_else(|| self.properties.attributes("always.*"));
        let mut attributes = elements(always.unwrap_or_default(), "");
        attributes.extend(elements(relation, name));
        attributes.extend(elements(structure, name));
        Ok(attributes)
    }

    /// Returns an empty list of attributes if `is_usual` is true and the properties have neither an entry in the
    /// category nor any context set; otherwise returns `None`.
    fn none_of(&self, category: &str, is_usual: bool) -> Option<&'a [PropertyAttribute]> {
        let properties = self.properties;
        let mut known = properties.names(category).chain(properties.names("set"));
        (is_usual && known.next().is_none() && properties.uri(None).is_none()).then_some(&[])
    }

    /// Returns the attributes that are placed nearest to each term of a clause: those from the index, followed by those
    /// from the modifiers in reverse order.
    fn own_attributes(
        &self,
        relation: &Relation,
        index: Resolved<'_>,
    ) -> Result<Vec<AttributeElement>, QueryError> {
        let mut attributes = self.index(&relation.index, Some(index))?;
        for modifier in relation.modifiers.iter().rev() {
            if modifier.value.is_none() {
                let name = self.without_prefix(&modifier.name.text);
                let found = self
                    .properties
                    .find("relationModifier", name)
                    .ok_or_else(|| not_a_modifier(modifier))?;
                attributes.extend(elements(found, name));
            }
        }
        Ok(attributes)
    }

    fn term(
        &self,
        relation: &Relation,
        common: &[AttributeElement],
        own: &[AttributeElement],
        word: &str,
        offset: usize,
    ) -> Result<RpnStructure, QueryError> {
        let raw = relation.modifiers.iter().any(|modifier| {
            let name = self.without_prefix(&modifier.name.text);
            modifier.value.is_none() && matches!(name, "regexp" | "unmasked")
        });
        let pattern = if raw {
            Pattern::raw(word)
        } else if self.properties.attributes("truncation.cql").is_some() {
            Pattern::cql(word)
        } else {
            let has = |side: &str| self.properties.find("truncation", side).is_some();
            Pattern::masked(word, has)
        };
        let mut attributes = common.to_vec();
        if let Some(position) = pattern.position {
            let found = self.properties.find("position", position);
            let kind = QueryErrorKind::Property("a position for this anchor");
            let found = found
                .or_else(|| self.none_of("position", position == "any"))
                .ok_or_else(|| kind.at(offset))?;
            attributes.extend(elements(found, position));
        }
        if let Some(truncation) = pattern.truncation {
            match self.properties.find("truncation", truncation) {
                Some(found) => attributes.extend(elements(found, truncation)),
                None if truncation == "none" => {}
                None => {
                    return Err(QueryErrorKind::Property("a truncation for this mask").at(offset));
                }
            }
        }
        attributes.extend_from_slice(own);
        Ok(RpnStructure::term(
            as_sent(&attributes),
            pattern.term.into_bytes(),
        ))
    }

    /// Returns the attributes of an index. The index of a modifier may lack a context set.
    fn index(
        &self,
        word: &Word,
        resolved: Option<Resolved<'_>>,
    ) -> Result<Vec<AttributeElement>, QueryError> {
        let (category, name) = match resolved {
            Some((NO_SET, name)) => ("index".to_owned(), name),
            Some((uri, name)) => {
                let prefix = self
                    .properties
                    .prefix(uri)
                    .ok_or_else(|| QueryErrorKind::ContextSet(uri.to_owned()).at(word.offset))?;
                (format!("index.{prefix}"), name)
            }
            None => ("index".to_owned(), word.text.as_str()),
        };
        let found = self.properties.find(&category, name).ok_or_else(|| {
            let kind = QueryErrorKind::Index {
                name: word.text.clone(),
                nearest: self.nearest_index(&category, &word.text, name),
            };
            kind.at(word.offset)
        })?;
        Ok(elements(found, name))
    }

    /// Returns the known index that is most similar to an unknown index, preferably from the same context set.
    fn nearest_index(&self, category: &str, written: &str, name: &str) -> Option<String> {
        let prefix = category.strip_prefix("index.").unwrap_or_default();
        let indexes = || {
            self.properties
                .names("index")
                .filter_map(|name| name.split_once('.'))
        };
        let siblings = indexes().filter(|(set, _)| set.eq_ignore_ascii_case(prefix));
        if let Some(sibling) = nearest(name, siblings.map(|(_, name)| name)) {
            return Some(match written.split_once('.') {
                Some((set, _)) => format!("{set}.{sibling}"),
                None => sibling.to_owned(),
            });
        }
        let (set, other) = indexes().find(|(_, other)| other.eq_ignore_ascii_case(name))?;
        Some(format!("{set}.{other}"))
    }

    /// Combines the clause with the modifiers that have values. Each of these modifiers becomes an operand that is
    /// joined to the clause by proximity.
    fn with_values(
        &mut self,
        clause: RpnStructure,
        relation: &'a Relation,
    ) -> Result<RpnStructure, QueryError> {
        let mut tree = clause;
        for modifier in relation.modifiers.iter().rev() {
            let Some((sign, value)) = &modifier.value else {
                continue;
            };
            if *sign != Sign::Equal {
                return Err(
                    QueryErrorKind::Relation(sign.as_str().to_owned()).at(modifier.name.offset)
                );
            }
            self.operand(value.offset)?;
            let resolved = match modifier.name.text.split_once('.') {
                Some((prefix, name)) => self.uri(Some(prefix)).map(|uri| (uri, name)),
                None => None,
            };
            let attributes = self.index(&modifier.name, resolved)?;
            let right = RpnStructure::term(as_sent(&attributes), value.unescaped().into_bytes());
            tree = RpnStructure::combined(tree, same_element(), right);
        }
        Ok(tree)
    }

    fn resolve_index(&self, index: &'a Word) -> Result<Resolved<'a>, QueryError> {
        let (prefix, name) = match index.text.split_once('.') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, index.text.as_str()),
        };
        match self.uri(prefix) {
            Some(uri) => Ok((uri, name)),
            // Properties without context sets list indexes by their full names, including the prefix.
            None if self
                .properties
                .attributes(&format!("index.{}", index.text))
                .is_some() =>
            {
                Ok((NO_SET, &index.text))
            }
            None => {
                let prefix = prefix.unwrap_or_default().to_owned();
                Err(QueryErrorKind::ContextSet(prefix).at(index.offset))
            }
        }
    }

    /// Returns the URI of the context set for a prefix, or for names without a prefix. It is taken from the nearest
    /// prefix map that applies, or else from the properties.
    fn uri(&self, prefix: Option<&str>) -> Option<&'a str> {
        let map = self
            .maps
            .iter()
            .rev()
            .find(|map| match (&map.prefix, prefix) {
                (Some(known), Some(prefix)) => known.text.eq_ignore_ascii_case(prefix),
                (None, None) => true,
                _ => false,
            });
        match map {
            Some(map) => Some(&map.uri.text),
            None => self.properties.uri(prefix),
        }
    }

    /// Returns the name of a relation or modifier without the prefix of a context set.
    fn without_prefix<'n>(&self, name: &'n str) -> &'n str {
        match name.split_once('.') {
            Some((prefix, rest)) if self.uri(Some(prefix)).is_some() => rest,
            _ => name,
        }
    }

    fn operand(&mut self, offset: usize) -> Result<(), QueryError> {
        self.operands += 1;
        if self.operands > MAX_OPERANDS {
            return Err(QueryErrorKind::TooMany(MAX_OPERANDS, "terms").at(offset));
        }
        Ok(())
    }
}

fn not_a_modifier(modifier: &Modifier) -> QueryError {
    let kind = QueryErrorKind::Modifier(modifier.name.text.clone());
    kind.at(modifier.name.offset)
}

/// Returns whether an index from the context set `cql` refers to a result set: `resultSet` in YAZ, and other names in
/// the versions of the context set.
fn is_result_set(name: &str) -> bool {
    ["resultSet", "resultSetId", "resultSetName"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

fn elements(attributes: &[PropertyAttribute], name: &str) -> Vec<AttributeElement> {
    attributes
        .iter()
        .map(|attribute| attribute.element(name))
        .collect()
}

/// Returns the operator "in the same element", with which YAZ combines a clause and the value of a modifier.
fn same_element() -> Operator {
    near(0, false, RelationType(0), KnownProximityUnit::ELEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{AttributeValue, AttributesPlusTerm, Term};
    use crate::query::cql::parse;

    #[test]
    fn audit_r_y7_properties_without_context_sets_name_indexes_as_they_are_written() {
        let text = "index.title = 1=4\nindex.local.shelf = 1=53\n";
        let properties = Properties::parse(text).expect("properties");
        for (text, expected) in [
            ("title = war", Ok("@attr 1=4 war")),
            ("Title = war", Ok("@attr 1=4 war")),
            ("local.shelf = war", Ok("@attr 1=53 war")),
            ("author = war", Err("author")),
            ("dc.title = war", Err("dc")),
        ] {
            let found = to_rpn(&parse(text).expect(text), &properties);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
                (Err(error), Err(word)) => assert!(!word.is_empty(), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_range_has_two_ends() {
        for (text, expected) in [
            (
                "date within \"1850 1860\"",
                Ok("1=31 2=4 1850, 1=31 2=2 1860"),
            ),
            ("date within 1850 1860", Ok("1=31 2=4 1850, 1=31 2=2 1860")),
            (
                "date within 1850",
                Err("one of the two ends of the range is missing"),
            ),
            (
                "date within \"1850 1855 1860\"",
                Err("one of the two ends of the range is missing"),
            ),
        ] {
            let query = parse(text).expect(text);
            match (to_rpn(&query, &Properties::default()), expected) {
                (Ok(found), Ok(expected)) => {
                    let of = |term: &AttributesPlusTerm| {
                        let pairs = term.attributes.iter().map(|attribute| {
                            let kind = attribute.attribute_type;
                            match (kind, &attribute.attribute_value) {
                                (1 | 2, AttributeValue::Numeric(value)) => {
                                    format!("{kind}={value} ")
                                }
                                _ => String::new(),
                            }
                        });
                        let Term::General(text) = &term.term else {
                            panic!("{term:?}");
                        };
                        let text = String::from_utf8_lossy(text.as_bytes()).into_owned();
                        pairs.collect::<String>() + &text
                    };
                    let terms: Vec<String> = found.rpn.terms().map(of).collect();
                    assert_eq!(terms.join(", "), expected, "{text}");
                    assert!(found.to_string().starts_with("@and "), "{found}");
                }
                (found, expected) => {
                    let error = found.expect_err(text).to_string();
                    let expected = expected.expect_err(text);
                    assert!(error.starts_with(expected), "{error}");
                }
            }
        }
    }
}
