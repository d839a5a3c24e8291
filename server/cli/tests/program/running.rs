//! Tests of starting and stopping the program, and of its messages to the service manager.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use z3950_asn1::apdu::{Apdu, DiagRec};
use z3950_tests::surroundings::command;

use super::daemon::{Daemon, Folder, ONE, PATIENCE, Words, program, search, update, write};

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
    let mut first = words.until("SRU at");
    let urls = first.pop().expect("where SRU is");
    let page = first.pop().expect("where the page is");
    assert_eq!(page, urls.replace("SRU", "page"));
    assert!(urls.starts_with("SRU at http://127.0.0.1:"), "{urls}");
    assert!(urls.contains("/, https://127.0.0.1:"), "{urls}");
    assert_eq!(
        first,
        [
            format!(
                "database books: 1 record from {}, saved to {}",
                at("books.mrk"),
                at("saved.mrc")
            ),
            format!(
                "database maps: 3 records from {} and 1 more, changes not saved",
                at("maps.mrk")
            ),
            format!(
                "database books: writing {} for the first time",
                at("saved.mrc")
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

#[test]
fn a_certificate_that_is_not_valid_yet_is_reported() {
    let folder = Folder::new();
    folder.certify_from(2099, 2100);
    let at = |name: &str| folder.at(name).display().to_string();
    let (_daemon, words) = Daemon::heard(&[
        "--demo",
        "--listen",
        "tls:127.0.0.1:0",
        "--certificate",
        &at("server.pem"),
        "--key",
        &at("server.key"),
    ]);
    let lines = words.until("certificate");
    let line = lines.last().expect("a line");
    assert!(
        line.ends_with("server.pem: it is not valid before 2099-02-03, and clients will refuse it"),
        "{line}"
    );
}

/// After the saved file has been removed, no file contains its updates, so the server must report this when it stops.
#[test]
fn a_removed_saved_file_is_reported_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let database = format!("books={}", write(&path, ONE));
    let listen = ["--listen", "127.0.0.1:0"];
    let arguments = ["--database", &database, "--save", &database];
    let mut daemon = Daemon::telling(&[&arguments[..], &listen].concat(), Stdio::piped());
    fs::remove_file(&path).expect("removed");
    daemon.signal("TERM");
    let mut told = String::new();
    let mut stderr = daemon.child.stderr.take().expect("piped");
    stderr.read_to_string(&mut told).expect("text");
    assert!(
        told.contains("was removed") && told.contains("books.mrk"),
        "{told}"
    );
}

/// A file size limit stands in for a full disk, because it has the same effect.
#[test]
fn an_update_on_a_full_disk_is_refused_for_now() {
    let folder = Folder::new();
    let database = format!("x={}", folder.write("x.mrk", &ONE.replace("b1", "x")));
    let save = format!("x={}", folder.at("saved.mrc").display());
    let run = |limit: &str| {
        let mut command = command("sh");
        let script = format!("{limit} exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(program().get_program());
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--database",
            &database,
            "--save",
            &save,
        ]);
        let mut daemon = Daemon::of(command, Stdio::piped());
        let words = Words::of(daemon.child.stderr.take().expect("piped"));
        (daemon, words)
    };
    let (mut daemon, words) = run("ulimit -f 64;");
    let outcome = updated(&daemon);
    let (condition, words_of) = outcome.expect_err("no room");
    assert_eq!(condition, 2, "temporary");
    let expected = "the database cannot be saved: File too large";
    assert!(words_of.starts_with(expected), "{words_of}");
    assert!(!words_of.contains("saved.mrc"), "no path: {words_of}");
    words.until("File too large");
    assert_eq!(daemon.hits("x", "@attr 1=4 one"), 1);
    daemon.signal("TERM");
    daemon.child.wait().expect("it ends");
    let (daemon, _words) = run("");
    updated(&daemon).expect("a room is free again");
    assert_eq!(daemon.hits("x", "@attr 1=4 one"), 0);
}

/// The first update goes to the journal, like later updates, so the file stays as it was written at the start.
#[test]
fn a_new_saved_file_is_written_at_the_start() {
    let folder = Folder::new();
    let database = format!("x={}", folder.write("x.mrk", &ONE.replace("b1", "x")));
    let path = folder.at("saved.mrc");
    let save = format!("x={}", path.display());
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--database",
        &database,
        "--save",
        &save,
    ];
    let (mut daemon, words) = Daemon::heard(&arguments);
    let lines = words.until("for the first time");
    let line = lines.last().expect("a line");
    assert!(
        line.starts_with("database x: writing ") && line.contains("saved.mrc"),
        "{line}"
    );
    let octets = fs::read(&path).expect("it exists");
    assert!(!octets.is_empty());
    updated(&daemon).expect("saved");
    assert!(folder.at("saved.mrc.journal").exists());
    assert_eq!(fs::read(&path).expect("present"), octets);
    // After being killed and restarted, the server still has the update.
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("it ends");
    let (daemon, words) = Daemon::heard(&arguments);
    let lines = words.until("none that was confirmed to a client is missing");
    assert!(
        !lines.iter().any(|line| line.contains("for the first time")),
        "{lines:?}"
    );
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("1 change is kept")),
        "{lines:?}"
    );
    assert_eq!(daemon.hits("x", "@attr 1=4 one"), 0);
}

