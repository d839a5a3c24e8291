//! Runs the documented examples unchanged: those with `--demo` in the README and in the pages of both programs, which do not need
//! anything else, and those in the help of `z3950d`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use rcgen::{CertificateParams, KeyPair};
use z3950_tests::program::{path, run};
use z3950_tests::surroundings::command;

const PAGES: [&str; 5] = [
    include_str!("../../../README.md"),
    include_str!("../../../client/docs/program.md"),
    include_str!("../../../server/docs/server.md"),
    include_str!("../../../server/docs/operation.md"),
    include_str!("../../../server/docs/sru.md"),
];

/// Runs `z3950d` with these arguments; returns its output.
fn z3950d(arguments: &[&str]) -> String {
    let ran = run(command(path("z3950d")).args(arguments), "");
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

/// Runs a line in a shell with the programs on its path; returns the first line of output. A server is stopped as soon as it
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

/// Returns the lines that begin with `$ ` in the console blocks of a page, each with the lines after it.
fn console(page: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            is_console = kind == "console";
        } else if is_console {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, String::new())),
                (None, Some((_, shown))) => {
                    shown.push_str(line);
                    shown.push('\n');
                }
                (None, None) => panic!("{line} comes before any command"),
            }
        }
    }
    commands
}

/// Runs the commands of a page's console blocks one after the other in an empty folder, and compares their output with the page.
#[test]
fn console_blocks_run_as_pasted_and_print_what_they_show() {
    let pages = [
        ("README.md", include_str!("../../../README.md")),
        ("urls.md", include_str!("../../../client/docs/urls.md")),
    ];
    let programs = path("z3950");
    let programs = programs.parent().expect("a folder");
    let inherited = std::env::var("PATH").unwrap_or_default();
    for (name, page) in pages {
        let folder = tempfile::tempdir().expect("a folder");
        let commands = console(page);
        assert!(commands.len() > 4, "{name} has commands");
        for (line, shown) in commands {
            let ran = command("sh")
                .args(["-c", &format!("exec 2>&1\n{line}")])
                .current_dir(folder.path())
                .env("PATH", format!("{}:{inherited}", programs.display()))
                .stdin(Stdio::null())
                .output()
                .expect("sh starts");
            let printed = String::from_utf8(ran.stdout).expect("text");
            if shown.is_empty() {
                assert!(ran.status.success(), "{name}: {line}: {printed}");
            } else {
                assert_eq!(printed, shown, "{name}: {line}");
            }
        }
    }
}

#[test]
fn audit_d17_the_examples_with_the_demo_catalogue_run_as_written() {
    let lines: Vec<_> = PAGES
        .iter()
        .flat_map(|page| page.lines())
        .map(|line| line.strip_prefix("$ ").unwrap_or(line))
        // Examples with --input are left out, because the reader of the page supplies that file.
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
            .replace("cargo run -p z3950d --", "z3950d")
            .replace("cargo run --", "z3950")
            .replace("127.0.0.1:9210", "127.0.0.1:0");
        let line = if line.starts_with("z3950d ") {
            if !line.contains("--listen") {
                // The default port may be in use.
                format!("exec {line} --listen 127.0.0.1:0")
            } else {
                format!("exec {line}")
            }
        } else {
            line
        };
        let folder = tempfile::tempdir().expect("a folder");
        let first = run_line(&line, folder.path());
        assert!(!first.is_empty(), "{line} prints nothing");
    }
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
        .collect();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        assert!(
            line.starts_with("z3950d ") || line.starts_with("echo "),
            "{line}"
        );
        // The ports of the examples may be in use, so they are replaced by free ports.
        let line = ["0.0.0.0:2100", "127.0.0.1:2101", "127.0.0.1:9210"]
            .iter()
            .fold(line.to_owned(), |line, place| {
                line.replace(place, "127.0.0.1:0")
            });
        let serves = ![
            "--check",
            "--print-config",
            "--fold",
            "--listen",
            "--hash-password",
        ]
        .iter()
        .any(|option| line.contains(option));
        let line = if serves {
            format!("{line} --listen 127.0.0.1:0")
        } else {
            line
        };
        let line = if line.starts_with("echo ") {
            line
        } else {
            format!("exec {line}")
        };
        run_line(&line, folder.path());
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
