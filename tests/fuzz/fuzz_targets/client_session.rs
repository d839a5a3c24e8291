//! Fuzzes the client's session: arbitrary octets are read as the server's answers to Init, Search and Present, in memory and
//! without waiting.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tokio::io::AsyncWriteExt;
use z3950_asn1::apdu::Query;
use z3950::service::present::PresentOptions;
use z3950::service::search::SearchOptions;
use z3950::{Session, SessionOptions, Timeouts};

fuzz_target!(|octets: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(converse(octets));
});

async fn converse(octets: &[u8]) {
    let (ours, mut theirs) = tokio::io::duplex(octets.len() + (1 << 16));
    theirs.write_all(octets).await.expect("a room is free");
    theirs.shutdown().await.expect("it ends");
    let wait = Some(Duration::from_millis(100));
    let mut timeouts = Timeouts::default().with_answer(wait);
    timeouts.connect = wait;
    let mut options = SessionOptions::default();
    options.timeouts = timeouts;
    if let Ok(session) = Session::over(ours, &options).await {
        let query = Query::Type1("x".parse().expect("a query"));
        let found = session.search(query, &SearchOptions::default()).await;
        if found.is_ok_and(|found| found.hits > 0) {
            // Any outcome is accepted, as long as the request ends.
            let _ = session.present(1, 1, &PresentOptions::default()).await;
        }
    }
}
