//! Tests of changes that are saved to a file, and of reloads.

use std::fs;
use std::path::Path;

use z3950_marc::iso2709;

use super::changes::{change, hits, id, marc, title, titles};
use crate::backend::UpdateAction;
use crate::memory::*;
use crate::requests::now;
use crate::testing::record;

pub(super) fn files(path: &Path, save: Option<&Path>) -> DatabaseFiles {
    DatabaseFiles {
        name: "cat".to_owned(),
        title: Some("The catalogue".to_owned()),
        paths: vec![path.to_owned()],
        save: save.map(Path::to_owned),
        ..DatabaseFiles::default()
    }
}

#[test]
fn a_database_that_is_still_being_indexed_does_not_keep_its_file_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, saved) = (folder.path().join("a.mrc"), folder.path().join("b.mrc"));
    fs::write(&path, iso2709::encode(&record("a", "War")).expect("valid")).expect("written");
    let (backend, _) = MemoryBackend::builder()
        .load([files(&path, Some(&saved))], &|_| {})
        .expect("records");
    let lock = folder.path().join(".b.mrc.lock");
    assert!(lock.exists());
    let preparation = backend.preparation();
    drop(backend);
    assert!(!lock.exists());
    preparation();
}

#[test]
fn changes_are_saved_and_read_again() {
    for name in ["saved.mrc", "saved.xml", "saved.jsonl", "saved.mrk"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, saved) = (folder.path().join("a.mrc"), folder.path().join(name));
        let file = [record("a", "War"), record("b", "Peace")]
            .map(|record| iso2709::encode(&record).expect("valid"));
        fs::write(&path, file.concat()).expect("written");
        let load = || MemoryBackend::builder().load([files(&path, Some(&saved))], &|_| {});
        let (backend, notes) = load().expect("records");
        assert_eq!(notes, []);
        assert_eq!(
            backend.databases()[0].title.as_deref(),
            Some("The catalogue")
        );
        assert!(!saved.exists());
        let outcomes = change(
            &backend,
            UpdateAction::Insert,
            &[marc(&record("c", "Emma"))],
        );
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        assert!(
            change(&backend, UpdateAction::Delete, &[id("a")])
                .iter()
                .all(Result::is_ok)
        );
        let check = |backend: &MemoryBackend| {
            assert_eq!(
                titles(backend, "@or war @or peace emma"),
                ["Peace", "Emma"],
                "{name}"
            );
        };
        check(&backend);
        drop(backend);
        let (backend, _) = load().expect("records");
        check(&backend);
        backend.reload(&|_| {}).expect("records");
        assert_eq!(
            titles(&backend, "@or war @or peace emma"),
            ["Peace", "Emma"],
            "{name}"
        );
        assert!(
            change(&backend, UpdateAction::Delete, &[id("b"), id("c")])
                .iter()
                .all(Result::is_ok)
        );
        drop(backend);
        let (backend, _) = load().expect("an empty database");
        assert_eq!(backend.databases()[0].records, Some(0), "{name}");
        assert!(backend.fold().iter().all(Result::is_ok));
        drop(backend);
        let (backend, _) = load().expect("an empty database");
        assert_eq!(backend.databases()[0].records, Some(0), "{name}");
        drop(backend);
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left.len(), 2, "nothing else is left: {left:?}");
    }
}

#[test]
fn audit_a8_one_backend_writes_a_saved_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, saved) = (folder.path().join("a.mrc"), folder.path().join("s.mrc"));
    fs::write(&path, iso2709::encode(&record("a", "War")).expect("valid")).expect("written");
    let load = || MemoryBackend::builder().load([files(&path, Some(&saved))], &|_| {});
    let (first, _) = load().expect("records");
    let refused = || {
        let error = load().map(drop).expect_err("it is locked").to_string();
        assert!(
            error.contains("s.mrc is being written by another run"),
            "{error}"
        );
    };
    refused();
    let outcomes = change(&first, UpdateAction::Insert, &[marc(&record("c", "Emma"))]);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    refused();
    drop(first);
    let (second, _) = load().expect("the lock is free");
    assert_eq!(titles(&second, "@or war emma"), ["War", "Emma"]);
}

