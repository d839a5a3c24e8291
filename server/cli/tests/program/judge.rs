//! Tests of the reports on clients.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::Value;
use z3950_asn1::apdu::{Apdu, Close, CloseReason, PresentRequest, ResultSetId};
use z3950_server::transcript::{Direction, Recording};

use super::daemon::{Daemon, Folder, PATIENCE, Words, ran, search};

/// Returns a Present for a result set that does not exist.
fn astray() -> Apdu {
    PresentRequest {
        result_set_id: ResultSetId::from("nowhere"),
        result_set_start_point: 1,
        number_of_records_requested: 1,
        ..PresentRequest::default()
    }
    .into()
}

fn rules<'a>(session: &'a Value, verdict: &str) -> Vec<&'a str> {
    let findings = session["findings"].as_array().expect("a list").iter();
    let of = findings.filter(|finding| finding["verdict"] == verdict);
    of.filter_map(|finding| finding["rule"].as_str()).collect()
}

#[test]
fn messages_of_clients_are_judged_at_the_end() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (json, xml, text) = (at("report.json"), at("report.xml"), at("report.txt"));
    let files = ["--judge", &json, "--judge", &xml, "--judge", &text];
    let fault = ["--fault", "on search nth=1: fail 2"];
    let arguments = [&["--demo", "--listen", "127.0.0.1:0"][..], &files, &fault].concat();
    let (mut daemon, words) = Daemon::heard(&arguments);
    let war = search("books", "@attr 1=4 war");
    daemon.converse(&[war.clone(), war, astray()]);
    daemon.converse(&[]);
    daemon.signal("TERM");
    let last = words.until("report.txt");
    assert!(
        last.iter()
            .any(|line| line.starts_with("judged 2 sessions: 1 violation of the standard")),
        "{last:#?}"
    );
    assert!(daemon.child.wait().expect("ended").success());
    let report = fs::read_to_string(&json).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["v"], &report["judged"]), (&1.into(), &2.into()));
    let sessions = report["sessions"].as_array().expect("a list");
    let mut sessions: Vec<&Value> = sessions.iter().collect();
    sessions.sort_by_key(|session| session["session"].as_u64());
    assert_eq!(rules(sessions[0], "fail"), ["present.set"]);
    assert_eq!(rules(sessions[1], "fail"), [""; 0]);
    assert!(rules(sessions[0], "hint").contains(&"close.sent"));
    let finding = sessions[0]["findings"].as_array().expect("a list").iter();
    let finding = finding
        .clone()
        .find(|finding| finding["rule"] == "present.set");
    let finding = finding.expect("present");
    assert_eq!(finding["section"], "Z39.50-2003 §3.2.3.1.3");
    assert_eq!(finding["message"], "presentRequest");
    assert!(finding["octets"].as_str().expect("text").starts_with("b8"));
    let faults = &sessions[0]["faults"];
    assert_eq!(faults[0]["rule"], "on search nth=1: fail 2");
    assert_eq!(faults[0]["reaction"], "asked again");
    let xml = fs::read_to_string(&xml).expect("a report");
    assert!(xml.contains("<testcase name=\"present.set\""), "{xml}");
    let text = fs::read_to_string(&text).expect("a report");
    assert!(
        text.contains("fail   present.set (Z39.50-2003 §3.2.3.1.3), 1 of 1"),
        "{text}"
    );
    // Existing reports are kept unless `--overwrite` is used.
    let again = ran(&arguments);
    let told = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(2), "{told}");
    assert!(
        told.contains("report.json") && told.contains("--overwrite"),
        "{told}"
    );
}

/// The page runs its search in a session of the server with itself, and the judge must not report such a session, because
/// it does not belong to a client.
#[test]
fn the_sessions_of_the_page_are_not_judged() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (report, said) = (at("report.json"), at("said.jsonl"));
    let outputs = ["--judge", &report, "--transcript", &said];
    let arguments = [&["--demo", "--listen", "127.0.0.1:0"][..], &outputs].concat();
    let (mut daemon, words) = Daemon::heard(&arguments);
    let mut stream = TcpStream::connect(&daemon.listening).expect("a connection");
    stream
        .write_all(b"GET /search?q=war&target=books HTTP/1.0\r\n\r\n")
        .expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    daemon.signal("TERM");
    let last = words.until("report on clients written to");
    assert!(
        last.iter()
            .any(|line| line.starts_with("judged 0 sessions")),
        "{last:#?}"
    );
    assert!(daemon.child.wait().expect("ended").success());
    let said = fs::read_to_string(&said).expect("a transcript");
    assert!(
        said.contains("\"apdu\":\"searchRequest\""),
        "{said}\n{page}"
    );
}

