//! Converts type-1 queries to clauses, which describe the records to find independently of the engine's language
//! (Z39.50-2003 §3.7.1). A single term becomes a leaf, whose type depends on the kind of index. A query that is too
//! large or too deep for an engine is refused here, before any request is sent.

pub(super) mod spans;

use z3950_asn1::apdu::{AttributesPlusTerm, Operand, Operator, ProximityOperator, RpnQuery};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_server::memory::Profile;
use z3950_server::{Diagnostic, diagnostic};

/// A condition on records.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Clause<L> {
    /// All records.
    Everything,
    /// No record.
    Nothing,
    /// All conditions in `all` hold, and none in `without`. One of the lists may be empty, but not both.
    All {
        all: Vec<Clause<L>>,
        without: Vec<Clause<L>>,
    },
    /// At least one of these conditions holds.
    Any(Vec<Clause<L>>),
    /// A condition that does not combine other conditions.
    Leaf(L),
}

/// A condition that does not combine other conditions, such as a word in an index.
pub(super) trait Leaf: Clone + Send + Sync + 'static {
    /// The type of a key for sorting records.
    type SortKey: Send + Sync;
    /// The type of a field for counting facets.
    type Counted: Send + Sync;
    /// The type of the identifier of a record.
    type Id: Clone + PartialEq + Send + Sync;

    /// The approximate number of octets of an identifier in memory.
    const ID_OCTETS: usize;

    /// Returns how many leaves the engine counts for this leaf.
    fn leaves(&self) -> usize;

    /// Returns the approximate number of octets that the leaf takes in memory in addition to its own size.
    fn octets(&self) -> usize;

    /// Joins another condition to this one, which then holds if either of the two holds. Returns the other condition if
    /// they cannot be joined.
    fn join(&mut self, other: Self) -> Option<Self>;

    /// Checks that the leaf is not too large for the engine.
    ///
    /// # Errors
    /// Fails with condition 31 for a list that is too long for the engine.
    fn check(&self) -> Result<(), Diagnostic>;
}

/// The maximum number of leaves in a query: OpenSearch and Solr refuse a query with more than 1,024 leaves, or fail
/// with HTTP status 500 if the leaves are in different parts of the query.
pub(super) const MOST_LEAVES: usize = 1_000;
/// The maximum number of levels in a query: an engine that has to recurse much deeper overflows its stack.
pub(super) const MOST_LEVELS: usize = 30;
/// The maximum number of operators in a query.
pub(super) const MOST_OPERATORS: usize = 20_000;
/// The maximum number of leaves in all operands together, before leaves with terms in the same index are joined.
const MOST_OPERAND_LEAVES: usize = 65_536;

