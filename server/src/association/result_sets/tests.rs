//! Tests of the limits on result sets, and of the order of their eviction.

use z3950_asn1::apdu::DatabaseName;

use super::*;
use crate::backend::{Backend, RecordId, Search};
use crate::budget::Budget;
use crate::memory::MemoryBackend;
use crate::requests::{Sizes, now};

fn limits(result_sets: usize, hits: usize) -> Limits {
    Limits {
        result_sets,
        hits,
        ..Limits::default()
    }
}

fn kept(limits: &Limits) -> ResultSets {
    ResultSets::new(limits, &Budget::new(limits).account(limits))
}

fn set(count: i64) -> ResultSet {
    ResultSet {
        backend: Arc::new(Sizes(Vec::new())),
        hits: (0..count).map(RecordId).collect(),
    }
}

fn keep(sets: &mut ResultSets, name: &str, count: i64) -> Result<(), i64> {
    let kept = sets.keep(name.as_bytes(), set(count));
    kept.map_err(|diagnostic| diagnostic.condition)
}

/// Returns the number of hits in the set, or the condition with which it was refused.
fn look(sets: &ResultSets, name: &str) -> Result<usize, i64> {
    let found = sets.find(name.as_bytes());
    found
        .map(|set| set.hits.len())
        .map_err(|diagnostic| diagnostic.condition)
}

#[test]
fn limits_hold_at_and_past_them() {
    let mut sets = kept(&limits(2, 10));
    assert_eq!(keep(&mut sets, "1", 4), Ok(()));
    assert_eq!(keep(&mut sets, "2", 6), Ok(()));
    assert_eq!(keep(&mut sets, "3", 0), Err(112));
    assert_eq!(keep(&mut sets, "2", 11), Err(31));
    let told = sets.keep(b"2", set(11)).expect_err("too many");
    assert_eq!(
        told.addinfo.to_string_lossy(),
        "11 records are found, and a session keeps at most 10 in its result sets (hits): narrow the search"
    );
    // The failed replacement has deleted the old set.
    assert_eq!(look(&sets, "2"), Err(30));
    assert_eq!(keep(&mut sets, "3", 6), Ok(()));
    assert_eq!(look(&sets, "1"), Ok(4));
}

#[test]
fn a_set_that_the_backend_has_given_up_is_deleted() {
    let backend = MemoryBackend::demo();
    let (databases, query) = ([DatabaseName::from("books")], "war".parse().expect("PQF"));
    let found = now(backend.search(Search::new(&databases, &query)));
    let set = ResultSet {
        hits: found.expect("an answer").hits,
        backend: Arc::new(backend.clone()),
    };
    let mut sets = kept(&limits(2, 1000));
    sets.keep(b"1", set).expect("room");
    for expected in [None, Some(27)] {
        backend.reload(&|_| {}).expect("records from memory");
        assert_eq!(look(&sets, "1").err(), expected);
    }
    assert!(!sets.has(b"1") && sets.delete(b"1"));
}

#[test]
fn the_least_recently_used_sets_are_evicted_first() {
    let mut sets = kept(&limits(9, 10));
    for (name, count) in [("1", 4), ("2", 3), ("none", 0), ("3", 3)] {
        assert_eq!(keep(&mut sets, name, count), Ok(()));
    }
    sets.look_up(b"1").expect("a set");
    assert_eq!(keep(&mut sets, "4", 5), Ok(()));
    let seen = ["1", "2", "none", "3", "4"].map(|name| look(&sets, name));
    assert_eq!(seen, [Ok(4), Err(27), Ok(0), Err(27), Ok(5)]);
    // A new set may have the name of an evicted set. When an evicted set is deleted, the server forgets that it was evicted.
    assert_eq!(keep(&mut sets, "2", 1), Ok(()));
    assert!(!sets.delete(b"3"));
    assert_eq!((look(&sets, "2"), look(&sets, "3")), (Ok(1), Err(30)));
    assert_eq!(keep(&mut sets, "all", 10), Ok(()));
    assert_eq!(sets.hits, 10);
}

#[test]
fn names_are_compared_octet_for_octet() {
    let mut sets = kept(&limits(3, 10));
    for (name, count) in [("a", 1), ("A", 2), ("", 3)] {
        assert_eq!(keep(&mut sets, name, count), Ok(()));
    }
    assert_eq!((look(&sets, "A"), look(&sets, "")), (Ok(2), Ok(3)));
    assert!(sets.delete(b"A") && !sets.delete(b"A"));
    sets.clear();
    assert_eq!((look(&sets, "a"), sets.hits), (Err(30), 0));
}

#[test]
fn octets_are_counted_with_names_and_hits() {
    let octets = |sets: usize, hits: usize| sets * (ENTRY + 1) + 8 * hits;
    let mut sets = kept(&Limits {
        session_octets: octets(3, 100),
        ..Limits::default()
    });
    for (name, count) in [("1", 30), ("2", 30), ("3", 40)] {
        assert_eq!(keep(&mut sets, name, count), Ok(()));
    }
    assert_eq!(sets.charge.octets(), octets(3, 100));
    sets.look_up(b"1").expect("a set");
    // A set of the same size replaces the earlier set, and a larger set evicts the least recently used set.
    assert_eq!(keep(&mut sets, "3", 40), Ok(()));
    assert_eq!(keep(&mut sets, "3", 41), Ok(()));
    let seen = ["1", "2", "3"].map(|name| look(&sets, name));
    assert_eq!(seen, [Ok(30), Err(27), Ok(41)]);
    assert_eq!(sets.charge.octets(), octets(3, 71));
    // A set that is too large even by itself is refused, but only after all other sets have been evicted.
    assert_eq!(keep(&mut sets, "3", 101), Err(31));
    assert_eq!(sets.charge.octets(), octets(2, 0));
    let long = "x".repeat(octets(1, 100));
    assert_eq!(keep(&mut sets, &long, 0), Err(31));
    sets.delete(b"1");
    assert_eq!(sets.charge.octets(), octets(1, 0));
    sets.clear();
    assert_eq!(sets.charge.octets(), 0);
}
