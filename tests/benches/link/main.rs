//! The client through a slow link, compared with zoomsh, yaz-client and the ZOOM C API on the same records and servers, in one run:
//! times as round trips and as multiples of theirs. Prints figures, asserts nothing; `Z3950_BENCH=quick` takes one round. Words
//! after `--` choose parts.
//!
//! The link is a relay on loopback with a delay and a limit of octets per second. Of this project's program, `Z3950_BEFORE` may
//! name an earlier build, which takes part in every table. Needs what the benchmark `client` needs.

#[path = "../client/lookups.rs"]
mod lookups;
#[path = "../server/peers.rs"]
#[expect(dead_code, reason = "fewer servers are needed here")]
mod peers;
#[path = "../client/process.rs"]
#[expect(dead_code, reason = "only times are compared")]
mod process;
mod relay;
#[path = "../server/table.rs"]
#[expect(dead_code, reason = "these tables have other columns")]
mod table;

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use peers::{Catalogue, Peer, Tools};
use process::Programs;
use relay::{Link, Relay, Traffic};
use table::{median, short};
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, iso2709};
use z3950_tests::program::path;

/// How thorough to be.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Rounds of what takes many seconds.
    long_rounds: usize,
}

/// The records of the catalogue, `rec0000001` and so on.
const RECORDS: usize = 1_000;
const LOOKUPS: usize = 40;
const ISBNS: usize = 1_000;
const SESSIONS: usize = 4;
/// The records of the large result set.
const LARGE: usize = 10_000;
/// 100 Mbit/s in octets.
const RATE: f64 = 12.5e6;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((lookups::NAME, rest)) = arguments.split_first().map(|(name, rest)| (&**name, rest))
    {
        return lookups::run(rest);
    }
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let effort = Effort {
        rounds: if quick { 1 } else { 5 },
        long_rounds: if quick { 1 } else { 3 },
    };
    let (Some(tools), Some(programs)) = (Tools::find(), Programs::find()) else {
        return ExitCode::SUCCESS;
    };
    let Some(yaz_client) = z3950_tests::peer::find("yaz-client") else {
        return ExitCode::SUCCESS;
    };
    let ours = vec![("", programs.installed(&path("z3950")))];
    let before = std::env::var_os("Z3950_BEFORE").map(|path| (", before", PathBuf::from(path)));
    let bench = Bench {
        ours: ours.into_iter().chain(before).collect(),
        tools,
        programs,
        yaz_client,
        effort,
    };
    type Part = fn(&Bench);
    let parts: [(&str, Part); 5] = [
        ("process", Bench::processes),
        ("session", Bench::session),
        ("isbns", Bench::isbns),
        ("large", Bench::large),
        ("loopback", Bench::loopback),
    ];
    let all = arguments.iter().all(|word| word.starts_with('-'));
    for (name, part) in parts {
        if all || arguments.iter().any(|word| word == name) {
            part(&bench);
        }
    }
    ExitCode::SUCCESS
}

struct Bench {
    tools: Tools,
    programs: Programs,
    yaz_client: PathBuf,
    /// This project's program and what distinguishes its builds.
    ours: Vec<(&'static str, PathBuf)>,
    effort: Effort,
}

/// A command that is measured.
struct Contender {
    name: String,
    command: Vec<PathBuf>,
    /// What it writes and would not overwrite.
    files: Vec<PathBuf>,
}

/// Milliseconds of one run, and what came through the link.
type Figure = (f64, Traffic);

impl Bench {
    /// One record as a process through a link of 100 ms.
    fn processes(&self) {
        let link = slow(100);
        for server in self.servers() {
            let relay = Relay::to(server.port, link);
            let contenders = self.one_record(&server, relay.port);
            let costs = self.costs(&contenders, self.effort.rounds, 1, Some(&relay));
            let title = format!("One record as a process, 100 ms, {}", server.name);
            let aim = "at most 3.1 round trips, TCP included, and 1.0 × zoomsh";
            print(
                &title,
                aim,
                "zoomsh",
                &["round trips"],
                &contenders,
                &costs,
                |(time, _)| vec![time / 100.0],
            );
        }
    }

