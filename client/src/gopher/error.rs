//! What a Gopher retrieval can fail of: there is nothing to send, the server is not there, what it sends is too
//! much or too little, or it says that it has no such item (RFC 1736 §3 wants these told apart).

use std::fmt;

use super::GopherPlanError;
use crate::error::{Cause, Error};

/// Why there is no reply, or not the one asked for. `Display` says one level; `source` leads to the next.
///
/// Text from the server is shown as it came: escape it before it reaches a terminal.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GopherError {
    /// Nothing was sent.
    #[error(transparent)]
    Plan(#[from] GopherPlanError),
    /// There is no connection: worth trying again later.
    #[error(transparent)]
    Connect(#[from] Error),
    /// The connection was there, and no more came over it.
    #[error("{}", interrupted(*received))]
    Interrupted {
        /// Octets that had come.
        received: usize,
        /// The cause.
        #[source]
        cause: Cause,
    },
    /// The reply has more octets than are taken.
    #[error("the reply is larger than {0} octets, the limit")]
    TooLarge(usize),
    /// A menu, or attributes, of more lines than are read.
    #[error("the reply has more than {0} lines, the limit for menus and attributes")]
    TooManyLines(usize),
    /// The connection ended before the announced length or lone dot.
    #[error("the reply ended {received} octets into its body, before the end it announced")]
    CutOff {
        /// Octets of the body that came.
        received: usize,
    },
    /// Attributes were asked for, and the server answered with something else.
    #[error("the server does not answer by Gopher+")]
    NotGopherPlus,
    /// The server says that it went wrong.
    #[error(transparent)]
    Server(#[from] ServerError),
}

fn interrupted(received: usize) -> String {
    match received {
        0 => "no reply".to_owned(),
        received => format!("the reply stopped after {received} octets"),
    }
}

/// An error that a server sent in the place of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// The code of Gopher+: 1 not available, 2 try again later, 3 moved. `None` from a server without Gopher+.
    pub code: Option<u32>,
    /// Whom to ask, if the server says so.
    pub contact: Option<String>,
    /// The server's words; may be empty.
    pub message: String,
}

impl ServerError {
    /// Whether the item is not there, rather than to be had later: then the locator is invalid (RFC 1736 §3).
    pub fn is_gone(&self) -> bool {
        !matches!(self.code, Some(code) if code != 1 && code != 3)
    }
}

impl ServerError {
    /// Whether the item may be had later, as the server says.
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
