//! The errors of Gopher retrievals. RFC 1736 §3 requires these cases to be distinguished: nothing can be sent, there is
//! no connection, the reply is too large or incomplete, or the server reports an error.

use std::fmt;

use super::GopherPlanError;
use crate::error::{Cause, Error};

/// The reason why a retrieval failed. `Display` describes one level; `source` returns the next level.
///
/// Text from the server is not escaped, so escape it before it reaches a terminal.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GopherError {
    /// No request can be sent for the URL.
    #[error(transparent)]
    Plan(#[from] GopherPlanError),
    /// The connection could not be made; it may help to try again later.
    #[error(transparent)]
    Connect(#[from] Error),
    /// The connection failed while the reply was received.
    #[error("{}", interrupted(*received))]
    Interrupted {
        /// The number of octets received before the failure.
        received: usize,
        /// The cause of the failure.
        #[source]
        cause: Cause,
    },
    /// The reply exceeds this many octets.
    #[error("the reply is larger than {0} octets, the limit")]
    TooLarge(usize),
    /// A menu or a list of attributes has more lines than this limit.
    #[error("the reply has more than {0} lines, the limit for menus and attributes")]
    TooManyLines(usize),
    /// The connection ended before the announced length or the lone dot.
    #[error("the reply ended {received} octets into its body, before the end it announced")]
    CutOff {
        /// The number of received octets of the body.
        received: usize,
    },
    /// Attributes were requested, but the reply is not in Gopher+ format.
    #[error("the server does not answer by Gopher+")]
    NotGopherPlus,
    /// The server sent an error in place of the item.
    #[error(transparent)]
    Server(#[from] ServerError),
}

fn interrupted(received: usize) -> String {
    match received {
        0 => "no reply".to_owned(),
        received => format!("the reply stopped after {received} octets"),
    }
}

/// An error sent by the server in place of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// The Gopher+ error code: 1 (not available), 2 (try again later) or 3 (moved). `None` from a server without
    /// Gopher+.
    pub code: Option<u32>,
    /// The person to contact, if the server names one.
    pub contact: Option<String>,
    /// The message, which may be empty.
    pub message: String,
}

impl ServerError {
    /// Returns whether the item does not exist and the locator is therefore invalid (RFC 1736 §3).
    pub fn is_gone(&self) -> bool {
        !matches!(self.code, Some(code) if code != 1 && code != 3)
    }

    /// Returns whether the server asks the client to try again later.
    pub fn is_temporary(&self) -> bool {
        self.code == Some(2)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.code {
            Some(2) => "the server says to try again later",
            Some(3) => "the server says that the item has moved",
            _ if self.is_gone() => "the server has no such item",
            _ => "the server refused the item",
        })?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}
