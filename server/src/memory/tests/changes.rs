//! Atomic updates and their effect on result sets; reloads and files.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use z3950_asn1::apdu::External;
use z3950_asn1::oid::{SUTRS, USMARC, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::{MarcRecord, iso2709, marcxml};

use super::{found, pqf};
use crate::backend::{Composition, Hits, RecordId, Retrieve, UpdateAction, UpdateRecord};
use crate::memory::*;
use crate::requests::now;
use crate::testing::record;

/// Changes to the database `cat`: the outcomes as identifiers or `condition addinfo`.
pub(super) fn change(
    backend: &MemoryBackend,
    action: UpdateAction,
    records: &[UpdateRecord],
) -> Vec<Result<String, String>> {
    let update = Update {
        database: &DatabaseName::from("CAT"),
        action,
        records,
    };
    let outcomes = now(backend.update(update)).expect("the database is there");
    let shown = |outcome: Result<Bytes, Diagnostic>| match outcome {
        Ok(id) => Ok(String::from_utf8_lossy(&id).into_owned()),
        Err(diagnostic) => Err(format!(
            "{} {}",
            diagnostic.condition,
            diagnostic.addinfo.to_string_lossy()
        )),
    };
    outcomes.into_iter().map(shown).collect()
}

pub(super) fn marc(record: &MarcRecord) -> UpdateRecord {
    let octets = iso2709::encode(record).expect("sound");
    UpdateRecord {
        id: None,
        record: Some(External::octet_aligned(USMARC, octets)),
    }
}

pub(super) fn id(id: &'static str) -> UpdateRecord {
    UpdateRecord {
        id: Some(Bytes::from_static(id.as_bytes())),
        record: None,
    }
}

/// The titles of the records found, in order.
pub(super) fn titles(backend: &MemoryBackend, query: &str) -> Vec<String> {
    let hits = hits(backend, query);
    let ids = hits.ids(0..hits.len());
    ids.into_iter()
        .map(|record| title(backend, &hits, record))
        .collect()
}

pub(super) fn hits(backend: &MemoryBackend, query: &str) -> Hits {
    let (databases, query) = ([DatabaseName::from("cat")], pqf(query));
    let search = Search::new(&databases, &query);
    now(backend.search(search)).expect("an answer").hits
}

pub(super) fn title(backend: &MemoryBackend, hits: &Hits, record: RecordId) -> String {
    let composition = Composition {
        syntax: Some(USMARC),
        element_set: "F".to_owned(),
        by_database: Vec::new(),
    };
    let wanted = Retrieve {
        hits,
        record,
        composition: &composition,
    };
    let external = now(backend.record(wanted))
        .and_then(|retrieved| retrieved.record)
        .expect("a record");
    let octets = RetrievedRecord::octets_of(&external);
    let record = iso2709::parse(&octets).expect("sound").record;
    let title = record
        .fields_by_tag("245")
        .next()
        .and_then(|field| field.subfield("a"));
    String::from_utf8_lossy(title.unwrap_or_default()).into_owned()
}

pub(super) fn catalogue() -> MemoryBackend {
    let cat = [
        record("a", "War"),
        record("b", "Peace"),
        record("c", "Emma"),
    ];
    let other = [record("a", "Another war")];
    let databases = MemoryBackend::builder().add_records("cat", cat);
    let databases = databases.and_then(|all| all.add_records("other", other));
    databases.expect("sound").build()
}

#[test]
fn records_are_inserted_replaced_and_deleted() {
    use UpdateAction::{Delete, Elements, Insert, Replace, Special};
    let backend = catalogue();
    let ok = |id: &str| Ok(id.to_owned());
    let refused = |why: &str| Err(format!("100 {why}"));
    let all = "@attr 1=1016 @attr 2=103 x";

    assert_eq!(
        change(&backend, Insert, &[marc(&record("d", "Walden"))]),
        [ok("d")]
    );
    assert_eq!(titles(&backend, all), ["War", "Peace", "Emma", "Walden"]);
    assert_eq!(titles(&backend, "walden"), ["Walden"]);
    assert_eq!(
        change(&backend, Insert, &[marc(&record("d", "Again"))]),
        [refused("the record already exists: d")]
    );
    assert_eq!(
        change(&backend, Replace, &[marc(&record("b", "Peace!"))]),
        [ok("b")]
    );
    assert_eq!(titles(&backend, "peace"), ["Peace!"]);
    assert_eq!(
        change(&backend, Replace, &[marc(&record("x", "X"))]),
        [refused("no such record: x")]
    );
    assert_eq!(
        change(
            &backend,
            Special,
            &[marc(&record("x", "X")), marc(&record("a", "War II"))]
        ),
        [ok("x"), ok("a")]
    );
    assert_eq!(titles(&backend, "war"), ["War II"]);
    assert_eq!(
        change(&backend, Delete, &[id("c"), id("x")]),
        [ok("c"), ok("x")]
    );
    assert_eq!(
        change(&backend, Delete, &[id("c")]),
        [refused("no such record: c")]
    );
    assert_eq!(titles(&backend, "@or emma x"), [""; 0]);
    // A record of the same docid in another database is a different record.
    assert_eq!(
        found(&backend, &["other"], &pqf("war")).map(|found| found.len()),
        Ok(1)
    );
    assert_eq!(backend.databases()[0].records, Some(3));

    let mut elements = record("d", "Walden; or, Life in the woods");
    elements.fields.remove(0);
    let elements = UpdateRecord {
        id: Some(Bytes::from_static(b"d")),
        ..marc(&elements)
    };
    assert_eq!(change(&backend, Elements, &[elements]), [ok("d")]);
    assert_eq!(
        titles(&backend, "walden"),
        ["Walden; or, Life in the woods"]
    );
}

#[test]
fn records_come_in_forms_and_with_identifiers() {
    use UpdateAction::{Insert, Special};
    let backend = catalogue();
    let xml = marcxml::to_xml(&record("xml", "By XML")).text;
    let xml = UpdateRecord {
        id: None,
        record: Some(External::octet_aligned(XML, xml.into_bytes())),
    };
    assert_eq!(change(&backend, Insert, &[xml]), [Ok("xml".to_owned())]);
    assert_eq!(titles(&backend, "@attr 1=1032 xml"), ["By XML"]);

    let mut nameless = record("", "Nameless");
    nameless.fields.remove(0);
    let outcomes = change(&backend, Insert, &[marc(&nameless), marc(&nameless)]);
    assert_eq!(outcomes, [Ok("5".to_owned()), Ok("6".to_owned())]);
    assert_eq!(titles(&backend, "@attr 1=1032 6"), ["Nameless"]);
    let named = UpdateRecord {
        id: Some(Bytes::from_static(b"named")),
        ..marc(&nameless)
    };
    assert_eq!(
        change(&backend, Special, &[named]),
        [Ok("named".to_owned())]
    );
    assert_eq!(titles(&backend, "@attr 1=1032 named"), ["Nameless"]);

    let bad = |record: External| UpdateRecord {
        id: None,
        record: Some(record),
    };
    let otherwise = UpdateRecord {
        id: Some(Bytes::from_static(b"y")),
        ..marc(&record("z", "Z"))
    };
    for (update, expected) in [
        (bad(External::octet_aligned(USMARC, "nothing")), "100 "),
        (bad(External::octet_aligned(XML, "<record")), "100 "),
        (bad(External::octet_aligned(SUTRS, "text")), "239 "),
        (otherwise, "100 the record has another identifier: z"),
        (
            UpdateRecord {
                id: None,
                record: None,
            },
            "100 ",
        ),
    ] {
        let outcomes = change(&backend, Insert, std::slice::from_ref(&update));
        let told = outcomes
            .first()
            .and_then(|outcome| outcome.clone().err())
            .unwrap_or_default();
        assert!(told.starts_with(expected), "{update:?}: {told}");
    }
}

#[test]
fn changes_are_atomic() {
    use UpdateAction::{Delete, Insert, Special};
    let backend = catalogue();
    let outcomes = change(
        &backend,
        Insert,
        &[marc(&record("d", "Walden")), marc(&record("a", "War"))],
    );
    assert!(
        matches!(outcomes.as_slice(), [Ok(_), Err(_)]),
        "{outcomes:?}"
    );
    assert_eq!(titles(&backend, "walden"), [""; 0]);
    let outcomes = change(&backend, Delete, &[id("a"), id("a")]);
    assert!(
        matches!(outcomes.as_slice(), [Ok(_), Err(_)]),
        "{outcomes:?}"
    );
    assert_eq!(titles(&backend, "war"), ["War"]);
    // Later parts of a change see the earlier ones.
    let twice = [marc(&record("e", "First")), marc(&record("e", "Second"))];
    assert!(change(&backend, Special, &twice).iter().all(Result::is_ok));
    assert_eq!(titles(&backend, "@attr 1=1032 e"), ["Second"]);
    let unknown = Update {
        database: &DatabaseName::from("nosuch"),
        action: Delete,
        records: &[id("a")],
    };
    let refused = now(backend.update(unknown)).expect_err("no such database");
    assert_eq!(refused.condition, 235);
}

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
fn changes_are_saved_and_read_again() {
    for name in ["saved.mrc", "saved.xml", "saved.jsonl", "saved.mrk"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, saved) = (folder.path().join("a.mrc"), folder.path().join(name));
        let file = [record("a", "War"), record("b", "Peace")]
            .map(|record| iso2709::encode(&record).expect("sound"));
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
    fs::write(&path, iso2709::encode(&record("a", "War")).expect("sound")).expect("written");
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
        let octets = |id, title| iso2709::encode(&record(id, title)).expect("sound");
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
        // A file that was read again can be changed.
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

/// A removed file is written again by the next update; one that was put back is read and written as before.
#[test]
fn a_removed_saved_file_is_written_again() {
    for back in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, away) = (folder.path().join("a.mrc"), folder.path().join("away"));
        fs::write(&path, iso2709::encode(&record("a", "War")).expect("sound")).expect("written");
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
    fs::write(&path, iso2709::encode(&record("a", "War")).expect("sound")).expect("written");
    let nowhere = folder.path().join("nosuch/saved.mrc");
    let (backend, _) = MemoryBackend::builder()
        .load([files(&path, Some(&nowhere))], &|_| {})
        .expect("records");
    let update = Update {
        database: &DatabaseName::from("cat"),
        action: UpdateAction::Delete,
        records: &[id("a")],
    };
    let refused = now(backend.update(update)).expect_err("not saved");
    assert_eq!(refused.condition, 1);
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

/// Databases are added, removed and changed; what is saved stays as it is.
#[test]
fn a_reload_takes_other_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, records: &[(&str, &str)]| {
        let records = records.iter();
        let octets = records.map(|(id, title)| iso2709::encode(&record(id, title)).expect("sound"));
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
        fs::write(&path, iso2709::encode(&record("a", title)).expect("sound")).expect("written")
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

#[test]
fn many_changes_give_the_expected_records() {
    use UpdateAction::{Delete, Insert, Replace};
    let backend = catalogue();
    let mut model: Vec<(String, String)> = ["War", "Peace", "Emma"]
        .into_iter()
        .zip(["a", "b", "c"])
        .map(|(title, id)| (id.to_owned(), title.to_owned()))
        .collect();
    let mut state: u64 = 5050;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    for step in 0..400 {
        let title = format!("title{step} common");
        match random(4) {
            0 if !model.is_empty() => {
                let (id, _) = model.remove(random(model.len()));
                let gone = UpdateRecord {
                    id: Some(id.into_bytes().into()),
                    record: None,
                };
                assert!(change(&backend, Delete, &[gone]).iter().all(Result::is_ok));
            }
            1 if !model.is_empty() => {
                let (id, _) = model.remove(random(model.len()));
                let new = marc(&record(&id, &title));
                assert!(change(&backend, Replace, &[new]).iter().all(Result::is_ok));
                model.push((id, title));
            }
            _ => {
                let id = format!("id{step}");
                let new = marc(&record(&id, &title));
                assert!(change(&backend, Insert, &[new]).iter().all(Result::is_ok));
                model.push((id, title));
            }
        }
        if step % 50 == 49 {
            let expected: Vec<_> = model.iter().map(|(_, title)| title.clone()).collect();
            assert_eq!(titles(&backend, "@attr 1=1016 @attr 2=103 x"), expected);
            for (id, title) in &model {
                let by_id = format!("@attr 1=1032 {id}");
                assert_eq!(titles(&backend, &by_id), [title.as_str()]);
            }
        }
    }
    let segments = backend.current().index.segments().count();
    assert!(segments < 20, "{segments} segments");
}

/// Those of a database that is not saved are gone after a reload.
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
