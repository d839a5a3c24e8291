//! Compares `CONFORMANCE.md` with the tests. Every ID in use must have a row in the document, and the tests named in each row
//! must exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../CONFORMANCE.md");
/// The letters before the hyphen of an ID. In IDs that begin with `Q-` or `R-`, another letter follows the hyphen.
const FAMILIES: &str = "AGILMSUZQR";
/// The letters after `R-` that stand for the findings of the second audit about the founding documents. The other findings of
/// this audit have tests, but no rows in the document.
const SECOND: &str = "DE";
/// The number of findings of each kind that the audit lists.
const FOUND: [(char, u32); 4] = [('A', 9), ('B', 20), ('C', 9), ('D', 20)];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A row of a table in the document.
struct Row {
    id: &'static str,
    /// The number of the table that contains the row.
    table: usize,
    requirement: &'static str,
    proofs: Vec<Proof>,
}

/// A proof that a row names.
#[derive(Debug, PartialEq)]
enum Proof {
    /// A file that contains the id of the row, or the given ids of other rows.
    Ids(&'static str, Vec<&'static str>),
    /// A test function, by its file and name.
    Test(&'static str, &'static str),
}

fn proof(cell: &'static str) -> Option<Proof> {
    let (before, rest) = cell.split_once('[')?;
    let (file, after) = rest.split_once(']')?;
    if before.is_empty() {
        Some(Proof::Ids(file, after.split_whitespace().collect()))
    } else {
        let name = before.strip_prefix('`')?.strip_suffix("` in ")?;
        after.is_empty().then_some(Proof::Test(name, file))
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut table = 0;
    for line in DOCUMENT.lines() {
        let Some(line) = line.strip_prefix("| ") else {
            continue;
        };
        let cells: Vec<&str> = line.trim_end_matches(" |").split(" | ").collect();
        let [id, .., requirement, proofs] = cells[..] else {
            panic!("{line}");
        };
        if id == "id" {
            table += 1;
            continue;
        }
        let proofs = proofs.split(", ").map(|cell| {
            proof(cell).unwrap_or_else(|| panic!("{id} is proved by {cell:?}, which is not a test"))
        });
        rows.push(Row {
            id,
            table,
            requirement,
            proofs: proofs.collect(),
        });
    }
    assert!(rows.len() > 300, "the tables are found");
    rows
}

/// Returns the files linked in the document, by link name.
fn files() -> BTreeMap<&'static str, (PathBuf, String)> {
    let links = DOCUMENT.lines().filter_map(|line| {
        let (name, path) = line.strip_prefix('[')?.split_once("]: ")?;
        let path = folder().join(path);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Some((name, (path, text)))
    });
    links.collect()
}

/// Returns the sort key of an ID: its family, the letter of a finding or `CANON`, and its numbers.
fn key(id: &str) -> Option<(char, &str, Vec<u32>)> {
    let (family, rest) = id.split_once('-')?;
    let mut letters = family.chars();
    let (family, None) = (letters.next()?, letters.next()) else {
        return None;
    };
    if !FAMILIES.contains(family) {
        return None;
    }
    let (word, numbers) = match family {
        'Q' => rest
            .split_at_checked(1)
            .filter(|(word, _)| "ABCD".contains(word))?,
        'R' => rest
            .split_at_checked(1)
            .filter(|(word, _)| SECOND.contains(word))?,
        'Z' => rest
            .strip_prefix("CANON.")
            .map_or(("", rest), |rest| ("CANON", rest)),
        _ => ("", rest),
    };
    let digits = |part: &str| part.bytes().all(|octet| octet.is_ascii_digit());
    let numbers = numbers
        .split('.')
        .map(|part| part.parse().ok().filter(|_| digits(part)));
    Some((family, word, numbers.collect::<Option<_>>()?))
}

/// Returns the IDs in the text. An ID is a word such as `Z-5.1`, or occurs in the name of a test such as `audit_b4_…`,
/// `audit_r_e1_…` or `z_7_2_…`.
fn ids(text: &str) -> BTreeSet<String> {
    let part_of_one = |c: char| c.is_alphanumeric() || "-._".contains(c);
    let words = text.split(|c| !part_of_one(c));
    words
        .filter_map(|word| {
            let word = word.trim_end_matches(['.', '-', '_']);
            key(word).map(|_| word.to_owned()).or_else(|| named(word))
        })
        .collect()
}

/// Returns the ID with which the name of a test begins.
fn named(word: &str) -> Option<String> {
    if let Some(rest) = word.strip_prefix("audit_r_") {
        let id = format!("R-{}", rest.split('_').next()?.to_ascii_uppercase());
        return key(&id).is_some().then_some(id);
    }
    if let Some(rest) = word.strip_prefix("audit_") {
        let (letter, number) = rest.split('_').next()?.split_at_checked(1)?;
        number.parse::<u32>().ok()?;
        return Some(format!("Q-{}{number}", letter.to_ascii_uppercase()));
    }
    let mut parts = word.split('_');
    let family = parts.next().filter(|part| part.len() == 1)?;
    let numbers = parts.take_while(|part| part.bytes().all(|octet| octet.is_ascii_digit()));
    let numbers: Vec<&str> = numbers.filter(|part| !part.is_empty()).collect();
    let id = format!("{}-{}", family.to_ascii_uppercase(), numbers.join("."));
    (family.chars().all(|c| c.is_ascii_lowercase()) && !numbers.is_empty() && key(&id).is_some())
        .then_some(id)
}

