//! SOAP 1.1 envelopes around requests and responses, which YAZ's programs use by default, and SOAP faults (§4).

use std::fmt;

use super::xml::{Writer, namespace};
use super::{DECLARATION, Response};

/// The reason why a request in SOAP was not performed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoapFault {
    /// The code, which may have a prefix: `Client` if the request is invalid, `Server` if it may succeed later.
    pub code: String,
    /// The reason as a human-readable message.
    pub reason: String,
    /// Additional details. The text may be empty.
    pub detail: String,
}

impl SoapFault {
    /// Creates a fault for a request that is invalid.
    pub fn client(reason: impl Into<String>) -> Self {
        Self::new("SOAP:Client", reason)
    }

    /// Creates a fault for a request that the server could not perform.
    pub fn server(reason: impl Into<String>) -> Self {
        Self::new("SOAP:Server", reason)
    }

    fn new(code: &str, reason: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            reason: reason.into(),
            detail: String::new(),
        }
    }

    /// Returns the fault in an envelope.
    pub fn to_soap(&self) -> Vec<u8> {
        let mut out = Vec::new();
        envelope(&mut out, |to| {
            to.begin("Fault");
            // Names within a fault have no namespace (SOAP 1.1 §4.4).
            let mut to = to.with("");
            to.text("faultcode", &self.code);
            to.text("faultstring", &self.reason);
            if !self.detail.is_empty() {
                to.text("detail", &self.detail);
            }
            to.with("SOAP:").end("Fault");
        });
        out
    }
}

impl fmt::Display for SoapFault {
    /// Writes, for example, `Client: no query`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.rsplit(':').next().unwrap_or_default();
        let parts = [code, &self.reason, &self.detail];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join(": "))
    }
}

impl Response {
    /// Returns the response in an envelope.
    pub fn to_soap(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.capacity());
        envelope(&mut out, |to| self.write(to.out));
        out
    }
}

/// Writes an envelope, whose body is written by `write`.
pub(super) fn envelope(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) {
    out.extend_from_slice(DECLARATION.as_bytes());
    let mut to = Writer {
        out,
        prefix: "SOAP:",
    };
    to.begin_with("Envelope", &[("SOAP", namespace::SOAP)]);
    to.begin("Body");
    write(&mut to);
    to.end("Body");
    to.end("Envelope");
    to.raw(b"\n");
}

#[cfg(test)]
mod tests;
