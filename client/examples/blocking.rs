//! Searches, iterates, scans and looks up without `async`.
//!
//! Run it with `cargo run --example blocking -- lx2.loc.gov:210/LCDB "war and peace"`. Without arguments, it searches a
//! test server.

use std::error::Error;

use z3950::Query;
use z3950::blocking::Client;
use z3950_server::testing::TestServer;

fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::demo();
    let mut arguments = std::env::args().skip(1);
    let target = arguments
        .next()
        .unwrap_or_else(|| format!("{}/books", server.addr()));
    let title = arguments
        .next()
        .unwrap_or_else(|| "war and peace".to_owned());

    let catalogue = Client::new().connect(&target)?;
    let hits = catalogue.search(Query::title(&title))?;
    println!("{} found", hits.count());
    for record in hits.iter().take(5) {
        let record = record?;
        let position = record.position().unwrap_or_default();
        println!("{position}. {}", record.title().unwrap_or_default());
    }
    for term in catalogue
        .scan(Query::author("austen"))?
        .terms()
        .iter()
        .take(3)
    {
        println!("{}: {}", term.term, term.count.unwrap_or_default());
    }
    if let Some(found) = catalogue.lookup("isbn:0-14-143951-3")? {
        println!("{} found by ISBN", found.hits);
    }
    catalogue.close()?;
    Ok(())
}
