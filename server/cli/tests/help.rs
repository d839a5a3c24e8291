//! What `z3950d` says about itself: help whose examples run, the manual page, completions, settings; and its words where it
//! refuses to start.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rcgen::{CertificateParams, KeyPair};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_z3950d"))
}

fn ran(arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = ran(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs a line in a shell that finds the program, in a folder; a server is stopped once it listens on as many addresses as it
/// is to.
fn run_line(line: &str, folder: &Path) {
    let binaries = Path::new(env!("CARGO_BIN_EXE_z3950d"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec {line}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binaries.display()))
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
    let mut words = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut words).expect("text");
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{line}: {status}: {words}");
}

#[test]
fn the_examples_of_the_help_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("written");
    };
    let record = "00026nam a2200025   4500\u{1e}\u{1d}";
    for name in ["records.mrc", "a.mrc", "b.mrc"] {
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

    let help = printed(&["--help"]);
    let (usage, rest) = help.split_once("Examples:\n").expect("examples");
    assert!(!usage.contains("Options:"), "examples come first: {usage}");
    let lines: Vec<_> = rest
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        assert!(line.starts_with("z3950d "), "{line}");
        // The ports of the examples may be taken.
        let line = ["0.0.0.0:2100", "127.0.0.1:2101"]
            .iter()
            .fold(line.to_owned(), |line, place| {
                line.replace(place, "127.0.0.1:0")
            });
        let serves = !["--check", "--print-config", "--listen"]
            .iter()
            .any(|option| line.contains(option));
        let line = match serves {
            true => format!("{line} --listen 127.0.0.1:0"),
            false => line,
        };
        run_line(&line, folder.path());
    }
}

#[test]
fn the_printed_settings_are_checked_and_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = printed(&["--print-config"]);
    assert!(
        text.contains("#[[database]]\n") && text.contains("#[access]\n"),
        "{text}"
    );
    let path = folder.path().join("z3950d.toml");
    fs::write(&path, &text).expect("written");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(ran(&["--config", path, "--check"]).status.code(), Some(0));
    run_line(
        "z3950d --config z3950d.toml --listen 127.0.0.1:0",
        folder.path(),
    );
}

#[test]
fn the_manual_page_has_examples_first_and_every_option() {
    let page = printed(&["--man"]);
    let place = |title: &str| {
        page.find(title)
            .unwrap_or_else(|| panic!("{title} in {page}"))
    };
    assert!(place(".SH NAME") < place(".SH EXAMPLES"));
    assert!(place(".SH EXAMPLES") < place(".SH OPTIONS"));
    assert!(place(".SH OPTIONS") < place(".SH EXIT CODES"));
    assert!(!page.contains(".SH EXTRA"));
    assert!(page.contains("\n  z3950d \\-\\-demo\n"), "{page}");
    let help = printed(&["--help"]);
    let options = help.lines().filter_map(|line| {
        let option = line.trim_start().strip_prefix("--")?;
        option.split([' ', '<']).next()
    });
    let options: Vec<_> = options.collect();
    assert!(options.len() > 25, "{options:?}");
    for option in options {
        let name = format!("\\-\\-{}", option.replace('-', "\\-"));
        assert!(page.contains(&name), "{name} in {page}");
    }
}

#[test]
fn completions_know_the_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["--completions", shell]);
        for option in ["database", "print-config", "replay-in-order"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
}

#[test]
fn what_is_printed_need_not_be_read() {
    for arguments in [
        "--help",
        "--man",
        "--print-config",
        "--fault help",
        "--completions bash",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let binary = env!("CARGO_BIN_EXE_z3950d");
        let line = format!("{{ {binary} {arguments}; echo $? > code; }} | head -n 1");
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder.path())
            .output();
        let output = output.expect("sh runs");
        let code = fs::read_to_string(folder.path().join("code")).expect("a code");
        assert_eq!(code, "0\n", "{arguments}");
        assert!(output.stderr.is_empty(), "{arguments}: {output:?}");
    }
}

#[test]
fn refusals_name_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = taken.local_addr().expect("bound").to_string();
    let (lost, nowhere) = (at("lost.mrc"), at("no/said.jsonl"));
    let rubbish = at("rubbish.mrc");
    fs::write(&rubbish, "rubbish").expect("written");
    let of_lost = format!("x={lost}");
    let of_rubbish = format!("x={rubbish}");
    for (arguments, words) in [
        (&[][..], &["nothing to serve", "--demo", "--database"][..]),
        (&["--database", "x"], &["--database", "NAME=PATH"]),
        (&["--database", &of_lost], &["database x", &lost]),
        (
            &["--database", &of_rubbish],
            &["database x", &rubbish, "--check"],
        ),
        (&["--config", &lost], &[&lost, "--print-config"]),
        (
            &["--demo", "--listen", "nowhere"],
            &["--listen", "127.0.0.1:2100"],
        ),
        (&["--demo", "--listen", &place], &[&place, "--listen"]),
        (
            &[
                "--demo",
                "--listen",
                "127.0.0.1:0",
                "--transcript",
                &nowhere,
            ],
            &[&nowhere, "--transcript"],
        ),
        (
            &["--demo", "--listen", "127.0.0.1:0", "--apdu-log", &nowhere],
            &[&nowhere, "--apdu-log"],
        ),
        (&["--replay", &lost], &["--replay", &lost]),
        (
            &["--demo", "--listen", "tls:127.0.0.1:0"],
            &["--certificate", "--key"],
        ),
        (
            &["--demo", "--certificate", "c.pem", "--key", "k.pem"],
            &["--certificate", "--listen tls:"],
        ),
        (&["--demo", "--profile", "aleph"], &["--profile", "zebra"]),
        (&["--imitate", "aleph"], &["--imitate", "yaz-ztest"]),
        (
            &["--demo", "--fault", "on serch: cut 1"],
            &["serch", "search"],
        ),
        (&["--demo", "--max-sessions", "0"], &["--max-sessions"]),
        (&["--demo", "--lisen", "x"], &["--lisen", "--listen"]),
        (
            &["--demo", "--replay-in-order"],
            &["--replay-in-order", "--replay FILE"],
        ),
    ] {
        let output = ran(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        for words in words {
            assert!(told.contains(words), "{arguments:?}: {words} in {told}");
        }
    }
}
