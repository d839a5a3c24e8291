//! Helpers for tests that use a database in front of a fake server, and answers from fake OpenSearch nodes.

use serde_json::{Value, json};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::query::parse_pqf;
use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_server::backend::{
    Backend, Composition, Found, Hits, RecordId, Retrieve, RetrieveMany, Search,
};

use super::link::fake::{FakeAnswer, FakeRequest};

/// Searches a database. Returns the condition of the diagnostic if the search is refused.
pub(super) async fn searched(database: &impl Backend, pqf: &str) -> Result<Found, i64> {
    with_set(database, pqf, None).await
}

/// Searches a database with `set` as the result set to which the query may refer.
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

/// Returns the number of records found and the number of failed sources, or the condition of the diagnostic.
pub(super) async fn outcome(database: &impl Backend, pqf: &str) -> Result<(usize, usize), i64> {
    let found = searched(database, pqf).await?;
    let sources = found.sources.iter();
    let failed = sources.filter(|source| source.failure.is_some());
    Ok((found.hits.len(), failed.count()))
}

/// Presents records. Returns, for each record, its identifier or the condition of its diagnostic.
pub(super) async fn presented(
    database: &impl Backend,
    hits: &Hits,
    positions: &[i64],
) -> Result<Vec<Result<usize, i64>>, i64> {
    let records: Vec<RecordId> = positions.iter().map(|at| RecordId(*at)).collect();
    let composition = Composition::full(None);
    let prepared = database
        .prepare(RetrieveMany::new(hits, &records, &composition))
        .expect("records are elsewhere")
        .await;
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

/// Returns the body of a request as JSON.
pub(super) fn body(request: &FakeRequest) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

/// Returns a number in the body of a request.
pub(super) fn number(body: &Value, at: &str) -> Option<usize> {
    let number = body.pointer(at)?.as_u64()?;
    Some(usize::try_from(number).expect("small"))
}

/// Returns a record in ISO 2709 with this identifier.
pub(super) fn record(number: usize) -> Vec<u8> {
    let mut record = MarcRecord::default();
    let id = Field::control(b"001", number.to_string());
    record.fields.push(id);
    iso2709::encode(&record).expect("octets")
}

/// Returns an OpenSearch answer with this total number of records, which contains the records in `hits`.
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

/// Returns an answer in which some values are replaced.
pub(super) fn changed(mut answer: Value, changes: &[(&str, Value)]) -> FakeAnswer {
    for (pointer, value) in changes {
        *answer.pointer_mut(pointer).expect("a place") = value.clone();
    }
    FakeAnswer::Json(200, answer)
}

/// Returns an error response from OpenSearch.
pub(super) fn refused(status: u16, kind: &str, reason: &str) -> FakeAnswer {
    let error = json!({ "root_cause": [{ "type": kind, "reason": reason }], "type": kind });
    FakeAnswer::Json(status, json!({ "error": error, "status": status }))
}
