//! Tests that a backend which blocks a thread does not delay other sessions.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::backend::{Hits, RecordId, blocking};
use crate::requests::search as search_for;

/// A backend that blocks the thread in a search for `blocks` until it receives a message, and that panics in a search for
/// `panics`.
struct Blocking(Arc<Mutex<Receiver<()>>>);

impl Backend for Blocking {
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let gate = Arc::clone(&self.0);
        let query = search.query.to_string();
        blocking(move || {
            if query.contains("blocks") {
                let _ = gate.lock().expect("no panic").recv();
            }
            assert!(!query.contains("panics"), "as the test wants");
            Ok([RecordId(1)].into_iter().collect::<Hits>().into())
        })
    }
}

fn start() -> (TestServer, Sender<()>) {
    let (open, gate) = channel();
    let backend = Arc::new(Blocking(Arc::new(Mutex::new(gate))));
    let builder = TestServer::builder().backend(backend);
    let limits = |limits: &mut crate::Limits| {
        limits.operation_time = Some(Duration::from_secs(1));
        // `converse` closes its sending side right after the requests. From then on, the server serves the connection only for
        // `drain_time`, which must therefore be longer than the searches take.
        limits.drain_time = PATIENCE;
    };
    (builder.limit(limits).start(), open)
}

/// Returns the number of hits for a search, or the condition of its diagnostic.
fn outcome(entry: &TranscriptEntry) -> Result<i64, i64> {
    use z3950_asn1::apdu::Records;
    match &entry.apdu {
        Some(Apdu::SearchResponse(found)) => match &*found.records {
            Some(Records::NonSurrogateDiagnostic(why)) => Err(why.condition),
            _ => Ok(found.result_count),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn audit_r_l10_a_blocked_thread_delays_no_other_session() {
    let (server, open) = start();
    // The thread is blocked until the end of the test, and the server has one thread for all sessions.
    let requests = [init(), search_for("blocks"), search_for("war")];
    converse(server.addr(), &requests);
    converse(server.addr(), &[init(), search_for("war")]);
    let entries = server.transcript();
    let answers = entries
        .iter()
        .filter(|entry| entry.name() == "searchResponse");
    let outcomes: Vec<_> = answers.map(outcome).collect();
    assert_eq!(outcomes, [Err(31), Ok(1), Ok(1)]);
    drop(open);
}

#[test]
fn audit_r_l10_a_panic_on_a_blocked_thread_fails_its_request() {
    let (server, open) = start();
    converse(
        server.addr(),
        &[init(), search_for("panics"), search_for("war")],
    );
    let entries = server.transcript();
    let answers = entries
        .iter()
        .filter(|entry| entry.name() == "searchResponse");
    let outcomes: Vec<_> = answers.map(outcome).collect();
    assert_eq!(outcomes, [Err(2), Ok(1)]);
    drop(open);
    assert_eq!(server.stop().panics, 1);
}
