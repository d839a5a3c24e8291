//! Tests of `z3950d`: the addresses on which it listens, the databases that it serves, and its exit.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_tests::hex;
use z3950_tests::program::{Daemon, path, run, z3950};
use z3950_tests::surroundings::command;

fn get(address: SocketAddr, rest: &str) -> Option<i32> {
    z3950(["get", &format!("z39.50r://{address}/{rest}")]).code
}

#[test]
fn each_listener_is_named_and_serves() {
    let mut addresses = vec!["127.0.0.1:0", "127.0.0.1:0"];
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        addresses.push("[::1]:0");
    }
    let daemon = Daemon::listening(["--demo"], &addresses);
    assert_eq!(daemon.addresses.len(), addresses.len());
    for address in &daemon.addresses {
        assert!(
            address.ip().is_loopback() && address.port() > 0,
            "{address}"
        );
        assert_eq!(get(*address, "books?pg1342"), Some(0), "{address}");
    }
}

#[test]
fn files_are_served_as_databases() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n\n=LDR  00000nam a2200000 a 4500\n=001  b2\n=035  \\\\$a(X)77\n=245  00$aTwo\n";
    let records = mrk::parse_all(text).expect("two records");
    let octets: Vec<u8> = records
        .iter()
        .flat_map(|record| iso2709::encode(record).expect("fits"))
        .collect();
    let file = directory.path().join("two.mrc");
    std::fs::write(&file, octets).expect("written");
    let database = format!("little={}", file.display());
    let daemon = Daemon::start(["--database", &database]);
    assert_eq!(get(daemon.address(), "little?b2"), Some(0));
    assert_eq!(get(daemon.address(), "Default?b1"), Some(0));
    assert_eq!(get(daemon.address(), "books?pg1342"), Some(5));
    let daemon = Daemon::start(["--database", &database, "--docid", "035$a"]);
    assert_eq!(
        (
            get(daemon.address(), "little?(X)77"),
            get(daemon.address(), "little?b2")
        ),
        (Some(0), Some(3))
    );
}

#[test]
fn wrong_usage_is_reported() {
    for arguments in [
        &[][..],
        &["--database", "x"],
        &["--database", "x=/nonexistent.mrc"],
        &["--demo", "--listen", "nowhere"],
        &["--demo", "--listen", "192.0.2.1:1"],
    ] {
        let ran = run(command(path("z3950d")).args(arguments), "");
        assert!(
            ran.code == Some(2) && ran.stdout.is_empty() && !ran.stderr.is_empty(),
            "{arguments:?}: {ran:?}"
        );
    }
    let ran = run(command(path("z3950d")).arg("--help"), "");
    assert!(
        ran.code == Some(0) && ran.stdout.contains("--demo") && ran.stdout.contains("Exit codes"),
        "{ran:?}"
    );
}

#[test]
fn the_manual_page_has_the_commands() {
    let page = |arguments: &[&str]| run(command(path("z3950d")).args(arguments), "").stdout;
    let whole = page(&["man"]);
    for words in [".TH Z3950D 1", "z3950d\\-load", ".SH \"SIGNALS\""] {
        assert!(whole.contains(words), "{words}: {whole}");
    }
    assert_eq!(page(&["--man"]), whole);
    let load = page(&["man", "load"]);
    for words in [
        "\\-\\-state",
        "z3950d load \\-\\-config z3950d.toml records.mrc",
    ] {
        assert!(load.contains(words), "{words}: {load}");
    }
    assert!(whole.is_ascii() && load.is_ascii());
}

/// Runs a program that must exit without being stopped. Returns its exit code and messages.
fn ended(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = command(path(name))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let begun = Instant::now();
    while child.try_wait().expect("asked").is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            panic!("{name} {arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("ended");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), words)
}

/// A certificate is refused if no listener uses TLS, with and without a settings file, because secrets would otherwise be sent in
/// plain text.
#[test]
fn audit_d1_a_certificate_without_a_tls_listener_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("z3950d.toml");
    std::fs::write(&config, "demo = true\n").expect("written");
    let config = config.to_str().expect("text");
    let files = ["--certificate", "c.pem", "--key", "k.pem"];
    for rest in [
        &["--demo"][..],
        &["--demo", "--listen", "127.0.0.1:0"],
        &["--config", config],
    ] {
        let (code, words) = ended("z3950d", &[rest, &files].concat());
        assert_eq!(code, Some(2), "{rest:?}: {words}");
        assert!(words.contains("--listen tls:"), "{rest:?}: {words}");
    }
}

