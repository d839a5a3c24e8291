//! Compares the elapsed time, CPU time and memory of the client with those of zoomsh and the ZOOM C API, on the same records and
//! servers in one run. Prints figures and ratios without asserting anything. `Z3950_BENCH=quick` runs a single round. Words after
//! `--` select parts of the benchmark.
//!
//! Needs `../shared/bench` and `../shared/data/marc`, a C compiler with libyaz, python3, taskset and YAZ; it reports what is
//! missing. Clients share a core with the server.

mod lookups;
#[path = "../server/peers.rs"]
#[expect(dead_code, reason = "fewer servers are needed here")]
mod peers;
mod process;
#[path = "../server/table.rs"]
#[expect(dead_code, reason = "no round trip is subtracted here")]
mod table;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use peers::{Peer, Tools};
use process::{Cost, Programs};
use table::Table;
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

/// The numbers of repetitions, which differ between full and quick runs.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// The number of processes that are run one after the other.
    processes: u32,
    lookups: usize,
    /// The lengths of the batches, in lines.
    inputs: &'static [usize],
}

/// The number of records in the catalogue, named `rec0000001` and so on.
const RECORDS: usize = 1_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((lookups::NAME, rest)) = arguments.split_first().map(|(name, rest)| (&**name, rest))
    {
        return lookups::run(rest);
    }
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let effort = Effort {
        rounds: if quick { 1 } else { 5 },
        processes: 50,
        lookups: 1_000,
        inputs: if quick {
            &[1_000, 10_000]
        } else {
            &[1_000, 10_000, 100_000]
        },
    };
    let (Some(tools), Some(programs)) = (Tools::find(), Programs::find()) else {
        return ExitCode::SUCCESS;
    };
    type Part = fn(&Tools, &Programs, Effort);
    let parts: [(&str, Part); 4] = [
        ("process", process),
        ("lookups", lookups),
        ("sru", sru),
        ("batch", batch),
    ];
    let is_wanted = |name: &str| arguments.iter().any(|word| word == name);
    let all = arguments.iter().all(|word| word.starts_with('-'));
    for (name, part) in parts {
        if all || is_wanted(name) {
            part(&tools, &programs, effort);
        }
    }
    ExitCode::SUCCESS
}

/// Returns a docid and a query for a record that each server has; with yaz-ztest, a numeric term is the number of hits.
fn known_item(peer: &Peer) -> (&'static str, &'static str) {
    match peer.name {
        "z3950d" => ("rec%07d", "@attr 1=1032 @attr 4=104 rec%07d"),
        _ => ("1", "@attr 1=1032 @attr 4=104 1"),
    }
}

fn servers(tools: &Tools) -> Vec<Peer> {
    let catalogue = tools.catalogue(RECORDS);
    let servers = [tools.z3950d(&catalogue), tools.ztest("-S")];
    servers.into_iter().flatten().collect()
}

/// Measures the retrieval of one record from the shell, from the start of the program to its Close.
fn process(tools: &Tools, programs: &Programs, effort: Effort) {
    let title = "One lookup as a process";
    let mut table = Table::new(title, &["server and figure", "z3950 get", "zoomsh"], effort);
    let installed = programs.installed(&path("z3950"));
    for peer in servers(tools) {
        let (docid, query) = known_item(&peer);
        let first = |text: &str| text.replace("%07d", "0000001");
        let host = format!("127.0.0.1:{}", peer.port);
        let url = format!(
            "z39.50r://{host}/{}?{};rs=usmarc",
            peer.database,
            first(docid)
        );
        let ours = vec![installed.clone(), "get".into(), url.into()];
        let theirs = vec![
            programs.zoomsh.clone(),
            "-e".into(),
            "set preferredRecordSyntax usmarc".into(),
            "set count 1".into(),
            format!("connect {host}/{}", peer.database).into(),
            format!("search {}", first(query)).into(),
            "show 0 1".into(),
            "quit".into(),
        ];
        for command in [&ours, &theirs] {
            shows_a_record(command);
        }
        let costs = table::rounds(&[ours, theirs], effort.rounds, |command| {
            programs.cost(effort.processes, command)
        });
        add(&mut table, peer.name, &costs);
    }
    table.print();
}

/// Prints a message if the command does not show a record, because a program that fetches nothing would be the fastest.
fn shows_a_record(command: &[PathBuf]) {
    let Some((program, arguments)) = command.split_first() else {
        return;
    };
    let output = z3950_tests::surroundings::command(program)
        .args(arguments)
        .output();
    let output = output.expect("the program starts");
    if !String::from_utf8_lossy(&output.stdout).contains("245") {
        println!("{} shows no record: {output:?}", program.display());
    }
}

/// Measures many lookups in one process, over one session and over ten.
fn lookups(tools: &Tools, programs: &Programs, effort: Effort) {
    for sessions in [1, 10] {
        let title = format!("{} lookups, sessions: {sessions}", effort.lookups);
        let mut table = Table::new(&title, &["server and figure", "z3950", "ZOOM C"], effort);
        for peer in servers(tools) {
            let (docid, query) = known_item(&peer);
            let host = format!("127.0.0.1:{}", peer.port);
            let sent = [docid, query];
            let costs = looked_up(&host, &peer, sent, sessions, programs, effort);
            add(&mut table, peer.name, &costs);
        }
        table.print();
    }
}

