//! Close (Z39.50-2003 §3.2.11): the answer to the client's.

use z3950_asn1::apdu::{Apdu, Close, CloseReason};

/// The other half of the client's Close, to clients of version 2 as well: the servers of the field answer it.
pub(crate) fn answer() -> Apdu {
    Close::new(CloseReason::FINISHED, None).into()
}
