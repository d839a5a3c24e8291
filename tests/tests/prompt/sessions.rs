//! Tests of sessions at the prompt: no session, named sessions, several sessions at once, a lost session, and a session whose
//! server asks whether to continue.

use expectrl::ControlCode;
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_server::Offer;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{Direction, TestServer, record};

use super::{Person, catalogue, home};

#[test]
fn a_dead_session_is_reopened() {
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
    person.enters("find @attr 1=1032 id7");
    person.sees("reconnecting to");
    person.sees("1 hit");
    assert_eq!(server.sessions(), 2);
}

#[test]
fn a_prompt_can_start_without_a_session() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::with([""; 0], home.path());
    person.sees("z3950> ");
    person.enters("find war");
    person.sees("no session is open");
    person.sees("z3950> ");
    person.enters("open");
    person.sees("usage: open");
    person.sees("z3950> ");
    person.enters(&format!("open {}/cat", server.addr()));
    person.sees("session open");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
}

#[test]
fn the_prompt_continues_if_no_session_can_be_opened() {
    let (server, home) = (catalogue(), home());
    let address = server.addr();
    drop(server);
    let mut person = Person::with([format!("{address}/cat")], home.path());
    person.sees("error:");
    person.sees("z3950> ");
    person.enters("quit");
    person.sees_the_end();
}

#[test]
fn targets_are_known_by_name() {
    let (server, home) = (catalogue(), home());
    let targets = home.path().join("targets.toml");
    let profile = format!(
        "[targets.mylibrary]\nhost = \"127.0.0.1\"\nport = {}\ndatabases = [\"cat\"]\nrecord_syntax = \"sutrs\"\n",
        server.addr().port()
    );
    std::fs::write(&targets, profile).expect("written");
    let targets = targets.to_str().expect("UTF-8");
    let mut person = Person::with(["--targets", targets], home.path());
    person.sees("z3950> ");
    person.types("open mylib\t");
    person.sees("open mylibrary");
    person.types("\r");
    person.sees("session open");
    person.sees("(mylibrary)");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    person.sees("z3950> ");
    person.enters("show 1");
    person.sees("Title: ");
}

/// The server asks whether to continue before it returns more than one record (Z39.50-2003 §3.2.6.1).
#[test]
fn the_user_is_asked_whether_to_continue() {
    let home = home();
    let mut offer = Offer::default();
    offer.ask_above = Some(1);
    let server = TestServer::builder()
        .database("cat", [record("id7", "War"), record("id8", "War again")])
        .offer(offer)
        .start();
    let mut person = Person::at(&server, home.path());
    let asks = "the server asks whether to continue Search: 2 records found";
    person.enters("find @attr 1=4 war");
    person.sees(asks);
    person.sees("go on? [Y/n]: ");
    person.enters("");
    person.sees("2 hits");
    person.sees("z3950> ");
    person.enters("find @attr 1=4 war");
    person.sees(asks);
    person.enters("n");
    person.sees("keep what it has found? [Y/n]: ");
    person.enters("n");
    person.sees("105");
    person.sees("z3950> ");
    // Ctrl-C in response to the question ends the operation too.
    person.enters("find @attr 1=4 war");
    person.sees("go on? [Y/n]: ");
    person.presses(ControlCode::EndOfText);
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    let answers = server.transcript().into_iter().filter_map(|entry| {
        let apdu = entry.apdu?;
        match (entry.direction, apdu) {
            (Direction::Received, Apdu::ResourceControlResponse(answer)) => {
                Some((answer.continue_flag, answer.result_set_wanted))
            }
            _ => None,
        }
    });
    assert_eq!(
        answers.collect::<Vec<_>>(),
        [(true, None), (false, Some(false)), (false, Some(false))]
    );
}
