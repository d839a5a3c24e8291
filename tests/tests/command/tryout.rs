//! Tests of `z3950 try` without a terminal. The tests with a terminal are in `tests/prompt/tryout.rs`.

use z3950_tests::program::{Daemon, Ran, path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

/// Returns the left or the right column of the output.
fn column(text: &str, index: usize) -> String {
    let rows = text.lines().filter(|line| line.contains('│'));
    let rows = rows.filter_map(|line| line.split('│').nth(index));
    let rows: Vec<&str> = rows.map(str::trim).collect();
    assert!(rows.len() > 5, "{text}");
    rows.join("\n")
}

/// Returns the names of the APDUs in a column, each with an arrow for its direction and the section of the standard.
fn steps(column: &str) -> Vec<String> {
    let heads = column.lines().filter(|line| line.starts_with(['→', '←']));
    heads
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Returns the text of a column on one line, because the line breaks do not matter.
fn words(column: &str) -> String {
    column.replace('\n', " ")
}

fn tried(arguments: &[&str]) -> Ran {
    z3950(["try"].iter().chain(arguments))
}

const INIT: [&str; 2] = ["→ Init request §3.2.1", "← Init response §3.2.1"];
const SEARCH: [&str; 2] = ["→ Search request §3.2.2", "← Search response §3.2.2"];
const PRESENT: [&str; 2] = ["→ Present request §3.2.3", "← Present response §3.2.3"];
const CLOSE: [&str; 2] = ["→ Close §3.2.11", "← Close §3.2.11"];

#[test]
fn build_5_both_conversations_stand_side_by_side() {
    let ran = tried(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let retrieval = column(&ran.stdout, 0);
    assert_eq!(steps(&retrieval), [INIT, SEARCH, CLOSE].concat());
    let retrieval = words(&retrieval);
    for part in [
        "Asks for database books, docid pg1342 (Use 1032, Structure 104), element set f, record syntax usmarc.",
        "If one record matches, it comes with the answer.",
        "Finds 1 record and brings “Pride and prejudice : a novel : in three volumes” (usmarc, ",
        "(closed) The retrieval is over, and has its record.",
    ] {
        assert!(retrieval.contains(part), "{part:?} in {retrieval}");
    }
    let session = column(&ran.stdout, 1);
    assert_eq!(steps(&session), INIT);
    assert!(session.contains("(open)"), "{session}");
    for part in [
        "retrieval (RFC 2056 §4)  z39.50r://localhost:",
        "/books?pg1342;esn=f;rs=marc\n",
        "session (RFC 2056 §3)    z39.50s://localhost:",
        "/books\n",
        "A retrieval ends by itself; a session lasts until its user ends it.\n",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} in {ran:?}");
    }
    // Without a terminal, there is no prompt, so the output does not explain what can be typed.
    assert!(!ran.stdout.contains("quit"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80));
}

/// The sentences are generated from the APDUs, so every change in the URL changes the sentences too.
#[test]
fn build_5_the_words_follow_the_url() {
    for (arguments, code, requests, says, never) in [
        (
            &["z39.50r://localhost/books?pg2600;esn=b;rs=sutrs"][..],
            0,
            [INIT, SEARCH, CLOSE].concat(),
            &[
                "docid pg2600 ",
                "element set b, record syntax sutrs.",
                "Finds 1 record and brings a record (sutrs, ",
            ][..],
            "usmarc",
        ),
        (
            &["z39.50r://localhost/books?pg1342"],
            0,
            [INIT, SEARCH, CLOSE].concat(),
            &["record syntax usmarc. If one"],
            "element set",
        ),
        (
            &[
                "z39.50r://lib.example:80/books+serials?pg1342",
                "--strategy",
                "present-only",
            ],
            0,
            [INIT, SEARCH, PRESENT, CLOSE].concat(),
            &[
                "databases \"books\", \"serials\", docid pg1342 ",
                "No record comes with the answer.",
                "Finds 1 record. ",
                "Asks for record 1 of result set default, record syntax usmarc.",
                "Brings “Pride and prejudice : a novel : in three volumes” (usmarc, ",
            ],
            "element set",
        ),
        (
            &["z39.50r://localhost/books?no%20such%1Bid"],
            3,
            [INIT, SEARCH, CLOSE].concat(),
            &[
                "docid no such\\x1bid ",
                "Finds no record.",
                "The retrieval is over, without a record.",
            ],
            "brings",
        ),
        (
            &["z39.50r://localhost/nowhere?pg1342"],
            5,
            [INIT, SEARCH, CLOSE].concat(),
            &["Refuses: diagnostic 235 (there is no database of this name): nowhere."],
            "Finds",
        ),
    ] {
        let ran = tried(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr.is_empty(), code == 0, "{arguments:?}: {ran:?}");
        let retrieval = column(&ran.stdout, 0);
        assert_eq!(steps(&retrieval), requests, "{arguments:?}");
        assert_eq!(steps(&column(&ran.stdout, 1)), INIT, "{arguments:?}");
        let whole = format!("{} {}", words(&retrieval), words(&ran.stdout));
        for part in says {
            assert!(whole.contains(part), "{arguments:?}: {part:?} in {whole}");
        }
        assert!(
            !whole.contains(never),
            "{arguments:?}: {never:?} in {whole}"
        );
        let databases = arguments[0]
            .rsplit('/')
            .next()
            .and_then(|rest| rest.split('?').next());
        let session = format!("/{}\n", databases.expect("databases"));
        assert!(ran.stdout.contains(&session), "{arguments:?}: {ran:?}");
    }
}

/// The log of the client names the APDUs independently of the recording.
#[test]
fn build_5_the_conversations_match_the_log() {
    for (arguments, strategy) in [(&[][..], ""), (&["--strategy", "present-only"], "present")] {
        let ran = tried(&[arguments, &["-vv"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let logged = |word: &str, apdu: &str| {
            let lines = ran.stderr.lines();
            lines
                .filter(|line| line.contains(word) && line.contains(apdu))
                .count()
        };
        let both = format!("{}\n{}", column(&ran.stdout, 0), column(&ran.stdout, 1));
        let steps = steps(&both);
        for (name, apdu) in [
            ("Init request", "initRequest"),
            ("Search request", "searchRequest"),
            ("Present request", "presentRequest"),
        ] {
            let shown = steps.iter().filter(|step| step.contains(name)).count();
            assert_eq!(shown, logged("sent", apdu), "{strategy} {name}: {ran:?}");
        }
        let is_presented = steps.iter().any(|step| step.contains("Present"));
        assert_eq!(is_presented, strategy == "present", "{steps:?}");
    }
}

/// A Chinese character is two columns wide, so the width of text differs from its number of characters.
#[test]
fn build_5_wide_characters_leave_the_columns_straight() {
    let ran = tried(&["z39.50r://localhost/books?pg24264"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut has_wide = false;
    for line in ran.stdout.lines() {
        let Some((left, _)) = line.split_once('│') else {
            continue;
        };
        let wide = left
            .chars()
            .filter(|one| ('\u{2e80}'..).contains(one))
            .count();
        has_wide |= wide > 0;
        assert_eq!(left.chars().count() + wide, 39, "{line:?}");
    }
    assert!(has_wide, "{}", ran.stdout);
}

#[test]
fn build_5_standard_input_is_not_read() {
    let line = "printf 'left\\n' | { \"$0\" try > /dev/null && cat; }";
    let program = path("z3950");
    let ran = run(command("sh").args(["-c", line]).arg(program), "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "left\n"),
        "{ran:?}"
    );
    let ran = z3950_fed(["try"], "find ti:war\n");
    assert!(
        ran.code == Some(0) && !ran.stdout.contains("hits"),
        "{ran:?}"
    );
}

/// The command needs no home directory, no valid configuration and no particular port, and it ignores proxies.
#[test]
fn build_5_it_works_in_any_environment() {
    let running = Daemon::start(["--demo"]);
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("z3950");
    std::fs::create_dir(&configuration).expect("created");
    std::fs::write(configuration.join("targets.toml"), "this is = not [ valid").expect("written");
    std::fs::write(
        folder.path().join(".z3950rc"),
        "open localhost:1/x\nnonsense\n",
    )
    .expect("written");
    let mut command = command(path("z3950"));
    command
        .arg("try")
        .envs([
            ("HTTPS_PROXY", "http://127.0.0.1:1"),
            ("ALL_PROXY", "socks5://127.0.0.1:1"),
            ("LC_ALL", "C"),
        ])
        .env("HOME", folder.path())
        .env("XDG_CONFIG_HOME", folder.path());
    let with_folder = run(&mut command, "");
    let without_home = run(command.env_remove("HOME").env_remove("XDG_CONFIG_HOME"), "");
    for ran in [with_folder, without_home] {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        assert_eq!(steps(&column(&ran.stdout, 0)).len(), 6, "{ran:?}");
        let port = format!(":{}/", running.port());
        assert!(!ran.stdout.contains(&port), "{ran:?}");
    }
}

#[test]
fn build_5_unsupported_arguments_are_refused() {
    for (arguments, words) in [
        (&["z39.50s://localhost/books"][..], "this is a session URL"),
        (&["z39.50r://localhost/books"], "names no record"),
        (&["z39.50r://"], "z39.50r://: "),
        (&["http://localhost/"], "http://localhost/: "),
        (&["z39.50r://ann:geheim@localhost/"], "<redacted>@localhost"),
        (&["--proxy", "none"], "--proxy"),
        (&["--json"], "--json"),
        (
            &["z39.50r://h/d?x", "z39.50r://h/d?y"],
            "unexpected argument",
        ),
    ] {
        let ran = tried(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("geheim"), "{ran:?}");
    }
    for arguments in [["--demo", "try"], ["try", "--demo"]] {
        assert_eq!(z3950(arguments).code, Some(0), "{arguments:?}");
    }
}

#[test]
fn build_5_the_help_of_the_program_begins_with_it() {
    let help = z3950(["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").expect("commands");
    assert!(commands.trim_start().starts_with("try "), "{commands}");
    assert!(help.contains("  z3950 try\n"), "{help}");
}
