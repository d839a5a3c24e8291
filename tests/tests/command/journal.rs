//! Tests of `z3950d --save`, `--fold` and `--check`. Updates are written to the journal and later to the file, and no update is
//! lost.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use z3950_tests::program::{Daemon, Ran, path, run, z3950};
use z3950_tests::surroundings::command;

const ONE: &str = "=LDR  00000nam a2200000 a 4500\n=001  one\n=245  00$aOne\n";

/// A folder with the saved file `cat.mrk`, which has one record.
struct Saved {
    folder: tempfile::TempDir,
}

impl Saved {
    fn new() -> Self {
        let saved = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::write(saved.file(), ONE).expect("written");
        saved
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self) -> PathBuf {
        self.at("cat.mrk")
    }

    fn journal(&self) -> PathBuf {
        self.at("cat.mrk.journal")
    }

    fn save(&self) -> String {
        format!("cat={}", self.file().display())
    }

    fn daemon(&self) -> Daemon {
        Daemon::start(["--save", &self.save()])
    }

    /// Inserts a record with this docid.
    fn insert(&self, daemon: &Daemon, docid: &str) -> Ran {
        let path = self.at("new.mrk");
        fs::write(&path, ONE.replace("one", docid)).expect("written");
        let target = format!("{}/cat", daemon.address());
        z3950(["update", &target, "insert", path.to_str().expect("text")])
    }

    fn has(&self, docid: &str) -> bool {
        let text = fs::read_to_string(self.file()).expect("text");
        text.contains(&format!("=001  {docid}\n"))
    }

    fn fold(&self) -> Ran {
        run(command(path("z3950d")).arg("--fold").arg(self.file()), "")
    }

    /// Runs `z3950d --save` with an additional option until it exits by itself.
    fn ended(&self, option: &str) -> Ran {
        let save = self.save();
        run(command(path("z3950d")).args(["--save", &save, option]), "")
    }
}

/// Checks that a program exited with this code and printed these words.
fn check(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for words in words {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}

fn get(daemon: &Daemon, docid: &str) -> Option<i32> {
    z3950([
        "get",
        &format!("z39.50r://{}/cat?{docid}", daemon.address()),
    ])
    .code
}

#[test]
fn a_killed_server_leaves_a_journal_that_is_read_and_folded() {
    let saved = Saved::new();
    let mut daemon = saved.daemon();
    check(&saved.insert(&daemon, "two"), 0, &["1 done"]);
    check(
        &saved.fold(),
        2,
        &["cat.mrk is being written by another run"],
    );
    check(&saved.ended("--check"), 0, &["cat.mrk is in use"]);
    daemon.signal("KILL");
    daemon.wait();
    assert!(!saved.has("two"), "it is in the journal");
    check(
        &saved.ended("--check"),
        0,
        &["cat.mrk.journal: 1 change not in the file yet"],
    );
    let mut daemon = saved.daemon();
    assert_eq!(get(&daemon, "two"), Some(0));
    check(&saved.insert(&daemon, "three"), 0, &[]);
    daemon.signal("KILL");
    daemon.wait();
    check(
        &saved.fold(),
        0,
        &["folded 2 changes of ", "cat.mrk, which has 3 records"],
    );
    assert!(saved.has("two") && saved.has("three") && !saved.journal().exists());
    check(
        &saved.fold(),
        0,
        &["has no journal: there is nothing to fold"],
    );
    fs::remove_file(saved.file()).expect("removed");
    check(&saved.fold(), 2, &["there is no file"]);
}

#[test]
fn journals_are_folded_at_the_end_and_on_sighup() {
    let saved = Saved::new();
    let mut daemon = saved.daemon();
    check(&saved.insert(&daemon, "two"), 0, &[]);
    daemon.signal("HUP");
    let begun = Instant::now();
    while saved.journal().exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "not folded");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(saved.has("two"));
    assert_eq!(get(&daemon, "two"), Some(0));
    check(&saved.insert(&daemon, "three"), 0, &[]);
    assert!(saved.journal().exists() && !saved.has("three"));
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(saved.has("three") && !saved.journal().exists());
}

