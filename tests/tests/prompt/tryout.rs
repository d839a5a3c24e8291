//! Tests of `z3950 try` on a terminal.

use std::path::Path;

use expectrl::{ControlCode, Session};
use z3950_tests::program;
use z3950_tests::surroundings::command;

use super::{Person, home};

/// Starts `z3950 try` on a terminal of this size.
fn start(columns: u16, rows: u16, home: &Path) -> Person {
    let mut command = command("sh");
    command
        .args(["-c", "read -r line && exec \"$0\" try"])
        .arg(program::path("z3950"))
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home)
        .env("TERM", "xterm");
    let session = Session::spawn(command).expect("a terminal");
    let mut person = Person { session };
    // The program is started only after the size of the terminal has been set.
    let process = person.session.get_process_mut();
    process.set_window_size(columns, rows).expect("a terminal");
    person.enters("start");
    person
}

/// Starts `z3950 try` on a tall terminal with this number of columns. Returns the user, and the lines before the prompt.
fn tries(columns: u16, home: &Path) -> (Person, Vec<String>) {
    let mut person = start(columns, 100, home);
    let shown = person.sees("z3950> ");
    // The last line is left out, because the line editor has already prepared it for the prompt.
    let shown = shown.rsplit_once('\n').map_or("", |(lines, _)| lines);
    // On a busy machine, a waiting message may appear, which is erased later.
    let seen = |line: &str| {
        let seen = line.rsplit("\u{1b}[2K").next().unwrap_or_default();
        seen.trim_end_matches('\r').to_owned()
    };
    let lines = shown.lines().map(seen);
    (person, lines.collect())
}

#[test]
fn build_5_it_fits_on_terminals_of_any_width() {
    for columns in [30, 40, 79, 80, 120, 200] {
        let home = home();
        let (_, lines) = tries(columns, home.path());
        let whole = lines.join("\n");
        for line in &lines {
            assert!(
                line.chars().count() <= usize::from(columns.min(120)),
                "{columns}: {line:?}"
            );
            assert_eq!(line.trim_end(), line, "{columns}");
        }
        let beside = lines
            .iter()
            .filter(|line| line.matches("Init request").count() == 2);
        assert_eq!(
            beside.count(),
            usize::from(columns >= 80),
            "{columns}: {whole}"
        );
        let requests = whole.matches("→ Init request").count();
        assert_eq!(requests, 2, "{columns}: {whole}");
        let order = ["Retrieval", "(closed)", "(open)", "find ti:war", "quit"];
        let places: Vec<Option<usize>> = order.iter().map(|word| whole.find(word)).collect();
        if columns < 80 {
            assert!(places.is_sorted(), "{columns}: {whole}");
        }
        assert!(places.iter().all(Option::is_some), "{columns}: {whole}");
        // There are no colours, whatever NO_COLOR says.
        assert!(!whole.contains("\u{1b}["), "{columns}: {whole:?}");
    }
}

/// The three commands that the introduction suggests work as described, in the session that it has shown.
#[test]
fn build_5_it_leaves_the_user_at_the_prompt_of_the_session() {
    let home = home();
    let (mut person, lines) = tries(80, home.path());
    let port = lines.iter().find_map(|line| {
        let (_, rest) = line.split_once("z39.50s://localhost:")?;
        rest.split_once('/').map(|(port, _)| port.to_owned())
    });
    let port = port.expect("the session has a URL");
    person.presses(ControlCode::ETX);
    person.sees("z3950> ");
    person.enters("find ti:war");
    person.sees(" hits");
    person.sees("z3950> ");
    person.enters("makeurl 1");
    person.sees(&format!("z39.50r://localhost:{port}/books?"));
    person.sees("z3950> ");
    person.enters("last 20");
    // The list of APDUs begins with the Init that `try` has already shown.
    person.sees("sent initRequest");
    person.sees("sent searchRequest: @attr 1=4 war in books");
    person.sees("z3950> ");
    person.enters("open lib.example/serials");
    person.sees("session open with z3950d at lib.example:210/serials");
    person.sees("z3950 2> ");
    person.enters("quit");
    person.sees_the_end();
}

/// In a terminal of the usual height, the output is shown in pages, and the user first sees only one of them.
#[test]
fn build_5_a_low_terminal_gets_pages() {
    for (key, then) in [("\r", "Type, for example:"), ("q", "z3950> ")] {
        let home = home();
        let mut person = start(80, 24, home.path());
        let first = person.sees("the conversations; Enter shows more");
        assert!(first.contains("→ Search request"), "{first}");
        assert!(!first.contains("(closed)"), "{first}");
        person.types(key);
        let rest = person.sees(then);
        assert_eq!(rest.contains("(closed)"), key == "\r", "{rest}");
        if key == "\r" {
            person.sees("z3950> ");
        }
        person.enters("quit");
        person.sees_the_end();
    }
}

/// If the output does not go to the terminal, there is no prompt.
#[test]
fn build_5_output_into_a_pipe_has_no_prompt() {
    let home = home();
    let mut command = command("sh");
    command
        .args(["-c", "\"$0\" try | tail -n 1; echo code $?"])
        .arg(program::path("z3950"))
        .env("HOME", home.path());
    let session = Session::spawn(command).expect("a terminal");
    let mut person = Person { session };
    let shown = person.sees("code 0");
    assert!(shown.contains("until its user ends it."), "{shown}");
    assert!(!shown.contains("z3950>"), "{shown}");
    person.sees_the_end();
}
