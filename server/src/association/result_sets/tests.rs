//! The result sets of a session: their limits, and which are evicted first.

use std::sync::Arc;

use super::*;
use crate::backend::RecordId;
use crate::requests::Sizes;

fn limits(result_sets: usize, hits: usize) -> Limits {
    Limits {
        result_sets,
        hits,
        ..Limits::default()
    }
}

fn set(count: u32) -> ResultSet {
    ResultSet {
        backend: Arc::new(Sizes(Vec::new())),
        hits: (0..count).map(RecordId).collect(),
    }
}

fn keep(sets: &mut ResultSets, name: &str, count: u32) -> Result<(), i64> {
    let kept = sets.keep(name.as_bytes(), set(count));
    kept.map_err(|diagnostic| diagnostic.condition)
}

/// The number of hits of the set, or the condition of the refusal.
fn look(sets: &ResultSets, name: &str) -> Result<usize, i64> {
    let found = sets.find(name.as_bytes());
    found
        .map(|set| set.hits.len())
        .map_err(|diagnostic| diagnostic.condition)
}

#[test]
fn limits_hold_at_and_past_them() {
    let mut sets = ResultSets::new(&limits(2, 10));
    assert_eq!(keep(&mut sets, "1", 4), Ok(()));
    assert_eq!(keep(&mut sets, "2", 6), Ok(()));
    assert_eq!(keep(&mut sets, "3", 0), Err(112));
    assert_eq!(keep(&mut sets, "2", 11), Err(31));
    // The failed replacement has deleted the old set.
    assert_eq!(look(&sets, "2"), Err(30));
    assert_eq!(keep(&mut sets, "3", 6), Ok(()));
    assert_eq!(look(&sets, "1"), Ok(4));
}

#[test]
fn the_least_recently_used_sets_are_evicted_first() {
    let mut sets = ResultSets::new(&limits(9, 10));
    for (name, count) in [("1", 4), ("2", 3), ("none", 0), ("3", 3)] {
        assert_eq!(keep(&mut sets, name, count), Ok(()));
    }
    sets.look_up(b"1").expect("a set");
    assert_eq!(keep(&mut sets, "4", 5), Ok(()));
    let seen = ["1", "2", "none", "3", "4"].map(|name| look(&sets, name));
    assert_eq!(seen, [Ok(4), Err(27), Ok(0), Err(27), Ok(5)]);
    // The name is free for a new set, and forgotten when it is deleted.
    assert_eq!(keep(&mut sets, "2", 1), Ok(()));
    assert!(!sets.delete(b"3"));
    assert_eq!((look(&sets, "2"), look(&sets, "3")), (Ok(1), Err(30)));
    assert_eq!(keep(&mut sets, "all", 10), Ok(()));
    assert_eq!(sets.hits, 10);
}

#[test]
fn names_are_compared_octet_for_octet() {
    let mut sets = ResultSets::new(&limits(3, 10));
    for (name, count) in [("a", 1), ("A", 2), ("", 3)] {
        assert_eq!(keep(&mut sets, name, count), Ok(()));
    }
    assert_eq!((look(&sets, "A"), look(&sets, "")), (Ok(2), Ok(3)));
    assert!(sets.delete(b"A") && !sets.delete(b"A"));
    sets.clear();
    assert_eq!((look(&sets, "a"), sets.hits), (Err(30), 0));
}
