//! A server with rules for faults. It answers the first search with a diagnostic, and does not answer the second search.

use std::error::Error;
use std::time::Duration;

use z3950::{Client, ClientOptions, Query, Timeouts};
use z3950_server::testing::TestServer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::builder()
        .demo()
        .rule("on search nth-of-all=1: fail 2 \"try again later\"")
        .rule("on search nth-of-all=2: silence")
        .start();
    let timeouts = Timeouts::default().with_answer(Duration::from_secs(2));
    let client = Client::with(ClientOptions::default().with_timeouts(timeouts));
    let target = format!("{}/books", server.addr());

    for _ in 0..3 {
        let books = client.connect(&target).await?;
        match books.search(Query::title("emma")).await {
            Ok(hits) => println!("{} found", hits.count()),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
