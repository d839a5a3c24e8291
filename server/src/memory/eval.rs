//! Evaluates queries: looks up operands in the indexes, and applies operators to sets of records and positions (Z39.50-2003
//! §3.7.1, §3.7.2). The query tree is walked with explicit stacks, so that its depth is not limited by the thread's stack.

mod proximity;

use z3950_asn1::apdu::{
    AttributesPlusTerm, Operand, Operator, ProximityOperator, ResultSetId, RpnRpnOp, RpnStructure,
    Term,
};

use self::proximity::{Entries, Proximity, Spans};
use crate::backend::{Search, TermCount};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::attributes::{Look, LookTarget, WordOrder, look};
use crate::memory::fields::{Fields, IndexId};
use crate::memory::hits::HitSet;
use crate::memory::index::{Edges, Exhausted, Index, Pattern, Terms, WorkBudget};

/// The result of a query in all databases.
#[derive(Debug)]
pub(in crate::memory) struct Evaluated<'a> {
    /// The records found.
    pub(in crate::memory) hits: HitSet<'a>,
    /// The terms of the query with their counts, from left to right; empty if the search does not request them.
    pub(in crate::memory) term_counts: Vec<TermCount>,
}

/// The maximum number of operators in a query.
const MOST_OPERATORS: usize = 20_000;
/// The number of octets in a term that are folded per unit of work.
const OCTETS_A_UNIT: usize = 4;
/// The maximum size of intermediate results, in octets: sets and positions that are waiting for their operator. A query that
/// needs more fails with condition 31.
const MOST_OCTETS: usize = 16 * 1024 * 1024;

/// Evaluates a query. Terms are counted in `databases`, or in all databases if that is `None`.
///
/// # Errors
/// Fails with the condition for the first unsupported part of the query, from left to right, or with condition 31 for too much
/// work.
pub(in crate::memory) fn find<'a>(
    index: &'a Index,
    fields: &Fields,
    search: &Search<'_>,
    databases: Option<&[u16]>,
    work: &mut WorkBudget,
) -> Result<Evaluated<'a>, Diagnostic> {
    let mut evaluation = Evaluation::new(index, fields, search, databases, work);
    while let Some(step) = evaluation.steps.pop() {
        evaluation.take(step)?;
    }
    Ok(Evaluated {
        hits: evaluation.set(),
        term_counts: evaluation.term_counts,
    })
}

/// A step in the evaluation of a query.
enum Step<'q> {
    /// Find the records that a tree matches, or the positions of its matches in these records.
    Tree {
        tree: &'q RpnStructure,
        places: bool,
    },
    /// Combine two sets of records.
    Combine(&'q Operator),
    /// Combine two operands by proximity, into records or into positions.
    Near { proximity: Proximity, places: bool },
}

struct Evaluation<'a, 'q> {
    index: &'a Index,
    fields: &'q Fields,
    search: &'q Search<'q>,
    databases: Option<&'q [u16]>,
    work: &'q mut WorkBudget,
    /// The remaining steps of the evaluation; the next step is the last element.
    steps: Vec<Step<'q>>,
    /// The results of trees that are waiting for their operator.
    sets: Vec<HitSet<'a>>,
    /// The operands that are waiting for their proximity operator.
    near: Vec<Near<'a>>,
    /// The number of octets in the sets and positions that are waiting.
    octets: usize,
    term_counts: Vec<TermCount>,
    operators: usize,
}

impl<'a, 'q> Evaluation<'a, 'q> {
    fn new(
        index: &'a Index,
        fields: &'q Fields,
        search: &'q Search<'q>,
        databases: Option<&'q [u16]>,
        work: &'q mut WorkBudget,
    ) -> Self {
        Self {
            index,
            fields,
            search,
            databases,
            work,
            steps: vec![Step::Tree {
                tree: &search.query.rpn,
                places: false,
            }],
            sets: Vec::new(),
            near: Vec::new(),
            octets: 0,
            term_counts: Vec::new(),
            operators: 0,
        }
    }

