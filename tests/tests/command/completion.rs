//! Tests of completion: the suggestions of the programs, and their display in bash, zsh and fish.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use expectrl::session::OsSession;
use expectrl::{Expect, Session};
use tempfile::TempDir;
use z3950_tests::peer::find;
use z3950_tests::program::{path, run};
use z3950_tests::surroundings::command;
use z3950_tests::{pause, program::Ran};

use crate::prompt::PATIENCE;

/// A user's settings folder, with user-defined targets.
struct Settings {
    folder: TempDir,
}

impl Settings {
    fn new(targets: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("config/z3950");
        fs::create_dir_all(&own).expect("a folder");
        fs::write(own.join("targets.toml"), targets).expect("written");
        fs::write(folder.path().join("records.mrc"), "").expect("written");
        Self { folder }
    }

    /// Returns a command that runs a program with these settings, in a folder that contains the file `records.mrc`.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let programs = path("z3950");
        let programs = programs.parent().expect("a folder").display().to_string();
        let inherited = std::env::var("PATH").unwrap_or_default();
        let mut command = command(program.as_ref());
        command
            .current_dir(self.folder.path())
            .env("PATH", format!("{programs}:{inherited}"))
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            // Completion must not read anything from a network.
            .env("ALL_PROXY", "http://127.0.0.1:9");
        command
    }

    /// Returns the completions that a program offers for the last word of a line.
    fn offered(&self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let program = words[0];
        let variable = format!("_{}_COMPLETE", program.to_uppercase());
        let mut asked = self.command(path(program));
        let ran = run(asked.env(variable, "fish").arg("--").args(&words), "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
        let values = ran
            .stdout
            .lines()
            .filter_map(|line| line.split('\t').next());
        values.map(str::to_owned).collect()
    }
}

/// Two targets. The name of the first begins like that of a built-in target.
const TARGETS: &str = "\
[targets.zlocal]
title = \"My library\"
host = \"lib.example\"
databases = [\"books\", \"maps\"]

[targets.zother]
host = \"other.example\"
";

#[test]
fn r_f13_targets_syntaxes_formats_and_names_are_offered() {
    let settings = Settings::new(TARGETS);
    let check = |line: &str, all: &[&str]| {
        let mut offered = settings.offered(line);
        offered.sort();
        assert_eq!(offered, all, "{line}");
    };
    let has = |line: &str, some: &[&str], none: &[&str]| {
        let offered = settings.offered(line);
        for name in some {
            assert!(
                offered.iter().any(|known| known == name),
                "{line}: {name} in {offered:?}"
            );
        }
        for name in none {
            assert!(
                !offered.iter().any(|known| known == name),
                "{line}: {name} in {offered:?}"
            );
        }
    };
    for command in [
        "search", "scan", "explain", "open", "probe", "update", "order", "lookup",
    ] {
        check(&format!("z3950 {command} zl"), &["zlocal"]);
        has(&format!("z3950 {command} l"), &["loc"], &["zlocal"]);
    }
    check("z3950 targets show zo", &["zother"]);
    check("z3950 targets check zo", &["zother"]);
    check("z3950 lookup --target zl", &["zlocal"]);
    check("z3950 search zlocal/", &["zlocal/books", "zlocal/maps"]);
    check("z3950 search zlocal --database ", &["books", "maps"]);
    check(
        "z3950 --demo search localh",
        &["localhost/books", "localhost/serials"],
    );
    check("z3950 search zlocal tit", &["title:"]);
    check("z3950 scan zlocal aut", &["author:"]);
    check("z3950 lookup zlocal iss", &["issn:"]);
    check("z3950 search zlocal ti:war --syntax usm", &["usmarc"]);
    check("z3950 search --syntax=usm", &["--syntax=usmarc"]);
    has(
        "z3950 url build --syntax ",
        &["usmarc", "unimarc", "xml", "opac"],
        &[],
    );
    check("z3950 get -f marcx", &["marcxchange", "marcxml"]);
    check("z3950 convert --format mr", &["mrk"]);
    has("z3950 convert --format ", &["csv", "dc"], &["raw"]);
    check("z3950 convert --from marcx", &["marcxml"]);
    check("z3950 convert rec", &["records.mrc"]);
    check("z3950 search zlocal --sort tit", &["title", "title:desc"]);
    check("z3950 search zlocal --facets autho", &["author"]);
    check("z3950 search zlocal --lang c", &["ccl", "cql"]);
    check("z3950 lookup --kind is", &["isbn", "issn"]);
    check("z3950 url ex", &["extract"]);
    check("z3950 man form", &["formats"]);
    check("z3950 completions f", &["fish"]);
    has("z3950 ", &["search", "targets", "man"], &[]);
    has(
        "z3950 search --",
        &["--format", "--demo"],
        &["--offset", "--force"],
    );
    has(
        "z3950d --",
        &["--database", "--idle-time"],
        &["--idle-timeout", "--man"],
    );
    check("z3950d --profile z", &["zebra"]);
    check("z3950d load rec", &["records.mrc"]);
    check("z3950d man t", &["toml", "try-catalogue"]);
}

#[test]
fn r_f13_a_broken_file_of_targets_leaves_the_others() {
    for text in [
        "[targets.zlocal\n",
        "targets = 3\n",
        "\u{0}",
        "[targets.zlocal]\ncolour = 1\n",
    ] {
        let settings = Settings::new(text);
        let built_in = settings.offered("z3950 search lo");
        assert!(
            built_in.contains(&"loc".to_owned()),
            "{text:?}: {built_in:?}"
        );
        let is_readable = text.contains("colour");
        let own = settings.offered("z3950 search zl");
        assert_eq!(!own.is_empty(), is_readable, "{text:?}: {own:?}");
    }
    let settings = Settings::new("");
    fs::remove_dir_all(settings.folder.path().join("config")).expect("removed");
    assert!(!settings.offered("z3950 search lo").is_empty());
}

#[test]
fn r_f13_unknown_words_are_not_a_failure() {
    let settings = Settings::new(TARGETS);
    for line in [
        "z3950 nonsense x",
        "z3950 search --nonsense x",
        "z3950 -- ",
        "z3950d nonsense ",
    ] {
        settings.offered(line);
    }
    for (name, value, arguments) in [
        ("_Z3950_COMPLETE", "nonsense", &["--", "z3950", "se"][..]),
        ("_Z3950_COMPLETE", "", &["--", "z3950", "se"]),
        ("_Z3950_COMPLETE", "bash", &[]),
        ("_Z3950_COMPLETE", "bash", &["--", "z3950", "se"]),
    ] {
        let ran = run(
            settings
                .command(path("z3950"))
                .env(name, value)
                .args(arguments),
            "",
        );
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (Some(0), ""),
            "{value}: {ran:?}"
        );
    }
}

