//! Loads: nodes that take long.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Semaphore;
use z3950_server::marc::MarcRecord;

use super::*;
use crate::lock::lock;

#[tokio::test]
async fn a_node_that_takes_long_is_reported_now_and_then() {
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let node = FakeServer::start(move |_| {
        let held = Arc::clone(&held);
        async move {
            let _open = held.acquire().await;
            Some(packet(OK))
        }
    });
    let node = node.await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let slow = move |slow: SlowNode| lock(&told).push((slow.node, slow.waited.as_secs()));
    let layout = Arc::new(layout());
    let load = EngineLoad::new(layout, "books", &[node.place()], true, slow);
    let mut load = load.expect("an address");
    let change = load.changes().of(&MarcRecord::default(), b"");
    load.add(change).await.expect("kept");
    let mark = load.mark().await.expect("sent");
    while node.asked().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::pause();
    for _ in 0..25 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    tokio::time::resume();
    gate.add_permits(1);
    load.reached(mark).await.expect("done");
    let expected = [(node.place(), 10), (node.place(), 20)];
    assert!(lock(&reports).starts_with(&expected), "{reports:?}");
}
