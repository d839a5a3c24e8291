//! Tests of clients judged by `z3950d --judge`: their reactions to faults, and the report in the format of CI viewers.

use std::path::Path;

use serde_json::Value;
use z3950_tests::peer;
use z3950_tests::program::{Daemon, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

use crate::interop::conversation::has_zoom;

/// Stops a server. Returns the findings of its judge about each session, each as `fail` or `hint` followed by the name of the
/// rule.
pub(crate) fn findings(daemon: &mut Daemon, report: &Path) -> Vec<Vec<String>> {
    let report = report_of(daemon, report);
    let sessions = report["sessions"].as_array().expect("a list").iter();
    sessions.map(of_session).collect()
}

fn report_of(daemon: &mut Daemon, report: &Path) -> Value {
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let text = std::fs::read_to_string(report).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

fn of_session(session: &Value) -> Vec<String> {
    let findings = session["findings"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings
        .map(|one| format!("{} {}", text(&one["verdict"]), text(&one["rule"])))
        .collect()
}

fn demo(rule: &str, files: &[&Path]) -> Daemon {
    let files = files.iter().map(|file| file.to_str().expect("text"));
    let files = files.flat_map(|file| ["--judge", file]);
    let arguments = ["--demo", "--no-page", "--fault", rule];
    Daemon::start(arguments.into_iter().chain(files).collect::<Vec<_>>())
}

/// Tests which requirements our client, and each other client that is installed, violates if the server closes the session
/// instead of answering. yaz-client answers the Close, but sends its next command on the same connection. ZOOM disconnects
/// without an answer.
#[test]
fn our_client_answers_the_servers_close() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let report = &report;
    let failed = |daemon: &mut Daemon| -> Vec<String> {
        let sessions = findings(daemon, report).into_iter().flatten();
        std::fs::remove_file(report).expect("removed");
        sessions.filter(|one| one.starts_with("fail")).collect()
    };
    let start = || {
        let daemon = demo("on search nth=1: close", &[report]);
        let place = format!("{}/books", daemon.address());
        (daemon, place)
    };
    let (mut daemon, place) = start();
    z3950(["search", &place, "war"]);
    z3950(["get", &format!("z39.50r://{place}?pg1342")]);
    let commands = "find @attr 1=4 war\nshow 1\nfind @attr 1=4 war\nquit\n";
    z3950_fed(["open", &format!("z39.50s://{place}")], commands);
    assert_eq!(failed(&mut daemon), [""; 0]);
    if let Some(program) = peer::find("yaz-client") {
        let (mut daemon, place) = start();
        run(&mut command(program), format!("open {place}\n{commands}"));
        assert_eq!(failed(&mut daemon), ["fail close.last"]);
    }
    if let Some(program) = peer::find("zoomsh") {
        let (mut daemon, place) = start();
        let commands = [&format!("connect {place}"), "search @attr 1=4 war", "quit"];
        run(command(program).args(commands), "");
        assert_eq!(failed(&mut daemon), ["fail close.answered"]);
    }
    if let Some(perl) = peer::find("perl").filter(|perl| has_zoom(perl)) {
        let (mut daemon, place) = start();
        let program =
            "use ZOOM; my $c = ZOOM::Connection->new($ARGV[0]); $c->search_pqf('@attr 1=4 war')";
        run(command(perl).args(["-e", program, &place]), "");
        assert_eq!(failed(&mut daemon), ["fail close.answered"]);
    }
}

/// Our client must not violate any requirement of the standard when the answers to a search or a Present are faulty.
#[test]
fn faults_do_not_lead_our_client_astray() {
    let folder = tempfile::tempdir().expect("a folder");
    for rule in [
        "on search nth=1: fail 2",
        "on search nth=1: cut 5",
        "on search nth=1: reset 5",
        "on search nth=1: garbage",
        "on search nth=1: reference-id other",
        "on search nth=1: count 1000000",
        "on search nth=1: fail-silently",
        "on present nth=1: surrogate 14",
        "on present nth=1: fewer 1",
        "on present nth=1: close",
        "on present nth=1: instead init-response",
        "on init: version 2",
        "on init: options search present",
        "on init: reject",
    ] {
        let (json, xml) = (folder.path().join("a.json"), folder.path().join("a.xml"));
        let mut daemon = demo(rule, &[&json, &xml]);
        let place = format!("{}/books", daemon.address());
        z3950(["search", &place, "war", "--count", "20"]);
        let commands =
            "find @attr 1=4 war\nshow 1+3\nscan @attr 1=4 war\nsort title\nshow 1\nquit\n";
        z3950_fed(["open", &format!("z39.50s://{place}")], commands);
        let report = report_of(&mut daemon, &json);
        let sessions = report["sessions"].as_array().expect("a list");
        assert!(!sessions.is_empty(), "{rule}");
        let faults = sessions
            .iter()
            .map(|one| one["faults"].as_array().map_or(0, Vec::len));
        assert!(faults.sum::<usize>() > 0, "{rule}: {report:#}");
        let all: Vec<String> = sessions.iter().flat_map(of_session).collect();
        assert!(
            !all.iter().any(|one| one.starts_with("fail")),
            "{rule}: {report:#}"
        );
        if let Some(xmllint) = peer::find("xmllint") {
            let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/junit.xsd");
            let ran = run(
                command(xmllint)
                    .args(["--noout", "--schema", schema])
                    .arg(&xml),
                "",
            );
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        for file in [json, xml] {
            std::fs::remove_file(file).expect("removed");
        }
    }
}
