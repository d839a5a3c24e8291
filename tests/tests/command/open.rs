//! `z3950 open`: the prompt, fed from a pipe.

use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950_fed};

fn demo(url: &str, commands: &str, flags: &[&str]) -> Ran {
    z3950_fed(["--demo", "open", url].iter().chain(flags), commands)
}

#[test]
fn a_session_answers_commands() {
    let commands = "find @attr 1=4 war\nshow 1\nshow\nformat sutrs\nshow 1\nelements B\nbase\nbase serials\nbase\nquit\n";
    let ran = demo("z39.50s://localhost/books", commands, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let hits: u64 = ran
        .stdout
        .split_once(" hits\n")
        .expect("hits")
        .0
        .parse()
        .expect("a number");
    assert!(hits >= 3, "{hits}");
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("001 "))
            .count(),
        2
    );
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("Title: "))
            .count(),
        1
    );
    assert!(ran.stdout.ends_with("books\nserials\n"), "{}", ran.stdout);
}

#[test]
fn queries_are_words_or_pqf() {
    for (query, hits) in [
        ("Onegin", None),
        ("@attr 1=1032 pg1342", Some("1 hit\n")),
        ("@and @attr 1=4 pride @attr 1=4 prejudice", Some("1 hit\n")),
        ("@attr 1=4 \"pride and prejudice\"", Some("1 hit\n")),
        ("@not @attr 1=1032 twice @attr 1=1016 1859", Some("1 hit\n")),
        ("pride prejudice", None),
        ("nonesuchword", Some("0 hits\n")),
    ] {
        let ran = demo(
            "z39.50s://localhost/books",
            &format!("find {query}\n"),
            &["--stop-on-error"],
        );
        assert_eq!(ran.code, Some(0), "{query}: {ran:?}");
        match hits {
            Some(hits) => assert_eq!(ran.stdout, hits, "{query}"),
            None => assert!(
                ran.stdout.ends_with("hit\n") || ran.stdout.ends_with("hits\n"),
                "{query}: {ran:?}"
            ),
        }
    }
}

#[test]
fn the_docid_of_a_url_is_searched_and_shown() {
    let ran = demo("z39.50s://localhost/books?pg1342", "", &[]);
    assert!(
        ran.stdout.starts_with("1 hit\n") && ran.stdout.contains("001 pg1342"),
        "{ran:?}"
    );
    let ran = demo(
        "z39.50s://localhost/books?pg1342",
        "",
        &["--no-auto-present", "--strategy", "present-only"],
    );
    assert_eq!(ran.stdout, "1 hit\n");
    let ran = demo("z39.50s://localhost/books?twice", "show 2\n", &[]);
    assert!(
        ran.stdout.starts_with("2 hits\n") && ran.stdout.contains("001 twice"),
        "{ran:?}"
    );
    let ran = demo(
        "z39.50s://localhost/books?nosuch",
        "find @attr 1=1032 pg1342\n",
        &[],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "0 hits\n1 hit\n")
    );
}

#[test]
fn a_failed_command_is_told_and_the_session_goes_on() {
    for (command, code, words) in [
        ("show 1", 2, "no result set"),
        ("find @and x", 2, "missing"),
        ("fund x", 2, "no command"),
        ("find @attr 1=9999 x", 5, "114"),
        ("find @attr 1=1032 pg1342\nshow 9", 5, "13"),
        ("format klingon", 2, "not known"),
        ("open z39.50r://localhost/books?x", 2, "z3950 get"),
    ] {
        let commands = format!("{command}\nfind @attr 1=1032 pg2600\n");
        let ran = demo("z39.50s://localhost/books", &commands, &[]);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        assert!(
            ran.stderr.contains(words) && ran.stdout.ends_with("1 hit\n"),
            "{command}: {ran:?}"
        );
        let ran = demo("z39.50s://localhost/books", &commands, &["--stop-on-error"]);
        assert_eq!(ran.code, Some(code), "{command}: {ran:?}");
    }
}

#[test]
fn a_session_that_cannot_be_opened_gives_its_code() {
    assert_eq!(demo("z39.50s://localhost:25/", "", &[]).code, Some(7));
    assert_eq!(demo("z39.50s://local host/", "", &[]).code, Some(2));
    let server = TestServer::builder()
        .demo()
        .fault(When::init(), Fault::RejectInit(None))
        .start();
    assert_eq!(
        z3950_fed(["open", &server.session_url("/books")], "").code,
        Some(5)
    );
}

#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let ran = z3950_fed(["open", &server.session_url("/cat;esn=f;rs=marc")], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    server.wait_for_end();
    assert_eq!(
        server.names(),
        ["initRequest", "initResponse", "close", "close"]
    );
}

#[test]
fn open_at_the_prompt_takes_up_its_own_session() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let commands = format!(
        "open {}\nbase\nclose\nfind x\n",
        server.session_url("/maps")
    );
    let ran = z3950_fed(["open", &server.session_url("/cat")], &commands);
    assert_eq!(ran.stdout, "maps\n", "{ran:?}");
    assert!(
        ran.stderr.contains("taken up") && ran.stderr.contains("no session is open"),
        "{}",
        ran.stderr
    );
    server.wait_for_end();
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_server_that_ends_the_session_is_noticed() {
    use z3950_asn1::apdu::CloseReason;
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::search(),
            Fault::Close(CloseReason::SHUTDOWN, Some("good night")),
        )
        .start();
    let commands = format!(
        "find x\nfind x\nopen {}\nfind @set nosuch\n",
        server.session_url("/cat")
    );
    let ran = z3950_fed(["open", &server.session_url("/cat")], &commands);
    assert!(
        ran.stderr.contains("good night") && ran.stderr.contains("has ended the session"),
        "{}",
        ran.stderr
    );
    server.wait_for_end();
    assert_eq!(server.sessions(), 2, "another one was opened");
}
