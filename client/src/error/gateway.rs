//! What gateways answer in place of a record.

use std::sync::Arc;

use super::Error;

/// Why a gateway did not carry out a URL. The words are those of the gateway.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// It does not accept the URL (400).
    #[error("the gateway does not accept the URL: {0}")]
    Url(String),
    /// It does not carry out URLs of this server or for this client (401, 403).
    #[error("the gateway does not allow this: {0}")]
    Forbidden(String),
    /// It has no form of the record that was asked for (406).
    #[error("the gateway cannot send the record: {0}")]
    Form(String),
    /// The server refused, or its answers violate the protocol (502).
    #[error("the server refused the gateway: {0}")]
    Refused(String),
    /// The gateway did not reach the server, or had no answer in time (504).
    #[error("the gateway has no answer from the server: {0}")]
    NoAnswer(String),
    /// The gateway itself cannot be reached.
    #[error("cannot reach the gateway {gateway}")]
    Unreachable {
        /// Its address.
        gateway: String,
        /// Why not.
        #[source]
        error: Arc<Error>,
    },
    /// No answer of a gateway: another status, or something else than a record.
    #[error("no gateway answers there: {0}")]
    NoGateway(String),
}
