//! Tests of the limits of clauses, with queries that reach each limit and queries that exceed it by one.

use z3950_asn1::apdu::{Operator, RpnQuery, RpnRpnOp, RpnStructure};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::parse_pqf;
use z3950_server::memory::{AccessPoints, DocidField, Profile};

use super::*;
use crate::engine::IndexUses;
use crate::engine::clause::{MOST_LEAVES, MOST_LEVELS, MOST_OPERATORS, translate};

fn layout() -> EngineLayout {
    let (points, uses) = (AccessPoints::default(), IndexUses::default());
    let layout = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
    layout.expect("indexes")
}

/// Returns the condition with which a query is refused; 0 if it is accepted.
fn condition(rpn: RpnStructure) -> i64 {
    let query = RpnQuery {
        attribute_set: BIB_1,
        rpn,
    };
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    match translate(&layout(), &query, &none, false) {
        Ok(_) => 0,
        Err(why) => why.condition,
    }
}

/// Parses a single term in PQF.
fn term(pqf: &str) -> RpnStructure {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    query.rpn
}

fn combined(op: Operator, rpn1: RpnStructure, rpn2: RpnStructure) -> RpnStructure {
    RpnStructure::RpnRpnOp(Box::new(RpnRpnOp { rpn1, rpn2, op }))
}

/// Returns a query that joins these terms by an operator.
fn joined(operator: Operator, terms: usize, of: impl Fn(usize) -> RpnStructure) -> RpnStructure {
    let others = 1..terms;
    others.fold(of(0), |query, number| {
        combined(operator.clone(), query, of(number))
    })
}

/// Returns a query with this number of levels, alternating AND and OR.
fn nest(levels: usize) -> RpnStructure {
    let levels = 2..=levels;
    levels.fold(term("x"), |query, level| {
        let operator = if level % 2 == 0 {
            Operator::And
        } else {
            Operator::Or
        };
        combined(operator, term("@attr 1=4 a"), query)
    })
}

#[test]
fn queries_are_bounded() {
    let word = |_| term("w");
    let in_turn = |number: usize| term(["@attr 1=4 w", "@attr 1=1003 w"][number % 2]);
    let exhausted = Condition::RESOURCES_EXHAUSTED.0;
    for (query, expected) in [
        (joined(Operator::And, MOST_LEAVES, word), 0),
        (joined(Operator::And, MOST_LEAVES + 1, word), exhausted),
        // Terms in the same index form one leaf.
        (joined(Operator::Or, 10_000, word), 0),
        (joined(Operator::Or, 10_000, in_turn), 0),
        (joined(Operator::AndNot, MOST_LEAVES + 1, word), exhausted),
        (nest(MOST_LEVELS), 0),
        (nest(MOST_LEVELS + 1), exhausted),
        (nest(5_000), exhausted),
        (joined(Operator::Or, MOST_OPERATORS + 1, word), 0),
        (
            joined(Operator::Or, MOST_OPERATORS + 2, word),
            Condition::TOO_MANY_OPERATORS.0,
        ),
    ] {
        let depth = query.depth();
        assert_eq!(condition(query), expected, "{depth}");
    }
}

#[test]
fn terms_have_their_own_clauses() {
    let rpn = parse_pqf("@and war @not peace @attr 1=4 love").expect("a query");
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    for (with_terms, expected) in [(true, &["war", "peace", "love"][..]), (false, &[])] {
        let found = translate(&layout(), &rpn, &none, with_terms).expect("a clause");
        let words = found.terms.iter().map(|(_, clause)| match clause {
            Clause::Leaf(IndexLeaf::Terms(_, texts)) => texts.concat(),
            other => panic!("{other:?}"),
        });
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn no_alternative_is_lost_behind_a_list() {
    let of = |access: i64| format!("@attr 1={access} a");
    let [title, author, subject, publisher] = [4, 1003, 21, 1018].map(of);
    for (pqf, leaves) in [
        (format!("@or @and {title} {author} {subject}"), 3),
        (format!("@or {subject} @and {title} {author}"), 3),
        (
            format!("@or @or @not {title} {author} {subject} {publisher}"),
            4,
        ),
        (
            format!("@or @or @and {title} {author} {subject} {subject}"),
            3,
        ),
    ] {
        let query = parse_pqf(&pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
        let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
        let translated = translate(&layout(), &query, &none, false).expect(&pqf);
        let mut count = 0;
        translated.clause.each_leaf(&mut |_| count += 1);
        assert_eq!(count, leaves, "{pqf}");
    }
}
