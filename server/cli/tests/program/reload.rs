//! Tests of reloads on SIGHUP, which apply all changes or none.

use std::fs;
use std::time::{Duration, Instant};

use rcgen::KeyPair;

use super::daemon::{Daemon, Folder, ONE, Words, hits, lines_of, search, write};

#[test]
fn sighup_reloads_the_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let database = format!("books={}", write(&path, ONE));
    let daemon = Daemon::start(&["--database", &database, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1);
    write(&path, &format!("{ONE}\n{}", ONE.replace("b1", "b2")));
    daemon.signal("HUP");
    let begun = Instant::now();
    while daemon.hits("books", "@attr 1=4 one") != 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "not read again");
    }
}

#[test]
fn audit_a7_a_reload_reports_what_has_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books.mrk");
    let database = format!("books={}", write(&path, &format!("{ONE}\n{ONE}")));
    let other = folder.path().join("maps.mrk");
    let maps = format!("maps={}", write(&other, ONE));
    let arguments = [
        "--database",
        &database,
        "--database",
        &maps,
        "--listen",
        "127.0.0.1:0",
    ];
    let (daemon, words) = Daemon::heard(&arguments);
    words.until("SRU at");
    write(&path, ONE);
    daemon.signal("HUP");
    assert_eq!(
        words.until("as before"),
        [
            "reloaded: database books: 1 record, 2 before",
            "reloaded: 1 database read again: 1 record, as many as before",
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

/// Starts a server with TLS, a database and a settings file. The tests can damage any of its files.
fn server() -> (Folder, Daemon, Words) {
    let folder = Folder::new();
    folder.write("books.mrk", ONE);
    folder.certify(2100);
    let settings = folder.write("z3950d.toml", SETTINGS);
    let (daemon, words) = Daemon::heard(&["--config", &settings]);
    words.until("SRU at");
    (folder, daemon, words)
}

#[test]
fn a_reload_with_a_fault_changes_nothing() {
    let (folder, daemon, words) = server();
    let expired = |folder: &Folder| folder.certify(2001);
    let early = |folder: &Folder| folder.certify_from(2099, 2100);
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
    let instead = |from: &'static str, to: &'static str| {
        move |folder: &Folder| drop(folder.write("z3950d.toml", &SETTINGS.replace(from, to)))
    };
    let mut session = daemon.session();
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
        (&early, &["server.pem is not valid before 2099-02-03"]),
        (&other_key, &["does not belong to the certificate"]),
        (
            &set("demo = 1"),
            &["z3950d.toml:1:8: demo is not true or false"],
        ),
        (
            &instead("[log]", "rubbish\n[log]"),
            &["z3950d.toml:10:8: key with no value"],
        ),
        (
            &instead("[log]", "docid = \"9\"\n[log]"),
            &["z3950d.toml:10:9: [[database]] docid: expected a control field"],
        ),
        (
            &instead("[log]", "save = \"saved.mrc\"\n[log]"),
            &["which databases are saved"],
        ),
        (&lost("z3950d.toml"), &["z3950d.toml: "]),
        (
            &instead("access.log", "no/access.log"),
            &["cannot write ", "no/access.log"],
        ),
    ] {
        spoil(&folder);
        daemon.signal("HUP");
        let lines = words.until("log file opened again");
        let [why, unchanged, _] = &*lines else {
            panic!("not three lines: {lines:#?}")
        };
        assert!(why.starts_with("not reloaded: "), "{why}");
        for reason in reasons {
            assert!(why.contains(reason), "{reason} in {why}");
        }
        assert_eq!(
            unchanged,
            "nothing has changed: still serving 1 record of 1 database"
        );
        assert_eq!(daemon.hits("books", "@attr 1=4 one"), 1, "{why}");
        let answer = session.ask(&search("books", "@attr 1=4 one"));
        assert_eq!(hits(&answer), 1, "{why}");
        folder.write("books.mrk", ONE);
        folder.certify(2100);
        folder.write("z3950d.toml", SETTINGS);
    }
    // Each reason has a separate line, whatever setting or file it is about.
    set("demo = 1\nsesions = 3")(&folder);
    expired(&folder);
    lost("books.mrk")(&folder);
    daemon.signal("HUP");
    let lines = words.until("nothing has changed");
    for (line, reason) in lines.iter().zip([
        "z3950d.toml:1:8: demo is not true or false",
        "unknown key \"sesions\"",
        "server.pem expired on 2001-02-03",
        "books.mrk: No such file",
    ]) {
        assert!(line.contains(reason), "{reason} in {lines:#?}");
    }
    assert_eq!(lines.len(), 5, "{lines:#?}");
    folder.write("books.mrk", ONE);
    folder.certify(2100);
    folder.write("z3950d.toml", SETTINGS);
    daemon.signal("HUP");
    words.until("certificate");
}

#[test]
fn a_reload_applies_all_settings_that_can_change() {
    let (folder, daemon, words) = server();
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

/// Damage that existed when the server started prevents neither reloads nor the rotation of logs. A refused reload does not
/// prevent the rotation of logs either.
#[test]
fn logs_follow_their_files_whatever_a_reload_does() {
    let folder = Folder::new();
    let sound = "00026nam a2200025   4500\u{1e}\u{1d}";
    let path = folder.write("books.mrc", &format!("{sound}{sound}00099"));
    let database = format!("books={path}");
    let (log, moved) = (folder.at("access.log"), folder.at("access.log.1"));
    let (daemon, words) = Daemon::heard(&[
        "--database",
        &database,
        "--listen",
        "127.0.0.1:0",
        "--access-log",
        log.to_str().expect("text"),
    ]);
    words.until("database books: 2 records");
    let rotated = |outcome: &str| {
        daemon.converse(&[]);
        lines_of(&log, 1);
        fs::rename(&log, &moved).expect("moved");
        daemon.signal("HUP");
        let lines = words.until("log file opened again: ");
        assert!(
            lines.iter().any(|line| line.contains(outcome)),
            "{lines:#?}"
        );
        daemon.converse(&[]);
        lines_of(&log, 1);
        lines_of(&moved, 1);
        fs::remove_file(&log).expect("removed");
        daemon.signal("HUP");
        words.until("log file opened again: ");
    };
    rotated("reloaded: 1 database read again: 2 records");
    folder.write("books.mrc", &format!("{sound}no record\u{1d}{sound}00099"));
    rotated("nothing has changed: still serving 2 records");
}

#[test]
fn a_reload_applies_another_docid_field() {
    let (folder, daemon, words) = server();
    let numbered = format!("{}=035  \\\\$aX7\n", ONE);
    folder.write("books.mrk", &numbered);
    for (field, found, missed) in [("001", "b1", "X7"), ("035$a", "X7", "b1")] {
        let docid = format!("docid = \"{field}\"\n");
        folder.write("z3950d.toml", &format!("{docid}{SETTINGS}"));
        daemon.signal("HUP");
        words.until("reloaded: certificate");
        for (docid, hits) in [(found, 1), (missed, 0)] {
            let query = format!("@attr 1=1032 {docid}");
            assert_eq!(daemon.hits("books", &query), hits, "{field} {docid}");
        }
    }
}
