//! Item Order: orders a document by its position in a result set, by a request (often an ISO 10161 ILL-Request), or by both (Z39.50-2003
//! Appendix EXT.4).

use crate::apdu::External;
use crate::describe::{described, redacted};
use crate::types::InternationalString;

described! {
    /// ItemOrder: the client's request, or the task package at the server.
    pub enum ItemOrder {
        [1] EsRequest(Box<EsRequest>),
        [2] TaskPackage(Box<TaskPackage>),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: Option<OriginPartToKeep>,
        [explicit 2] not_to_keep: OriginPartNotToKeep,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: Option<OriginPartToKeep>,
        [explicit 2] target_part: TargetPart,
    }

    /// The part of the request that the package keeps.
    #[derive(Default)]
    pub struct OriginPartToKeep {
        [1] suppl_description: Option<External>,
        [2] contact: Option<Contact>,
        [3] addl_billing: Option<Billing>,
    }

    /// The person to contact.
    #[derive(Default)]
    pub struct Contact {
        [1] name: Option<InternationalString>,
        [2] phone: Option<InternationalString>,
        [3] email: Option<InternationalString>,
    }

    /// The person who pays, and the method of payment.
    pub struct Billing {
        [1] payment_method: PaymentMethod,
        [2] customer_reference: Option<InternationalString>,
        [3] customer_po_number: Option<InternationalString>,
    }

    /// The method of payment.
    pub enum PaymentMethod {
        [0] BillInvoice,
        [1] Prepay,
        [2] DepositAccount,
        [3] CreditCard(CreditCardInfo),
        [4] CardInfoPreviouslySupplied,
        [5] PrivateKnown,
        [6] PrivateNotKnown(Box<External>),
    }

    /// The ordered item, identified by a request, by its position in a result set, or by both.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        [1] result_set_item: Option<ResultSetItem>,
        /// The request; an ILL-Request has the syntax [`crate::oid::ILL`].
        [2] item_request: Option<External>,
    }

    /// A record in a result set, identified by its 1-based position.
    pub struct ResultSetItem {
        [1] result_set_id: InternationalString,
        [2] item: i64,
    }

    /// The server's part of the task package.
    #[derive(Default)]
    pub struct TargetPart {
        [1] item_request: Option<External>,
        [2] status_or_error_report: Option<External>,
        [3] auxiliary_status: Option<AuxiliaryStatus>,
    }

    /// The status of the order, if no ISO 10161 status report contains it.
    pub integer AuxiliaryStatus {
        NOT_RECEIVED = 1 "notReceived", LOAN_QUEUE = 2 "loanQueue", FORWARDED = 3 "forwarded",
        UNFILLED_COPYRIGHT = 4 "unfilledCopyright", FILLED_COPYRIGHT = 5 "filledCopyright",
    }
}

redacted! {
    /// CreditCardInfo; `Debug` and [`Describe`](crate::describe::Describe) redact its value.
    pub struct CreditCardInfo {
        [1] name_on_card: InternationalString,
        [2] expiration_date: InternationalString,
        [3] card_number: InternationalString,
    }
}
