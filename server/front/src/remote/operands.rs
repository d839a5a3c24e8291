//! Supports result sets as operands of a later query (Z39.50-2003 §3.7.1). In the query for a target, each set is replaced by the
//! query that found its records at this target, so the targets need not keep the sets. The order of a set and its merged hits are
//! ignored.

use std::sync::Arc;

use z3950_asn1::apdu::{Operand, Operator, Query, RpnQuery, RpnStructure};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec::encode_value;
use z3950_asn1::oid::Oid;
use z3950_server::backend::{Hits, Search};
use z3950_server::{Diagnostic, diagnostic};

use super::hits::RemoteHits;
use super::upstream::Upstream;

/// The maximum number of operators in a query, after its sets have been replaced by their queries.
const MAX_OPERATORS: usize = 500;

/// The maximum number of octets in a query, after its sets have been replaced by their queries.
const MAX_OCTETS: usize = 64 << 10;

/// A query, and the result sets that it names.
pub(super) struct EarlierSets<'a> {
    query: &'a RpnQuery,
    by_name: Vec<(&'a [u8], Hits)>,
}

impl<'a> EarlierSets<'a> {
    /// Looks up the result sets in a query, if it has any.
    ///
    /// # Errors
    /// Fails with condition 30 for a set that does not exist or belongs to another database, or with condition 18 for a set that
    /// is restricted by attributes.
    pub(super) fn of(search: &Search<'a>) -> Result<Self, Diagnostic> {
        let mut by_name: Vec<(&[u8], Hits)> = Vec::new();
        for operand in search.query.rpn.operands() {
            let name = match operand {
                Operand::ResultSet(name) => name.0.as_bytes(),
                Operand::ResultAttr(restricted) => {
                    let name = restricted.result_set.0.as_bytes();
                    return Err(diagnostic(Condition::RESULT_SET_AS_TERM, name));
                }
                Operand::AttributesPlusTerm(_) => continue,
            };
            if by_name.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let set = (search.result_set)(name);
            let set = set.filter(|set| set.downcast::<RemoteHits>().is_some());
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
            by_name.push((name, set.ok_or_else(unknown)?));
        }
        Ok(Self {
            query: search.query,
            by_name,
        })
    }

    /// Returns the result set if the query consists only of this set, and all records of the set are at these targets.
    pub(super) fn whole(&self, upstreams: &[Arc<Upstream>]) -> Option<&Hits> {
        let RpnStructure::Op(Operand::ResultSet(name)) = &self.query.rpn else {
            return None;
        };
        let hits = self.named(name.0.as_bytes())?;
        let is_here = |name: &str| upstreams.iter().any(|upstream| upstream.name() == name);
        let mut targets = hits.downcast::<RemoteHits>()?.targets();
        targets.all(is_here).then_some(hits)
    }

    /// Returns the query for a target; `None` if the query cannot find records, because the sets do not have records at this
    /// target.
    ///
    /// # Errors
    /// Fails with the diagnostic from the target if its search for one of the sets failed, or with condition 6 or 31 for a query
    /// that is too long.
    pub(super) fn query_at(&self, target: &str) -> Result<Option<RpnQuery>, Diagnostic> {
        if self.by_name.is_empty() {
            return Ok(Some(self.query.clone()));
        }
        self.check_size(target)?;
        let own = self.query.attribute_set;
        let operand = |operand: &Operand| -> Result<_, Diagnostic> {
            Ok(match operand {
                Operand::ResultSet(name) => {
                    let earlier = self.part(name.0.as_bytes(), target)?;
                    earlier.map(|earlier| in_set(earlier, own))
                }
                other => Some(RpnStructure::Op(other.clone())),
            })
        };
        let operator = |operator: &Operator, left, right| Ok(joined(operator, left, right));
        let rpn = self.query.rpn.evaluate(operand, operator)?;
        Ok(rpn.map(|rpn| RpnQuery {
            attribute_set: own,
            rpn,
        }))
    }

    fn named(&self, name: &[u8]) -> Option<&Hits> {
        let mut sets = self.by_name.iter();
        sets.find(|(known, _)| *known == name).map(|(_, set)| set)
    }

    /// Returns the query that found the records of a set at a target.
    fn part(&self, name: &[u8], target: &str) -> Result<Option<&RpnQuery>, Diagnostic> {
        let hits = self.named(name).and_then(Hits::downcast::<RemoteHits>);
        match hits {
            Some(hits) => hits.query_at(target),
            None => Ok(None),
        }
    }

    /// Checks the size of the query before it is built, because a query may name the same sets many times.
    fn check_size(&self, target: &str) -> Result<(), Diagnostic> {
        let (mut operators, mut octets) = (0_usize, encoded(self.query));
        for name in self.query.rpn.result_sets() {
            if let Some(earlier) = self.part(name.0.as_bytes(), target)? {
                operators = operators.saturating_add(operators_of(earlier));
                octets = octets.saturating_add(encoded(earlier));
            }
        }
        operators = operators.saturating_add(operators_of(self.query));
        if operators > MAX_OPERATORS {
            let most = MAX_OPERATORS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
        }
        if octets > MAX_OCTETS {
            let words = format!("the query has more than {MAX_OCTETS} octets");
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
        }
        Ok(())
    }
}

/// Combines queries with OR; returns `None` if there are no queries.
///
/// # Errors
/// Fails with condition 6 if the query becomes too long.
pub(super) fn any_of<'a>(
    queries: impl IntoIterator<Item = &'a RpnQuery>,
) -> Result<Option<RpnQuery>, Diagnostic> {
    let mut all: Option<RpnQuery> = None;
    for query in queries {
        all = Some(match all {
            None => query.clone(),
            Some(RpnQuery { attribute_set, rpn }) => {
                let other = in_set(query, attribute_set);
                let rpn = RpnStructure::combined(rpn, Operator::Or, other);
                let all = RpnQuery { attribute_set, rpn };
                if operators_of(&all) > MAX_OPERATORS || encoded(&all) > MAX_OCTETS {
                    let most = MAX_OPERATORS.to_string();
                    return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
                }
                all
            }
        });
    }
    Ok(all)
}

/// Combines the operands of a query; an operand without records is `None`.
fn joined(
    operator: &Operator,
    left: Option<RpnStructure>,
    right: Option<RpnStructure>,
) -> Option<RpnStructure> {
    match (operator, left, right) {
        (_, Some(left), Some(right)) => Some(RpnStructure::combined(left, operator.clone(), right)),
        (Operator::Or, left, right) => left.or(right),
        (Operator::AndNot, left, None) => left,
        _ => None,
    }
}

/// Converts a query for use within a query that has another default attribute set.
fn in_set(query: &RpnQuery, attribute_set: Oid) -> RpnStructure {
    let mut rpn = query.rpn.clone();
    if query.attribute_set != attribute_set {
        let terms = rpn.terms_mut();
        for attribute in terms.flat_map(|term| &mut term.attributes) {
            attribute.attribute_set.get_or_insert(query.attribute_set);
        }
    }
    rpn
}

fn operators_of(query: &RpnQuery) -> usize {
    query.rpn.operands().count().saturating_sub(1)
}

/// Returns the encoded length of a query in octets; a query that cannot be encoded counts as too long.
fn encoded(query: &RpnQuery) -> usize {
    let encoded = encode_value(&Query::Type1(query.clone()));
    encoded.map_or(usize::MAX, |octets| octets.len())
}