    /// Many lookups in one session through a link of 100 ms.
    fn session(&self) {
        for server in self.servers() {
            let relay = Relay::to(server.port, slow(100));
            let mut contenders = self.many(&server, relay.port, LOOKUPS, 1);
            contenders.push(self.side_by_side(&server, relay.port));
            let costs = self.costs(&contenders, self.effort.long_rounds, 1, Some(&relay));
            let title = format!("{LOOKUPS} lookups in one session, 100 ms, {}", server.name);
            let aim = "at most 1.05 round trips each in turn (yaz-ztest), or that divided by the operations that the server \
                grants (z3950d: 8); two round trips for TCP and Init are not counted";
            print(
                &title,
                aim,
                "ZOOM C",
                &["round trips each"],
                &contenders,
                &costs,
                |(time, _)| vec![(time / 100.0 - 2.0) / LOOKUPS as f64],
            );
        }
    }

    /// A file of ISBNs in several sessions through a link of 50 ms.
    fn isbns(&self) {
        let catalogue = self.with_isbns(&self.tools.catalogue(RECORDS));
        let Some(server) = self.tools.z3950d(&catalogue) else {
            return;
        };
        let relay = Relay::to(server.port, slow(50));
        let lines: String = (1..=ISBNS).map(|number| isbn(number) + "\n").collect();
        let input = self.written("isbns.txt", &lines);
        let mut contenders = self.each(|z3950| {
            let mut command = Contender::new("z3950 lookup --input", z3950);
            command.add(&[
                "lookup",
                &place(&server, relay.port),
                "--jobs",
                &SESSIONS.to_string(),
            ]);
            command.add(&["--syntax", "usmarc", "--input"]);
            command.command.push(input.clone());
            command.writes("--output", self.programs.file("isbns.mrc"));
            command.writes("--report", self.programs.file("isbns.tsv"));
            command
        });
        let query = "@attr 1=1032 @attr 4=104 rec%07d";
        contenders.push(self.zoom(&server, relay.port, query, ISBNS, SESSIONS));
        let costs = self.costs(&contenders, self.effort.long_rounds, 1, Some(&relay));
        let title = format!("{ISBNS} ISBNs in {SESSIONS} sessions, 50 ms, z3950d");
        let aim = "at most 1.1 × (round trip × 1,000 ÷ 4); ZOOM C searches by docid";
        let least = 50.0 * ISBNS as f64 / SESSIONS as f64;
        print(
            &title,
            aim,
            "ZOOM C",
            &["× the least time in turn"],
            &contenders,
            &costs,
            |(time, _)| vec![time / least],
        );
    }

    /// All records of a large result set through a link of 50 ms and 100 Mbit/s.
    fn large(&self) {
        let Some(server) = self.tools.z3950d(&self.tools.catalogue(LARGE)) else {
            return;
        };
        let link = Link {
            rate: Some(RATE),
            ..slow(50)
        };
        let relay = Relay::to(server.port, link);
        // Relation 103: always matches.
        let query = "@attr 1=12 @attr 2=103 all";
        let mut contenders = self.each(|z3950| {
            let mut command = Contender::new("z3950 search --output", z3950);
            command.add(&[
                "search",
                &place(&server, relay.port),
                "--syntax",
                "usmarc",
                query,
            ]);
            command.writes("--output", self.programs.file("large.mrc"));
            command
        });
        contenders.push(self.zoomsh(&server, relay.port, query, LARGE));
        let costs = self.costs(&contenders, self.effort.long_rounds, 1, Some(&relay));
        let title = format!("{LARGE} records of one result set, 50 ms, 100 Mbit/s, z3950d");
        let aim = "at least 0.8 of the link; the first share is that of the whole process, the second from the first octets to the last";
        let heads = ["round trips", "MB", "of the link", "while receiving"];
        print(
            &title,
            aim,
            "zoomsh",
            &heads,
            &contenders,
            &costs,
            |(time, traffic)| {
                let octets = traffic.octets as f64;
                let share = |seconds: f64| octets / (seconds * RATE);
                vec![
                    time / 50.0,
                    octets / 1e6,
                    share(time / 1e3),
                    share(traffic.seconds()),
                ]
            },
        );
    }

