//! Tests every command that the help of `z3950` lists. Its examples run, wrong usage is refused, a closed pipe is not an error,
//! and standard output contains only data.

mod shelf;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::LazyLock;

use serde_json::Value;
use z3950::retrieve::OutcomeName;

use z3950_tests::program::{Ran, z3950};

use self::shelf::Shelf;

/// The examples with an exit code other than 0, and their codes.
const CODES: [(&str, i32); 0] = [];

/// The commands whose answers are available as JSON.
const JSON: [&str; 28] = [
    "get",
    "search",
    "scan",
    "explain",
    "lookup",
    "update",
    "order",
    "probe",
    "targets list",
    "targets show",
    "targets check",
    "plan",
    "decode",
    "convert",
    "url parse",
    "url canon",
    "url compare",
    "url build",
    "url resolve",
    "url check",
    "url extract",
    "url wrap",
    "query parse",
    "query to-pqf",
    "query to-cql",
    "query to-ccl",
    "query explain",
    "query indexes",
];

/// A command and its help.
struct Page {
    /// The words of the command after the program's name.
    path: String,
    text: String,
}

impl Page {
    fn of(path: &str) -> Self {
        let ran = z3950(path.split_whitespace().chain(["--help"]));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{path}");
        Self {
            path: path.to_owned(),
            text: ran.stdout,
        }
    }

    /// Returns the lines of a section of the help.
    fn section(&self, title: &str) -> impl Iterator<Item = &str> {
        let mut lines = self
            .text
            .lines()
            .skip_while(move |line| line.strip_suffix(':') != Some(title));
        lines.next();
        lines.take_while(|line| !line.is_empty())
    }

    /// Returns the names of the command's subcommands.
    fn subcommands(&self) -> impl Iterator<Item = &str> {
        let names = self
            .section("Commands")
            .filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help")
    }

    fn examples(&self) -> Vec<&str> {
        let lines = self.section("Examples").map(str::trim);
        lines.filter(|line| !line.starts_with('#')).collect()
    }

    fn has(&self, option: &str) -> bool {
        let mut words = self
            .text
            .lines()
            .filter_map(|line| line.trim_start().split([' ', ',']).next());
        words.any(|word| word == option)
    }

    /// Returns an example with an option added to the command.
    fn with(&self, example: &str, option: &str) -> String {
        let name = format!("z3950 {}", self.path);
        assert!(
            example.contains(&name) || example.contains("--demo"),
            "{example}"
        );
        example.replacen(&name, &format!("{name} {option}"), 1)
    }

    /// Returns an example with `--demo` added if the command accepts it, so that the example does not need a network.
    fn local(&self, example: &str) -> String {
        if self.has("--demo") && !example.contains("--demo") {
            self.with(example, "--demo")
        } else {
            example.to_owned()
        }
    }
}

/// Returns the help of the program and of all its commands and subcommands.
fn pages() -> &'static [Page] {
    static PAGES: LazyLock<Vec<Page>> = LazyLock::new(read_pages);
    &PAGES
}

fn read_pages() -> Vec<Page> {
    let mut pages = vec![Page::of("")];
    let mut index = 0;
    while let Some(page) = pages.get(index) {
        let below = page.subcommands();
        let below: Vec<String> = below
            .map(|name| format!("{} {name}", page.path).trim().to_owned())
            .collect();
        pages.extend(below.iter().map(|path| Page::of(path)));
        index += 1;
    }
    assert!(pages.len() > 30, "{}", pages.len());
    pages
}

/// Returns the commands that do not have subcommands.
fn commands() -> impl Iterator<Item = &'static Page> {
    let pages = pages().iter();
    pages.filter(|page| page.path.is_empty() || page.subcommands().next().is_none())
}

fn code(example: &str) -> i32 {
    let known = CODES.iter().find(|(line, _)| *line == example);
    known.map_or(0, |(_, code)| *code)
}

/// Returns whether standard output contains only data, and standard error does not report an error.
fn is_clean(ran: &Ran) -> bool {
    let labels = ["note:", "warning:", "error:", "usage:", "Usage:"];
    let is_words = |line: &str| labels.iter().any(|label| line.starts_with(label));
    !ran.stdout.lines().any(is_words)
        && !ran.stdout.contains('\u{1b}')
        && !ran.stderr.contains("error:")
}

#[test]
fn audit_d13_every_example_of_every_command_runs() {
    for page in commands() {
        let shelf = Shelf::new();
        let examples = page.examples();
        assert!(
            !examples.is_empty(),
            "{} has an example: {}",
            page.path,
            page.text
        );
        for example in examples {
            let Some(ran) = shelf.run(&page.local(example)) else {
                continue;
            };
            assert_eq!(ran.code, Some(code(example)), "{example}: {ran:?}");
            assert!(is_clean(&ran), "{example}: {ran:?}");
        }
    }
}

