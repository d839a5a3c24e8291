//! Tests code of your own against a misbehaving server, whose searches succeed but which does not return the second
//! record.

use z3950::error::Report;
use z3950::{Client, Query};
use z3950_server::testing::{TestServer, record};

/// The code to test, which returns the titles of all records that the server sends.
async fn titles(target: &str) -> Result<Vec<String>, z3950::Error> {
    let hits = Client::new()
        .connect(target)
        .await?
        .search(Query::any("emma"))
        .await?;
    let mut titles = Vec::new();
    for position in 1..=hits.count() {
        let record = hits.record(position).await.ok();
        titles.extend(record.and_then(|record| record.title()));
    }
    Ok(titles)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let server = TestServer::builder()
        .database(
            "cat",
            [
                record("1", "Emma"),
                record("2", "Emma"),
                record("3", "Emma"),
            ],
        )
        .rule("on present nth=2: surrogate 14")
        .start();

    let titles = titles(&format!("{}/cat", server.addr())).await?;
    assert_eq!(titles, ["Emma", "Emma"]);
    assert!(server.names().contains(&"presentRequest"));
    println!("{} of 3 records came", titles.len());
    Ok(())
}
