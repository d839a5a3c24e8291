//! Looks up many identifiers in parallel, with at most four sessions.

use futures_util::stream::{self, StreamExt};
use z3950::Client;
use z3950::error::Report;
use z3950_server::testing::TestServer;

#[tokio::main]
async fn main() -> Result<(), Report> {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let client = Client::new();
    let identifiers = [
        "local:pg1342",
        "local:pg2600",
        "local:pg11",
        "isbn:0-14-143951-3",
        "local:nothing",
    ];

    let lookups = stream::iter(identifiers).map(|identifier| {
        let (client, target) = (client.clone(), target.clone());
        async move {
            // When the connection is dropped, its session returns to the client, which uses it for the next lookup.
            let found = client.connect(&target).await?.lookup(identifier).await?;
            Ok::<_, z3950::Error>((identifier, found))
        }
    });
    let mut answers = lookups.buffered(4);
    while let Some(answer) = answers.next().await {
        let (identifier, found) = answer?;
        let titles: Vec<String> = found
            .into_iter()
            .flat_map(|found| found.records)
            .filter_map(|record| record.ok()?.title())
            .collect();
        println!("{identifier}: {}", titles.join("; "));
    }
    client.close_all().await;
    Ok(())
}