    fn take(&mut self, step: Step<'q>) -> Result<(), Diagnostic> {
        match step {
            Step::Tree {
                tree: RpnStructure::Op(operand),
                places,
            } => {
                if places {
                    self.phrase(operand)?
                } else {
                    self.operand(operand)?
                }
            }
            Step::Tree {
                tree: RpnStructure::RpnRpnOp(node),
                places,
            } => {
                self.operators += 1;
                if self.operators > MOST_OPERATORS {
                    let most = MOST_OPERATORS.to_string();
                    return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
                }
                match &node.op {
                    Operator::Prox(operator) => {
                        let proximity = self.proximity(operator, places)?;
                        self.steps.push(Step::Near { proximity, places });
                        self.push_trees(node, true);
                    }
                    // Records found by operators other than proximity do not have positions, so they cannot be operands of
                    // proximity.
                    _ if places => return Err(diagnostic(Condition::PROXIMITY_OF_SETS, "")),
                    // `a or (b or c)` is evaluated as `(a or b) or c`, so that a chain needs at most two sets at a time.
                    operator if self.is_chained(operator) => {
                        for step in [
                            Step::Tree {
                                tree: &node.rpn2,
                                places,
                            },
                            Step::Combine(operator),
                            Step::Tree {
                                tree: &node.rpn1,
                                places,
                            },
                        ] {
                            self.steps.push(step);
                        }
                    }
                    operator => {
                        self.steps.push(Step::Combine(operator));
                        self.push_trees(node, false);
                    }
                }
            }
            Step::Combine(operator) => {
                let (right, left) = (self.set(), self.set());
                self.work.spend(1 + left.units() + right.units())?;
                self.keep(match operator {
                    Operator::And => left.and(right),
                    Operator::Or => left.or(right),
                    Operator::AndNot | Operator::Prox(_) => left.and_not(right),
                })?;
            }
            Step::Near { proximity, places } => self.near(proximity, places)?,
        }
        Ok(())
    }

