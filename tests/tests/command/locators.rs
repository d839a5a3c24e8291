//! Tests of locators of other schemes, with `get` for gopher URLs, with `url extract`, `url wrap` and `url check`, and with
//! `register`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use expectrl::{Eof, Expect, Session};
use serde_json::{Value, json};
use z3950_tests::peer::Unheard;
use z3950_tests::program::{Daemon, Ran, path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

/// Starts a Gopher server on loopback that answers each request line with the result of `answer` until the test ends. Returns its
/// port.
pub(crate) fn gopher_server(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut request = String::new();
            // An error means that the client has disconnected, which the test notices.
            let _ = reader.read_line(&mut request);
            let _ = reader
                .get_mut()
                .write_all(&answer(request.trim_end_matches(['\r', '\n'])));
        }
    });
    port
}

fn answer(request: &str) -> Vec<u8> {
    match request {
        "" => b"iHello \x1b[2J\tfake\t(NULL)\t0\r\n0B\xFCcher\tbooks\tlib.example\t70\r\n\
                hCatalogue\tURL:z39.50s://lib.example/cat\tlib.example\t70\r\n.\r\n"
            .to_vec(),
        "text" => b"One\r\n..Two\r\n.\r\n".to_vec(),
        "octets" => vec![0, 255, b'\n', b'.', b'\r', b'\n'],
        "large" => vec![b'x'; 100_000],
        "find\tcat dog" => b"0Cats\tcats\tlib.example\t70\r\n.\r\n".to_vec(),
        "form\t\t!+ASK" => {
            b"+-2\r\n+INFO: 0Form\tform\tlib.example\t70\t?\r\n+ASK:\r\n Ask: Name\tyou\r\n"
                .to_vec()
        }
        "form\t+\t1" => b"+3\r\nfed".to_vec(),
        "busy\t\t+" => b"--1\r\n2 me\r\nCome back\r\n.\r\n".to_vec(),
        other => format!("3No {other}\t\terror.host\t1\r\n.\r\n").into_bytes(),
    }
}

#[test]
fn get_reads_gopher_by_type() {
    let port = gopher_server(answer);
    let get = |path: &str, options: &[&str]| {
        let url = format!("gopher://127.0.0.1:{port}/{path}");
        z3950(["get", url.as_str()].iter().chain(options))
    };
    let check = |path: &str, options: &[&str], code: i32, stdout: &str, stderr: &str| {
        let ran = get(path, options);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), stdout),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(stderr), "{stderr} in {ran:?}");
    };
    check("0text", &[], 0, "One\r\n.Two\r\n", "");
    check(
        "0text",
        &["--format", "raw"],
        0,
        "One\r\n..Two\r\n.\r\n",
        "",
    );
    check(
        "",
        &[],
        0,
        "  Hello \x1b[2J\n0 Bücher     gopher://lib.example/0books\nh Catalogue  z39.50s://lib.example/cat\n",
        "",
    );
    check(
        "7find%09cat%20dog",
        &[],
        0,
        "0 Cats  gopher://lib.example/0cats\n",
        "",
    );
    check(
        "7find",
        &["--query", "cat dog"],
        0,
        "0 Cats  gopher://lib.example/0cats\n",
        "",
    );
    check("7find", &[], 2, "", "--query");
    check("7find", &["--query", "a\tb"], 2, "", "tab");
    check("0form%09%09?", &[], 2, "", "Name [you]");
    check("0form%09%09?", &["--answer", "me"], 0, "fed", "");
    check("0form%09%09?", &["--answer", "."], 2, "", "lone dot");
    check("0nosuch", &[], 3, "", "No nosuch");
    check("0busy%09%09+", &[], 6, "", "Come back");
    check("9large", &["--max-size", "99999"], 6, "", "99999");
    check("0text", &["--format", "marcxml"], 2, "", "marcxml");
    check("0te%0Axt", &[], 2, "", "control");
    check("hx", &["--strict"], 2, "", "invalid Gopher type");
    check("8guest", &[], 2, "", "telnet");
    check("0text", &["--demo"], 2, "", "Gopher");
    assert_eq!(
        get("9octets", &[]).octets,
        [0, 255, b'\n', b'.', b'\r', b'\n']
    );

    let ran = get("", &["--format", "json"]);
    let menu: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&menu["type"], &menu["kind"], &menu["items"][1]),
        (
            &json!("1"),
            &json!("menu"),
            &json!({
                "type": "0", "display": "Bücher", "selector": "books", "host": "lib.example", "port": 70,
                "plus": null, "url": "gopher://lib.example/0books",
            })
        )
    );
    let text: Value =
        serde_json::from_str(&get("0text", &["--format", "json"]).stdout).expect("JSON");
    assert_eq!(
        (&text["kind"], &text["text"]),
        (&json!("text"), &json!("One\r\n.Two\r\n"))
    );
    let octets: Value =
        serde_json::from_str(&get("9octets", &["--format", "json"]).stdout).expect("JSON");
    assert_eq!(
        (&octets["kind"], &octets["base64"]),
        (&json!("binary"), &json!("AP8KLg0K"))
    );
}

