//! A first test. It starts a server with two records in the test's own process, and checks the requests that the server received.

use std::error::Error;

use z3950::{Client, Query};
use z3950_server::testing::{TestServer, record};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Emma"), record("id8", "Persuasion")])
        .start();

    // This client stands for the program under test; any other client will do too.
    let cat = Client::new()
        .connect(format!("{}/cat", server.addr()))
        .await?;
    let hits = cat.search(Query::title("emma")).await?;
    assert_eq!(hits.record(1).await?.title().as_deref(), Some("Emma"));

    println!("{}", server.names().join(" "));
    Ok(())
}
