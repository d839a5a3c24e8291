//! Every command of `z3950`, found by way of the help: its examples run, wrong usage is refused, a reader that goes away is no
//! fault, and standard output holds nothing but data.

mod shelf;

use std::process::Stdio;

use z3950_tests::program::{Ran, z3950};

use self::shelf::Shelf;

/// Examples that end otherwise than with success.
const CODES: [(&str, i32); 0] = [];

/// A command and its help.
struct Page {
    /// The words behind the program's name.
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

    /// The lines of a section.
    fn section(&self, title: &str) -> impl Iterator<Item = &str> {
        let mut lines = self
            .text
            .lines()
            .skip_while(move |line| line.strip_suffix(':') != Some(title));
        lines.next();
        lines.take_while(|line| !line.is_empty())
    }

    /// The names of the commands below it.
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

    /// An example with another option, in the command that it is about.
    fn with(&self, example: &str, option: &str) -> String {
        let name = format!("z3950 {}", self.path);
        assert!(
            example.contains(&name) || example.contains("--demo"),
            "{example}"
        );
        example.replacen(&name, &format!("{name} {option}"), 1)
    }

    /// An example as it can be run here: what connects gets the built-in catalogue.
    fn local(&self, example: &str) -> String {
        match self.has("--demo") && !example.contains("--demo") {
            true => self.with(example, "--demo"),
            false => example.to_owned(),
        }
    }
}

/// The help of the program and of all commands, those with commands below them included.
fn pages() -> Vec<Page> {
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

/// Those that do something themselves.
fn commands() -> impl Iterator<Item = Page> {
    let pages = pages().into_iter();
    pages.filter(|page| page.path.is_empty() || page.subcommands().next().is_none())
}

fn code(example: &str) -> i32 {
    let known = CODES.iter().find(|(line, _)| *line == example);
    known.map_or(0, |(_, code)| *code)
}

/// Whether words and data are each where they belong.
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
fn every_command_refuses_what_it_does_not_know() {
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
fn a_reader_that_has_gone_away_is_no_fault_of_any_command() {
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
