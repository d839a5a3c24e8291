//! Checks that text from a hostile target (names, the text of a Close, diagnostics) cannot begin a new line or send control
//! sequences to the reader's terminal, in the logs of `z3950d` and in the messages of `z3950`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use z3950_asn1::apdu::{Apdu, Close, CloseReason, DefaultDiagFormat};
use z3950_asn1::codec::{decode, encode};
use z3950_marc::text::is_unprintable;
use z3950_server::backend::{Answer, Backend, DatabaseInfo, Found, Search, ready};
use z3950_server::testing::{TestServer, record};
use z3950_tests::hex;
use z3950_tests::program::{path, z3950};
use z3950_tests::surroundings::command;

use crate::hostile::odd::{http_answer, serve_http};

/// Text that changes colours, rings the bell, erases text, changes the writing direction, and imitates log lines.
const EVIL: &str = "evil \u{1b}[31m\u{7}\u{9b}2J\u{202e}\u{2066}\r\nz3950d: forged\n2026-01-01T00:00:00Z  INFO forged\r\u{2028}";

/// Starts a target whose implementation name is this text, and which ends each session with a Close that contains it.
fn closing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut octets = vec![0; 64 << 10];
            if !matches!(stream.read(&mut octets), Ok(1..)) {
                continue;
            }
            let answer = hex::octets(include_str!("../../fixtures/wire/init-response.hex"));
            let Ok(Apdu::InitializeResponse(mut init)) = decode(&answer) else {
                panic!("the fixture is an InitResponse");
            };
            init.implementation_id = Some(EVIL.into());
            init.implementation_name = Some(EVIL.into());
            init.implementation_version = Some(EVIL.into());
            let close = Close::new(CloseReason(2), Some(EVIL));
            // The client may be gone, so errors are ignored.
            let _ = stream.write_all(&encode(&Apdu::InitializeResponse(init)).expect("encodes"));
            if matches!(stream.read(&mut octets), Ok(1..)) {
                let _ = stream.write_all(&encode(&close.into()).expect("encodes"));
            }
        }
    });
    address
}

/// A database that refuses each search with a diagnostic that contains [`EVIL`] unescaped.
struct Refusing;

impl Backend for Refusing {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let mut database = DatabaseInfo::default();
        database.name = "cat".to_owned();
        vec![database]
    }

    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        ready(Err(DefaultDiagFormat::bib1(2, EVIL)))
    }
}

/// Starts an SRU server that refuses searches in one database with [`EVIL`], and returns a diagnostic with this text in place of
/// a record in another database.
fn of_sru() -> SocketAddr {
    let diagnostic = format!(
        "<d:diagnostic xmlns:d='http://www.loc.gov/zing/srw/diagnostic/'><d:uri>info:srw/diagnostic/1/2</d:uri>\
         <d:details>{EVIL}</d:details><d:message>{EVIL}</d:message></d:diagnostic>"
    );
    let start = "<zs:searchRetrieveResponse xmlns:zs='http://www.loc.gov/zing/srw/'><zs:version>1.1</zs:version>";
    let end = "</zs:searchRetrieveResponse>";
    let refusal = format!(
        "{start}<zs:numberOfRecords>0</zs:numberOfRecords><zs:diagnostics>{diagnostic}</zs:diagnostics>{end}"
    );
    let surrogate = format!(
        "{start}<zs:numberOfRecords>1</zs:numberOfRecords><zs:records><zs:record>\
         <zs:recordSchema>info:srw/schema/1/diagnostics-v1.1</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking>\
         <zs:recordData>{diagnostic}</zs:recordData><zs:recordPosition>1</zs:recordPosition></zs:record></zs:records>{end}"
    );
    serve_http(move |line| {
        let body = if line.contains("/surrogate") {
            &surrogate
        } else {
            &refusal
        };
        http_answer(body.as_bytes())
    })
}

