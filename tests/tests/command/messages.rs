//! Tests of messages: counts are printed instead of long lists, names are printed together with their numbers, and positions of
//! errors are counted in characters from 1.

use std::fs;
use std::path::Path;

use serde_json::Value;
use z3950_server::Offer;
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Daemon, Ran, path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

/// Writes a file with a MARCMaker record that has this title, and returns its path.
fn with_title(folder: &Path, title: &str) -> String {
    let path = folder.join("records.mrk");
    let text = format!("=LDR  00000nam a2200000 a 4500\n=001  m1\n=245  10$a{title}\n");
    fs::write(&path, text).expect("written");
    path.to_str().expect("text").to_owned()
}

fn has_short_lines(ran: &Ran) -> bool {
    let lines = ran.stderr.lines().chain(ran.stdout.lines());
    lines.map(str::len).all(|length| length < 300)
}

#[test]
fn r_f14_characters_that_are_lost_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = folder.path().join("written.mrc");
    let written = written.to_str().expect("text");
    let to = |charset: &str, title: &str| {
        let input = with_title(folder.path(), title);
        let options = ["--to", "marc", "--overwrite", "--output", written];
        z3950(
            ["convert", "--to-charset", charset, &input]
                .iter()
                .chain(&options),
        )
    };
    for (charset, title, code, words) in [
        (
            "iso-8859-1",
            "Жук’“”漢字한국어".repeat(40),
            8,
            "440 characters are not in ISO-8859-1 and are written as ?: Ж (U+0416), у (U+0443), к (U+043A) and 8 others",
        ),
        (
            "iso-8859-1",
            "Ж".to_owned(),
            8,
            "Ж (U+0416) is not in ISO-8859-1; ? is written",
        ),
        (
            "iso-8859-1",
            "ЖЖ".to_owned(),
            8,
            "2 characters are not in ISO-8859-1 and are written as ?: Ж (U+0416)\n",
        ),
        (
            "marc-8",
            "’𝄞".to_owned(),
            0,
            "2 characters are not in MARC-8 and are written as references such as &#x2019;: ’ (U+2019), 𝄞 (U+1D11E)",
        ),
    ] {
        let ran = to(charset, &title);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(has_short_lines(&ran), "{ran:?}");
    }
}

#[test]
fn r_f14_octets_that_are_not_text_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("latin.mrc");
    let title = [&b"10\x1fa"[..], &b"\xe9tude ".repeat(50)].concat();
    let field = format!("245{:04}00000", title.len() + 1);
    let base = 24 + field.len() + 1;
    let length = base + title.len() + 2;
    let leader = format!("{length:05}nam a22{base:05} a 4500");
    let octets = [
        leader.as_bytes(),
        field.as_bytes(),
        b"\x1e",
        &title,
        b"\x1e\x1d",
    ]
    .concat();
    fs::write(&path, octets).expect("written");
    let ran = z3950(["convert", "--to", "json", path.to_str().expect("text")]);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(
        ran.stderr.contains("; 47 more places like these\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.lines().all(|line| line.len() < 300),
        "{}",
        ran.stderr
    );
}

#[test]
fn r_f14_object_identifiers_are_named() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .rule("on present: fail 239 1.2.840.10003.5.10")
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950_fed(
        ["open", &target],
        "set_titles off\nssub 0\nlslb 1\nmspn 0\nfind @attr 1=1032 id7\nshow 1\n",
    );
    let words = "diagnostic 239 (the server does not offer this record syntax): 1.2.840.10003.5.10 (usmarc)";
    assert!(ran.stderr.contains(words), "{ran:?}");
    for (line, shown) in [
        (
            "plan z39.50r://h/d?x;rs=marc",
            "1.2.840.10003.5.10 (usmarc)",
        ),
        ("targets show loc", "usmarc (1.2.840.10003.5.10)"),
    ] {
        let ran = z3950(line.split(' '));
        assert!(ran.stdout.contains(shown), "{ran:?}");
    }
}

#[test]
fn r_f14_near_names_of_profiles_are_suggested() {
    let hint = "did you mean loc (Library of Congress, online catalogue)?\n";
    for word in ["lco", "locc", "LOC1", "congress"] {
        let ran = z3950(["targets", "show", word]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.ends_with(hint), "{word}: {ran:?}");
    }
}

