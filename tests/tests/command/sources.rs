//! Tests of databases that combine several servers, one of which is down. A search without hits is not reported as "no match",
//! records are printed with a note, and each record names its source.

use serde_json::Value;
use tempfile::TempDir;
use z3950_tests::peer::Unheard;
use z3950_tests::program::{Daemon, Ran, run, z3950};
use z3950_tests::surroundings::command;

/// A server with a database `union`, which combines the demo catalogue and a server that is down.
struct Union {
    folder: TempDir,
    _town: Daemon,
    _closed: Unheard,
    front: Daemon,
}

fn union() -> Union {
    let folder = TempDir::new().expect("a folder");
    let town = Daemon::start(["--demo"]);
    let closed = Unheard::bind();
    let profiles = format!(
        "[targets.town]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"books\"]\n\
         [targets.closed]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"x\"]\n",
        town.port(),
        closed.address().port()
    );
    std::fs::write(folder.path().join("profiles.toml"), profiles).expect("written");
    let path = folder.path().join("z3950d.toml");
    let settings = "target-profiles = \"profiles.toml\"\n[[database]]\nname = \"union\"\n\
                    targets = [\"town\", \"closed\"]\nmerge = true\nmerge-records = 5\n";
    std::fs::write(&path, settings).expect("written");
    let front = Daemon::start(["--config", path.to_str().expect("text")]);
    Union {
        folder,
        _town: town,
        _closed: closed,
        front,
    }
}

const FAILED: &str = "union@closed: cannot connect: connection refused";

fn check(ran: &Ran, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert!(ran.stdout.contains(stdout), "{stdout}: {ran:?}");
    assert!(ran.stderr.contains(stderr), "{stderr}: {ran:?}");
}

#[test]
fn nothing_found_while_a_server_is_down_is_not_no_match() {
    let union = union();
    let address = union.front.address();
    let (target, over_sru) = (
        format!("{address}/union"),
        format!("http://{address}/union"),
    );
    let failed = format!("no record matches, but not all sources answered: {FAILED}");
    for arguments in [
        ["search", &target, "ti:nothingness"],
        ["search", &over_sru, "ti:nothingness"],
        ["lookup", &target, "local:nosuch"],
        ["lookup", &over_sru, "local:nosuch"],
    ] {
        check(&z3950(arguments), 6, "", &failed);
        let ran = z3950(arguments.into_iter().chain(["--json"]));
        check(&ran, 6, "\"outcome\":\"unavailable\"", "");
        check(&ran, 6, "\"name\":\"union@closed\",\"hits\":null", "");
    }
    let url = format!("z39.50r://{address}/union?nosuch");
    check(&z3950(["get", &url]), 6, "", &failed);
    let gateway = format!("http://{address}/");
    check(&z3950(["get", &url, "--gateway", &gateway]), 6, "", &failed);
    // If every target that failed has refused the search, the outcome is a refusal.
    let ran = z3950(["search", &target, "@attr 1=9999 x"]);
    check(&ran, 5, "", "diagnostic 114");
    check(&ran, 5, "", FAILED);
}

#[test]
fn results_have_a_note_and_the_source_of_each_record() {
    let union = union();
    let address = union.front.address();
    let (target, over_sru) = (
        format!("{address}/union"),
        format!("http://{address}/union"),
    );
    let note = format!("results are missing from {FAILED}\n");
    for target in [&target, &over_sru] {
        let ran = z3950([
            "search", target, "ti:war", "--count", "2", "--format", "brief",
        ]);
        check(&ran, 0, "(2 of 9, union@town)\n", &note);
        check(&ran, 0, "", "the first 5 records of each target are merged");
        let ran = z3950(["search", target, "ti:pride", "--json"]);
        let line: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(line["database"], "union@town");
        let source = format!("{target}@town");
        assert_eq!(line["record"]["source"], source.as_str());
        assert_eq!(line["sources"][0]["hits"], 1);
        assert_eq!(line["sources"][1]["failure"]["code"], 109);
        // The note is printed only once.
        let ran = z3950(["lookup", target, "local:pg1342", "local:pg158"]);
        assert_eq!(ran.stderr.matches(&note).count(), 1, "{ran:?}");
        check(&ran, 0, "(1 of 1, union@town)\n", "");
    }
    let url = format!("z39.50r://{address}/union?pg1342");
    check(&z3950(["get", &url]), 0, "001 pg1342", &note);
    let ran = z3950(["search", &target, "ti:the", "--count", "1"]);
    check(&ran, 0, "", "note: ");
}

#[test]
fn a_batch_reports_the_source_that_failed_and_counts_it_at_the_end() {
    let union = union();
    let target = format!("{}/union", union.front.address());
    let path = |name: &str| union.folder.path().join(name).display().to_string();
    std::fs::write(path("in"), "local:pg1342\nlocal:pg158\nlocal:nosuch\n").expect("written");
    let (input, report, output) = (path("in"), path("r.tsv"), path("o.mrc"));
    let ran = z3950([
        "lookup", &target, "--input", &input, "--report", &report, "--output", &output,
    ]);
    let failed = "union@closed failed for 3 inputs: cannot connect: connection refused\n";
    check(&ran, 6, "", failed);
    assert_eq!(ran.stderr.matches("cannot connect").count(), 1, "{ran:?}");
    let report = std::fs::read_to_string(report).expect("a report");
    let lines: Vec<&str> = report.lines().skip(1).collect();
    for (line, outcome) in lines.iter().zip(["delivered", "delivered", "unavailable"]) {
        assert!(line.contains(outcome) && line.contains(FAILED), "{line}");
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn the_prompt_shows_the_hits_of_each_source_on_one_line() {
    let union = union();
    let target = format!("{}/union", union.front.address());
    let mut command = command(z3950_tests::program::path("z3950"));
    let ran = run(
        command.arg("open"),
        format!("open {target}\nfind ti:pride\nquit\n"),
    );
    let line = "hits: town 1; closed failed: cannot connect: connection refused\n";
    check(&ran, 0, "", line);
}

#[test]
fn a_gateway_that_is_down_is_named() {
    let closed = Unheard::bind();
    let gateway = format!("http://{}/", closed.address());
    let ran = z3950(["get", "z39.50r://127.0.0.1:1/b?x", "--gateway", &gateway]);
    let words = format!("cannot reach the gateway {gateway}: cannot connect: ");
    check(&ran, 6, "", &words);
    check(&ran, 6, "", &format!("through the gateway {gateway}"));
}
