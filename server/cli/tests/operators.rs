//! What an operator sees of `z3950d`: its messages, reloads, the access log, the status, and the service manager.
#![cfg(unix)]

mod daemon;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use z3950_asn1::apdu::Apdu;

use self::daemon::{Daemon, PATIENCE, Words, program, search, write};

const ONE: &str = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n";

/// A folder with files of a server.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        write(&self.at(name), text)
    }

    /// Writes a certificate and its key.
    fn certify(&self, year: i32) {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let mut params = CertificateParams::new(names).expect("a name");
        params.not_after = date_time_ymd(year, 2, 3);
        let certificate = params.self_signed(&key).expect("a certificate");
        self.write("server.pem", &certificate.pem());
        self.write("server.key", &key.serialize_pem());
    }
}

/// The head and body of the answer to an HTTP request.
fn asked(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

fn get(address: &str, path: &str) -> (String, String) {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    asked(stream, &request)
}

/// The address of the status in the messages.
fn status_address(words: &Words) -> String {
    let lines = words.until("status on http://");
    let line = lines.last().expect("a line");
    line.trim_start_matches("status on http://").to_owned()
}

#[test]
fn the_start_and_the_end_are_reported() {
    let folder = Folder::new();
    let books = format!("books={}", folder.write("books.mrk", ONE));
    let maps = format!(
        "maps={}",
        folder.write("maps.mrk", &format!("{ONE}\n{ONE}"))
    );
    let more = format!("maps={}", folder.write("more.mrk", ONE));
    let save = format!("books={}", folder.at("saved.mrc").display());
    folder.certify(2100);
    let (certificate, key) = (folder.at("server.pem"), folder.at("server.key"));
    let (mut daemon, words) = Daemon::heard(&[
        "--database",
        &books,
        "--database",
        &maps,
        "--database",
        &more,
        "--save",
        &save,
        "--listen",
        "127.0.0.1:0",
        "--listen",
        "tls:127.0.0.1:0",
        "--certificate",
        certificate.to_str().expect("text"),
        "--key",
        key.to_str().expect("text"),
    ]);
    let at = |name: &str| folder.at(name).display().to_string();
    assert_eq!(
        words.until("certificate"),
        [
            format!(
                "database books: 1 record from {}, saved to {}",
                at("books.mrk"),
                at("saved.mrc")
            ),
            format!(
                "database maps: 3 records from {} and 1 more",
                at("maps.mrk")
            ),
            format!("certificate {}: valid until 2100-02-03", at("server.pem")),
        ]
    );
    daemon.converse(&[search("books", "@attr 1=4 one"), search("x", "one")]);
    daemon.signal("TERM");
    let last = words.until("stopped after");
    assert_eq!(last.len(), 1, "{last:?}");
    assert!(
        last[0].ends_with("s: 1 session, 3 operations (1 failed), 0 records sent"),
        "{last:?}"
    );
    assert!(daemon.child.wait().expect("ended").success());
}

/// A server with TLS, a database and settings, whose files can be spoilt.
struct Spoilt {
    folder: Folder,
    daemon: Daemon,
    words: Words,
}

const SETTINGS: &str = "\
[[listener]]
address = \"127.0.0.1:0\"
[[listener]]
address = \"127.0.0.1:0\"
certificate = \"server.pem\"
key = \"server.key\"
[[database]]
name = \"books\"
files = \"books.mrk\"
[log]
access = \"access.log\"
";

impl Spoilt {
    fn new() -> Self {
        let folder = Folder::new();
        folder.write("books.mrk", ONE);
        folder.certify(2100);
        let settings = folder.write("z3950d.toml", SETTINGS);
        let (daemon, words) = Daemon::heard(&["--config", &settings]);
        words.until("certificate");
        Self {
            folder,
            daemon,
            words,
        }
    }
}

#[test]
fn a_reload_with_a_fault_changes_nothing() {
    let spoilt = Spoilt::new();
    let Spoilt {
        folder,
        daemon,
        words,
    } = &spoilt;
    let expired = |folder: &Folder| folder.certify(2001);
    let other_key = |folder: &Folder| {
        let key = KeyPair::generate().expect("a key");
        folder.write("server.key", &key.serialize_pem());
    };
    type Spoil<'a> = &'a dyn Fn(&Folder);
    let set = |settings: &str| {
        let settings = format!("{settings}\n{SETTINGS}");
        move |folder: &Folder| drop(folder.write("z3950d.toml", &settings))
    };
    let lost = |name: &'static str| {
        move |folder: &Folder| fs::remove_file(folder.at(name)).expect("removed")
    };
    let rubbish = |name: &'static str| {
        move |folder: &Folder| drop(folder.write(name, "rubbish\n\nand more\n"))
    };
    let no_log = |folder: &Folder| {
        let text = SETTINGS.replace("access.log", "no/access.log");
        folder.write("z3950d.toml", &text);
    };
    for (spoil, reasons) in [
        (
            &rubbish("books.mrk") as Spoil<'_>,
            &["no record in ", "books.mrk"][..],
        ),
        (&lost("books.mrk"), &["cannot read ", "books.mrk"]),
        (
            &rubbish("server.pem"),
            &["no certificate in ", "server.pem"],
        ),
        (&lost("server.pem"), &["cannot read ", "server.pem"]),
        (&lost("server.key"), &["cannot read ", "server.key"]),
        (&expired, &["server.pem expired on 2001-02-03"]),
        (&other_key, &["does not belong to the certificate"]),
        (
            &set("demo = 1"),
            &["z3950d.toml:1: demo is not true or false"],
        ),
        (&rubbish("z3950d.toml"), &["z3950d.toml:1: "]),
        (&lost("z3950d.toml"), &["z3950d.toml: "]),
        (&no_log, &["cannot write ", "no/access.log"]),
    ] {
        spoil(folder);
        daemon.signal("HUP");
        let lines = words.until("nothing has changed");
        let whole = lines.join("\n");
        assert!(lines.len() >= 2, "{whole}");
        assert!(
            lines[..lines.len() - 1]
                .iter()
                .all(|line| line.starts_with("not reloaded: ")),
            "{whole}"
        );
        for reason in reasons {
            assert!(lines[0].contains(reason), "{reason} in {whole}");
        }
        assert_eq!(
            lines.last().expect("a line"),
            "nothing has changed: still serving 1 record of 1 database"
        );
        assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1, "{whole}");
        folder.write("books.mrk", ONE);
        folder.certify(2100);
        folder.write("z3950d.toml", SETTINGS);
    }
    // Each fault of the settings has a line of its own.
    set("demo = 1\nsesions = 3")(folder);
    daemon.signal("HUP");
    assert_eq!(words.until("nothing has changed").len(), 3);
    folder.write("z3950d.toml", SETTINGS);
    daemon.signal("HUP");
    words.until("certificate");
}

