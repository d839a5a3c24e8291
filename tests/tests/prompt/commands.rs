//! Tests of commands other than `open` in a terminal, where the output is meant for people.

use expectrl::process::Termios;
use expectrl::process::unix::Signal;
use expectrl::{Eof, Expect, Session};
use z3950_asn1::apdu::{Apdu, IdAuthentication};
use z3950_server::access::{Access, User};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{self, z3950};
use z3950_tests::surroundings::command;

use super::awaited;

/// Runs `z3950` in a terminal of this many columns, and returns what it shows, without colours.
fn shown(arguments: &[&str], columns: u16) -> String {
    shown_in(arguments, columns, "C.UTF-8")
}

fn shown_in(arguments: &[&str], columns: u16, locale: &str) -> String {
    let mut command = command(program::path("z3950"));
    command
        .args(["--color", "never"])
        .args(arguments)
        .env("LC_ALL", locale)
        .env("TERM", "xterm");
    let mut session = Session::spawn(command).expect("a terminal");
    let process = session.get_process_mut();
    process.set_window_size(columns, 24).expect("a terminal");
    let end = awaited(&mut session, || Eof).expect("it ends");
    String::from_utf8_lossy(end.as_bytes()).replace("\r\n", "\n")
}

#[test]
fn r_f11_a_terminal_shows_brief_records_and_the_count_last() {
    let search = ["--demo", "search", "localhost/books", "war"];
    let text = shown(&search, 80);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    assert!(!text.contains("245 "), "{text}");
    assert!(text.contains("10 of 17\n"), "{text}");
    assert!(!text.contains("11 of 17\n"), "{text}");
    let last = lines.last().expect("a line");
    assert!(text.trim_end().ends_with("all)"), "{text}");
    assert!(
        lines
            .iter()
            .filter(|line| line.contains("17 records match"))
            .count()
            == 1,
        "{last}"
    );
    assert!(
        lines
            .iter()
            .position(|line| line.contains("17 records match"))
            > Some(40),
        "{text}"
    );
    // If the user requests a format, it is used.
    let text = shown(&[&search[..], &["--format", "text"]].concat(), 80);
    assert!(text.contains("245 "), "{text}");
}

/// Starts `z3950` in a terminal, and returns what it shows before and after the password is entered.
fn with_password(arguments: &[&str], password: &str) -> (String, String) {
    let mut command = command(program::path("z3950"));
    command
        .args(["--color", "never"])
        .args(arguments)
        .env("TERM", "xterm");
    let mut session = Session::spawn(command).expect("a terminal");
    let asked = awaited(&mut session, || "password for ada: ").expect("the question");
    let before = String::from_utf8_lossy(asked.before()).into_owned();
    session
        .send(format!("{password}\n"))
        .expect("the terminal takes it");
    if arguments.first() == Some(&"open") {
        awaited(&mut session, || "z3950> ").expect("the prompt");
        session.send("quit\r").expect("the terminal takes it");
    }
    let end = awaited(&mut session, || Eof).expect("it ends");
    (before, String::from_utf8_lossy(end.as_bytes()).into_owned())
}