    /// Pops the result of a tree.
    fn set(&mut self) -> HitSet<'a> {
        let set = self.sets.pop().unwrap_or_default();
        self.octets -= set.octets();
        set
    }

    /// Pushes the result of a tree.
    fn keep(&mut self, set: HitSet<'a>) -> Result<(), Exhausted> {
        self.take_up(set.octets())?;
        self.sets.push(set);
        Ok(())
    }

    fn take_up(&mut self, octets: usize) -> Result<(), Exhausted> {
        self.octets += octets;
        if self.octets <= MOST_OCTETS {
            self.work.keep(self.octets)
        } else {
            Err(Exhausted)
        }
    }

    /// Returns whether the next step applies the same operator, `and` or `or`, so that the operands of both operators can be
    /// combined in any order.
    fn is_chained(&self, operator: &Operator) -> bool {
        match self.steps.last() {
            Some(Step::Combine(Operator::And)) => matches!(operator, Operator::And),
            Some(Step::Combine(Operator::Or)) => matches!(operator, Operator::Or),
            _ => false,
        }
    }

    fn count(&mut self, operand: &AttributesPlusTerm, set: &HitSet<'a>) -> Result<(), Exhausted> {
        if self.search.term_counts {
            self.work.spend(1 + set.units())?;
            self.term_counts.push(TermCount {
                operand: operand.clone(),
                records: self.index.visible(set.clone(), self.databases).len(),
            });
        }
        Ok(())
    }

    fn look<'o>(&mut self, operand: &'o AttributesPlusTerm) -> Result<Look<'o>, Diagnostic> {
        let octets = match &operand.term {
            Term::General(octets) => octets.len(),
            Term::CharacterString(text) => text.as_bytes().len(),
            _ => 0,
        };
        self.work.spend(1 + octets / OCTETS_A_UNIT)?;
        let look = look(self.fields, &self.search.query.attribute_set, operand)?;
        if let Some(time) = look.compiled_in() {
            self.work.spend_time(time)?;
        }
        Ok(look)
    }

    fn push_trees(&mut self, node: &'q RpnRpnOp, places: bool) {
        for tree in [&node.rpn2, &node.rpn1] {
            self.steps.push(Step::Tree { tree, places });
        }
    }

    fn proximity(
        &self,
        operator: &ProximityOperator,
        places: bool,
    ) -> Result<Proximity, Diagnostic> {
        if !self.fields.profile.proximity {
            return Err(diagnostic(Condition::OPERATOR, "proximity"));
        }
        let proximity = Proximity::read(operator)?;
        // With the exclusion flag, the records found have no matching pair of terms, and so no positions for the outer operator.
        if places && proximity.exclusion {
            let why = "exclusion inside proximity";
            return Err(diagnostic(Condition::PROXIMITY, why));
        }
        Ok(proximity)
    }

    fn operand(&mut self, operand: &Operand) -> Result<(), Diagnostic> {
        let set = match operand {
            Operand::AttributesPlusTerm(operand) => {
                let look = self.look(operand)?;
                let set = records(self.index, &look, self.work)?;
                self.count(operand, &set)?;
                set
            }
            Operand::ResultSet(name) => {
                let name = name.0.as_bytes();
                if !self.fields.profile.result_sets {
                    return Err(diagnostic(Condition::RESULT_SET_AS_TERM, name));
                }
                let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
                let hits = (self.search.result_set)(name).ok_or_else(unknown)?;
                let set = self.index.adopt(&hits, self.work)?;
                set.ok_or_else(unknown)?
            }
            Operand::ResultAttr(operand) => {
                let name = operand.result_set.0.as_bytes();
                return Err(diagnostic(Condition::RESTRICTION_OPERAND, name));
            }
        };
        Ok(self.keep(set)?)
    }

    /// Looks up the positions of a term: a word or a phrase.
    fn phrase(&mut self, operand: &Operand) -> Result<(), Diagnostic> {
        let of_set = |name: &ResultSetId| {
            let name = name.0.as_bytes();
            Err(diagnostic(Condition::PROXIMITY_OF_SETS, name))
        };
        let operand = match operand {
            Operand::AttributesPlusTerm(operand) => operand,
            Operand::ResultSet(name) => return of_set(name),
            Operand::ResultAttr(operand) => return of_set(&operand.result_set),
        };
        let look = self.look(operand)?;
        let refused = |why| Err(diagnostic(Condition::PROXIMITY, why));
        let Look {
            target: LookTarget::Words(index, words, order),
            negated: false,
        } = look
        else {
            return refused("a term that is not a word or phrase");
        };
        let edges = match order {
            WordOrder::Phrase(edges) => edges,
            WordOrder::All | WordOrder::Some if words.len() == 1 => Edges::default(),
            _ => return refused("several words that are not a phrase"),
        };
        let records = self.index.phrase(index, &words, edges, self.work)?;
        self.count(operand, &records)?;
        self.push_near(Near {
            index,
            records,
            places: Where::Phrase { words, edges },
        })?;
        Ok(())
    }

    /// Applies a proximity operator to the last two operands.
    fn near(&mut self, proximity: Proximity, places: bool) -> Result<(), Diagnostic> {
        let (Some(right), Some(left)) = (self.pop_near(), self.pop_near()) else {
            return Ok(());
        };
        let index = left.index;
        if index != right.index {
            let why = "operands of different indexes";
            return Err(diagnostic(Condition::PROXIMITY, why));
        }
        self.work
            .spend(1 + left.records.units() + right.records.units())?;
        let both = left.records.clone().and(right.records.clone());
        let left = self.spans(left, &both)?;
        let right = self.spans(right, &both)?;
        let mut spans = Spans::default();
        let kept = self.octets + left.octets() + right.octets();
        self.work.keep(kept)?;
        for part in both.by_segment() {
            let boundaries = self.index.boundaries(&part, self.work)?;
            let entries = Entries {
                left: &left,
                right: &right,
                boundaries: &boundaries,
            };
            spans.add(&proximity, entries, places, self.work)?;
            self.work.keep(kept + spans.octets())?;
        }
        let records = spans.records();
        match (places, proximity.exclusion) {
            (true, _) => self.push_near(Near {
                index,
                records,
                places: Where::Spans(spans),
            })?,
            (false, true) => self.keep(both.and_not(records))?,
            (false, false) => self.keep(records)?,
        }
        Ok(())
    }

    fn push_near(&mut self, near: Near<'a>) -> Result<(), Exhausted> {
        self.take_up(near.octets())?;
        self.near.push(near);
        Ok(())
    }

    fn pop_near(&mut self) -> Option<Near<'a>> {
        let near = self.near.pop()?;
        self.octets -= near.octets();
        Some(near)
    }

    fn spans(&mut self, near: Near<'a>, within: &HitSet<'a>) -> Result<Spans, Exhausted> {
        match near.places {
            Where::Spans(spans) => Ok(spans),
            Where::Phrase { words, edges } => {
                let (index, within) = (self.index, Some(within));
                let starts = index.phrase_places(near.index, &words, edges, within, self.work)?;
                Ok(Spans::of_phrases(&starts, words.len()))
            }
        }
    }
}

