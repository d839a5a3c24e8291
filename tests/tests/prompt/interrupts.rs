//! Tests of signals. Ctrl-C ends the request but not the session (Z39.50-2003 §3.2.6.2), and other signals end the program.

use std::time::{Duration, Instant};

use expectrl::process::unix::{Signal, WaitStatus};
use expectrl::{ControlCode, Session};
use z3950_asn1::apdu::Apdu;
use z3950_server::access::Challenge;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::surroundings::command;
use z3950_tests::{pause, peer, program};

use super::display::books;
use super::secrets::guarded;
use super::{PATIENCE, Person, awaited, catalogue, home, wait_for_presents, wait_for_searches};

#[test]
fn ctrl_c_cancels_the_request_and_not_the_session() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search().nth(1), Fault::Delay(Duration::from_secs(5)))
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    wait_for_searches(&server, 1);
    person.sees("waiting for the server");
    person.presses(ControlCode::EndOfText);
    // If `^C` were echoed, it would move the waiting line, which could then not be erased.
    let before = person.sees("interrupted");
    assert!(!before.contains("^C"), "{before}");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    assert_eq!(server.sessions(), 1);
}

/// After an interrupted search, `show` must not present records from the previous result set or from the unfinished one.
#[test]
fn ctrl_c_during_a_search_leaves_no_set_of_another_name() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .fault(When::search().nth(2), Fault::Delay(Duration::from_secs(5)))
        .fault(When::present().nth(2), Fault::Delay(Duration::from_secs(5)))
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("setnames off");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    person.enters("search --count 0 @attr 1=1032 id8");
    wait_for_searches(&server, 2);
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted");
    person.enters("show 1");
    person.sees("there is no result set");
    // The result set of a completed search remains usable, even if the request for its records is interrupted.
    person.enters("setnames on");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    person.enters("show 1");
    person.sees("Seven");
    person.enters("search --start 2 @or @attr 1=1032 id7 @attr 1=1032 id8");
    wait_for_presents(&server, 2);
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted");
    person.enters("show 2");
    person.sees("Eight");
}

#[test]
fn ctrl_c_during_an_order_says_that_it_may_have_been_placed() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .rule("on extended: delay 20s")
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("order @attr 1=1032 id7");
    server.wait_until(|entries| {
        let mut apdus = entries.iter().filter_map(|entry| entry.apdu.as_ref());
        apdus.any(|apdu| matches!(apdu, Apdu::ExtendedServicesRequest(_)))
    });
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted; the order may have been placed");
}

#[test]
fn ctrl_c_asks_a_server_to_stop_if_it_supports_that() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let home = home();
    let log = home.path().join("apdus");
    // A search in the server's database Slow takes three seconds.
    let target = format!("127.0.0.1:{}/Slow", server.port);
    let mut person = Person::at_target(&target, home.path());
    person.enters(&format!("set_apdufile {}", log.display()));
    person.sees("z3950> ");
    person.enters("find 12");
    let logged = |name: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(name));
    let deadline = Instant::now() + PATIENCE;
    while !logged("sent searchRequest") && Instant::now() < deadline {
        pause();
    }
    person.presses(ControlCode::EndOfText);
    person.sees("interrupted");
    person.sees("z3950> ");
    let deadline = Instant::now() + PATIENCE;
    while !logged("sent triggerResourceControlRequest") {
        assert!(Instant::now() < deadline, "no trigger was sent");
        pause();
    }
    person.enters("base Default");
    person.sees("z3950> ");
    person.enters("find 15");
    person.sees("15 hits");
}

/// Sends a signal that ends the program, and returns its exit code.
fn ended_by(person: &mut Person, signal: Signal) -> Option<i32> {
    let process = person.session.get_process_mut();
    process.signal(signal).expect("it can be sent");
    // On some systems, reading at the end of a terminal fails, so any outcome except a timeout is accepted.
    let end = awaited(&mut person.session, || expectrl::Eof);
    assert!(
        !matches!(end, Err(expectrl::Error::ExpectTimeout)),
        "it ends"
    );
    match person.session.get_process().wait().expect("it ends") {
        WaitStatus::Exited(_, code) => Some(code),
        _ => None,
    }
}

#[test]
fn signals_close_the_session_while_a_line_is_awaited() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let home = home();
        let server = catalogue();
        let mut person = Person::at(&server, home.path());
        assert_eq!(ended_by(&mut person, signal), Some(code));
        let is_close = |apdu: &Apdu| matches!(apdu, Apdu::Close(_));
        server.wait_until(|entries| {
            let mut apdus = entries.iter().filter_map(|entry| entry.apdu.as_ref());
            apdus.any(is_close)
        });
    }
}

#[test]
fn a_server_that_ignores_close_does_not_delay_the_end() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::close(), Fault::Delay(4 * PATIENCE))
        .start();
    let mut person = Person::at(&server, home.path());
    let began = Instant::now();
    assert_eq!(ended_by(&mut person, Signal::SIGTERM), Some(143));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn signals_end_the_program_while_a_request_is_under_way() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let home = home();
        let server = TestServer::builder()
            .database("cat", [record("id7", "Seven")])
            .fault(When::search().nth(1), Fault::Delay(4 * PATIENCE))
            .start();
        let mut person = Person::at(&server, home.path());
        person.enters("find @attr 1=1032 id7");
        wait_for_searches(&server, 1);
        assert_eq!(ended_by(&mut person, signal), Some(code));
    }
}

#[test]
fn signals_end_the_program_at_the_question_after_a_page() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (server, home) = (books(30), home());
        let mut person = Person::at(&server, home.path());
        person.sees_a_page();
        assert_eq!(ended_by(&mut person, signal), Some(code));
    }
}

#[test]
fn an_interrupt_at_the_question_after_a_page_returns_to_the_prompt() {
    let (server, home) = (books(30), home());
    let mut person = Person::at(&server, home.path());
    person.sees_a_page();
    // The signal is sent from outside, because Ctrl-C is only a key while this question is displayed.
    let process = person.session.get_process_mut();
    process.signal(Signal::SIGINT).expect("it can be sent");
    person.sees("interrupted");
    person.sees("z3950> ");
    person.enters("show 30");
    person.sees("30 of 30");
}

#[test]
fn signals_end_the_program_at_a_question_of_a_server() {
    let (server, home) = (guarded(Challenge::Prompts), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("user: ");
    assert_eq!(ended_by(&mut person, Signal::SIGTERM), Some(143));
}

#[test]
fn ctrl_z_at_the_question_after_a_page_suspends_the_program() {
    let (server, home) = (books(30), home());
    let mut command = command("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    for (name, value) in [("TERM", "xterm"), ("LC_ALL", "C"), ("PS1", "shell# ")] {
        command.env(name, value);
    }
    for name in ["HOME", "XDG_CONFIG_HOME"] {
        command.env(name, home.path());
    }
    let session = Session::spawn(command).expect("a shell");
    let mut person = Person { session };
    let program = program::path("z3950");
    let url = server.session_url("/cat");
    person.enters(&format!("{} --timeout 120 open '{url}'", program.display()));
    person.sees("session open");
    person.sees("z3950> ");
    person.sees_a_page();
    person.presses(ControlCode::Substitute);
    person.sees("Stopped");
    person.enters("fg");
    person.sees("Enter shows more");
    person.types("q");
    person.sees("z3950> ");
    person.enters("show 30");
    person.sees("30 of 30");
    // The program is ended before the shell, because it might stay stopped if the shell were killed.
    person.sees("z3950> ");
    person.enters("quit");
    person.sees("shell# ");
    person.enters("exit");
    person.sees_the_end();
}
