//! Tests of holdings from targets. They are requested together with the records, unless the target recently failed to provide
//! them.

use bytes::Bytes;
use z3950::{Holding, RecordForm};
use z3950_asn1::apdu::{External, ExternalValue as _};
use z3950_asn1::oid::OPAC;
use z3950_asn1::record::opac::{CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord};
use z3950_marc::{Field, iso2709};
use z3950_server::backend::{Hits, RecordId, ready};

use super::*;

/// A catalogue whose OPAC records contain holdings that are not in its MARC records.
struct Library {
    records: Vec<MarcRecord>,
    /// The holding of each record.
    holding: HoldingsAndCircData,
    is_sound: bool,
}

impl Backend for Library {
    fn databases(&self) -> Vec<DatabaseInfo> {
        let backend = MemoryBackend::builder().describe("cat", "cat", "");
        backend.build().databases()
    }

    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        let number = i64::try_from(self.records.len()).expect("few");
        let all = (0..number).map(RecordId);
        ready(Ok(Found::from(all.collect::<Hits>())))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        [USMARC, OPAC].contains(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let number = usize::try_from(wanted.record.0).expect("few");
        let octets = iso2709::encode(&self.records[number]).expect("fits");
        let marc = External::octet_aligned(USMARC, octets);
        let opac = OpacRecord {
            bibliographic_record: self.is_sound.then(|| marc.clone()),
            holdings_data: Some(vec![HoldingsRecord::HoldingsAndCirc(Box::new(
                self.holding.clone(),
            ))]),
        };
        let record = match wanted.composition.syntax {
            Some(OPAC) => opac.to_external().expect("valid"),
            _ => marc,
        };
        ready(Ok(Retrieved::new("cat".into(), Ok(record))))
    }
}

/// Returns an available copy at a location.
pub(super) fn copy(place: &str) -> HoldingsAndCircData {
    let item = CircRecord {
        available_now: true,
        ..CircRecord::default()
    };
    HoldingsAndCircData {
        local_location: Some(place.into()),
        circulation_data: Some(vec![item]),
        ..HoldingsAndCircData::default()
    }
}

pub(super) fn library(records: Vec<MarcRecord>, holding: HoldingsAndCircData) -> TestServerBuilder {
    TestServer::builder().backend(Arc::new(Library {
        records,
        holding,
        is_sound: true,
    }))
}

/// Searches for OPAC records; returns their titles and the locations of their copies.
async fn copies(front: &TestServer, term: &str) -> Vec<String> {
    let connection = connected(front, "union").await;
    let connection = connection.with_form(RecordForm::new(Some(OPAC), None));
    let hits = connection.search(Query::title(term)).await.expect("hits");
    let mut shown = Vec::new();
    let mut records = hits.stream();
    while let Some(record) = records.next().await {
        let Ok(record) = record else {
            shown.push("failed".to_owned());
            continue;
        };
        let places = record.holdings().into_iter().map(|one| {
            assert_eq!(one.available, Some(true));
            one.location.unwrap_or_default()
        });
        let title = record.title().unwrap_or_default();
        shown.push(format!("{title}: {}", places.collect::<Vec<_>>().join(" ")));
    }
    shown
}

#[tokio::test]
async fn copies_come_with_the_answer_to_the_search() {
    let one = library(records("a", 2), copy("North")).start();
    let two = library(records("b", 1), copy("South")).start();
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    let expected = ["Shared a1: North", "Shared b1: South", "Shared a2: North"];
    assert_eq!(copies(&front, "shared").await, expected);
    let names = one.names();
    assert!(!names.contains(&"presentRequest"), "{names:?}");
    // The records that were returned with holdings are converted to all other forms without another request.
    for (syntax, part) in [(USMARC, "Shared a1"), (XML, "Shared a1"), (OPAC, "North")] {
        let connection = connected(&front, "union").await;
        let connection = connection.with_form(RecordForm::new(Some(syntax), None));
        let hits = connection.search(Query::title("shared")).await;
        let record = hits.expect("hits").record(1).await.expect("a record");
        assert_eq!(record.syntax(), Some(syntax));
        assert!(record.text().contains(part), "{}", record.text());
    }
    assert_eq!(searches(&one), 1);
    let brief = RecordForm::new(Some(OPAC), Some("B".to_owned()));
    let connection = connected(&front, "union").await.with_form(brief);
    let hits = connection.search(Query::title("shared")).await;
    let record = hits.expect("hits").record(1).await.expect("a record");
    assert_eq!(record.holdings().len(), 1);
    let sru = hostile::http(&front, "/union?query=shared&recordSchema=opac").await;
    assert!(sru.contains("South"), "{sru}");
}