/// On a terminal, control characters are escaped, and the user is asked for missing values.
#[test]
fn get_on_a_terminal_escapes_and_asks() {
    let port = gopher_server(answer);
    let check = |path: &str, question: Option<(&str, &str)>, expected: &str| {
        let mut command = command(self::path("z3950"));
        command.args(["get", "--color", "never"]);
        command.arg(format!("gopher://127.0.0.1:{port}/{path}"));
        let mut session = Session::spawn(command).expect("a terminal");
        session.set_expect_timeout(Some(Duration::from_secs(60)));
        if let Some((question, answer)) = question {
            session.expect(question).expect("the question");
            session.send_line(answer).expect("the answer is typed");
        }
        let rest = session.expect(Eof).expect("the program ends");
        let shown = String::from_utf8_lossy(rest.as_bytes()).into_owned();
        assert!(
            shown.contains(expected) && !shown.contains('\x1b'),
            "{shown:?}"
        );
    };
    check("", None, "Hello \\x1b[2J");
    check("9octets", None, "\\x00\\xFF");
    check(
        "7find",
        Some(("search for?", "cat dog")),
        "0 Cats  gopher://lib.example/0cats",
    );
    check("0form%09%09?", Some(("Name [you]?", "me")), "fed");
}

#[test]
fn unavailable_and_refused_gopher_servers_are_reported() {
    let unheard = Unheard::bind();
    let closed = unheard.address().port();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
    let port = silent.local_addr().expect("it is bound").port();
    for (url, options, code) in [
        (format!("gopher://127.0.0.1:{closed}/"), &[][..], 6),
        (
            format!("gopher://127.0.0.1:{port}/0x"),
            &["--timeout", "0.2"],
            6,
        ),
        (
            format!("gopher://127.0.0.1:{port}/0x"),
            &["--deadline", "0.2"],
            6,
        ),
        ("gopher://127.0.0.1:25/0x".into(), &[], 7),
    ] {
        let ran = z3950(["get", url.as_str()].iter().chain(options));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    }
}

