//! Records a conversation with a server once, and replays it without the server.

use std::error::Error;

use z3950::{Client, Query};
use z3950_server::testing::TestServer;

/// The code under test: returns the titles of the first three hits.
async fn titles(target: &str) -> Result<Vec<String>, z3950::Error> {
    let hits = Client::new()
        .connect(target)
        .await?
        .search(Query::title("emma"))
        .await?;
    let records = hits.range(1..=3).collect().await?;
    Ok(records.iter().filter_map(z3950::Record::title).collect())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::demo();
    let recorded = titles(&format!("{}/books", server.addr())).await?;
    let recording = server.recording();
    server.stop();

    let replay = TestServer::builder().replay(recording).start();
    let again = titles(&format!("{}/books", replay.addr())).await?;
    assert_eq!(recorded, again);
    println!("the same answer: {}", again.join("; "));
    Ok(())
}