#[test]
fn audit_d13_the_help_of_every_command_and_the_manual_have_examples() {
    for page in pages() {
        assert!(!page.examples().is_empty(), "{}", page.text);
        let brief = z3950(page.path.split_whitespace().chain(["-h"]));
        assert_eq!(brief.code, Some(0), "{brief:?}");
        assert!(
            brief.stdout.lines().count() <= page.text.lines().count(),
            "{brief:?}"
        );
        let manual = z3950(["man"].into_iter().chain(page.path.split_whitespace()));
        assert!(manual.stdout.is_ascii() && is_clean(&manual), "{manual:?}");
        assert!(manual.stdout.contains(".SH \"EXAMPLES\"\n"), "{manual:?}");
    }
}

#[test]
fn every_command_refuses_unknown_arguments() {
    for page in pages() {
        let ran = z3950(page.path.split_whitespace().chain(["--no-such-option"]));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{}: {ran:?}",
            page.path
        );
        assert!(
            ran.stderr.contains("--no-such-option"),
            "{}: {ran:?}",
            page.path
        );
    }
}

#[test]
fn a_closed_pipe_is_not_an_error_of_any_command() {
    for page in commands() {
        let shelf = Shelf::new();
        for example in page.examples() {
            if example.contains('>') {
                continue;
            }
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let Some(mut command) = shelf.command(&page.local(example)) else {
                continue;
            };
            let ended = command.stdout(Stdio::from(writer)).output();
            let ran = Ran::from(ended.expect("sh starts"));
            assert_eq!(ran.code, Some(0), "{example}: {ran:?}");
            assert!(is_clean(&ran), "{example}: {ran:?}");
        }
    }
}

/// The documentation page on formats.
const FORMATS: &str = include_str!("../../../client/docs/formats.md");