#[test]
fn a_reload_takes_everything_that_can_change() {
    let spoilt = Spoilt::new();
    let Spoilt {
        folder,
        daemon,
        words,
    } = &spoilt;
    assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1);
    folder.write("books.mrk", &format!("{ONE}\n{ONE}"));
    folder.write("maps.mrk", ONE);
    folder.certify(2101);
    let more = "\n[[database]]\nname = \"maps\"\nfiles = \"maps.mrk\"\n\
                [[access.user]]\nname = \"ann\"\npassword = \"secret\"\n";
    let settings = SETTINGS.replacen("127.0.0.1:0", "127.0.0.1:1", 1);
    let settings = settings.replace("access.log", "sessions.log");
    folder.write("z3950d.toml", &format!("{settings}{more}"));
    daemon.signal("HUP");
    let certificate = folder.at("server.pem").display().to_string();
    assert_eq!(
        words.until("restarted"),
        [
            "reloaded: database books: 2 records, 1 before",
            "reloaded: database maps: 1 record, a new database",
            &format!("reloaded: certificate {certificate}: valid until 2101-02-03"),
            "reloaded: settings of new sessions: access, log",
            "reloaded: unchanged until the server is restarted: listen",
        ]
    );
    let answers = daemon.converse(&[]);
    assert!(
        format!("{answers:?}").contains("result: false"),
        "anybody is admitted: {answers:?}"
    );
    lines_of(&folder.at("sessions.log"), 1);
    lines_of(&folder.at("access.log"), 1);
    folder.write("z3950d.toml", SETTINGS);
    daemon.signal("HUP");
    words.until("reloaded: database maps: removed, 1 before");
    words.until("settings");
    assert_eq!(daemon.hits("books", "@attr 1=4 one"), 2);
}

/// Waits until a file has this many lines.
fn lines_of(path: &Path, count: usize) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count && text.ends_with('\n') {
            assert_eq!(lines.len(), count, "{lines:#?}");
            return lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{}: {lines:?}", path.display());
        std::thread::yield_now();
    }
}

