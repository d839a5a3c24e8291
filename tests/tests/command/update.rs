//! Tests of `z3950 update`. Records are inserted, replaced and deleted, and each of them has a result of its own.

use serde_json::Value;
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, z3950, z3950_fed};

const TWO: &str = "=LDR  00000nam a2200000 a 4500\n=001  new1\n=245  00$aAn updated title\n\n\
                   =LDR  00000nam a2200000 a 4500\n=001  new2\n=245  00$aAnother updated title\n";

struct Bench {
    daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            daemon: Daemon::start(["--demo"]),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn target(&self) -> String {
        format!("{}/books", self.daemon.address())
    }

    fn file(&self, name: &str, octets: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, octets).expect("written");
        path.to_str().expect("text").to_owned()
    }

    fn update(&self, arguments: &[&str]) -> Ran {
        let target = self.target();
        z3950([&["update", target.as_str()], arguments].concat())
    }

    /// Returns the number of records in the database with this text in their titles.
    fn hits(&self, title: &str) -> u64 {
        let query = format!("ti:\"{title}\"");
        let ran = z3950(["search", &self.target(), &query, "--count", "0"]);
        let first = ran.stdout.split(' ').next().unwrap_or_default();
        match ran.code {
            Some(0) => first.parse().expect("a number"),
            Some(3) => 0,
            _ => panic!("{ran:?}"),
        }
    }
}

fn marc(text: &str) -> Vec<u8> {
    let records = mrk::parse_all(text).expect("records");
    let octets = records
        .iter()
        .map(|record| iso2709::encode(record).expect("fits"));
    octets.collect::<Vec<_>>().concat()
}

