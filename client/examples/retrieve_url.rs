//! Prints the record named by a retrieval URL of RFC 2056, or the reason why there is none.
//!
//! Run it with `cargo run --example retrieve_url -- 'z39.50r://lib.example/cat?id7;rs=marc'`. Without a URL, it
//! retrieves a record from a test server.

use z3950::error::chain;
use z3950::{Client, Error};
use z3950_server::testing::TestServer;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = TestServer::demo();
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| server.url("books?pg1342;esn=f;rs=marc"));

    match Client::new().get(&url).await {
        Ok(record) => print!("{}", record.text()),
        Err(Error::NoMatch) => eprintln!("the catalogue has no such record"),
        Err(Error::Ambiguous { hits, .. }) => eprintln!("{hits} records have that docid"),
        Err(Error::Refused { diagnostics, .. }) => eprintln!("the server refused: {diagnostics}"),
        Err(error) if error.is_transient() => eprintln!("try again later: {}", chain(&error)),
        Err(error) => eprintln!("{}", chain(&error)),
    }
}
