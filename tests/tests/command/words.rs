//! Tests of error messages. They contain neither passwords nor text from a server that could be mistaken for the program's own
//! messages, and they give hints after typing errors.

use std::fs;

use serde_json::Value;
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_server::Diagnostic;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

fn demo(arguments: &[&str]) -> Ran {
    z3950(["--demo"].iter().chain(arguments))
}

#[test]
fn audit_d3_the_language_of_a_query_is_found_as_in_a_search() {
    for (text, pqf) in [
        (
            "ti:\"war and peace\" au:tolstoy",
            "@and @attr 1=4 \"war and peace\" @attr 1=1003 tolstoy\n",
        ),
        ("@attr 1=4 war", "@attr 1=4 war\n"),
        ("ccl:ti=war", "@attr 1=4 war\n"),
    ] {
        let ran = z3950(["query", "to-pqf", text]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), pqf), "{ran:?}");
        let ran = z3950(["query", "explain", text]);
        assert!(ran.stdout.starts_with("Records where title has"), "{ran:?}");
        let ran = demo(&["search", "localhost/books", text, "--count", "0"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
    }
    let ran = z3950(["query", "to-pqf", "--lang", "pqf", "ti:war"]);
    assert_eq!(ran.stdout, "ti:war\n");
}

#[test]
fn audit_d16_a_word_that_looks_like_an_index_gets_a_note_everywhere() {
    let words = "note: ti=war is searched for as a word: ti:war searches the index ti";
    let ran = demo(&["search", "localhost/books", "names:ti=war"]);
    assert!(ran.code == Some(3) && ran.stderr.contains(words), "{ran:?}");
    let ran = demo(&["scan", "localhost/books", "names:ti=war", "--size", "1"]);
    assert!(ran.stderr.contains(words), "{ran:?}");
    let ran = z3950(["query", "parse", "names:ti=war"]);
    assert!(ran.stderr.contains(words), "{ran:?}");
    let ran = z3950_fed(
        ["--demo", "open", "localhost/books"],
        "find names:ti=war\nfind ccl:ti=war\nquerytype ccl2rpn\nfind ti=war\n",
    );
    assert_eq!(ran.stderr.matches(words).count(), 1, "{ran:?}");
    assert!(ran.stdout.starts_with("0 hits\n"), "{ran:?}");
}

