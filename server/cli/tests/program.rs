//! The program `z3950d` as a whole: settings, logs, reloads.
#![cfg(unix)]

mod daemon;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use z3950_asn1::apdu::Apdu;
use z3950_server::transcript::{Direction, Recording};

use self::daemon::{Daemon, program, ran, search, write};

#[test]
fn settings_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(
        &at("books.mrk"),
        "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n",
    );
    let good = write(
        &at("good.toml"),
        "[[database]]\nname = \"books\"\nfiles = \"books.mrk\"",
    );
    let bad = write(&at("bad.toml"), "demo = 1\n\n[limits]\nsession = 3");
    let empty = write(&at("empty.toml"), "");
    let lost = write(
        &at("lost.toml"),
        "[[database]]\nname = \"x\"\nfiles = \"x.mrc\"",
    );
    for (arguments, code, words) in [
        (&["--check", "--config", &good][..], 0, &[][..]),
        (
            &["--check", "--config", &bad],
            2,
            &[
                "bad.toml:1: demo is not true or false",
                "bad.toml:4: limits: unknown key \"session\"",
            ],
        ),
        (&["--config", &bad], 2, &["bad.toml:1: "]),
        (&["--check", "--config", &empty], 2, &["nothing to serve"]),
        (
            &["--check", "--config", &lost],
            2,
            &["lost.toml: database x: files: ", "x.mrc"],
        ),
        (
            &["--check", "--config", "/nonexistent.toml"],
            2,
            &["/nonexistent.toml: "],
        ),
        (
            &["--check", "--replay", &good],
            2,
            &["cannot replay", "line 1"],
        ),
        (
            &[
                "--demo",
                "--listen",
                "tls:127.0.0.1:0",
                "--certificate",
                &good,
                "--key",
                &good,
            ],
            2,
            &[
                "no certificate in ",
                "good.toml, which holds nothing in PEM",
            ],
        ),
    ] {
        let output = ran(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        for words in words {
            assert!(told.contains(words), "{arguments:?}: {told}");
        }
    }
    let faults = ran(&["--fault", "help"]);
    assert!(String::from_utf8_lossy(&faults.stdout).contains("delay TIME"));
}

/// Covers problems that would make startup or a later update fail.
#[test]
fn a_check_tries_the_files_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    write(&folder.path().join("full"), "a transcript");
    let save = |name: &str| format!("books={}", at(name));
    for (option, value, words) in [
        ("--transcript", at("nosuch/x"), "nosuch"),
        ("--transcript", at("full"), "full exists and is not empty"),
        ("--apdu-log", at("nosuch/x"), "nosuch"),
        ("--save", save("nosuch/x.mrc"), "nosuch"),
        ("--listen", format!("unix:{}", at("nosuch/x")), "nosuch"),
    ] {
        let output = ran(&["--demo", "--check", option, &value]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {value}: {told}");
        assert!(told.contains(words), "{option} {value}: {told}");
    }
    let output = ran(&[
        "--demo",
        "--check",
        "--transcript",
        &at("t"),
        "--apdu-log",
        &at("full"),
        "--save",
        &save("s.mrc"),
        "--listen",
        &format!("unix:{}", at("socket")),
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let left = fs::read_dir(folder.path()).expect("a folder");
    assert_eq!(left.count(), 1, "no file is written");
}

/// The updates in it are no longer in any file.
#[test]
fn a_removed_saved_file_is_reported_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let one = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n";
    let database = format!("books={}", write(&path, one));
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

#[test]
fn arguments_take_precedence_over_the_settings_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(
        &at("books.mrk"),
        "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n",
    );
    let text = "listen = \"127.0.0.1:1\"\nfaults = [\"on search db=books: count 7\"]\n\
                [[database]]\nname = \"books\"\nfiles = \"books.mrk\"";
    let settings = write(&at("z3950d.toml"), text);
    let daemon = Daemon::start(&["--config", &settings, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=1032 b1"), 7);
    assert_eq!(daemon.hits("Default", "@attr 1=1032 b1"), 1);
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

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_ends_no_session() {
    let full = fs::File::options().write(true).open("/dev/full");
    let full = full.expect("Linux has it").into();
    let daemon = Daemon::telling(&["-vv", "--demo", "--listen", "127.0.0.1:0"], full);
    assert_eq!(daemon.hits("books", "@attr 1=4 emma"), 1);
}

#[test]
fn sighup_reloads_the_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let one = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n";
    let database = format!("books={}", write(&path, one));
    let daemon = Daemon::start(&["--database", &database, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1);
    write(&path, &format!("{one}\n{}", one.replace("b1", "b2")));
    daemon.signal("HUP");
    let begun = Instant::now();
    while daemon.hits("books", "@attr 1=4 one") != 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "not read again");
    }
}

#[test]
fn audit_a7_a_reload_reports_each_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let one = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n";
    let database = format!("books={}", write(&path, &format!("{one}\n{one}")));
    let other = folder.path().join("maps.mrk");
    let maps = format!("maps={}", write(&other, one));
    let arguments = [
        "--database",
        &database,
        "--database",
        &maps,
        "--listen",
        "127.0.0.1:0",
    ];
    let (daemon, words) = Daemon::heard(&arguments);
    words.until("database maps: 1 record");
    write(&path, one);
    daemon.signal("HUP");
    assert_eq!(
        words.until("maps"),
        [
            "reloaded: database books: 1 record, 2 before",
            "reloaded: database maps: 1 record, 1 before",
        ]
    );
    write(&path, "rubbish\n\nand more\n");
    daemon.signal("HUP");
    let [why, unchanged] = &*words.until("nothing has changed") else {
        panic!("not two lines")
    };
    assert!(
        why.starts_with("not reloaded: ") && why.contains("books.mrk"),
        "{why}"
    );
    assert_eq!(
        unchanged,
        "nothing has changed: still serving 2 records of 2 databases"
    );
    assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1);
}

