//! The errors that a gateway returns in place of a record.

use std::sync::Arc;

use super::Error;

/// The reason why a gateway did not retrieve a URL. The texts come from the gateway.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The gateway does not accept the URL (400).
    #[error("the gateway does not accept the URL: {0}")]
    Url(String),
    /// The gateway does not retrieve URLs of this server, or not for this client (401, 403).
    #[error("the gateway does not allow this: {0}")]
    Forbidden(String),
    /// The gateway cannot return the record in the requested form (406).
    #[error("the gateway cannot send the record: {0}")]
    Form(String),
    /// The server refused the request, or its answers violate the protocol (502).
    #[error("the server refused the gateway: {0}")]
    Refused(String),
    /// The gateway could not reach the server, or received no answer in time (504).
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
    /// The answer does not come from a gateway: it has another status, or does not contain a record.
    #[error("no gateway answers at this address: {0}")]
    NoGateway(String),
}
