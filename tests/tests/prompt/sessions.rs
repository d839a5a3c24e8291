//! Sessions: without one, by name, several, one that died.

use z3950_asn1::apdu::CloseReason;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};

use super::{Person, catalogue, home};

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
    person.enters("find @attr 1=1032 id7");
    person.sees("opening another");
    person.sees("1 hit");
    assert_eq!(server.sessions(), 2);
}

#[test]
fn a_prompt_begins_without_a_session() {
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
fn a_person_stays_where_nothing_could_be_opened() {
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
