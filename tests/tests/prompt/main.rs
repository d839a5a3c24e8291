//! The prompt in a real terminal: history, completion, Ctrl-C, passwords, sessions that die.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use expectrl::session::OsSession;
use expectrl::{ControlCode, Expect, Session};
use tempfile::TempDir;
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{Direction, TestServer, record};
use z3950_tests::{peer, program};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A person at the prompt.
struct Person {
    session: OsSession,
}

impl Person {
    /// Sits down at a session with the server.
    fn at(server: &TestServer, home: &Path) -> Self {
        Self::at_target(&server.session_url("/cat"), home)
    }

    fn at_target(target: &str, home: &Path) -> Self {
        let mut command = Command::new(program::path("z3950"));
        command
            .args(["--timeout", "15", "open", target])
            .env("HOME", home)
            .env("TERM", "xterm");
        let mut session = Session::spawn(command).expect("a terminal");
        session.set_expect_timeout(Some(PATIENCE));
        let mut person = Self { session };
        person.sees("session open");
        person.sees("z3950> ");
        person
    }

    fn types(&mut self, text: &str) {
        self.session.send(text).expect("the terminal takes it");
    }

    fn enters(&mut self, line: &str) {
        self.types(line);
        self.types("\r");
    }

    fn presses(&mut self, key: ControlCode) {
        self.session.send(key).expect("the terminal takes it");
    }

    /// Waits for a text, and gives what came before it.
    fn sees(&mut self, text: &str) -> String {
        let found = self.session.expect(text);
        let found = found.unwrap_or_else(|error| panic!("{text:?} is awaited: {error}"));
        String::from_utf8_lossy(found.before()).into_owned()
    }
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn catalogue() -> TestServer {
    TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .start()
}

#[test]
fn lines_are_remembered_from_one_time_to_the_next() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    person.sees("z3950> ");
    person.enters("authentication ada s3cret");
    person.sees("z3950> ");
    person.enters("quit");
    person.session.expect(expectrl::Eof).expect("quit leaves");

    let mut person = Person::at(&server, home.path());
    // The arrow key: quit, and the search before it.
    person.types("\x1b[A\x1b[A\r");
    person.sees("1 hit");
    person.sees("z3950> ");
    person.enters("history");
    let history = person.sees("  history");
    assert!(history.contains("find @attr 1=1032 id7"), "{history}");
    assert!(!history.contains("s3cret"), "{history}");
    person.sees("z3950> ");
    person.presses(ControlCode::EndOfTransmission);
    person.session.expect(expectrl::Eof).expect("Ctrl-D leaves");
    let kept = std::fs::read_to_string(home.path().join(".z3950_history")).expect("a history");
    assert!(!kept.contains("s3cret"), "{kept}");
}

#[test]
fn the_tab_key_completes_commands_options_databases_and_indexes() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    for (typed, completed) in [
        ("authe\t", "authentication"),
        ("querytype ccl2\t", "ccl2rpn"),
        ("base c\t", "base cat"),
        ("find tit\t", "find title:"),
        ("help sess\t", "help sessions"),
    ] {
        person.types(typed);
        person.sees(completed);
        person.presses(ControlCode::EndOfText);
        person.sees("z3950> ");
    }
}

#[test]
fn enter_goes_on_with_show() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find @or @attr 1=1032 id7 @attr 1=1032 id8");
    person.sees("2 hits");
    person.enters("show 1");
    person.sees("001 id");
    person.sees("z3950> ");
    person.enters("");
    person.sees("001 id");
    person.sees("z3950> ");
    person.enters("");
    person.sees("all 2 records have been shown");
}

#[test]
fn ctrl_c_cancels_the_request_and_not_the_session() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search().nth(1), Fault::Delay(Duration::from_secs(2)))
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    server.wait_until(|entries| {
        entries
            .iter()
            .any(|entry| matches!(entry.apdu, Some(Apdu::SearchRequest(_))))
    });
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    assert_eq!(server.sessions(), 1);
}

#[test]
fn ctrl_c_tells_a_server_that_can_be_told() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let home = home();
    let log = home.path().join("apdus");
    // Its database Slow takes three seconds.
    let target = format!("127.0.0.1:{}/Slow", server.port);
    let mut person = Person::at_target(&target, home.path());
    person.enters(&format!("set_apdufile {}", log.display()));
    person.sees("z3950> ");
    person.enters("find 12");
    let logged = |name: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(name));
    let deadline = Instant::now() + PATIENCE;
    while !logged("sent searchRequest") && Instant::now() < deadline {
        std::thread::yield_now();
    }
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted");
    person.sees("z3950> ");
    assert!(logged("sent triggerResourceControlRequest"));
    person.enters("base Default");
    person.sees("z3950> ");
    person.enters("find 15");
    person.sees("15 hits");
}

#[test]
fn passwords_are_asked_for_and_never_shown() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.enters("authentication ada");
    person.sees("password");
    person.sees(": ");
    person.enters("t0p s3cret");
    let shown = person.sees("z3950> ");
    assert!(
        !shown.contains("t0p") && !shown.contains("s3cret"),
        "{shown}"
    );
    person.enters("close");
    person.sees("z3950> ");
    person.enters("settings");
    person.sees("<redacted>");
    person.enters("open");
    person.sees("session open");
    let init = server.transcript().into_iter().rev().find_map(|entry| {
        match (entry.direction, entry.apdu) {
            (Direction::Received, Some(Apdu::InitializeRequest(request))) => Some(request),
            _ => None,
        }
    });
    let authentication = init.expect("an Init").id_authentication;
    let Some(z3950_asn1::apdu::IdAuthentication::IdPass(id)) = authentication else {
        panic!("user and password are sent");
    };
    assert_eq!(id.password, Some("t0p s3cret".into()));
}

#[test]
fn a_session_that_died_comes_back() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::search().session(1),
            Fault::Close(CloseReason::SHUTDOWN, Some("good night")),
        )
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("good night");
    person.sees("z3950> ");
    person.enters("set_auto_reconnect on");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("opening another");
    person.sees("1 hit");
    assert_eq!(server.sessions(), 2);
}
