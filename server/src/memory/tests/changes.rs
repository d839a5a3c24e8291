//! Tests of atomic updates and their effect on result sets.

use bytes::Bytes;
use z3950_asn1::apdu::External;
use z3950_asn1::oid::{SUTRS, USMARC, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::{Field, MarcRecord, Tag, iso2709, marcxml};

use super::{found, pqf};
use crate::backend::{Composition, Hits, RecordId, Retrieve, UpdateAction, UpdateRecord};
use crate::memory::hits::RecordNumber;
use crate::memory::*;
use crate::requests::now;
use crate::testing::record;

/// Makes changes to the database `cat`. The result for each record is its identifier, or the condition and additional information
/// of its diagnostic.
pub(super) fn change(
    backend: &MemoryBackend,
    action: UpdateAction,
    records: &[UpdateRecord],
) -> Vec<Result<String, String>> {
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("CAT"),
        action,
        records,
    };
    let outcomes = now(backend.update(update)).expect("the database exists");
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
    let octets = iso2709::encode(record).expect("valid");
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

/// Runs a search; returns the titles of the records found, in order.
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
        caller: crate::backend::Caller::new(),
        hits,
        record,
        composition: &composition,
    };
    let external = now(backend.record(wanted))
        .and_then(|retrieved| retrieved.record)
        .expect("a record");
    let octets = RetrievedRecord::octets_of(&external);
    let record = iso2709::parse(&octets).expect("valid").record;
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
    databases.expect("valid").build()
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
    // A record with the same docid in another database is a different record.
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

    let text = marcxml::to_xml(&record("bad", "Bad")).text;
    for (text, expected) in [
        (text.replace("\"245\"", "\"2450\""), "field 2450 left out"),
        (format!("{text}{text}"), "a single record is expected"),
    ] {
        let xml = UpdateRecord {
            id: None,
            record: Some(External::octet_aligned(XML, text.into_bytes())),
        };
        let outcomes = change(&backend, Insert, &[xml]);
        let [Err(why)] = &outcomes[..] else {
            panic!("{outcomes:?}")
        };
        assert!(format!("{why:?}").contains(expected), "{why:?}");
    }
    assert_eq!(
        found(&backend, &["CAT"], &pqf("@attr 1=1032 bad")).map(|found| found.len()),
        Ok(0)
    );

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
    // A later record in an update sees the changes made by earlier records.
    let twice = [marc(&record("e", "First")), marc(&record("e", "Second"))];
    assert!(change(&backend, Special, &twice).iter().all(Result::is_ok));
    assert_eq!(titles(&backend, "@attr 1=1032 e"), ["Second"]);
    let unknown = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("nosuch"),
        action: Delete,
        records: &[id("a")],
    };
    let refused = now(backend.update(unknown)).expect_err("no such database");
    assert_eq!(refused.condition, 235);
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

/// Small changes are made immediately; larger changes are made on another thread.
#[test]
fn small_changes_are_quick() {
    let of = |octets: usize| UpdateRecord {
        id: None,
        record: Some(External::octet_aligned(USMARC, vec![b'x'; octets])),
    };
    for (octets, is_quick) in [
        (&[16 * 1024][..], true),
        (&[16 * 1024 + 1], false),
        (&[16 * 1024 - 3, 1, 1, 1], true),
        (&[16 * 1024 - 3, 1, 1, 2], false),
        (&[1, 1, 1, 1, 1], false),
    ] {
        let records: Vec<_> = octets.iter().map(|octets| of(*octets)).collect();
        let update = Update {
            caller: crate::backend::Caller::new(),
            database: &DatabaseName::from("cat"),
            action: UpdateAction::Insert,
            records: &records,
        };
        assert_eq!(update::is_quick(&update), is_quick, "{octets:?}");
    }
}

#[test]
fn a_record_has_one_identifier() {
    let of = |docids: &[&str]| {
        let mut record = record("x", "One");
        record.fields.remove(0);
        for docid in docids.iter().rev() {
            let field = Field::control(Tag(*b"001"), docid.as_bytes().to_vec());
            record.fields.insert(0, field);
        }
        marc(&record)
    };
    for (docids, expected) in [
        (&[][..], Ok("4")),
        (&[""], Ok("4")),
        (&["  "], Ok("4")),
        (&["d"], Ok("d")),
        (
            &["d", "d"],
            Err("the field of the identifier is repeated: d"),
        ),
        (
            &["", "d"],
            Err("the field of the identifier is repeated: d"),
        ),
        (
            &["d\ne"],
            Err("a control character in the identifier: d\\x0ae"),
        ),
    ] {
        let backend = catalogue();
        let expected = expected.map(str::to_owned);
        let expected = expected.map_err(|why| format!("100 {why}"));
        let inserted = change(&backend, UpdateAction::Insert, &[of(docids)]);
        assert_eq!(inserted, std::slice::from_ref(&expected), "{docids:?}");
        if let Ok(docid) = expected {
            let hits = hits(&backend, "one");
            let ids = hits.ids(0..hits.len());
            let current = backend.current();
            let first = RecordNumber::of(ids[0]).expect("a number");
            let (segment, number) = current.index.segment(first).expect("a record");
            let (octets, _) = segment.record(number).expect("a record");
            let stored = iso2709::parse(octets).expect("valid").record;
            let fields: Vec<_> = stored.fields_by_tag("001").collect();
            assert_eq!(fields.len(), 1, "{docids:?}");
            assert_eq!(&*fields[0].body, docid.as_bytes());
        }
    }
}