/// An operand of a proximity operator.
struct Near<'a> {
    index: IndexId,
    records: HitSet<'a>,
    places: Where,
}

impl Near<'_> {
    fn octets(&self) -> usize {
        let spans = match &self.places {
            Where::Phrase { .. } => 0,
            Where::Spans(spans) => spans.octets(),
        };
        self.records.octets() + spans
    }
}

/// The positions of an operand. They are only looked up when the relevant records are known.
enum Where {
    Phrase { words: Vec<Pattern>, edges: Edges },
    Spans(Spans),
}

/// Returns the records found by a lookup.
///
/// # Errors
/// Fails if the work budget is exhausted.
pub(super) fn records<'a>(
    index: &'a Index,
    look: &Look<'_>,
    work: &mut WorkBudget,
) -> Result<HitSet<'a>, Exhausted> {
    let found = match &look.target {
        LookTarget::Having(of) => having(index, *of, work)?,
        LookTarget::Docid(docid) => index.docid(docid),
        LookTarget::Entries(terms, wanted) => any_of(index, *terms, wanted, work)?,
        LookTarget::Words(of, words, order) => match order {
            WordOrder::Phrase(edges) => index.phrase(*of, words, *edges, work)?,
            WordOrder::Some => any_of(index, Terms::Words(*of), words, work)?,
            WordOrder::All => {
                let find = |word| index.find(Terms::Words(*of), word, work);
                let mut found = words.iter().map(find);
                let mut all = found.next().transpose()?.unwrap_or_default();
                while !all.is_empty()
                    && let Some(found) = found.next()
                {
                    all = all.and(found?);
                }
                all
            }
        },
    };
    Ok(if look.negated {
        having(index, look.target.index(), work)?.and_not(found)
    } else {
        found
    })
}

/// Returns the records with an entry in the index. For the indexes `docid` and `any`, these are all records.
fn having<'a>(
    index: &'a Index,
    of: IndexId,
    work: &mut WorkBudget,
) -> Result<HitSet<'a>, Exhausted> {
    match of {
        IndexId::DOCID | IndexId::ANY => Ok(index.all()),
        of => index.having(of, work),
    }
}

fn any_of<'a>(
    index: &'a Index,
    terms: Terms,
    wanted: &[Pattern],
    work: &mut WorkBudget,
) -> Result<HitSet<'a>, Exhausted> {
    let mut any = HitSet::default();
    for one in wanted {
        any = any.or(index.find(terms, one, work)?);
    }
    Ok(any)
}

#[cfg(test)]
mod tests;