/// Names below `.invalid` and names without a dot do not exist (RFC 6761 §6.4).
#[test]
fn audit_d4_a_query_that_was_not_quoted_is_noticed() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950(["search", &target, "no-such-word", "seven"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let quoted =
        format!("a query of several words is quoted: z3950 search {target} 'no-such-word seven'\n");
    assert!(ran.stderr.contains(&quoted), "{ran:?}");
    let ran = z3950(["search", "no-such-word", &target]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let ordered = format!("targets come before the query: z3950 search {target} 'no-such-word'\n");
    assert!(ran.stderr.contains(&ordered), "{ran:?}");
    let ran = z3950(["search", "--json", &target, "no-such-word", "seven"]);
    let hinted = ran.stdout.lines().any(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["message"]
            .as_str()
            .is_some_and(|words| words.contains("is quoted"))
    });
    assert!(hinted, "{ran:?}");
}

#[test]
fn audit_d15_the_name_of_a_target_may_be_mistyped_or_stand_alone() {
    let hint = "did you mean loc (Library of Congress, online catalogue)?";
    let ran = z3950(["search", "congres", "war"]);
    assert!(ran.code == Some(6) && ran.stderr.contains(hint), "{ran:?}");
    let ran = z3950(["targets", "show", "congres"]);
    assert!(ran.code == Some(3) && ran.stderr.contains(hint), "{ran:?}");
    let ran = z3950_fed(["open"], "open congres\n");
    assert!(ran.code == Some(6) && ran.stderr.contains(hint), "{ran:?}");
    for (word, target) in [
        ("lib.example/db", "lib.example/db"),
        ("localhost:2100", "localhost:2100"),
        ("loc", "loc"),
        ("u:secret@lib.example/db", "<redacted>@lib.example/db"),
    ] {
        let ran = z3950([word]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let words = if target.starts_with('<') {
            format!("{target} is not a command of z3950")
        } else {
            format!("`z3950 search {target} QUERY`")
        };
        assert!(ran.stderr.contains(&words), "{ran:?}");
        assert!(!ran.stderr.contains("secret"), "{ran:?}");
    }
    let ran = z3950(["serach", "loc", "x"]);
    assert!(ran.stderr.contains("did you mean search?"), "{ran:?}");
}

/// Tests that a message explains an unknown word in the place of a command, even if it follows options.
#[test]
fn r_f14_an_unknown_word_in_place_of_a_command_is_explained() {
    for (line, words) in [
        (
            "--demo serch localhost/books war",
            "serch is not a command of z3950; did you mean search?",
        ),
        (
            "--timeout 5 -v serch localhost/books war",
            "serch is not a command of z3950; did you mean search?",
        ),
        ("serch loc war", "did you mean search?"),
        (
            "xyzzy",
            "xyzzy is not a command of z3950; `z3950 --help` lists the commands",
        ),
        (
            "targets chek loc",
            "chek is not a command of z3950 targets; did you mean check?",
        ),
        (
            "--demo localhost/books",
            "localhost/books is a target, not a command: `z3950 --demo search localhost/books QUERY` searches it",
        ),
        (
            "--timeout 5 lib.example war",
            "lib.example is a target, not a command: `z3950 search lib.example QUERY` searches it",
        ),
    ] {
        let ran = z3950(line.split(' '));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(!ran.stderr.contains("unexpected argument"), "{ran:?}");
    }
}

#[test]
fn audit_d18_passwords_in_targets_are_not_echoed() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let url = format!("z39.50s://ada:secret@{}/cat", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.tsv");
    let report = report.to_str().expect("text");
    let targets = folder.path().join("targets.toml");
    let targets = targets.to_str().expect("text");
    for target in [
        "ada:secret@lib.example/db",
        "tcp://ada:secret@lib.example",
        "ada:sec/secret@h",
        &url,
    ] {
        for arguments in [
            &["-vvv", "search", target, "seven"][..],
            &["search", target, "seven", "--json"],
            &["search", target, "seven", "--report", report],
            &["scan", target, "seven"],
            &["lookup", target, "isbn:0306406152"],
            &["probe", target],
            &["targets", "check", target],
            &["targets", "show", target],
            &["--targets", targets, "targets", "add", "x", target],
            &["get", target],
            &["plan", target],
            &["open", target],
            &["update", target, "insert", "/nonexistent.mrc"],
            &["order", target, "@attr 1=4 x"],
        ] {
            let ran = z3950(arguments);
            let lines = fs::read_to_string(report).unwrap_or_default();
            let said = format!("{}{}{lines}", ran.stdout, ran.stderr);
            assert!(!said.contains("secret"), "{arguments:?}: {ran:?}");
            // These files are removed, because the next command would refuse to overwrite them.
            let _ = (fs::remove_file(report), fs::remove_file(targets));
        }
        let ran = z3950_fed(
            ["open"],
            format!(
                "open {target}\nopne {target}\nproxy {target}\nsettings\nhistory\ninit {target}\n"
            ),
        );
        assert!(
            !format!("{}{}", ran.stdout, ran.stderr).contains("secret"),
            "{ran:?}"
        );
    }
}

#[test]
fn audit_d18_credentials_of_mistyped_urls_are_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.tsv");
    let report = report.to_str().expect("text");
    let place = "127.0.0.1:1/cat?id1";
    for text in [
        format!("z39.50r:/ann:S3cr3tPw@{place}"),
        format!("z39.50r:ann:S3cr3tPw@{place}"),
        format!("z39.50r://ann:S3cr3tPw/@{place}"),
        format!("z39.50r:///ann:S3cr3tPw@{place}"),
        format!(r"z39.50r:\\ann:S3cr3tPw@{place}"),
        format!("ann:S3cr3tPw@{place}"),
        format!("ssl:ann:S3cr3tPw@{place}"),
        format!("tcp:ann:S3cr3tPw@{place}"),
        format!("connect:ann:S3cr3tPw@{place}"),
        "unix:ann:S3cr3tPw@/x".to_owned(),
    ] {
        for arguments in [
            &["get", &text][..],
            &["get", &text, "--json"],
            &["get", &text, "--report", report],
            &["open", &text],
            &["search", &text, "x"],
            &["search", &text, "x", "--report", report],
            &["lookup", &text, "isbn:0306406152"],
            &["scan", &text, "x"],
            &["probe", &text],
            &["plan", &text],
            &["plan", &text, "--json"],
            &["url", "check", &text],
            &["url", "check", &text, "--json"],
            &["url", "parse", &text],
            &["url", "parse", &text, "--json"],
            &["url", "canon", "--redact", &text],
        ] {
            let ran = z3950(arguments);
            let lines = fs::read_to_string(report).unwrap_or_default();
            let said = format!("{}{}{lines}", ran.stdout, ran.stderr);
            assert!(!said.contains("S3cr3tPw"), "{arguments:?}: {ran:?} {lines}");
            let _ = fs::remove_file(report);
        }
    }
}

#[test]
fn audit_d18_a_list_of_targets_with_an_error_is_not_quoted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.toml");
    let list = path.to_str().expect("text");
    let head = "[targets.x]\nhost = \"127.0.0.1\"\n";
    for (line, place) in [
        ("credentials = { password = \"S3cr3tPw }", "line 3, column "),
        ("credentials = \"ann/S3cr3tPw\"", "line 3, column "),
        (
            "credentials = { user = \"ann\", password = [\"S3cr3tPw\"] }",
            "",
        ),
    ] {
        fs::write(&path, format!("{head}{line}\n")).expect("written");
        let ran = z3950(["targets", "list", "--targets", list]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(place), "{ran:?}");
        assert!(!ran.stderr.contains("S3cr3tPw"), "{ran:?}");
    }
}

