//! Tests of batches that lose their sessions or are ended by a signal.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use z3950_asn1::apdu::Apdu;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, TestServerBuilder, record};
use z3950_tests::program::{self, z3950};
use z3950_tests::surroundings::command;

use super::{folder, rows, text};

const PATIENCE: Duration = Duration::from_secs(20);

fn catalogue() -> TestServerBuilder {
    let records = (1..=6).map(|number| record(&format!("id{number}"), "War"));
    TestServer::builder().database("books", records)
}

/// Returns the arguments of a batch that looks up all records.
fn arguments(server: &TestServer, folder: &Path) -> Vec<String> {
    let ids: String = (1..=6)
        .map(|number| format!("local:id{number}\n"))
        .collect();
    fs::write(folder.join("ids"), ids).expect("the inputs are written");
    let path = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let target = format!("{}/books", server.addr());
    let mut arguments = vec!["lookup".to_owned(), target, "--resume".to_owned()];
    for (option, name) in [
        ("--input", "ids"),
        ("--output", "out.xml"),
        ("--report", "report.tsv"),
    ] {
        arguments.extend([option.to_owned(), path(name)]);
    }
    arguments
}

#[test]
fn a_session_that_was_dropped_is_replaced_once() {
    for (when, fault, outcome, sessions) in [
        (When::search().nth(9), Fault::HangUp, "delivered", 1),
        // The session ends while it is idle, or during a request after successful requests.
        (When::present().nth(2), Fault::HangUp, "delivered", 3),
        (When::search().nth(3), Fault::CutAfter(0), "delivered", 3),
        // If a session is lost at its first request, the request is not repeated in another session, because that would not help.
        (When::search().nth(1), Fault::CutAfter(0), "unavailable", 6),
    ] {
        // The records are requested with Present, so that sessions can also be lost at that point.
        let server = catalogue()
            .fault(when, fault.clone())
            .fault(When::search(), Fault::NeverPiggyback)
            .start();
        let folder = folder();
        let ran = z3950(arguments(&server, folder.path()));
        let report = rows(&text(&folder, "report.tsv"), ["outcome"]).concat();
        assert_eq!(report, vec![outcome; 6], "{fault:?}: {ran:?}");
        let code = if outcome == "delivered" { 0 } else { 6 };
        assert_eq!(ran.code, Some(code), "{fault:?}: {ran:?}");
        assert_eq!(server.sessions(), sessions, "{fault:?}");
    }
}

#[test]
fn inputs_without_an_answer_are_asked_again_once_the_server_is_back() {
    let down = catalogue().fault(When::search().nth(1), Fault::CutAfter(0));
    let (up, down) = (catalogue().start(), down.start());
    let folder = folder();
    let targets = folder.path().join("targets.toml");
    let mut arguments = arguments(&up, folder.path());
    arguments[1] = "one".to_owned();
    arguments.extend(["--targets", targets.to_str().expect("text")].map(str::to_owned));
    let run = |server: &TestServer| {
        let port = server.addr().port();
        let profile = format!(
            "[targets.one]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"books\"]\n"
        );
        fs::write(&targets, profile).expect("written");
        z3950(&arguments)
    };
    let ids = text(&folder, "ids");
    fs::write(
        folder.path().join("ids"),
        &ids[..ids.find("local:id4").expect("present")],
    )
    .expect("written");
    assert_eq!(run(&up).code, Some(0));
    fs::write(folder.path().join("ids"), ids).expect("written");
    for _ in 0..2 {
        let ran = run(&down);
        assert_eq!(ran.code, Some(6), "{ran:?}");
        let words = "no answer to 3 inputs: run the same command with --resume";
        assert!(ran.stderr.contains(words), "{ran:?}");
        assert_eq!(rows(&text(&folder, "report.tsv"), ["outcome"]).len(), 6);
    }
    let ran = run(&up);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("3 inputs had no answer and are asked again"),
        "{ran:?}"
    );
    let report = rows(&text(&folder, "report.tsv"), ["outcome"]).concat();
    assert_eq!(report, vec!["delivered"; 6]);
    assert_eq!(text(&folder, "out.xml").matches("</record>").count(), 6);
}

