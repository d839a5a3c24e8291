//! Tests of the limits of shared result sets, at each limit and one past it.

use std::net::Ipv4Addr;

use super::*;
use crate::backend::{Backend, Hits, RecordId};
use crate::budget::Budget;
use crate::memory::MemoryBackend;

fn sets(limits: &Limits) -> SharedSets {
    SharedSets::new(limits, Budget::new(limits).common_account())
}

fn set(records: i64) -> ResultSet {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::demo());
    let hits: Hits = (0..records).map(RecordId).collect();
    ResultSet { backend, hits }
}

fn owner(user: Option<&str>, last: u8) -> SetOwner {
    SetOwner {
        user: user.map(str::to_owned),
        address: Some(Ipv4Addr::new(192, 0, 2, last).into()),
        database: "books".to_owned(),
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_set_expires_when_it_was_not_used_for_its_time() {
    let limits = Limits {
        sru_set_time: MINUTE,
        ..Limits::default()
    };
    let sets = sets(&limits);
    let (name, time) = sets.keep(owner(None, 1), set(3), MINUTE * 2).expect("room");
    assert_eq!(time, MINUTE);
    let almost = MINUTE - Duration::from_millis(1);
    for _ in 0..3 {
        tokio::time::advance(almost).await;
        assert!(sets.find(&name, None, "books").is_some());
    }
    tokio::time::advance(MINUTE).await;
    assert!(sets.find(&name, None, "books").is_none());
    assert!(lock(&sets.sets).by_name.is_empty());
}

#[tokio::test]
async fn a_set_is_for_its_user() {
    let sets = sets(&Limits::default());
    for (own, other) in [
        (None, Some("ann")),
        (Some("ann"), None),
        (Some("ann"), Some("bob")),
    ] {
        let (name, _) = sets.keep(owner(own, 1), set(3), MINUTE).expect("room");
        assert!(
            sets.find(&name, other, "books").is_none(),
            "{own:?} {other:?}"
        );
        assert!(sets.find(&name, own, "serials").is_none());
        let (found, _) = sets.find(&name, own, "books").expect("a set");
        assert_eq!(found.hits.len(), 3);
    }
}

#[tokio::test]
async fn the_least_recently_used_sets_make_room() {
    let limits = Limits {
        sru_sets: 4,
        ..Limits::default()
    };
    let sets = sets(&limits);
    let keep = |last| {
        sets.keep(owner(None, last), set(3), MINUTE)
            .expect("room")
            .0
    };
    let is_kept = |name: &str| lock(&sets.sets).by_name.contains_key(name);
    // One address may have at most half of the sets.
    let [first, second] = [keep(1), keep(1)];
    assert!(sets.find(&first, None, "books").is_some());
    let third = keep(1);
    assert!(is_kept(&first) && !is_kept(&second) && is_kept(&third));
    let [fourth, fifth] = [keep(2), keep(3)];
    assert!(
        [&first, &third, &fourth, &fifth]
            .iter()
            .all(|name| is_kept(name))
    );
    let sixth = keep(4);
    assert!(!is_kept(&first) && is_kept(&third) && is_kept(&sixth));
}

#[tokio::test]
async fn octets_are_charged() {
    let limits = Limits {
        server_octets: Some(2 * (ENTRY + 8000)),
        ..Limits::default()
    };
    let sets = sets(&limits);
    let keep = |last, records| sets.keep(owner(None, last), set(records), MINUTE);
    let (first, _) = keep(1, 1000).expect("as much as all may keep");
    // A set from another address does not replace this set, but a set from the same address does.
    assert!(keep(2, 1).is_err());
    assert!(sets.find(&first, None, "books").is_some());
    let (second, _) = keep(1, 1).expect("room");
    assert!(sets.find(&first, None, "books").is_none());
    assert!(sets.find(&second, None, "books").is_some());
    assert!(keep(1, 1001).is_err());
}

#[tokio::test]
async fn limits_of_zero_keep_no_sets() {
    let limit = |sru_sets, sru_set_time| Limits {
        sru_sets,
        sru_set_time,
        ..Limits::default()
    };
    for (limits, expected) in [
        (limit(0, MINUTE), false),
        (limit(1, Duration::ZERO), false),
        (limit(1, MINUTE), true),
    ] {
        let sets = sets(&limits);
        for last in 1..3 {
            let kept = sets.keep(owner(None, last), set(1), MINUTE);
            assert_eq!(kept.is_ok(), expected, "{limits:?}");
            let count = lock(&sets.sets).by_name.len();
            assert_eq!(count, usize::from(expected));
        }
    }
}
