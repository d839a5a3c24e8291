//! Rules about queries in reverse Polish notation (Z39.50-2003 §3.7.1, Bib-1).

use std::collections::HashSet;

use z3950_asn1::apdu::{AttributeElement, Operand, RpnQuery, Term};
use z3950_asn1::oid::BIB_1;

use super::Judged;
use crate::client::rules::RuleId;

impl Judged<'_> {
    pub(super) fn query(&mut self, query: &RpnQuery) {
        self.of_class(3, "attributeSet", [&query.attribute_set]);
        let is_bib1 = query.attribute_set == BIB_1;
        for operand in query.rpn.operands() {
            match operand {
                Operand::AttributesPlusTerm(term) => {
                    self.attributes(&term.attributes, is_bib1);
                    let is_empty = match &term.term {
                        Term::General(octets) => octets.is_empty(),
                        Term::CharacterString(text) => text.as_bytes().is_empty(),
                        _ => false,
                    };
                    self.mark(RuleId::QueryTerm, !is_empty, || "an empty term".to_owned());
                }
                Operand::ResultSet(set) => self.operand(set.0.as_bytes()),
                Operand::ResultAttr(restricted) => {
                    self.operand(restricted.result_set.0.as_bytes());
                    self.attributes(&restricted.attributes, is_bib1);
                }
            }
        }
    }

    /// Checks the attributes of a term. `is_bib1` is true if their default attribute set is Bib-1.
    pub(super) fn attributes(&mut self, attributes: &[AttributeElement], is_bib1: bool) {
        let mut types = HashSet::new();
        for attribute in attributes {
            self.of_class(3, "attributeSet", &attribute.attribute_set);
            let number = attribute.attribute_type;
            let own = attribute.attribute_set.as_ref();
            if own.map_or(is_bib1, |set| *set == BIB_1) {
                self.mark(
                    RuleId::QueryAttributeType,
                    (1..=6).contains(&number),
                    || format!("attribute type {number}"),
                );
            }
            let is_first = types.insert((own, number));
            self.mark(RuleId::QueryAttributeOnce, is_first, || {
                format!("two attributes of type {number}")
            });
        }
    }

    fn operand(&mut self, name: &[u8]) {
        let exists = self.known.may_have(name);
        self.mark(RuleId::QueryResultSet, exists, || {
            let name = String::from_utf8_lossy(name);
            format!("the result set {name}, which was not made")
        });
    }
}