/// Text of several lines that a server sends.
const LINES: &str = "first\r\nnote: second\rnote: third\nerror: fourth";

/// Returns whether the text from a server was printed, and no line begins with one of its later lines.
fn is_indented(text: &str) -> bool {
    text.contains("first")
        && !text.split(['\n', '\r']).any(|line| {
            line.starts_with("note: second")
                || line.starts_with("note: third")
                || line.starts_with("error: fourth")
        })
}

#[test]
fn audit_d19_a_server_says_nothing_in_the_programs_name() {
    let refused = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(When::search(), Fault::Fails(Diagnostic::bib1(235, LINES)))
        .start();
    let closed = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::search(),
            Fault::Close(CloseReason::SHUTDOWN, Some(LINES)),
        )
        .start();
    let greeting = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::init(),
            Fault::alter(|answer| {
                if let Apdu::InitializeResponse(response) = answer {
                    response.implementation_name = Some(LINES.into());
                }
            }),
        )
        .start();
    let turned_away = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .fault(
            When::init(),
            Fault::RejectInit(Some(Diagnostic::bib1(1014, LINES))),
        )
        .start();
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.tsv");
    for server in [&refused, &closed, &turned_away] {
        let target = format!("{}/cat", server.addr());
        for arguments in [
            &["search", &target, "seven"][..],
            &["-vv", "search", &target, "seven"],
            &["lookup", &target, "isbn:0306406152"],
            &["get", &server.url("/cat?id7")],
            &["open", &server.session_url("/cat?id7")],
        ] {
            let ran = z3950(arguments);
            assert!(is_indented(&ran.stderr), "{arguments:?}: {}", ran.stderr);
        }
        let ran = z3950_fed(["open", &target], "find seven\n");
        assert!(is_indented(&ran.stderr), "{}", ran.stderr);
        let path = report.to_str().expect("text");
        let arguments = ["-v", "search", &target, "seven", "--report", path];
        let ran = z3950(arguments);
        assert!(is_indented(&ran.stderr), "{}", ran.stderr);
        let text = fs::read_to_string(&report).expect("a report");
        assert!(text.lines().count() == 2 && is_indented(&text), "{text}");
        fs::remove_file(&report).expect("removed");
    }
    let target = format!("{}/cat", greeting.addr());
    let ran = z3950_fed(["open", &target], "");
    assert!(is_indented(&ran.stderr), "{}", ran.stderr);
    for arguments in [
        &["probe", target.as_str()][..],
        &["targets", "check", &target],
    ] {
        let ran = z3950(arguments);
        assert!(is_indented(&ran.stdout), "{}", ran.stdout);
    }
}

