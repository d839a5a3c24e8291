//! Generates catalogues of any size from real records, with `../shared/bench/gen.py`.

use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;

use crate::peer;
use crate::surroundings::command;

/// Returns this number of generated records in ISO 2709, with the control numbers `rec0000001` and so on. If the generator is
/// missing, prints a message and returns `None`.
///
/// # Panics
/// Panics if the generator is missing and `Z3950_PEERS=required`, or if the generator fails.
pub fn generated(records: usize) -> Option<Vec<Bytes>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let generator = shared.join("bench/gen.py");
    let base = shared.join("data/marc/loc-utf8.mrc");
    for file in [&generator, &base] {
        if !file.is_file() {
            peer::skip(&file.display().to_string());
            return None;
        }
    }
    let python = peer::find("python3")?;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.mrc");
    let status = command(python)
        .arg(generator)
        .arg(records.to_string())
        .arg(&file)
        .arg(base)
        .stdout(Stdio::null())
        .status()
        .expect("python3 starts");
    assert!(status.success(), "the records are generated");
    let octets = std::fs::read(file).expect("they are read");
    let split = octets.split_inclusive(|octet| *octet == 0x1D);
    Some(split.map(Bytes::copy_from_slice).collect())
}