#[test]
fn records_come_change_and_go() {
    let bench = Bench::new();
    let both = bench.file("two.mrk", TWO);
    let ran = bench.update(&["insert", &both]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "       1  done      new1\n       2  done      new2\n"
    );
    assert!(ran.stderr.ends_with(": 2 done\n"), "{ran:?}");
    assert_eq!(bench.hits("updated title"), 2);
    let changed = bench.file("changed.mrc", marc(&TWO.replace("updated", "amended")));
    let ran = bench.update(&["replace", &changed, "--per-request", "2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        (bench.hits("updated title"), bench.hits("amended title")),
        (0, 2)
    );
    let ran = bench.update(&["delete", "--id", "new1", "--id", "new2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(bench.hits("amended title"), 0);
    // The records are inserted again with the first version of the service, in XML.
    let ran = bench.update(&["insert", &both, "--version", "1", "--syntax", "xml"]);
    assert_eq!(
        (ran.code, bench.hits("updated title")),
        (Some(0), 2),
        "{ran:?}"
    );
    let ran = bench.update(&["special", &changed, "--id-from-001", "--id-type", "string"]);
    assert_eq!(
        (ran.code, bench.hits("amended title")),
        (Some(0), 2),
        "{ran:?}"
    );
    let ran = bench.update(&["delete", &changed]);
    assert_eq!(
        (ran.code, bench.hits("amended title")),
        (Some(0), 0),
        "{ran:?}"
    );
}

#[test]
fn documents_of_the_xml_service_name_the_action() {
    let bench = Bench::new();
    let records = bench.file("two.mrk", TWO);
    let xml = z3950(["convert", "--to", "marcxml", &records]);
    let document = bench.file("two.xml", &xml.octets);
    // This version of the service changes the first database of the server.
    let ran = bench.update(&["special", &document, "--version", "xml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("<update status=\"success\">"),
        "{ran:?}"
    );
    let ran = bench.update(&["insert", &document, "--version", "xml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn every_record_has_its_own_line() {
    let bench = Bench::new();
    let three = format!("{TWO}\n{}", TWO.split("\n\n").next().expect("a record"));
    let file = bench.file("three.mrk", three);
    let ran = bench.update(&["insert", &file, "--json", "--element-set", "F"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            assert_eq!(line["v"], 2);
            assert_eq!(line["action"], "recordInsert");
            let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
            (
                text("outcome"),
                text("identifier"),
                text("status"),
                line["record"].is_null(),
            )
        })
        .collect();
    let expected = [
        ("done", "new1", "success", false),
        ("done", "new2", "success", false),
        ("task failed", "new1", "failure", true),
    ]
    .map(|(outcome, id, status, none)| (outcome.into(), id.into(), status.into(), none));
    assert_eq!(told, expected);
    // Diagnostics for the record take precedence over those for the task.
    assert_eq!(lines[2]["diagnostic"]["code"], 100, "{ran:?}");
    assert_eq!(lines[0]["task"]["status"], "done");
    assert_eq!(lines[0]["task"]["package"]["taskStatus"], "complete");
    // A request is executed as a whole or not at all, so both records report the reason.
    let ran = bench.update(&["insert", &file, "--per-request", "10"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stdout.is_empty() && ran.stderr.matches("diagnostic").count() >= 3,
        "{ran:?}"
    );
    let ran = bench.update(&["replace", &file, "--id", "a", "--stop-on-error"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("0 done, 1 refused"), "{ran:?}");
    // The summary includes the number of records that were not sent.
    let four = bench.file("four.mrc", [marc(TWO), marc(TWO)].concat());
    for more in [&[][..], &["--json"]] {
        let arguments = [&["insert", &four, "--stop-on-error"][..], more].concat();
        let ran = bench.update(&arguments);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(
            ran.stderr.contains("0 done, 1 refused, 3 not sent"),
            "{ran:?}"
        );
    }
}

#[test]
fn audit_a5_a_record_that_is_not_whole_is_not_sent() {
    let bench = Bench::new();
    let octets = marc(TWO);
    let end = octets.iter().position(|octet| *octet == 0x1D);
    let end = end.expect("a terminator") + 1;
    let cut = [&octets[..end - 10], &octets[end..]].concat();
    let file = bench.file("cut.mrc", cut);
    let ran = bench.update(&["insert", &file]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("cut.mrc record 1: no record terminator"),
        "{ran:?}"
    );
    assert_eq!(bench.hits("An updated"), 0);
    assert_eq!(bench.hits("Another updated title"), 1);
}

#[test]
fn wrong_usage_is_reported_before_anything_is_sent() {
    let bench = Bench::new();
    let good = bench.file("two.mrk", TWO);
    let text = bench.file("note.txt", "words");
    for (arguments, words) in [
        (&["insert"][..], "name a file"),
        (&["insert", "--id", "a"], "only to delete"),
        (&["delete"], "--id"),
        (&["insert", "/nonexistent.mrc"], "/nonexistent.mrc"),
        (&["insert", &good, "/nonexistent.mrc"], "/nonexistent.mrc"),
        (&["insert", &good, "--syntax", "sutrs"], "--whole"),
        (&["insert", &text, "--whole"], "--syntax"),
        (&["special", &good, "--version", "1"], "no special update"),
        (
            &["insert", &good, "--database", "a", "--database", "b"],
            "one database",
        ),
        (
            &["delete", "--id", "x", "--id-type", "number"],
            "is not a number",
        ),
    ] {
        let ran = bench.update(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    assert_eq!(bench.hits("updated title"), 0, "nothing was sent");
    let ran = bench.update(&["insert", &text]);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    let ran = z3950(["update", "127.0.0.1:1/books", "insert", &good]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let ran = z3950_fed(
        [
            "update",
            &bench.target(),
            "insert",
            "-",
            "--whole",
            "--syntax",
            "usmarc",
        ],
        String::from_utf8(marc(TWO.split("\n\n").next().expect("a record"))).expect("ASCII"),
    );
    assert_eq!(
        (ran.code, bench.hits("updated title")),
        (Some(0), 1),
        "{ran:?}"
    );
}

#[test]
fn a_server_without_the_service_says_so() {
    let bench = Bench::new();
    let good = bench.file("two.mrk", TWO);
    let daemon = Daemon::start([
        "--demo",
        "--fault",
        "init: options search present namedResultSets",
    ]);
    let target = format!("{}/books", daemon.address());
    let ran = z3950(["update", &target, "insert", &good]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stderr.contains("does not offer extendedServices")
            && ran.stderr.contains("nothing was sent"),
        "{ran:?}"
    );
}

#[test]
fn yaz_ztest_and_zebrasrv_take_updates() {
    let bench = Bench::new();
    let good = bench.file("two.mrk", TWO);
    if let Some(server) = peer::yaz_ztest() {
        let target = format!("127.0.0.1:{}/Default", server.port);
        for version in ["3", "1"] {
            let ran = z3950(["update", &target, "insert", &good, "--version", version]);
            assert!(matches!(ran.code, Some(0 | 5)), "{ran:?}");
            assert!(!ran.stderr.contains("Protocol"), "{ran:?}");
        }
    }
    let records = mrk::parse_all(TWO).expect("records");
    let octets: Vec<bytes::Bytes> = records
        .iter()
        .take(1)
        .map(|record| iso2709::encode(record).expect("fits").into())
        .collect();
    if let Some(server) = peer::zebrasrv(&octets) {
        let target = format!("127.0.0.1:{}/Default", server.port);
        let more = bench.file("more.mrc", marc(&TWO.replace("updated", "zebra")));
        let ran = z3950(["update", &target, "special", &more, "--id-from-001"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let ran = z3950(["search", &target, "@attr 1=4 zebra", "--count", "0"]);
        assert!(ran.stdout.starts_with("2 "), "{ran:?}");
    }
}

#[test]
fn r_f15_a_dry_run_prints_the_requests_and_sends_nothing() {
    let bench = Bench::new();
    let both = bench.file("two.mrk", TWO);
    let ran = bench.update(&["insert", "--dry-run", &both]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].starts_with("       1  would insert new1, usmarc, ")
            && lines[1].starts_with("       2  would insert new2, usmarc, ")
            && lines[1].ends_with(" octets"),
        "{ran:?}"
    );
    assert!(ran.stderr.ends_with(": 2 would be sent\n"), "{ran:?}");
    assert_eq!(bench.hits("updated title"), 0);
    let held = bench.hits("pride and prejudice");
    for (arguments, line) in [
        (&["delete", "--id", "pg1342"][..], "would delete pg1342, "),
        (
            &["replace", "--id-from-001", &both],
            "would replace new1, usmarc",
        ),
        (
            &["special", "--syntax", "xml", &both, "--per-request", "2"],
            "would special new1, xml",
        ),
    ] {
        let ran = bench.update(&[arguments, &["--dry-run"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.contains(line), "{arguments:?}: {ran:?}");
    }
    assert_eq!(
        (
            bench.hits("pride and prejudice"),
            bench.hits("updated title")
        ),
        (held, 0)
    );

    let ran = bench.update(&["insert", "--dry-run", "--json", &both]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first: Value =
        serde_json::from_str(ran.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["outcome"], &first["identifier"], &first["task"]),
        (&"ok".into(), &"new1".into(), &Value::Null)
    );
    let words = first["message"].as_str().expect("words");
    assert!(words.starts_with("would be sent: usmarc, "), "{words}");

    // Records that cannot be sent, and invalid combinations of arguments, are reported in the same way as without --dry-run.
    let whole = marc(TWO);
    let cut = bench.file("cut.mrc", &whole[..whole.len() - 20]);
    let ran = bench.update(&["insert", "--dry-run", &cut]);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(
        ran.stdout.lines().count() == 1 && ran.stderr.contains("1 would be sent, 1 unreadable"),
        "{ran:?}"
    );
    let odd = bench.file(
        "odd.mrk",
        "=LDR  00000nam a2200000 a 4500\n=001  odd\n=245  1$aTitle\n",
    );
    let ran = bench.update(&["insert", "--dry-run", &odd]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("warning: ") && ran.stderr.contains("field 245: not two indicators"),
        "{ran:?}"
    );
    let empty = bench.file("empty.mrc", "");
    let ran = bench.update(&["insert", "--dry-run", &empty]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(
        ran.stderr.ends_with("there is no record in the input\n"),
        "{ran:?}"
    );
    let ran = bench.update(&["insert", "--dry-run", "--id", "a", &both]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn r_f15_a_dry_run_finds_servers_that_offer_no_updates() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.mrk");
    std::fs::write(&file, TWO).expect("written");
    let file = file.to_str().expect("text");
    let settings = folder.path().join("z3950d.toml");
    let text = "demo = true\n[offer]\noptions = [\"search\", \"present\"]\n";
    std::fs::write(&settings, text).expect("written");
    let daemon = Daemon::start(["--config".as_ref(), settings.as_os_str()]);
    let target = format!("{}/books", daemon.address());
    let ran = z3950(["update", &target, "insert", "--dry-run", file]);
    assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{ran:?}");
    assert!(ran.stderr.contains("2 not sent"), "{ran:?}");
    let real = z3950(["update", &target, "insert", file]);
    assert_eq!(real.code, ran.code, "{real:?} {ran:?}");
    let ran = z3950(["update", "127.0.0.1:1/books", "insert", "--dry-run", file]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
}
