//! Tests that names are consistent. In all commands of `z3950` and `z3950d`, an option of the same name takes the same kind of
//! value and has the same letter, and its aliases are accepted everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use z3950_tests::program::{Ran, path, run};
use z3950_tests::surroundings::command;

/// Runs a program with a line of arguments.
pub(super) fn ran(program: &str, line: &str) -> Ran {
    run(command(path(program)).args(line.split_whitespace()), "")
}

/// An option in the help of a command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HelpOption {
    pub(super) long: String,
    short: Option<String>,
    /// The placeholder for its value, such as `FILE`.
    value: Option<String>,
}

/// A command of one of the programs.
pub(super) struct Command {
    pub(super) program: &'static str,
    /// The words after the name of the program.
    pub(super) path: String,
    pub(super) options: Vec<HelpOption>,
}

impl Command {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.program, self.path).trim().to_owned()
    }

    fn has(&self, long: &str) -> bool {
        self.options.iter().any(|option| option.long == long)
    }
}

/// Returns the option at the beginning of a line of help.
fn option(line: &str) -> Option<HelpOption> {
    let line = line.trim_start();
    let (short, rest) = match line.strip_prefix("--") {
        Some(rest) => (None, rest),
        None => {
            let (short, rest) = line.strip_prefix('-')?.split_once(", --")?;
            (Some(short.to_owned()), rest)
        }
    };
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let (long, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let value = rest.trim_start_matches([' ', '[', '=']).strip_prefix('<');
    Some(HelpOption {
        long: long.to_owned(),
        short,
        value: value.and_then(|value| Some(value.split_once('>')?.0.to_owned())),
    })
}

/// Returns all commands of both programs.
pub(super) fn commands() -> &'static [Command] {
    static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(read_commands);
    &COMMANDS
}

fn read_commands() -> Vec<Command> {
    let mut all = Vec::new();
    for program in ["z3950", "z3950d"] {
        let mut paths = vec![String::new()];
        while let Some(path) = paths.pop() {
            let help = ran(program, &format!("{path} --help"));
            assert_eq!(help.code, Some(0), "{program} {path}: {help:?}");
            let mut lines = help.stdout.lines();
            let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
            let options = lines.clone().filter(is_option).filter_map(option).collect();
            if lines.any(|line| line == "Commands:") {
                let names = lines.take_while(|line| !line.is_empty());
                let names = names.filter(|line| !line.starts_with("   "));
                let names = names.filter_map(|line| line.split_whitespace().next());
                let names = names.filter(|name| *name != "help");
                paths.extend(names.map(|name| format!("{path} {name}").trim().to_owned()));
            }
            all.push(Command {
                program,
                path,
                options,
            });
        }
    }
    assert!(all.len() > 38, "{}", all.len());
    all
}

/// The options whose values differ between commands, with the possible values. The comments give the reasons.
const SEVERAL_VALUES: [(&str, &[&str]); 9] = [
    // `scan` does not accept `all`, because that would amount to downloading the index.
    ("count", &["NUMBER", "NUMBER|all"]),
    // The value is a name, a name with the path of its files, or the path of a URL.
    ("database", &["NAME", "NAME=PATH", "PATH"]),
    // The option has no value if the input names the records to delete from a search engine. Otherwise, the value names the
    // fields to delete.
    ("delete", &["", "FIELD,..."]),
    // The value is a docid, the field that contains the docid, or the attributes that find it.
    ("docid", &["ATTRIBUTES", "ID", "TAG[$c]"]),
    // The value is a file format, the URL of a server, or a kind of text.
    ("from", &["FORM", "URL", "WHAT"]),
    // The value is the kind of an identifier, or the kind of a URL.
    ("kind", &["KIND", "session|retrieval"]),
    // A batch can write a file for each input.
    ("output", &["FILE", "FILE|FOLDER/", "FOLDER"]),
    // The value names columns of a table, or keys by which a server sorts.
    ("sort", &["KEY,...", "KEY[:desc]"]),
    // The value is a query for records, or the words of a Gopher search.
    ("query", &["QUERY", "TERM"]),
];

