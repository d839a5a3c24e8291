//! The examples of the README and of the programs' pages that need nothing but the program: those with `--demo`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use z3950_tests::program::path;

const PAGES: [&str; 3] = [
    include_str!("../../../README.md"),
    include_str!("../../../client/docs/program.md"),
    include_str!("../../../server/docs/server.md"),
];

/// Runs a line in a shell that finds the programs; a server is stopped as soon as it listens.
fn run_line(line: &str) {
    let binaries = path("z3950d");
    let binaries = binaries.parent().expect("a folder");
    let inherited = std::env::var("PATH").unwrap_or_default();
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{inherited}", binaries.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("text");
    if first.starts_with("listening on ") {
        let stopped = Command::new("kill").arg(child.id().to_string()).status();
        assert!(stopped.expect("kill runs").success());
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    let mut words = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut words).expect("text");
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{line}: {status}: {words}");
    assert!(!first.is_empty(), "{line} prints nothing: {words}");
}

#[test]
fn audit_d17_the_examples_with_the_demo_catalogue_run_as_written() {
    let lines: Vec<_> = PAGES
        .iter()
        .flat_map(|page| page.lines())
        .map(|line| line.strip_prefix("$ ").unwrap_or(line))
        // The inputs are a file of the reader's.
        .filter(|line| !line.contains("--input"))
        .filter(|line| line.contains(" --demo"))
        .filter(|line| {
            ["cargo run ", "z3950", "echo "]
                .iter()
                .any(|word| line.starts_with(word))
        })
        .collect();
    assert!(lines.len() >= 7, "{lines:?}");
    for line in lines {
        let line = line.split("  #").next().unwrap_or(line);
        let line = line
            .replace("cargo run --release -p z3950d --", "z3950d")
            .replace("cargo run --release --", "z3950");
        let line = match line.starts_with("z3950d ") {
            // The port may be taken.
            true if !line.contains("--listen") => format!("exec {line} --listen 127.0.0.1:0"),
            true => format!("exec {line}"),
            false => line,
        };
        run_line(&line);
    }
}