/// Returns the names of test functions in a Rust source.
fn tests(source: &str) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if std::mem::take(&mut is_test) {
                tests.insert(name);
            }
        }
    }
    tests
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if ["rs", "tsv", "hex", "toml", "md", "py"]
            .iter()
            .any(|extension| path.extension().is_some_and(|other| other == *extension))
        {
            found.push(path);
        }
    }
}

/// Returns every source, fixture and page in the repository, except the document itself.
fn everything() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(folder().parent().expect("the workspace"), &mut found);
    found.retain(|path| !path.ends_with("tests/CONFORMANCE.md"));
    assert!(found.len() > 500, "the sources are found");
    let read = |path: PathBuf| {
        let text = fs::read(&path).expect("readable");
        (path, String::from_utf8_lossy(&text).into_owned())
    };
    found.into_iter().map(read).collect()
}

/// Fails with a message that lists all faults, if there are any.
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn rows_are_in_order_and_say_something() {
    let rows = rows();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for row in &rows {
        let id = row.id;
        if key(id).is_none() {
            faults.push(format!("{id} is not an id"));
        }
        if !seen.insert(id) {
            faults.push(format!("{id} has two rows"));
        }
        if !row.requirement.ends_with('.') {
            faults.push(format!("{id} is not a sentence: {}", row.requirement));
        }
        if row.proofs.is_empty() {
            faults.push(format!("{id} has no test"));
        }
    }
    for pair in rows.windows(2) {
        let [first, second] = pair else { continue };
        if first.table == second.table && key(first.id) >= key(second.id) {
            faults.push(format!("{} comes before {}", first.id, second.id));
        }
    }
    for (letter, count) in FOUND {
        let all = (1..=count).map(|number| format!("Q-{letter}{number}"));
        let missing = all.filter(|id| !seen.contains(id.as_str()));
        faults.extend(missing.map(|id| format!("{id} has no row")));
    }
    assert_none(&faults);
}

#[test]
fn every_id_in_use_has_a_row() {
    let rows = rows();
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    let mut faults = Vec::new();
    let mut check = |place: &str, text: &str| {
        let found = ids(text);
        for id in found.iter().filter(|id| !known.contains(id.as_str())) {
            faults.push(format!("{place}: {id} has no row"));
        }
        found.len()
    };
    let everything = everything();
    let counts = everything
        .iter()
        .map(|(path, text)| check(&path.display().to_string(), text));
    let count: usize = counts.sum();
    assert!(count > 300, "{count} ids are found");
    for row in &rows {
        check(row.id, row.requirement);
    }
    assert_none(&faults);
}

#[test]
fn every_row_is_proved_where_it_says() {
    let files = files();
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for row in rows() {
        for proof in &row.proofs {
            let (Proof::Ids(name, _) | Proof::Test(_, name)) = proof;
            used.insert(*name);
            let Some((path, text)) = files.get(name) else {
                faults.push(format!("{}: {name} is not a link", row.id));
                continue;
            };
            match proof {
                Proof::Ids(_, others) => {
                    let own = [row.id];
                    let wanted = if others.is_empty() { &own[..] } else { others };
                    let held = proved_ids(path, text);
                    let missing = wanted.iter().filter(|id| !held.contains(**id));
                    faults.extend(missing.map(|id| format!("{}: {name} has no {id}", row.id)));
                }
                Proof::Test(test, _) if !tests(text).contains(test) => {
                    faults.push(format!("{}: {name} has no test {test}", row.id));
                }
                Proof::Test(..) => {}
            }
        }
    }
    let idle = files.keys().filter(|name| !used.contains(*name));
    faults.extend(idle.map(|name| format!("no row uses the link {name}")));
    assert_none(&faults);
}

/// Returns the IDs in a source. In a table, only the IDs in the first column count.
fn proved_ids(path: &Path, text: &str) -> BTreeSet<String> {
    if path.extension().is_some_and(|extension| extension == "tsv") {
        let cases = text.lines().filter(|line| !line.starts_with('#'));
        let first = cases.filter_map(|line| line.split('\t').next());
        first.map(str::to_owned).collect()
    } else {
        ids(text)
    }
}

#[test]
fn findings_have_tests_named_after_them() {
    let files = files();
    let mut faults = Vec::new();
    let rows = rows();
    let findings = rows.iter().filter(|row| row.id.starts_with(['Q', 'R']));
    for row in findings {
        let mut sources = 0;
        for proof in &row.proofs {
            let (Proof::Ids(name, _) | Proof::Test(_, name)) = proof;
            let Some((_, text)) = files.get(name).filter(|_| name.ends_with(".rs")) else {
                continue;
            };
            let own = |test: &&str| named(test).is_some_and(|id| id == row.id);
            if tests(text).iter().any(own) {
                sources += 1;
            } else {
                faults.push(format!("{}: {name} has no test of that name", row.id));
            }
        }
        if sources == 0 {
            faults.push(format!("{} has no test of its name", row.id));
        }
    }
    assert_none(&faults);
}
