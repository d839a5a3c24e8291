//! Item Order (Z39.50-2003 Appendix EXT.4): records an order, which people have to fulfil. If the item is ordered by its position
//! in a result set, the record is kept with the order, because the result set is deleted at the end of the session.

use z3950_asn1::apdu::External;
use z3950_asn1::es::TaskStatus;
use z3950_asn1::es::item_order::{ItemOrder, ResultSetItem, TargetPart, TaskPackage};

use super::{Outcome, missing, unsupported};
use crate::association::Operation;
use crate::backend::{Composition, Retrieve};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// Records the order.
///
/// # Errors
/// Condition 1008 for an order without an item, 30 or 27 for a missing result set, 13 for a position out of range.
pub(super) async fn answer(
    operation: &Operation,
    parameters: &ItemOrder,
) -> Result<Outcome, Diagnostic> {
    let ItemOrder::EsRequest(request) = parameters else {
        return Err(unsupported("taskPackage"));
    };
    let wanted = &request.not_to_keep;
    let item = match &wanted.result_set_item {
        Some(item) => Some(record(operation, item).await?),
        None => None,
    };
    let item_request = wanted
        .item_request
        .clone()
        .or(item)
        .ok_or_else(|| missing("resultSetItem or itemRequest"))?;
    let package = ItemOrder::TaskPackage(Box::new(TaskPackage {
        origin_part: request.to_keep.clone(),
        target_part: TargetPart {
            item_request: Some(item_request),
            ..TargetPart::default()
        },
    }));
    Ok(Outcome::of(TaskStatus::PENDING, package))
}

async fn record(operation: &Operation, item: &ResultSetItem) -> Result<External, Diagnostic> {
    let set = operation
        .result_sets()
        .find(item.result_set_id.as_bytes())?;
    let out_of_range = || diagnostic(Condition::OUT_OF_RANGE, item.item.to_string());
    let position = item
        .item
        .checked_sub(1)
        .and_then(|position| usize::try_from(position).ok());
    let position = position.ok_or_else(out_of_range)?;
    let record = set.hits.ids(position..position.saturating_add(1));
    let record = *record.first().ok_or_else(out_of_range)?;
    let composition = Composition::full(None);
    let retrieved = set.backend.record(Retrieve {
        caller: operation.caller(),
        hits: &set.hits,
        record,
        composition: &composition,
    });
    operation.or_stopped(retrieved).await?.record
}
