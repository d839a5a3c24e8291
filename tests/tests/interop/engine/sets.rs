//! Tests of result sets: records that are added and deleted between search and present, sets of thousands of records, sorts by
//! several keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use z3950::service::ResultRecord;
use z3950::service::present::PresentOptions;
use z3950::service::search::SearchOptions;
use z3950::{Client, Connection, Query, Record, ResultSet, SortKey};
use z3950_asn1::apdu::{self, DatabaseName, Range};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::{EngineDatabase, EngineLayout, EngineOptions, IndexUses};
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{Backend, Search};
use z3950_server::memory::{AccessPoints, DocidField, Profile};

use super::made_up::{records, records_of};
use super::{EVERYTHING, Served, served, write};

pub(super) async fn connected(address: std::net::SocketAddr, database: &str) -> Connection {
    let target = format!("{address}/{database}");
    Client::new().connect(&target).await.expect("a session")
}

pub(super) fn id(record: &MarcRecord) -> String {
    let id = record.control_number().expect("an identifier");
    String::from_utf8_lossy(id).into_owned()
}

pub(super) async fn all_of(hits: &ResultSet) -> Vec<MarcRecord> {
    let records = hits.range(..).collect().await.expect("records");
    let records = records.iter().map(Record::marc);
    records.map(|record| record.expect("MARC")).collect()
}

pub(super) fn everything() -> Query {
    Query::pqf(EVERYTHING).expect("a query")
}

/// Deletes records.
fn delete(served: &Served, records: &[MarcRecord]) {
    let file = write(served.engine.folder(), "deleted.mrc", records);
    let deleted = served.engine.load(&["--delete"], &[&file]);
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
}

/// After the second page of a small set has been read, every third record is deleted, and other records are added.
#[tokio::test]
async fn records_that_vanish_are_diagnostics_in_their_places() {
    let all = records(60);
    let Some(served) = served(&all, "") else {
        return;
    };
    let connection = connected(served.daemon.address(), "books").await;
    let mut sets = Vec::new();
    for is_sorted in [false, true] {
        let mut searched = Vec::new();
        for _ in 0..3 {
            let mut hits = connection.search(everything()).await.expect("hits");
            if is_sorted {
                let key = SortKey::descending("title").expect("an index");
                hits.sort(&[key]).await.expect("sorted");
            }
            searched.push(hits);
        }
        let ids: Vec<String> = all_of(&searched[0]).await.iter().map(id).collect();
        assert_eq!(ids.len(), 60);
        searched[1].record(11).await.expect("the second page");
        sets.push((searched, ids));
    }
    let gone: BTreeSet<String> = sets[0].1.iter().step_by(3).cloned().collect();
    let withdrawn = all.iter().filter(|record| gone.contains(&id(record)));
    delete(&served, &withdrawn.cloned().collect::<Vec<_>>());
    let new = records_of("new", 61..=90);
    let new = write(served.engine.folder(), "new.mrc", &new);
    assert_eq!(served.engine.load(&[], &[&new]).code, Some(0));
    for (searched, ids) in &sets {
        for (position, known) in (1..).zip(ids) {
            // The first ten records were returned with the search.
            let is_there = position <= 10 || !gone.contains(known);
            match searched[1].record(position).await {
                Ok(record) => {
                    assert_eq!(id(&record.marc().expect("MARC")), *known);
                    assert!(is_there, "{position}");
                }
                Err(error) => {
                    assert!(error.to_string().contains("no longer exists"), "{error}");
                    assert!(!is_there, "{position}");
                }
            }
        }
        // The later positions of this set were never read, so their records are unknown.
        let unread = &searched[2];
        let record = unread.record(10).await.expect("it came with the search");
        assert_eq!(id(&record.marc().expect("MARC")), ids[9]);
        let error = unread.record(11).await.expect_err("unknown");
        assert!(error.to_string().contains("search again"), "{error}");
    }
}

/// Up to a thousand records keep their positions; in a larger set, later records move up.
#[tokio::test]
async fn sets_of_a_thousand_records_keep_their_numbers() {
    let all = records(1001);
    let Some(served) = served(&all, "") else {
        return;
    };
    let connection = connected(served.daemon.address(), "books").await;
    let large = connection.search(everything()).await.expect("hits");
    let small = format!("@not {EVERYTHING} @attr 1=1032 id1001");
    let small = Query::pqf(&small).expect("a query");
    let small = connection.search(small).await.expect("hits");
    assert_eq!((small.count(), large.count()), (1000, 1001));
    let mut after = Vec::new();
    let mut withdrawn = Vec::new();
    for hits in [&small, &large] {
        let page = hits.range(500..=501).collect().await.expect("records");
        let [gone, next] = [&page[0], &page[1]].map(|record| record.marc().expect("MARC"));
        withdrawn.push(gone);
        after.push(id(&next));
    }
    delete(&served, &withdrawn);
    let error = small.record(500).await.expect_err("it is gone");
    assert!(error.to_string().contains("no longer exists"), "{error}");
    let record = small.record(501).await.expect("a record");
    assert_eq!(id(&record.marc().expect("MARC")), after[0]);
    let record = large.record(500).await.expect("a record");
    assert_ne!(id(&record.marc().expect("MARC")), id(&withdrawn[1]));
}

