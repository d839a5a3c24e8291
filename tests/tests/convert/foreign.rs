//! What `convert` writes, validated by programs of others, in all pairs of forms that it reads and writes: yaz-marcdump, xmllint with
//! the schemas in tests/fixtures/schemas, Python's json and csv, and pymarc, which the folder that `Z3950_SRU_PYTHON` names may have.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use z3950_marc::iso2709;
use z3950_marc::{Field, Leader, MarcRecord};
use z3950_tests::peer::find;
use z3950_tests::program::z3950;
use z3950_tests::surroundings::command;

use crate::convert::{files, records};

/// The forms that are read and written.
const FORMS: [&str; 6] = ["marc", "marcxml", "marcxchange", "json", "mrk", "line"];
/// Records taken from each file.
const SAMPLE: usize = 15;

/// Converts a file to a form, in a file next to it.
fn convert(from: &Path, form: &str, codes: &[i32]) -> PathBuf {
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let to = from.with_file_name(format!("{name}.{form}"));
    let ran = z3950([
        "convert".as_ref(),
        "--to".as_ref(),
        form.as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
        from.as_os_str(),
    ]);
    let code = ran.code.unwrap_or(-1);
    assert!(
        codes.contains(&code),
        "{}: {code} {}",
        to.display(),
        ran.stderr
    );
    to
}

/// Validations of one kind.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn add(&mut self, validator: &'static str) {
        *self.0.entry(validator).or_default() += 1;
    }

    fn report(&self, what: &str) {
        let counts = self.0.iter();
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        // Bypasses the test harness, which captures the output of passing tests.
        let _ = writeln!(std::io::stderr(), "{what}: {}", counts.join(", "));
    }
}

/// yaz-marcdump reads as many records, and finds nothing to complain of.
fn by_yaz(form: &str, path: &Path, expected: usize, counts: &mut Counts) {
    let Some(program) = find("yaz-marcdump") else {
        return;
    };
    let input = match form {
        "marc" | "marcxml" | "marcxchange" | "line" => form,
        _ => return,
    };
    let output = command(program)
        .args(["-i", input, "-o", "line"])
        .arg(path)
        .output()
        .expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    let leaders = shown
        .split("\n\n")
        .filter(|record| !record.trim().is_empty());
    assert!(output.status.success(), "{}: {words}", path.display());
    assert_eq!(words, "", "{}", path.display());
    assert!(!shown.contains("<!--"), "{}: {shown}", path.display());
    assert_eq!(leaders.count(), expected, "{}", path.display());
    counts.add("yaz-marcdump");
}

/// xmllint finds the document valid by the schema of its form.
fn by_schema(form: &str, path: &Path, counts: &mut Counts) {
    let schema = match form {
        "marcxml" => "marc21slim.xsd",
        "marcxchange" => "marcxchange.xsd",
        _ => return,
    };
    let Some(program) = find("xmllint") else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas");
    let output = command(program)
        .args(["--noout", "--schema"])
        .arg(folder.join(schema))
        .arg(path)
        .output()
        .expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    // The fill character of UNIMARC is kept as an indicator, though only MarcXchange has it.
    let is_known = |line: &str| {
        line.contains("attribute 'ind") && line.contains("'|'")
            || line.ends_with("validates")
            || line.ends_with("fails to validate")
    };
    let faults: Vec<&str> = words.lines().filter(|line| !is_known(line)).collect();
    assert_eq!(faults, Vec::<&str>::new());
    // 3: only against the schema.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{words}");
    counts.add("xmllint");
}

/// The interpreter with pymarc, or else one for json and csv.
fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("Z3950_SRU_PYTHON").map(PathBuf::from);
    let program = folder.map(|folder| folder.join("bin/python"));
    match program.filter(|program| program.is_file()) {
        Some(program) => Some(program),
        None => find("python3"),
    }
}

/// Python's readers find as many records; returns what pymarc read of each file, if it is there.
fn by_python(
    files: &[(&str, PathBuf)],
    expected: usize,
    counts: &mut Counts,
) -> BTreeMap<PathBuf, Value> {
    let Some(program) = python() else {
        return BTreeMap::new();
    };
    let mut script = command(program);
    script.args(["-c", include_str!("foreign.py")]);
    for (form, path) in files {
        script.arg(form).arg(path);
    }
    let output = script.output().expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let shown = String::from_utf8_lossy(&output.stdout);
    let mut read = BTreeMap::new();
    for line in shown.lines() {
        let mut found: Value = serde_json::from_str(line).expect("a line of JSON");
        let path = PathBuf::from(found["path"].as_str().unwrap_or_default());
        for (name, validator) in [("plain", "json and csv"), ("pymarc", "pymarc")] {
            if let Some(count) = found[name].as_u64() {
                assert_eq!(usize::try_from(count), Ok(expected), "{}", path.display());
                counts.add(validator);
            }
        }
        if found["fields"].is_array() {
            read.insert(path, found["fields"].take());
        }
    }
    if read.is_empty() {
        let _ = writeln!(std::io::stderr(), "skipped: pymarc not found");
    }
    read
}