#[test]
fn r_f6_the_password_is_requested_on_the_terminal() {
    for arguments in [
        &[
            "search", "TARGET", "--user", "ada", "--count", "0", "ti:seven",
        ][..],
        &[
            "search",
            "TARGET",
            "--user",
            "ada",
            "--open-auth",
            "--count",
            "0",
            "ti:seven",
        ],
        &["open", "TARGET", "--user", "ada"],
    ] {
        let server = TestServer::builder()
            .database("cat", [record("id7", "Seven")])
            .start();
        let target = format!("{}/cat", server.addr());
        let given = arguments.iter();
        let given: Vec<&str> = given
            .map(|one| if *one == "TARGET" { &target } else { *one })
            .collect();
        // The password contains Ctrl-Z, which must not suspend the program, because the shell would then echo what is typed.
        let (before, after) = with_password(&given, "t0p\u{1a} s3cret");
        assert!(!before.contains("note"), "{before}");
        assert!(!after.contains("s3cret"), "{after}");
        let sent = server
            .transcript()
            .into_iter()
            .find_map(|entry| match entry.apdu {
                Some(Apdu::InitializeRequest(init)) => init.id_authentication,
                _ => None,
            });
        match sent.expect("credentials") {
            IdAuthentication::IdPass(id) => {
                assert_eq!(
                    (id.user_id, id.password),
                    (Some("ada".into()), Some("t0p s3cret".into()))
                );
            }
            IdAuthentication::Open(text) => assert_eq!(text, "ada/t0p s3cret".into()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn r_f6_without_a_terminal_the_missing_password_is_named() {
    let mut user = User::default();
    user.name = "ada".into();
    user.password = Some("t0p s3cret".into());
    let mut access = Access::default();
    access.users = vec![user];
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .access(access)
        .start();
    let target = format!("{}/cat", server.addr());
    for arguments in [
        &["search", &target, "ti:seven"][..],
        &["scan", &target, "ti:seven"],
        &["open", &target],
    ] {
        let ran = z3950(arguments.iter().chain(&["--user", "ada"]));
        assert!(
            ran.stderr
                .contains("no password given: --password-env VARIABLE"),
            "{ran:?}"
        );
        // If a password was given, the message does not say that none was given.
        let wrong = ["--user", "ada", "--password-command", "echo wrong"];
        let ran = z3950(arguments.iter().chain(&wrong));
        assert!(!ran.stderr.contains("no password given"), "{ran:?}");
    }
}

#[test]
fn r_f11_lookup_is_terse_without_v() {
    let lookup = ["--demo", "lookup", "localhost/books", "9780141439518"];
    let text = shown(&lookup, 80);
    assert!(text.contains("001 pg1342"), "{text}");
    assert!(!text.contains("note:"), "{text}");
    let text = shown(&[&lookup[..], &["-v"]].concat(), 80);
    assert!(text.contains("1 record matches ISBN"), "{text}");
    assert!(text.contains("in 020$a"), "{text}");
    // Unusual circumstances are reported even without -v.
    let text = shown(
        &["--demo", "lookup", "localhost/books", "9780141439519"],
        80,
    );
    assert!(text.contains("no record matches"), "{text}");
}

/// Tests that only some records of a large set are fetched for a list on the screen, even in a narrow terminal or in a different
/// locale.
#[test]
fn r_f11_ten_thousand_hits_are_not_all_fetched() {
    const COUNT: usize = 10_000;
    let records = (1..=COUNT).map(|number| record(&format!("id{number}"), "戦争と平和 עברית"));
    let server = TestServer::builder().database("cat", records).start();
    let target = format!("{}/cat", server.addr());
    for (columns, locale) in [(80, "C.UTF-8"), (40, "C.UTF-8"), (40, "C")] {
        let text = shown_in(
            &["search", &target, "@attr 1=4 戦争と平和"],
            columns,
            locale,
        );
        assert!(
            text.contains("10 of 10000\n") && !text.contains("11 of 10000\n"),
            "{text}"
        );
        assert!(text.contains("戦争と平和"), "{text}");
        // The number of hits is printed last, at the bottom of the screen.
        let at_once = text.replace("\n  ", " ");
        assert!(
            at_once
                .trim_end()
                .ends_with("10000 records match; showing 10 of 10000 (--count all shows all)"),
            "{text}"
        );
    }
    let sent = server
        .transcript()
        .into_iter()
        .map(|entry| match entry.apdu {
            Some(Apdu::SearchResponse(answer)) => answer.number_of_records_returned,
            Some(Apdu::PresentResponse(answer)) => answer.number_of_records_returned,
            _ => 0,
        });
    assert_eq!(sent.sum::<i64>(), 30);
}

/// Types these keys in answer to the questions of `z3950d hash-password`. Returns everything that the terminal shows.
fn hash_password(answers: &[(&str, &str)]) -> String {
    let mut command = command(program::path("z3950d"));
    command.arg("hash-password").env("TERM", "xterm");
    let mut session = Session::spawn(command).expect("a terminal");
    let mut shown = String::new();
    for (question, keys) in answers {
        let asked = awaited(&mut session, || *question).expect(question);
        shown += &String::from_utf8_lossy(asked.before());
        session.send(keys).expect("the terminal takes it");
    }
    let end = awaited(&mut session, || Eof).expect("it ends");
    shown + &String::from_utf8_lossy(end.as_bytes())
}

#[test]
fn r_f15_a_password_to_be_hashed_is_typed_twice_and_not_shown() {
    let (first, again) = ("password: ", "the same again: ");
    for (typed, retyped) in [
        ("secret\r", "secret\r"),
        ("secrex\x7Ft\r", "wrong\x15secret\r"),
        ("secret\u{e9}\u{e9}\x08\x7F\r", "secret\x04"),
    ] {
        let shown = hash_password(&[(first, typed), (again, retyped)]);
        let hash = shown.trim().lines().last().unwrap_or_default();
        assert!(hash.starts_with("$argon2id$v=19$"), "{typed:?}: {shown:?}");
        assert!(!shown.contains("secre"), "{typed:?}: {shown:?}");
        let parsed = z3950_server::passwords::PasswordHash::parse(hash);
        assert!(parsed.is_ok(), "{hash}: {parsed:?}");
    }
    for (answers, words) in [
        (
            &[(first, "secret\r"), (again, "secrets\r")][..],
            "the two passwords differ",
        ),
        (&[(first, "\r")], "there is no password"),
        (&[(first, "secret\x03")], "interrupted"),
        (&[(first, "secret\r"), (again, "sec\x03")], "interrupted"),
    ] {
        let shown = hash_password(answers);
        assert!(shown.contains(words), "{answers:?}: {shown:?}");
        assert!(!shown.contains("argon2"), "{answers:?}: {shown:?}");
    }
}

#[test]
fn a_terminal_shows_typed_text_after_a_signal_ended_a_password_prompt() {
    // The terminal does not echo at first, so the script turns the echo on.
    let mut command = command("sh");
    let script = "stty echo && exec \"$0\" hash-password";
    command.arg("-c").arg(script).arg(program::path("z3950d"));
    command.env("TERM", "xterm");
    let mut session = Session::spawn(command).expect("a terminal");
    awaited(&mut session, || "password: ").expect("the question");
    assert_eq!(session.is_echo().ok(), Some(false));
    let process = session.get_process_mut();
    process.signal(Signal::SIGTERM).expect("it can be sent");
    awaited(&mut session, || Eof).expect("it ends");
    assert_eq!(session.is_echo().ok(), Some(true));
}