/// The Close arrives after the server has ended the session, and must still be recorded.
#[test]
fn the_last_close_is_in_the_transcript_and_in_the_report() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (report, said) = (at("report.json"), at("said.jsonl"));
    let outputs = ["--judge", &report, "--transcript", &said];
    let fault = ["--fault", "on search: close"];
    let arguments = [&["--demo", "--listen", "127.0.0.1:0"][..], &outputs, &fault].concat();
    let (mut daemon, words) = Daemon::heard(&arguments);
    let mut session = daemon.session();
    let closed = session.ask(&search("books", "@attr 1=4 war"));
    assert!(matches!(closed, Apdu::Close(_)), "{closed:?}");
    session.send(&Close::new(CloseReason::FINISHED, None).into());
    drop(session);
    daemon.signal("TERM");
    words.until("report on clients written to");
    assert!(daemon.child.wait().expect("ended").success());
    let said = fs::read_to_string(&said).expect("a transcript");
    let recording = Recording::parse(&said).expect("a recording");
    let last = recording.entries.last().expect("an entry");
    assert_eq!(
        (last.name(), last.direction),
        ("close", Direction::Received)
    );
    let report = fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let passed = &report["sessions"][0]["passed"];
    let passed = passed.as_array().expect("a list");
    assert!(passed.contains(&"close.answered".into()), "{report:#}");
}

/// The file for a report is reserved at the start, but not created until the report is written. Therefore, a server that is
/// killed does not leave an incomplete report.
#[test]
fn a_report_that_is_not_written_leaves_nothing() {
    let folder = Folder::new();
    let report = folder.at("report.txt").to_str().expect("text").to_owned();
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--judge", &report];
    let (mut daemon, _words) = Daemon::heard(&arguments);
    daemon.converse(&[]);
    let names = || {
        let entries = fs::read_dir(folder.at("")).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.into_string().expect("text"));
        names
            .filter(|name| !name.starts_with('.'))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), [""; 0]);
    // While this run has the report open, another run cannot write it.
    let other = ran(&arguments);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("another run"));
    daemon.signal("KILL");
    daemon.child.wait().expect("ended");
    assert_eq!(names(), [""; 0]);
}

/// A session that waits for an answer prevents the server from stopping at the first signal.
#[test]
fn a_report_is_written_before_a_second_signal_ends_the_program() {
    let folder = Folder::new();
    let json = folder.at("report.json");
    let file = json.to_str().expect("text");
    let arguments = [
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--judge",
        file,
        "--drain",
        "1000",
        "--fault",
        "on search: delay 1000s",
    ];
    let mut daemon = Daemon::telling(&arguments, Stdio::piped());
    let words = Words::of(daemon.child.stderr.take().expect("piped"));
    let mut session = daemon.session();
    session.send(&search("books", "@attr 1=4 war"));
    let begun = std::time::Instant::now();
    let mut signals = 0;
    let status = loop {
        daemon.signal("INT");
        signals += 1;
        if let Some(status) = daemon.child.try_wait().expect("a child") {
            break status;
        }
        assert!(begun.elapsed() < PATIENCE, "after {signals} signals");
    };
    words.until("report on clients written to");
    assert!([Some(130), Some(0)].contains(&status.code()), "{status:?}");
    let report = fs::read_to_string(&json).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["judged"], 1);
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let refused = ran(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--judge",
        "/nowhere/report.json",
    ]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        told.contains("/nowhere/report.json") && told.contains("--judge"),
        "{told}"
    );
    // If one report cannot be written, the other reports are still written.
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("skipped: no /dev/full");
        return;
    }
    let folder = Folder::new();
    let text = folder.at("report.txt");
    let other = text.to_str().expect("text");
    let arguments = [
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--judge",
        "/dev/full",
        "--judge",
        other,
    ];
    let (mut daemon, words) = Daemon::heard(&arguments);
    daemon.converse(&[]);
    daemon.signal("TERM");
    let told = words.until("/dev/full");
    assert!(
        told.last()
            .is_some_and(|line| line.contains("No space left")),
        "{told:?}"
    );
    assert_eq!(daemon.child.wait().expect("ended").code(), Some(1));
    assert!(
        fs::read_to_string(&text)
            .expect("a report")
            .contains("sessions: 1")
    );
}

#[test]
fn the_settings_file_names_reports_too() {
    let folder = Folder::new();
    let settings = folder.write(
        "z3950d.toml",
        "demo = true\nlisten = [\"127.0.0.1:0\"]\n[log]\njudge = [\"a.json\", \"b.txt\"]\n",
    );
    let (mut daemon, words) = Daemon::heard(&["--config", &settings]);
    daemon.converse(&[]);
    daemon.signal("TERM");
    words.until("b.txt");
    assert!(daemon.child.wait().expect("ended").success());
    for name in ["a.json", "b.txt"] {
        assert!(fs::metadata(folder.at(name)).is_ok_and(|data| data.len() > 0));
    }
}
