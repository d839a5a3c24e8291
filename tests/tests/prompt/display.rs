//! Tests of how the prompt displays records: titles, numbers, formats, pages, progress bars, and an animated line while the
//! program waits for a server.

use std::time::Duration;

use expectrl::{ControlCode, Session};
use z3950_asn1::apdu::Apdu;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program;
use z3950_tests::surroundings::command;

use super::{Person, awaited, catalogue, home};

/// Starts a server with records `id1`, `id2` and so on, whose titles are `Book 1`, `Book 2` and so on.
pub(super) fn books(count: u32) -> TestServer {
    let records =
        (1..=count).map(|number| record(&format!("id{number}"), &format!("Book {number}")));
    TestServer::builder().database("cat", records).start()
}

fn requests(server: &TestServer, is_one: impl Fn(&Apdu) -> bool) -> usize {
    let entries = server.transcript().into_iter();
    entries
        .filter_map(|entry| entry.apdu)
        .filter(|apdu| is_one(apdu))
        .count()
}

#[test]
fn find_lists_titles_and_enter_lists_more() {
    let (server, home) = (books(12), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find ti:book");
    person.sees("12 hits");
    let list = person.sees("10 of 12; Enter lists more");
    for number in 1..=10 {
        let line = format!("{number:>2}        Book {number}\r\n");
        assert!(list.contains(&line), "{line:?} in {list}");
    }
    person.sees("z3950> ");
    // All titles were returned with the search.
    assert_eq!(
        requests(&server, |apdu| matches!(apdu, Apdu::PresentRequest(_))),
        0
    );
    person.enters("");
    person.sees("12        Book 12");
    person.sees("z3950> ");
    person.enters("");
    person.sees("there are no more titles");
    person.sees("z3950> ");
    // A list of titles does not change the position at which `show` continues.
    person.enters("show");
    person.sees("1 of 12");
    person.sees("001 id");
    person.sees("z3950> ");
    person.enters("find ti:nosuch");
    person.sees("0 hits");
    person.sees("z3950> ");
    person.enters("");
    person.sees("the result set is empty");
}

/// Tests that the question after a page is removed completely, even in a narrow terminal in which it does not fit on one line.
#[test]
fn r_f9_the_question_after_a_page_is_one_line() {
    let (server, home) = (books(12), home());
    let mut person = Person::at(&server, home.path());
    let process = person.session.get_process_mut();
    process.set_window_size(30, 12).expect("a terminal");
    person.enters("find ti:book");
    person.sees("z3950> ");
    person.enters("show all");
    let question = person.sees("Enter, a, q: ");
    let question = question.rsplit('\n').next().unwrap_or_default();
    assert!(
        question.trim_start_matches('\r').chars().count() < 30,
        "{question:?}"
    );
    person.types("q");
    person.sees("\r\u{1b}[2K");
    person.sees("z3950> ");
}

/// Tests the prompt in a terminal of 40 columns with wide letters and with letters that are written from right to left, also in a
/// locale that does not support them.
#[test]
fn titles_of_any_script_fit_on_a_narrow_terminal() {
    let titles = [
        "戦争と平和 戦争と平和 戦争と平和 戦争と平和",
        "מלחמה ושלום מלחמה ושלום מלחמה ושלום מלחמה",
        "الحرب والسلام الحرب والسلام الحرب والسلام",
    ];
    let records = (1..)
        .zip(titles)
        .map(|(n, title)| record(&format!("id{n}"), title));
    let server = TestServer::builder().database("cat", records).start();
    let home = home();
    let target = server.session_url("/cat");
    for locale in ["C.UTF-8", "C"] {
        let mut person = Person::in_locale(locale, [&target], home.path());
        person.sees("z3950> ");
        let process = person.session.get_process_mut();
        process.set_window_size(40, 24).expect("a terminal");
        for (query, title) in ["戦争と平和", "מלחמה", "الحرب"].iter().zip(titles) {
            person.enters(&format!("find @attr 1=4 {query}"));
            person.sees("1 hit\r\n");
            let list = person.sees("z3950> ");
            let line = list
                .lines()
                .find(|line| line.starts_with(" 1 "))
                .expect("a title");
            let beginning: String = title.chars().take(8).collect();
            assert!(line.contains(&beginning), "{locale}: {list}");
            let width: usize = line.chars().map(columns).sum();
            assert!((30..=40).contains(&width), "{locale}: {width}: {line}");
            person.enters("show 1");
            person.sees(title.split(' ').next().expect("a word"));
            person.sees("z3950> ");
        }
        person.enters("quit");
        person.sees_the_end();
    }
}

/// Returns the number of columns that a letter in these titles takes up.
fn columns(character: char) -> usize {
    match character {
        '\r' => 0,
        '\u{3000}'..='\u{9FFF}' => 2,
        _ => 1,
    }
}

#[test]
fn without_titles_find_requests_no_record() {
    let (server, home) = (books(3), home());
    let mut person = Person::at(&server, home.path());
    for setting in ["set_titles off", "set_titles on\rlslb 5"] {
        person.enters(setting);
        person.sees("z3950> ");
        person.enters("find ti:book");
        person.sees("3 hits");
        assert!(!person.sees("z3950> ").contains("Book"), "{setting}");
    }
}

/// A server need not return anything but the number of hits with a search (Z39.50-2003 §3.2.2.1.3).
#[test]
fn titles_that_do_not_come_with_the_search_are_presented() {
    for rule in ["no-piggyback", "piggyback-fails 14"] {
        let home = home();
        let records = (1..=3).map(|number| record(&format!("id{number}"), "Book"));
        let server = TestServer::builder()
            .database("cat", records)
            .rule(&format!("on search: {rule}"))
            .start();
        let mut person = Person::at(&server, home.path());
        person.enters("find ti:book");
        person.sees("3 hits");
        person.sees("3        Book");
        person.sees("z3950> ");
    }
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .rule("on search: no-piggyback")
        .rule("on present: fail 14")
        .start();
    let home = home();
    let mut person = Person::at(&server, home.path());
    person.enters("find ti:seven");
    person.sees("1 hit");
    person.sees("no titles: ");
    person.sees("z3950> ");
}

#[test]
fn records_are_numbered_and_their_format_changes() {
    let (server, home) = (books(3), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find ti:book");
    person.sees("3 hits");
    for (format, shown) in [
        ("line", "2 of 3\r\n"),
        ("brief", "2 of 3\r\nBook"),
        ("mrk", "=001  id"),
        ("json", "\"leader\":"),
    ] {
        person.enters(&format!("format {format}"));
        person.sees("z3950> ");
        person.enters("show 2");
        let before = person.sees(shown);
        assert!(!before.contains(" of 3"), "{before}");
        person.sees("z3950> ");
    }
    person.enters("format");
    person.sees("json; record syntax ");
}

#[test]
fn long_output_is_shown_in_pages() {
    let (server, home) = (books(30), home());
    let mut person = Person::at(&server, home.path());
    let size = |person: &mut Person| {
        let process = person.session.get_process_mut();
        process.set_window_size(80, 12).expect("a terminal");
    };
    size(&mut person);
    person.enters("find ti:book");
    person.sees("30 hits");
    person.sees("z3950> ");
    person.enters("show all");
    let page = person.sees("; Enter shows more, a all, q stops: ");
    assert!(
        page.contains("1 of 30") && !page.contains("5 of 30"),
        "{page}"
    );
    person.enters("");
    person.sees("Enter shows more");
    person.types(" ");
    person.sees("Enter shows more");
    person.types("q");
    let rest = person.sees("z3950> ");
    assert!(!rest.contains("001 id"), "{rest}");
    // Keys that arrive together answer one question after another.
    person.enters("show all");
    person.sees("Enter shows more");
    person.types("  q");
    let rest = person.sees("z3950> ");
    assert!(
        rest.contains("5 of 30") && !rest.contains("30 of 30"),
        "{rest}"
    );
    // The first Enter after `q` does nothing.
    person.enters("");
    person.sees("z3950> ");
    person.enters("");
    person.sees(" of 30");
    person.sees("z3950> ");
    person.enters("show all");
    person.sees("Enter shows more");
    person.types("a");
    person.sees("30 of 30");
    person.sees("z3950> ");
    // The records of a search are shown in pages too, and `show` continues after the records that have been shown.
    person.enters("search --count 30 ti:book");
    let page = person.sees("Enter shows more");
    assert!(
        page.contains("1 of 30") && !page.contains("5 of 30"),
        "{page}"
    );
    person.enters("q");
    let rest = person.sees("z3950> ");
    assert!(!rest.contains("001 id"), "{rest}");
    person.enters("show");
    person.sees(" of 30");
    person.sees("z3950> ");
    // Anything else that is typed at the question is taken as the next command.
    person.enters("show all");
    person.sees("Enter shows more");
    person.enters("base");
    person.sees("z3950> base");
    person.sees("cat\r\n");
    person.enters("show all");
    person.sees("Enter shows more");
    person.types("b");
    person.sees("z3950> b");
    person.enters("ase");
    person.sees("cat\r\n");
    person.enters("show all");
    person.sees("Enter shows more");
    person.presses(ControlCode::EndOfText);
    person.sees("z3950> ");
}

#[test]
fn words_that_people_try_are_commands() {
    let (server, home) = (books(12), home());
    let mut person = Person::at(&server, home.path());
    person.enters("find ti:book");
    person.sees("10 of 12; Enter lists more");
    person.sees("z3950> ");
    for (line, shown) in [
        ("n", "1 of 12\r\n"),
        ("next", "2 of 12\r\n"),
        ("more", "3 of 12\r\n"),
        ("", "4 of 12\r\n"),
        ("show 6-7", "7 of 12\r\n"),
        ("show 11-99", "12 of 12\r\n"),
        (
            "show 99",
            "there is no record 99: the result set has 12 records",
        ),
        ("list 12", "12        Book 12"),
        ("sort title", "sorted\r\n"),
        (
            "format marc",
            "taken as a record syntax to request; records are shown as text",
        ),
        ("? show", "show [format]"),
    ] {
        person.enters(line);
        person.sees(shown);
        person.sees("z3950> ");
    }
    let presents = requests(&server, |apdu| matches!(apdu, Apdu::PresentRequest(_)));
    assert!(presents < 12, "{presents}");
    person.enters("sort date:desc");
    person.sees("10 of 12; Enter lists more");
    person.sees("z3950> ");
    person.enters("facets title:2");
    person.sees("z3950> ");
    person.enters("find ti:book");
    let before = person.sees("12 hits");
    assert!(before.contains("title:"), "{before}");
}

#[test]
fn help_breaks_at_blanks() {
    let (server, home) = (books(1), home());
    let mut person = Person::at(&server, home.path());
    person.enters("help open");
    let shown = person.sees("e.g. open lib.example");
    assert!(shown.contains("z39.50s"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn something_moves_while_a_server_is_awaited() {
    let home = home();
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search().nth(1), Fault::Delay(Duration::from_secs(4)))
        .start();
    let mut person = Person::at(&server, home.path());
    person.enters("find @attr 1=1032 id7");
    let waited = |person: &mut Person| {
        person.sees("waiting for the server, ");
        person.sees(" s; Ctrl-C stops")
    };
    let first = waited(&mut person);
    while waited(&mut person) == first {}
    person.sees("1 hit");
    // The waiting line is erased before the answer, and does not reappear.
    let rest = person.sees("z3950> ");
    assert!(!rest.contains("waiting"), "{rest}");
    person.enters("sleep 1");
    assert!(!person.sees("z3950> ").contains("waiting"));
    person.enters("!sleep 1");
    assert!(!person.sees("z3950> ").contains("waiting"));
}

/// Runs `z3950` with these arguments in a terminal, and returns its output.
fn seen(arguments: &[&str]) -> String {
    let mut command = command(program::path("z3950"));
    command.args(arguments).env("TERM", "xterm");
    let mut session = Session::spawn(command).expect("a terminal");
    let found = awaited(&mut session, || expectrl::Eof).expect("it ends");
    String::from_utf8_lossy(found.as_bytes()).into_owned()
}

#[test]
fn a_search_on_a_terminal_names_number_and_target() {
    let (one, two) = (books(2), catalogue());
    let (one, two) = (format!("{}/cat", one.addr()), format!("{}/cat", two.addr()));
    let shown = seen(&["search", &one, "ti:book"]);
    assert!(shown.contains("\r\n2 of 2\r\n"), "{shown}");
    let shown = seen(&["search", &one, &two, "ti:book OR ti:seven"]);
    assert!(shown.contains(&format!("{one}: 2 of 2\r\n")), "{shown}");
    assert!(shown.contains(&format!("{two}: 1 of 1\r\n")), "{shown}");
    let shown = seen(&["search", &two, "ti:seven"]);
    assert!(!shown.contains("1 of 1"), "{shown}");
    let shown = seen(&["search", &one, "ti:book", "--format", "mrk"]);
    assert!(!shown.contains("2 of 2"), "{shown}");
    let shown = seen(&[
        "search", &one, "ti:book", "--count", "0", "--facets", "title:2",
    ]);
    assert!(shown.contains("1  ████████████████████  Book 1"), "{shown}");
}

#[test]
fn a_search_on_a_terminal_shows_that_it_waits() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search(), Fault::Delay(Duration::from_secs(2)))
        .start();
    let target = format!("{}/cat", server.addr());
    for arguments in [
        &["search", &target, "ti:seven"][..],
        &["lookup", &target, "docid:id7"],
        &["get", &server.url("/cat?id7")],
    ] {
        let shown = seen(arguments);
        assert!(
            shown.contains("waiting for the server, "),
            "{arguments:?}: {shown}"
        );
    }
    let shown = seen(&["-v", "search", &target, "ti:seven"]);
    assert!(!shown.contains("waiting for the server"), "{shown}");
}
