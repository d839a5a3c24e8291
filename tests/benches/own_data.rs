//! Measures a custom backend, the example `sqlite`, with 100,000 records. The time of a search followed by a Present of ten
//! records is compared with the time of the same SQL statements without a server, plus the time of the round trips. `cargo bench
//! -p z3950-tests --bench own_data` prints the rows of `BENCHMARKS.md`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::Connection as Database;
use tokio::runtime::Runtime;
use z3950::{Client, Connection, Query};
use z3950_tests::program;
use z3950_tests::surroundings::command;

/// The number of records, which are distributed evenly over the authors.
const RECORDS: u32 = 100_000;
const AUTHORS: u32 = 1_000;
/// The number of searches in a round.
const TIMES: u32 = 300;
const ROUNDS: u32 = 5;
/// The number of records presented after each search.
const PRESENTED: u32 = 10;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("books.db");
    // The example creates the tables, so it is started once before they are filled.
    let (mut server, _) = serve(&file);
    server.kill().expect("it runs");
    server.wait().expect("it ended");
    fill(&file);
    let (mut server, address) = serve(&file);
    let database = Database::open(&file).expect("a database");
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let target = format!("{address}/books");
        let books = Client::new().connect(target).await.expect("a session");
        println!(
            "| round | server, p50 µs | SQL alone | round trips | ratio |\n|---|---|---|---|---|"
        );
        for round in 1..=ROUNDS {
            let (mut served, mut alone, mut trips) = (Vec::new(), Vec::new(), Vec::new());
            for number in 0..TIMES {
                let author = format!("author{:04}", number * 7 % AUTHORS);
                served.push(search_and_present(&books, &author).await);
                alone.push(statements(&database, &author));
                trips.push(round_trips(&books).await);
            }
            let [served, alone, trips] = [served, alone, trips].map(median);
            let ratio = served / (alone + trips);
            println!("| {round} | {served:.0} | {alone:.0} | {trips:.0} | {ratio:.2} |");
        }
    });
    server.kill().expect("it runs");
    server.wait().expect("it ended");
}

/// Starts the example and returns the process and its address.
fn serve(file: &Path) -> (std::process::Child, String) {
    let mut server = command(program::example("sqlite"))
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example runs");
    let mut line = String::new();
    let said = server.stdout.take().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .expect("an address");
    (server, address.to_owned())
}

fn fill(file: &Path) {
    let mut database = Database::open(file).expect("a database");
    let filling = database.transaction().expect("a transaction");
    filling.execute("DELETE FROM books", []).expect("emptied");
    {
        let mut insert = filling
            .prepare("INSERT INTO books VALUES (?, ?, ?)")
            .expect("a statement");
        for number in 1..=RECORDS {
            let title = format!("A history of subject {number} in several volumes");
            let author = format!("author{:04}, Jane", number % AUTHORS);
            insert.execute((number, title, author)).expect("inserted");
        }
    }
    filling
        .execute("INSERT INTO words (words) VALUES ('rebuild')", [])
        .expect("indexed");
    filling.commit().expect("committed");
}

async fn search_and_present(books: &Connection, author: &str) -> Duration {
    let begun = Instant::now();
    let hits = books.search(Query::author(author)).await.expect("hits");
    assert_eq!(hits.count(), u64::from(RECORDS / AUTHORS));
    let records = hits.range(1..=u64::from(PRESENTED)).collect().await;
    assert_eq!(records.expect("records").len(), 10);
    begun.elapsed()
}

/// Returns the time that the example's SQL statements take when they are executed directly on this thread.
fn statements(database: &Database, author: &str) -> Duration {
    let begun = Instant::now();
    let select = "SELECT id FROM books WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?) ORDER BY id";
    let mut select = database.prepare(select).expect("a statement");
    let ids = select.query_map([format!("author : \"{author}\"")], |row| row.get(0));
    let ids: Vec<i64> = ids.expect("rows").map(|id| id.expect("a number")).collect();
    for id in &ids[..10] {
        let select = "SELECT id, title, author FROM books WHERE id = ?";
        let book = database.query_row(select, [id], |row| <(i64, String, String)>::try_from(row));
        book.expect("a book");
    }
    begun.elapsed()
}

/// Returns the time of [`TRIPS`] searches that are refused before any lookup. [`search_and_present`] needs the same number of
/// round trips.
async fn round_trips(books: &Connection) -> Duration {
    let begun = Instant::now();
    for _ in 0..TRIPS {
        let refused = books
            .search(Query::pqf("@attr 1=7 1").expect("a query"))
            .await;
        assert!(refused.is_err());
    }
    begun.elapsed()
}

/// The number of round trips for a search and a present.
const TRIPS: u32 = 2;

/// Returns the median, in microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