#[test]
fn the_access_log_follows_its_file() {
    let folder = Folder::new();
    let (log, moved) = (folder.at("access.log"), folder.at("access.log.1"));
    let path = log.to_str().expect("text");
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--access-log", path];
    let (daemon, words) = Daemon::heard(&arguments);
    daemon.hits("books", "@attr 1=4 war");
    daemon.hits("books", "@attr 1=4 war");
    let lines = lines_of(&log, 2);
    for (line, session) in lines.iter().zip(1..) {
        for part in [
            &format!(" session={session} peer=127.0.0.1:")[..],
            " init=1 search=1 records=0 octets-in=",
            " end=left",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    fs::rename(&log, &moved).expect("moved");
    daemon.signal("HUP");
    words.until("reloaded: database serials");
    let answers = daemon.converse(&[search("nosuch", "war")]);
    assert_eq!(answers.len(), 2);
    lines_of(&moved, 2);
    let lines = lines_of(&log, 1);
    assert!(
        lines[0].ends_with(
            " error=\"search: diagnostic 235 (there is no database of this name): nosuch\""
        ),
        "{lines:?}"
    );
}

#[test]
fn the_access_log_is_json_on_request() {
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--access-log", "-"];
    let json = ["--access-log-format", "json"];
    let (daemon, words) = Daemon::heard(&[&arguments[..], &json].concat());
    daemon.hits("books", "@attr 1=4 war");
    let lines = words.until("\"session\":1");
    let line = lines.last().expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(line["operations"]["search"], 1);
    assert_eq!(line["end"], "left");
}

#[test]
fn transcripts_follow_their_files() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name).to_str().expect("text").to_owned();
    let (said, listed) = (at("said.jsonl"), at("apdus.log"));
    let logs = ["--transcript", &said, "--apdu-log", &listed];
    let arguments = [&["--demo", "--listen", "127.0.0.1:0"][..], &logs].concat();
    let (daemon, words) = Daemon::heard(&arguments);
    daemon.hits("books", "@attr 1=4 war");
    for path in [&said, &listed] {
        fs::rename(path, format!("{path}.1")).expect("moved");
    }
    daemon.signal("HUP");
    words.until("reloaded: database serials");
    daemon.hits("books", "@attr 1=4 peace");
    for path in [&said, &listed] {
        let before = fs::read_to_string(format!("{path}.1")).expect("text");
        let after = fs::read_to_string(path).expect("text");
        let sent = ["initResponse", "searchResponse"];
        for text in [&before, &after] {
            assert!(sent.iter().all(|name| text.contains(name)), "{text}");
        }
        assert!(!before.contains("session 2") && !after.contains("session 1"));
    }
}

#[test]
fn the_status_is_shown_over_http() {
    let folder = Folder::new();
    let save = format!("books={}", folder.at("saved.mrc").display());
    let (daemon, words) = Daemon::heard(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
        "--max-sessions",
        "77",
        "--save",
        &save,
    ]);
    let status = status_address(&words);
    daemon.converse(&[search("books", "@attr 1=4 war"), search("x", "war")]);
    let (head, page) = get(&status, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    for line in [
        "z3950d_sessions_limit 77",
        "z3950d_sessions_total 1",
        "z3950d_operations_total{operation=\"init\",outcome=\"ok\"} 1",
        "z3950d_operations_total{operation=\"search\",outcome=\"ok\"} 1",
        "z3950d_operations_total{operation=\"search\",outcome=\"failed\"} 1",
        "z3950d_operation_duration_seconds_bucket{operation=\"search\",le=\"+Inf\"} 2",
        "z3950d_operation_duration_seconds_count{operation=\"search\"} 2",
        "z3950d_database_records{database=\"books\"} 281",
        "z3950d_jobs{state=\"running\"} 0",
        "z3950d_jobs{state=\"waiting\"} 0",
        "z3950d_journal_bytes{database=\"books\"} 0",
        "z3950d_journal_limit_bytes{database=\"books\"} 16777216",
        "z3950d_journal_commits_total{database=\"books\"} 0",
        "z3950d_journal_folds_total{database=\"books\"} 0",
        "z3950d_journal_failures_total{database=\"books\"} 0",
        "z3950d_reloads_total{outcome=\"ok\"} 0",
        "# TYPE z3950d_operation_duration_seconds histogram",
    ] {
        assert!(page.lines().any(|known| known == line), "{line} in {page}");
    }
    for (path, code) in [("/healthz", 200), ("/", 200), ("/x", 404)] {
        let (head, _) = get(&status, path);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{path}: {head}"
        );
    }
    let until = |line: &str| {
        let begun = Instant::now();
        while !get(&status, "/metrics").1.contains(&format!("\n{line}\n")) {
            assert!(begun.elapsed() < PATIENCE, "{line}");
        }
    };
    daemon.signal("HUP");
    words.until("reloaded: database serials");
    until("z3950d_last_reload_successful 1");
    // Octets of sessions are counted in steps of 8 KiB: nine long names take one.
    let mut session = TcpStream::connect(&daemon.listening).expect("a connection");
    let mut ask = |request: &Apdu| {
        let octets = z3950_asn1::codec::encode(request).expect("encodes");
        session.write_all(&octets).expect("written");
        daemon::answer(&mut session);
    };
    ask(&daemon::init());
    for digit in "123456789".chars() {
        let Apdu::SearchRequest(mut request) = search("books", "war") else {
            panic!("a search")
        };
        request.result_set_name = String::from(digit).repeat(1000).as_str().into();
        ask(&Apdu::SearchRequest(request));
    }
    until("z3950d_kept_bytes 8192");
    drop(session);
    until("z3950d_kept_bytes 0");
}

