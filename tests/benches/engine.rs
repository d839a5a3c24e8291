//! `z3950d` in front of Sphinx Search on 1, 2 and 3 nodes, compared with the same statements sent to the engine: loading,
//! searches with their first ten records, memory, and a node killed under load. Prints the rows of `BENCHMARKS.md`.
//!
//! ```sh
//! cargo bench -p z3950-tests --bench engine                                  # 100,000 records that it makes up
//! Z3950_RECORDS=1000000 cargo bench -p z3950-tests --bench engine            # as many
//! Z3950_NODES=3 cargo bench -p z3950-tests --bench engine                    # on three nodes only
//! Z3950_FILE=records.mrc cargo bench -p z3950-tests --bench engine           # those of a file in ISO 2709
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row};
use z3950::{Client, Query};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::{
    EngineDatabase, EngineLayout, EngineLoad, EngineOptions, IndexUses, LoadedTerms,
};
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, Leader, MarcRecord, iso2709};
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_tests::program::Daemon;
use z3950_tests::random::Random;
use z3950_tests::searchd::Engine;

/// The number of queries of each kind, each with words of a different record.
const QUERIES: usize = 300;
/// The number of clients that search while a node is killed.
const CLIENTS: usize = 10;
/// The time for which the clients search.
const LOAD_TIME: Duration = Duration::from_secs(12);
/// The time at which the node is killed, counted from the beginning of [`LOAD_TIME`].
const KILLED_AFTER: Duration = Duration::from_secs(5);
/// The time after which answers must be as fast as before the node was killed.
const RECOVERY: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = match std::env::var_os("Z3950_FILE").map(PathBuf::from) {
        Some(file) => file,
        None => {
            let number = std::env::var("Z3950_RECORDS").ok();
            let number = number.map(|number| number.parse().expect("a number of records"));
            made_up(folder.path(), number.unwrap_or(100_000))
        }
    };
    let (records, samples) = samples(&file);
    let samples = Arc::new(samples);
    let nodes = std::env::var("Z3950_NODES").ok();
    let nodes = nodes.map(|number| number.parse().expect("a number of nodes"));
    for nodes in nodes.map_or(1..=3, |only| only..=only) {
        let Some(mut engine) = Engine::start(nodes) else {
            return;
        };
        let direct = bulk_speed(&engine, &file).await;
        drop(engine);
        engine = Engine::start(nodes).expect("searchd");
        let begun = Instant::now();
        let loaded = engine.load(&[], &[&file]);
        let own = begun.elapsed();
        assert_eq!(loaded.code, Some(0), "{loaded:?}");
        let rate = |time: Duration| records as f64 / time.as_secs_f64();
        println!(
            "{nodes} nodes: {records} records loaded, {:.0}/s, {:.0}/s by the engine's statements alone: {:.2} times (at least 0.8)",
            rate(own),
            rate(direct),
            rate(own) / rate(direct)
        );
        let settings = engine.folder().join("z3950d.toml");
        std::fs::write(&settings, engine.settings("")).expect("written");
        let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
        searches(&engine, &daemon, &samples).await;
        if nodes == 3 {
            node_killed(&mut engine, &daemon, &samples).await;
        }
        println!(
            "{nodes} nodes: z3950d took {} MiB (at most 64)",
            peak(&daemon) >> 10
        );
    }
}

/// Writes a file of made-up records with titles, names, subjects, years and numbers: a few hundred octets each, with word
/// frequencies as in a natural language.
fn made_up(folder: &Path, number: usize) -> PathBuf {
    let mut random = Random::new("engine bench");
    let syllables = [
        "ba", "den", "ko", "li", "mar", "nu", "po", "rest", "si", "tan", "ul", "ver",
    ];
    let word = |random: &mut Random| {
        // The n-th word is about 1/n as frequent as the first word.
        let place = (20_000_f64.powf(random.below(1_000_000) as f64 / 1e6)) as usize;
        let (mut rest, mut word) = (place, String::new());
        while rest > 0 {
            word.push_str(syllables[rest % syllables.len()]);
            rest /= syllables.len();
        }
        word
    };
    let words = |random: &mut Random, count: usize| {
        let words: Vec<String> = (0..count).map(|_| word(random)).collect();
        words.join(" ")
    };
    let path = folder.join("records.mrc");
    let mut file = BufWriter::new(File::create(&path).expect("a file"));
    for at in 1..=number {
        let title = words(&mut random, 5);
        let rest = words(&mut random, 4);
        let name = format!("{}, {}", word(&mut random), word(&mut random));
        let subjects = [(); 3].map(|()| words(&mut random, 2));
        let year = 1900 + random.below(120);
        let mut fields = vec![
            Field::control(b"001", format!("rec{at:07}")),
            Field::control(
                b"008",
                format!("990101s{year}    xx            000 0 eng  "),
            ),
            Field::data(b"020", "  ", [("a", format!("978{at:09}X"))]),
            Field::data(b"100", "1 ", [("a", name)]),
            Field::data(b"245", "10", [("a", title), ("b", rest)]),
            Field::data(
                b"260",
                "  ",
                [("b", words(&mut random, 2)), ("c", year.to_string())],
            ),
        ];
        let subjects = subjects.map(|subject| Field::data(b"650", " 0", [("a", subject)]));
        fields.extend(subjects);
        let leader = Leader::padded(b"00000nam a2200000 a 4500");
        let record = MarcRecord { leader, fields };
        let octets = iso2709::encode(&record).expect("fits");
        file.write_all(&octets).expect("written");
    }
    file.flush().expect("written");
    path
}

