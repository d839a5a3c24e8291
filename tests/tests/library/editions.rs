//! Measures how well records for the same edition are recognized, with known duplicates and near misses.

use z3950_front::remote::merge::{Edition, clusters};
use z3950_tests::editions::{Judged, planted};

#[test]
fn few_editions_are_merged_wrongly_or_missed() {
    let planted = planted(200, 90);
    assert_eq!(planted.records.len(), 281 + 200 + 90);
    let editions: Vec<_> = planted.records.iter().map(Edition::of).collect();
    let judged = Judged::new(&planted, &clusters(&editions));
    assert!(judged.precision() >= 0.985, "{judged:?}");
    assert!(judged.recall() >= 0.98, "{judged:?}");
}

#[test]
fn no_two_books_of_the_demo_catalogue_are_merged() {
    let demo = planted(0, 0);
    let editions: Vec<_> = demo.records.iter().map(Edition::of).collect();
    let judged = Judged::new(&demo, &clusters(&editions));
    assert!(judged.wrong.is_empty(), "{judged:?}");
}
