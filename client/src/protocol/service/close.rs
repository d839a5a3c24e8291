//! Close: how a session ends, and what it tells the server (Z39.50-2003 §3.2.11). Version 2 has no Close: the connection just
//! ends.

use z3950_asn1::apdu::{Close, CloseReason, OtherInformation};
use z3950_asn1::oid::Oid;

/// The Close to send. By default with the reason finished.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloseOptions {
    /// Why the session ends.
    pub reason: CloseReason,
    /// A message for the server's log.
    pub info: Option<String>,
    /// The wanted format of a report on the cost of the session.
    pub report_format: Option<Oid>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl Default for CloseOptions {
    fn default() -> Self {
        Self {
            reason: CloseReason::FINISHED,
            info: None,
            report_format: None,
            other_info: None,
        }
    }
}

impl CloseOptions {
    /// The request with these options.
    pub fn request(&self) -> Close {
        Close {
            resource_report_format: self.report_format,
            other_info: self.other_info.clone(),
            ..Close::new(self.reason, self.info.as_deref())
        }
    }
}
