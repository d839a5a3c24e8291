//! `z3950d` in front of three nodes of OpenSearch, compared with the same JSON sent to a node: loading, searches with their first
//! ten records, memory, and a node killed under load. Prints the rows of `BENCHMARKS.md`.
//!
//! ```sh
//! cargo bench -p z3950-tests --bench engine                                  # 100,000 records that it makes up
//! Z3950_RECORDS=1000000 cargo bench -p z3950-tests --bench engine            # as many
//! Z3950_FILE=records.mrc cargo bench -p z3950-tests --bench engine           # those of a file in ISO 2709
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use z3950::{Client, Query};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::{
    ClusterDatabase, ClusterIndex, ClusterOptions, LoadWork, RecordPlace,
};
use z3950_front::engine::{EngineLayout, IndexUses};
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, Leader, MarcRecord, iso2709};
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_tests::opensearch::{Cluster, NodeProgram};
use z3950_tests::program::{self, Daemon, run};
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

const NODES: usize = 3;
const INDEX: &str = "books";
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
    let Some(program) = NodeProgram::of_two() else {
        return;
    };
    let mut cluster = Cluster::start(&program, NODES);
    let direct = bulk_speed(&cluster, &file).await;
    let settings = folder.path().join("z3950d.toml");
    std::fs::write(&settings, cluster.settings(INDEX, "")).expect("written");
    let mut load = command(program::path("z3950d"));
    load.args(["load", "--config"]).arg(&settings).arg(&file);
    let begun = Instant::now();
    let loaded = run(&mut load, "");
    let own = begun.elapsed();
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    let rate = |time: Duration| records as f64 / time.as_secs_f64();
    println!(
        "{records} records loaded, {:.0}/s, {:.0}/s by _bulk alone: {:.2} times (at least 0.9)",
        rate(own),
        rate(direct),
        rate(own) / rate(direct)
    );
    cluster.wait_for_green();
    let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
    searches(&cluster, &daemon, &samples).await;
    node_killed(&mut cluster, &daemon, &samples).await;
    println!("z3950d took {} MiB (at most 64)", peak(&daemon) >> 10);
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

const KNOWN_ITEM: &str = "known item";

/// Returns the queries for a record with the names of their kinds.
fn queries(sample: &QuerySample) -> [(&'static str, String); 5] {
    let QuerySample {
        id,
        words: (one, two),
        name,
    } = sample;
    let start: String = one.chars().take(4).collect();
    [
        (KNOWN_ITEM, format!("@attr 1=1032 {id}")),
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

/// A connection to a node.
struct Direct(BufReader<TcpStream>);

impl Direct {
    async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
        let stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self(BufReader::new(stream))
    }

    /// Sends a request; returns the body of the answer.
    async fn ask(&mut self, path: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        self.0.write_all(&request).await.expect("sent");
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).await.expect("a status");
        assert!(line.contains(" 200 "), "{line}");
        while !line.trim().is_empty() {
            line.clear();
            self.0.read_line(&mut line).await.expect("a header");
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).await.expect("a body");
        answer
    }
}

fn options(cluster: &Cluster, index: &str) -> ClusterOptions {
    let urls = cluster.urls(index).into_iter();
    let addresses = urls.map(|url| url.parse().expect("an address"));
    ClusterOptions::new("books", addresses.collect())
}

/// The number of requests in flight, and the octets of each: those of a load.
const IN_FLIGHT: usize = 4;
const BODY_OCTETS: usize = 5 << 20;
/// The number of requests of each connection in a round.
const ROUND: usize = 5;

/// Returns the time that the engine takes for the requests of a load into an index of its own. The requests are made beforehand, in
/// rounds. Within a round, connections do not wait for each other.
async fn bulk_speed(cluster: &Cluster, file: &Path) -> Duration {
    let index = ClusterIndex::new(&options(cluster, "bulk"), layout()).expect("an index");
    let load = index.begin(LoadWork::Add, |_| ()).await.expect("an index");
    let changes = load.changes();
    let mut records = read(file);
    let mut connections = Vec::new();
    for port in cluster.ports().into_iter().cycle().take(IN_FLIGHT) {
        connections.push(Direct::connect(port).await);
    }
    let mut spent = Duration::ZERO;
    loop {
        let mut bodies = Vec::new();
        while bodies.len() < IN_FLIGHT * ROUND {
            let mut body = Vec::with_capacity(BODY_OCTETS);
            for record in records.by_ref() {
                let octets = iso2709::encode(&record).expect("fits");
                let change = changes.of(&record, &octets, RecordPlace::default());
                body.extend_from_slice(change.lines());
                if body.len() >= BODY_OCTETS {
                    break;
                }
            }
            if body.is_empty() {
                break;
            }
            bodies.push(body);
        }
        if bodies.is_empty() {
            break;
        }
        let bodies = Arc::new(bodies);
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for (lane, mut connection) in connections.drain(..).enumerate() {
            let bodies = Arc::clone(&bodies);
            tasks.push(tokio::spawn(async move {
                for body in bodies.iter().skip(lane).step_by(IN_FLIGHT) {
                    let path = "/bulk/_bulk?filter_path=errors,items.*.status,items.*.error";
                    let answer = connection.ask(path, body).await;
                    assert!(
                        answer.starts_with(b"{\"errors\":false"),
                        "records are refused"
                    );
                }
                connection
            }));
        }
        for task in tasks {
            connections.push(task.await.expect("done"));
        }
        spent += begun.elapsed();
    }
    let begun = Instant::now();
    load.end().await.expect("refreshed");
    spent += begun.elapsed();
    let (status, answer) = cluster.ask("DELETE", "/bulk-1", "");
    assert_eq!(status, 200, "{answer}");
    spent
}

/// Returns the median of the times, and the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    (at(50), at(99))
}

