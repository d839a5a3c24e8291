//! Tests of records loaded from memory and from files of every format, valid and damaged.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use z3950_marc::{Form, MarcRecord, iso2709};

use super::*;
use crate::backend::Backend;
use crate::memory::MemoryBackend;
use crate::memory::catalogue::DatabaseFiles;
use crate::memory::fields::IndexId;
use crate::memory::index::Index;
use crate::testing::record;

fn octets(docid: &str) -> Vec<u8> {
    iso2709::encode(&record(docid, "War")).expect("a valid record")
}

/// Returns a folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("the file is written");
    }
    folder
}

/// Loads one database from these paths.
fn loaded(paths: &[&Path]) -> Result<(Index, Vec<FileNotes>), LoadError> {
    let database = DatabaseFiles {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..DatabaseFiles::default()
    };
    let loaded = load(&Arc::default(), &[database], None, None, &|_| {})?;
    Ok((loaded.index, loaded.notes))
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
fn damage_does_not_affect_other_records() {
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
    assert_eq!(repaired.first(), Some(&a), "written again");

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
        file.extend(iso2709::encode(&long).expect("a valid record"));
    }
    assert!(file.len() > 8 << 20, "enough for several segments");
    let folder = folder(&[("many.mrc", &file), ("one.mrc", &octets("last"))]);
    let database = DatabaseFiles {
        records: vec![octets("first").into()],
        paths: vec![folder.path().to_owned()],
        ..DatabaseFiles::default()
    };
    let last = std::cell::Cell::new(Progress::default());
    let Loaded { index, notes, .. } = load(&Arc::default(), &[database], None, None, &|progress| {
        last.set(*progress)
    })
    .expect("records");
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

/// Returns pseudorandom octets, the same in each run.
fn rubbish(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let octets = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    });
    octets.take(count).collect()
}

fn with_wrong_length(mut record: Vec<u8>) -> Vec<u8> {
    record.splice(..5, *b"99999");
    record
}

#[test]
fn audit_a7_only_intact_files_replace_the_records_served() {
    let (a, b, c) = (octets("a"), octets("b"), octets("c"));
    let noise: Vec<_> = (0..20)
        .flat_map(|_| [rubbish(240), b"\x1d".to_vec()].concat())
        .collect();
    for (file, expected) in [
        (c.clone(), Ok(1)),
        ([&*a, &*b, &*c].concat(), Ok(3)),
        // Only the lengths in these records are wrong, as happens when files are converted. They are repaired without loss.
        (
            [with_wrong_length(a.clone()), with_wrong_length(b.clone())].concat(),
            Ok(2),
        ),
        // The last record is cut off, which is repaired at startup but refused in a reload.
        (
            [&*a, &b[..b.len() - 1]].concat(),
            Err("what is served: record 2 at octet 60 is incomplete: no record terminator"),
        ),
        // The error names the record that would lose data.
        (
            [&*with_wrong_length(a.clone()), &*b, &c[..c.len() - 9]].concat(),
            Err("what is served: record 3 "),
        ),
        (rubbish(5000), Err("")),
        (noise, Err("")),
        (Vec::new(), Err("no record in ")),
        ([&*a, b"no record\x1d"].concat(), Err("left out")),
        (
            b[..b.len() - 9].to_vec(),
            Err("does not replace what is served"),
        ),
    ] {
        let folder = folder(&[("x.mrc", &[&*a, &*b].concat())]);
        let path = folder.path().join("x.mrc");
        let files = DatabaseFiles {
            name: "x".to_owned(),
            paths: vec![path.clone()],
            ..DatabaseFiles::default()
        };
        let loaded = MemoryBackend::builder().load([files], &|_| {});
        let (backend, _) = loaded.expect("two records");
        fs::write(&path, &file).expect("written");
        let reloaded = backend.reload(&|_| {});
        let served = backend.databases()[0].records;
        match (expected, reloaded) {
            (Ok(count), Ok(_)) => assert_eq!(served, Some(count)),
            (Err(words), Err(error)) => {
                let error = error.to_string();
                assert!(error.contains(words) && error.contains("x.mrc"), "{error}");
                assert_eq!(served, Some(2), "{error}");
            }
            (expected, reloaded) => panic!("{expected:?}: {reloaded:?}"),
        }
    }
}

/// A reload accepts damage that the served records already have, but not additional damage.
#[test]
fn a_reload_accepts_damage_that_is_already_served() {
    let (a, b) = (octets("a"), octets("b"));
    let cut = &b[..b.len() - 9];
    let (first, again) = ([&*a, &*b, cut].concat(), [&*a, cut].concat());
    let folder = folder(&[("x.mrc", &first), ("y.mrc", cut)]);
    let (path, none_whole) = (folder.path().join("x.mrc"), folder.path().join("y.mrc"));
    let files = [("x", &path), ("y", &none_whole)].map(|(name, path)| DatabaseFiles {
        name: name.to_owned(),
        paths: vec![path.clone()],
        ..DatabaseFiles::default()
    });
    let loaded = MemoryBackend::builder().load(files, &|_| {});
    let (backend, _) = loaded.expect("records");
    for (file, is_taken) in [
        (&*first, true),
        // The next two files are more damaged, or have fewer records, than what is being served.
        (&[&*a, &*b, b"no record\x1d", cut].concat(), false),
        (&again, false),
        (&[&*a, &*a, &*b, cut].concat(), true),
        (&[&*a, &*b].concat(), true),
        // The file that is served at this point is not damaged, so a damaged file is refused.
        (&first, false),
    ] {
        fs::write(&path, file).expect("written");
        let reloaded = backend.reload(&|_| {});
        assert_eq!(reloaded.is_ok(), is_taken, "{file:?}: {reloaded:?}");
    }
}