#[test]
fn extract_finds_urls_in_text_records_and_pages() {
    let lines = |ran: &Ran| {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let text =
        "See <URL:http://a.example/one-\n  two>, http://b.example/. And <URL:http://c.example/";
    let ran = z3950_fed(["url", "extract"], text);
    assert_eq!(
        lines(&ran),
        [
            "9\t36\thttp://a.example/one-two\thyphen break, or http://a.example/onetwo",
            "39\t56\thttp://b.example/\theuristic",
            "67\t84\thttp://c.example/\theuristic",
        ]
    );
    assert!(
        ran.stderr.contains("offset 62: the wrapper has no end"),
        "{ran:?}"
    );
    let ran = z3950_fed(["url", "extract", "--wrapped", "--json", "-"], text);
    let value: Value = serde_json::from_str(&lines(&ran).concat()).expect("one object");
    assert_eq!(
        value,
        json!({
            "v": 2, "url": "http://a.example/one-two", "start": 9, "end": 36, "heuristic": false, "hyphen_break": true,
            "alternates": ["http://a.example/onetwo"], "mended": false, "written": null, "may_continue": false,
            "error": null, "offset": null, "message": null,
            "element": null, "attribute": null, "record": null,
            "record_offset": null, "field": null, "occurrence": null, "subfield": null,
        })
    );

    let directory = tempfile::tempdir().expect("a directory");
    let records = directory.path().join("records.mrk");
    fs::write(
        &records,
        "=LDR  00000nam a2200000 a 4500\n=001  1\n=856  40$uhttp://a.example/$zhttp://no.example/\n\n\
         =LDR  00000nam a2200000 a 4500\n=035  \\\\$a(URI)http://b.example/\n=856  40$uz39.50r://lib.example/cat?x\n",
    )
    .expect("the file is written");
    let ran = z3950(["url", "extract", records.to_str().expect("text")]);
    assert_eq!(
        lines(&ran),
        [
            "0\t17\thttp://a.example/\trecord 1, 856 $u",
            "0\t27\tz39.50r://lib.example/cat?x\trecord 2, 856 $u",
            "5\t22\thttp://b.example/\trecord 2, 035 $a; heuristic",
        ]
    );
    let iso2709 = z3950(["convert", "--to", "marc", records.to_str().expect("text")]);
    let exchange = directory.path().join("unnamed");
    fs::write(&exchange, &iso2709.octets).expect("the file is written");
    let ran = z3950(["url", "extract", "--json", exchange.to_str().expect("text")]);
    let first: Value = serde_json::from_str(&lines(&ran)[0]).expect("JSON");
    assert_eq!(
        (
            &first["url"],
            &first["record"],
            &first["field"],
            &first["subfield"]
        ),
        (
            &json!("http://a.example/"),
            &json!(1),
            &json!("856"),
            &json!("u")
        )
    );

    let page = "<html><a href=\"http://a.example/?b&amp;c\">http://b.example/</a>";
    let ran = z3950_fed(["url", "extract"], page);
    assert_eq!(
        lines(&ran)
            .iter()
            .map(|line| line.split_once("http").expect("a URL").1.to_owned())
            .collect::<Vec<_>>(),
        ["://a.example/?b&c\ta href", "://b.example/\theuristic"]
    );
    let ran = z3950(["url", "extract", "/nonexistent"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("/nonexistent"),
        "{ran:?}"
    );
}

#[test]
fn wrap_writes_what_extract_reads() {
    let url =
        "z39.50r://lib.example/a-very-long-database-name+another-one?and-a-docid;esn=f;rs=marc";
    let ran = z3950(["url", "wrap", "--width", "30", url]);
    assert!(
        ran.code == Some(0) && ran.stdout.lines().all(|line| line.len() <= 30),
        "{ran:?}"
    );
    let found = z3950_fed(["url", "extract", "--wrapped"], &ran.stdout);
    assert_eq!(
        found.stdout.split('\t').nth(2),
        Some(format!("{url}\n").as_str()),
        "{found:?}"
    );
    let ran = z3950(["url", "wrap", "HTTP://A.example/#b c"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = z3950(["url", "wrap", "HTTP://A.example/#b"]);
    assert_eq!(ran.stdout, "<URL:http://a.example/#b>\n");
    assert_eq!(z3950(["url", "wrap", "--width", "10", url]).code, Some(2));
}

#[test]
fn check_distinguishes_locators_from_names_and_follows_them() {
    let ran = z3950([
        "url",
        "check",
        "gopher://lib.example:25/0x",
        "urn:isbn:0451450523",
        "ftp://me:secret@lib.example/x",
        "http://a b",
    ]);
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert_eq!(
        rows[0][..3],
        ["ok", "locator", "gopher://lib.example:25/0x"]
    );
    assert_eq!(rows[0][3..5], ["port", "25"]);
    assert_eq!(rows[1], ["ok", "name", "urn:isbn:0451450523"]);
    assert_eq!(
        rows[2][..3],
        ["ok", "locator", "ftp://<redacted>@lib.example/x"]
    );
    assert_eq!(rows[2].last(), Some(&"password"));
    assert_eq!(rows[3][0], "malformed");

    let port = gopher_server(answer);
    let server = Daemon::start(["--demo"]);
    let unheard = Unheard::bind();
    let closed = unheard.address().port();
    let z3950_port = server.port();
    let input = [
        format!("gopher://127.0.0.1:{port}/0text"),
        format!("gopher://127.0.0.1:{port}/0nosuch"),
        format!("gopher://127.0.0.1:{port}/0busy%09%09+"),
        format!("gopher://127.0.0.1:{port}/7find"),
        format!("gopher://127.0.0.1:{closed}/"),
        format!("z39.50r://127.0.0.1:{z3950_port}/books?pg1342"),
        format!("z39.50r://127.0.0.1:{z3950_port}/books?nosuch"),
        format!("z39.50r://127.0.0.1:{z3950_port}/nosuch?pg1342"),
        format!("z39.50r://127.0.0.1:{closed}/books?pg1342"),
        "http://lib.example/".to_owned(),
        "nonsense".to_owned(),
    ];
    let expected = [
        "alive",
        "gone",
        "unavailable",
        "ok",
        "unavailable",
        "alive",
        "gone",
        "gone",
        "unavailable",
        "ok",
        "malformed",
    ];
    let ran = z3950_fed(
        ["url", "check", "--follow", "--input", "-"],
        input.join("\n"),
    );
    let verdicts: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        (ran.code, verdicts.as_slice()),
        (Some(6), &expected[..]),
        "{ran:?}"
    );
    let ran = z3950([
        "url", "check", "--follow", "--json", "--jobs", "1", &input[1], &input[9],
    ]);
    let values: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (
            ran.code,
            &values[0]["status"],
            &values[0]["ok"],
            &values[1]["status"]
        ),
        (Some(8), &json!("gone"), &json!(true), &Value::Null)
    );
}

/// Runs `z3950` as a user whose files are all in the folder `home`, and whose desktop tools log their arguments.
fn as_user(home: &Path, arguments: &[&str]) -> Ran {
    let programs = home.join("bin");
    fs::create_dir_all(&programs).expect("a directory");
    for name in ["xdg-mime", "update-desktop-database"] {
        let program = programs.join(name);
        fs::write(
            &program,
            format!(
                "#!/bin/sh\necho {name} \"$@\" >> '{}/told'\n",
                home.display()
            ),
        )
        .expect("the file is written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .expect("its owner is this user");
    }
    let mut command = command(path("z3950"));
    command
        .args(arguments)
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("PATH", &programs);
    run(&mut command, "")
}

#[test]
fn register_writes_a_desktop_entry_and_unregister_takes_it_back() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let file = home.join("data/applications/z3950.desktop");
    let printed = as_user(home, &["register", "--print"]);
    assert!(printed.code == Some(0) && !file.exists(), "{printed:?}");
    let lines: Vec<&str> = printed.stdout.lines().collect();
    assert_eq!(lines[0], "[Desktop Entry]");
    for line in [
        "Type=Application",
        "Terminal=true",
        "MimeType=x-scheme-handler/z39.50r;x-scheme-handler/z39.50s;",
    ] {
        assert!(lines.contains(&line), "{line} in {printed:?}");
    }
    let exec = lines
        .iter()
        .find_map(|line| line.strip_prefix("Exec="))
        .expect("Exec");
    assert_eq!(exec, format!("{} open %u", path("z3950").display()));
    assert!(!home.join("told").exists(), "--print runs no desktop tools");

    assert_eq!(as_user(home, &["register"]).code, Some(0));
    assert_eq!(
        fs::read_to_string(&file).expect("the entry"),
        printed.stdout
    );
    let told = fs::read_to_string(home.join("told")).expect("the tools' log");
    let applications = home.join("data/applications");
    assert_eq!(
        told,
        format!(
            "update-desktop-database {}\n\
             xdg-mime default z3950.desktop x-scheme-handler/z39.50r x-scheme-handler/z39.50s\n",
            applications.display()
        )
    );
    assert_eq!(
        as_user(home, &["register"]).code,
        Some(0),
        "registering twice is allowed"
    );

    fs::create_dir_all(home.join("config")).expect("a directory");
    let defaults = home.join("config/mimeapps.list");
    fs::write(
        &defaults,
        "[Default Applications]\nx-scheme-handler/z39.50r=z3950.desktop\ntext/html=b.desktop\n",
    )
    .expect("the file is written");
    for _ in 0..2 {
        let ran = as_user(home, &["unregister"]);
        assert!(ran.code == Some(0) && !file.exists(), "{ran:?}");
    }
    assert_eq!(
        fs::read_to_string(&defaults).expect("the list"),
        "[Default Applications]\ntext/html=b.desktop\n"
    );
}
