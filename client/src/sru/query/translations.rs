//! Earlier translations of type-1 queries into CQL: many lookups differ in their terms alone, and finding the indexes and relations of
//! CQL for attributes takes longer than all else that the client does for a request.

use z3950_asn1::apdu::{Operand, RpnQuery, Term};
use z3950_asn1::query::cql::{Cql, Node, Word};

use super::for_each_clause;

/// The most translations that are kept.
const MAX_KEPT: usize = 16;
/// The most terms of a query that is kept.
const MAX_TERMS: usize = 8;
/// What stands for each term.
const PLACEHOLDER: &str = "x";

/// Translations of one session, for which its options do not change.
#[derive(Debug, Default)]
pub(in crate::sru) struct Translations(Vec<(RpnQuery, Cql)>);

/// A query without its terms, and the terms.
pub(super) struct Skeleton {
    /// With [`PLACEHOLDER`] for each term.
    pub(super) query: RpnQuery,
    /// In the order of the operands.
    terms: Vec<String>,
}

impl Skeleton {
    /// The skeleton of a query whose terms are plain words, so that they have no part in the translation.
    pub(super) fn of(query: &RpnQuery) -> Option<Self> {
        let mut terms = Vec::new();
        for operand in query.rpn.operands() {
            let Operand::AttributesPlusTerm(operand) = operand else {
                return None;
            };
            let Term::General(octets) = &operand.term else {
                return None;
            };
            let is_plain = !octets.is_empty() && octets.iter().all(u8::is_ascii_alphanumeric);
            if !is_plain || terms.len() == MAX_TERMS {
                return None;
            }
            terms.push(String::from_utf8(octets.to_vec()).ok()?);
        }
        let mut query = query.clone();
        for operand in query.rpn.terms_mut() {
            operand.term = Term::General(PLACEHOLDER.as_bytes().into());
        }
        Some(Self { query, terms })
    }

    /// The translation of the skeleton with the terms; `None` if it does not have a word for each.
    fn filled(&self, mut translation: Cql) -> Option<Cql> {
        let mut terms = self.terms.iter();
        let mut is_sound = true;
        for_each_clause(&mut translation.query, &mut |node| {
            if let Node::Clause(clause) = node {
                is_sound &= clause.term.text == PLACEHOLDER && clause.extra_terms.is_empty();
                let term = terms.next();
                is_sound &= term.is_some();
                clause.term = Word::new(term.cloned().unwrap_or_default());
            }
        });
        (is_sound && terms.next().is_none()).then_some(translation)
    }
}

impl Translations {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The query in CQL, if one with this skeleton was translated.
    pub(super) fn find(&self, skeleton: &Skeleton) -> Option<Cql> {
        let mut kept = self.0.iter();
        let (_, translation) = kept.find(|(query, _)| *query == skeleton.query)?;
        skeleton.filled(translation.clone())
    }

    /// Keeps the translation of a skeleton; the oldest one makes room.
    pub(super) fn keep(&mut self, skeleton: &Skeleton, translation: Cql) {
        if skeleton.filled(translation.clone()).is_none() {
            return;
        }
        if self.0.len() == MAX_KEPT {
            self.0.remove(0);
        }
        self.0.push((skeleton.query.clone(), translation));
    }
}