#[test]
fn r_f10_an_option_of_a_name_is_the_same_in_all_commands() {
    let mut named: BTreeMap<String, Vec<(String, HelpOption)>> = BTreeMap::new();
    let mut letters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for command in commands() {
        // The option --version that all commands share is left out, but the option of `update` with this name is not; its value
        // is the version of a service.
        let is_own = |option: &&HelpOption| option.long != "version" || option.value.is_none();
        for option in command.options.iter().filter(is_own) {
            if let Some(short) = &option.short {
                let names = letters.entry(short.clone()).or_default();
                names.insert(option.long.clone());
            }
            let of_name = named.entry(option.long.clone()).or_default();
            of_name.push((command.name(), option.clone()));
        }
    }
    for (short, names) in &letters {
        assert_eq!(names.len(), 1, "-{short} is {names:?}");
    }
    for (name, options) in &named {
        let letters: BTreeSet<_> = options.iter().map(|(_, option)| &option.short).collect();
        assert_eq!(letters.len(), 1, "--{name}: {options:#?}");
        let values = options
            .iter()
            .map(|(_, option)| option.value.as_deref().unwrap_or_default());
        let values: BTreeSet<_> = values.collect();
        let known = SEVERAL_VALUES.iter().find(|(known, _)| known == name);
        match known {
            Some((_, known)) => {
                let known: BTreeSet<_> = known.iter().copied().collect();
                assert_eq!(values, known, "--{name}: {options:#?}");
            }
            None => assert_eq!(values.len(), 1, "--{name}: {options:#?}"),
        }
    }
    for (short, long) in [
        ("o", "output"),
        ("f", "format"),
        ("n", "count"),
        ("q", "quiet"),
        ("v", "verbose"),
    ] {
        let names: Vec<_> = letters.get(short).into_iter().flatten().collect();
        assert_eq!(names, [long], "-{short}");
    }
}

/// Each row has the name of a command (or an empty string for all commands that have the option), the name of the option, and an
/// alias of the option, with a value if it takes one.
const OTHER_NAMES: [(&str, &str, &str); 23] = [
    ("", "format", "-f=json"),
    ("", "output", "-o=x"),
    ("", "quiet", "-q"),
    ("", "verbose", "-v"),
    ("", "count", "-n=1"),
    ("", "count", "--limit=1"),
    ("", "start", "--offset=1"),
    ("", "overwrite", "--force"),
    ("", "certificate", "--cert=x"),
    ("", "lang", "--language=pqf"),
    ("z3950 convert", "format", "--to=marc"),
    ("z3950 scan", "count", "--size=1"),
    ("z3950 url build", "syntax", "--record-syntax=marc"),
    ("z3950d", "sessions", "--max-sessions=1"),
    (
        "z3950d",
        "sessions-per-address",
        "--max-sessions-per-address=1",
    ),
    ("z3950d", "idle-time", "--idle-timeout=1"),
    ("z3950d", "drain-time", "--drain=1"),
    ("z3950d", "config", "--man"),
    ("z3950d", "config", "--completions=bash"),
    ("z3950d load", "state", "--resume=x"),
    ("z3950 search", "start", "--offset=0"),
    ("z3950 convert", "start", "--offset=0"),
    ("z3950", "quiet", "--man"),
];

#[test]
fn r_f10_every_command_accepts_the_other_names_of_its_options_and_shows_one() {
    let commands = commands();
    for (name, long, other) in OTHER_NAMES {
        let of_name = |command: &&Command| name.is_empty() || command.name() == name;
        let mut found = 0;
        for command in commands.iter().filter(of_name) {
            if !command.has(long) {
                continue;
            }
            found += 1;
            let accepted = ran(command.program, &format!("{} {other} --help", command.path));
            assert_eq!(accepted.code, Some(0), "{}: {accepted:?}", command.name());
            let other = other.split('=').next().unwrap_or(other);
            let shown = command.options.iter().any(|option| {
                other == format!("--{}", option.long) && other != format!("--{long}")
            });
            assert!(!shown, "{} {other}", command.name());
        }
        assert!(found > 0, "{name} has --{long}");
    }
    for command in commands {
        for (long, short) in [("quiet", "-q"), ("verbose", "-v")] {
            assert!(command.has(long), "{} {short}", command.name());
        }
    }
}

