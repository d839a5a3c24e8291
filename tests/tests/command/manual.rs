//! Tests of the help and the manual pages of both programs. `-h` fits on a screen, every command has a page, and the pages are
//! valid.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use z3950_asn1::query::names::TABLE;
use z3950_tests::peer::find;
use z3950_tests::program::run;
use z3950_tests::surroundings::command;

use super::names::{Command, commands, ran};

/// The maximum numbers of lines and columns of `-h`.
const BRIEF: (usize, usize) = (25, 100);

#[test]
fn audit_d13_r_f12_the_short_help_of_every_command_fits_a_screen() {
    for command in commands() {
        let name = command.name();
        let brief = ran(command.program, &format!("{} -h", command.path));
        assert_eq!(brief.code, Some(0), "{name}: {brief:?}");
        let lines: Vec<&str> = brief.stdout.lines().collect();
        let (most, columns) = BRIEF;
        assert!(
            lines.len() <= most,
            "{name} has {}: {}",
            lines.len(),
            brief.stdout
        );
        for line in &lines {
            // URLs are not wrapped, so they may exceed the width.
            let is_word = !line.trim().contains(' ');
            assert!(is_word || line.chars().count() <= columns, "{name}: {line}");
        }
        let whole = ran(command.program, &format!("{} --help", command.path)).stdout;
        assert!(brief.stdout.contains("\nUsage: "), "{name}");
        assert!(brief.stdout.contains(" --help"), "{name}");
        let is_root = command.path.is_empty() && command.program == "z3950";
        assert!(
            is_root || brief.stdout.contains("\nExamples:\n"),
            "{name}: {}",
            brief.stdout
        );
        assert!(whole.lines().count() > lines.len(), "{name}");
        for line in whole.lines() {
            // Examples are single lines, so that they can be copied.
            let begins = ["  # ", "  z3950", "  echo ", "  tshark "];
            let is_example = begins.iter().any(|begin| line.starts_with(begin));
            let is_word = !line.trim().contains(' ');
            assert!(
                is_example || is_word || line.chars().count() <= columns,
                "{name}: {line}"
            );
        }
    }
}

#[test]
fn r_f12_the_end_of_help_wraps_between_words() {
    let help = ran("z3950d", "--help").stdout;
    let (_, end) = help.split_once("\nOutput:\n").expect("a section");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_row = |line: &str| line.trim_start().contains("  ");
    let lines: Vec<&str> = end.lines().collect();
    let mut compared = 0;
    for (line, next) in lines.iter().zip(&lines[1..]) {
        let is_continued = indent(line) == indent(next) && !is_row(line) && !is_row(next);
        if is_continued && !line.is_empty() {
            let first = next.split_whitespace().next().unwrap_or_default();
            let length = line.chars().count() + 1 + first.chars().count();
            assert!(length > BRIEF.1, "{line}\n{next}");
            compared += 1;
        }
    }
    assert!(compared > 3, "{end}");
    assert!(end.contains("\n  SIGHUP           reload"), "{end}");
}

/// Writes the pages of both programs to a folder, and returns them by name.
fn pages(folder: &Path) -> BTreeMap<String, String> {
    for program in ["z3950", "z3950d"] {
        let written = ran(program, &format!("man --output {}", folder.display()));
        assert_eq!(
            (
                written.code,
                written.stdout.as_str(),
                written.stderr.as_str()
            ),
            (Some(0), "", "")
        );
    }
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files
        .map(|file| {
            let name = file.file_name().into_string().expect("UTF-8");
            let text = fs::read_to_string(file.path()).expect("UTF-8");
            (name, text)
        })
        .collect()
}

/// Returns the name of the page that describes a command.
fn page_of(command: &Command) -> String {
    match command.path.split(' ').next() {
        None | Some("") => format!("{}.1", command.program),
        Some(name) => format!("{}-{name}.1", command.program),
    }
}