#[test]
fn audit_d20_files_without_an_end_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.mrc");
    let made = command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let pipe = pipe.to_str().expect("text");
    let in_folder = format!("x={}", folder.path().display());
    let named = |path: &str| format!("x={path}");
    let (of_pipe, of_zero) = (named(pipe), named("/dev/zero"));
    for (program, arguments) in [
        ("z3950d", &["--database", &of_pipe][..]),
        ("z3950d", &["--database", &of_zero]),
        ("z3950d", &["--database", &in_folder]),
        ("z3950d", &["--database", &of_pipe, "--check"]),
        ("z3950d", &["--save", &of_pipe]),
        ("z3950d", &["--config", pipe]),
        ("z3950d", &["--config", "/dev/zero"]),
        ("z3950d", &["--config", "/dev/zero", "--check"]),
        ("z3950d", &["--replay", pipe]),
        ("z3950", &["--targets", pipe, "targets", "list"]),
        ("z3950", &["--targets", "/dev/zero", "targets", "list"]),
        ("z3950", &["search", "h/d", "cql:x", "--properties", pipe]),
        (
            "z3950",
            &["--ca-file", pipe, "search", "ssl:127.0.0.1:1/d", "x"],
        ),
        ("z3950", &["decode", pipe]),
    ] {
        let (code, words) = ended(program, arguments);
        assert!(
            matches!(code, Some(1 | 2)),
            "{program} {arguments:?}: {code:?} {words}"
        );
        assert!(
            words.contains("a named pipe (FIFO)")
                || words.contains("it is a device")
                || words.contains("it has more than"),
            "{program} {arguments:?}: {words}"
        );
        let named = if arguments.concat().contains("/dev/zero") {
            "/dev/zero"
        } else {
            pipe
        };
        assert!(words.contains(named), "{program} {arguments:?}: {words}");
    }
}

/// Opens a session without the client library, so that nothing is sent while it is idle.
fn idle_session(daemon: &Daemon) -> TcpStream {
    let init = include_str!("../../fixtures/wire/init-request.hex");
    let mut stream = TcpStream::connect(daemon.address()).expect("connects");
    stream.write_all(&hex::octets(init)).expect("writes");
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).expect("an InitResponse");
    assert_eq!(answer[0], 0xb5);
    let mut rest = vec![0; usize::from(answer[1])];
    stream.read_exact(&mut rest).expect("all of it");
    stream
}

#[test]
fn a_signal_shuts_it_down_gracefully() {
    for signal in ["TERM", "INT"] {
        let mut daemon = Daemon::start(["--demo"]);
        let mut session = idle_session(&daemon);
        let asked = Instant::now();
        daemon.signal(signal);
        let mut last_words = Vec::new();
        session
            .read_to_end(&mut last_words)
            .expect("reads to the end");
        assert!(
            last_words.starts_with(&[0xbf, 0x30]),
            "a Close: {}",
            hex::digits(&last_words)
        );
        drop(session);
        assert_eq!(daemon.wait().code(), Some(0), "{signal}");
        // Stopping takes less than a second, but a busy machine may need more time.
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "{signal}: {:?}",
            asked.elapsed()
        );
        assert!(TcpStream::connect(daemon.address()).is_err());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut daemon = Daemon::start(["--demo", "--drain", "3600"]);
    let _session = idle_session(&daemon);
    daemon.signal("TERM");
    daemon.signal("TERM");
    let status = daemon.wait();
    assert!(
        status.code().is_some() || status.signal().is_some(),
        "{status}"
    );
}

#[test]
fn a_clean_end_removes_the_lock_of_a_saved_file() {
    for sessions in [0, 1] {
        let folder = tempfile::tempdir().expect("a folder");
        let save = format!("books={}", folder.path().join("saved.mrc").display());
        let mut daemon = Daemon::start(["--demo", "--save", &save]);
        let _sessions: Vec<_> = (0..sessions).map(|_| idle_session(&daemon)).collect();
        let lock = folder.path().join(".saved.mrc.lock");
        assert!(lock.exists(), "it is locked while it may be saved");
        daemon.signal("TERM");
        assert_eq!(daemon.wait().code(), Some(0));
        assert!(!lock.exists(), "{sessions} sessions");
    }
}

#[test]
fn messages_go_to_standard_error() {
    let mut child = command(path("z3950d"))
        .args(["--demo", "-v", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdout = child.stdout.take().expect("piped");
    let mut line = [0; 13];
    stdout.read_exact(&mut line).expect("the first line");
    assert_eq!(&line, b"listening on ");
    child.kill().expect("ends");
    let output = child.wait_with_output().expect("ended");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!words.contains("\x1b["), "no colours into a pipe: {words}");
}

/// A file size limit has the same effect as a full disk.
#[cfg(target_os = "linux")]
#[test]
fn an_incomplete_recording_is_reported_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Daemon::start(["--demo"]);
    let upstream = server.address().to_string();
    for (limit, expected) in [("unlimited", 0), ("300", 1)] {
        let said = folder.path().join(limit);
        let said = said.to_str().expect("text");
        let mut recorder = Daemon::start(["--record", said, "--upstream", &upstream]);
        let status = command("prlimit")
            .args(["--pid", &recorder.id().to_string()])
            .arg(format!("--fsize={limit}:unlimited"))
            .status();
        assert!(status.expect("prlimit runs").success());
        assert_eq!(get(recorder.address(), "books?pg1342"), Some(0));
        recorder.signal("TERM");
        assert_eq!(recorder.wait().code(), Some(expected), "{limit}");
    }
}

#[test]
fn a_recording_whose_last_line_is_cut_short_is_named_by_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder.path().join("said.jsonl");
    std::fs::write(
        &said,
        "{\"session\":1,\"event\":\"opened\",\"peer\":\"unix\",\"version\":1}\n{\"ses",
    )
    .expect("written");
    let said = said.to_str().expect("text");
    let mut command = command(path("z3950d"));
    let ran = run(command.args(["--replay", said, "--check"]), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("line 2 is cut short, and is left out"),
        "{ran:?}"
    );
}
