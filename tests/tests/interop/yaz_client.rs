//! Tests of `z3950d --demo` with `yaz-client`.

use z3950_tests::peer;
use z3950_tests::program::{Daemon, run};
use z3950_tests::surroundings::command;

/// Runs commands in yaz-client after `open`, and returns its output, or `None` if it is not installed.
fn conversation(daemon: &Daemon, commands: &str) -> Option<String> {
    let program = peer::find("yaz-client")?;
    let input = format!("open {}\n{commands}\nquit\n", daemon.address());
    let ran = run(&mut command(program), &input);
    assert!(
        ran.stdout.contains("Connection accepted by v3 target."),
        "{}",
        ran.stdout
    );
    Some(ran.stdout)
}

/// Checks that the texts occur in this order in yaz-client's output for the commands.
fn check(commands: &str, expected: &[&str]) {
    let daemon = Daemon::start(["--demo"]);
    let Some(printed) = conversation(&daemon, commands) else {
        return;
    };
    let mut rest = printed.as_str();
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

#[test]
fn init_names_the_server_and_its_services() {
    check(
        "",
        &[
            "Name   : z3950d",
            "Options: search present delSet triggerResourceCtrl scan sort extendedServices namedResultSets",
        ],
    );
}

#[test]
fn a_search_without_a_database_finds_and_shows_a_record() {
    check(
        "find @attr 1=1032 pg1342\nshow 1",
        &[
            "Search was a success.",
            "Number of hits: 1, setno 1",
            "Records: 1",
            "USmarc",
            "001 pg1342",
            "$a Pride and prejudice",
        ],
    );
}

#[test]
fn a_record_comes_with_the_search_when_it_may() {
    check(
        "base books\nssub 1\nlslb 2\nfind @attr 4=104 @attr 1=1032 pg1342",
        &[
            "Number of hits: 1",
            "records returned: 1",
            "Record type: USmarc",
            "001 pg1342",
        ],
    );
    check(
        "base books\nssub 1\nlslb 2\nfind @attr 1=1032 twice",
        &["Number of hits: 2", "records returned: 0"],
    );
}

#[test]
fn a_record_is_returned_as_text_on_request() {
    check(
        "format sutrs\nfind @attr 1=1032 pg1342\nshow 1",
        &["Record type: SUTRS", "Pride and prejudice"],
    );
}

#[test]
fn unavailable_features_are_refused_with_diagnostics() {
    for (commands, diagnostic) in [
        ("find @attr 1=1032 pg1342\nshow 2", "[13]"),
        ("base nosuch\nfind x", "[235]"),
        ("find @attr 1=9999 x", "[114]"),
        ("find @attr 1=4 @attr 4=999 x", "[118]"),
        ("find @attr 9=1 x", "[113]"),
        ("find @attrset gils x", "[121]"),
        ("find @attr 1=1032 pg1342\nformat ukmarc\nshow 1", "[239]"),
        (
            "find @attr 1=1032 pg1342\nformat xml\nelements X\nshow 1",
            "[25]",
        ),
        ("find @set nosuch", "[30]"),
        ("querytype ccl\nfind (", "[108]"),
        ("querytype cql\nfind title=", "[108]"),
    ] {
        check(commands, &[diagnostic]);
    }
}

#[test]
fn ccl_and_cql_are_understood() {
    for (language, query) in [
        ("ccl", "ti=pride and au=austen"),
        ("cql", "dc.title=pride and dc.creator=austen"),
    ] {
        check(
            &format!("querytype {language}\nfind {query}"),
            &["Search was a success.", "Number of hits: 1,"],
        );
    }
}

#[test]
fn result_sets_are_deleted() {
    check(
        "find @attr 1=1032 pg1342\nfind @attr 1=1032 pg2600\nshow 1+1+1\ndelete 1\nshow 1+1+1\nshow 1+1+2",
        &[
            "001 pg1342",
            "Got deleteResultSetResponse status=0",
            "[30]",
            "001 pg2600",
        ],
    );
}

#[test]
fn a_close_is_answered() {
    check("close", &["Target has closed the association."]);
}

/// Returns a query with a chain of `count` operands. For each operator, yaz-client writes a value of indefinite length.
fn chain(count: usize) -> String {
    format!(
        "find @attr 1=1032 {}pg1342{}",
        "@or ".repeat(count - 1),
        " x".repeat(count - 1)
    )
}

#[test]
fn a_query_of_990_operands_is_answered() {
    check(&chain(990), &["Search was a success.", "Number of hits: 1"]);
}

#[test]
fn a_query_of_1100_operands_is_refused_and_others_are_served() {
    let daemon = Daemon::start(["--demo"]);
    let Some(printed) = conversation(&daemon, &chain(1100)) else {
        return;
    };
    assert!(!printed.contains("Search was a success"), "{printed}");
    assert!(printed.contains("[31]"), "{printed}");
    let printed = conversation(&daemon, "find @attr 1=1032 pg1342").unwrap_or_default();
    assert!(printed.contains("Number of hits: 1"), "{printed}");
}
