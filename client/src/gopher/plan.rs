//! Determines, without a connection, the request for a Gopher URL and how to parse its reply (Gopher URL draft
//! §2.1–§2.8; RFC 1738 §6 for ports of other protocols).

use super::GopherOptions;
use super::header::{Header, Length};
use super::text::LoneDot;
use crate::url::{
    BuildError, DEFAULT_GOPHER_PORT, GopherPlus, GopherType, GopherUrl, Host, PlusRequest,
    ReplyKind,
};

/// A request, and how to parse its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GopherPlan {
    /// The host to connect to.
    pub host: Host,
    /// The port to connect to.
    pub port: u16,
    /// The octets of the request.
    pub request: Vec<u8>,
    /// How to parse the reply.
    pub reading: Reading,
    /// Whether Gopher+ is requested.
    pub is_plus: bool,
}

/// How to parse a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Lines of text, with or without a lone dot at the end.
    Text,
    /// A menu, with one item per line.
    Menu,
    /// Octets of any kind, which are not parsed.
    Binary,
    /// Attributes of one or more items.
    Attributes,
}

/// The reason why no request can be sent for a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GopherPlanError {
    /// The item is a search, but the URL has no search string (draft §2.3).
    #[error("the URL is for a search and has no search term")]
    NeedsSearchTerm,
    /// The item has a form, but the URL contains no answers to its questions (draft §2.5).
    #[error("the item has a form that must be filled in first")]
    NeedsAnswers,
    /// The server lists no questions for an item that, according to its menu, has a form.
    #[error("the server lists no form for the item")]
    NoForm,
    /// There are more answers than questions in the item's form.
    #[error("the item's form asks for {questions} answers, and {answers} were given")]
    TooManyAnswers {
        /// The number of questions that need an answer.
        questions: usize,
        /// The number of answers.
        answers: usize,
    },
    /// Items of this type cannot be fetched by Gopher.
    #[error("{}", not_retrievable(*.0))]
    NotRetrievable(GopherType),
    /// A search term or an answer cannot be put into a request.
    #[error(transparent)]
    Unsendable(#[from] BuildError),
    /// The port is reserved for another protocol, and is not allowed.
    #[error("port {0} is reserved for another protocol and was not connected to")]
    PortRefused(u16),
}

fn not_retrievable(item_type: GopherType) -> String {
    let what = match item_type.reply_kind() {
        ReplyKind::Session => "a terminal session, which telnet opens",
        ReplyKind::Cso => "a CSO phone book, which Gopher does not read",
        _ => "an error, where nothing can be fetched",
    };
    format!("the URL names {what}")
}

/// Plans the request for a URL.
///
/// # Errors
/// See [`GopherPlanError`].
pub fn plan(url: &GopherUrl, options: &GopherOptions) -> Result<GopherPlan, GopherPlanError> {
    let asked = url.plus().map(GopherPlus::request);
    let by_type = || match url.item_type().reply_kind() {
        ReplyKind::Text => Ok(Reading::Text),
        ReplyKind::Menu => Ok(Reading::Menu),
        ReplyKind::Binary | ReplyKind::RedundantServer => Ok(Reading::Binary),
        ReplyKind::Cso | ReplyKind::Error | ReplyKind::Session => {
            Err(GopherPlanError::NotRetrievable(url.item_type()))
        }
    };
    let reading = match &asked {
        Some(PlusRequest::Attributes { .. }) => Reading::Attributes,
        Some(PlusRequest::Form) => return Err(GopherPlanError::NeedsAnswers),
        Some(PlusRequest::View {
            format: Some(format),
            ..
        }) => by_format(format.as_bytes()),
        _ => by_type()?,
    };
    if url.needs_search_term() {
        return Err(GopherPlanError::NeedsSearchTerm);
    }
    let request = url.request(options.wire);
    let port = url.port();
    if port < 1024 && port != DEFAULT_GOPHER_PORT && !options.allow_reserved_port {
        return Err(GopherPlanError::PortRefused(port));
    }
    Ok(GopherPlan {
        host: url.host().clone(),
        port,
        request,
        reading,
        is_plus: asked.is_some(),
    })
}

fn by_format(format: &[u8]) -> Reading {
    let format = format.to_ascii_lowercase();
    match format.as_slice() {
        b"application/gopher-menu" | b"application/gopher+-menu" => Reading::Menu,
        format if format.starts_with(b"text/") => Reading::Text,
        _ => Reading::Binary,
    }
}

impl GopherPlan {
    /// Returns the Gopher+ header of a reply, if it was requested and received.
    pub(super) fn header(&self, reply: &[u8]) -> Option<Header> {
        Header::read(reply).filter(|_| self.is_plus)
    }

    /// Returns whether the reply is complete. `dot` keeps the state of the search for the lone dot between calls.
    pub(super) fn is_complete(&self, reply: &[u8], dot: &mut LoneDot) -> bool {
        match self.header(reply) {
            Some(header) => match header.length {
                Length::Octets(length) => header.body(reply).len() >= length,
                Length::ToDot => dot.is_in(reply),
                Length::ToEnd => false,
            },
            // Only in a menu does a lone dot always end the reply, because all other lines of a menu contain tabs.
            None => self.reading == Reading::Menu && dot.is_in(reply),
        }
    }

    /// Returns whether a lone dot may be part of the contents, so that only the end of the connection ends the reply.
    /// This is the case for text, because some servers send files unchanged.
    pub(super) fn may_go_on_after_dot(&self, reply: &[u8]) -> bool {
        self.reading == Reading::Text && self.header(reply).is_none()
    }
}
