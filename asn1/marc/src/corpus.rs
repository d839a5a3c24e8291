//! Tests every reader and writer with real records: records of the Library of Congress in two character sets, UNIMARC
//! records of the BnF, authority records of the GND, and records in unusual formats. The files are not part of the
//! repository; without them, these tests print a message and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;

use super::charset::{Options, to_utf8};
use super::crosswalk::sutrs::sutrs_text;
use super::{MarcRecord, iso2709, marcjson, marcline, mrk};

/// Returns the paths of the test files. If their folder is missing, prints a message and returns no paths.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/marc");
    let Ok(entries) = std::fs::read_dir(folder) else {
        eprintln!("skipped: ../shared/data/marc not found");
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "mrc"))
        .collect();
    files.sort();
    files
}

/// Returns the records of a file, including their terminators.
pub(crate) fn records(file: &Path) -> Vec<Bytes> {
    let octets = std::fs::read(file).expect("a readable file");
    iso2709::split(octets.into()).collect()
}

fn parsed(octets: &Bytes) -> MarcRecord {
    let parsed = iso2709::parse(octets).expect("a record");
    assert_eq!(parsed.repairs, vec![], "{}", octets.escape_ascii());
    parsed.record
}

#[test]
fn every_form_keeps_every_record() {
    for file in files() {
        let name = file.display();
        let records = records(&file);
        assert!(!records.is_empty(), "{name}");
        let mut all = Vec::new();
        for octets in records {
            let record = parsed(&octets);
            assert_eq!(
                iso2709::parse_strict(&octets).as_ref(),
                Ok(&record),
                "{name}"
            );
            assert_eq!(
                iso2709::encode(&record).as_deref(),
                Ok(&octets[..]),
                "{name}"
            );
            let readable = to_utf8(&record, &Options::default()).record;
            let json = marcjson::to_json(&readable);
            assert_eq!(marcjson::from_json(&json).ok(), Some(readable), "{name}");
            assert!(
                !json.contains('\n') && sutrs_text(&record).ends_with('\n'),
                "{name}"
            );
            all.push(record);
        }
        assert_eq!(mrk::parse_all(&mrk::to_mrk_all(&all)), Ok(all), "{name}");
    }
}

#[test]
fn lines_are_those_of_yaz_marcdump() {
    for file in files() {
        let Ok(theirs) = Command::new("yaz-marcdump").arg(&file).output() else {
            eprintln!("skipped: yaz-marcdump not found");
            return;
        };
        let mut ours = Vec::new();
        for octets in records(&file) {
            ours.append(&mut marcline::to_lines(&parsed(&octets)));
            ours.push(b'\n');
        }
        let lines = |octets: &[u8]| -> Vec<String> {
            octets
                .split(|octet| *octet == b'\n')
                .map(|line| line.escape_ascii().to_string())
                .collect()
        };
        assert_eq!(lines(&ours), lines(&theirs.stdout), "{}", file.display());
    }
}