#[test]
fn r_f12_every_command_has_a_manual_page() {
    let folder = TempDir::new().expect("a folder");
    let pages = pages(folder.path());
    let mut described = 0;
    for command in commands() {
        let name = page_of(command);
        let page = pages.get(&name).unwrap_or_else(|| panic!("{name}"));
        let mut from = 0;
        for title in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXAMPLES",
            "EXIT STATUS",
            "ENVIRONMENT",
            "SEE ALSO",
        ] {
            let at = page.find(&format!("\n.SH \"{title}\"\n"));
            let at = at.unwrap_or_else(|| panic!("{title} in {name}"));
            assert!(at > from, "{title} of {name} is in order");
            from = at;
        }
        for option in &command.options {
            let long = format!("\\-\\-{}", option.long.replace('-', "\\-"));
            assert!(page.contains(&long), "--{} in {name}", option.long);
            described += 1;
        }
        let asked = ran(command.program, &format!("man {}", command.path));
        assert_eq!(&asked.stdout, page, "{name}");
        assert!(page.is_ascii(), "{name}");
    }
    assert!(described > 500, "{described}");
    for name in [
        "z3950-get.1",
        "z3950-search.1",
        "z3950-targets.1",
        "z3950d.1",
    ] {
        assert!(pages[name].contains("\n.SH \"FILES\"\n"), "{name}");
    }
    let unknown = ran("z3950", "man serch");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("search, "), "{unknown:?}");
    let again = ran("z3950", &format!("man -o {}", folder.path().display()));
    assert_eq!(again.code, Some(2), "{again:?}");
    let again = ran(
        "z3950d",
        &format!("man -o {} --overwrite", folder.path().display()),
    );
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn r_f12_text_about_several_commands_is_printed_once() {
    let folder = TempDir::new().expect("a folder");
    let pages = pages(folder.path());
    let with = |text: &str| -> Vec<&str> {
        let text = text.replace('-', "\\-");
        let pages = pages.iter();
        let found = pages.filter(|(_, page)| page.replace('\n', " ").contains(&text));
        found.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(with("MARC as MarcXchange (ISO 25577)"), ["z3950-formats.7"]);
    assert_eq!(with("fields such as 001, 020a"), ["z3950-formats.7"]);
    assert_eq!(with("MARC as Dublin Core in XML"), ["z3950-formats.7"]);
    assert!(with("z3950-formats(7)").len() >= 6);
    for index in TABLE {
        let pages = with(&format!("(Use {}), as in", index.use_value));
        assert_eq!(pages, ["z3950-queries.7"], "{}", index.name);
        let names = std::iter::once(&index.name).chain(index.aliases);
        for name in names {
            assert!(pages_have(&pages, name), "{name}");
        }
    }
    let printed = ran("z3950d", "--print-config").stdout;
    let settings = pages["z3950d.toml.5"].replace("\\-", "-");
    let keys = printed.lines().filter_map(|line| {
        let key = line.trim_start_matches('#').split(" = ").next()?;
        let is_key = !key.is_empty()
            && key
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-');
        (is_key && line.contains(" = ")).then_some(key)
    });
    let keys: Vec<&str> = keys.collect();
    assert!(keys.len() > 100, "{keys:?}");
    for key in keys {
        assert!(settings.contains(&format!("{key} = ")), "{key}");
    }
}

/// Returns whether `pages` consists only of the page on queries, and this page lists the name of the index.
fn pages_have(pages: &[&str], name: &str) -> bool {
    let text = ran("z3950", "man queries").stdout;
    let terms = text.lines().filter(|line| line.starts_with("\\fB"));
    let mut names = terms.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()));
    pages == ["z3950-queries.7"]
        && names.any(|known| known.trim_start_matches("fB").trim_end_matches("fR") == name)
}

#[test]
fn r_f12_man_and_mandoc_find_no_fault_in_the_pages() {
    let folder = TempDir::new().expect("a folder");
    let pages = pages(folder.path());
    assert!(pages.len() > 25, "{:?}", pages.keys());
    let paths = pages.keys().map(|name| folder.path().join(name));
    let paths: Vec<_> = paths.collect();
    if let Some(mandoc) = find("mandoc") {
        for path in &paths {
            let mut lint = command(&mandoc);
            let found = run(lint.args(["-T", "lint", "-W", "style"]).arg(path), "");
            let told: Vec<&str> = found.stdout.lines().chain(found.stderr.lines()).collect();
            // A page may refer to pages that are not installed yet.
            let faults = told
                .iter()
                .filter(|line| !line.contains("referenced manual not found"));
            let faults: Vec<_> = faults.collect();
            assert!(faults.is_empty(), "{faults:#?}");
        }
    }
    if find("groff").is_none() {
        return;
    }
    let Some(man) = find("man") else {
        return;
    };
    for path in &paths {
        let mut shown = command(&man);
        shown.args(["--warnings", "-E", "UTF-8", "-l"]).arg(path);
        let shown = run(shown.env("MANWIDTH", "80"), "");
        assert_eq!(
            (shown.code, shown.stderr.as_str()),
            (Some(0), ""),
            "{path:?}"
        );
        assert!(shown.stdout.contains("SEE ALSO"), "{path:?}");
        for line in shown.stdout.lines() {
            // Examples are not wrapped, so they may exceed the width.
            let is_example = line.starts_with("           ");
            assert!(is_example || line.chars().count() <= 80, "{path:?}: {line}");
        }
    }
}
