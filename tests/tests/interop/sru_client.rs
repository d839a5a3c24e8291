//! Tests of our client over SRU with yaz-ztest, zebrasrv, and a Perl server built from libsru-perl.

use std::fmt::Write as _;

use bytes::Bytes;
use z3950_marc::marcxml::to_xml;
use z3950_marc::{MarcRecord, iso2709, mrk};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

fn books() -> Vec<MarcRecord> {
    let text = include_str!("../../../server/src/memory/demo/books.mrk");
    mrk::parse_all(text).expect("the demo catalogue")
}

fn octets(records: &[MarcRecord]) -> Vec<Bytes> {
    let octets = records.iter().map(iso2709::encode);
    octets.map(|octets| octets.expect("fits").into()).collect()
}

/// Runs a command with a target and further arguments.
fn ask(command: &str, target: &str, words: &[&str]) -> Ran {
    z3950([command, target].iter().chain(words))
}

/// The methods of SRU, in the form in which they are written in a target or at the prompt.
const METHODS: [&str; 3] = ["get", "post", "soap"];

#[test]
fn yaz_ztest_is_searched_and_paged_in_every_method_and_version() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let target = format!("http://127.0.0.1:{}/Default", server.port);
    for method in METHODS {
        for version in ["1.1", "1.2", "2.0"] {
            let script = format!(
                "sru {method} {version}\nopen {target}\nfind cql:title=5\nshow 1\nshow 5\nscan @attr 1=4 war\nbase nosuch\nfind x\n"
            );
            let ran = z3950_fed(["open"], &script);
            let records = ran.stdout.lines().filter(|line| line.starts_with("001 "));
            assert_eq!(records.count(), 2, "{method} {version}: {ran:?}");
            assert!(ran.stdout.contains("war"), "{ran:?}");
            assert!(
                ran.stderr.contains("HTTP status 404"),
                "{method} {version}: {ran:?}"
            );
        }
    }
    let all = ask(
        "search",
        &target,
        &["--count", "1000", "--format", "raw", "--lang", "pqf", "25"],
    );
    assert_eq!(all.code, Some(0), "{all:?}");
    let explained = ask("explain", &target, &[]);
    assert!(
        explained.stderr.contains("has no description"),
        "{explained:?}"
    );
}

#[test]
fn zebra_answers_by_sru_as_by_z3950() {
    let books = books();
    let Some(server) = peer::zebra_sru(&octets(&books)) else {
        return;
    };
    let target = format!("http://127.0.0.1:{}/Default", server.port);
    let by_z3950 = format!("127.0.0.1:{}/Default", server.port);
    // Over all pages of results, SRU and Z39.50 return the same records in the same order and form.
    for words in [
        &["ti:the", "--count", "500"][..],
        &["ti:war AND war", "--count", "500"],
    ] {
        let of = |target| ask("search", target, &[words, &["--format", "mrk"]].concat());
        let (ran, other) = (of(&target), of(&by_z3950));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let numbers = |ran: &Ran| -> Vec<String> {
            let lines = ran.stdout.lines().filter(|line| line.starts_with("=001"));
            lines.map(str::to_owned).collect()
        };
        assert!(numbers(&ran).len() > 3, "{ran:?}");
        assert_eq!(numbers(&ran), numbers(&other));
    }
    for (command, words, code, said) in [
        (
            "search",
            &["--lang", "cql", "dc.title=pride"][..],
            0,
            "Pride and prejudice",
        ),
        (
            "search",
            &["--lang", "cql", "dc.colour=red"],
            5,
            "SRU diagnostic 16",
        ),
        (
            "search",
            &["--lang", "cql", "x.y=red"],
            5,
            "SRU diagnostic 15",
        ),
        (
            "search",
            &["ti:the", "--sort", "date"],
            5,
            "SRU diagnostic 89",
        ),
        (
            "search",
            &["ti:pride", "--syntax", "opac"],
            5,
            "SRU diagnostic 66",
        ),
        ("search", &["ti:nosuchword"], 3, "no record matches"),
        ("scan", &["ti:war", "--size", "5"], 0, "wars"),
        ("lookup", &["isbn:0141439513"], 0, "Pride and prejudice"),
        ("lookup", &["docid:pg1342"], 0, "Pride and prejudice"),
        ("explain", &[], 0, "index dc.title: Title (search, scan)"),
        ("probe", &[], 0, "indexes: 1, schemas: 1"),
    ] {
        let ran = ask(command, &target, words);
        let said_at = ran.stdout.contains(said) || ran.stderr.contains(said);
        assert!(said_at && ran.code == Some(code), "{words:?} {ran:?}");
    }
}

