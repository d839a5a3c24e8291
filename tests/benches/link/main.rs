//! Measures the client over a slow link and compares it with zoomsh, yaz-client and the ZOOM C API, with the same records and
//! servers in one run. Prints times in round trips, and as multiples of the other programs' times, without asserting anything.
//! `Z3950_BENCH=quick` runs one round. Arguments after `--` select the parts to run.
//!
//! The link is simulated by a relay on loopback that delays octets and limits their rate. `Z3950_BEFORE` may name an earlier
//! build of this project's program, which is then included in every table. The required programs and files are those of the
//! benchmark `client`.

mod contenders;
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

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use contenders::{Contender, isbn, place};
use peers::Tools;
use process::Programs;
use relay::{Link, Relay, Traffic};
use table::{median, short};
use z3950_tests::program::path;

/// The number of times each measurement is repeated.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// The number of rounds for measurements that take many seconds.
    long_rounds: usize,
}

/// The number of records in the catalogue. Their control numbers are `rec0000001` and so on.
const RECORDS: usize = 1_000;
const LOOKUPS: usize = 40;
const ISBNS: usize = 1_000;
const SESSIONS: usize = 4;
/// The number of records in the large result set.
const LARGE: usize = 10_000;
/// The rate of the link in octets per second, which corresponds to 100 Mbit/s.
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
    /// The builds of this project's program, with a label for each.
    ours: Vec<(&'static str, PathBuf)>,
    effort: Effort,
}

/// The duration of a run in milliseconds, and the traffic through the link.
type Figure = (f64, Traffic);

impl Bench {
    /// Measures the retrieval of one record by a new process over a link with a round trip of 100 ms.
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

    /// Measures many lookups in one session over a link with a round trip of 100 ms.
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

    /// Measures the lookup of a file of ISBNs in several sessions over a link with a round trip of 50 ms.
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

    /// Measures the retrieval of all records of a large result set over a link with a round trip of 50 ms and 100 Mbit/s.
    fn large(&self) {
        let Some(server) = self.tools.z3950d(&self.tools.catalogue(LARGE)) else {
            return;
        };
        let link = Link {
            rate: Some(RATE),
            ..slow(50)
        };
        let relay = Relay::to(server.port, link);
        // Relation 103 means "always matches".
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

    /// Measures the retrieval of one record by a new process, and of many records in one session, without a slow link.
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

fn slow(milliseconds: u64) -> Link {
    Link {
        round_trip: Duration::from_millis(milliseconds),
        rate: None,
    }
}

/// Prints a table with a row for each contender: its time, further figures, and its time divided by the time of the contender
/// named `base`.
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

/// Returns the folder with the benchmark tools and data, next to the checkout.
fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}
