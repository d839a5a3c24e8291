//! Runs the examples in the help of `z3950d`, and its printed settings.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use rcgen::{CertificateParams, KeyPair};
use z3950_tests::program::{path, run};
use z3950_tests::surroundings::command;

/// Runs `z3950d` with these arguments and returns its output.
fn z3950d(arguments: &[&str]) -> String {
    let ran = run(command(path("z3950d")).args(arguments), "");
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

/// Runs a line in a shell that can find the programs, and returns the first line of the output. A server is stopped as soon as it
/// listens.
fn run_line(line: &str, folder: &Path) -> String {
    let binaries = path("z3950d");
    let binaries = binaries.parent().expect("a folder");
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut child = command("sh")
        .args(["-c", line])
        .current_dir(folder)
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
        let stopped = command("kill").arg(child.id().to_string()).status();
        assert!(stopped.expect("kill runs").success());
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    let mut words = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut words).expect("text");
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{line}: {status}: {words}");
    first
}

#[test]
fn the_examples_in_the_help_of_z3950d_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("written");
    };
    let record = "00026nam a2200025   4500\u{1e}\u{1d}";
    for name in ["records.mrc", "a.mrc", "b.mrc", "saved.mrc"] {
        write(name, record);
    }
    write("maps.mrk", "=LDR  00000nam a2200000 a 4500\n=001  m1\n");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    write(
        "cert.pem",
        &params.self_signed(&key).expect("a certificate").pem(),
    );
    write("key.pem", &key.serialize_pem());

    let help = z3950d(&["--help"]);
    let (usage, rest) = help.split_once("Examples:\n").expect("examples");
    assert!(!usage.contains("Options:"), "examples come first: {usage}");
    let lines: Vec<_> = rest
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        assert!(line.starts_with("z3950d "), "{line}");
        // The ports in the examples may be in use, so they are replaced with free ports.
        let line = ["0.0.0.0:2100", "127.0.0.1:2101", "127.0.0.1:9210"]
            .iter()
            .fold(line.to_owned(), |line, place| {
                line.replace(place, "127.0.0.1:0")
            });
        let serves = !["--check", "--print-config", "--fold", "--listen"]
            .iter()
            .any(|option| line.contains(option));
        let line = if serves {
            format!("{line} --listen 127.0.0.1:0")
        } else {
            line
        };
        run_line(&format!("exec {line}"), folder.path());
    }
}

#[test]
fn the_printed_settings_of_z3950d_are_checked_and_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = z3950d(&["--print-config"]);
    assert!(
        text.contains("#[[database]]\n") && text.contains("#[access]\n"),
        "{text}"
    );
    let path = folder.path().join("z3950d.toml");
    fs::write(&path, &text).expect("written");
    let path = path.to_str().expect("UTF-8");
    z3950d(&["--config", path, "--check"]);
    run_line(
        "exec z3950d --config z3950d.toml --listen 127.0.0.1:0",
        folder.path(),
    );
}
