//! Returns a stream of records from a function. The caller need not keep anything else alive, because the stream owns
//! its result set and session.

use std::error::Error;

use futures_util::{Stream, StreamExt, TryStreamExt};
use z3950::{Client, Query};
use z3950_server::testing::TestServer;

/// Returns the titles of all books about a subject, in the order in which the catalogue sends them.
async fn titles(
    client: &Client,
    target: &str,
    subject: &str,
) -> Result<impl Stream<Item = Result<String, z3950::Error>> + Send + 'static, z3950::Error> {
    let catalogue = client.connect(target).await?;
    let hits = catalogue.search(Query::subject(subject)).await?;
    let records = hits.into_stream();
    Ok(records.map_ok(|record| record.title().unwrap_or_default()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::demo();
    let client = Client::new();
    let titles = titles(&client, &format!("{}/books", server.addr()), "fiction").await?;

    // Another task can read the stream, or a web service can send it as the body of a response.
    let reader = tokio::spawn(async move {
        let mut numbered = titles.take(5).enumerate();
        while let Some((index, title)) = numbered.next().await {
            println!("{}. {}", index + 1, title?);
        }
        Ok::<_, z3950::Error>(())
    });
    reader.await??;
    // The client closes the session even though not all records were read.
    client.close_all().await;
    Ok(())
}
