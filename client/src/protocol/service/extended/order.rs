//! Item Order: orders an item of a result set, a request of another protocol, or both (Z39.50-2003 Appendix EXT.4).

use z3950_asn1::apdu::External;
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::item_order::{
    Billing, Contact, EsRequest, ItemOrder, OriginPartNotToKeep, OriginPartToKeep, ResultSetItem,
};
use z3950_asn1::types::InternationalString;

use super::Task;

/// An order of an item of a result set, a request, or both.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Order {
    /// The result set, and the 1-based position of the record.
    pub item: Option<(InternationalString, i64)>,
    /// A request, such as an ILL-Request of ISO 10161.
    pub request: Option<External>,
    /// The contact person.
    pub contact: Option<Contact>,
    /// Billing information.
    pub billing: Option<Billing>,
    /// A supplementary description.
    pub description: Option<External>,
}

impl Order {
    /// The task for this order.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let to_keep = OriginPartToKeep {
            suppl_description: self.description.clone(),
            contact: self.contact.clone(),
            addl_billing: self.billing.clone(),
        };
        let item = self.item.as_ref().map(|(result_set, item)| ResultSetItem {
            result_set_id: result_set.clone(),
            item: *item,
        });
        let order = ItemOrder::EsRequest(Box::new(EsRequest {
            // Always present, because yaz-ztest 5.34 reads it without checking.
            to_keep: Some(to_keep),
            not_to_keep: OriginPartNotToKeep {
                result_set_item: item,
                item_request: self.request.clone(),
            },
        }));
        Task::new(order)
    }
}