impl<L: Leaf> Clause<L> {
    /// Combines two clauses by AND.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, clause) | (clause, Self::Everything) => clause,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (one, other) => {
                let (mut all, mut without) = one.into_lists();
                let (more, more_without) = other.into_lists();
                all.extend(more);
                without.extend(more_without);
                Self::All { all, without }
            }
        }
    }

    /// Combines two clauses by OR.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Nothing, clause) | (clause, Self::Nothing) => clause,
            (one, other) => {
                let mut any = one.into_alternatives();
                for clause in other.into_alternatives() {
                    add_alternative(&mut any, clause);
                }
                match any.pop() {
                    Some(only) if any.is_empty() => only,
                    last => {
                        any.extend(last);
                        Self::Any(any)
                    }
                }
            }
        }
    }

    /// Combines two clauses by AND-NOT.
    pub(super) fn and_not(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Everything) => Self::Nothing,
            (clause, Self::Nothing) => clause,
            (clause, other) => {
                let (all, mut without) = clause.into_lists();
                without.extend(other.into_alternatives());
                Self::All { all, without }
            }
        }
    }

    fn into_lists(self) -> (Vec<Self>, Vec<Self>) {
        match self {
            Self::All { all, without } => (all, without),
            Self::Everything => (Vec::new(), Vec::new()),
            other => (vec![other], Vec::new()),
        }
    }

    fn into_alternatives(self) -> Vec<Self> {
        match self {
            Self::Any(any) => any,
            other => vec![other],
        }
    }

    /// Calls a function with each leaf, from left to right.
    pub(super) fn each_leaf<'c>(&'c self, visit: &mut dyn FnMut(&'c L)) {
        match self {
            Self::Everything | Self::Nothing => {}
            Self::All { all, without } => {
                let clauses = all.iter().chain(without);
                clauses.for_each(|clause| clause.each_leaf(visit));
            }
            Self::Any(any) => any.iter().for_each(|clause| clause.each_leaf(visit)),
            Self::Leaf(leaf) => visit(leaf),
        }
    }

    /// Returns the number of leaves and of levels in the clause.
    fn size(&self) -> Size {
        let leaves = match self {
            Self::Everything | Self::Nothing => 1,
            Self::Leaf(leaf) => leaf.leaves(),
            Self::All { all, without } => return Size::of_all(all.iter().chain(without)),
            Self::Any(any) => return Size::of_all(any.iter()),
        };
        Size { leaves, levels: 1 }
    }

    /// Returns the approximate number of octets that the clause takes in memory.
    pub(super) fn octets(&self) -> usize {
        let of = |clauses: &[Self]| clauses.iter().map(Self::octets).sum::<usize>();
        let more = match self {
            Self::Everything | Self::Nothing => 0,
            Self::All { all, without } => of(all) + of(without),
            Self::Any(any) => of(any),
            Self::Leaf(leaf) => leaf.octets(),
        };
        size_of::<Self>() + more
    }

    /// Returns the clause unless it is too large.
    ///
    /// # Errors
    /// Fails with condition 31 for a clause that is too large for an engine.
    pub(super) fn bounded(self) -> Result<Self, Diagnostic> {
        match &self {
            Self::Leaf(leaf) => leaf.check()?,
            Self::Any(any) => {
                for clause in any {
                    if let Self::Leaf(leaf) = clause {
                        leaf.check()?;
                    }
                }
            }
            _ => {}
        }
        let Size { leaves, levels } = self.size();
        if leaves > MOST_LEAVES {
            Err(exhausted(MOST_LEAVES, "terms"))
        } else if levels > MOST_LEVELS {
            Err(exhausted(MOST_LEVELS, "levels"))
        } else {
            Ok(self)
        }
    }
}

fn exhausted(most: usize, of: &str) -> Diagnostic {
    let words = format!("the search engine takes queries of {most} {of}");
    diagnostic(Condition::RESOURCES_EXHAUSTED, words)
}

/// Adds a clause to a list of alternatives. Leaves are joined if possible.
fn add_alternative<L: Leaf>(any: &mut Vec<Clause<L>>, clause: Clause<L>) {
    let Clause::Leaf(leaf) = clause else {
        any.push(clause);
        return;
    };
    let mut left = Some(leaf);
    for known in any.iter_mut() {
        let Clause::Leaf(known) = known else {
            continue;
        };
        let Some(leaf) = left.take() else {
            return;
        };
        left = known.join(leaf);
    }
    any.extend(left.map(Clause::Leaf));
}

#[derive(Clone, Copy, Debug, Default)]
struct Size {
    leaves: usize,
    levels: usize,
}

impl Size {
    fn of_all<'c, L: Leaf + 'c>(clauses: impl Iterator<Item = &'c Clause<L>>) -> Self {
        let all = clauses
            .map(Clause::size)
            .fold(Self::default(), |sum, one| Self {
                leaves: sum.leaves + one.leaves,
                levels: sum.levels.max(one.levels),
            });
        Self {
            levels: all.levels + 1,
            ..all
        }
    }
}

/// The result of translating a query to a clause.
#[derive(Clone, Debug)]
pub(super) struct Translated<L> {
    /// The condition on the records that the query finds.
    pub(super) clause: Clause<L>,
    /// The terms of the query from left to right, each with its own clause; empty if they were not requested.
    pub(super) terms: Vec<(AttributesPlusTerm, Clause<L>)>,
}

/// The result of translating a part of a query.
pub(super) struct Found<L, P> {
    pub(super) clause: Clause<L>,
    /// The positions of the clause's matches in records, if the clause can be an operand of a proximity.
    pub(super) places: Option<P>,
}