/// A record with what leaders, text and order of fields can do to a form.
fn odd() -> Vec<u8> {
    let record = MarcRecord {
        leader: Leader(*b"00000nam axx00000 zzabcd"),
        fields: vec![
            Field::control(b"001", "odd"),
            Field::data(
                b"245",
                "10",
                [("a", r"caf\xC3\xA9 & <b> \xE9 $5 {x} ="), ("c", "\"q\"")],
            ),
            Field::data(
                b"500",
                "  ",
                [("a", "Пушкин, 紅樓夢"), ("5", "-1+2"), ("a", "")],
            ),
            Field::control(b"008", "971201s1813    enk           000 1 eng  "),
        ],
    };
    let mut octets = iso2709::encode(&record).expect("short");
    octets[10..12].copy_from_slice(b"xx");
    octets
}

/// Samples of the real files and the odd record, as one file; how many records it has.
fn samples(folder: &Path) -> (PathBuf, usize) {
    let mut octets = Vec::new();
    let mut count = 0;
    for file in files() {
        for record in records(&file).iter().take(SAMPLE) {
            octets.extend_from_slice(record);
            count += 1;
        }
    }
    octets.extend(odd());
    let path = folder.join("samples");
    std::fs::write(&path, octets).expect("the file is written");
    (path, count + 1)
}

#[test]
fn all_pairs_of_forms_are_valid_to_others() {
    let folder = tempfile::tempdir().expect("a directory");
    let (source, expected) = samples(folder.path());
    let mut counts = Counts::default();
    let mut written = Vec::new();
    let mut pairs = 0;
    for input in FORMS {
        let from = convert(&source, input, &[0]);
        for form in FORMS.into_iter().chain(["csv"]) {
            let to = convert(&from, form, &[0]);
            by_yaz(form, &to, expected, &mut counts);
            by_schema(form, &to, &mut counts);
            written.push((form, to));
            pairs += usize::from(form != "csv");
        }
    }
    let read = by_python(&written, expected, &mut counts);
    // Without the line form, in which text such as ` $5 ` is a subfield, all of them say the same.
    let mut all = read
        .iter()
        .filter(|(path, _)| !path.to_string_lossy().contains("line"));
    if let Some((first, fields)) = all.next() {
        for (path, other) in all {
            assert_eq!(sorted(fields), sorted(other), "{first:?} {path:?}");
        }
    }
    assert_eq!(pairs, 36);
    counts.report(&format!("{expected} records in {pairs} pairs of forms"));
}

/// Records with their control fields first, as XML has them.
fn sorted(records: &Value) -> Vec<Vec<Value>> {
    let records = records.as_array().into_iter().flatten();
    records
        .map(|record| {
            let mut fields = record[1].as_array().cloned().unwrap_or_default();
            fields.sort_by_key(|field| field.as_array().is_some_and(|parts| parts.len() > 2));
            fields
        })
        .collect()
}

/// Every octet in every position of the leader, in one file; what is written is valid in every form.
#[test]
fn audit_r_a6_leaders_of_all_octets_are_valid_to_others() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut octets = Vec::new();
    let mut expected = 0;
    let sound = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "x"),
            Field::data(b"245", "10", [("a", "Emma"), ("c", "Austen")]),
        ],
    };
    let sound = iso2709::encode(&sound).expect("short");
    for position in 5..24 {
        // Separators and line ends cut a file into other records, and lengths say where they are.
        for octet in (0..=255).filter(|octet| !matches!(octet, 0x1D..=0x1F)) {
            let mut record = sound.clone();
            if !(12..17).contains(&position) {
                record[position] = octet;
                expected += 1;
                octets.extend(record);
            }
        }
    }
    let source = folder.path().join("leaders");
    std::fs::write(&source, octets).expect("the file is written");
    let mut counts = Counts::default();
    let mut written = Vec::new();
    for input in FORMS {
        let from = convert(&source, input, &[0, 8]);
        for form in FORMS {
            let to = convert(&from, form, &[0, 8]);
            // In lines, yaz-marcdump knows a leader by its look.
            if form != "line" {
                by_yaz(form, &to, expected, &mut counts);
            }
            by_schema(form, &to, &mut counts);
            written.push((form, to));
        }
    }
    by_python(&written, expected, &mut counts);
    counts.report(&format!("{expected} leaders"));
}

/// Every control character in every form, in and out: told, and no invalid file.
#[test]
fn control_characters_are_valid_to_others() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut octets = Vec::new();
    let mut expected = 0;
    for control in (0..0x20).chain(0x7F..0xA0) {
        let character = char::from(control);
        if matches!(control, 0x1D..=0x1F) {
            continue;
        }
        let record = MarcRecord {
            leader: Leader::default(),
            fields: vec![
                Field::control(b"001", format!("c{control}")),
                Field::data(b"245", "10", [("a", format!("a{character}b"))]),
            ],
        };
        octets.extend(iso2709::encode(&record).expect("short"));
        expected += 1;
    }
    let source = folder.path().join("controls");
    std::fs::write(&source, octets).expect("the file is written");
    let mut counts = Counts::default();
    let mut written = Vec::new();
    for input in FORMS {
        let from = convert(&source, input, &[0, 8]);
        for form in FORMS.into_iter().chain(["csv"]) {
            let to = convert(&from, form, &[0, 8]);
            by_schema(form, &to, &mut counts);
            written.push((form, to));
        }
    }
    by_python(&written, expected, &mut counts);
    counts.report(&format!("{expected} control characters"));
}
