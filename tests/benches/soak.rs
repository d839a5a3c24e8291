//! Runs z3950d under load for ten minutes with a saved database of 100,000 records. Four sessions search, retrieve records, scan
//! and sort, while 4,000 updates and nine reloads are made. Prints the memory and the number of file descriptors every minute,
//! and finally the memory as a multiple of the memory after loading. Nothing is asserted.
//!
//! `Z3950_BENCH=quick` reduces everything to a tenth. Arguments after `--` are passed on to z3950d.

#[path = "server/peers.rs"]
#[expect(dead_code, reason = "only the records are needed here")]
mod peers;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use peers::{Catalogue, Tools};
use tokio::time::{Instant, interval, sleep, sleep_until};
use z3950::{Client, Connection, Query, SortKey};
use z3950_asn1::es::update::Action;
use z3950_marc::{Field, MarcRecord};
use z3950_tests::program::Daemon;
use z3950_tests::random::Random;

/// The duration and the amount of load of a run.
#[derive(Clone, Copy)]
struct Size {
    time: Duration,
    records: usize,
    updates: u32,
    reloads: u32,
}

/// The number of requests after which a reader opens another session.
const REQUESTS: usize = 200;
/// The pause of a reader between two requests.
const PAUSE: Duration = Duration::from_millis(2);
/// The time for which the server is idle before its memory is measured for the last time.
const REST: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let part = if quick { 10 } else { 1 };
    let size = Size {
        time: Duration::from_secs(600) / part,
        records: 100_000 / part as usize,
        updates: 4_000 / part,
        reloads: if quick { 2 } else { 9 },
    };
    let Some(tools) = Tools::find() else {
        return ExitCode::SUCCESS;
    };
    let catalogue = tools.catalogue(size.records);
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved.mrc");
    fs::copy(&catalogue.file, &saved).expect("a copy");
    let further = std::env::args().skip(1).filter(|word| word != "--bench");
    let arguments = ["--save".to_owned(), format!("cat={}", saved.display())];
    let server = Daemon::start(arguments.into_iter().chain(further));
    let soak = Soak {
        target: format!("{}/cat", server.address()),
        size,
        catalogue: &catalogue,
        requests: AtomicUsize::new(0),
        updates: AtomicUsize::new(0),
        errors: AtomicUsize::new(0),
    };
    if let Err(error) = soak.session(&mut Random::new("warm"), 20).await {
        println!("no answer: {error}");
        return ExitCode::FAILURE;
    }
    println!(
        "{} records, four readers, {} updates, {} reloads, {:?}",
        size.records, size.updates, size.reloads, size.time
    );
    println!(
        "{:>8}{:>10}{:>10}{:>8}{:>12}{:>10}{:>8}",
        "s", "MiB", "x loaded", "files", "requests", "updates", "errors"
    );
    let loaded = server.memory();
    let begun = Instant::now();
    soak.show(&server, begun, loaded);
    let end = begun + size.time;
    tokio::join!(
        soak.read("first", end),
        soak.read("second", end),
        soak.read("third", end),
        soak.read("fourth", end),
        soak.update(end),
        soak.reload(&server, end),
        async {
            for minute in 1..10 {
                sleep_until(begun + size.time * minute / 10).await;
                soak.show(&server, begun, loaded);
            }
        }
    );
    soak.show(&server, begun, loaded);
    sleep(REST).await;
    soak.show(&server, begun, loaded);
    ExitCode::SUCCESS
}

/// A run in progress.
struct Soak<'a> {
    target: String,
    size: Size,
    catalogue: &'a Catalogue,
    requests: AtomicUsize,
    updates: AtomicUsize,
    errors: AtomicUsize,
}

type Done = Result<(), Box<dyn Error>>;

