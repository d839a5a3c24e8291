//! Tests of the choice of segments to merge, and of changes during a merge.

use super::changes::{change, id, marc, titles};
use crate::backend::{UpdateAction, UpdateRecord};
use crate::headroom::Headroom;
use crate::memory::catalogue::Catalogue;
use crate::memory::index::Index;
use crate::memory::merge::Merge;
use crate::memory::*;
use crate::testing::record;

/// Returns the catalogue after an update, without merging its segments.
fn updated(catalogue: &Catalogue, action: UpdateAction, records: &[UpdateRecord]) -> Catalogue {
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action,
        records,
    };
    let changed = update::changed(catalogue, &update, None).expect("the database exists");
    changed.expect("no record is refused").catalogue
}

fn empty() -> MemoryBackend {
    let builder = MemoryBackend::builder().add_records("cat", []);
    builder.expect("no records").build()
}

/// Returns a catalogue with segments of these sizes. The record with number `n`, from 0, has `n` as its docid and title.
fn of_segments(sizes: &[usize]) -> Catalogue {
    let mut next = 0;
    let first = updated(&empty().current(), UpdateAction::Insert, &[]);
    sizes.iter().fold(first, |catalogue, size| {
        let numbers = next..next + size;
        next = numbers.end;
        with_segment(&catalogue, numbers)
    })
}

/// Adds a segment with the records that have these numbers to a catalogue.
fn with_segment(catalogue: &Catalogue, numbers: std::ops::Range<usize>) -> Catalogue {
    let new = |number: usize| marc(&record(&number.to_string(), &number.to_string()));
    let records: Vec<_> = numbers.map(new).collect();
    updated(catalogue, UpdateAction::Insert, &records)
}

/// Deletes the records with these numbers from a catalogue.
fn without(catalogue: &Catalogue, numbers: impl IntoIterator<Item = usize>) -> Catalogue {
    let gone = |number: usize| UpdateRecord {
        id: Some(number.to_string().into_bytes().into()),
        record: None,
    };
    let gone: Vec<_> = numbers.into_iter().map(gone).collect();
    updated(catalogue, UpdateAction::Delete, &gone)
}

/// Returns the number of records of each segment, and how many of them are deleted.
fn shape(index: &Index) -> Vec<(usize, usize)> {
    let segments = index.segments();
    segments
        .map(|(_, segment, deleted)| (segment.len(), deleted.len()))
        .collect()
}

fn merged(catalogue: &Catalogue) -> Vec<(usize, usize)> {
    match Merge::due(&catalogue.index, None) {
        Some(due) => {
            let merged = due.perform(&catalogue.fields).expect("room in a segment");
            shape(
                &merged
                    .put_into(&catalogue.index)
                    .expect("the same segments"),
            )
        }
        None => Vec::new(),
    }
}

#[test]
fn sixteen_segments_of_about_the_same_size_are_merged() {
    let ones = |ones| vec![1; ones];
    for (sizes, expected) in [
        (ones(15), &[][..]),
        (ones(16), &[(16, 0)]),
        ([vec![16], ones(15)].concat(), &[]),
        ([vec![16], ones(16)].concat(), &[(16, 0), (16, 0)]),
        ([vec![15], ones(15)].concat(), &[(30, 0)]),
        ([ones(15), vec![40]].concat(), &[(55, 0)]),
        ([ones(14), vec![40, 1]].concat(), &[]),
        ([vec![256], vec![16; 16]].concat(), &[(256, 0), (256, 0)]),
    ] {
        assert_eq!(merged(&of_segments(&sizes)), expected, "{sizes:?}");
    }
}

#[test]
fn merged_segments_have_room_for_all_records() {
    let most = of_segments(&[4096; 15]);
    let full = with_segment(&most, 61_440..65_536);
    assert_eq!(merged(&full), [(65_536, 0)]);
    let more = with_segment(&most, 61_440..65_537);
    assert_eq!(merged(&more), []);
    assert_eq!(merged(&without(&more, [0])), [(65_536, 0)]);
}

#[test]
fn large_segments_of_which_most_records_are_deleted_are_rewritten() {
    let large = of_segments(&[66, 1]);
    assert_eq!(merged(&without(&large, 0..33)), []);
    assert_eq!(merged(&without(&large, 0..34)), [(32, 0), (1, 0)]);
    assert_eq!(merged(&without(&large, 0..66)), [(1, 0)]);
    assert_eq!(merged(&without(&of_segments(&[64, 1]), 0..64)), []);
    assert_eq!(merged(&without(&of_segments(&[65, 1]), 0..65)), [(1, 0)]);
}

#[test]
fn there_is_memory_for_a_merge() {
    let catalogue = of_segments(&[1; 16]);
    let mut octets = 0;
    for (_, segment, _) in catalogue.index.segments() {
        octets += segment.record(0).expect("a record").0.len() as u64;
    }
    for (spare, is_due) in [(10 * octets, true), (10 * octets - 1, false)] {
        let limit = 256 << 20;
        let left = (32 << 20) + spare;
        let due = Merge::due(&catalogue.index, Some(Headroom { left, limit }));
        assert_eq!(due.is_some(), is_due, "{spare}");
    }
}

#[test]
fn changes_in_the_meantime_are_kept() {
    let before = of_segments(&[vec![70], vec![2; 16]].concat());
    let before = without(&before, [72, 75]);
    let due = Merge::due(&before.index, None).expect("sixteen are alike");
    let merged = due.perform(&before.fields).expect("room in a segment");
    let after = without(&before, [3, 70, 76, 101]);
    let new = marc(&record("new", "New"));
    let after = updated(&after, UpdateAction::Insert, &[new]);
    let index = merged.put_into(&after.index).expect("the same segments");
    assert_eq!(shape(&index), [(70, 1), (30, 3), (1, 0)]);
    let backend = empty();
    backend.overtake(after.merged(index));
    let mut expected: Vec<_> = (0..102).map(|number| number.to_string()).collect();
    expected.retain(|number| !["3", "70", "72", "75", "76", "101"].contains(&&**number));
    expected.push("New".to_owned());
    assert_eq!(titles(&backend, "@attr 1=1016 @attr 2=103 x"), expected);
}

#[test]
fn other_records_are_not_overwritten() {
    let before = of_segments(&[1; 16]);
    for other in [of_segments(&[1; 16]), of_segments(&[1; 15])] {
        let due = Merge::due(&before.index, None).expect("sixteen are alike");
        let merged = due.perform(&before.fields).expect("room in a segment");
        assert!(merged.put_into(&other.index).is_none());
    }
}

/// Merging takes place on another thread, so the test waits for it.
#[tokio::test]
async fn updates_have_segments_merged() {
    let backend = empty();
    for number in 0..16 {
        let new = marc(&record(&format!("r{number}"), "New"));
        let inserted = change(&backend, UpdateAction::Insert, &[new]);
        assert!(inserted.iter().all(Result::is_ok));
    }
    while backend.current().index.segments().count() > 1 {
        tokio::task::yield_now().await;
    }
    // This update may have to wait for the thread that merges the segments.
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action: UpdateAction::Delete,
        records: &[id("r3")],
    };
    let deleted = backend.update(update).await.expect("the database exists");
    assert!(deleted.iter().all(Result::is_ok));
    assert_eq!(titles(&backend, "new").len(), 15);
    assert_eq!(shape(&backend.current().index), [(16, 1)]);
}