/// A set of thousands of records is read by repeating its query: page by page, with each record once, and in ranges that are far
/// apart.
#[tokio::test]
async fn large_sets_are_read_to_their_end() {
    let all = records(2500);
    let Some(served) = served(&all, "") else {
        return;
    };
    let connection = connected(served.daemon.address(), "books").await;
    let hits = connection.search(everything()).await.expect("hits");
    let ids: Vec<String> = all_of(&hits).await.iter().map(id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), all.len());
    let last = hits.record(2500).await.expect("the last one");
    assert!(hits.record(2501).await.is_err() && last.marc().is_some());
    let session = connection.as_z3950().await.expect("a session");
    let mut options = SearchOptions::default();
    options.databases = vec!["books".into()];
    let query = parse_pqf(EVERYTHING).expect("a query");
    let found = session.search(apdu::Query::Type1(query), &options).await;
    assert_eq!(found.expect("hits").hits, 2500);
    let range = |start, count| Range {
        starting_position: start,
        number_of_records: count,
    };
    let mut options = PresentOptions::default();
    options.additional_ranges = vec![range(2400, 2), range(12, 1), range(101, 2), range(1, 1)];
    let page = session.present(50, 1, &options).await.expect("records");
    let shown = page.records.iter().map(|record| match record {
        ResultRecord::Record { external, .. } => {
            let octets = Bytes::copy_from_slice(external.octets());
            id(&iso2709::parse(&octets).expect("MARC").record)
        }
        other => panic!("{other:?}"),
    });
    let expected = [50, 2400, 2401, 12, 101, 102, 1].map(|position| ids[position - 1].clone());
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

/// A sort by two keys, each ascending or descending, must give the same order as in memory.
#[tokio::test]
async fn several_keys_order_records_as_in_memory() {
    let all = records(400);
    let Some(served) = served(&all, "") else {
        return;
    };
    let engine = connected(served.daemon.address(), "books").await;
    let memory = connected(served.daemon.address(), "memory").await;
    let title = ("title", "245");
    let author = ("author", "100");
    let date = ("date", "008");
    for (first, is_up, second, is_second_up) in [
        (title, true, date, true),
        (title, true, date, false),
        (date, false, author, true),
        (author, false, title, false),
    ] {
        let key = |(index, _), is_up| {
            if is_up {
                SortKey::ascending(index).expect("an index")
            } else {
                SortKey::descending(index).expect("an index")
            }
        };
        let keys = [key(first, is_up), key(second, is_second_up)];
        let mut orders = Vec::new();
        for connection in [&engine, &memory] {
            let mut hits = connection.search(everything()).await.expect("hits");
            hits.sort(&keys).await.expect("sorted");
            let records = all_of(&hits).await;
            // Records with equal keys may have a different order, so only the keys are compared.
            let value = |record: &MarcRecord, (_, tag)| {
                let field = record.fields_by_tag(tag).next().expect("the field");
                match tag {
                    "008" => field.body.slice(7..11),
                    _ => field.body.clone(),
                }
            };
            let values = records
                .iter()
                .map(|record| (value(record, first), value(record, second)));
            orders.push(values.collect::<Vec<_>>());
        }
        assert_eq!(orders[0].len(), all.len());
        assert_eq!(orders[0], orders[1], "{keys:?}");
    }
    let mut hits = engine.search(everything()).await.expect("hits");
    let many = ["title", "author", "date", "publisher", "1=30"]
        .map(|index| SortKey::ascending(index).expect("an index"));
    let error = hits.sort(&many).await.expect_err("too many");
    assert!(error.to_string().contains("sort keys"), "{error}");
}

/// Each term is counted if the client requests it; otherwise, a search must cause only one search in the engine.
#[tokio::test]
async fn terms_are_counted_if_the_client_asks() {
    let Some(served) = served(&records(60), "") else {
        return;
    };
    let address = served.engine.url().parse().expect("an address");
    let layout = EngineLayout::new(
        AccessPoints::default(),
        Profile::default(),
        DocidField::default(),
        &IndexUses::default(),
    );
    let options = EngineOptions::new("books", vec![address]);
    let database = EngineDatabase::new(options, Arc::new(layout.expect("indexes")));
    let database = database.expect("a database");
    let names = [DatabaseName::from("books")];
    let ids = (1..=40).map(|id| format!("@attr 1=1032 id{id}"));
    let ids: Vec<String> = ids.collect();
    let query = "@or ".repeat(39) + &ids.join(" ");
    let query = parse_pqf(&query).expect("a query");
    // The engine counts at most 30 terms together with the search.
    for (is_asked, expected) in [(true, 30), (false, 0)] {
        let mut search = Search::new(&names, &query);
        search.term_counts = true;
        search.term_counts_asked = is_asked;
        let found = database.search(search).await.expect("hits");
        assert_eq!(found.hits.len(), 40);
        let counts: Vec<usize> = found.term_counts.iter().map(|term| term.records).collect();
        assert_eq!(counts, vec![1; expected]);
    }
}