/// Checks requests of all kinds. They must return the record of the valid target, no matter what the other targets send.
fn check_requests(address: SocketAddr) {
    let get = |request: &str| {
        let mut stream = TcpStream::connect(address).expect("a server");
        let head = format!("GET {request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    };
    let evil = get("/union?query=evil%1B%C2%9B%E2%80%AE%0Az3950d:+forged");
    assert!(evil.contains("diagnostic"), "{evil}");
    for (version, packing) in [
        ("1.1", "recordPacking"),
        ("1.2", "recordPacking"),
        ("2.0", "recordXMLEscaping"),
    ] {
        for how in ["xml", "string"] {
            let answer = get(&format!(
                "/union?version={version}&operation=searchRetrieve&{packing}={how}&maximumRecords=10&query=emma"
            ));
            assert!(answer.contains("diagnostic/1/"), "{answer}");
            assert!(answer.contains("Emma"), "{answer}");
        }
    }
    let page = get("/search?q=emma&target=union");
    assert!(page.contains("Emma"), "{page}");
    let union = format!("{address}/union");
    for syntax in ["xml", "usmarc", "opac"] {
        let ran = z3950(["search", &union, "emma", "--syntax", syntax]);
        assert!(ran.stdout.contains("Emma"), "{syntax}: {ran:?}");
        check_client(&ran.stderr);
    }
}

/// Checks that no line in the messages of `z3950` was written by a target.
fn check_client(stderr: &str) {
    let is_own = |line: &str| !line.starts_with("z3950d: ") && !line.starts_with("2026-01-01");
    check("z3950", &stderr.replace('\t', " "), is_own);
}

/// Checks that every line was written by the program, and does not contain characters that affect other lines.
fn check(what: &str, log: &str, is_own: impl Fn(&str) -> bool) {
    for line in log.lines() {
        assert!(is_own(line), "{what}: {line:?} in {log}");
        assert!(!line.contains(is_unprintable), "{what}: {line:?}");
    }
}

#[test]
fn audit_r_x2_no_word_of_a_target_begins_a_line_of_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let refusing = TestServer::builder().backend(Arc::new(Refusing)).start();
    let sound = TestServer::builder().database("cat", [record("id7", "Emma")]);
    let sound = sound.start();
    let of_sru = of_sru();
    let targets = [
        format!("{}/cat", closing()),
        format!("{}/cat", refusing.addr()),
        format!("http://{of_sru}/refusal"),
        format!("http://{of_sru}/surrogate"),
        format!("{}/cat", sound.addr()),
    ];
    let at = |name: &str| folder.path().join(name);
    let settings = format!(
        "[[database]]\nname = \"union\"\ntargets = {targets:?}\ntarget-time = \"5s\"\nfresh = 0\n"
    );
    std::fs::write(at("z3950d.toml"), settings).expect("written");
    for verbosity in ["", "-v", "-vv", "-vvv"] {
        let (address, mut child) = daemon(folder.path(), verbosity);
        check_requests(address);
        let killed = command("sh")
            .args(["-c", "kill -s TERM \"$0\"", &child.id().to_string()])
            .status();
        assert!(killed.expect("sh starts").success());
        child.wait().expect("the program ends");
        let read = |name: &str| std::fs::read_to_string(at(name)).expect("a log");
        let log = read("stderr");
        let is_own = |line: &str| {
            line.starts_with("z3950d: ") && !line.starts_with("z3950d: forged")
                || (!verbosity.is_empty()
                    && line.starts_with("20")
                    && !line.contains("Z  INFO forged\r"))
        };
        check(verbosity, &log, is_own);
        let forged = log
            .lines()
            .any(|line| line.starts_with("2026-01-01T00:00:00Z  INFO"));
        assert!(!forged, "{log}");
        check("transcript", &read("transcript"), |line| {
            line.starts_with('{')
        });
        check("access", &read("access"), |line| line.starts_with("20"));
    }
    for target in &targets {
        check_client(&z3950(["-vvv", "search", target, "emma"]).stderr);
    }
}

/// Starts a `z3950d` that writes its standard error and its logs to files in a folder. Returns its address and the process.
fn daemon(folder: &Path, verbosity: &str) -> (SocketAddr, std::process::Child) {
    let at = |name: &str| folder.join(name).display().to_string();
    let stderr = std::fs::File::create(folder.join("stderr")).expect("a file");
    for name in ["transcript", "access", "apdus"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    let mut command = command(path("z3950d"));
    command
        .args(["--config", &at("z3950d.toml"), "--listen", "127.0.0.1:0"])
        .args([
            "--transcript",
            &at("transcript"),
            "--apdu-log",
            &at("apdus"),
        ])
        .args(["--access-log", &at("access")])
        .args(Some(verbosity).filter(|verbosity| !verbosity.is_empty()));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    lines.read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .expect("an address");
    (address.parse().expect("an address"), child)
}
