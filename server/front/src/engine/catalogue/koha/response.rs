//! Parses answers from the engine.

use serde_json::Value;

use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{Answer, AskError, CatalogueHit, Plan};
use crate::engine::elastic;
use crate::engine::records::HeldRecord;

/// Parses the answer to a plan.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read(offer: &Offer, plan: &Plan<'_>, answer: &Value) -> Result<Answer, AskError> {
    elastic::read(plan, answer, |found| {
        hit(offer, plan.page.with_records, found)
    })
}

fn hit(offer: &Offer, with_record: bool, hit: &Value) -> Option<CatalogueHit> {
    let id = hit.get("_id")?.as_str()?;
    let source = hit.get("_source").unwrap_or(&Value::Null);
    Some(CatalogueHit {
        id: id.to_owned(),
        record: with_record.then(|| record(offer, source)),
        place: hit.get("sort").map_or_else(String::new, Value::to_string),
    })
}

/// The names of record formats in a Koha index.
const BASE64: &str = "base64ISO2709";
const ARRAY: &str = "ARRAY";

fn record(offer: &Offer, source: &Value) -> HeldRecord {
    let place = &offer.record;
    let part = |name: &Option<String>| name.as_ref().and_then(|name| source.get(name));
    let format = part(&place.format).and_then(Value::as_str);
    if let Some(object) = part(&place.object).filter(|_| format.is_none_or(|form| form == ARRAY)) {
        return HeldRecord::Json(object.clone());
    }
    match source.get(&place.field).and_then(Value::as_str) {
        Some(text) if format == Some(BASE64) => HeldRecord::of_base64(text),
        Some(text) => HeldRecord::of_text(text),
        None => HeldRecord::Unreadable("there is no record in the index"),
    }
}