/// Deletes the record `x` of the database `x`. Returns the diagnostic if the server refuses the update.
fn updated(daemon: &Daemon) -> Result<(), (i64, String)> {
    let answers = daemon.converse(&[update("x")]);
    let Some(Apdu::ExtendedServicesResponse(answer)) = answers.last() else {
        panic!("{answers:?}")
    };
    match answer.diagnostics.as_deref().and_then(<[_]>::first) {
        None => Ok(()),
        Some(DiagRec::DefaultFormat(one)) => {
            Err((one.condition, one.addinfo.to_string_lossy().into_owned()))
        }
        Some(other) => panic!("{other:?}"),
    }
}

/// Tests sockets with a path, and abstract sockets.
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

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn freed_memory_is_returned_to_the_system() {
    let daemon = Daemon::start(&["--demo", "--listen", "127.0.0.1:0"]);
    let environment = fs::read(format!("/proc/{}/environ", daemon.child.id()));
    let environment = environment.expect("Linux has it");
    let mut variables = environment.split(|octet| *octet == 0);
    assert!(variables.any(|variable| variable == b"MALLOC_TRIM_THRESHOLD_=131072"));
}

/// Returns the answer from a server with these arguments to an HTTP request.
fn told_by_http(arguments: &[&str]) -> String {
    let daemon = Daemon::start(&[&["--demo", "--listen", "127.0.0.1:0"], arguments].concat());
    let mut stream = TcpStream::connect(&daemon.listening).expect("a connection");
    let request = b"GET /books?query=war&maximumRecords=1 HTTP/1.0\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut answer = Vec::new();
    // A server without HTTP may reset the connection, so an error is ignored.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn sru_is_answered_unless_it_is_turned_off() {
    let answer = told_by_http(&[]);
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.contains("<zs:numberOfRecords>"), "{answer}");
    assert_eq!(told_by_http(&["--no-http"]), "");
    let folder = Folder::new();
    let settings = "demo = true\n[[listener]]\naddress = \"127.0.0.1:0\"\nhttp = false\n";
    let settings = folder.write("z3950d.toml", settings);
    let (daemon, _) = Daemon::heard(&["--config", &settings]);
    let mut stream = TcpStream::connect(&daemon.listening).expect("a connection");
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    assert!(daemon.hits("books", "@attr 1=4 war") > 0);
}

#[test]
fn the_page_is_there_unless_it_is_turned_off() {
    let (daemon, words) = Daemon::heard(&["--demo", "--listen", "127.0.0.1:0"]);
    let said = words.until("page at").pop().expect("where the page is");
    assert_eq!(said, format!("page at http://{}/", daemon.listening));
    for (arguments, path, part) in [
        (&[][..], "/", "<h1><bdi>Search the catalogue</bdi></h1>"),
        (&[], "/search?q=emma+austen&target=books", "</section>"),
        (&["--no-page"], "/", "explainResponse"),
    ] {
        let arguments = [&["--demo", "--listen", "127.0.0.1:0"], arguments].concat();
        let daemon = Daemon::start(&arguments);
        let mut stream = TcpStream::connect(&daemon.listening).expect("a connection");
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(part), "{arguments:?}: {answer}");
    }
}