#[test]
fn r_f10_the_other_names_do_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("books.mrc");
    let file = file.to_str().expect("UTF-8");
    let books = ran(
        "z3950",
        &format!("search --demo localhost/books ti:war -f marc -n 5 -o {file}"),
    );
    assert_eq!(books.code, Some(0), "{books:?}");
    let (one, two) = (folder.path().join("one.txt"), folder.path().join("two.txt"));
    let (one, two) = (one.display(), two.display());
    fs::write(folder.path().join("two.txt"), "old").expect("written");
    for (program, new, old) in [
        (
            "z3950",
            format!("convert {file} -f mrk --start 2 -n 3"),
            format!("convert {file} --to mrk --offset 1 --limit 3"),
        ),
        (
            "z3950",
            "search --demo localhost/books ti:war --start 3 -n 2 -f brief".to_owned(),
            "search --demo localhost/books ti:war --offset 2 --limit 2 --format brief".to_owned(),
        ),
        (
            "z3950",
            "scan --demo localhost/books ti:war -n 3".to_owned(),
            "scan --demo localhost/books ti:war --size 3".to_owned(),
        ),
        (
            "z3950",
            "url build --kind session --host h --database d --docid i --syntax xml".to_owned(),
            "url build --kind session --host h --database d --docid i --record-syntax xml"
                .to_owned(),
        ),
        (
            "z3950",
            format!("convert {file} -f mrk -o {one}"),
            format!("convert {file} -f mrk --output {two} --force"),
        ),
        ("z3950", "man".to_owned(), "--man".to_owned()),
        (
            "z3950",
            "completions fish".to_owned(),
            "--completions fish".to_owned(),
        ),
        ("z3950d", "man".to_owned(), "--man".to_owned()),
        (
            "z3950d",
            "completions zsh".to_owned(),
            "--completions=zsh".to_owned(),
        ),
    ] {
        let (new, old) = (ran(program, &new), ran(program, &old));
        assert_eq!(new.code, Some(0), "{new:?}");
        assert_eq!(
            (new.code, &new.octets, &new.stderr),
            (old.code, &old.octets, &old.stderr)
        );
    }
    let read = |name| fs::read(folder.path().join(name)).expect(name);
    assert!(read("one.txt").starts_with(b"=LDR") && read("one.txt") == read("two.txt"));
}

#[test]
fn r_f10_quiet_leaves_out_notes_and_keeps_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("no.mrc");
    let unread = file.to_str().expect("UTF-8");
    let empty = folder.path().join("empty.mrc");
    fs::write(&empty, "").expect("written");
    let empty = empty.to_str().expect("UTF-8");
    for (program, line, is_error) in [
        (
            "z3950",
            "search --demo localhost/books ti:war -n 1".to_owned(),
            false,
        ),
        ("z3950", format!("convert {empty}"), false),
        (
            "z3950",
            "--demo get z39.50r://localhost/books?war".to_owned(),
            true,
        ),
        ("z3950", format!("convert {unread}"), true),
        ("z3950d", "--demo --check".to_owned(), false),
        ("z3950d", format!("--database a={unread} --check"), true),
        ("z3950d", format!("load {unread}"), true),
    ] {
        let loud = ran(program, &line);
        for quiet in [
            format!("{line} -q"),
            format!("{line} --quiet"),
            format!("-q {line}"),
        ] {
            let ran = ran(program, &quiet);
            assert_eq!(
                (ran.code, &ran.octets),
                (loud.code, &loud.octets),
                "{quiet}"
            );
            assert_eq!(ran.stderr.is_empty(), !is_error, "{quiet}: {ran:?}");
            assert!(!ran.stderr.contains("note: "), "{quiet}: {ran:?}");
        }
        assert!(
            program == "z3950d" || is_error || !loud.stderr.is_empty(),
            "{loud:?}"
        );
    }
    for program in ["z3950 --demo get x -q -v", "z3950d --demo -q -v"] {
        let (name, line) = program.split_once(' ').expect("a line");
        assert_eq!(ran(name, line).code, Some(2), "{program}");
    }
}

#[test]
fn r_f10_the_prompt_takes_the_same_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("war.mrc");
    let file = file.display();
    let script = format!(
        "scan -n 3 ti:war\nscan --size 3 ti:war\nsearch -f brief -n 1 ti:war\nsearch --format brief --limit 1 ti:war\n\
         save {file}\nsave --overwrite {file}\nsave --force {file}\nscan -n\n"
    );
    let mut program = command(path("z3950"));
    let ran = run(program.args(["--demo", "open", "localhost/books"]), &script);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.len() > 8 && lines[..3] == lines[3..6], "{ran:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:?}");
}