#[test]
fn r_f14_profiles_are_shown_and_written_in_short_lines() {
    let daemon = Daemon::start(["--demo"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let file = file.to_str().expect("text");
    let url = format!("http://{}/books", daemon.address());
    let ran = z3950(["targets", "add", "sru", "--from", &url, "--targets", file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = fs::read_to_string(file).expect("written");
    assert!(written.contains("title = \"dc.title\"\n"), "{written}");
    assert!(!written.contains("bib1."), "{written}");
    assert!(written.lines().count() < 30, "{written}");
    let ran = z3950(["targets", "show", "sru", "--targets", file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in [
        "sru             version 2.0, method get, schema marcxml\n",
        "sru indexes     title = dc.title\n",
        "                isbn = bath.isbn\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(
        ran.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ran.stdout
    );
    let ran = z3950(["search", "sru", "ti:war", "--count", "0", "--targets", file]);
    assert_eq!(ran.stdout, format!("9 sru (http://{})\n", daemon.address()));
}

/// Tests that positions in queries and URLs count characters from 1, and that offsets in JSON count octets from 0.
#[test]
fn r_f14_places_in_a_text_are_counted_from_1() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let target = format!("{}/cat", server.addr());
    for (line, words) in [
        (
            "url parse z39.50r://h/d;x",
            "malformed parameter at character 14: write `;keyword=value`",
        ),
        ("url parse :x", "no scheme at character 1: "),
        (
            "get z39.50r://h:99999999/d?x",
            "port out of range at character 13",
        ),
        (
            "query parse @attr",
            "an attribute is missing at character 6 of the query",
        ),
    ] {
        let ran = z3950(line.split(' '));
        assert_ne!(ran.code, Some(0), "{ran:?}");
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains(words), "{words}: {said}");
        assert!(!said.contains("at octet"), "{said}");
    }
    let ran = z3950(["search", &target, "ccl:("]);
    assert!(ran.stderr.contains("at character "), "{ran:?}");
    let ran = z3950(["url", "parse", "--json", "z39.50r://h/d;x"]);
    assert!(ran.stdout.contains("\"offset\":13,"), "{ran:?}");
}

/// Tests that a script is told how the server's questions were answered, and where the answers can be given.
#[test]
fn r_f9_a_script_gets_a_note_about_questions_that_it_cannot_be_asked() {
    let mut offer = Offer::default();
    offer.ask_above = Some(1);
    let server = TestServer::builder()
        .database("cat", [record("id7", "War"), record("id8", "War again")])
        .offer(offer)
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950_fed(["open", &target], "find @attr 1=4 war\n");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "2 hits\n"),
        "{ran:?}"
    );
    let words = "the server asks whether to continue Search: 2 records found; a script cannot be asked, so it continues\n";
    assert!(ran.stderr.contains(words), "{ran:?}");
}

/// Tests that output, report and messages are in UTF-8 regardless of the locale, with letters of any script and writing
/// direction.
#[test]
fn reports_of_any_script_are_the_same_in_any_locale() {
    let server = TestServer::builder()
        .database(
            "cat",
            [record("id7", "戦争と平和"), record("id8", "מלחמה ושלום")],
        )
        .start();
    let target = format!("{}/cat", server.addr());
    let results = ["C.UTF-8", "C", "de_DE.ISO-8859-1"].map(|locale| {
        let folder = tempfile::tempdir().expect("a folder");
        let inputs = "戦争と平和\nמלחמה\nالحرب\n";
        fs::write(folder.path().join("inputs.txt"), inputs).expect("written");
        let mut command = command(path("z3950"));
        command
            .args(["search", &target, "--input", "inputs.txt"])
            .args(["--output", "found.csv", "--report", "report.jsonl"])
            .current_dir(folder.path())
            .env("LC_ALL", locale);
        let ran = run(&mut command, "");
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("UTF-8");
        let report = read("report.jsonl")
            .lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                line["milliseconds"] = Value::Null;
                line
            })
            .collect::<Vec<_>>();
        assert_eq!(report[1]["input"], "מלחמה");
        assert_eq!(report[2]["outcome"], "no match");
        (read("found.csv"), report, ran.stderr)
    });
    assert!(results[0].0.contains("id7,戦争と平和,"), "{results:?}");
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}