#[test]
fn audit_a9_a_check_reports_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let sound = "00026nam a2200025   4500\u{1e}\u{1d}";
    let good = write(&folder.path().join("good.mrc"), sound);
    let cut = write(
        &folder.path().join("cut.mrc"),
        &format!("{sound}no record\u{1d}{sound}00099"),
    );
    let checked = |path: &str| ran(&["--database", &format!("x={path}"), "--check"]);
    let output = checked(&good);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty());
    let output = checked(&cut);
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    let found = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines.len(), 2, "{found}");
    assert!(
        lines[0].starts_with(&format!("{cut}: record 2 at octet 26 left out: ")),
        "{found}"
    );
    assert!(
        lines[1].starts_with(&format!("{cut}: record 4 at octet ")),
        "{found}"
    );
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains(
            "2 records would be served, 0 of them with structural faults (0 repaired, 0 incomplete), and 2 left out"
        ),
        "{words}"
    );
}

#[test]
fn audit_d8_a_replay_compares_requests_unless_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder
        .path()
        .join("said.jsonl")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let daemon = Daemon::start(&["--demo", "--listen", "127.0.0.1:0", "--transcript", &said]);
    let recorded = daemon.hits("books", "@attr 1=4 war");
    assert!(recorded > 0);
    drop(daemon);
    let daemon = Daemon::start(&["--replay", &said, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=4 war"), recorded);
    let answers = daemon.converse(&[search("books", "@attr 1=4 peace")]);
    let Some(Apdu::SearchResponse(response)) = answers.last() else {
        panic!("{answers:?}")
    };
    assert!(!response.search_status, "{response:?}");
    assert!(format!("{response:?}").contains("this request is not in the recording"));
    drop(daemon);
    let in_order = [
        "--replay",
        &said,
        "--replay-in-order",
        "--listen",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&in_order);
    assert_eq!(daemon.hits("books", "@attr 1=4 peace"), recorded);
    let alone = ran(&["--demo", "--replay-in-order"]);
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn a_transcript_is_written_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (said, listed) = (at("said.jsonl"), at("apdus.log"));
    let logs = ["--transcript", &said, "--apdu-log", &listed];
    let daemon = Daemon::start(&[&["--demo", "--listen", "127.0.0.1:0"][..], &logs].concat());
    let requests = [search("books", "@attr 1=1032 pg1342")];
    let answers = daemon.converse(&requests);
    drop(daemon);
    let text = fs::read_to_string(&said).expect("a transcript");
    let recording = Recording::parse(&text).expect("a recording");
    let names: Vec<_> = recording.entries.iter().map(|entry| entry.name()).collect();
    assert_eq!(
        names,
        [
            "initRequest",
            "initResponse",
            "searchRequest",
            "searchResponse"
        ]
    );
    assert_eq!(recording.entries[0].direction, Direction::Received);
    let listed = fs::read_to_string(&listed).expect("a log");
    assert!(listed.contains("session 1 sent searchResponse"), "{listed}");
    let daemon = Daemon::start(&["--replay", &said, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.converse(&requests), answers);
}

#[test]
fn logs_of_sessions_contain_no_secrets() {
    let mut child = program()
        .args(["--demo", "-v", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let stderr = child.stderr.take().expect("piped");
    let listening = line.trim_end().trim_start_matches("listening on ");
    let daemon = Daemon {
        listening: listening.to_owned(),
        child,
    };
    daemon.converse(&[search("books", "@attr 1=1032 pg1342")]);
    let mut told = Vec::new();
    for line in BufReader::new(stderr).lines() {
        told.push(line.expect("text"));
        if told
            .last()
            .is_some_and(|line| line.contains("session over"))
        {
            break;
        }
    }
    let access = told
        .iter()
        .find(|line| line.contains("z3950_server::access"));
    let access = access.unwrap_or_else(|| panic!("{told:#?}"));
    for words in [
        "search",
        "databases=\"books\"",
        "@attr 1=1032 pg1342",
        "hits=1",
    ] {
        assert!(access.contains(words), "{words} in {access}");
    }
    let metrics = told.last().map_or("", String::as_str);
    for words in [
        "z3950_server::metrics",
        "requests=2",
        "searches=1",
        "octets_out=",
    ] {
        assert!(metrics.contains(words), "{words} in {metrics}");
    }
}

#[test]
fn another_server_is_imitated() {
    let daemon = Daemon::start(&["--imitate", "yaz-ztest", "--listen", "127.0.0.1:0"]);
    assert_eq!(
        daemon.hits("Default", "@attr 1=9999 1234567890123"),
        1_234_567_890_123
    );
}

#[test]
fn unix_sockets_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = format!("unix:{}", folder.path().join("socket").display());
    let daemon = Daemon::start(&["--demo", "--listen", &place]);
    assert_eq!(daemon.listening, place);
}