#[test]
fn audit_d10_a_proxy_that_is_named_is_used_for_this_machine_too() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let target = format!("{}/cat", server.addr());
    // Nothing listens on port 1, so connecting fails.
    let proxy = "http://127.0.0.1:1";
    let search = |options: &[&str], variables: &[(&str, &str)]| {
        let arguments = ["search", &target, "seven", "--count", "0"];
        let mut command = command(path("z3950"));
        command
            .args([&arguments[..], options].concat())
            .envs(variables.iter().copied());
        run(&mut command, "")
    };
    for (options, variables, code) in [
        (&["--proxy", proxy][..], &[][..], 6),
        (&["--proxy", proxy], &[("NO_PROXY", "*")], 6),
        (&["--proxy", "none"], &[("ALL_PROXY", proxy)], 0),
        (&[], &[("ALL_PROXY", proxy)], 0),
        (&[], &[("ALL_PROXY", proxy), ("NO_PROXY", "lib.example")], 0),
    ] {
        let ran = search(options, variables);
        assert_eq!(ran.code, Some(code), "{options:?} {variables:?}: {ran:?}");
        if code == 6 {
            assert!(
                ran.stderr.contains("the proxy cannot be reached"),
                "{ran:?}"
            );
        }
    }
    // The proxy from the environment is used for other machines, unless NO_PROXY names them.
    for (variables, is_used) in [
        (&[("ALL_PROXY", proxy)][..], true),
        (&[("ALL_PROXY", proxy), ("NO_PROXY", "lib.example")], true),
        (&[("ALL_PROXY", proxy), ("NO_PROXY", "lib.invalid")], false),
        (&[("ALL_PROXY", proxy), ("NO_PROXY", "*")], false),
    ] {
        let mut command = command(path("z3950"));
        command.args(["search", "lib.invalid/cat", "seven"]);
        command.envs(variables.iter().copied());
        let ran = run(&mut command, "");
        assert_eq!(ran.code, Some(6), "{variables:?}: {ran:?}");
        let words = "the proxy cannot be reached";
        assert_eq!(
            ran.stderr.contains(words),
            is_used,
            "{variables:?}: {ran:?}"
        );
    }
}

#[test]
fn audit_d5_a_wrong_check_digit_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.tsv");
    let report = report.to_str().expect("text");
    for (identifier, words) in [
        (
            "0306406153",
            "0306406153 looks like an ISBN with a wrong check digit (2 expected)",
        ),
        (
            "9780306406158",
            "looks like an ISBN with a wrong check digit (7 expected)",
        ),
        (
            "0378-5954",
            "looks like an ISSN with a wrong check digit (5 expected)",
        ),
        (
            "isbn:0306406153",
            "the ISBN 0306406153 has a wrong check digit (2 expected)",
        ),
    ] {
        let ran = demo(&["lookup", "localhost/books", identifier]);
        assert!(ran.code == Some(3) && ran.stderr.contains(words), "{ran:?}");
        let ran = demo(&["lookup", "localhost/books", identifier, "--json"]);
        assert!(ran.stdout.contains(words), "{ran:?}");
        let ran = demo(&["lookup", "localhost/books", identifier, "--report", report]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let text = fs::read_to_string(report).expect("a report");
        assert!(text.contains(words), "{text}");
        fs::remove_file(report).expect("removed");
    }
}

#[test]
fn audit_d16_messages_describe_the_fault_and_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let passwords = folder.path().join("passwd");
    fs::write(&passwords, "root:x:0:0:root:/root:/bin/sh\n").expect("written");
    let passwords = passwords.to_str().expect("text");
    for (arguments, words) in [
        (
            &["convert", passwords][..],
            "no ISO 2709 records found; --from selects another format",
        ),
        (
            &["convert", "--check", passwords],
            "--from selects another format",
        ),
        (
            &["plan", "http://lib.example/"],
            "not a Z39.50 scheme at character 1: begin with z39.50s:// for a session",
        ),
        (
            &["get", "z3950r://lib.example/cat?x"],
            "not a Z39.50 scheme at character 1: begin with z39.50s:// for a session",
        ),
        (
            &["search", "z3950s://lib.example/cat", "x"],
            "z3950s: is not a scheme of targets: they begin with z39.50s://",
        ),
        (
            &["--demo", "search", "localhost/books", ""],
            "error: the query is empty\n",
        ),
        (&["query", "parse", ""], "error: the query is empty\n"),
        (
            &["--demo", "lookup", "localhost/books", ""],
            "error: the identifier is empty\n",
        ),
    ] {
        let ran = z3950(arguments);
        assert!(
            ran.code != Some(0) && ran.stderr.contains(words),
            "{arguments:?}: {ran:?}"
        );
    }
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["--version"], &["search", "--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let status = command(z3950_tests::program::path("z3950"))
            .args(arguments)
            .stdout(full.expect("opened"))
            .stderr(std::process::Stdio::null())
            .status();
        assert_eq!(status.expect("run").code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn missing_facets_are_reported() {
    let search = [
        "--demo",
        "search",
        "localhost/books",
        "--facets",
        "bogus",
        "ti:war",
    ];
    let ran = z3950(search);
    let words = "localhost/books (--demo): the server gives no facets by bogus\n";
    assert!(ran.stderr.contains(words), "{ran:?}");
}