#[tokio::test]
async fn copies_are_requested_later_if_the_search_was_for_other_records() {
    let one = library(records("a", 2), copy("North")).start();
    let front = front([target(&one)]);
    assert_eq!(found(&front, "shared").await.0, 2);
    let expected = ["Shared a1: North", "Shared a2: North"];
    assert_eq!(copies(&front, "shared").await, expected);
    assert_eq!(searches(&one), 1);
    let names = one.names();
    let asked = names.iter().filter(|name| **name == "presentRequest");
    assert_eq!(asked.count(), 1, "{names:?}");
}

#[tokio::test]
async fn copies_are_not_requested_again_from_targets_that_fail_at_them() {
    // Each row has two numbers of searches and Presents in total. The first number is for a first search, and is only a
    // maximum, because requests are repeated when a lost session is opened again. The second number is for another search
    // afterwards, and is exact.
    for (rules, first, second) in [
        (&["on search syntax=opac: fail 239"][..], 2, 1),
        (&["on search syntax=opac: cut 10"], 7, 1),
        (&["on search syntax=opac: garbage"], 7, 1),
        (
            &[
                "on search: no-piggyback",
                "on present syntax=opac: fail 238",
            ],
            3,
            2,
        ),
        (
            &[
                "on search: no-piggyback",
                "on present syntax=opac: surrogate 238",
            ],
            3,
            2,
        ),
        (
            &["on search: no-piggyback", "on present syntax=opac: cut 40"],
            12,
            2,
        ),
    ] {
        let builder = library(records("a", 1), copy("North"));
        let one = rules.iter().fold(builder, |one, rule| one.rule(rule));
        let one = one.start();
        let front = front([target(&one)]);
        let requests = || {
            let names = one.names();
            let is_asked = |name: &&&str| ["searchRequest", "presentRequest"].contains(*name);
            names.iter().filter(is_asked).count()
        };
        assert_eq!(copies(&front, "shared").await, ["Shared a1: "], "{rules:?}");
        let before = requests();
        assert!(before <= first, "{rules:?}: {before}");
        assert_eq!(copies(&front, "other").await, ["Shared a1: "], "{rules:?}");
        assert_eq!(requests() - before, second, "{rules:?}");
    }
    // The target's time limit expires before the search can be repeated without holdings.
    let one = library(records("a", 1), copy("North"));
    let one = one.rule("on search syntax=opac: silence").start();
    let two = library(records("b", 1), copy("South")).start();
    let front = front_with([target(&one), target(&two)], |options| {
        options.target_time = TARGET_TIME;
    });
    assert_eq!(copies(&front, "shared").await, ["Shared b1: South"]);
    let both = ["Shared a1: ", "Shared b1: South"];
    assert_eq!(copies(&front, "other").await, both);
}

#[tokio::test]
async fn opac_records_without_a_bibliographic_record_are_not_taken() {
    for rule in ["on present nth=9: fail 13", "on search: no-piggyback"] {
        let one = TestServer::builder().backend(Arc::new(Library {
            records: records("a", 2),
            holding: copy("North"),
            is_sound: false,
        }));
        let one = one.rule(rule).start();
        let front = front([target(&one)]);
        let expected = ["Shared a1: ", "Shared a2: "];
        assert_eq!(copies(&front, "shared").await, expected, "{rule}");
    }
}

