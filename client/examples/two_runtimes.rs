//! Uses one client and one connection in several tokio runtimes. This is also what happens if tests with
//! `#[tokio::test]` share a client.

use std::thread;

use tokio::runtime::Runtime;
use z3950::{Client, Query};
use z3950_server::testing::TestServer;

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let client = Client::new();
    let books = Runtime::new()?.block_on(client.connect(&target))?;

    // The runtime in which the session was opened has ended, so the search opens another session.
    let hits = Runtime::new()?.block_on(books.search(Query::author("austen")))?;
    println!("{} found", hits.count());

    // These two runtimes use the client at the same time.
    thread::scope(|scope| {
        let users = ["emma", "persuasion"].map(|title| {
            let (client, target) = (&client, &target);
            scope.spawn(move || {
                Runtime::new()?.block_on(async {
                    let books = client.connect(target).await?;
                    let hits = books.search(Query::title(title)).await?;
                    println!("{title}: {}", hits.count());
                    Ok::<_, Error>(())
                })
            })
        });
        for user in users {
            user.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
