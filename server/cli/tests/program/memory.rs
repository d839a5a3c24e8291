//! Tests of `z3950d` with limited memory (`ulimit -v`).

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use z3950_tests::surroundings::command;

use super::daemon::{Daemon, ONE, Words, program, write};

/// Returns a command that runs the program with an address space of `limit` KiB.
fn limited(limit: u32, database: &str) -> Command {
    let mut command = command("sh");
    let script = format!("ulimit -v {limit} && exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(program().get_program());
    command.args(["--listen", "127.0.0.1:0", "--database", database]);
    command.stdin(Stdio::null());
    command
}

/// Extends a file to a length of `octets` without writing data (a sparse file).
fn lengthen(path: &Path, octets: u64) {
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.set_len(octets)).expect("longer");
}

#[test]
fn files_too_large_for_memory_are_refused_at_the_start_and_by_a_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.mrk");
    let database = format!("x={}", write(&path, ONE));
    let mut daemon = Daemon::of(limited(600_000, &database), Stdio::piped());
    let words = Words::of(daemon.child.stderr.take().expect("piped"));
    lengthen(&path, 1 << 30);
    daemon.signal("HUP");
    let lines = words.until("nothing has changed");
    let refusal = lines.iter().find(|line| line.starts_with("not reloaded: "));
    let refusal = refusal.expect("a reason");
    let needs = "not reloaded: loading the files needs about 3529 MB of memory, and ";
    assert!(refusal.starts_with(needs), "{refusal}");
    assert!(
        refusal.ends_with("MB are left under the limit of 614 MB"),
        "{refusal}"
    );
    assert_eq!(daemon.hits("x", "@attr 1=4 one"), 1);

    let output = limited(600_000, &database).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let needs =
        "z3950d: cannot load the databases: loading the files needs about 3490 MB of memory, and ";
    assert!(said.starts_with(needs), "{said}");
    write(&path, ONE);
    daemon.signal("HUP");
    words.until("reloaded: 1 database read again: 1 record");
}