#[test]
fn audit_a8_a_hand_edit_is_not_overwritten() {
    for is_there in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, saved) = (folder.path().join("a.mrc"), folder.path().join("s.mrc"));
        let octets = |id, title| iso2709::encode(&record(id, title)).expect("valid");
        fs::write(&path, octets("a", "War")).expect("written");
        if is_there {
            fs::write(&saved, octets("a", "War")).expect("written");
        }
        let (backend, _) = MemoryBackend::builder()
            .load([files(&path, Some(&saved))], &|_| {})
            .expect("records");
        fs::write(&saved, octets("b", "Peace by hand")).expect("written");
        let insert = [marc(&record("c", "Emma"))];
        let update = Update {
            caller: crate::backend::Caller::new(),
            database: &DatabaseName::from("cat"),
            action: UpdateAction::Insert,
            records: &insert,
        };
        let refused = now(backend.update(update)).expect_err("the file has changed");
        assert_eq!(refused.condition, 1);
        let error = backend.save("cat", &saved).expect_err("it has changed");
        assert!(error.to_string().contains("reload"), "{error}");
        assert_eq!(
            fs::read(&saved).expect("read"),
            octets("b", "Peace by hand")
        );
        assert_eq!(titles(&backend, "@or war @or peace emma"), ["War"]);
        // After a reload has read the file again, its records can be changed.
        backend.reload(&|_| {}).expect("records");
        let outcomes = change(&backend, UpdateAction::Insert, &insert);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        assert_eq!(
            titles(&backend, "@or war @or peace emma"),
            ["Peace by hand", "Emma"]
        );
        backend.reload(&|_| {}).expect("records");
        assert_eq!(
            titles(&backend, "@or peace emma"),
            ["Peace by hand", "Emma"]
        );
    }
}

/// The next update writes a removed file again. A file that was put back is read and written as before.
#[test]
fn a_removed_saved_file_is_written_again() {
    for back in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, away) = (folder.path().join("a.mrc"), folder.path().join("away"));
        fs::write(&path, iso2709::encode(&record("a", "War")).expect("valid")).expect("written");
        let load = || MemoryBackend::builder().load([files(&path, Some(&path))], &|_| {});
        let insert = |backend: &MemoryBackend, id: &str, title: &str| {
            let outcomes = change(backend, UpdateAction::Insert, &[marc(&record(id, title))]);
            assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        };
        let (backend, _) = load().expect("records");
        insert(&backend, "b", "Peace");
        fs::rename(&path, &away).expect("renamed");
        let refused = backend.reload(&|_| {}).expect_err("removed").to_string();
        for words in ["a.mrc has been removed", "put it back", "next update"] {
            assert!(refused.contains(words), "{refused}");
        }
        if back {
            fs::rename(&away, &path).expect("renamed");
            backend.reload(&|_| {}).expect("records");
        }
        insert(&backend, "c", "Emma");
        let all = ["War", "Peace", "Emma"];
        assert_eq!(titles(&backend, "@or war @or peace emma"), all);
        backend.reload(&|_| {}).expect("records");
        drop(backend);
        let (backend, _) = load().expect("records");
        assert_eq!(titles(&backend, "@or war @or peace emma"), all);
    }
}

#[test]
fn a_change_that_cannot_be_saved_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mrc");
    fs::write(&path, iso2709::encode(&record("a", "War")).expect("valid")).expect("written");
    let nowhere = folder.path().join("nosuch/saved.mrc");
    let (backend, _) = MemoryBackend::builder()
        .load([files(&path, Some(&nowhere))], &|_| {})
        .expect("records");
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action: UpdateAction::Delete,
        records: &[id("a")],
    };
    let refused = now(backend.update(update)).expect_err("not saved");
    assert_eq!(refused.condition, 2);
    let told = refused.addinfo.to_string_lossy();
    assert_eq!(
        told,
        "the database cannot be saved: the folder of its file does not exist"
    );
    assert_eq!(titles(&backend, "war"), ["War"]);
    let error = backend
        .save("cat", &nowhere)
        .expect_err("not saved")
        .to_string();
    assert!(error.starts_with("cannot write "), "{error}");
    let error = backend
        .save("nosuch", &path)
        .expect_err("no such database")
        .to_string();
    assert_eq!(error, "no database nosuch");
}