/// Hostile requests are refused within limits.
#[test]
fn the_status_takes_short_requests_to_read() {
    let arguments = [
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
    ];
    let (_daemon, words) = Daemon::heard(&arguments);
    let status = status_address(&words);
    let connect = || TcpStream::connect(&status).expect("a connection");
    let long = |octets: usize| {
        format!(
            "GET /healthz HTTP/1.1\r\nConnection: close\r\nX: {}\r\n\r\n",
            "x".repeat(octets)
        )
    };
    for (request, code) in [
        (
            "POST /metrics HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
            405,
        ),
        ("rubbish\r\n\r\n".to_owned(), 400),
        (long(8000), 200),
        (long(9000), 431),
    ] {
        let (head, _) = asked(connect(), &request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{request}: {head}"
        );
    }
    // More connections than are served at once: the first ones leave, and the last is answered.
    let idle: Vec<_> = (0..20).map(|_| connect()).collect();
    let last = std::thread::spawn({
        let status = status.clone();
        move || get(&status, "/healthz")
    });
    drop(idle);
    let (head, body) = last.join().expect("no panic");
    assert!(
        head.starts_with("HTTP/1.1 200 ") && body == "serving\n",
        "{head}"
    );
}

#[test]
fn the_status_on_a_unix_socket_says_that_the_server_stops() {
    let folder = Folder::new();
    let path = folder.at("status");
    let place = format!("unix:{}", path.display());
    let (mut daemon, words) = Daemon::heard(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        &place,
        "--fault",
        "on search: delay 1h",
        "--drain",
        "3600",
    ]);
    words.until(&format!("status on {place}"));
    let health = || {
        let stream = UnixStream::connect(&path).expect("a connection");
        let request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        asked(stream, request).0
    };
    assert!(health().starts_with("HTTP/1.1 200 "));
    // A session with an operation in progress keeps the server from ending.
    let mut session = TcpStream::connect(&daemon.listening).expect("a connection");
    for request in [daemon::init(), search("books", "war")] {
        let octets = z3950_asn1::codec::encode(&request).expect("encodes");
        session.write_all(&octets).expect("written");
    }
    daemon::answer(&mut session);
    daemon.signal("TERM");
    let begun = Instant::now();
    while !health().starts_with("HTTP/1.1 503 ") {
        assert!(begun.elapsed() < PATIENCE);
    }
    drop(session);
    daemon.signal("TERM");
    drop(daemon.child.wait());
}

#[test]
fn the_status_for_other_machines_is_cautioned() {
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--status", "0.0.0.0:0"];
    let (_daemon, words) = Daemon::heard(&arguments);
    words.until("other machines may read the status");
}

/// The messages to the service manager, on a socket with a path and on an abstract one.
#[test]
fn the_service_manager_is_notified() {
    let folder = Folder::new();
    let path = folder.at("notify");
    let mut sockets = vec![(
        UnixDatagram::bind(&path).expect("a socket"),
        path.to_str().expect("text").to_owned(),
    )];
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        let name = folder.at("abstract").to_str().expect("text").to_owned();
        let address = SocketAddr::from_abstract_name(&name).expect("short");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket");
        sockets.push((socket, format!("@{name}")));
    }
    for (socket, name) in sockets {
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let next = || {
            let mut octets = [0; 1024];
            let count = socket.recv(&mut octets).expect("a message in time");
            String::from_utf8_lossy(&octets[..count]).into_owned()
        };
        let child = program()
            .args(["--demo", "--listen", "127.0.0.1:0"])
            .env("NOTIFY_SOCKET", &name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let listening = String::new();
        let mut daemon = Daemon { child, listening };
        let ready = "READY=1\nSTATUS=315 records of 2 databases";
        assert_eq!(next(), ready);
        daemon.signal("HUP");
        let reloading = next();
        let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
        let time: Option<u64> = time.and_then(|time| time.parse().ok());
        assert!(time.is_some_and(|time| time > 0), "{reloading}");
        assert_eq!(next(), ready);
        daemon.signal("TERM");
        assert_eq!(next(), "STOPPING=1\nSTATUS=stopping");
        assert!(daemon.child.wait().expect("ended").success());
    }
}