/// Measures lookups over SRU, on a connection that is kept open. Both programs send the same query by GET, and each answer
/// includes the record.
fn sru(tools: &Tools, programs: &Programs, effort: Effort) {
    let title = format!("{} lookups over SRU, one connection", effort.lookups);
    let mut table = Table::new(&title, &["server and figure", "z3950", "ZOOM C"], effort);
    if let Some(peer) = tools.z3950d(&tools.catalogue(RECORDS)) {
        let host = format!("http://127.0.0.1:{}", peer.port);
        let sent = ["rec%07d", "rec.id=rec%07d"];
        let costs = looked_up(&host, &peer, sent, 1, programs, effort);
        add(&mut table, peer.name, &costs);
    }
    table.print();
}

/// Returns the costs of both programs. Ours gets the first part of `sent`, a docid; ZOOM C gets the second part, a query.
fn looked_up(
    host: &str,
    peer: &Peer,
    sent: [&str; 2],
    sessions: usize,
    programs: &Programs,
    effort: Effort,
) -> Vec<Vec<Cost>> {
    let arguments = |known_item: &str| {
        let numbers = [effort.lookups, sessions, RECORDS].map(|number| number.to_string());
        let words = [host.into(), peer.database.into(), known_item.into()];
        words.into_iter().chain(numbers).map(PathBuf::from)
    };
    let this = std::env::current_exe().expect("this program has a path");
    let ours = [this, lookups::NAME.into()].into_iter();
    let theirs = [programs.zoom.clone()].into_iter();
    let [docid, query] = sent;
    let contenders: [Vec<PathBuf>; 2] = [
        ours.chain(arguments(docid)).collect(),
        theirs.chain(arguments(query)).collect(),
    ];
    table::rounds(&contenders, effort.rounds, |command| {
        programs.cost(1, command)
    })
}

/// Measures batches of different lengths, to show that memory does not grow with the length.
fn batch(tools: &Tools, programs: &Programs, effort: Effort) {
    let help = command(path("z3950")).args(["get", "--help"]).output();
    let help = help.expect("z3950 starts").stdout;
    if !String::from_utf8_lossy(&help).contains("--input") {
        println!("skipped: z3950 get takes no batches");
        return;
    }
    let catalogue = tools.catalogue(RECORDS);
    let Some(peer) = tools.z3950d(&catalogue) else {
        return;
    };
    let lengths = effort.inputs.iter();
    let lengths: Vec<String> = lengths.map(|inputs| format!("{inputs} inputs")).collect();
    let mut heads = vec!["server and figure"];
    heads.extend(lengths.iter().map(String::as_str));
    let mut table = Table::new("A batch of z3950 get, 10 jobs", &heads, effort);
    let (records, report) = (programs.file("batch.mrc"), programs.file("batch.tsv"));
    let costs = table::rounds(effort.inputs, effort.rounds, |inputs| {
        // Files of an earlier round are removed, because a batch continues an existing report or refuses to start.
        for file in [&records, &report] {
            let _ = std::fs::remove_file(file);
        }
        let input = programs.file("batch.txt");
        std::fs::write(&input, urls(&peer, *inputs)).expect("written");
        let command = vec![
            path("z3950"),
            "get".into(),
            "--jobs=10".into(),
            "--input".into(),
            input,
            "--output".into(),
            records.clone(),
            "--report".into(),
            report.clone(),
        ];
        programs.cost(1, &command)
    });
    add(&mut table, peer.name, &costs);
    table.print();
}

/// Returns this number of record URLs, one per line, starting over after the last record.
fn urls(peer: &Peer, lines: usize) -> String {
    let mut text = String::new();
    for number in (0..lines).map(|line| 1 + line % RECORDS) {
        let Peer { port, database, .. } = peer;
        writeln!(
            text,
            "z39.50r://127.0.0.1:{port}/{database}?rec{number:07};rs=usmarc"
        )
        .expect("a String takes any text");
    }
    text
}

/// Adds a row for each figure, with the costs of each program's runs.
fn add(table: &mut Table, server: &str, costs: &[Vec<Cost>]) {
    type Figure = fn(&Cost) -> f64;
    let figures: [(&str, &str, Figure); 3] = [
        ("time", "ms", |cost| cost.wall),
        ("CPU", "ms", |cost| cost.cpu),
        ("peak memory", "MiB", |cost| cost.peak),
    ];
    for (name, unit, figure) in figures {
        let each = costs.iter().map(|costs| costs.iter().map(figure).collect());
        let each: Vec<Vec<f64>> = each.collect();
        table.row(&format!("{server}, {name}"), unit, &each);
    }
}

/// Returns the folder with the benchmark tools and data, next to the checkout.
fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}