/// Checks that each file with an error is reported on a line of its own.
#[test]
fn all_file_errors_are_reported() {
    let folder = folder(&[("a.mrc", &rubbish(500)), ("b.mrc", &octets("b"))]);
    let files = ["a.mrc", "b.mrc", "c.mrc", "d.mrc"].map(|name| DatabaseFiles {
        name: name.to_owned(),
        paths: vec![folder.path().join(name)],
        ..DatabaseFiles::default()
    });
    let error = MemoryBackend::builder().load(files, &|_| {});
    let error = error.expect_err("three are faulty");
    assert_eq!(error.each().len(), 3, "{error}");
    let lines = error.to_string();
    let lines: Vec<_> = lines.lines().collect();
    for (line, words) in lines.iter().zip(["c.mrc: ", "d.mrc: ", "no record in "]) {
        assert!(line.contains(words), "{words} in {lines:?}");
    }
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn audit_a7_a_saved_file_may_be_empty_only_where_the_database_is() {
    let folder = folder(&[("x.mrc", &octets("a"))]);
    let path = folder.path().join("x.mrc");
    let files = DatabaseFiles {
        name: "x".to_owned(),
        save: Some(path.clone()),
        ..DatabaseFiles::default()
    };
    let loaded = MemoryBackend::builder().load([files], &|_| {});
    let (backend, _) = loaded.expect("a record");
    fs::write(&path, rubbish(500)).expect("written");
    assert!(backend.reload(&|_| {}).is_err());
    assert_eq!(backend.databases()[0].records, Some(1));
    fs::remove_file(&path).expect("removed");
    let refused = backend.reload(&|_| {}).expect_err("it was there before");
    assert!(
        refused
            .to_string()
            .contains(" has been removed: put it back"),
        "{refused}"
    );
    assert_eq!(backend.databases()[0].records, Some(1));
    fs::write(&path, "").expect("written");
    let refused = backend.reload(&|_| {}).expect_err("a record is served");
    assert!(
        refused.to_string().starts_with("no record in "),
        "{refused}"
    );
    assert_eq!(backend.databases()[0].records, Some(1));

    let files = DatabaseFiles {
        name: "x".to_owned(),
        save: Some(path.clone()),
        ..DatabaseFiles::default()
    };
    drop(backend);
    let (backend, _) = MemoryBackend::builder()
        .load([files], &|_| {})
        .expect("an empty database");
    assert_eq!(backend.databases()[0].records, Some(0));
    backend.reload(&|_| {}).expect("as empty as it was");
    fs::write(&path, octets("a")).expect("written");
    backend.reload(&|_| {}).expect("a record");
    assert_eq!(backend.databases()[0].records, Some(1));
}

#[test]
fn audit_a9_a_check_reports_every_record() {
    let a = octets("a");
    let mut cut = Vec::new();
    for _ in 0..150 {
        cut.extend_from_slice(b"no record\x1d");
        cut.extend_from_slice(&a);
    }
    cut.extend(with_wrong_length(a.clone()));
    cut.extend_from_slice(&a[..a.len() - 1]);
    let folder = folder(&[
        ("sound.mrc", &a),
        ("cut.mrc", &cut),
        ("none.mrc", b"nothing"),
        (
            "text.mrk",
            b"=LDR  00000nam a2200000 a 4500\n=001  b1\n\nno field\n",
        ),
    ]);
    let found = |name: &str| {
        let files = DatabaseFiles {
            paths: vec![folder.path().join(name)],
            ..DatabaseFiles::default()
        };
        let mut told = Vec::new();
        let found = check_files(&files, &mut |path, note| {
            assert!(path.ends_with(name));
            told.push(note.to_string());
        });
        let [found] = <[_; 1]>::try_from(found).expect("one file");
        let counts = found.map(|found| {
            (
                found.records,
                found.repaired,
                found.incomplete,
                found.left_out,
            )
        });
        (counts.map_err(|error| error.to_string()), told)
    };
    assert_eq!(found("sound.mrc"), (Ok((1, 0, 0, 0)), vec![]));
    let (counts, told) = found("cut.mrc");
    assert_eq!(counts, Ok((152, 1, 1, 150)));
    assert!(told.len() >= 152, "each of them: {}", told.len());
    assert!(
        told[0].starts_with("record 1 at octet 0 left out: "),
        "{told:?}"
    );
    let (_, loaded_notes) = loaded(&[&folder.path().join("cut.mrc")]).expect("records");
    let loaded_notes: Vec<_> = loaded_notes[0].notes.iter().map(Note::to_string).collect();
    assert_eq!(told[..MAX_NOTES], loaded_notes, "as when starting");
    let (counts, _) = found("text.mrk");
    assert!(matches!(counts, Ok((1, _, _, 1))), "{counts:?}");
    let (none, _) = found("none.mrc");
    assert!(none.expect_err("nothing").starts_with("no record in "));
    let (missing, _) = found("nosuch.mrc");
    assert!(missing.expect_err("nothing").starts_with("cannot read "));
}