/// A reload may add, remove and change databases; saved databases are not affected.
#[test]
fn a_reload_applies_other_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, records: &[(&str, &str)]| {
        let records = records.iter();
        let octets = records.map(|(id, title)| iso2709::encode(&record(id, title)).expect("valid"));
        fs::write(at(name), octets.collect::<Vec<_>>().concat()).expect("written");
    };
    write("a.mrc", &[("a", "War")]);
    write("b.mrc", &[("b", "Emma"), ("c", "Peace")]);
    let of = |name: &str, path: &str, saved: Option<&str>| {
        let saved = saved.map(at);
        let mut files = files(&at(path), saved.as_deref());
        files.name = name.to_owned();
        files
    };
    let cat = || of("cat", "a.mrc", Some("s.mrc"));
    let builder = MemoryBackend::builder;
    let (backend, _) = builder().load([cat()], &|_| {}).expect("records");
    let counts = || -> Vec<_> {
        let databases = backend.databases().into_iter();
        databases
            .map(|database| (database.name, database.records))
            .collect()
    };
    let outcomes = change(
        &backend,
        UpdateAction::Insert,
        &[marc(&record("d", "Faust"))],
    );
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let before = hits(&backend, "faust");
    let reload = |files: Vec<DatabaseFiles>| {
        let read = backend.reload_as(builder(), files, &|_| {});
        read.map(PendingReload::finish)
    };
    reload(vec![cat(), of("more", "b.mrc", None)]).expect("records");
    let expected = [("cat", 2), ("more", 2)];
    let expected = expected.map(|(name, count)| (name.to_owned(), Some(count)));
    assert_eq!(counts(), expected);
    assert_eq!(title(&backend, &before, before.ids(0..1)[0]), "Faust");
    for files in [
        vec![of("cat", "a.mrc", None)],
        vec![of("cat", "a.mrc", Some("t.mrc"))],
        vec![of("more", "b.mrc", None), cat()],
        vec![cat(), of("more", "b.mrc", Some("t.mrc"))],
        vec![cat(), of("lost", "lost.mrc", None)],
    ] {
        reload(files).map(drop).expect_err("refused");
        assert_eq!(counts(), expected);
    }
    reload(vec![cat()]).expect("records");
    assert_eq!(counts(), expected[..1]);
    let outcomes = change(
        &backend,
        UpdateAction::Insert,
        &[marc(&record("e", "Iris"))],
    );
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mrc");
    let write = |title: &str| {
        fs::write(&path, iso2709::encode(&record("a", title)).expect("valid")).expect("written")
    };
    write("War");
    let (backend, _) = MemoryBackend::builder()
        .load([files(&path, None)], &|_| {})
        .expect("records");
    write("Peace");
    assert_eq!(titles(&backend, "@or war peace"), ["War"]);
    backend.clone().reload(&|_| {}).expect("records");
    assert_eq!(titles(&backend, "@or war peace"), ["Peace"]);
    fs::remove_file(&path).expect("removed");
    backend.reload(&|_| {}).expect_err("no file");
    assert_eq!(titles(&backend, "@or war peace"), ["Peace"]);
}

/// A reload discards changes to a database that is not saved. A warning states their number, so they are counted.
#[test]
fn changes_that_are_not_saved_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    for is_saved in [false, true] {
        let files = DatabaseFiles {
            name: "cat".to_owned(),
            paths: vec![folder.path().join("cat.mrc")],
            save: is_saved.then(|| folder.path().join("saved.mrc")),
            ..DatabaseFiles::default()
        };
        let sound = iso2709::encode(&record("a", "War")).expect("a record");
        fs::write(&files.paths[0], sound).expect("written");
        let loaded = MemoryBackend::builder().load([files], &|_| {});
        let (backend, _) = loaded.expect("a record");
        assert_eq!(backend.unsaved_changes(), []);
        for docid in ["b", "c"] {
            change(
                &backend,
                UpdateAction::Insert,
                &[marc(&record(docid, "Peace"))],
            );
        }
        let expected = (!is_saved).then(|| ("cat".to_owned(), 2));
        assert_eq!(backend.unsaved_changes(), Vec::from_iter(expected));
        backend.reload(&|_| {}).expect("a record");
        assert_eq!(backend.unsaved_changes(), []);
    }
}
