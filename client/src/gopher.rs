//! Gopher: fetches the item named by a URL, according to its type (RFC 1436; Gopher+ as used in the Gopher URL draft).
//! Each fetch has one connection, one request and one reply, within limits of time and size.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | the request for a URL, without a connection |
//! | `transfer` | one exchange over a connection |
//! | `header`, `text`, `menu`, `attributes` | the forms of replies |
//! | `reply` | parsing a reply in one of these forms |
//! | `error` | errors |

mod attributes;
mod error;
mod header;
mod menu;
mod plan;
mod reply;
mod text;
mod transfer;

#[cfg(test)]
mod tests;

use crate::transport::{Connect, Timeouts};
use crate::url::{
    AttributeScope, GopherPlus, GopherUrl, Octets, PlusRequest, PlusWire, same_attribute,
};
pub use attributes::{Attributes, Block, Question, QuestionKind, View};
pub use error::{GopherError, ServerError};
pub use menu::MenuItem;
pub use plan::{GopherPlan, GopherPlanError, Reading, plan};
pub use reply::{Body, Note, Reply};

/// The default maximum size of a reply: 64 MiB.
pub const MAX_REPLY: usize = 64 * 1024 * 1024;

/// The maximum number of lines in a menu or in attributes. This is more than anyone reads, and limits the memory in
/// use.
pub const MAX_LINES: usize = 100_000;

/// The options of a retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GopherOptions {
    /// The time limits. [`Timeouts::answer`] limits the wait for the next 1024 octets or the end of the reply.
    pub timeouts: Timeouts,
    /// The encoding of the Gopher+ string in a request without a search string.
    pub wire: PlusWire,
    /// The maximum number of octets in a reply, including its header.
    pub max_octets: usize,
    /// Whether to allow connections to ports below 1024 other than 70 (RFC 1738 §6).
    pub allow_reserved_port: bool,
}

impl Default for GopherOptions {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            wire: PlusWire::Draft,
            max_octets: MAX_REPLY,
            allow_reserved_port: false,
        }
    }
}

/// Fetches the item named by `url`.
///
/// If a server does not support attributes by name, all attributes are requested and then filtered.
///
/// # Errors
/// See [`GopherError`].
pub async fn retrieve(
    url: &GopherUrl,
    options: &GopherOptions,
    connector: &dyn Connect,
) -> Result<Reply, GopherError> {
    match (fetch(url, options, connector).await, named_attributes(url)) {
        (Err(GopherError::NotGopherPlus), Some((all, names))) => {
            let mut reply = fetch(&all, options, connector).await?;
            if let Body::Attributes(items) = &mut reply.body {
                items.iter_mut().for_each(|item| item.keep(&names));
            }
            reply.notes.push(Note::AllAttributes);
            Ok(reply)
        }
        (result, _) => result,
    }
}

/// Parses a reply from the server named by `url`.
///
/// # Errors
/// The errors of [`retrieve`] that concern replies.
#[cfg(feature = "sru")]
pub(crate) fn read(
    url: &GopherUrl,
    options: &GopherOptions,
    octets: bytes::Bytes,
) -> Result<Reply, GopherError> {
    reply::read(&plan(url, options)?, octets, false)
}

/// Returns the URL that requests an item's form (draft §3.1); the reply contains the [questions](Reply::questions).
/// Returns `None` if the URL would be too long.
pub fn form_of(url: &GopherUrl) -> Option<GopherUrl> {
    let ask = GopherPlus::attributes(AttributeScope::Item, &["+ASK"])?;
    with_plus(url, ask)
}

/// Returns the questions in an item's form (draft §3.1), in order; empty if the item has no form.
///
/// # Errors
/// See [`GopherError`].
pub async fn form(
    url: &GopherUrl,
    options: &GopherOptions,
    connector: &dyn Connect,
) -> Result<Vec<Question>, GopherError> {
    let Some(form) = form_of(url) else {
        return Ok(Vec::new());
    };
    Ok(retrieve(&form, options, connector).await?.questions())
}

async fn fetch(
    url: &GopherUrl,
    options: &GopherOptions,
    connector: &dyn Connect,
) -> Result<Reply, GopherError> {
    let plan = plan(url, options)?;
    tracing::info!(host = %plan.host, port = plan.port, item_type = %url.item_type(), "gopher request");
    let (octets, is_open) = transfer::exchange(&plan, options, connector).await?;
    tracing::debug!(octets = octets.len(), "gopher reply");
    reply::read(&plan, octets.into(), is_open)
}

/// If the URL requests attributes by name, returns the URL that requests all attributes, and these names; otherwise
/// `None`.
fn named_attributes(url: &GopherUrl) -> Option<(GopherUrl, Vec<Octets>)> {
    let plus = url.plus()?;
    let PlusRequest::Attributes { names, .. } = plus.request() else {
        return None;
    };
    let mark = plus.octets().as_bytes().first_chunk::<1>()?;
    let all = with_plus(url, GopherPlus::new(mark)?)?;
    (!names.is_empty()).then_some((all, names))
}

/// Returns the URL with a different Gopher+ string; `None` if the URL would be too long.
fn with_plus(url: &GopherUrl, plus: GopherPlus) -> Option<GopherUrl> {
    url.to_builder().plus(plus).build().ok()
}

/// Returns whether an attribute has one of the wanted names.
fn is_wanted(name: &str, wanted: &[Octets]) -> bool {
    wanted
        .iter()
        .any(|wanted| same_attribute(wanted.as_bytes(), name.as_bytes()))
}
