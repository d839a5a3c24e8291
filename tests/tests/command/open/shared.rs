//! Tests of the commands that the prompt shares with the command line. They have the same options, and use the open session.

use std::io::Write;

use tempfile::NamedTempFile;

use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{self, z3950, z3950_fed};
use z3950_tests::surroundings::command;

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".mrk").expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

fn server() -> TestServer {
    let records = ["Seven", "Nine", "Eight"];
    let records = (7..)
        .zip(records)
        .map(|(id, title)| record(&format!("id{id}"), title));
    TestServer::builder().database("cat", records).start()
}

/// The output of a command must not depend on whether it was given at the prompt or on the command line.
#[test]
fn a_command_prints_the_same_at_the_prompt_and_on_the_command_line() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let order = file("<order/>");
    let order = order.path().to_str().expect("a path");
    for (name, options, text) in [
        (
            "search",
            &["--count", "2", "--sort", "title:desc"][..],
            "ti:seven OR ti:nine OR ti:eight",
        ),
        ("search", &["--format", "brief"], "ti:eight"),
        ("search", &["--count", "0"], "ti:nine"),
        ("search", &[], "ti:nosuch"),
        ("search", &["--json"], "ti:nine"),
        ("search", &["--lang", "ccl"], "ti=nine"),
        ("lookup", &["--format", "mrk"], "docid:id8"),
        ("lookup", &[], "id99"),
        ("scan", &["--size", "2"], "ti:nine"),
        (
            "scan",
            &["--size", "1", "--set", "ti:nine", "--json"],
            "ti:nine",
        ),
        ("order", &["--item", "1"], "ti:nine"),
        ("order", &["--request", order], ""),
        ("update", &["--id", "id9"], "delete"),
    ] {
        let words: Vec<&str> = [name, target.as_str()]
            .into_iter()
            .chain(options.iter().copied())
            .chain(Some(text).filter(|text| !text.is_empty()))
            .collect();
        let expected = z3950(&words);
        if name == "update" {
            assert_eq!(z3950(["lookup", &target, "id9"]).code, Some(3));
            let restored = file("=LDR  00000nam a2200000 a 4500\n=001  id9\n=245  00$aEight\n");
            let restored = restored.path().to_str().expect("a path");
            let ran = z3950(["update", &target, "insert", "--id-from-001", restored]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        let line = format!("{name} {text} {}\n", options.join(" "));
        let ran = z3950_fed(["open", &target], &line);
        // Two orders have different references, and possibly different times, so these lines are not compared.
        let differs = |line: &str| line.contains("reference") || line.contains("date time");
        let comparable = |out: &str| {
            let lines = out.lines().filter(|line| !differs(line));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(ran.code, expected.code, "{line}: {ran:?}");
        assert_eq!(
            comparable(&ran.stdout),
            comparable(&expected.stdout),
            "{line}"
        );
        let mut words = expected.stderr.lines();
        assert!(
            words.all(|words| ran.stderr.contains(words)),
            "{line}: {ran:?}\n{expected:?}"
        );
    }
}

#[test]
fn a_search_leaves_its_result_set_for_show() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let commands = "search --count 2 --sort title ti:seven OR ti:nine OR ti:eight\nshow\nfind ti:nine\nshow 1+1+1\nsessions\n";
    let ran = z3950_fed(["open", &target, "--format", "brief"], commands);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let titles: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| ["Seven", "Eight", "Nine"].contains(line))
        .collect();
    assert_eq!(titles, ["Eight", "Nine", "Seven", "Eight"], "{ran:?}");
    assert!(ran.stdout.contains("1 hit"), "{ran:?}");
}

#[test]
fn settings_are_the_defaults_of_options() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let commands = "querytype ccl2rpn\nsearch --count 0 ti=nine\nbase nosuch\nsearch ti=nine\nsearch --database cat --count 0 ti=nine\nlookup --database cat --format brief id8\n";
    let ran = z3950_fed(["open", &target], commands);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("1 "))
            .count(),
        2,
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("there is no database of this name") && ran.stdout.contains("Nine"),
        "{ran:?}"
    );
}

#[test]
fn settings_of_scans_and_facets_are_defaults_too() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let commands = "scansize 1\nscan --position 1 ti:nine\nfacets title:1\nsearch --count 0 ti:nine\n\
                    search --count 0 --facets title:2 ti:nine\n";
    let ran = z3950_fed(["open", &target], commands);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let terms = ran.stdout.lines().filter(|line| line.starts_with('*'));
    assert_eq!(terms.count(), 1, "{ran:?}");
    assert!(!ran.stdout.contains("seven"), "{ran:?}");
    assert_eq!(ran.stdout.matches("title:\n").count(), 2, "{ran:?}");
}

#[test]
fn wrong_options_are_reported_like_wrong_commands() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    for (line, words) in [
        (
            "search --cuont 3 x",
            "there is no option --cuont; did you mean --count?",
        ),
        ("search", "usage: search [OPTIONS] QUERY"),
        (
            "search --count x y",
            "invalid value 'x' for '--count <NUMBER|all>'",
        ),
        (
            "search --sort nosuch x",
            "--sort: no index is called nosuch",
        ),
        ("order --request /nosuch/file", "cannot read /nosuch/file"),
        (
            "update insert --id 7",
            "an --id alone is enough only to delete",
        ),
    ] {
        let ran = z3950_fed(["open", &target], format!("{line}\n"));
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert!(ran.stderr.contains(words), "{line}: {ran:?}");
    }
    let ran = z3950_fed(["open", &target], "scan --help\nsearch -h\n");
    assert!(
        ran.stdout.contains("--count <NUMBER>") && ran.stdout.contains("--sort"),
        "{ran:?}"
    );
    let without = z3950_fed(["open"], "search x\n");
    assert!(without.stderr.contains("no session is open"), "{without:?}");
}