impl<L, P> Found<L, P> {
    pub(super) fn without_places(clause: Clause<L>) -> Self {
        Self {
            clause,
            places: None,
        }
    }
}

/// Translates the terms of a query for the indexes of a database.
pub(super) trait TermReader {
    /// The type of leaf that a term becomes.
    type Leaf: Leaf;
    /// The type of the operands of a proximity.
    type Places;

    /// Returns the profile, which determines the parts of queries that are supported.
    fn profile(&self) -> &Profile;

    /// Returns the clause for a term.
    ///
    /// # Errors
    /// The diagnostic for the first attribute that the index does not support, or for a term that does not match its
    /// attributes.
    fn term(
        &self,
        attribute_set: &Oid,
        term: &AttributesPlusTerm,
    ) -> Result<Found<Self::Leaf, Self::Places>, Diagnostic>;

    /// Combines two operands by proximity (Z39.50-2003 §3.7.2).
    ///
    /// # Errors
    /// Fails with condition 129, 131, 132, 201, 202 or 203 for proximities that the engine does not support.
    fn near(
        &self,
        operator: &ProximityOperator,
        left: Found<Self::Leaf, Self::Places>,
        right: Found<Self::Leaf, Self::Places>,
    ) -> Result<Found<Self::Leaf, Self::Places>, Diagnostic>;
}

/// A function that takes the name of an earlier result set, and returns its clause, or the diagnostic if there is no such set.
pub(super) type ClauseOfSet<'a, L> = dyn Fn(&[u8]) -> Result<Clause<L>, Diagnostic> + 'a;

/// Translates a query. `result_set` returns the clause for an earlier result set.
///
/// # Errors
/// The diagnostic for the first unsupported part of the query, from left to right; condition 31 for a query that is too
/// large or too deep; condition 6 for too many operators.
pub(super) fn translate<R: TermReader>(
    reader: &R,
    query: &RpnQuery,
    result_set: &ClauseOfSet<'_, R::Leaf>,
    with_terms: bool,
) -> Result<Translated<R::Leaf>, Diagnostic> {
    let profile = reader.profile();
    let mut terms = Vec::new();
    let (mut operators, mut leaves) = (0, 0);
    let operand = |operand: &Operand| {
        let found = match operand {
            Operand::AttributesPlusTerm(operand) => {
                let found = reader.term(&query.attribute_set, operand)?;
                if with_terms {
                    terms.push((operand.clone(), found.clause.clone()));
                }
                found
            }
            Operand::ResultSet(name) if profile.result_sets => {
                Found::without_places(result_set(name.0.as_bytes())?)
            }
            Operand::ResultSet(name) => {
                let name = name.0.as_bytes();
                return Err(diagnostic(Condition::RESULT_SET_AS_TERM, name));
            }
            Operand::ResultAttr(operand) => {
                let name = operand.result_set.0.as_bytes();
                return Err(diagnostic(Condition::RESTRICTION_OPERAND, name));
            }
        };
        leaves += found.clause.size().leaves;
        if leaves > MOST_OPERAND_LEAVES {
            return Err(exhausted(MOST_OPERAND_LEAVES, "terms"));
        }
        let clause = found.clause.bounded()?;
        Ok(Found { clause, ..found })
    };
    type Part<R> = Found<<R as TermReader>::Leaf, <R as TermReader>::Places>;
    let operator = |operator: &Operator, left: Part<R>, right: Part<R>| {
        operators += 1;
        if operators > MOST_OPERATORS {
            let most = MOST_OPERATORS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
        }
        let found = match operator {
            Operator::And => Found::without_places(left.clause.and(right.clause)),
            Operator::Or => Found::without_places(left.clause.or(right.clause)),
            Operator::AndNot => Found::without_places(left.clause.and_not(right.clause)),
            Operator::Prox(_) if !profile.proximity => {
                return Err(diagnostic(Condition::OPERATOR, "proximity"));
            }
            Operator::Prox(operator) => reader.near(operator, left, right)?,
        };
        let clause = found.clause.bounded()?;
        Ok(Found { clause, ..found })
    };
    let Found { clause, .. } = query.rpn.evaluate(operand, operator)?;
    Ok(Translated { clause, terms })
}
