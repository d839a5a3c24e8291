//! Tests of secrets: passwords, and answers to servers' questions (Z39.50-2003 §3.2.5).

use expectrl::ControlCode;
use z3950_asn1::apdu::Apdu;
use z3950_server::access::{Access, Challenge, User};
use z3950_server::testing::{Direction, TestServer, record};

use super::{Person, catalogue, home};

#[test]
fn passwords_are_requested_and_never_shown() {
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

pub(super) fn guarded(challenge: Challenge) -> TestServer {
    let mut user = User::default();
    user.name = "ada".into();
    user.password = Some("t0p s3cret".into());
    let mut access = Access::default();
    access.users = vec![user];
    access.challenge = Some(challenge);
    TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .access(access)
        .start()
}

#[test]
fn prompts_of_a_server_are_put_to_the_user() {
    let (server, home) = (guarded(Challenge::Prompts), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("the server asks for your credentials before it goes on with Search");
    person.sees("user: ");
    person.enters("ada");
    person.sees("password: ");
    person.enters("t0p s3cret");
    let shown = person.sees("1 hit");
    assert!(
        !shown.contains("t0p") && !shown.contains("s3cret"),
        "{shown}"
    );
    person.sees("z3950> ");
    // The server has received the password and does not ask again.
    person.enters("find @attr 1=1032 none");
    person.sees("0 hits");
    person.sees("z3950> ");
    person.enters("history");
    let history = person.sees("  history");
    assert!(
        !history.contains("ada") && !history.contains("s3cret"),
        "{history}"
    );
}

#[test]
fn a_challenge_of_a_server_is_put_to_the_user_and_may_go_unanswered() {
    let (server, home) = (guarded(Challenge::Simple("name/word".into())), home());
    let target = format!("{}/cat", server.addr());
    let mut person = Person::at_target(&target, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("name/word (not shown): ");
    person.presses(ControlCode::EndOfText);
    person.sees("error:");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("name/word (not shown): ");
    person.enters("ada/t0p s3cret");
    let shown = person.sees("1 hit");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn urls_with_passwords_are_not_shown_again() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::with([""; 0], home.path());
    person.sees("z3950> ");
    let url = format!("z39.50s://ada:s3cret@{}/cat", server.addr());
    person.enters(&format!("open {url}"));
    person.sees("\r\n");
    let shown = person.sees("z3950> ");
    assert!(
        shown.contains("session open") && !shown.contains("s3cret"),
        "{shown}"
    );
    person.enters("sessions");
    let shown = person.sees("z3950> ");
    assert!(!shown.contains("s3cret"), "{shown}");
    person.enters("history");
    let shown = person.sees("  history");
    assert!(!shown.contains("s3cret"), "{shown}");
}
