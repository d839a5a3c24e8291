//! Tests of the text that `z3950d` prints: its manual page, its completions, and the messages when it refuses to start.
//! The examples in its help are run by `tests/tests/command/examples.rs`.

use std::fs;

use z3950_tests::surroundings::command;

use super::daemon::ran;

fn printed(arguments: &[&str]) -> String {
    let output = ran(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_manual_page_has_every_option() {
    let page = printed(&["--man"]);
    let place = |title: &str| {
        let title = format!(".SH \"{title}\"");
        page.find(&title)
            .unwrap_or_else(|| panic!("{title} in {page}"))
    };
    assert!(place("NAME") < place("OPTIONS"));
    assert!(place("OPTIONS") < place("SIGNALS"));
    assert!(place("SIGNALS") < place("EXAMPLES"));
    assert!(place("EXAMPLES") < place("EXIT STATUS"));
    assert!(page.contains("\nz3950d \\-\\-demo\n"), "{page}");
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
fn completions_ask_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["--completions", shell]);
        assert!(script.contains("_Z3950D_COMPLETE"), "{shell}: {script}");
        assert_eq!(script, printed(&["completions", shell]), "{shell}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
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
        let output = command("sh")
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
fn usage_errors_name_the_mistake_and_the_remedy() {
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
        (&["--demo", "--sessions", "0"], &["--sessions"]),
        // The error for an option under its former name mentions the current name.
        (&["--demo", "--max-sessions", "0"], &["--sessions"]),
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
