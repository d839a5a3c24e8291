//! Tests of the requests that are refused while memory is short.

use std::fs;

use super::changes::{change, id, marc};
use crate::backend::UpdateAction;
use crate::headroom::{Headroom, HeadroomProbe};
use crate::memory::*;
use crate::testing::record;

const MIB: u64 = 1 << 20;

fn left(left: u64) -> Option<Headroom> {
    let limit = 256 * MIB;
    Some(Headroom { left, limit })
}

#[test]
fn updates_leave_the_reserve_and_deletions_continue() {
    let full =
        Err("220 no memory for more records: 33 MB are left under the limit of 268 MB".into());
    let probes: [(HeadroomProbe, _); 3] = [
        (|| left(32 * MIB + 1), Ok("b".to_owned())),
        (|| left(32 * MIB), full),
        (|| None, Ok("b".to_owned())),
    ];
    for (probe, expected) in probes {
        let builder = MemoryBackend::builder().headroom(probe);
        let backend = builder.add_records("cat", [record("a", "One")]);
        let backend = backend.expect("a record").build();
        let insert = |id| marc(&record(id, "Two"));
        let inserted = tried(&backend, UpdateAction::Insert, insert("b"));
        assert_eq!(inserted, expected);
        let deleted = change(&backend, UpdateAction::Delete, &[id("a")]);
        assert_eq!(deleted, [Ok("a".to_owned())]);
    }
}

fn tried(
    backend: &MemoryBackend,
    action: UpdateAction,
    record: crate::backend::UpdateRecord,
) -> Result<String, String> {
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action,
        records: &[record],
    };
    let outcomes = crate::requests::now(backend.update(update)).map_err(shown)?;
    let outcome = outcomes.into_iter().next().expect("an outcome");
    let id = outcome.map_err(shown)?;
    Ok(String::from_utf8_lossy(&id).into_owned())
}

fn shown(why: Diagnostic) -> String {
    format!("{} {}", why.condition, why.addinfo.to_string_lossy())
}

#[test]
fn files_that_do_not_fit_are_not_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.mrk");
    let text = "=LDR  00000nam a2200000 a 4500\n=001  b1\n";
    let padded = format!("{text}{}", "\n".repeat(400 - text.len()));
    fs::write(&path, &padded).expect("written");
    let files = || DatabaseFiles {
        name: "cat".to_owned(),
        paths: vec![path.clone()],
        ..DatabaseFiles::default()
    };
    // Loading needs free memory of 3.25 times the file size. After a reload, there must still be free memory equal to the reserve
    // or the file size, whichever is smaller.
    let start: [(HeadroomProbe, bool); 3] = [
        (|| left(1300), true),
        (|| left(1299), false),
        (|| None, true),
    ];
    for (probe, fits) in start {
        let builder = MemoryBackend::builder().headroom(probe);
        let loaded = builder.load([files()], &|_| {});
        let loaded = loaded.map(drop).map_err(|error| error.to_string());
        let words = "loading the files needs about 1 MB of memory, and 0 MB are left under the limit of 268 MB";
        assert_eq!(loaded, fits.then_some(()).ok_or(words.to_owned()));
    }
    let reload: [(HeadroomProbe, bool); 2] = [(|| left(1700), true), (|| left(1699), false)];
    for (probe, fits) in reload {
        let builder = MemoryBackend::builder().headroom(probe);
        let (backend, _) = builder.load([files()], &|_| {}).expect("a record");
        assert_eq!(backend.reload(&|_| {}).is_ok(), fits);
        assert_eq!(backend.databases()[0].records, Some(1));
    }
}