fn read(file: &Path) -> impl Iterator<Item = MarcRecord> {
    let input = File::open(file).expect("the file");
    let records = RecordReader::new(input, InputForm::Marc);
    records.map(|record| record.expect("read").record.expect("sound"))
}

/// Words of a record from which queries are made.
struct QuerySample {
    id: String,
    /// Two consecutive words of the title.
    words: (String, String),
    /// A word of the author.
    name: String,
}

/// Returns the number of records in a file, and samples of words from all parts of it.
fn samples(file: &Path) -> (usize, Vec<QuerySample>) {
    let records = read(file).count();
    let every = (records / QUERIES).max(1);
    let samples = read(file)
        .step_by(every)
        .filter_map(|record| sample(&record));
    (records, samples.take(QUERIES).collect())
}

fn sample(record: &MarcRecord) -> Option<QuerySample> {
    let words = |tag: &[u8; 3]| {
        let field = record.fields_by_tag(tag).next()?;
        let text = String::from_utf8_lossy(field.subfield("a")?).into_owned();
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
        Some(words.collect::<Vec<_>>())
    };
    let id = String::from_utf8_lossy(record.control_number()?)
        .trim()
        .to_owned();
    let mut title = words(b"245")?.into_iter();
    let words_of_title = (title.next()?, title.next()?);
    let name = words(b"100")?.into_iter().next()?;
    Some(QuerySample {
        id,
        words: words_of_title,
        name,
    })
}

/// Returns the queries for a record with the names of their kinds.
fn queries(sample: &QuerySample) -> [(&'static str, String); 5] {
    let QuerySample {
        id,
        words: (one, two),
        name,
    } = sample;
    let start: String = one.chars().take(4).collect();
    [
        ("known item", format!("@attr 1=1032 {id}")),
        ("word", format!("@attr 1=4 {one}")),
        ("phrase", format!("@attr 1=4 @attr 4=1 \"{one} {two}\"")),
        ("and", format!("@and @attr 1=4 {one} @attr 1=1003 {name}")),
        ("truncation", format!("@attr 1=4 @attr 5=1 {start}")),
    ]
}

fn layout() -> Arc<EngineLayout> {
    let points = AccessPoints::default();
    let (profile, docid) = (Profile::default(), DocidField::default());
    let layout = EngineLayout::new(points, profile, docid, &IndexUses::default());
    Arc::new(layout.expect("a layout"))
}

/// Opens a connection to a server of the engine.
async fn connection(address: &str) -> Conn {
    let (host, port) = address.rsplit_once(':').expect("a port");
    let opts = OptsBuilder::default()
        .ip_or_hostname(host)
        .tcp_port(port.parse().expect("a port"))
        .prefer_socket(Some(false))
        .max_allowed_packet(Some(64 << 20))
        .wait_timeout(Some(600));
    Conn::new(opts).await.expect("a connection")
}

/// The number of batches for each node in a round of statements.
const ROUND: usize = 20;

/// Returns the time that the engine takes for the statements of a load. The statements are built beforehand, in rounds. Within a
/// round, the nodes do not wait for each other.
async fn bulk_speed(engine: &Engine, file: &Path) -> Duration {
    let nodes = engine.nodes();
    let load = EngineLoad::new(layout(), "books", &nodes, false, |_| ()).expect("addresses");
    let changes = load.changes();
    let mut records = read(file);
    let mut terms = LoadedTerms::default();
    let mut spent = Duration::ZERO;
    let mut connections = Vec::new();
    for node in &nodes {
        connections.push(connection(node).await);
    }
    loop {
        let mut statements: Vec<Vec<Vec<u8>>> = vec![Vec::new(); nodes.len()];
        for _ in 0..ROUND {
            // A load sends this number of records at once to each node.
            let some = records.by_ref().take(500 * nodes.len());
            let some: Vec<_> = some
                .map(|record| {
                    let octets = iso2709::encode(&record).expect("fits");
                    changes.of(&record, &octets)
                })
                .collect();
            let of_nodes = changes.statements("books", &nodes, some, &mut terms);
            for (node, statement) in of_nodes.expect("addresses") {
                statements[node].push(statement);
            }
        }
        if statements.iter().all(Vec::is_empty) {
            return spent;
        }
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for (mut connection, statements) in connections.drain(..).zip(statements) {
            tasks.push(tokio::spawn(async move {
                for statement in statements {
                    connection.query_drop(statement).await.expect("taken");
                }
                connection
            }));
        }
        for task in tasks {
            connections.push(task.await.expect("done"));
        }
        spent += begun.elapsed();
    }
}

/// Returns the median of the times, and the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    (at(50), at(99))
}

