//! Tests of the check of settings, and of the precedence of the command line over the settings file.

use std::fs;

use super::daemon::{Daemon, ONE, ran, write};

#[test]
fn settings_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("books.mrk"), ONE);
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
                "bad.toml:1:8: demo is not true or false",
                "bad.toml:4:1: [limits] unknown key \"session\"",
            ],
        ),
        (&["--config", &bad], 2, &["bad.toml:1:8: "]),
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

/// The journal is checked at the start, because otherwise each update would be refused later.
#[test]
fn a_journal_without_leave_to_write_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.mrc");
    let journal = folder.path().join("x.mrc.journal");
    write(&path, "");
    write(&journal, "");
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o444)).expect("set");
    if fs::File::options().write(true).open(&journal).is_ok() {
        eprintln!("skipped: this user may write every file");
        return;
    }
    let output = ran(&["--demo", "--save", &format!("books={}", path.display())]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("cannot write ") && told.contains("x.mrc.journal"),
        "{told}"
    );
}

/// Tests problems that would make the startup or a later update fail.
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
    // A server that cannot write its files does not start, and reports all of these files.
    let lost = save("nosuch/x.mrc");
    let output = ran(&["--demo", "--save", &lost, "--transcript", &at("full")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for words in ["there is no folder", "full exists and is not empty"] {
        assert!(told.contains(words), "{words} in {told}");
    }
    assert_eq!(told.lines().count(), 2, "{told}");
    // A server that cannot read its databases does not start either, and reports all of these databases.
    let (no, none) = (at("no.mrc"), at("none.mrc"));
    let output = ran(&[
        "--database",
        &format!("a={no}"),
        "--database",
        &format!("b={none}"),
    ]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for words in ["cannot load database a: ", "cannot load database b: "] {
        assert!(told.contains(words), "{words} in {told}");
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
fn arguments_take_precedence_over_the_settings_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("books.mrk"), ONE);
    let text = "listen = \"127.0.0.1:1\"\nfaults = [\"on search db=books: count 7\"]\n\
                [[database]]\nname = \"books\"\nfiles = \"books.mrk\"";
    let settings = write(&at("z3950d.toml"), text);
    let daemon = Daemon::start(&["--config", &settings, "--listen", "127.0.0.1:0"]);
    assert_eq!(daemon.hits("books", "@attr 1=1032 b1"), 7);
    assert_eq!(daemon.hits("Default", "@attr 1=1032 b1"), 1);
}

/// Files are refused for a database at another server or in a search engine: its searches are sent there, and would never find
/// the records in the files.
#[test]
fn a_database_that_is_elsewhere_has_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let file = write(&at("books.mrk"), ONE);
    let text = "[[database]]\nname = \"books\"\nengine = \"http://127.0.0.1:1/books\"\n\
                [[database]]\nname = \"far\"\ntargets = [\"127.0.0.1:1/far\"]";
    let settings = write(&at("z3950d.toml"), text);
    for (option, name, words) in [
        ("--save", "books", "database books are in a search engine"),
        (
            "--database",
            "Books",
            "database books are in a search engine",
        ),
        ("--save", "far", "database far are at other servers"),
        // A file for a database that is not in the settings is accepted, so the engine is contacted next, and does not answer.
        ("--database", "others", "cannot connect"),
    ] {
        let database = format!("{name}={file}");
        let output = ran(&["--check", "--config", &settings, option, &database]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {name}: {told}");
        assert!(told.contains(words), "{option} {name}: {told}");
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

#[test]
fn no_database_takes_a_path_of_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(&folder.path().join("books.mrk"), ONE);
    for (name, further, code) in [
        ("Search", &[][..], 2),
        ("targets", &[], 2),
        ("get", &[], 2),
        ("searches", &[], 0),
        ("search", &["--no-page"], 0),
        ("get", &["--no-page"], 2),
        ("gopher:a", &["--no-page"], 2),
        ("Z39.50R:", &[], 2),
        ("z39.50", &[], 0),
    ] {
        let database = format!("{name}={file}");
        let output = ran(&[&["--check", "--database", &database], further].concat());
        let words = String::from_utf8_lossy(&output.stderr);
        let is = output.status.code();
        assert_eq!(is, Some(code), "{name} {further:?}: {words}");
        let is_named = words.contains(&format!("no database may be named {name}"));
        assert_eq!(is_named, code == 2, "{name}: {words}");
    }
}