/// A line that is quoted for a shell also works at the prompt.
#[test]
fn quotes_around_a_query_are_those_of_a_shell() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let commands = "search --count 0 'ti:nine'\nfind 'ti:\"nine\"'\nscan --size 1 'ti:nine'\nscan 'ti:nine'\nfind --count 0 nine\n";
    let ran = z3950_fed(["open", &target], commands);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.contains("1 hit\n"), "{ran:?}");
    assert_eq!(
        ran.stdout.matches("*       1  nine\n").count(),
        2,
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("find takes no options such as --count; search does"),
        "{ran:?}"
    );
}

/// For set_marcdump and for an update without a document, records returned by any command count as shown.
#[test]
fn records_of_search_and_lookup_are_shown_records() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let dump = folder.path().join("all.mrc");
    let commands = format!(
        "set_marcdump {}\nsearch --count 1 ti:nine\nlookup id9\nset_marcdump\nshow 1\nupdate insert id9\nupdate delete id9\n",
        dump.display()
    );
    let ran = z3950_fed(["open", &target], &commands);
    let octets = std::fs::read(&dump).expect("a dump");
    assert_eq!(
        octets.iter().filter(|octet| **octet == 0x1d).count(),
        2,
        "{ran:?}"
    );
    let text = String::from_utf8_lossy(&octets);
    assert!(text.contains("Nine") && text.contains("Eight"), "{text}");
    assert_eq!(z3950(["lookup", &target, "id9"]).code, Some(3), "{ran:?}");
}

#[test]
fn files_and_documents_keep_their_form() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let (marc, other) = (folder.path().join("a.mrc"), folder.path().join("a.other"));
    let commands = format!(
        "find ti:nine\nsave {}\nsave {}\nupdate replace {}\nsearch --json ti:nine\n",
        marc.display(),
        other.display(),
        marc.display()
    );
    let ran = z3950_fed(["open", &target, "--format", "marcxml"], &commands);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        std::fs::read(&marc).expect("MARC").ends_with(b"\x1d"),
        "{ran:?}"
    );
    assert!(
        std::fs::read(&other).expect("XML").starts_with(b"<?xml"),
        "{ran:?}"
    );
    for words in [
        "is a file: update replace ID <",
        "--json cannot be used with z3950 open --format",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    let commands = format!("open {target}\nopen {target}\nclose\n");
    let ran = z3950_fed(["open"], &commands);
    assert!(ran.stderr.contains("session closed\nnote: at "), "{ran:?}");
}

/// `show` must not present the records of another search.
#[test]
fn a_deleted_result_set_is_no_longer_current() {
    let server = server();
    let named = format!("{}/cat", server.addr());
    let unnamed = TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .rule("on init: options search present scan sort extendedServices")
        .start();
    let unnamed = format!("{}/cat", unnamed.addr());
    let gone = "there is no result set";
    for (target, between, expected) in [
        (&named, "search @attr 1=9999 x", gone),
        (&named, "search --database nosuch x", gone),
        (&named, "search (", "Seven"),
        (&named, "lookup id8", "Seven"),
        (&unnamed, "search @attr 1=9999 x", gone),
        (&unnamed, "search --count 0 ti:eight", "Eight"),
        (&unnamed, "search (", "Seven"),
        (&unnamed, "lookup id8", gone),
        (&unnamed, "scan --size 1 ti:eight", "Seven"),
        (&unnamed, "update insert --package x /nosuch", "Seven"),
        (&unnamed, "order ti:eight", gone),
    ] {
        let commands = format!("find ti:seven\n{between}\nshow 1\n");
        let ran = z3950_fed(["open", target, "--format", "brief"], &commands);
        let shown = ran.stdout.lines().rev().nth(1).unwrap_or_default();
        if expected == gone {
            assert!(ran.stderr.contains(gone), "{between}: {ran:?}")
        } else {
            assert_eq!(shown, expected, "{between}: {ran:?}")
        }
    }
    let commands =
        "set_auto_wait off\nfind ti:seven\nsearch ti:eight\nwait_response\nshow 1\nwait_response\n";
    let ran = z3950_fed(["open", &named], commands);
    assert!(ran.stderr.contains("requests are pending"), "{ran:?}");
    assert!(
        ran.stdout.contains("Seven") && !ran.stdout.contains("Eight"),
        "{ran:?}"
    );
}

#[test]
fn standard_input_has_the_commands() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    let commands =
        "order --request -\nupdate insert --id-from-001 -\nsearch --format brief ti:nine\n";
    let ran = z3950_fed(["open", &target], commands);
    assert_eq!(
        ran.stderr
            .matches("standard input is for commands here")
            .count(),
        2,
        "{ran:?}"
    );
    assert!(ran.stdout.contains("Nine"), "{ran:?}");
    let ran = z3950(["update", &target, "insert", "/dev/null"]);
    assert!(
        ran.stderr.contains("there is no record in the input"),
        "{ran:?}"
    );
}

#[test]
fn a_signal_ends_endless_input() {
    let server = server();
    let target = format!("{}/cat", server.addr());
    for (arguments, input) in [
        (&["update", &target, "insert", "/dev/zero"][..], ""),
        (&["open", &target], "update insert --package x /dev/zero\n"),
    ] {
        let mut command = command("timeout");
        command
            .args(["--preserve-status", "-k", "10", "1"])
            .arg(program::path("z3950"));
        let ran = program::run(command.args(arguments), input);
        assert_eq!(ran.code, Some(143), "{arguments:?}: {ran:?}");
    }
}
