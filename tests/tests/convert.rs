//! Tests of the conversion of records by `z3950 convert` and `z3950 get --format`. Real records are compared with the output of
//! yaz-marcdump; damaged records are tested too.

mod command;
mod damaged;
mod danmarc;
mod faults;
mod foreign;
mod formats;
mod namespaces;
mod outputs;
mod readers;
mod real;
mod revised;
mod sheets;
mod yaz;

use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use z3950_marc::charset::{Charset, NormalForm, Options};
use z3950_marc::iso2709;

/// Returns the files of real records. Prints a message if the folder with these files does not exist.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/marc");
    let Ok(entries) = std::fs::read_dir(folder) else {
        // The line is written directly to standard error, because the test harness captures the output of passing tests.
        let _ = writeln!(std::io::stderr(), "skipped: ../shared/data/marc not found");
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "mrc"))
        .collect();
    files.sort();
    files
}

/// Converts text to NFC, the form in which z3950 writes it.
fn nfc(octets: &[u8]) -> Vec<u8> {
    let mut options = Options::default();
    options.form = Some(NormalForm::Nfc);
    let decoded = Charset::Utf8.decode_with(octets, &options);
    decoded.text.into_owned().into_bytes()
}

/// Splits a file into the octets of its records.
fn records(file: &Path) -> Vec<Bytes> {
    let octets = std::fs::read(file).expect("a readable file");
    iso2709::split(octets.into()).collect()
}