/// Returns the script that registers completion.
fn script(program: &str, shell: &str) -> String {
    let ran = run(command(path(program)).args(["completions", shell]), "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

/// The text that is typed, and the text that a shell prints in response. If there are several completions, Tab lists them.
const TYPED: [(&str, &[&str]); 5] = [
    ("z3950 search zl", &["zlocal"]),
    ("z3950 search zlocal/", &["books", "maps"]),
    ("z3950 search zlocal --syntax usm", &["usmarc"]),
    ("z3950 convert --format marcx", &["marcxml", "marcxchange"]),
    ("z3950d --profile ze", &["zebra"]),
];

/// Starts a shell in a terminal, and loads the scripts of both programs.
fn interactive(shell: &str, options: &[&str], begin: &str) -> Option<(Settings, OsSession)> {
    let program = find(shell)?;
    let settings = Settings::new(TARGETS);
    for name in ["z3950", "z3950d"] {
        let file = settings.folder.path().join(format!("{name}.script"));
        fs::write(file, script(name, shell)).expect("written");
    }
    let mut started = settings.command(program);
    started
        .args(options)
        .env("TERM", "dumb")
        .env("PS1", "ready> ");
    let mut session = Session::spawn(started).expect("a terminal");
    let lines = format!("{begin}\nsource ./z3950.script; source ./z3950d.script; echo be''gun\n");
    session.send(lines).expect("the terminal takes it");
    shows(&mut session, "begun");
    Some((settings, session))
}

/// Waits until a terminal shows this text.
fn shows(session: &mut OsSession, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = session.check(text).expect("the shell runs");
        if found.matches().len() > 0 {
            return;
        }
        if Instant::now() > deadline {
            let shown = session.check(expectrl::Regex("(?s).+"));
            let shown = shown.map(|shown| String::from_utf8_lossy(shown.as_bytes()).into_owned());
            panic!("{text:?} is awaited; shown: {shown:?}");
        }
        pause();
    }
}

/// Types each line and presses Tab, waits for the completions, and removes the line.
fn completes(session: &mut OsSession) {
    for (typed, expected) in TYPED {
        session.send(typed).expect("the terminal takes it");
        shows(session, typed.rsplit(' ').next().unwrap_or(typed));
        // The second Tab lists the completions if there are several.
        session.send("\t\t").expect("the terminal takes it");
        for word in expected {
            let before = typed.rsplit(' ').next().unwrap_or_default();
            // If there is only one completion, the shell prints only the characters that it adds.
            let added = word.strip_prefix(before).filter(|_| expected.len() == 1);
            shows(session, added.unwrap_or(word));
        }
        session
            .send("\u{15}echo do''ne\n")
            .expect("the terminal takes it");
        shows(session, "done");
    }
}

#[test]
fn r_f13_bash_completes() {
    let options = ["--norc", "--noprofile", "-i"];
    let begin = "stty echo; bind 'set bell-style none' 'set completion-query-items 0'";
    if let Some((_settings, mut session)) = interactive("bash", &options, begin) {
        completes(&mut session);
    }
}

#[test]
fn r_f13_zsh_completes() {
    let begin = "autoload -U compinit; compinit -u -d ./dump; unsetopt beep menu_complete auto_menu; setopt list_ambiguous";
    if let Some((_settings, mut session)) = interactive("zsh", &["-f", "-i"], begin) {
        completes(&mut session);
    }
}

#[test]
fn r_f13_fish_completes() {
    let Some(fish) = find("fish") else {
        return;
    };
    let settings = Settings::new(TARGETS);
    let scripts = ["z3950", "z3950d"]
        .map(|name| script(name, "fish"))
        .join("\n");
    for (typed, expected) in TYPED {
        let lines = format!("{scripts}\ncomplete --do-complete '{typed}'");
        let ran: Ran = run(
            settings.command(&fish).args(["--no-config", "-c", &lines]),
            "",
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut offered: Vec<&str> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split('\t').next()?.rsplit('/').next())
            .collect();
        offered.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(offered, expected, "{typed}");
    }
}
