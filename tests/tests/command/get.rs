//! Tests of `z3950 get` and `z3950 plan`, and of a URL as the only argument.

use std::net::TcpListener;
use std::time::Duration;

use expectrl::{Eof, Expect, Session};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer::Unheard;
use z3950_tests::program::{Ran, path, run, z3950};
use z3950_tests::surroundings::command;

fn demo(rest: &str, flags: &[&str]) -> Ran {
    let url = format!("z39.50r://localhost/{rest}");
    z3950(["--demo", "get", &url].iter().chain(flags))
}

/// Runs the first command in the README.
#[test]
fn the_main_job() {
    let ran = z3950([
        "--demo",
        "get",
        "z39.50r://localhost/books?pg1342;esn=f;rs=marc",
    ]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines.first().map(|leader| leader.len()),
        Some(24),
        "{}",
        ran.stdout
    );
    assert_eq!(lines.get(1), Some(&"001 pg1342"));
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("245 10 $a Pride and prejudice")),
        "{}",
        ran.stdout
    );
}

#[test]
fn outcomes_are_exit_codes_and_plain_words() {
    for (rest, code, words) in [
        ("books?nosuch", 3, "no record matches"),
        ("books?twice", 4, "2 records match"),
        ("nosuch?x", 5, "diagnostic 235"),
        ("books?pg1342;rs=ukmarc", 5, "diagnostic 239"),
        ("books?pg1342;esn=x", 5, "diagnostic 25"),
        ("books", 2, "names no record"),
        ("books?a b", 2, "character 28"),
        ("?x", 2, "character"),
    ] {
        let ran = demo(rest, &[]);
        assert_eq!(ran.code, Some(code), "{rest}: {ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(words),
            "{rest}: {ran:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{rest}: {ran:?}");
    }
    let ran = demo("books?nosuch", &[]);
    for part in ["nosuch", "books", "localhost:210"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn strict_mode_refuses_texts_that_lenient_mode_accepts() {
    assert_eq!(demo("books?pg1342;rs=marc;esn=f", &[]).code, Some(0));
    let ran = demo("books?pg1342;rs=marc;esn=f", &["--strict"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = demo("books?pg1342;rs=klingon", &["--strict"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = demo("books?pg1342;rs=klingon", &[]);
    assert!(
        ran.code == Some(0) && ran.stderr.contains("warning"),
        "{ran:?}"
    );
    assert_eq!(
        demo("books?pg1342;rs=klingon", &["--hints", "require"]).code,
        Some(2)
    );
    assert_eq!(
        demo("books?pg1342;rs=sutrs", &["--hints", "ignore"])
            .stdout
            .lines()
            .nth(1),
        Some("001 pg1342")
    );
}

#[test]
fn several_urls_give_all_their_records_and_the_gravest_code() {
    let url = |rest: &str| format!("z39.50r://localhost/{rest}");
    let ran = z3950([
        "--demo",
        "get",
        "--format",
        "json",
        &url("books?pg1342"),
        &url("books?nosuch"),
        &url("books?pg2600"),
    ]);
    assert_eq!(ran.code, Some(3));
    let ids: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
            record["fields"][0]["001"]
                .as_str()
                .expect("a control number")
                .to_owned()
        })
        .collect();
    assert_eq!(ids, ["pg1342", "pg2600"]);
    let ran = z3950([
        "--demo",
        "get",
        &url("nosuch?x"),
        &url("books?twice"),
        "nonsense",
    ]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
}

#[test]
fn formats_of_other_syntaxes() {
    let ran = demo("books?pg1342;rs=sutrs", &[]);
    assert!(
        ran.stdout.starts_with("Title: Pride and prejudice"),
        "{ran:?}"
    );
    let ran = demo("books?pg1342;rs=sutrs", &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        value["syntax"],
        serde_json::json!({ "name": "sutrs", "oid": "1.2.840.10003.5.101" })
    );
    let ran = demo("books?pg1342", &["--format", "raw"]);
    assert_eq!(ran.octets.last(), Some(&0x1d), "the octets are unchanged");
    assert_eq!(
        ran.octets.get(..5),
        Some(format!("{:05}", ran.octets.len()).as_bytes())
    );
}

#[test]
fn other_scripts_come_through() {
    for (docid, text) in [
        ("demo-pushkin-onegin", "Евгений Онегин"),
        ("demo-homer-ilias", "Ἰλιάς"),
        ("pg24264", "紅樓夢"),
        ("demo-soseki-wagahai", "吾輩は猫である"),
    ] {
        let ran = demo(&format!("books?{docid}"), &[]);
        let folded = ran.stdout.replace('\u{301}', "");
        assert!(
            ran.code == Some(0) && (folded.contains(text) || docid.contains("homer")),
            "{docid}: {ran:?}"
        );
    }
}

/// Returns the names of the APDUs in the output of `-vv`, in order.
pub(crate) fn apdus(ran: &Ran) -> Vec<String> {
    let name = |line: &str| Some(line.split_once("apdu=\"")?.1.split_once('"')?.0.to_owned());
    ran.stderr.lines().filter_map(name).collect()
}

#[test]
fn the_transcript_shows_exactly_the_sent_messages() {
    const INIT: [&str; 2] = ["initRequest", "initResponse"];
    const SEARCH: [&str; 2] = ["searchRequest", "searchResponse"];
    const CLOSE: [&str; 2] = ["close", "close"];
    let ran = demo("books?pg1342", &["-vv"]);
    assert_eq!(
        apdus(&ran),
        [INIT, SEARCH, CLOSE].concat(),
        "{}",
        ran.stderr
    );
    let ran = demo("books?pg1342", &["-vv", "--strategy", "present-only"]);
    let present = ["presentRequest", "presentResponse"];
    assert_eq!(
        apdus(&ran),
        [INIT, SEARCH, present, CLOSE].concat(),
        "{}",
        ran.stderr
    );
    let ran = demo("books?pg1342", &["-v"]);
    for part in ["localhost", "210", "books", "pg1342", "usmarc"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn sessions_are_shared_when_they_may_be() {
    let urls = [
        "z39.50r://localhost/books?pg1342",
        "z39.50r://LOCALHOST:210/books?pg2600",
    ];
    let count = |flags: &[&str]| {
        let ran = z3950(["--demo", "-vv", "get"].iter().chain(flags).chain(&urls));
        apdus(&ran)
            .iter()
            .filter(|name| *name == "initRequest")
            .count()
    };
    assert_eq!((count(&[]), count(&["--keep-open"])), (2, 1));
}

#[test]
fn reserved_ports_need_consent() {
    for (flags, code) in [(&[][..], 7), (&["--allow-reserved-port"], 0)] {
        let ran = z3950(
            ["--demo", "get", "z39.50r://localhost:25/books?pg1342"]
                .iter()
                .chain(flags),
        );
        assert_eq!(ran.code, Some(code), "{ran:?}");
    }
}

#[test]
fn credentials_are_never_shown() {
    for arguments in [
        &[
            "--demo",
            "-vvv",
            "get",
            "z39.50r://me:hush@localhost/books?pg1342",
        ][..],
        &[
            "--demo",
            "-vvv",
            "get",
            "--allow-url-credentials",
            "z39.50r://me:hush@localhost/books?pg1342",
        ],
        &["get", "z39.50r://me:hush@localhost/books?a b"],
        &["get", "--strict", "z39.50r://me:hush@localhost/books?x"],
        &[
            "plan",
            "--octets",
            "--allow-url-credentials",
            "z39.50r://me:hush@localhost/books?x",
        ],
        &[
            "url",
            "parse",
            "--json",
            "z39.50r://me:hush@localhost/books?x",
        ],
        &[
            "url",
            "check",
            "z39.50r://me:hush@localhost/books?x",
            "z39.50r://me:hush@localhost/books?a b",
        ],
    ] {
        let ran = z3950(arguments);
        assert!(
            !ran.stdout.contains("hush") && !ran.stderr.contains("hush"),
            "{arguments:?}: {ran:?}"
        );
    }
}

#[test]
fn waits_are_bounded() {
    // The system accepts connections, but no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "z39.50r://127.0.0.1:{}/books?x",
        silent.local_addr().expect("bound").port()
    );
    for flags in [["--timeout", "0.05"], ["--deadline", "0.05"]] {
        let ran = z3950(["get", &url].iter().chain(&flags));
        assert_eq!(ran.code, Some(6), "{ran:?}");
        assert!(
            ran.stderr.contains("Init"),
            "the phase is named: {}",
            ran.stderr
        );
    }
    let unheard = Unheard::bind();
    let url = format!("z39.50r://{}/books?x", unheard.address());
    let ran = z3950(["get", &url]);
    assert!(
        ran.code == Some(6) && ran.stderr.contains("refused"),
        "{ran:?}"
    );
}

#[test]
fn a_closed_pipe_is_not_a_fault() {
    let program = path("z3950");
    let script = "for i in 1 2 3 4 5; do set -- \"$@\" \"$2\"; done; \"$0\" --demo get \"$@\" | head -n 1; echo \"${PIPESTATUS[0]}\"";
    let ran = run(
        command("bash")
            .args(["-c", script])
            .arg(program)
            .args(["--format=text", "z39.50r://localhost/books?pg1342"]),
        "",
    );
    assert!(
        ran.stdout.ends_with("\n0\n") && ran.stderr.is_empty(),
        "{ran:?}"
    );
}

#[test]
fn a_plan_is_shown_without_a_connection() {
    let ran = z3950([
        "plan",
        "z39.50r://lib.example:2100/cat+maps?id7;esn=f;rs=marc",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let steps: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(steps, ["connect", "Init", "Search", "Present", "Close"]);
    assert!(
        ran.stdout.contains("@attr 4=104 @attr 1=1032 id7")
            && ran.stdout.contains("databases \"cat\", \"maps\""),
        "{}",
        ran.stdout
    );
    assert_eq!(z3950(["plan", "z39.50r://lib.example/cat"]).code, Some(2));
    assert_eq!(
        z3950(["plan", "z39.50r://lib.example:25/cat?x"]).code,
        Some(7)
    );
    let session = z3950(["plan", "z39.50s://lib.example/cat"]);
    assert!(
        session.code == Some(0) && !session.stdout.contains("Search"),
        "{session:?}"
    );
}

#[test]
fn wrong_usage_is_reported() {
    for arguments in [
        &["get"][..],
        &["fetch", "x"],
        &["--timeout", "x", "get", "y"],
        &["http://example.org/"],
        &[],
    ] {
        let ran = z3950(arguments);
        assert!(
            ran.code == Some(2) && ran.stdout.is_empty() && !ran.stderr.is_empty(),
            "{arguments:?}: {ran:?}"
        );
    }
    let help = z3950(["--help"]);
    assert!(
        help.code == Some(0) && help.stdout.contains("Exit codes") && help.stdout.contains("130"),
        "{help:?}"
    );
    assert_eq!(z3950(["--version"]).stdout, "z3950 0.1.0\n");
}

/// Text from a server must not move the cursor or change colours, whether it is in a record or in a message.
#[test]
fn z_6_4_words_of_a_server_cannot_steer_a_terminal() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Se\x1b[2Jven")])
        .fault(
            When::search().docid("id8"),
            Fault::Fails(diagnostic(
                Condition::SYSTEM_ERROR_PRESENTING,
                "\x1b[2Jgone",
            )),
        )
        .start();
    for (docid, shown) in [("id7", "Se\\x1b[2Jven"), ("id8", "\\x1b[2Jgone")] {
        let url = server.url(&format!("/cat?{docid}"));
        let mut command = command(path("z3950"));
        command.args(["get", "--color", "never", url.as_str()]);
        let mut session = Session::spawn(command).expect("a terminal");
        session.set_expect_timeout(Some(Duration::from_secs(60)));
        let said = session.expect(Eof).expect("the program ends");
        let said = String::from_utf8_lossy(said.as_bytes()).into_owned();
        assert!(said.contains(shown) && !said.contains('\x1b'), "{said:?}");
    }
    let raw = z3950(["get", "--format", "raw", &server.url("/cat?id7")]);
    assert!(raw.stdout.contains("Se\x1b[2Jven"), "{raw:?}");
}
