//! Updates: nodes that fail, refuse, take long or have other records, and clients that go away.

use tokio::sync::{Notify, Semaphore};
use z3950_server::asn1::apdu::{DatabaseName, External};
use z3950_server::backend::{UpdateAction, UpdateRecord};

use super::fake::{Holdings, marc};
use super::*;

/// The answer of a node that has no records and makes every change.
fn obliging(request: &str) -> Vec<u8> {
    if request.starts_with("SELECT ") {
        Holdings::whole(0).answer(request)
    } else {
        packet(OK)
    }
}

fn is_change(request: &str) -> bool {
    request.starts_with("REPLACE INTO books (") || request.starts_with("DELETE ")
}

fn record(id: &str) -> UpdateRecord {
    UpdateRecord::new(None, Some(External::octet_aligned(USMARC, marc(id))))
}

/// Identifiers of records that a node of two has.
fn ids_at(node: u64) -> impl Iterator<Item = String> {
    let ids = (1..).map(|number: u32| format!("id{number}"));
    ids.filter(move |id| EngineLayout::number_of(id.as_bytes()) % 2 == node)
}

async fn updated(
    database: &EngineDatabase,
    action: UpdateAction,
    records: &[UpdateRecord],
) -> Result<Vec<Result<Bytes, Diagnostic>>, Diagnostic> {
    let name = DatabaseName::from("books");
    database.update(Update::new(&name, action, records)).await
}

#[tokio::test]
async fn an_update_goes_on_without_its_client() {
    let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let held = (Arc::clone(&begun), Arc::clone(&gate));
    let first = FakeServer::start(move |request| {
        let (begun, gate) = held.clone();
        async move {
            if is_change(&request) {
                begun.notify_one();
                let _open = gate.acquire().await;
            }
            Some(obliging(&request))
        }
    });
    let first = first.await;
    let second = FakeServer::start(|request| ready(Some(obliging(&request)))).await;
    let database = Arc::new(database(&[&first], &[&first, &second]));
    let [one, other] = [0, 1].map(|node| ids_at(node).next().expect("endless"));
    let records = [record(&one), record(&other)];
    let updating = Arc::clone(&database);
    let update =
        tokio::spawn(async move { updated(&updating, UpdateAction::Insert, &records).await });
    begun.notified().await;
    update.abort();
    assert!(update.await.is_err_and(|ended| ended.is_cancelled()));
    gate.add_permits(1);
    // The next update waits for its end.
    let next = [record(&ids_at(1).nth(1).expect("endless"))];
    let outcomes = updated(&database, UpdateAction::Insert, &next).await;
    assert!(outcomes.is_ok_and(|outcomes| outcomes.iter().all(Result::is_ok)));
    let asked = second.asked();
    let changes: Vec<&String> = asked.iter().filter(|request| is_change(request)).collect();
    assert_eq!(changes.len(), 2, "{asked:?}");
    assert!(changes[0].contains(&other), "{asked:?}");
}

#[tokio::test]
async fn records_are_looked_up_together() {
    let node = FakeServer::start(|request| ready(Some(obliging(&request)))).await;
    let database = database(&[&node], &[&node]);
    let records: Vec<UpdateRecord> = (1..=250).map(|id| record(&format!("id{id}"))).collect();
    let outcomes = updated(&database, UpdateAction::Insert, &records).await;
    assert_eq!(outcomes.expect("done").len(), 250);
    let asked = node.asked();
    let lookups = asked
        .iter()
        .filter(|request| request.starts_with("SELECT id, record "));
    let lookups: Vec<usize> = lookups
        .map(|request| request.matches(',').count())
        .collect();
    assert_eq!(lookups, [100, 100, 50]);
    assert_eq!(asked.iter().filter(|request| is_change(request)).count(), 1);
    // What the update itself adds is known to it, also much later.
    let twice = [&records[..150], &records[..1]].concat();
    let outcomes = updated(&database, UpdateAction::Insert, &twice).await;
    let refused = outcomes.expect("outcomes").pop().expect("the last one");
    let words = format!("{refused:?}");
    assert!(words.contains("already exists"), "{words}");
}

