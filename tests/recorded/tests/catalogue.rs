//! Tests with a recording of a catalogue, `tests/catalogue.jsonl`, which makes a server unnecessary. To record it again, name a
//! server:
//!
//! ```sh
//! z3950d --demo --listen 127.0.0.1:2100 &
//! Z3950_RECORD=127.0.0.1:2100 cargo test
//! ```

use recorded_example::titles;
use z3950_server::testing::TestServer;

#[tokio::test]
async fn titles_are_found() {
    let library = TestServer::recorded(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/catalogue.jsonl"
    ));
    let target = format!("{}/books", library.addr());
    let found = titles(&target, "emma").await.expect("titles");
    assert!(
        found.iter().any(|title| title.starts_with("Emma")),
        "{found:?}"
    );
    // All requests were found in the recording.
    assert_eq!(library.not_recorded(), []);
}
