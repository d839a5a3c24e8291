//! Records from memory and from files in every form, sound and damaged.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use z3950_asn1::record::{Form, MarcRecord, iso2709};

use super::*;
use crate::memory::fields::IndexId;
use crate::memory::index::Index;
use crate::testing::record;

fn octets(docid: &str) -> Vec<u8> {
    iso2709::encode(&record(docid, "War")).expect("a sound record")
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("the file is written");
    }
    folder
}

/// One database of these paths.
fn loaded(paths: &[&Path]) -> Result<(Index, Vec<FileNotes>), LoadError> {
    let sources = Sources {
        databases: [Database::default()].into(),
        origins: vec![Origins {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..Origins::default()
        }],
        ..Sources::default()
    };
    load(&sources, &|_| {})
}

fn docids(index: &Index) -> Vec<String> {
    let docid = |record| {
        let (segment, number) = index.segment(record)?;
        Some(String::from_utf8_lossy(segment.first_key(IndexId::DOCID, number)?).into_owned())
    };
    let all = index.all();
    let docids: Option<_> = all.iter().map(docid).collect();
    docids.expect("docids")
}

#[test]
fn damage_costs_no_neighbour() {
    let check = |file: Vec<u8>, expected: &[&str], notes: &[&str]| {
        let folder = folder(&[("a.mrc", &file)]);
        let (index, told) = loaded(&[&folder.path().join("a.mrc")]).expect("records");
        assert_eq!(docids(&index), expected);
        let told: Vec<_> = told
            .iter()
            .flat_map(|file| &file.notes)
            .map(Note::to_string)
            .collect();
        assert_eq!(told.len(), notes.len(), "{told:?}");
        for (told, expected) in told.iter().zip(notes) {
            assert!(told.starts_with(expected), "{told}");
        }
        let all: Vec<_> = index.all().iter().collect();
        let octets = |record| {
            let (segment, number) = index.segment(record).expect("a record");
            segment.record(number).expect("a record").0.to_vec()
        };
        all.into_iter().map(octets).collect::<Vec<_>>()
    };
    let (a, b) = (octets("a"), octets("b"));
    let both = check([&*a, b"\n", &*b].concat(), &["a", "b"], &[]);
    assert_eq!(both, [&*a, &*b]);

    let mut wrong_length = a.clone();
    wrong_length.splice(..5, *b"99999");
    let told = "record 1 at octet 0 repaired: ";
    let repaired = check([&*wrong_length, &*b].concat(), &["a", "b"], &[told]);
    assert_eq!(repaired.first(), Some(&a), "written anew");

    let left_out = format!("record 2 at octet {} left out: ", a.len());
    check(
        [&*a, b"no record\x1d", &*b].concat(),
        &["a", "b"],
        &[&left_out],
    );
}

#[test]
fn every_form_and_folder_is_read() {
    let records: Vec<_> = ["a", "b"].map(|docid| record(docid, "War & peace")).into();
    let written = |form: Form| {
        let mut text = form.begin().as_bytes().to_vec();
        for record in &records {
            form.write(record, &mut text).expect("written");
            text.extend_from_slice(form.between().as_bytes());
        }
        text.extend_from_slice(form.end().as_bytes());
        text
    };
    let folder = folder(&[
        ("1.mrc", &written(Form::Marc)),
        ("2.xml", &written(Form::MarcXml)),
        ("3.jsonl", &written(Form::Json)),
        ("4.mrk", &written(Form::Mrk)),
        ("5/line.txt", &written(Form::Line)),
        ("6.none", &written(Form::MarcXml)),
        (".7.mrc", b"hidden"),
        ("empty/readme", b"nothing"),
    ]);
    let path = |name: &str| folder.path().join(name);
    for name in ["1.mrc", "2.xml", "3.jsonl", "4.mrk", "5", "6.none"] {
        let (index, notes) =
            loaded(&[&path(name)]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(docids(&index), ["a", "b"], "{name}");
        assert_eq!(notes, [], "{name}");
    }
    let (index, _) = loaded(&[folder.path()]).expect("records");
    assert_eq!(docids(&index), ["a", "b"].repeat(5));
    for (name, expected) in [
        ("empty", "no file of records in "),
        ("empty/readme", "no record in "),
        ("nosuch.mrc", "cannot read "),
    ] {
        let error = loaded(&[&path(name)]).expect_err(name).to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn many_records_keep_their_order() {
    let mut file = Vec::new();
    let count = 9000;
    for number in 0..count {
        let long = record(
            &format!("id{number}"),
            &"War and peace and all the rest ".repeat(40),
        );
        file.extend(iso2709::encode(&long).expect("a sound record"));
    }
    assert!(file.len() > 8 << 20, "enough for several segments");
    let folder = folder(&[("many.mrc", &file), ("one.mrc", &octets("last"))]);
    let sources = Sources {
        databases: [Database::default()].into(),
        origins: vec![Origins {
            memory: vec![octets("first").into()],
            paths: vec![folder.path().to_owned()],
        }],
        ..Sources::default()
    };
    let last = std::cell::Cell::new(Progress::default());
    let (index, notes) = load(&sources, &|progress| last.set(*progress)).expect("records");
    assert_eq!(notes, []);
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..count).map(|number| format!("id{number}")));
    expected.push("last".to_owned());
    assert_eq!(docids(&index), expected);
    assert!(index.segments().count() > 1);
    let octets = u64::try_from(file.len()).expect("a length")
        + u64::try_from(octets("last").len()).expect("a length");
    let done = Progress {
        files: 2,
        files_read: 2,
        octets,
        octets_read: octets,
        records: count + 1,
    };
    assert_eq!(last.get(), done);
}

#[test]
fn records_without_an_exchange_form_are_named() {
    let long = record("long", &"x".repeat(10_000));
    let records: [MarcRecord; 2] = [record("a", "War"), long];
    let note = encoded(records).expect_err("too long").to_string();
    assert!(
        note.starts_with("record 2 at octet 0 left out: field 245 has"),
        "{note}"
    );
}
