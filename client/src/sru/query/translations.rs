//! Earlier translations of type-1 queries to CQL. Many lookups differ only in their terms, and mapping attributes to
//! CQL indexes and relations takes longer than everything else that the client does for a request.

use z3950_asn1::apdu::{Operand, RpnQuery, Term};
use z3950_asn1::query::cql::{Cql, Node, Word};

use super::for_each_clause;

/// The maximum number of stored translations.
const MAX_KEPT: usize = 16;
/// The maximum number of terms in a query whose translation is stored.
const MAX_TERMS: usize = 8;
/// The word that replaces each term.
const PLACEHOLDER: &str = "x";

/// The translations made in one session, whose options never change.
#[derive(Debug, Default)]
pub(in crate::sru) struct Translations(Vec<(RpnQuery, Cql)>);

/// A query without its terms, and the terms separately.
pub(super) struct Skeleton {
    /// The query, with [`PLACEHOLDER`] in place of each term.
    pub(super) query: RpnQuery,
    /// The removed terms, in the order of the operands.
    terms: Vec<String>,
}

impl Skeleton {
    /// Returns the skeleton of a query, or `None` unless its terms are plain words, which do not influence the
    /// translation.
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

    /// Inserts the terms into the translation of the skeleton. Returns `None` if the translation does not have one
    /// placeholder for each term.
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

    /// Returns the query in CQL, if a query with the same skeleton has been translated before.
    pub(super) fn find(&self, skeleton: &Skeleton) -> Option<Cql> {
        let mut kept = self.0.iter();
        let (_, translation) = kept.find(|(query, _)| *query == skeleton.query)?;
        skeleton.filled(translation.clone())
    }

    /// Stores the translation of a skeleton. If the maximum number is stored, it replaces the oldest translation.
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