#[test]
fn a_journal_that_cannot_be_used_stops_the_start() {
    let saved = Saved::new();
    let mut daemon = saved.daemon();
    check(&saved.insert(&daemon, "two"), 0, &[]);
    daemon.signal("KILL");
    daemon.wait();
    let octets = fs::read(saved.journal()).expect("present");
    let refused = |words: &[&str]| {
        check(&saved.ended("-v"), 2, words);
        check(&saved.ended("--check"), 2, words);
        check(&saved.fold(), 2, words);
    };
    for damaged in [&b""[..], b"rubbish", &octets[..5000]] {
        fs::write(saved.journal(), damaged).expect("written");
        refused(&["cat.mrk.journal is damaged", "move it away"]);
        assert_eq!(
            fs::read(saved.journal()).expect("present"),
            damaged,
            "unchanged"
        );
    }
    fs::write(saved.journal(), &octets).expect("written");
    fs::write(saved.file(), format!("{ONE}\n")).expect("written");
    refused(&["cat.mrk was changed by another program", "1 changes"]);
    fs::remove_file(saved.file()).expect("removed");
    refused(&["there is no file", "put the file back"]);
    fs::write(saved.file(), ONE).expect("written");
    let other = run(
        command(path("z3950d")).args(["--save", &saved.save(), "--docid", "035$a"]),
        "",
    );
    check(&other, 2, &["from field 001, not 035$a", "--fold"]);
    fs::remove_file(saved.journal()).expect("removed");
    fs::create_dir(saved.journal()).expect("made");
    refused(&["cannot read", "cat.mrk.journal"]);
    fs::remove_dir(saved.journal()).expect("removed");
    fs::write(saved.journal(), &octets).expect("written");
    check(&saved.fold(), 0, &["2 records"]);
}

/// If an update cannot be written, it is refused, but searches still work. Updates succeed again once the journal can be written.
#[test]
fn an_update_that_cannot_be_written_is_refused() {
    let saved = Saved::new();
    // A folder with the name of the journal's draft keeps the server from creating the journal.
    let draft = saved.at(".cat.mrk.journal.draft");
    let mut daemon = saved.daemon();
    fs::create_dir(&draft).expect("made");
    check(&saved.insert(&daemon, "two"), 5, &["cannot be saved"]);
    assert_eq!(
        (get(&daemon, "two"), get(&daemon, "one")),
        (Some(3), Some(0))
    );
    fs::remove_dir(&draft).expect("removed");
    check(&saved.insert(&daemon, "two"), 0, &[]);
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(saved.has("two"));
}

/// A file size limit has the same effect as a full disk.
#[cfg(target_os = "linux")]
#[test]
fn updates_are_refused_and_not_lost_on_a_full_disk() {
    let saved = Saved::new();
    let mut daemon = saved.daemon();
    let room = |limit: &str| {
        let status = command("prlimit")
            .args(["--pid", &daemon.id().to_string()])
            .arg(format!("--fsize={limit}:unlimited"))
            .status();
        assert!(status.expect("prlimit runs").success());
    };
    // The disk is full twice: when there is no journal yet, and when there is one.
    for (first, second) in [("two", "three"), ("four", "five")] {
        room("1024");
        check(&saved.insert(&daemon, first), 5, &["cannot be saved"]);
        assert_eq!(get(&daemon, first), Some(3), "{first}");
        room("unlimited");
        check(&saved.insert(&daemon, second), 0, &[]);
        check(&saved.insert(&daemon, first), 0, &[]);
    }
    daemon.signal("KILL");
    daemon.wait();
    check(&saved.fold(), 0, &["4 changes", "5 records"]);
    for docid in ["one", "two", "three", "four", "five"] {
        assert!(saved.has(docid), "{docid}");
    }
}
