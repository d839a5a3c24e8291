//! Item Order: a document ordered by its position in a result set, by a request (often an ILL-Request of ISO 10161), or both
//! (Z39.50-2003 Appendix EXT.4).

use rasn::prelude::*;

use crate::apdu::{External, ExternalValue};
use crate::describe::{choice, described_by_name, redacted, sequence};
use crate::oid::{self, Oid};
use crate::types::{InternationalString, named_integer};

choice! {
    /// ItemOrder.
    pub enum ItemOrder {
        #[rasn(tag(1))] EsRequest(Box<EsRequest>),
        #[rasn(tag(2))] TaskPackage(Box<TaskPackage>),
    }
}

impl ExternalValue for ItemOrder {
    const SYNTAX: Oid = oid::ITEM_ORDER;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        #[rasn(tag(explicit(1)))] to_keep: Option<OriginPartToKeep>,
        #[rasn(tag(explicit(2)))] not_to_keep: OriginPartNotToKeep,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        #[rasn(tag(explicit(1)))] origin_part: Option<OriginPartToKeep>,
        #[rasn(tag(explicit(2)))] target_part: TargetPart,
    }
}

sequence! {
    /// The part of the request that the package keeps.
    #[derive(Default)]
    pub struct OriginPartToKeep {
        #[rasn(tag(1))] suppl_description: Option<External>,
        #[rasn(tag(2))] contact: Option<Contact>,
        #[rasn(tag(3))] addl_billing: Option<Billing>,
    }
}

sequence! {
    /// The person to contact.
    #[derive(Default)]
    pub struct Contact {
        #[rasn(tag(1))] name: Option<InternationalString>,
        #[rasn(tag(2))] phone: Option<InternationalString>,
        #[rasn(tag(3))] email: Option<InternationalString>,
    }
}

sequence! {
    /// Who pays, and how.
    pub struct Billing {
        #[rasn(tag(1))] payment_method: PaymentMethod,
        #[rasn(tag(2))] customer_reference: Option<InternationalString>,
        #[rasn(tag(3))] customer_po_number: Option<InternationalString>,
    }
}

choice! {
    /// The method of payment.
    pub enum PaymentMethod {
        #[rasn(tag(0))] BillInvoice,
        #[rasn(tag(1))] Prepay,
        #[rasn(tag(2))] DepositAccount,
        #[rasn(tag(3))] CreditCard(CreditCardInfo),
        #[rasn(tag(4))] CardInfoPreviouslySupplied,
        #[rasn(tag(5))] PrivateKnown,
        #[rasn(tag(6))] PrivateNotKnown(Box<External>),
    }
}

/// CreditCardInfo; redacted by Debug and by [`Describe`](crate::describe::Describe).
#[derive(AsnType, Decode, Encode, Clone, PartialEq)]
pub struct CreditCardInfo {
    #[rasn(tag(1))]
    pub name_on_card: InternationalString,
    #[rasn(tag(2))]
    pub expiration_date: InternationalString,
    #[rasn(tag(3))]
    pub card_number: InternationalString,
}

redacted!(CreditCardInfo);

sequence! {
    /// The item ordered: at least one of the two.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        #[rasn(tag(1))] result_set_item: Option<ResultSetItem>,
        /// An ILL-Request travels as [`oid::ILL`].
        #[rasn(tag(2))] item_request: Option<External>,
    }
}

sequence! {
    /// A record of a result set, by its 1-based position.
    pub struct ResultSetItem {
        #[rasn(tag(1))] result_set_id: InternationalString,
        #[rasn(tag(2))] item: i64,
    }
}

sequence! {
    /// The server's part of the package.
    #[derive(Default)]
    pub struct TargetPart {
        #[rasn(tag(1))] item_request: Option<External>,
        #[rasn(tag(2))] status_or_error_report: Option<External>,
        #[rasn(tag(3))] auxiliary_status: Option<AuxiliaryStatus>,
    }
}

named_integer!(
    /// The status of the order, where no report of ISO 10161 has it.
    AuxiliaryStatus {
        NOT_RECEIVED = 1 "notReceived", LOAN_QUEUE = 2 "loanQueue", FORWARDED = 3 "forwarded",
        UNFILLED_COPYRIGHT = 4 "unfilledCopyright", FILLED_COPYRIGHT = 5 "filledCopyright",
    }
);
described_by_name!(AuxiliaryStatus);
