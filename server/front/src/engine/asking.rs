//! What a client does with a database in front of a fake server, and answers of fakes of OpenSearch.

use serde_json::{Value, json};
use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::query::parse_pqf;
use z3950_server::backend::{
    Backend, Composition, Found, Hits, RecordId, Retrieve, RetrieveMany, Search,
};
use z3950_server::marc::{Field, MarcRecord, iso2709};

use super::link::fake::{FakeAnswer, FakeRequest};

/// Searches; the condition, if it is refused.
pub(super) async fn searched(database: &impl Backend, pqf: &str) -> Result<Found, i64> {
    with_set(database, pqf, None).await
}

/// Searches with this set as that of any name.
pub(super) async fn with_set(
    database: &impl Backend,
    pqf: &str,
    set: Option<&Hits>,
) -> Result<Found, i64> {
    let names = [DatabaseName::from(&*database.databases()[0].name)];
    let query = parse_pqf(pqf).expect("a query");
    let of_any_name = |_: &[u8]| set.cloned();
    let mut search = Search::new(&names, &query);
    search.result_set = &of_any_name;
    let found = database.search(search).await;
    found.map_err(|why| why.condition)
}

/// The number of records found and of sources that failed, or a condition.
pub(super) async fn outcome(database: &impl Backend, pqf: &str) -> Result<(usize, usize), i64> {
    let found = searched(database, pqf).await?;
    let sources = found.sources.iter();
    let failed = sources.filter(|source| source.failure.is_some());
    Ok((found.hits.len(), failed.count()))
}

/// Presents records; the identifier of each, or its condition.
pub(super) async fn presented(
    database: &impl Backend,
    hits: &Hits,
    positions: &[i64],
) -> Result<Vec<Result<usize, i64>>, i64> {
    let records: Vec<RecordId> = positions.iter().map(|at| RecordId(*at)).collect();
    let composition = Composition::full(None);
    let prepared = database.prepare(RetrieveMany::new(hits, &records, &composition));
    let prepared = prepared.expect("records are elsewhere").await;
    prepared.map_err(|why| why.condition)?;
    let mut outcomes = Vec::new();
    for record in records {
        let retrieved = database.record(Retrieve::new(hits, record, &composition));
        let retrieved = retrieved.await.map_err(|why| why.condition)?;
        let id = retrieved.record.map(|record| {
            let text = String::from_utf8_lossy(record.octets()).into_owned();
            let id = text.split('\x1e').nth(1).expect("a field");
            id.parse().expect("a number")
        });
        outcomes.push(id.map_err(|why| why.condition));
    }
    Ok(outcomes)
}

/// The body of a request in JSON.
pub(super) fn body(request: &FakeRequest) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

/// A number in the body of a request.
pub(super) fn number(body: &Value, at: &str) -> Option<usize> {
    let number = body.pointer(at)?.as_u64()?;
    Some(usize::try_from(number).expect("small"))
}

/// A record in ISO 2709 with this identifier.
pub(super) fn record(number: usize) -> Vec<u8> {
    let mut record = MarcRecord::default();
    let id = Field::control(b"001", number.to_string());
    record.fields.push(id);
    iso2709::encode(&record).expect("octets")
}

/// An answer of OpenSearch with this number of records found, of which these are a part.
pub(super) fn answer(total: usize, hits: impl Iterator<Item = Value>) -> Value {
    json!({
        "timed_out": false,
        "_shards": { "total": 3, "successful": 3, "skipped": 0, "failed": 0 },
        "hits": {
            "total": { "value": total, "relation": "eq" },
            "hits": hits.collect::<Vec<_>>(),
        },
    })
}

/// An answer with other values in some places.
pub(super) fn changed(mut answer: Value, changes: &[(&str, Value)]) -> FakeAnswer {
    for (pointer, value) in changes {
        *answer.pointer_mut(pointer).expect("a place") = value.clone();
    }
    FakeAnswer::Json(200, answer)
}

/// A refusal of OpenSearch.
pub(super) fn refused(status: u16, kind: &str, reason: &str) -> FakeAnswer {
    let error = json!({ "root_cause": [{ "type": kind, "reason": reason }], "type": kind });
    FakeAnswer::Json(status, json!({ "error": error, "status": status }))
}