#[test]
fn an_interrupted_batch_says_how_to_resume() {
    let slow = Fault::Delay(Duration::from_secs(120));
    let server = catalogue().fault(When::search().nth(5), slow).start();
    let folder = folder();
    let arguments = arguments(&server, folder.path());
    let child = command(program::path("z3950"))
        .args(&arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let answered = || {
        let report = fs::read_to_string(folder.path().join("report.tsv"));
        report.map_or(0, |report| report.lines().count().saturating_sub(1))
    };
    let deadline = Instant::now() + PATIENCE;
    while answered() < 4 {
        assert!(Instant::now() < deadline, "four inputs are answered");
        z3950_tests::pause();
    }
    send("INT", &child);
    let ended = child.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{words}");
    assert!(
        words.contains("with --resume continues from here"),
        "{words}"
    );
    let output = text(&folder, "out.xml");
    assert_eq!(output.matches("</record>").count(), 4);
    assert!(output.ends_with("</collection>\n"), "{output}");
    // Two inputs remain, so the new session never sends a fifth search, which would be answered slowly.
    let ran = z3950(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(answered(), 6);
    assert_eq!(text(&folder, "out.xml").matches("</record>").count(), 6);
}

/// Sends a signal to a child.
fn send(signal: &str, child: &Child) {
    let sent = command("kill")
        .args(["-s", signal, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success(), "the signal is sent");
}

fn wait_for_five_searches(server: &TestServer) {
    server.wait_until(|entries| {
        let searches = entries
            .iter()
            .filter(|entry| matches!(entry.apdu, Some(Apdu::SearchRequest(_))));
        searches.count() >= 5
    });
}

/// Starts the batch without a report. Returns when the draft of the output contains the records of four inputs and the batch is
/// waiting for the fifth answer.
fn waiting_with_a_draft(server: &TestServer, folder: &Path) -> Child {
    let mut arguments = arguments(server, folder);
    arguments.retain(|argument| argument != "--resume");
    arguments.truncate(arguments.len() - 2);
    arguments.push("--jobs=1".to_owned());
    let child = command(program::path("z3950"))
        .args(&arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    wait_for_five_searches(server);
    child
}

#[test]
fn every_ending_signal_names_the_draft_and_removes_the_lock() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let slow = Fault::Delay(Duration::from_secs(120));
        let server = catalogue().fault(When::search().nth(5), slow).start();
        let folder = folder();
        let child = waiting_with_a_draft(&server, folder.path());
        assert!(folder.path().join(".out.xml.lock").exists(), "it is locked");
        send(signal, &child);
        let ended = child.wait_with_output().expect("it ends");
        let words = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{signal}: {words}");
        assert!(
            words.contains("incomplete; 4 records are in "),
            "{signal}: {words}"
        );
        let draft = text(&folder, "out.xml.part");
        assert_eq!(draft.matches("</record>").count(), 4, "{signal}");
        assert!(draft.ends_with("</collection>\n"), "{signal}: {draft}");
        assert!(!folder.path().join(".out.xml.lock").exists(), "{signal}");
    }
}

/// A reader of standard output such as `head` may stop reading early, but the files of a batch must be complete.
#[test]
fn a_closed_pipe_is_an_error_for_a_batch_with_files() {
    for (option, code) in [(None, 0), (Some("--report"), 1)] {
        let server = catalogue().start();
        let folder = folder();
        let mut arguments = arguments(&server, folder.path());
        arguments.retain(|argument| argument != "--resume");
        arguments.truncate(4);
        if let Some(option) = option {
            let report = folder.path().join("report.tsv");
            arguments.extend([option, report.to_str().expect("text")].map(str::to_owned));
        }
        let mut child = command(program::path("z3950"))
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let words = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{option:?}: {words}");
        let is_told = words.contains("standard output was closed before all inputs were answered");
        assert_eq!(is_told, code == 1, "{words}");
    }
}

/// If records are missing from a file, it must not get its final name, even if the server refuses the repeated search in a new
/// session.
#[test]
fn a_search_refused_after_a_loss_leaves_a_draft() {
    let records = (1..=60).map(|number| record(&format!("id{number}"), "War"));
    let server = TestServer::builder()
        .database("books", records)
        .rule("on present nth-of-all=1: cut 300")
        .rule("on search nth-of-all=2: fail 109")
        .start();
    let folder = folder();
    let output = folder.path().join("out.mrc");
    let target = format!("{}/books", server.addr());
    let ran = z3950([
        "search",
        &target,
        "ti:war",
        "--output",
        output.to_str().expect("text"),
    ]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("incomplete; "), "{ran:?}");
    assert!(!output.exists());
    assert!(folder.path().join("out.mrc.part").exists());
}

#[test]
fn nohup_keeps_a_batch_from_ending_with_its_terminal() {
    let slow = Fault::Delay(Duration::from_secs(1));
    let server = catalogue().fault(When::search().nth(5), slow).start();
    let folder = folder();
    let arguments = arguments(&server, folder.path());
    // If standard output were a terminal, nohup would create a file in the current folder.
    let child = command("nohup")
        .arg(program::path("z3950"))
        .args(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nohup starts");
    wait_for_five_searches(&server);
    send("HUP", &child);
    let ended = child.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{words}");
    assert_eq!(text(&folder, "out.xml").matches("</record>").count(), 6);
}

#[test]
fn a_profile_limits_the_sessions_with_its_server() {
    for (limit, jobs, most) in [
        ("sessions = 1", "4", 1),
        ("sessions = 2\npause = 0.01", "6", 2),
    ] {
        let server = catalogue().start();
        let folder = folder();
        let port = server.addr().port();
        let profile = format!(
            "[targets.one]\nhost = \"127.0.0.1\"\nport = {port}\ndatabases = [\"books\"]\n{limit}\n"
        );
        fs::write(folder.path().join("targets.toml"), profile).expect("written");
        let mut arguments = arguments(&server, folder.path());
        arguments[1] = "one".to_owned();
        let targets = folder.path().join("targets.toml");
        arguments.extend(
            ["--jobs", jobs, "--targets", targets.to_str().expect("text")].map(str::to_owned),
        );
        let ran = z3950(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            (1..=most).contains(&server.sessions()),
            "{limit}: {}",
            server.sessions()
        );
        let report = rows(&text(&folder, "report.tsv"), ["target", "step"]);
        assert_eq!(
            report,
            vec![["one".to_owned(), "local number".to_owned()]; 6]
        );
    }
}