#[tokio::test]
async fn an_update_ends_at_the_first_node_that_fails() {
    let gone = FakeServer::start(|_| ready(None)).await;
    let database = database(&[&gone], &[&gone]);
    let records: Vec<UpdateRecord> = (1..=250).map(|id| record(&format!("id{id}"))).collect();
    let failure = updated(&database, UpdateAction::Insert, &records).await;
    assert_eq!(failure.expect_err("it fails").condition, 109);
    // The check of the node, and nothing more.
    assert_eq!(gone.asked().len(), 2);
}

/// A node that writes its memory to disk makes a change later than it would answer a search.
#[tokio::test]
async fn a_change_may_take_its_time() {
    let busy = FakeServer::start(|request| async move {
        if is_change(&request) {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(200)).await;
            tokio::time::resume();
        }
        Some(obliging(&request))
    });
    let busy = busy.await;
    let database = database(&[&busy], &[&busy]);
    let outcomes = updated(&database, UpdateAction::Insert, &[record("id1")]).await;
    assert!(outcomes.expect("done").iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_change_that_a_node_refuses_is_no_unsupported_search() {
    let refusing = FakeServer::start(|request| {
        let refusal = packet(b"\xff\x28\x04#42000out of memory");
        ready(Some(if is_change(&request) {
            refusal
        } else {
            obliging(&request)
        }))
    });
    let refusing = refusing.await;
    let database = database(&[&refusing], &[&refusing]);
    let refused = updated(&database, UpdateAction::Insert, &[record("id1")]).await;
    let refused = refused.expect_err("refused");
    assert_eq!(refused.condition, 2);
    assert!(format!("{refused:?}").contains("out of memory"));
}

/// Each update asks its nodes, whose records may have been loaded anew since the start.
#[tokio::test]
async fn records_made_with_another_layout_get_no_others() {
    let foreign: &[Option<&[u8]>] = &[Some(b"0123456789abcdef")];
    let total: &[Option<&[u8]>] = &[Some(b"total_found"), Some(b"1")];
    let layouts = answer(&[foreign], &[total]);
    let misplaced = result(1, &[&[Some(b"1")]], false);
    for (node, part) in [
        (0, String::from(token::LAYOUT)),
        (0, "SELECT id FROM books LIMIT".to_owned()),
        (1, String::from(token::LAYOUT)),
    ] {
        let found = if part.starts_with("SELECT") {
            misplaced.clone()
        } else {
            layouts.clone()
        };
        let changed = FakeServer::start(move |request| {
            ready(Some(if request.contains(&part) {
                found.clone()
            } else {
                obliging(&request)
            }))
        });
        let changed = changed.await;
        let sound = FakeServer::start(|request| ready(Some(obliging(&request)))).await;
        let mut nodes = [&changed, &sound];
        if node == 1 {
            nodes.reverse();
        }
        let database = database(&[&sound], &nodes);
        let ids = [0, 1].map(|node| ids_at(node).next().expect("endless"));
        let records = ids.map(|id| record(&id));
        for action in [
            UpdateAction::Insert,
            UpdateAction::Replace,
            UpdateAction::Delete,
        ] {
            let refused = updated(&database, action, &records).await;
            let refused = refused.expect_err("refused");
            assert_eq!(refused.condition, 109);
            assert!(format!("{refused:?}").contains("does not fit the settings"));
        }
        let asked = [changed.asked(), sound.asked()].concat();
        assert!(!asked.iter().any(|request| is_change(request)), "{asked:?}");
    }
}

/// The number of an identifier is a hash.
#[tokio::test]
async fn an_identifier_whose_number_is_taken_is_refused_with_advice() {
    // Whatever the number is, the node has a record that is named by it.
    let full =
        FakeServer::start(|request| ready(Some(Holdings::whole(usize::MAX).answer(&request))));
    let full = full.await;
    let database = database(&[&full], &[&full]);
    let outcomes = updated(&database, UpdateAction::Special, &[record("id1")]).await;
    let words = format!("{outcomes:?}");
    assert!(words.contains("choose another"), "{words}");
}