/// Measures searches with their first ten records, through `z3950d` and as direct statements.
async fn searches(engine: &Engine, daemon: &Daemon, samples: &[QuerySample]) {
    let address = engine.url().parse().expect("an address");
    let database = EngineDatabase::new(EngineOptions::new("books", vec![address]), layout());
    let database = database.expect("a database");
    let url = engine.url();
    let place = url
        .strip_prefix("sphinxql://")
        .and_then(|rest| rest.strip_suffix("/books"));
    let mut direct = connection(place.expect("an address")).await;
    let target = format!("{}/books", daemon.address());
    let own = Client::new().connect(&target).await.expect("a session");
    let nodes = engine.nodes().len();
    for kind in 0..5 {
        let (mut own_times, mut direct_times) = (Vec::new(), Vec::new());
        for (at, sample) in samples.iter().enumerate() {
            let (_, text) = &queries(sample)[kind];
            let query = parse_pqf(text).expect("a query");
            let mut statement = database.statement(&query, 10).expect("a statement");
            statement.extend(b"; SHOW META; SHOW WARNINGS");
            // The two connections take turns in going first, because the second finds everything in caches.
            for turn in 0..2 {
                let begun = Instant::now();
                if (at + turn) % 2 == 0 {
                    let mut answer = direct.query_iter(&*statement).await.expect("an answer");
                    while !answer.is_empty() {
                        let rows: Vec<Row> = answer.collect().await.expect("rows");
                        std::hint::black_box(rows);
                    }
                    direct_times.push(begun.elapsed());
                } else {
                    let found = own.search_first(query.clone(), 10).await.expect("found");
                    std::hint::black_box(found.count());
                    own_times.push(begun.elapsed());
                }
            }
        }
        let name = queries(&samples[0])[kind].0;
        let (own, own_99) = percentiles(own_times);
        let (direct, direct_99) = percentiles(direct_times);
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{nodes} nodes, {name}: p50 {own:.1?}, {direct:.1?} directly: {:.2} times; p99 {own_99:.1?}, {direct_99:.1?} directly: {:.2} times (at most 1.3)",
            ratio(own, direct),
            ratio(own_99, direct_99),
        );
    }
}

/// The result of a search while a node is killed.
struct TimedSearch {
    begun: Duration,
    took: Duration,
    /// Whether the answer says that a node is missing, or the reason why there was no answer.
    is_partial: Result<bool, String>,
}

/// Measures the searches of several clients while a node is killed.
async fn node_killed(engine: &mut Engine, daemon: &Daemon, samples: &Arc<Vec<QuerySample>>) {
    let target = format!("{}/books", daemon.address());
    let begun = Instant::now();
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (target, samples) = (target.clone(), Arc::clone(samples));
        clients.push(tokio::spawn(async move {
            let connection = Client::new().connect(&target).await.expect("a session");
            let mut searches = Vec::new();
            for at in client.. {
                let started = begun.elapsed();
                if started > LOAD_TIME {
                    break;
                }
                let sample = &samples[at % samples.len()];
                let query = Query::title(&*sample.words.0);
                let found = connection.search_first(query, 10).await;
                let sources = found.map(|found| found.sources());
                searches.push(TimedSearch {
                    begun: started,
                    took: begun.elapsed() - started,
                    is_partial: sources
                        .map(|sources| sources.has_failed())
                        .map_err(|error| error.to_string()),
                });
            }
            searches
        }));
    }
    tokio::time::sleep(KILLED_AFTER).await;
    engine.kill("node-3");
    let killed = begun.elapsed();
    let mut searches = Vec::new();
    for client in clients {
        searches.extend(client.await.expect("done"));
    }
    let of = |from: Duration, to: Duration| {
        let some = searches
            .iter()
            .filter(|search| (from..to).contains(&search.begun));
        percentiles(some.map(|search| search.took).collect()).1
    };
    let errors: Vec<_> = searches
        .iter()
        .filter_map(|search| search.is_partial.as_ref().err())
        .collect();
    let after = searches
        .iter()
        .filter(|search| search.begun >= killed + Duration::from_secs(1));
    let whole = after
        .clone()
        .filter(|search| search.is_partial == Ok(false))
        .count();
    println!(
        "{CLIENTS} clients, a node killed: {} searches, {} errors {:?} (none), {whole} of {} afterwards without naming it (none); p99 {:.1?} before, \
         {:.1?} within {RECOVERY:?}, {:.1?} after that (at most as before)",
        searches.len(),
        errors.len(),
        errors.first(),
        after.count(),
        of(Duration::from_secs(1), killed),
        of(killed, killed + RECOVERY),
        of(killed + RECOVERY, LOAD_TIME),
    );
}

/// Returns the peak memory of a process, in KiB.
fn peak(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id()));
    let status = status.expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}
