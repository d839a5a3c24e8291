//! Findings from readings of the RFCs, by id: what the program prints about URLs and Gopher.

use std::process::Command;
use std::time::Duration;

use expectrl::{Eof, Expect, Session};
use serde_json::{Value, json};
use z3950_tests::program::{Daemon, Ran, path, run, z3950, z3950_fed};

use crate::locators::gopher_server;

fn value(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// What a command shows in a terminal.
fn on_terminal(arguments: &[&str]) -> String {
    let mut command = Command::new(path("z3950"));
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

/// RFC 1736 §3: invalid, unavailable, ambiguous and refused are different outcomes.
#[test]
fn audit_b3_check_tells_ambiguous_and_refused_from_gone() {
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
        ("on search: fail 2", "unavailable", 5),
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
        5,
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

/// RFC 1736 §4.5: URLs are printed with their credentials, so that they still work; a caution points these out, and
/// `--redact` removes them.
#[test]
fn audit_b4_urls_are_written_with_their_passwords() {
    let check = |arguments: &[&str], input: &str, full: &str, redacted: &str| {
        let ran = z3950_fed(arguments, input);
        assert!(
            ran.code == Some(0) && ran.stdout.contains(full),
            "{full} in {ran:?}"
        );
        assert!(
            ran.stderr.contains("password") && !ran.stderr.contains("sesame"),
            "{ran:?}"
        );
        let ran = z3950_fed(arguments.iter().chain(&["--redact"]), input);
        assert!(
            ran.code == Some(0) && ran.stdout.contains(redacted),
            "{redacted} in {ran:?}"
        );
        assert!(!format!("{ran:?}").contains("sesame"), "{ran:?}");
    };
    let url = "ftp://u:sesame@h.example/x";
    check(&["url", "canon", url], "", url, "ftp://u:***@h.example/x");
    check(
        &["url", "canon", "--json", url],
        "",
        url,
        "\"ftp://u:***@h.example/x\"",
    );
    check(
        &["url", "wrap", url],
        "",
        &format!("<URL:{url}>"),
        "<URL:ftp://u:***@h.example/x>",
    );
    check(
        &["url", "wrap", "z39.50r://u:sesame@h.example/d?x"],
        "",
        "<URL:z39.50r://u:sesame@h.example/d?x>",
        "<URL:z39.50r://h.example/d?x>",
    );
    check(
        &["url", "wrap", "x-a://u:sesame@h/%2f"],
        "",
        "x-a://u:sesame@h/%2f",
        "x-a://u:***@h/%2f",
    );
    check(
        &["url", "resolve", url, "y"],
        "",
        "ftp://u:sesame@h.example/y",
        "ftp://u:***@h.example/y",
    );
    check(
        &["url", "resolve", "--json", url, "y"],
        "",
        "ftp://u:sesame@h.example/y",
        "ftp://u:***@h.example/y",
    );
    check(&["url", "extract"], url, url, "ftp://u:***@h.example/x");
    check(
        &["url", "extract", "--json"],
        url,
        url,
        "ftp://u:***@h.example/x",
    );
    let ran = z3950([
        "url",
        "canon",
        "ftp://foo:@host.com/",
        "ftp://foo@host.com/",
        "ftp://host.com/",
    ]);
    assert_eq!(
        ran.stdout,
        "ftp://foo:@host.com/\nftp://foo@host.com/\nftp://host.com/\n"
    );
    let ran = z3950(["url", "canon", "ftp://foo@host.com/"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "a user name alone is not secret"
    );
    // What is only displayed stays redacted.
    for arguments in [["url", "check", url], ["url", "parse", url]] {
        let ran = z3950(arguments);
        assert!(
            ran.code == Some(0) && !format!("{ran:?}").contains("sesame"),
            "{ran:?}"
        );
    }
}

/// RFC 1736 §5: `plan` shows which server would get which credentials, before anything is sent.
#[test]
fn audit_b5_a_plan_says_whose_identity_goes_where() {
    let url = "z39.50r://lib.example:2100/cat?x";
    let line = |ran: &Ran| {
        assert!(
            ran.code == Some(0) && !format!("{ran:?}").contains("sesame"),
            "{ran:?}"
        );
        let line = ran.stdout.lines().find(|line| line.starts_with("identify"));
        line.map(|line| line.trim_start_matches("identify").trim().to_owned())
    };
    let plan = |arguments: &[&str]| {
        let mut command = Command::new(path("z3950"));
        command
            .arg("plan")
            .args(arguments)
            .env("AUDIT_B5_PASSWORD", "sesame");
        line(&run(&mut command, ""))
    };
    let to = "to lib.example:2100";
    assert_eq!(plan(&[url]), None);
    for (options, expected) in [
        (
            &["--user", "me"][..],
            format!("as user me, {to}, given by options"),
        ),
        (
            &[
                "--user",
                "me",
                "--group",
                "staff",
                "--password-env",
                "AUDIT_B5_PASSWORD",
            ],
            format!(
                "as user me, group staff, with the password in the environment variable AUDIT_B5_PASSWORD, {to}, given by \
                 options"
            ),
        ),
        (
            &[
                "--user",
                "me",
                "--open-auth",
                "--password-command",
                "echo sesame",
            ],
            format!("as user me, with the password that a command prints, {to}, given by options"),
        ),
        (
            &["--anonymous"],
            format!("as anonymous, {to}, given by options"),
        ),
    ] {
        let arguments: Vec<&str> = [url].iter().chain(options).copied().collect();
        assert_eq!(plan(&arguments), Some(expected), "{options:?}");
    }
    let with_user = "z39.50r://me:sesame@lib.example:2100/cat?x";
    assert_eq!(plan(&[with_user]), None);
    assert_eq!(
        plan(&[with_user, "--allow-url-credentials"]),
        Some(format!(
            "as user me, with the password of the URL, {to}, given in the URL"
        ))
    );
    let directory = tempfile::tempdir().expect("a directory");
    let targets = directory.path().join("targets.toml");
    let profile = "[targets.lib]\nhost = 'lib.example'\nport = 2100\ndatabases = ['cat']\n\
                   credentials = { user = 'stored', password_env = 'AUDIT_B5_PASSWORD' }\n";
    std::fs::write(&targets, profile).expect("the file is written");
    let file = targets.to_str().expect("text");
    assert_eq!(
        plan(&[url, "--targets", file]),
        Some(format!(
            "as user stored, with the password in the environment variable AUDIT_B5_PASSWORD, {to}, given by the profile \
             lib in {file}"
        ))
    );
    let ran = run(
        Command::new(path("z3950"))
            .args(["plan", "--json", url, "--targets", file])
            .env("AUDIT_B5_PASSWORD", "sesame"),
        "",
    );
    assert_eq!(
        value(&ran)["identity"],
        json!({
            "form": "id-pass", "user": "stored", "group": null, "password_from": "environment",
            "password_variable": "AUDIT_B5_PASSWORD", "source": "profile", "profile": "lib", "file": file,
        })
    );
    let octets = run(
        Command::new(path("z3950"))
            .args(["plan", "--octets", url, "--targets", file])
            .env("AUDIT_B5_PASSWORD", "sesame"),
        "",
    );
    for ran in [ran, octets] {
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            !shown.contains("sesame") && !shown.contains("736573616d65"),
            "{shown}"
        );
        assert!(
            !shown
                .replace(' ', "")
                .to_lowercase()
                .contains("736573616d65"),
            "{shown}"
        );
    }
    assert_eq!(
        plan(&[url, "--targets", file, "--user", "me"]),
        Some(format!("as user me, {to}, given by options"))
    );
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

#[test]
fn audit_b7_record_syntaxes_are_asked_for_by_name() {
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
fn audit_b9_a_plan_tells_databases_apart() {
    let one = z3950(["plan", "z39.50r://h.example/a%2Bb%2Bc?x"]).stdout;
    let two = z3950(["plan", "z39.50r://h.example/a%2Bb+c?x"]).stdout;
    assert!(one.contains("database a+b+c,"), "{one}");
    assert!(two.contains("databases \"a+b\", \"c\","), "{two}");
    let two = z3950(["plan", "z39.50s://h.example/a%22+b"]).stdout;
    assert!(two.contains("databases \"a\\\"\", \"b\""), "{two}");
}

#[test]
fn audit_b10_refused_selectors_say_why() {
    for (rest, option, text, words) in [
        (
            "7find",
            "--query",
            "a\tb",
            "the search string holds a tab or a line end",
        ),
        (
            "7find",
            "--query",
            "a\nb",
            "the search string holds a tab or a line end",
        ),
        (
            "0form%09%09?",
            "--answer",
            ".",
            "an answer is a lone dot, which would end the form",
        ),
        (
            "0form%09%09?",
            "--answer",
            "a\nb",
            "an answer holds a line end",
        ),
    ] {
        let ran = z3950([
            "get",
            &format!("gopher://127.0.0.1:1024/{rest}"),
            option,
            text,
        ]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains(words) && !ran.stderr.contains("00"),
            "{ran:?}"
        );
    }
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
fn audit_b15_resolve_gives_what_strict_reading_takes() {
    let ran = z3950(["url", "resolve", "http://h.example", "?q"]);
    assert_eq!(ran.stdout, "http://h.example/?q\n");
    assert_eq!(
        z3950(["url", "parse", "--strict", ran.stdout.trim()]).code,
        Some(0)
    );
}

/// The program does not wait for a server that keeps the connection open.
#[test]
fn audit_b17_a_dot_ends_a_text_while_the_connection_is_open() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        use std::io::Write;
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            // The test notices if the client goes away.
            let _ = stream.write_all(b"one\r\n.\r\nmore");
            held.push(stream);
        }
    });
    let url = format!("gopher://127.0.0.1:{port}/0x");
    let ran = z3950(["get", "--deadline", "20", &url]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "one\r\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("4 octets after it are left out"),
        "{ran:?}"
    );
    let ran = z3950(["get", "--format", "raw", &url]);
    assert_eq!(ran.stdout, "one\r\n.\r\nmore");
}

#[test]
fn audit_b19_get_sends_an_octet_0_with_a_caution() {
    let port =
        gopher_server(|request| format!("{}\r\n.\r\n", request.escape_default()).into_bytes());
    for strict in [&[][..], &["--strict"]] {
        let url = format!("gopher://127.0.0.1:{port}/0a%00b");
        let ran = z3950(["get", url.as_str()].iter().chain(strict));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "a\\u{0}b\r\n"),
            "{ran:?}"
        );
        assert!(
            ran.stderr.starts_with("warning: ") && ran.stderr.contains("control"),
            "{ran:?}"
        );
    }
}

/// People read words; programs read names, in JSON.
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
