//! Tests of `z3950 lookup --keep`, which copies local fields of the input records into the records found.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use z3950_marc::charset::{Charset, Options, to_charset};
use z3950_marc::{iso2709, mrk};
use z3950_tests::program::{Ran, z3950};

const OLD: &str = "\
=LDR  00000nam\\a2200000\\a\\4500\n=001  own1\n=020  \\\\$a0141439513\n=245  00$aMy old title\n=852  \\\\$aMain$hPR 1\n\
=852  \\\\$aAnnex\n=949  \\\\$aBéla\n\n\
=LDR  00000nam\\a2200000\\a\\4500\n=020  \\\\$a0141439513\n=245  00$aWithout anything local\n\n\
=LDR  00000nam\\a2200000\\a\\4500\n=001  own3\n=020  \\\\$a9999999999\n=852  \\\\$aMain\n\n";

fn folder(input: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("old"), input).expect("written");
    folder
}

/// Looks up the records of a file in the built-in catalogue. `{}` in the arguments is replaced with the path of the folder.
fn lookup(folder: &TempDir, arguments: &[&str]) -> Ran {
    let place = folder.path().to_str().expect("text");
    let usual = ["--demo", "lookup", "localhost/books", "--input", "{}/old"];
    let all = usual.iter().chain(arguments);
    z3950(all.map(|argument| argument.replace("{}", place)))
}

fn text(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn r_f15_local_fields_stay_in_the_record_that_is_found() {
    let folder = folder(OLD.as_bytes());
    let ran = lookup(
        &folder,
        &[
            "--keep",
            "001,852,9XX",
            "--output",
            "{}/new.mrk",
            "--report",
            "{}/report.json",
        ],
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let found = mrk::parse_all(&text(&folder, "new.mrk")).expect("records");
    assert_eq!(found.len(), 2);
    let lines = |index: usize| mrk::to_mrk(&found[index]);
    let first = lines(0);
    for line in [
        "=001  own1\n",
        "=852  \\\\$aMain$hPR 1\n=852  \\\\$aAnnex\n",
        "=949  \\\\$aBéla\n",
        "$aPride and prejudice",
    ] {
        assert!(first.contains(line), "{line}: {first}");
    }
    assert!(
        !first.contains("My old title") && !first.contains("pg1342\n"),
        "{first}"
    );
    let tags: Vec<_> = found[0].fields.iter().map(|field| field.tag).collect();
    assert!(tags.is_sorted(), "{tags:?}");
    // The second input has no local fields, so none are added to the record found, which keeps its control number.
    let second = lines(1);
    assert!(
        second.contains("=001  pg1342\n") && !second.contains("=852"),
        "{second}"
    );
    let report: Vec<Value> = text(&folder, "report.json")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |index: usize, key: &str| report[index][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(of(0, "message"), "kept of the input: 001, 852 (2), 949");
    assert_eq!(
        (of(0, "record"), of(0, "input_record")),
        ("own1".to_owned(), "own1".to_owned())
    );
    assert_eq!(of(1, "message"), "the input has no field to keep");
    assert!(!of(2, "message").contains("kept"), "{report:?}");
    // Without the option, no field is kept.
    let ran = lookup(&folder, &["--format", "mrk"]);
    assert!(
        ran.stdout.contains("=001  pg1342\n") && !ran.stdout.contains("own1"),
        "{ran:?}"
    );
}

#[test]
fn r_f15_local_fields_are_kept_in_every_form() {
    let record = mrk::parse_all(OLD).expect("records").remove(0);
    let marc8 = to_charset(&record, Charset::Marc8, &Options::default()).record;
    let folder = folder(&iso2709::encode(&marc8).expect("short"));
    let keep = ["--keep", "001,949"];
    for (options, words) in [
        (&["--format", "text"][..], "949    $a Béla"),
        (
            &["--format", "marcxml"],
            "<subfield code=\"a\">Béla</subfield>",
        ),
        (
            &["--format", "csv", "--fields", "001,949a"],
            "own1,Béla\r\n",
        ),
        (&["--json"], "\"001\":\"own1\""),
        (&["--format", "json"], "\"001\":\"own1\""),
        (&["--syntax", "opac"], "949    $a Béla"),
        (&["--syntax", "xml"], "949    $a Béla"),
        (&["--syntax", "xml", "--format", "json"], "\"001\":\"own1\""),
        (&["--best", "--format", "mrk"], "=949  \\\\$aBéla"),
    ] {
        let ran = lookup(&folder, &[&keep, options].concat());
        assert_eq!(ran.code, Some(0), "{options:?}: {ran:?}");
        assert!(ran.stdout.contains(words), "{options:?}: {ran:?}");
    }
    let report = ["--syntax", "sutrs", "--report", "{}/report.tsv"];
    let ran = lookup(&folder, &[&keep[..], &report].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "the record is not MARC, so it keeps no field of the input";
    assert!(text(&folder, "report.tsv").contains(words), "{ran:?}");
}

#[test]
fn r_f15_fields_that_cannot_be_kept_are_refused() {
    let folder = folder(b"0141439513\n");
    for (arguments, code, words) in [
        (
            &["--keep", "852$a"][..],
            2,
            "852$a is not the tag of a field",
        ),
        (&["--keep", "title"], 2, "title is not the tag of a field"),
        (&["--keep", ""], 2, "is not a part of a record"),
        (
            &["--keep", "852", "--format", "raw"],
            2,
            "--keep changes records",
        ),
        // The inputs are numbers and not records, so there are no fields to keep.
        (&["--keep", "852"], 0, ""),
    ] {
        let ran = lookup(&folder, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    let ran = z3950([
        "--demo",
        "lookup",
        "localhost/books",
        "0141439513",
        "--keep",
        "852",
    ]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--input"),
        "{ran:?}"
    );
    // A damaged record is not accepted as an input, and an empty record has no identifier to look up.
    fs::write(
        folder.path().join("old"),
        "00026nam a2200025 a 4500\x1e\x1d00030",
    )
    .expect("written");
    let ran = lookup(&folder, &["--keep", "852", "--output", "{}/new.mrc"]);
    assert!(ran.code == Some(8) || ran.code == Some(3), "{ran:?}");
    assert!(!folder.path().join("new.mrc").exists());
    fs::write(folder.path().join("old"), "").expect("written");
    let ran = lookup(&folder, &["--keep", "852", "--output", "{}/new.mrc"]);
    assert!(!folder.path().join("new.mrc").exists(), "{ran:?}");
}