    /// The same without a link.
    fn loopback(&self) {
        for server in self.servers() {
            let contenders = self.one_record(&server, server.port);
            let costs = self.costs(&contenders, self.effort.rounds, 50, None);
            let title = format!("One record as a process, loopback, {}", server.name);
            let aim = "not slower than before";
            print(&title, aim, "zoomsh", &[], &contenders, &costs, |_| {
                Vec::new()
            });
            let contenders = self.many(&server, server.port, RECORDS, 1);
            let costs = self.costs(&contenders, self.effort.rounds, 1, None);
            let title = format!(
                "{RECORDS} lookups in one session, loopback, {}",
                server.name
            );
            print(&title, aim, "ZOOM C", &[], &contenders, &costs, |_| {
                Vec::new()
            });
        }
    }
}

impl Bench {
    fn servers(&self) -> Vec<Peer> {
        let catalogue = self.tools.catalogue(RECORDS);
        let servers = [self.tools.z3950d(&catalogue), self.tools.ztest("-S")];
        servers.into_iter().flatten().collect()
    }

    /// A contender for each build of this project's program.
    fn each(&self, contender: impl Fn(&Path) -> Contender) -> Vec<Contender> {
        let builds = self.ours.iter();
        let contenders = builds.map(|(which, program)| {
            let contender = contender(program);
            Contender {
                name: format!("{}{which}", contender.name),
                ..contender
            }
        });
        contenders.collect()
    }

    /// Commands that show one record of a server: connection, Init, Search, record.
    fn one_record(&self, server: &Peer, port: u16) -> Vec<Contender> {
        let (docid, query) = known_item(server, 1);
        let place = place(server, port);
        let mut contenders = self.each(|z3950| {
            let url = format!("z39.50r://{place}?{docid};rs=usmarc");
            Contender::of("z3950 get", z3950, &["get", &url])
        });
        contenders.extend(self.each(|z3950| {
            let identifier = format!("docid:{docid}");
            let arguments = ["lookup", &place, &identifier, "--syntax", "usmarc"];
            Contender::of("z3950 lookup", z3950, &arguments)
        }));
        contenders.extend(self.each(|z3950| {
            let arguments = [
                "search", &place, &query, "--count", "1", "--syntax", "usmarc",
            ];
            Contender::of("z3950 search", z3950, &arguments)
        }));
        contenders.push(self.zoomsh(server, port, &query, 1));
        let script = format!("open {place}\nformat usmarc\nfind {query}\nshow 1\nquit\n");
        let script = self.written(&format!("yaz-client-{port}.txt"), &script);
        let mut command = Contender::of("yaz-client", &self.yaz_client, &["-f"]);
        command.command.push(script);
        contenders.push(command);
        for contender in &contenders {
            contender.shows_a_record();
        }
        contenders.push(self.zoom(server, port, &query, 1, 1));
        contenders
    }

    /// Commands that look up records, one after the other.
    fn many(&self, server: &Peer, port: u16, count: usize, sessions: usize) -> Vec<Contender> {
        let input = self.docids(server, port, count);
        let place = place(server, port);
        let mut contenders = self.each(|z3950| {
            let arguments = [
                "lookup", &place, "--syntax", "usmarc", "--jobs", "1", "--input",
            ];
            let mut command = Contender::of("z3950 lookup --input", z3950, &arguments);
            command.command.push(input.clone());
            command.writes("--output", self.programs.file("many.mrc"));
            command
        });
        let this = std::env::current_exe().expect("this program has a path");
        let mut library = Contender::of("the library", &this, &[lookups::NAME]);
        let (docid, query) = match server.name {
            "z3950d" => ("rec%07d", "@attr 1=1032 @attr 4=104 rec%07d"),
            _ => ("1", "@attr 1=1032 @attr 4=104 1"),
        };
        library.add(&lookup_arguments(server, port, docid, count, sessions));
        contenders.push(library);
        contenders.push(self.zoom(server, port, query, count, sessions));
        contenders
    }