#[test]
fn a_description_becomes_a_profile() {
    let Some(server) = peer::zebra_sru(&octets(&books())) else {
        return;
    };
    let target = format!("http://127.0.0.1:{}/Default", server.port);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let file = file.to_str().expect("text");
    let ran = z3950([
        "targets",
        "add",
        "zebra",
        "--from",
        &target,
        "--targets",
        file,
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = z3950(["targets", "show", "zebra", "--targets", file]);
    for said in ["Zebra's books", "title = dc.title", "schema marcxml", "40"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    for command in [
        &["search", "zebra", "ti:pride"][..],
        &["targets", "check", "zebra"],
    ] {
        let ran = z3950(command.iter().chain(&["--targets", file]));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let other = z3950([
        "targets",
        "add",
        "x",
        "--from",
        "127.0.0.1",
        "--targets",
        file,
    ]);
    assert_eq!(other.code, Some(2), "{other:?}");
}

#[test]
fn a_server_in_perl_is_paged_through() {
    let books = books();
    let xml: Vec<String> = books
        .iter()
        .take(25)
        .map(|book| to_xml(book).text)
        .collect();
    let Some(server) = peer::perl_sru(&xml) else {
        return;
    };
    let target = format!("http://127.0.0.1:{}/any", server.port);
    let ran = ask(
        "search",
        &target,
        &["war", "--count", "100", "--format", "mrk"],
    );
    let found: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("=001"))
        .collect();
    let expected: Vec<String> = books
        .iter()
        .take(25)
        .map(|book| {
            let number = book.control_number().expect("a number");
            format!("=001  {}", String::from_utf8_lossy(number))
        })
        .collect();
    assert_eq!(found, expected, "{ran:?}");
    for (command, words, code, said) in [
        ("search", &["none"][..], 3, "no record matches"),
        (
            "search",
            &["war", "--element-set", "mods"],
            5,
            "SRU diagnostic 66",
        ),
        ("scan", &["ti:war"], 0, "water"),
        ("explain", &[], 6, "no description of the database"),
    ] {
        let ran = ask(command, &target, words);
        let said_at = ran.stdout.contains(said) || ran.stderr.contains(said);
        assert!(said_at && ran.code == Some(code), "{words:?} {ran:?}");
    }
}

#[test]
fn a_batch_over_sru_is_broken_off_and_resumed() {
    let books = books();
    let Some(server) = peer::zebra_sru(&octets(&books)) else {
        return;
    };
    let target = format!("http://127.0.0.1:{}/Default", server.port);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (input, output, report) = (path("in.txt"), path("out.mrc"), path("report.tsv"));
    let mut numbers = String::new();
    for index in 0..500 {
        // One identifier in ten belongs to a record.
        let number = if index % 10 == 0 {
            "0141439513".to_owned()
        } else {
            format!("97800000{index:05}")
        };
        writeln!(numbers, "isbn:{number}").expect("a text");
    }
    std::fs::write(&input, &numbers).expect("written");
    let run = |deadline: &str, more: &[&str]| {
        let words = [
            "lookup",
            &target,
            "--input",
            &input,
            "--output",
            &output,
            "--report",
            &report,
            "--jobs",
            "4",
            "--deadline",
            deadline,
        ];
        z3950(words.iter().chain(more))
    };
    let first = run("0.15", &[]);
    assert_ne!(first.code, Some(0), "{first:?}");
    let lines = || {
        std::fs::read_to_string(&report)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let mut ran = run("60", &["--resume"]);
    if lines() < 500 {
        ran = run("60", &["--resume"]);
    }
    assert!(lines() >= 500, "{} {ran:?}", lines());
    let found = std::fs::read(&output).expect("an output");
    // Repeated inputs are answered, but their record is written only once.
    let records = found.iter().filter(|octet| **octet == 0x1d).count();
    assert_eq!(records, 1, "{ran:?}");
    let told = std::fs::read_to_string(&report).expect("a report");
    assert_eq!(told.matches("\tdelivered\t").count(), 50, "{ran:?}");
}

#[test]
fn our_server_answers_by_sru_as_by_z3950() {
    let daemon = Daemon::start(["--demo"]);
    let address = daemon.address();
    for method in ["", "sru:post:", "sru:soap:"] {
        let target = format!("{method}http://{address}/books");
        for (command, words, format) in [
            ("search", &["ti:the", "--count", "300"][..], "mrk"),
            ("search", &["ti:war", "--sort", "date:desc"], "mrk"),
            ("search", &["ti:war", "--sort", "title"], "brief"),
            (
                "search",
                &["au:tolstoy NOT ti:war", "--syntax", "opac"],
                "text",
            ),
            ("lookup", &["isbn:0141439513", "docid:pg1342"], "mrk"),
            ("scan", &["ti:war", "--size", "30"], ""),
        ] {
            let of = |target: &str| {
                let format = ["--format", format];
                let format = if format[1].is_empty() {
                    &[][..]
                } else {
                    &format
                };
                ask(command, target, &[words, format].concat())
            };
            let (ran, other) = (of(&target), of(&format!("{address}/books")));
            assert_eq!(
                (ran.code, &*ran.stdout),
                (other.code, &*other.stdout),
                "{words:?} {ran:?}"
            );
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    }
    let target = format!("http://{address}/books");
    for (words, code, said) in [
        (
            &["--lang", "cql", "nosuch.index = x"][..],
            5,
            "SRU diagnostic 15",
        ),
        (
            &["ti:war", "--element-set", "nosuch", "--syntax", "xml"],
            5,
            "SRU diagnostic 66",
        ),
        (&["ti:war", "--database", "nosuch"], 5, "diagnostic 235"),
    ] {
        let ran = ask("search", &target, words);
        assert!(
            ran.stderr.contains(said) && ran.code == Some(code),
            "{words:?} {ran:?}"
        );
    }
    let ran = ask("explain", &target, &["--json"]);
    assert!(ran.stdout.contains("\"names\":[\"dc.title\""), "{ran:?}");
}

#[test]
fn our_server_is_updated_by_sru() {
    let daemon = Daemon::start(["--demo"]);
    let target = format!("http://{}/books", daemon.address());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("new.mrc");
    let found = ask("search", &target, &["ti:pride", "--format", "marc"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    let text = String::from_utf8_lossy(&found.octets).replace("pg1342", "zz1342");
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("text");
    let count = || ask("search", &target, &["ti:pride", "--count", "0"]).stdout;
    for (words, hits) in [
        (&["insert", file][..], "2 "),
        (&["delete", "--id", "zz1342"], "1 "),
    ] {
        let ran = ask("update", &target, words);
        assert_eq!(ran.code, Some(0), "{words:?} {ran:?}");
        assert!(count().starts_with(hits), "{words:?} {}", count());
    }
    let ran = ask("update", &target, &["delete", "--id", "nosuch"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
}

#[test]
fn marcxml_by_sru_is_well_formed() {
    let Some(xmllint) = peer::find("xmllint") else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    let target = format!("http://{}/Default", daemon.address());
    let ran = ask("search", &target, &["ti:war", "--format", "marcxml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut command = command(xmllint);
    let checked = run(command.args(["--noout", "-"]), &ran.stdout);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}
