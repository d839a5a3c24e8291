//! Tests of the findings of the RFC audit about the programs' output for URLs and Gopher. Their names begin with the IDs of the
//! findings.

mod credentials;
mod extract;
mod gopher;

use std::time::Duration;

use expectrl::{Eof, Expect, Session};
use serde_json::{Value, json};
use z3950_tests::program::{Daemon, Ran, path, z3950, z3950_fed};
use z3950_tests::surroundings::command;

use crate::command::locators::gopher_server;

fn value(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// Runs a command in a terminal and returns its output.
fn on_terminal(arguments: &[&str]) -> String {
    let mut command = command(path("z3950"));
    command.args(arguments);
    let mut session = Session::spawn(command).expect("a terminal");
    session.set_expect_timeout(Some(Duration::from_secs(60)));
    let rest = session.expect(Eof).expect("the program ends");
    String::from_utf8_lossy(rest.as_bytes()).into_owned()
}

#[test]
fn audit_b2_cr_lf_ends_lines_on_a_terminal() {
    let port = gopher_server(|_| b"one\r\ntwo\rthree\r\n.\r\n".to_vec());
    let shown = on_terminal(&["get", &format!("gopher://127.0.0.1:{port}/0x")]);
    assert!(shown.contains("one\r\ntwo\\x0dthree"), "{shown:?}");
    assert!(!shown.contains("one\\x0d"), "{shown:?}");
}

/// RFC 1736 §3: "invalid", "unavailable", "ambiguous" and "refused" are different outcomes.
#[test]
fn audit_b3_check_distinguishes_ambiguous_and_refused_from_gone() {
    let server = |fault: &str| Daemon::start(["--demo", "--fault", fault]);
    let check = |url: &str, status: &str, code: i32| {
        let ran = z3950(["url", "check", "--follow", "--json", url]);
        assert_eq!(
            (ran.code, &value(&ran)["status"]),
            (Some(code), &json!(status)),
            "{url}: {ran:?}"
        );
        let ran = z3950(["url", "check", "--follow", url]);
        let verdict = ran.stdout.split_whitespace().next();
        assert_eq!((ran.code, verdict), (Some(code), Some(status)), "{ran:?}");
    };
    let plain = Daemon::start(["--demo"]);
    let url = |server: &Daemon, rest: &str| format!("z39.50r://127.0.0.1:{}/{rest}", server.port());
    check(&url(&plain, "books?pg1342"), "alive", 0);
    check(&url(&plain, "books?twice"), "ambiguous", 4);
    check(&url(&plain, "books?nosuch"), "gone", 8);
    check(&url(&plain, "nosuch?x"), "gone", 8);
    check("z39.50r://127.0.0.1:25/books?x", "refused", 7);
    for (fault, status, code) in [
        ("on search: fail 109", "refused", 5),
        ("on search: fail 114", "refused", 5),
        ("on search: fail 2", "unavailable", 6),
        ("on init: reject", "refused", 5),
        ("on present: surrogate 14", "refused", 5),
    ] {
        let server = server(fault);
        match fault {
            "on present: surrogate 14" => {
                let server = Daemon::start([
                    "--demo",
                    "--fault",
                    "on search: no-piggyback",
                    "--fault",
                    fault,
                ]);
                check(&url(&server, "books?pg1342"), status, code);
            }
            _ => check(&url(&server, "books?pg1342"), status, code),
        }
    }
    let port = gopher_server(|_| b"--1\r\n2 me\r\nCome back\r\n.\r\n".to_vec());
    check(
        &format!("gopher://127.0.0.1:{port}/0x%09%09+"),
        "unavailable",
        6,
    );
    let port = gopher_server(|_| b"--1\r\n4 me\r\nNo\r\n.\r\n".to_vec());
    check(
        &format!("gopher://127.0.0.1:{port}/0x%09%09+"),
        "refused",
        5,
    );
    let help = z3950(["url", "check", "--help"]).stdout;
    for word in ["alive", "gone", "ambiguous", "refused", "unavailable"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn audit_b6_check_cautions_against_escaped_controls() {
    for url in [
        "ftp://h.example/a%0D%0ADELE%20x",
        "http://h.example/a%0D%0AX",
    ] {
        let ran = z3950(["url", "check", url]);
        assert!(
            ran.code == Some(0) && ran.stdout.contains("control character"),
            "{ran:?}"
        );
        let ran = z3950(["url", "check", "--json", url]);
        assert_eq!(
            value(&ran)["cautions"],
            json!(["EscapedControl"]),
            "{ran:?}"
        );
    }
}

/// RFC 1738 Appendix: a URL in text is surrounded by `<URL:` and `>`.
#[test]
fn audit_r_d4_a_wrapped_url_is_read_as_the_url() {
    let url = "z39.50r://localhost/books?pg1342";
    let wrapped = z3950(["url", "wrap", url]).stdout;
    let wrapped = wrapped.trim();
    assert_eq!(wrapped, format!("<URL:{url}>"));
    for arguments in [
        &["--demo", "get"][..],
        &["--demo"],
        &["--demo", "open"],
        &["url", "parse", "--json"],
        &["url", "canon"],
        &["url", "check"],
        &["plan"],
    ] {
        let plain = z3950(arguments.iter().chain(&[url]));
        let ran = z3950(arguments.iter().chain(&[wrapped]));
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        // `check` prints each URL as it was given, so the wrapped URL is replaced before the comparison.
        assert_eq!(ran.stdout.replace(wrapped, url), plain.stdout);
    }
    let ran = z3950_fed(["url", "check", "--input", "-"], format!("{wrapped}\n"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = z3950(["get", "--strict", wrapped]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("surround a URL in text"), "{ran:?}");
}

/// RFC 1736 §2.2: if the host of a locator is not known everywhere, the locator only has a local meaning.
#[test]
fn audit_r_d5_check_cautions_against_local_hosts() {
    for (url, caution) in [
        ("z39.50r://localhost/books?x", Some("LocalHost")),
        ("z39.50r://127.0.0.1/books?x", Some("LocalHost")),
        ("z39.50r://10.1.2.3/books?x", Some("LocalHost")),
        ("z39.50r://172.31.0.1/books?x", Some("LocalHost")),
        ("z39.50r://192.168.0.1/books?x", Some("LocalHost")),
        ("z39.50r://169.254.1.1/books?x", Some("LocalHost")),
        ("z39.50r://cat.local/books?x", Some("LocalHost")),
        ("z39.50r://cat.home.arpa/books?x", Some("LocalHost")),
        ("http://[fe80::1]/x", Some("LocalHost")),
        ("http://[fd00::1]/x", Some("LocalHost")),
        ("http://[::ffff:10.0.0.1]/x", Some("LocalHost")),
        ("file:///etc/motd", Some("LocalHost")),
        ("z39.50r://cat/books?x", Some("RelativeHostName")),
        ("z39.50r://172.32.0.1/books?x", None),
        ("z39.50r://mylocal.example/books?x", None),
        ("http://[2001:db8::1]/x", None),
    ] {
        let ran = z3950(["url", "check", "--json", url]);
        let caution = caution.into_iter().collect::<Vec<_>>();
        assert_eq!(value(&ran)["cautions"], json!(caution), "{ran:?}");
    }
}

#[test]
fn audit_b7_record_syntaxes_are_requested_by_name() {
    for (name, oid) in [
        ("danmarc", "5.14"),
        ("rusmarc", "5.28"),
        ("Explain", "5.100"),
    ] {
        let ran = z3950(["plan", &format!("z39.50r://lib.example/cat?x;rs={name}")]);
        assert!(
            ran.code == Some(0)
                && ran.stderr.is_empty()
                && ran.stdout.contains(&format!("10003.{oid} (")),
            "{ran:?}"
        );
    }
    let ran = z3950(["plan", "--strict", "z39.50r://lib.example/cat?x;rs=danmark"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("did you mean danmarc"),
        "{ran:?}"
    );
}

#[test]
fn audit_b9_a_plan_distinguishes_databases() {
    let one = z3950(["plan", "z39.50r://h.example/a%2Bb%2Bc?x"]).stdout;
    let two = z3950(["plan", "z39.50r://h.example/a%2Bb+c?x"]).stdout;
    assert!(one.contains("database a+b+c,"), "{one}");
    assert!(two.contains("databases \"a+b\", \"c\","), "{two}");
    let two = z3950(["plan", "z39.50s://h.example/a%22+b"]).stdout;
    assert!(two.contains("databases \"a\\\"\", \"b\""), "{two}");
}

#[test]
fn audit_b11_extract_resolves_and_mends() {
    let page = "<html><a href='b c.html'><a href='é'>http://u.example/bücher</a>";
    let ran = z3950_fed(["url", "extract", "--base", "http://a.example/x/y"], page);
    let urls: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_once("http"))
        .map(|(_, url)| url)
        .collect();
    assert_eq!(
        urls,
        [
            "://a.example/x/b%20c.html\ta href; mended from: b c.html",
            "://a.example/x/%C3%A9\ta href; mended from: é",
            "://u.example/b%C3%BCcher\theuristic; mended from: http://u.example/bücher",
        ],
        "{ran:?}"
    );
    let ran = z3950_fed(["url", "extract"], page);
    assert!(
        ran.stderr.contains("2 relative links are skipped") && ran.stderr.contains("--base"),
        "{ran:?}"
    );
    let page = "<base href='http://a.example/'><a href='?q'>";
    let ran = z3950_fed(["url", "extract", "--json", "--from", "html"], page);
    let last: Value =
        serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&last["url"], &last["mended"], &last["written"]),
        (&json!("http://a.example/?q"), &json!(true), &json!("?q"))
    );
    let ran = z3950_fed(["url", "extract"], "> <URL:http://a.example/one/\n> two>");
    assert_eq!(
        ran.stdout,
        "7\t34\thttp://a.example/one/two\tmended from: http://a.example/one/\\x0a> two\n"
    );
    let ran = z3950_fed(["url", "extract"], "http://a.example/l\u{2019}a");
    assert!(ran.stdout.contains("may continue"), "{ran:?}");
    let ran = z3950(["url", "extract", "--base", "x/y", "/dev/null"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn audit_b12_wrap_keeps_to_its_width() {
    let url = format!("http://a.example/a-b-c-d-e-f-g-{}x", "-".repeat(40));
    for width in ["20", "21", "22", "30"] {
        let ran = z3950(["url", "wrap", "--width", width, &url]);
        let most = width.parse().expect("a number");
        assert!(ran.stdout.lines().all(|line| line.len() <= most), "{ran:?}");
        let found = z3950_fed(["url", "extract", "--wrapped", "--json"], &ran.stdout);
        assert_eq!(value(&found)["url"], json!(url));
    }
}

#[test]
fn audit_b13_check_names_unused_and_mistyped_schemes() {
    let ran = z3950([
        "url",
        "check",
        "z39.50://lib.example/cat",
        "htpp://lib.example/",
    ]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].contains("z39.50 is reserved but not in use"),
        "{ran:?}"
    );
    assert!(lines[1].contains("did you mean http?"), "{ran:?}");
}

#[test]
fn audit_b14_parse_shows_the_parts_of_interactive_services() {
    for (scheme, port) in [("rlogin", 513), ("tn3270", 23)] {
        let ran = z3950([
            "url",
            "parse",
            "--json",
            &format!("{scheme}://me:sesame@h.example/"),
        ]);
        let object = value(&ran);
        assert_eq!(
            (
                &object["host"],
                &object["port"],
                &object["user"],
                &object["warnings"]
            ),
            (
                &json!("h.example"),
                &json!(port),
                &json!("me"),
                &json!(["CredentialsInUrl"])
            )
        );
    }
}

#[test]
fn audit_b15_resolve_returns_urls_that_strict_mode_accepts() {
    let ran = z3950(["url", "resolve", "http://h.example", "?q"]);
    assert_eq!(ran.stdout, "http://h.example/?q\n");
    assert_eq!(
        z3950(["url", "parse", "--strict", ran.stdout.trim()]).code,
        Some(0)
    );
}

/// Messages for people use words; JSON for programs uses names.
#[test]
fn audit_b20_messages_use_words() {
    const CODES: [&str; 8] = [
        "CredentialsInUrl",
        "RelativeHostName",
        "ReservedPort",
        "NonDefaultPort",
        "RecordSyntaxOmitted",
        "HintIgnored",
        "UnknownParameter",
        "EmptyDocidIgnored",
    ];
    for (arguments, words) in [
        (
            &["url", "check", "ftp://me@h.example/"][..],
            "user name or a password",
        ),
        (&["url", "check", "http://h/"], "has no dot"),
        (
            &["url", "check", "http://h.example:25/"],
            "port 25 is reserved",
        ),
        (
            &["url", "parse", "http://h.example:2100/"],
            "port 2100 is not the default port",
        ),
        (
            &["url", "parse", "z39.50s://h.example/d;lang=fr"],
            "parameter lang",
        ),
        (
            &["plan", "z39.50r://h.example/d?x;rs=foo"],
            "foo is not supported",
        ),
        (
            &["plan", "z39.50s://h.example/d;rs=foo"],
            "the hint rs=foo is ignored",
        ),
        (
            &["--demo", "get", "z39.50r://h.example/books?pg1342;lang=fr"],
            "parameter lang",
        ),
    ] {
        let ran = z3950(arguments);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.code == Some(0) && said.contains(words),
            "{words}: {ran:?}"
        );
        assert!(CODES.iter().all(|code| !said.contains(code)), "{ran:?}");
    }
    let ran = z3950(["url", "check", "--json", "z39.50r://me@h:2100/d;lang=fr"]);
    assert_eq!(
        value(&ran)["cautions"],
        json!([
            "CredentialsInUrl",
            "RelativeHostName",
            "NonDefaultPort:2100",
            "UnknownParameter:lang",
            "NoDocid"
        ])
    );
}