    /// Lookups in one session, as many at a time as it allows.
    fn side_by_side(&self, server: &Peer, port: u16) -> Contender {
        let database = server.database;
        let profile = format!(
            "[targets.one]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"{database}\"]\nsessions = 1\n"
        );
        let targets = self.written(&format!("one-session-{port}.toml"), &profile);
        let (_, z3950) = &self.ours[0];
        let arguments = ["lookup", "one", "--syntax", "usmarc", "--jobs", "8"];
        let mut command = Contender::of("z3950 lookup --jobs 8", z3950, &arguments);
        command.add(&[Path::new("--targets"), &targets]);
        command.add(&[Path::new("--input"), &self.docids(server, port, LOOKUPS)]);
        command.writes("--output", self.programs.file("side-by-side.mrc"));
        command
    }

    /// A file of docids.
    fn docids(&self, server: &Peer, port: u16, count: usize) -> PathBuf {
        let mut lines = String::new();
        for number in 1..=count {
            writeln!(lines, "docid:{}", known_item(server, number).0).expect("a String");
        }
        self.written(&format!("docids-{port}.txt"), &lines)
    }

    fn zoom(
        &self,
        server: &Peer,
        port: u16,
        query: &str,
        count: usize,
        sessions: usize,
    ) -> Contender {
        let arguments = lookup_arguments(server, port, query, count, sessions);
        let mut command = Contender::new("ZOOM C", &self.programs.zoom);
        command.add(&arguments);
        command
    }

    fn zoomsh(&self, server: &Peer, port: u16, query: &str, count: usize) -> Contender {
        let commands = [
            "-e".to_owned(),
            "set preferredRecordSyntax usmarc".to_owned(),
            format!("set count {count}"),
            format!("connect {}", place(server, port)),
            format!("search {query}"),
            format!("show 0 {count}"),
            "quit".to_owned(),
        ];
        let mut command = Contender::new("zoomsh", &self.programs.zoomsh);
        command.add(&commands);
        command
    }

    /// Measures each contender in turn, once per round; each time it runs that many times in a row.
    fn costs(
        &self,
        contenders: &[Contender],
        rounds: usize,
        times: u32,
        relay: Option<&Relay>,
    ) -> Vec<Vec<Figure>> {
        table::rounds(contenders, rounds, |contender| {
            for file in &contender.files {
                let _ = fs::remove_file(file);
            }
            if let Some(relay) = relay {
                relay.traffic();
            }
            let cost = self.programs.cost(times, &contender.command)?;
            let traffic = relay.map(Relay::traffic).unwrap_or_default();
            Some((cost.wall, traffic))
        })
    }

    /// A file in the working folder.
    fn written(&self, name: &str, text: &str) -> PathBuf {
        let file = self.programs.file(name);
        fs::write(&file, text).expect("written");
        file
    }

    /// The records with valid ISBNs.
    fn with_isbns(&self, catalogue: &Catalogue) -> Catalogue {
        let octets = fs::read(&catalogue.file).expect("the file is there");
        let mut all = Vec::new();
        let found = RecordReader::new(&octets[..], InputForm::Marc).map_while(Result::ok);
        for (number, found) in (1..).zip(found) {
            let mut record = found.record.expect("sound");
            record.fields.retain(|field| field.tag.as_ref() != b"020");
            let isbn = Field::data(b"020", "  ", [("a", isbn(number))]);
            record.fields.push(isbn);
            all.extend(iso2709::encode(&record).expect("fits"));
        }
        let file = self.programs.file("with-isbns.mrc");
        fs::write(&file, &all).expect("written");
        Catalogue {
            file,
            records: catalogue.records,
            octets: all.len() as u64,
            words: catalogue.words.clone(),
            phrase: catalogue.phrase.clone(),
        }
    }
}

impl Contender {
    fn new(name: &str, program: &Path) -> Self {
        Self {
            name: name.to_owned(),
            command: vec![program.to_owned()],
            files: Vec::new(),
        }
    }