/// Measures searches with their first ten records, through `z3950d` and as requests to a node.
async fn searches(cluster: &Cluster, daemon: &Daemon, samples: &[QuerySample]) {
    let database = ClusterDatabase::new(options(cluster, INDEX), layout()).expect("a database");
    let mut direct = Direct::connect(cluster.ports()[0]).await;
    let target = format!("{}/books", daemon.address());
    let own = Client::new().connect(&target).await.expect("a session");
    for (kind, (name, _)) in queries(&samples[0]).into_iter().enumerate() {
        let (mut own_times, mut direct_times) = (Vec::new(), Vec::new());
        for (at, sample) in samples.iter().enumerate() {
            let (_, text) = &queries(sample)[kind];
            let query = parse_pqf(text).expect("a query");
            let body = database.statement(&query, 10).expect("a search");
            let mut path = format!("/{INDEX}/_search?allow_partial_search_results=true");
            if name == KNOWN_ITEM {
                path.push_str(&format!("&routing={}", sample.id));
            }
            // The two connections take turns in going first, because the second finds everything in caches.
            for turn in 0..2 {
                let begun = Instant::now();
                if (at + turn) % 2 == 0 {
                    std::hint::black_box(direct.ask(&path, &body).await);
                    direct_times.push(begun.elapsed());
                } else {
                    let found = own.search_first(query.clone(), 10).await.expect("found");
                    std::hint::black_box(found.count());
                    own_times.push(begun.elapsed());
                }
            }
        }
        let (own, own_99) = percentiles(own_times);
        let (direct, direct_99) = percentiles(direct_times);
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{name}: p50 {own:.1?}, {direct:.1?} directly: {:.2} times; p99 {own_99:.1?}, {direct_99:.1?} directly: {:.2} times (at most 1.2)",
            ratio(own, direct),
            ratio(own_99, direct_99),
        );
    }
}

/// The result of a search while a node is killed.
struct TimedSearch {
    begun: Duration,
    took: Duration,
    /// Whether it found as much as before, or the reason why there was no answer.
    is_whole: Result<bool, String>,
}

/// Measures the searches of several clients while a node is killed.
async fn node_killed(cluster: &mut Cluster, daemon: &Daemon, samples: &[QuerySample]) {
    let target = format!("{}/books", daemon.address());
    let connection = Client::new().connect(&target).await.expect("a session");
    let mut known = Vec::new();
    for sample in samples {
        let word = sample.words.0.clone();
        let found = connection.search_first(Query::title(&*word), 10).await;
        known.push((word, found.expect("found").count()));
    }
    let known = Arc::new(known);
    let begun = Instant::now();
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (target, known) = (target.clone(), Arc::clone(&known));
        clients.push(tokio::spawn(async move {
            let connection = Client::new().connect(&target).await.expect("a session");
            let mut searches = Vec::new();
            for at in client.. {
                let started = begun.elapsed();
                if started > LOAD_TIME {
                    break;
                }
                let (word, count) = &known[at % known.len()];
                let found = connection.search_first(Query::title(&**word), 10).await;
                let found = found.map(|found| found.count() == *count);
                searches.push(TimedSearch {
                    begun: started,
                    took: begun.elapsed() - started,
                    is_whole: found.map_err(|error| error.to_string()),
                });
            }
            searches
        }));
    }
    tokio::time::sleep(KILLED_AFTER).await;
    cluster.kill(NODES - 1);
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
    let errors = searches
        .iter()
        .filter_map(|search| search.is_whole.as_ref().err());
    let errors: Vec<_> = errors.collect();
    let missed = searches
        .iter()
        .filter(|search| search.is_whole == Ok(false));
    println!(
        "{CLIENTS} clients, a node killed: {} searches, {} errors {:?} (none), {} missed records (none); p99 {:.1?} before, {:.1?} within \
         {RECOVERY:?}, {:.1?} after that (at most as before)",
        searches.len(),
        errors.len(),
        errors.first(),
        missed.count(),
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
