//! Compares the conversion of real records with that of yaz-marcdump, and converts MARC-8 to UTF-8 and back. Both tests are skipped with a
//! message if the files or the program are missing.

use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use unicode_normalization::UnicodeNormalization;

use super::{Charset, Options, to_charset, to_utf8};
use crate::MarcRecord;
use crate::corpus::{files, records};
use crate::iso2709;
use crate::marcline;

/// Returns yaz-marcdump's name for the character set of a file.
fn set_of(file: &Path) -> &'static str {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("loc-original-charsets") => "marc8",
        Some("bnf-unimarc-iso5426-60") => "iso5426",
        _ => "utf-8",
    }
}

fn parsed(octets: &Bytes) -> MarcRecord {
    iso2709::parse(octets).expect("a valid record").record
}

/// Converts our line to the line that yaz-marcdump prints. Only the intended differences are converted:
/// - our leader and UNIMARC 100 $a name UTF-8, while yaz-marcdump keeps the set of the source;
/// - we keep an unpaired half of a ligature or double tilde, while yaz-marcdump turns a left half into the double
///   mark and drops a right half.
fn as_theirs(line: &str, theirs: &str) -> String {
    let line = line
        .replace(['\u{FE21}', '\u{FE23}'], "")
        .replace('\u{FE20}', "\u{361}")
        .replace('\u{FE22}', "\u{360}");
    if line.starts_with("100 ") && theirs.contains("0103") {
        return line.replace("50  ", "0103");
    }
    line
}

#[test]
fn text_is_that_of_yaz_marcdump() {
    let mut compared = 0;
    for file in files() {
        let mut program = Command::new("yaz-marcdump");
        program
            .args(["-f", set_of(&file), "-t", "utf-8"])
            .arg(&file);
        let Ok(output) = program.output() else {
            eprintln!("skipped: yaz-marcdump not found");
            return;
        };
        let theirs: String = String::from_utf8_lossy(&output.stdout).nfc().collect();
        let mut theirs = theirs.split("\n\n");
        for (number, octets) in records(&file).iter().enumerate() {
            let converted = to_utf8(&parsed(octets), &Options::default());
            let place = format!("{}, record {}", file.display(), number + 1);
            assert_eq!(converted.problems, vec![], "{place}");
            let ours = marcline::to_lines(&converted.record);
            let ours: String = String::from_utf8(ours).expect("UTF-8").nfc().collect();
            let theirs = theirs.next().unwrap_or_default().trim_start_matches('\n');
            assert_eq!(ours.lines().count(), theirs.lines().count(), "{place}");
            for (ours, theirs) in ours.lines().zip(theirs.lines()).skip(1) {
                assert_eq!(as_theirs(ours, theirs), theirs, "{place}");
            }
            compared += 1;
        }
    }
    eprintln!("{compared} records compared with yaz-marcdump");
}

/// Tests that every record in MARC-8 or ISO 5426 has the same leader, and the same octets in every field, after
/// conversion to UTF-8 and back.
#[test]
fn octets_come_back() {
    let mut same = 0;
    for file in files() {
        let charset = match set_of(&file) {
            "marc8" => Charset::Marc8,
            "iso5426" => Charset::Iso5426,
            _ => continue,
        };
        for (number, octets) in records(&file).iter().enumerate() {
            let source = parsed(octets);
            let converted = to_utf8(&source, &Options::default());
            if converted.choice.charset != charset {
                continue;
            }
            let back = to_charset(&converted.record, charset, &Options::default());
            let place = format!("{}, record {}", file.display(), number + 1);
            assert_eq!(back.problems, vec![], "{place}");
            assert_eq!(back.record.leader, source.leader, "{place}");
            assert_eq!(back.record.fields, source.fields, "{place}");
            same += 1;
        }
    }
    eprintln!("{same} records are unchanged");
}
