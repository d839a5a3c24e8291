//! Validates the output of `convert` with other programs: yaz-marcdump, xmllint with schemas, Python's json and csv, pymarc, and
//! Perl's MARC::File::MARCMaker. If a program is missing, its checks are skipped with a message.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use z3950_tests::peer::find;
use z3950_tests::surroundings::command;

/// The number of files that each program has validated.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn add(&mut self, reader: &'static str) {
        *self.0.entry(reader).or_default() += 1;
    }

    /// Prints the counts directly to standard error, because the test harness captures the output of passing tests.
    pub(super) fn report(&self, what: &str) {
        let counts = self.0.iter();
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let _ = writeln!(std::io::stderr(), "{what}: {}", counts.join(", "));
    }
}

/// Reports once that something is missing.
fn skip(missing: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().expect("no test panics here");
    if said.insert(missing.to_owned()) {
        let _ = writeln!(std::io::stderr(), "skipped: {missing} not found");
    }
}

/// Checks that yaz-marcdump reads the expected number of records without messages.
pub(super) fn by_yaz(form: &str, path: &Path, expected: usize, counts: &mut Counts) {
    if !matches!(form, "marc" | "marcxml" | "marcxchange" | "line") {
        return;
    }
    let Some(shown) = dumped(form, path) else {
        return;
    };
    assert!(!shown.contains("<!--"), "{}: {shown}", path.display());
    assert_eq!(count(&shown), expected, "{}", path.display());
    counts.add("yaz-marcdump");
}

/// Returns the number of records that yaz-marcdump finds when it converts a file in ISO 2709 to its line format and reads the
/// result. The number can be too high: in text such as the links to other scripts, yaz-marcdump mistakes `/$1` for a subfield,
/// and continues with the next record.
pub(super) fn lines_by_yaz(marc: &Path) -> usize {
    let lines = marc.with_extension("dumped");
    dumped("marc", marc).map_or(0, |shown| {
        std::fs::write(&lines, shown).expect("the file is written");
        dumped("line", &lines).map_or(0, |shown| count(&shown))
    })
}

/// Returns the records that yaz-marcdump reads, in the line format.
fn dumped(form: &str, path: &Path) -> Option<String> {
    let output = command(find("yaz-marcdump")?)
        .args(["-i", form, "-o", "line"])
        .arg(path)
        .output()
        .expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", path.display());
    assert_eq!(words, "", "{}", path.display());
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn count(lines: &str) -> usize {
    let records = lines.split("\n\n");
    records.filter(|record| !record.trim().is_empty()).count()
}

/// Returns the path of a schema in the folder that `Z3950_SCHEMAS` names.
fn published(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("Z3950_SCHEMAS").map(PathBuf::from);
    let found = folder.map(|folder| folder.join(name));
    let found = found.filter(|file| file.is_file());
    if found.is_none() {
        skip(&format!("{name} (in the folder Z3950_SCHEMAS)"));
    }
    found
}

/// Checks with xmllint that a document is valid according to our schema for its format and, if it is available, the schema of the
/// Library of Congress. The latter does not restrict the leader, whereas our schema does.
pub(super) fn by_schema(form: &str, path: &Path, counts: &mut Counts) {
    let (ours, theirs) = match form {
        "marcxml" => (Some("marc21slim.xsd"), Some("MARC21slim.xsd")),
        "marcxchange" => (Some("marcxchange.xsd"), None),
        "mods" => (None, Some("mods-3-4.xsd")),
        _ => return,
    };
    if let Some(name) = ours {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas");
        by_xmllint(&folder.join(name), None, path);
        counts.add("xmllint with our schema");
    }
    if let Some(schema) = theirs.and_then(published) {
        by_xmllint(&schema, Some(&catalog(&schema)), path);
        counts.add("xmllint with LoC's schema");
    }
}

/// Returns an XML catalog that maps the schemas imported by the MODS schema to files. Otherwise, they would be fetched from the
/// web.
fn catalog(schema: &Path) -> String {
    let file = |name: &str| schema.with_file_name(name).display().to_string();
    let entries = [
        ("http://www.loc.gov/mods/xml.xsd", file("xml.xsd")),
        ("http://www.w3.org/2001/xml.xsd", file("xml.xsd")),
        (
            "http://www.loc.gov/standards/xlink/xlink.xsd",
            file("xlink.xsd"),
        ),
    ];
    let entries = entries
        .map(|(name, file)| format!("<system systemId=\"{name}\" uri=\"{file}\"/>"))
        .concat();
    format!("<catalog xmlns=\"urn:oasis:names:tc:entity:xmlns:xml:catalog\">{entries}</catalog>")
}

fn by_xmllint(schema: &Path, catalog: Option<&str>, path: &Path) {
    let Some(program) = find("xmllint") else {
        return;
    };
    let mut lint = command(program);
    if let Some(catalog) = catalog {
        let file = path.with_extension("catalog");
        std::fs::write(&file, catalog).expect("the file is written");
        lint.env("XML_CATALOG_FILES", file);
    }
    let output = lint
        .args(["--noout", "--nonet", "--schema"])
        .args([schema, path])
        .output()
        .expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    // The fill character `|` of UNIMARC is preserved as an indicator, although only MarcXchange allows it.
    let is_known = |line: &str| {
        line.contains("attribute 'ind") && line.contains("'|'")
            || line.ends_with("validates")
            || line.ends_with("fails to validate")
            || line.contains("Skipping import")
    };
    let faults: Vec<&str> = words.lines().filter(|line| !is_known(line)).collect();
    assert_eq!(faults, Vec::<&str>::new(), "{}", schema.display());
    // Exit code 3 means only that the document does not match the schema.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{words}");
}

/// Returns a Python interpreter that has pymarc or, if there is none, any Python interpreter.
pub(super) fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("Z3950_SRU_PYTHON").map(PathBuf::from);
    let program = folder.map(|folder| folder.join("bin/python"));
    match program.filter(|program| program.is_file()) {
        Some(program) => Some(program),
        None => find("python3"),
    }
}

