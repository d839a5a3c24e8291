//! Tests of lines at the prompt: history, the Tab key, empty lines, and text that is typed ahead or pasted.

use std::time::Duration;

use expectrl::ControlCode;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};

use super::{Person, catalogue, home, wait_for_searches};

#[test]
fn lines_are_remembered_between_runs() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
    person.sees("z3950> ");
    person.enters("authentication ada s3cret");
    person.sees("z3950> ");
    person.enters("quit");
    person.sees_the_end();

    let mut person = Person::at(&server, home.path());
    // Arrow up twice skips quit and recalls the search before it.
    person.types("\x1b[A\x1b[A\r");
    person.sees("1 hit");
    person.sees("z3950> ");
    person.enters("history");
    let history = person.sees("  history");
    assert!(history.contains("find @attr 1=1032 id7"), "{history}");
    assert!(!history.contains("s3cret"), "{history}");
    person.sees("z3950> ");
    person.presses(ControlCode::EndOfTransmission);
    person.sees_the_end();
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
fn enter_continues_show() {
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
fn lines_typed_ahead_are_carried_out() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven"), record("id8", "Eight")])
        .fault(When::search().nth(1), Fault::Delay(Duration::from_secs(1)))
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    wait_for_searches(&server, 1);
    // Two lines arrive at once, followed by a third line, while the prompt waits for an answer.
    person.types("find @attr 1=1032 none\rfind @or @attr 1=1032 id7 @attr 1=1032 id8\r");
    person.enters("show 1");
    person.sees("1 hit");
    person.sees("0 hits");
    person.sees("2 hits");
    person.sees("001 id");
    // Several lines are pasted at the prompt.
    person.sees("z3950> ");
    person.types("find @attr 1=1032 id8\rshow 1\rbase\r");
    person.sees("1 hit");
    person.sees("001 id8");
    person.sees("cat\r\n");
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 none");
    person.sees("0 hits");
}

#[test]
fn pasted_lines_are_carried_out_one_by_one() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.types("\x1b[200~find @attr 1=1032 id7\nshow 1\nbase\x1b[201~\r");
    person.sees("1 hit");
    person.sees("z3950> show 1");
    person.sees("001 id7");
    person.sees("z3950> base");
    person.sees("cat\r\n");
    person.sees("z3950> ");
}

#[test]
fn shell_commands_use_the_terminal() {
    let (server, home) = (catalogue(), home());
    let mut person = Person::at(&server, home.path());
    person.enters("!test -t 0 && echo a ter''minal");
    person.sees("a terminal");
    person.sees("z3950> ");
    person.enters("! echo rea''dy; read line; echo got $line");
    person.sees("ready");
    person.enters("words");
    person.sees("got words");
    person.sees("z3950> ");
    person.enters("! echo sta''rted; sleep 100");
    person.sees("started");
    person.presses(ControlCode::EndOfText);
    person.sees("z3950> ");
    person.enters("find @attr 1=1032 id7");
    person.sees("1 hit");
}
