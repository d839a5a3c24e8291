//! Validates the output of `convert` and of the crosswalks with other programs. All real records and the records of the tests are
//! converted from each format to each format.

use std::path::{Path, PathBuf};

use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::crosswalk::mods::to_mods;
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_marc::{Field, Leader, MarcRecord};
use z3950_tests::peer::find;
use z3950_tests::program::z3950;
use z3950_tests::surroundings::command;

use crate::convert::readers::{Counts, Written, by_schema, by_scripts, by_yaz, lines_by_yaz};
use crate::convert::{files, records};

/// The formats that are read and written.
const FORMS: [&str; 6] = ["marc", "marcxml", "marcxchange", "json", "mrk", "line"];
/// The demo catalogue, which many tests search.
const BOOKS: &str = include_str!("../../../server/src/memory/demo/books.mrk");

/// Converts a file to a format, and writes the result to the same folder.
fn convert(from: &Path, form: &str, codes: &[i32]) -> PathBuf {
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let to = from.with_file_name(format!("{name}.{form}"));
    let ran = z3950([
        "convert".as_ref(),
        "--overwrite".as_ref(),
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

/// Returns a record with an unusual leader, unusual text and an unusual order of fields.
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

/// Returns the records of the real files, the records of the demo catalogue, and the unusual record.
fn all_records() -> Vec<Vec<u8>> {
    let real = files();
    let real = real.iter().flat_map(|file| records(file));
    let books = mrk::parse_all(BOOKS).expect("valid");
    let books = books
        .iter()
        .map(|record| iso2709::encode(record).expect("short"));
    real.map(Vec::from).chain(books).chain([odd()]).collect()
}

/// Writes the records to one file.
fn one_file(folder: &Path, records: &[Vec<u8>]) -> PathBuf {
    let path = folder.join("records");
    std::fs::write(&path, records.concat()).expect("the file is written");
    path
}

#[test]
fn all_pairs_of_forms_are_valid_to_others() {
    let folder = tempfile::tempdir().expect("a directory");
    let records = all_records();
    let source = one_file(folder.path(), &records);
    let expected = records.len();
    let mut counts = Counts::default();
    let mut written = Vec::new();
    let mut pairs = 0;
    let in_lines = lines_by_yaz(&convert(&source, "marc", &[0]));
    for input in FORMS {
        // In the line format, some text looks like the beginning of a subfield. This is reported with exit code 8.
        let code = |form| if form == "line" { 8 } else { 0 };
        let from = convert(&source, input, &[code(input)]);
        for form in FORMS.into_iter().chain(["csv"]) {
            let is_in_lines = input == "line";
            let path = convert(&from, form, &[if is_in_lines { 0 } else { code(form) }]);
            let count = if form == "line" { in_lines } else { expected };
            by_yaz(form, &path, count, &mut counts);
            by_schema(form, &path, &mut counts);
            pairs += usize::from(form != "csv");
            written.push(Written {
                form,
                path,
                // In the line format, text such as ` $5 ` is read as a subfield.
                is_compared: input != "line",
            });
        }
    }
    by_scripts(&written, expected, &mut counts);
    assert_eq!(pairs, 36);
    counts.report(&format!("{expected} records in {pairs} pairs of forms"));
}

#[test]
fn mods_is_valid_to_others() {
    let folder = tempfile::tempdir().expect("a directory");
    let records = all_records();
    let mut document = "<modsCollection xmlns=\"http://www.loc.gov/mods/v3\">\n".to_owned();
    for octets in &records {
        let parsed = iso2709::parse(&octets.clone().into()).expect("a record");
        let readable = to_utf8(&parsed.record, &Options::default());
        // The schema is that of version 3.4. The elements in use have not changed since, so only the version number is replaced.
        document.push_str(&to_mods(&readable.record).replace("\"3.7\"", "\"3.4\""));
    }
    document.push_str("</modsCollection>\n");
    let path = folder.path().join("mods.xml");
    std::fs::write(&path, document).expect("the file is written");
    let mut counts = Counts::default();
    by_schema("mods", &path, &mut counts);
    counts.report(&format!("{} records in MODS", records.len()));
}

/// MARCXML preserves the fill character of UNIMARC as an indicator, as in yaz-marcdump and pymarc. The fill character is
/// reported, but not as a loss.
#[test]
fn a_fill_character_stays_an_indicator() {
    let folder = tempfile::tempdir().expect("a directory");
    let record = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "fill"),
            Field::data(b"200", "1|", [("a", "Emma")]),
        ],
    };
    let source = folder.path().join("fill");
    std::fs::write(&source, iso2709::encode(&record).expect("short")).expect("written");
    let kept = "ind1=\"1\" ind2=\"|\"";
    for (form, note) in [("marcxml", "indicator \"|\""), ("marcxchange", "")] {
        let ran = z3950(["convert", "--to", form, &source.display().to_string()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains(kept), "{ran:?}");
        assert_eq!(ran.stderr.is_empty(), note.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains(note), "{ran:?}");
    }
    if let Some(program) = find("yaz-marcdump") {
        let output = command(program)
            .args(["-o", "marcxml"])
            .arg(&source)
            .output();
        let shown = output.expect("it runs").stdout;
        assert!(String::from_utf8_lossy(&shown).contains(kept));
    }
}

/// Tests every octet in every position of the leader, in one file. The output must be valid in every format.
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
        // Two kinds of damage are left out: separators (1D to 1F), which would divide the file into different records, and a
        // wrong base address (positions 12 to 16), which says where the fields begin.
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
            let path = convert(&from, form, &[0, 8]);
            // In the line format, yaz-marcdump recognises a leader only by its appearance.
            if form != "line" {
                by_yaz(form, &path, expected, &mut counts);
            }
            by_schema(form, &path, &mut counts);
            // Other readers of MARCMaker text do not decode mnemonics in the leader.
            if form != "mrk" {
                written.push(Written {
                    form,
                    path,
                    is_compared: false,
                });
            }
        }
    }
    by_scripts(&written, expected, &mut counts);
    counts.report(&format!("{expected} leaders"));
}

/// Tests every control character in every format, in input and output. Each of them is reported, and all output is valid.
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
            let path = convert(&from, form, &[0, 8]);
            by_schema(form, &path, &mut counts);
            // Other readers of MARCMaker text treat some control characters as line ends.
            if form != "mrk" {
                written.push(Written {
                    form,
                    path,
                    is_compared: false,
                });
            }
        }
    }
    by_scripts(&written, expected, &mut counts);
    counts.report(&format!("{expected} control characters"));
}