/// A file that `convert` has written, and whether its records must be the same as those in the other compared files.
pub(super) struct Written {
    pub(super) form: &'static str,
    pub(super) path: PathBuf,
    pub(super) is_compared: bool,
}

/// Checks that the Python and Perl programs find the expected number of records in all files, and the same records in
/// all files that are compared.
pub(super) fn by_scripts(files: &[Written], expected: usize, counts: &mut Counts) {
    let Some(program) = python() else {
        return;
    };
    let mut script = command(program);
    script.args(["-c", include_str!("foreign.py")]);
    let mut add = |form: &str, path: &Path, is_compared: bool| {
        let compared = if is_compared { "compared" } else { "alone" };
        script.args([form, compared]).arg(path);
    };
    for file in files {
        add(file.form, &file.path, file.is_compared);
        if file.form == "mrk"
            && let Some(listed) = by_perl(&file.path)
        {
            add("perl", &listed, file.is_compared);
        }
    }
    let output = script.output().expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let shown = String::from_utf8_lossy(&output.stdout);
    let mut has_pymarc = false;
    for line in shown.lines() {
        let found: Value = serde_json::from_str(line).expect("a line of JSON");
        let path = &found["path"];
        assert_eq!(found["differs"], Value::Null, "{path}");
        for name in ["json and csv", "pymarc", "MARC::File::MARCMaker"] {
            if let Some(count) = found[name].as_u64() {
                assert_eq!(usize::try_from(count), Ok(expected), "{name}: {path}");
                counts.add(name);
                has_pymarc |= name == "pymarc";
            }
        }
    }
    if !has_pymarc {
        skip("pymarc");
    }
}

/// Writes the records that Perl's module reads from a file of MARCMaker text to another file, and returns its path.
fn by_perl(path: &Path) -> Option<PathBuf> {
    let program = find("perl")?;
    let output = command(program)
        .args(["-e", include_str!("foreign.pl")])
        .arg(path)
        .output()
        .expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        skip("the Perl module MARC::File::MARCMaker");
        return None;
    }
    assert!(
        output.status.success() && words.is_empty(),
        "{}: {words}",
        path.display()
    );
    let mut listed = path.as_os_str().to_owned();
    listed.push(".listed");
    let listed = PathBuf::from(listed);
    std::fs::write(&listed, output.stdout).expect("the file is written");
    Some(listed)
}