#[tokio::test]
async fn merged_hits_have_the_copies_and_the_names_of_all_sources() {
    let book = |docid: &str, title: &str, notes| vec![merged::book(docid, title, notes)];
    let marc_holdings = {
        let mut record = merged::book("c1", "Shared Emma", 0);
        let location = Field::data(
            b"852",
            "  ",
            [("b", "East"), ("p", "7"), ("n", "Available")],
        );
        record.fields.retain(|field| field.tag.0 != *b"852");
        record.fields.push(location);
        record
    };
    let status = HoldingsAndCircData {
        local_location: Some("South".into()),
        public_note: Some("AVAILABLE".into()),
        ..HoldingsAndCircData::default()
    };
    let one = library(book("a1", "Shared Emma", 0), copy("North")).start();
    let two = library(book("b1", "Shared EMMA.", 3), status).start();
    let three = catalogue_of(marc_holdings).start();
    let targets = [&one, &two, &three].map(target);
    let front = front_with(targets.clone(), |options| options.merge = true);
    let expected = ["Shared EMMA: North South East"];
    assert_eq!(copies(&front, "shared").await, expected);
    let connection = connected(&front, "union").await;
    let names = targets.map(|target| format!("union@{target}"));
    for syntax in [OPAC, USMARC, XML] {
        let form = RecordForm::new(Some(syntax), None);
        let connection = connection.clone().with_form(form);
        for first in [0, 1] {
            let hits = connection.search_first(Query::title("shared"), first).await;
            let record = hits.expect("hits").record(1).await.expect("a record");
            let sources = record.sources().iter();
            let sources = sources.map(|one| (&*one.database, one.position, one.id.as_deref()));
            let expected = [
                (&*names[0], Some(1), Some("a1")),
                (&*names[1], Some(1), Some("b1")),
                (&*names[2], Some(1), Some("c1")),
            ];
            assert_eq!(sources.collect::<Vec<_>>(), expected, "{syntax}");
            assert_eq!(record.database(), Some(&*names[1]));
            if syntax == OPAC {
                let notes = record.holdings().into_iter().map(|one| one.note);
                let of_sources: Vec<_> = names.clone().map(Some).into();
                assert_eq!(notes.collect::<Vec<_>>(), of_sources);
            }
        }
    }
    for schema in ["marcxml", "dc", "opac"] {
        let path = format!("/union?query=shared&recordSchema={schema}");
        let sru = hostile::http(&front, &path).await;
        for (name, id) in names.iter().zip(["a1", "b1", "c1"]) {
            let source = format!("<source database=\"{name}\" position=\"1\" id=\"{id}\">");
            assert!(sru.contains(&source), "{source}: {sru}");
        }
    }
}

fn catalogue_of(record: MarcRecord) -> TestServerBuilder {
    TestServer::builder().database("cat", [record])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_words_about_copies_are_bounded_and_harmless() {
    let long = "x".repeat(1 << 20);
    let note = format!("<script>alert(1)</script> \u{202e}desrever {long}");
    let holding = HoldingsAndCircData {
        public_note: Some(note.as_str().into()),
        call_number: Some("<b>\u{2066}call".into()),
        ..copy("<script>alert(2)</script>")
    };
    let one = library(vec![merged::book("a1", "Shared Emma", 0)], holding.clone()).start();
    let two = library(vec![merged::book("b1", "Shared Emma", 0)], holding).start();
    for merge in [false, true] {
        let mut options = RemoteOptions::new("union", [target(&one), target(&two)]);
        options.merge = merge;
        let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
        let front = TestServer::builder()
            .backend(Arc::new(database))
            .web(Arc::new(crate::page::CataloguePage::new()))
            .start();
        for path in [
            "/search?q=shared",
            "/search?q=shared&target=union&at=1",
            "/union?query=shared&recordSchema=opac",
        ] {
            let page = hostile::http(&front, path).await;
            assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
            let is_harmless = !["<script>", "<b>"].iter().any(|text| page.contains(text));
            assert!(is_harmless, "{path}");
            if path.starts_with("/search") {
                let controls = ['\u{202e}', '\u{2066}'];
                assert!(!page.contains(controls), "{path}");
                assert!(page.len() < 512 << 10, "{path}: {}", page.len());
            }
        }
        let page = hostile::http(&front, "/search?q=shared&target=union&at=1").await;
        assert!(page.contains("script&#62;alert(2)"), "{page}");
    }
}

#[test]
fn a_copy_is_as_it_was_sent() {
    let record = record("a", "Title");
    let octets = iso2709::encode(&record).expect("fits");
    let opac = OpacRecord {
        bibliographic_record: Some(External::octet_aligned(USMARC, Bytes::from(octets))),
        holdings_data: Some(vec![HoldingsRecord::HoldingsAndCirc(Box::new(copy("A")))]),
    };
    let external = opac.to_external().expect("valid");
    let record = z3950::Record::new(external.clone(), None);
    let mut composition = z3950_server::backend::Composition::full(Some(OPAC));
    let same = super::super::form::converted(&record, &composition);
    assert_eq!(same.as_ref(), Ok(&external));
    composition.syntax = None;
    let inside = super::super::form::converted(&record, &composition).expect("MARC");
    assert_eq!(inside.direct_reference, Some(USMARC));
    let kept: Vec<Holding> = record.holdings();
    assert_eq!(kept.len(), 1);
}
