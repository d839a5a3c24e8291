//! The evaluation of a query: operands from the indexes, operators on sets, without recursion, so that a query of a
//! thousand levels takes no stack (Z39.50-2003 §3.7.1).

use z3950_asn1::apdu::{Operand, Operator, RpnQuery, RpnStructure};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;

use super::attributes::{Lookup, lookup};
use super::hits::HitSet;
use super::index::Index;
use crate::backend::Hits;
use crate::diagnostic::{Diagnostic, diagnostic};

/// What remains to be done, the next thing last.
enum Step<'q> {
    Tree(&'q RpnStructure),
    Combine(&'q Operator),
}

/// The records that a query finds, ascending, in whatever database they are; `result_set` gives the session's sets.
///
/// # Errors
/// The first part of the query, from the left, that is not supported.
pub(super) fn evaluate(
    index: &Index,
    query: &RpnQuery,
    result_set: &dyn Fn(&[u8]) -> Option<Hits>,
) -> Result<Hits, Diagnostic> {
    let mut steps = vec![Step::Tree(&query.rpn)];
    let mut found: Vec<HitSet<'_>> = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Tree(RpnStructure::Op(operand)) => {
                found.push(records(index, &query.attribute_set, operand, result_set)?);
            }
            Step::Tree(RpnStructure::RpnRpnOp(node)) => {
                if let Operator::Prox(_) = node.op {
                    return Err(diagnostic(Condition::OPERATOR, "proximity"));
                }
                steps.push(Step::Combine(&node.op));
                steps.push(Step::Tree(&node.rpn2));
                steps.push(Step::Tree(&node.rpn1));
            }
            Step::Combine(operator) => {
                // Both are there: each tree leaves one set behind.
                let right = found.pop().unwrap_or_else(HitSet::empty);
                let left = found.pop().unwrap_or_else(HitSet::empty);
                found.push(match operator {
                    Operator::And => left.and(right),
                    Operator::Or => left.or(right, index.records()),
                    Operator::AndNot | Operator::Prox(_) => left.and_not(right),
                });
            }
        }
    }
    Ok(found.pop().unwrap_or_else(HitSet::empty).into_hits())
}

fn records<'a>(
    index: &'a Index,
    attribute_set: &Oid,
    operand: &Operand,
    result_set: &dyn Fn(&[u8]) -> Option<Hits>,
) -> Result<HitSet<'a>, Diagnostic> {
    match operand {
        Operand::AttributesPlusTerm(operand) => Ok(match lookup(attribute_set, operand)? {
            Lookup::Docid(docid) => index.docid(docid),
            Lookup::Isbn(isbn) => index.isbn(&isbn),
            Lookup::Words(look) if look.phrase => {
                index.phrase(look.index, &look.words, look.truncated)
            }
            Lookup::Words(look) => index.all_words(look.index, &look.words, look.truncated),
        }),
        Operand::ResultSet(name) => {
            let name = name.0.as_bytes();
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
            let hits = result_set(name).ok_or_else(unknown)?;
            Ok(HitSet::shared(hits))
        }
        Operand::ResultAttr(operand) => {
            let name = operand.result_set.0.as_bytes();
            Err(diagnostic(Condition::RESTRICTION_OPERAND, name))
        }
    }
}