impl Soak<'_> {
    /// Reads records in one session after another until the end.
    async fn read(&self, name: &str, end: Instant) {
        let mut random = Random::new(name);
        while Instant::now() < end {
            let session = self.session(&mut random, REQUESTS).await;
            self.count(session);
        }
    }

    async fn session(&self, random: &mut Random, requests: usize) -> Done {
        let client = Client::new();
        let connection = client.connect(&self.target).await?;
        for _ in 0..requests {
            self.request(&connection, random).await?;
            self.requests.fetch_add(1, Ordering::Relaxed);
            sleep(PAUSE).await;
        }
        connection.close().await?;
        Ok(())
    }

    async fn request(&self, connection: &Connection, random: &mut Random) -> Done {
        let word = random.pick(&self.catalogue.words);
        let start = word.get(..3).unwrap_or(word);
        match random.below(10) {
            0 => drop(connection.scan(Query::title(start)).await?),
            1 => drop(
                connection
                    .search(Query::words(&format!("{start}*"))?)
                    .await?,
            ),
            2 => drop(
                connection
                    .search(Query::pqf(&format!("@attr 5=3 {start}"))?)
                    .await?,
            ),
            3 => {
                let [left, right] = &self.catalogue.phrase;
                let query = Query::title(format!("{left} {right}"));
                let mut hits = connection.search(query).await?;
                hits.sort(&[SortKey::ascending("title")?]).await?;
                hits.range(1..=10).collect().await?;
            }
            4 | 5 => {
                let hits = connection.search(Query::title(word)).await?;
                let first = 1 + random.below(1_000) as u64;
                let most = hits.count();
                hits.range(first.min(most)..=(first + 20).min(most))
                    .collect()
                    .await?;
            }
            _ => {
                let docid = format!("rec{:07}", 1 + random.below(self.size.records));
                let hits = connection.search(Query::docid(docid)).await?;
                hits.range(1..=1).collect().await?;
            }
        }
        Ok(())
    }

    /// Inserts, replaces and deletes records in turn, distributed evenly over the time until the end.
    async fn update(&self, end: Instant) {
        let mut random = Random::new("updates");
        let mut ticks = interval(self.size.time / self.size.updates);
        let client = Client::new();
        for number in 0..self.size.updates {
            ticks.tick().await;
            let known = 1 + random.below(self.size.records);
            let (action, docid) = match number % 3 {
                0 => (Action::RECORD_INSERT, format!("new{number:07}")),
                1 => (Action::SPECIAL_UPDATE, format!("rec{known:07}")),
                _ => (Action::RECORD_DELETE, format!("new{:07}", number - 2)),
            };
            let outcome = self.change(&client, action, &docid).await;
            if outcome.is_ok() {
                self.updates.fetch_add(1, Ordering::Relaxed);
            }
            self.count(outcome);
            if Instant::now() >= end {
                break;
            }
        }
        client.close_all().await;
    }

    async fn change(&self, client: &Client, action: Action, docid: &str) -> Done {
        let connection = client.connect(&self.target).await?;
        let title = format!("{} of {docid}", self.catalogue.words.join(" "));
        let record = MarcRecord {
            fields: vec![
                Field::control(b"001", docid.to_owned()),
                Field::data(b"245", "00", [("a", title)]),
            ],
            ..MarcRecord::default()
        };
        connection.update(action, [&record]).await?;
        Ok(())
    }

    /// Requests reloads of the server, distributed evenly over the time until `end`.
    async fn reload(&self, server: &Daemon, end: Instant) {
        let pause = self.size.time / (self.size.reloads + 1);
        for _ in 0..self.size.reloads {
            sleep(pause).await;
            server.signal("HUP");
        }
        sleep_until(end).await;
    }

    fn count(&self, outcome: Done) {
        if let Err(error) = outcome
            && self.errors.fetch_add(1, Ordering::Relaxed) < 10
        {
            println!("{error}");
        }
    }

    fn show(&self, server: &Daemon, begun: Instant, loaded: u64) {
        let memory = server.memory();
        println!(
            "{:>8}{:>10}{:>10.2}{:>8}{:>12}{:>10}{:>8}",
            begun.elapsed().as_secs(),
            memory >> 20,
            memory as f64 / loaded as f64,
            server.descriptors(),
            self.requests.load(Ordering::Relaxed),
            self.updates.load(Ordering::Relaxed),
            self.errors.load(Ordering::Relaxed),
        );
    }
}

/// Returns the folder with the benchmark tools and data, next to the checkout.
fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}
