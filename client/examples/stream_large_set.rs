//! Writes every record of a large result set to a MARC file as it arrives; only one chunk is held in memory.
//!
//! Run it with `cargo run --example stream_large_set -- records.mrc`.

use std::fs::File;
use std::io::{BufWriter, Write};

use z3950::error::{Report, chain};
use z3950::{Client, Query};
use z3950_server::testing::TestServer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let server = TestServer::demo();
    // Without an argument, the file is in a temporary folder, which is removed when the program ends.
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1);
    let path = path.map_or_else(|| folder.path().join("records.mrc"), Into::into);
    let mut file = BufWriter::new(File::create_new(path)?);

    let books = Client::new()
        .connect(format!("{}/books", server.addr()))
        .await?;
    let hits = books.search(Query::any("the")).await?;
    let (mut written, mut failed) = (0, 0);
    let mut records = hits.stream();
    while let Some(record) = records.next().await {
        match record {
            Ok(record) => {
                file.write_all(&record.octets())?;
                written += 1;
            }
            // A record that the server cannot send does not end the stream.
            Err(error) => {
                eprintln!("{}", chain(&error));
                failed += 1;
            }
        }
    }
    file.flush()?;
    println!(
        "{written} of {} records written, {failed} failed",
        hits.count()
    );
    Ok(())
}