/// Returns the keys in the first column of the tables under a heading of the documentation page.
pub(crate) fn documented(heading: &str) -> BTreeSet<String> {
    let mut lines = FORMATS
        .lines()
        .skip_while(|line| line.trim_start_matches('#').trim() != heading);
    lines
        .next()
        .unwrap_or_else(|| panic!("{heading} is a heading"));
    let lines = lines.take_while(|line| !line.starts_with('#'));
    let cells = lines.filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Returns the documented keys for a command's answer.
fn keys_of(command: &str, line: &str) -> BTreeSet<String> {
    let judges = command == "probe" && line.contains(" --conformance");
    let heading = match command {
        "url canon" | "url build" => "`url canon`, `url build`",
        "probe" if judges => "`probe --conformance`",
        "targets list" | "targets show" => "`targets list`, `targets show`",
        "query indexes" => "`query indexes`",
        "convert" if line.contains(" --stats") => "`convert --stats`",
        command if command.starts_with("query ") => "`query`",
        command => &format!("`{command}`"),
    };
    let mut keys = documented(heading);
    let of_server = [
        "get",
        "search",
        "scan",
        "lookup",
        "update",
        "order",
        "explain",
        "probe",
        "targets check",
    ];
    if of_server.contains(&command) && !judges {
        keys.extend(documented("Answers of a server"));
    }
    if command.starts_with("url ") && command != "url extract" {
        keys.extend(documented("Faults of a URL"));
    }
    keys.insert("v".to_owned());
    keys
}

/// Checks that each line of the output is an object with the documented keys, of which the version is the first.
fn check_answers(command: &str, line: &str, ran: &Ran) {
    for answer in ran.stdout.lines() {
        let Ok(Value::Object(object)) = serde_json::from_str(answer) else {
            panic!("{line}: {answer} is an object");
        };
        let first = object.iter().next();
        assert_eq!(
            first,
            Some((&"v".to_owned(), &2.into())),
            "{line}: {answer}"
        );
        let found: BTreeSet<String> = object.keys().cloned().collect();
        let mut expected = keys_of(command, line);
        // The parts of a URL depend on the scheme, so any of the documented parts may occur.
        if command == "url parse" {
            let of_schemes = documented("Parts of each scheme");
            expected.extend(found.intersection(&of_schemes).cloned());
        }
        assert_eq!(found, expected, "{line}: {answer}");
        for syntax in ["syntax", "requested_syntax", "record_syntax"] {
            let syntax = object.get(syntax).unwrap_or(&Value::Null);
            let is_one = syntax["name"].is_string() && syntax["oid"].is_string();
            assert!(syntax.is_null() || is_one, "{line}: {answer}");
        }
        if let Some(Value::String(word)) = object.get("outcome") {
            assert!(
                word.parse::<OutcomeName>().is_ok(),
                "{line}: {word} is an outcome"
            );
        }
    }
}

#[test]
fn audit_d12_every_command_with_json_answers_in_the_documented_form() {
    for page in commands() {
        let offers = page.has("--json");
        let is_listed = JSON.contains(&page.path.as_str());
        assert_eq!(offers, is_listed, "{} offers --json", page.path);
        if !offers {
            continue;
        }
        let shelf = Shelf::new();
        let mut answers = 0;
        for example in page.examples() {
            if ["--output", "--octets", "convert --format", "tshark"]
                .iter()
                .any(|word| example.contains(word))
            {
                continue;
            }
            let line = example.split(" > ").next().unwrap_or_default();
            let line = line
                .replace("--format marcxml ", "")
                .replace("--format json ", "")
                .replace("--format csv --fields 001,245ab,year,856u ", "")
                .replace("--format brief", "");
            let line = if line.contains("--json") {
                page.local(&line)
            } else {
                page.local(&page.with(&line.replace("--demo ", ""), "--json"))
            };
            let ran = shelf.run(&line).expect("no other program is named");
            assert_eq!(ran.code, Some(code(example)), "{line}: {ran:?}");
            check_answers(&page.path, &line, &ran);
            answers += ran.stdout.lines().count();
        }
        assert!(
            answers > 0 || page.path == "convert",
            "{} answers",
            page.path
        );
    }
}

#[test]
fn records_of_every_syntax_have_the_documented_keys() {
    let of_every = documented("Records in JSON");
    for (syntax, own) in [
        ("marc", &["leader", "fields"][..]),
        ("xml", &["syntax", "text"]),
        ("sutrs", &["syntax", "text"]),
        ("opac", &["leader", "fields", "syntax", "record"]),
        ("grs-1", &["syntax", "record"]),
    ] {
        let url = format!("z39.50r://localhost/books?pg1342;rs={syntax}");
        let ran = z3950(["--demo", "get", "--format", "json", &url]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let record: Value = serde_json::from_str(&ran.stdout).expect("an object");
        let found: BTreeSet<&str> = record
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        let contents = ["text", "record", "base64"];
        let mut expected: BTreeSet<&str> = of_every.iter().map(String::as_str).collect();
        expected.retain(|key| *key != "syntax" && !contents.contains(key));
        expected.extend(own);
        assert_eq!(found, expected, "{syntax}");
        assert_eq!(record["source"], url.as_str(), "{syntax}");
        if syntax != "sutrs" {
            let title = "Pride and prejudice : a novel : in three volumes";
            assert_eq!(record["title"], title, "{syntax}");
        }
    }
}

#[test]
fn audit_d12_refusals_have_the_documented_form_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = folder.path().join("damaged.mrc");
    std::fs::write(&damaged, "00026nam a2200025 a 4500\x1e\x1d00030").expect("written");
    let damaged = damaged.to_str().expect("text");
    for (line, code) in [
        ("get z39.50r://localhost:1/books?x", 7),
        ("get gopher://localhost:1/0x", 7),
        ("get --demo gopher://localhost/0x", 2),
        ("get --demo z39.50r://localhost/books?none", 3),
        ("search --demo localhost/nowhere ti:war", 5),
        ("search --demo localhost/books nothingatall", 3),
        ("search --demo localhost/books ti:war --parts --count 0", 0),
        ("scan --demo localhost/nowhere ti:war", 5),
        ("lookup --demo localhost/books isbn:0000000000", 3),
        ("order --demo localhost/books ti:nothingatall", 3),
        ("probe localhost:1/books", 6),
        ("targets check localhost:1/books", 6),
        ("plan z39.50r://lib.example", 2),
        ("plan nothing", 2),
        ("url parse z39.50r://", 2),
        ("url canon z39.50r://", 2),
        ("url compare http://h.example/ http://h.example/a", 3),
        ("url compare http://h.example/ z39.50r://", 2),
        ("url build --kind retrieval --host lib.example", 2),
        ("url resolve nothing x", 2),
        ("url check z39.50r://", 8),
        ("url wrap z39.50r://", 2),
        ("query explain @and", 2),
        ("query parse @attr", 2),
        ("query to-ccl --lang cql title=", 2),
        (
            "url parse gopher://h/0x ftp://h/a z39.50s://h/d http://h/ mailto:a@h news:a telnet://h/ wais://h/d file:///a prospero://h/x nntp://h/a/1 urn:x:y",
            0,
        ),
    ] {
        let ran = z3950(line.split(' ').chain(["--json"]));
        assert_eq!(ran.code, Some(code), "{line}: {ran:?}");
        assert!(!ran.stdout.is_empty(), "{line}: {ran:?}");
        let words = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let command = JSON.into_iter().find(|known| words.starts_with(known));
        check_answers(command.expect("a command with --json"), line, &ran);
    }
    let ran = z3950(["convert", "--check", "--json", damaged]);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(!ran.stdout.is_empty(), "{ran:?}");
    check_answers("convert", "convert", &ran);
    assert_eq!(z3950(["convert", "--json", damaged]).code, Some(2));
}

#[test]
fn audit_d12_the_page_on_formats_names_every_outcome() {
    let words = documented("Outcomes");
    let known: BTreeSet<String> = OutcomeName::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(words, known);
}
