//! A first search: connects, searches, and prints titles.
//!
//! Run it with `cargo run --example first_search -- lx2.loc.gov:210/LCDB "war and peace"`. Without arguments, it
//! searches a test server.

use z3950::error::Report;
use z3950::{Client, Query};
use z3950_server::testing::TestServer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let server = TestServer::demo();
    let mut arguments = std::env::args().skip(1);
    let target = arguments
        .next()
        .unwrap_or_else(|| format!("{}/books", server.addr()));
    let title = arguments
        .next()
        .unwrap_or_else(|| "war and peace".to_owned());

    let catalogue = Client::new().connect(&target).await?;
    let hits = catalogue.search(Query::title(&title)).await?;
    println!("{} found", hits.count());
    let mut records = hits.range(1..=5);
    while let Some(record) = records.next().await {
        let record = record?;
        let position = record.position().unwrap_or_default();
        println!("{position}. {}", record.title().unwrap_or_default());
    }
    catalogue.close().await?;
    Ok(())
}
