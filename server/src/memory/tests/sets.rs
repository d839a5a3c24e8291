//! Tests that result sets keep their records after updates, and until the second reload.

use std::sync::Weak;

use super::changes::{catalogue, change, hits, id, marc, title, titles};
use super::pqf;
use crate::backend::{Caller, Composition, UpdateAction};
use crate::memory::*;
use crate::requests::now;
use crate::testing::record;

#[test]
fn result_sets_keep_their_records() {
    let backend = catalogue();
    let before = hits(&backend, "@or war peace");
    assert!(
        change(
            &backend,
            UpdateAction::Replace,
            &[marc(&record("b", "Changed"))]
        )
        .iter()
        .all(Result::is_ok)
    );
    assert!(
        change(&backend, UpdateAction::Delete, &[id("c")])
            .iter()
            .all(Result::is_ok)
    );
    let shown: Vec<_> = before
        .ids(0..9)
        .into_iter()
        .map(|record| title(&backend, &before, record))
        .collect();
    assert_eq!(shown, ["War", "Peace"]);

    // As an operand, a set consists of the records that still exist.
    let with_set = |set: &Hits, query: &str| {
        let (databases, query) = ([DatabaseName::from("cat")], pqf(query));
        let search = Search {
            result_set: &|_| Some(set.clone()),
            ..Search::new(&databases, &query)
        };
        now(backend.search(search))
            .map(|found| found.hits.len())
            .map_err(|diagnostic| diagnostic.condition)
    };
    assert_eq!(with_set(&before, "@set s"), Ok(1));
    assert_eq!(with_set(&before, "@and @set s war"), Ok(1));
    for number in 0..40 {
        let new = record(&format!("n{number}"), "New war");
        assert!(
            change(&backend, UpdateAction::Insert, &[marc(&new)])
                .iter()
                .all(Result::is_ok)
        );
    }
    assert_eq!(with_set(&before, "@and @set s war"), Ok(1));
    assert_eq!(
        with_set(&hits(&backend, "new"), "@not @set s @attr 1=1032 n7"),
        Ok(39)
    );
    let segments = backend.current().index.segments().count();
    assert!(segments < 20, "{segments} segments");
    backend.reload(&|_| {}).expect("records from memory");
    assert_eq!(titles(&backend, "@or peace new"), ["Peace"]);
    assert_eq!(with_set(&before, "@set s"), Err(30));
    let shown: Vec<_> = before
        .ids(0..9)
        .into_iter()
        .map(|record| title(&backend, &before, record))
        .collect();
    assert_eq!(shown, ["War", "Peace"]);
}

/// After the second reload, sets found before the first one are dropped, even if updates were made in between.
#[test]
fn result_sets_last_until_the_second_reload() {
    let backend = catalogue();
    let mut number = 0;
    let mut update = || {
        number += 1;
        let new = marc(&record(&format!("n{number}"), "New"));
        let outcomes = change(&backend, UpdateAction::Insert, &[new]);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    };
    let reload = || backend.reload(&|_| {}).expect("records from memory");
    let find = || (hits(&backend, "war"), Arc::downgrade(&backend.current()));
    let check = |found: &[(Hits, Weak<Catalogue>)], kept: &[bool]| {
        for ((hits, catalogue), is_kept) in found.iter().zip(kept) {
            assert_eq!((hits.is_gone(), hits.len()), (!is_kept, 1));
            assert_eq!(catalogue.strong_count() > 0, *is_kept);
            let ids = hits.ids(0..1);
            let wanted = Retrieve {
                caller: crate::backend::Caller::new(),
                hits,
                record: ids[0],
                composition: &Composition::full(None),
            };
            let retrieved = now(backend.record(wanted)).expect("an answer");
            assert_eq!(retrieved.record.is_ok(), *is_kept);
        }
    };
    let mut found = vec![find()];
    update();
    found.push(find());
    update();
    check(&found, &[true, true]);
    reload();
    found.push(find());
    update();
    check(&found, &[true, true, true]);
    reload();
    found.push(find());
    check(&found, &[false, false, true, true]);
    let sorted = |hits: &Hits| {
        let sort = Sort {
            caller: Caller::new(),
            inputs: std::slice::from_ref(hits),
            keys: &[],
        };
        now(backend.sort(sort)).map_err(|diagnostic| diagnostic.condition)
    };
    assert_eq!(sorted(&found[0].0).map(drop), Err(30));
    assert!(sorted(&found[2].0).is_ok_and(|hits| !hits.is_gone()));
    reload();
    check(&found, &[false, false, false, true]);
    // An old catalogue that no result set refers to is dropped.
    let current = Arc::downgrade(&backend.current());
    update();
    assert_eq!(current.strong_count(), 0);
}
