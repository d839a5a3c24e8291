//! Tests of pages at high positions.

use std::ops::Range;

use serde_json::{Value, json};
use z3950_server::backend::{Backend, Composition, Hits, Retrieve, RetrieveMany};

use super::{database, held, searched};
use crate::engine::catalogue::CatalogueDatabase;
use crate::engine::link::fake::{FakeAnswer, FakeNode};

/// The number of records in a core.
const RECORDS: usize = 120_000;

/// Returns the page that a search requests, in the order of identifiers.
fn page(body: &str) -> Value {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let number = |name: &str| {
        let number = body[name].as_u64().unwrap_or(0);
        usize::try_from(number).expect("small")
    };
    let mut texts = body["params"].as_object().expect("texts").values();
    let after = texts.find_map(|text| {
        text.as_str()?
            .strip_prefix("{\"r")?
            .strip_suffix("\" TO *]")
    });
    let begin = after.map_or(0, |id| id.parse::<usize>().expect("a number") + 1);
    let from = begin + number("offset");
    let documents = (from..RECORDS.min(from + number("limit"))).map(|at| {
        let record = format!(
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000 a 4500</leader>\
             <controlfield tag=\"001\">r{at:06}</controlfield></record>"
        );
        json!({ "id": format!("r{at:06}"), "fullrecord": record })
    });
    json!({
        "responseHeader": {},
        "response": { "numFound": RECORDS - begin, "docs": documents.collect::<Vec<_>>() },
    })
}

/// Returns the identifiers of records at these positions, or the condition of the diagnostic.
async fn presented(
    database: &CatalogueDatabase,
    hits: &Hits,
    positions: Range<usize>,
) -> Result<Vec<String>, i64> {
    let composition = Composition::full(None);
    let ids = hits.ids(positions);
    let wanted = RetrieveMany::new(hits, &ids, &composition);
    let prepared = database.prepare(wanted).expect("it fetches pages");
    prepared.await.map_err(|why| why.condition)?;
    let mut found = Vec::new();
    for id in ids {
        let record = database.record(Retrieve::new(hits, id, &composition)).await;
        let record = record
            .and_then(|record| record.record)
            .map_err(|why| why.condition)?;
        let text = String::from_utf8_lossy(record.octets()).into_owned();
        let id = text.split('r').nth(1).and_then(|rest| rest.get(..6));
        found.push(id.expect("an identifier").to_owned());
    }
    Ok(found)
}

#[tokio::test]
async fn records_are_read_on_from_those_that_were_presented() {
    let node = FakeNode::start(|request| {
        if request.path.starts_with("/books/select") {
            FakeAnswer::Json(200, page(&request.body))
        } else {
            held(request)
        }
    })
    .await;
    let database = database(&node, false);
    let search = async || {
        searched(&database, "@attr 1=4 x")
            .await
            .expect("found")
            .hits
    };
    let expected =
        |positions: Range<usize>| Ok(positions.map(|at| format!("{at:06}")).collect::<Vec<_>>());
    let hits = search().await;
    assert_eq!(hits.len(), RECORDS);
    for start in [0, 100, 49_980, 49_990, 50_000, 50_010, 70_000, 119_990] {
        let found = presented(&database, &hits, start..start + 10).await;
        assert_eq!(found, expected(start..start + 10), "{start}");
    }
    // The records after a page can be read without counting up to them again.
    let counted = |start: usize| {
        let offset = format!("\"offset\":{start},");
        node.asked()
            .iter()
            .filter(|asked| asked.body.contains(&offset))
            .count()
    };
    assert_eq!((counted(100), counted(49_980), counted(49_990)), (1, 1, 0));
    let hits = search().await;
    let found = presented(&database, &hits, 60_000..60_010).await;
    assert_eq!(found, Err(13));
}