    fn of(name: &str, program: &Path, arguments: &[&str]) -> Self {
        let mut contender = Self::new(name, program);
        contender.add(arguments);
        contender
    }

    fn add<S: AsRef<OsStr>>(&mut self, arguments: &[S]) {
        let arguments = arguments.iter().map(|argument| argument.as_ref().into());
        self.command.extend(arguments);
    }

    /// Adds an option with a file that the command writes.
    fn writes(&mut self, option: &str, file: PathBuf) {
        self.command.extend([option.into(), file.clone()]);
        self.files.push(file);
    }

    /// Says if it shows no record: a program that fetches nothing would be the fastest.
    fn shows_a_record(&self) {
        if let Some((program, arguments)) = self.command.split_first() {
            let output = Command::new(program).args(arguments).output();
            let output = output.expect("the program starts");
            if !String::from_utf8_lossy(&output.stdout).contains("245") {
                println!("{} shows no record: {output:?}", self.name);
            }
        }
    }
}

fn slow(milliseconds: u64) -> Link {
    Link {
        round_trip: Duration::from_millis(milliseconds),
        rate: None,
    }
}

fn place(server: &Peer, port: u16) -> String {
    format!("127.0.0.1:{port}/{}", server.database)
}

/// The docid of a record and a query for it; yaz-ztest reports the term, if it is a number, as its hit count.
fn known_item(server: &Peer, number: usize) -> (String, String) {
    let docid = match server.name {
        "z3950d" => format!("rec{:07}", 1 + (number - 1) % RECORDS),
        _ => "1".to_owned(),
    };
    let query = format!("@attr 1=1032 @attr 4=104 {docid}");
    (docid, query)
}

/// The arguments of `lookups`, in C and in Rust.
fn lookup_arguments(
    server: &Peer,
    port: u16,
    item: &str,
    count: usize,
    sessions: usize,
) -> [String; 6] {
    let [count, sessions, records] = [count, sessions, RECORDS].map(|number| number.to_string());
    let host = format!("127.0.0.1:{port}");
    [
        host,
        server.database.to_owned(),
        item.to_owned(),
        count,
        sessions,
        records,
    ]
}

/// A valid ISBN for a number.
fn isbn(number: usize) -> String {
    let digits = format!("978{number:09}");
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = digits
        .bytes()
        .zip(weights)
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// Prints a table: a row per contender with its time, further figures, and its time as a multiple of the one named `base`.
fn print(
    title: &str,
    aim: &str,
    base: &str,
    heads: &[&str],
    contenders: &[Contender],
    costs: &[Vec<Figure>],
    further: impl Fn(&Figure) -> Vec<f64>,
) {
    let times = |costs: &Vec<Figure>| costs.iter().map(|(time, _)| *time).collect::<Vec<f64>>();
    let all = contenders.iter().zip(costs);
    let of_base = all.clone().find(|(contender, _)| contender.name == base);
    let of_base = of_base.and_then(|(_, costs)| median(&times(costs)));
    println!("\n## {title}\n\nAim: {aim}.\n");
    let further_heads: String = heads.iter().map(|head| format!(" {head} |")).collect();
    println!("| program | ms |{further_heads} × {base} |");
    println!("|---|---|{}---|", "---|".repeat(heads.len()));
    for (contender, costs) in all {
        let times = times(costs);
        let Some(time) = median(&times) else {
            println!("| {} | – |", contender.name);
            continue;
        };
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        let mut cells = vec![format!(
            "{} ({} to {})",
            short(time),
            short(least),
            short(most)
        )];
        let figures: Vec<Vec<f64>> = costs.iter().map(&further).collect();
        for column in 0..heads.len() {
            let column: Vec<f64> = figures
                .iter()
                .filter_map(|row| row.get(column).copied())
                .collect();
            cells.push(median(&column).map_or_else(String::new, short));
        }
        cells.push(of_base.map_or_else(String::new, |base| short(time / base)));
        println!("| {} | {} |", contender.name, cells.join(" | "));
    }
}

/// The folder with the benchmark tools and data, next to the checkout.
fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}
