//! The errors from intermediaries between client and server: proxies and gateways.

use std::fmt;
use std::sync::Arc;

use super::Error;

/// The reason why a proxy did not connect to the server. `Display` names the proxy, without its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRefusal {
    proxy: String,
    status: Option<u16>,
    words: String,
}

impl ProxyRefusal {
    /// Creates the refusal by an HTTP proxy that answered with this status (RFC 9110 §15).
    #[cfg(any(feature = "proxy", test))]
    pub(crate) fn of_status(
        proxy: &impl fmt::Display,
        code: u16,
        status: &impl fmt::Display,
    ) -> Self {
        Self {
            proxy: proxy.to_string(),
            status: Some(code),
            words: format!(" answered {status}"),
        }
    }

    /// Creates the refusal by a SOCKS proxy (RFC 1928 §6).
    #[cfg(feature = "proxy")]
    pub(crate) fn of_socks(proxy: &impl fmt::Display, reason: &impl fmt::Display) -> Self {
        Self {
            proxy: proxy.to_string(),
            status: None,
            words: format!(": {reason}"),
        }
    }

    /// Returns the HTTP status with which the proxy answered, such as 407 if it requires credentials; `None` for a
    /// SOCKS proxy.
    pub fn status(&self) -> Option<u16> {
        self.status
    }
}

impl fmt::Display for ProxyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.proxy, self.words)
    }
}

/// The reason why a gateway did not retrieve a URL. The texts come from the gateway.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The gateway does not accept the URL (400).
    #[error("the gateway does not accept the URL: {0}")]
    Url(String),
    /// The gateway does not retrieve URLs on this server, or does not serve this client (401, 403).
    #[error("the gateway does not allow this: {0}")]
    Forbidden(String),
    /// The gateway cannot return the record in the requested form (406).
    #[error("the gateway cannot send the record: {0}")]
    Form(String),
    /// The server refused the request, or its responses violate the protocol (502).
    #[error("the server refused the gateway: {0}")]
    Refused(String),
    /// The gateway could not reach the server, or received no response in time (504).
    #[error("the gateway has no answer from the server: {0}")]
    NoAnswer(String),
    /// The gateway itself cannot be reached.
    #[error("cannot reach the gateway {gateway}")]
    #[non_exhaustive]
    Unreachable {
        /// The address of the gateway.
        gateway: String,
        /// The reason why it cannot be reached.
        #[source]
        error: Arc<Error>,
    },
    /// The response does not come from a gateway: it has an unexpected status, or does not contain a record.
    #[error("no gateway answers at this address: {0}")]
    NoGateway(String),
}
