//! Parses a reply: the header, followed by text, a menu, octets, attributes, or the server's error.

use bytes::Bytes;

use super::MAX_LINES;
use super::attributes::{self, Attributes, Question};
use super::error::{GopherError, ServerError};
use super::header::{Header, Length};
use super::menu::{self, MenuItem};
use super::plan::{GopherPlan, Reading};
use super::text;

/// The reply to a Gopher request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The octets as received, including the header and the lone dot.
    pub octets: Bytes,
    /// The body of the reply, parsed according to the plan.
    pub body: Body,
    /// Notes on deviations from the protocol.
    pub notes: Vec<Note>,
}

/// The body of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text, without the lone dot at its end.
    Text(Bytes),
    /// A menu.
    Menu(Vec<MenuItem>),
    /// Octets of any kind.
    Binary(Bytes),
    /// The attributes of each item.
    Attributes(Vec<Attributes>),
}

impl Reply {
    /// Returns the questions in an item's form, in order. The result is empty if the reply does not contain the
    /// attributes of the item, or if the item has no form.
    pub fn questions(&self) -> Vec<Question> {
        match &self.body {
            Body::Attributes(items) => items.first().map(Attributes::questions).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// A deviation from the protocol in a reply that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The reply is empty.
    #[error("the server sent nothing")]
    Empty,
    /// A view was requested, but the reply has no Gopher+ header.
    #[error("the server does not answer by Gopher+, so this is the item in its only view")]
    NoHeader,
    /// The server does not support attributes by name.
    #[error("the server cannot select attributes, so all were requested")]
    AllAttributes,
    /// This many octets follow the lone dot. The server keeps the connection open, so further octets may follow.
    #[error("a lone dot ends the reply, and {} after it are left out; --format raw shows them", octets(*.0))]
    AfterDot(usize),
    /// This many lines of the menu lack a host or port.
    #[error("{0} lines of the menu have no location")]
    IncompleteItems(usize),
}

fn octets(count: usize) -> String {
    match count {
        1 => "1 octet".to_owned(),
        count => format!("{count} octets"),
    }
}

/// The maximum number of octets in an error in the form of a menu.
const MAX_ERROR: usize = 4096;

/// Parses a reply. Text ends at its last lone dot if the server closed the connection, and at its first lone dot if the
/// connection is still open (`is_open`).
pub(super) fn read(plan: &GopherPlan, octets: Bytes, is_open: bool) -> Result<Reply, GopherError> {
    let mut notes = Vec::new();
    if octets.is_empty() {
        notes.push(Note::Empty);
    }
    let (body, by_lines) = match plan.header(&octets) {
        Some(header) => {
            let body = body_after_header(&header, &octets, &mut notes)?;
            if header.failed {
                return Err(plus_error(&body).into());
            }
            // A lone dot that the header announces has been removed.
            (body, false)
        }
        None if plan.reading == Reading::Attributes => {
            return Err(menu_error(&octets).map_or(GopherError::NotGopherPlus, GopherError::Server));
        }
        None => {
            if plan.is_plus && !octets.is_empty() {
                notes.push(Note::NoHeader);
            }
            (octets.clone(), true)
        }
    };
    if let Some(error) = menu_error(&body) {
        return Err(error.into());
    }
    if matches!(plan.reading, Reading::Menu | Reading::Attributes) {
        let lines = body.iter().filter(|&&octet| octet == b'\n').count();
        if lines > MAX_LINES {
            return Err(GopherError::TooManyLines(MAX_LINES));
        }
    }
    let body = match plan.reading {
        Reading::Text if !by_lines => Body::Text(body),
        Reading::Text if !is_open => Body::Text(text::unstuffed(&body)),
        Reading::Text => Body::Text(match text::ended(&body) {
            Some((text, excess)) => {
                notes.extend(after_dot(excess));
                text
            }
            None => body,
        }),
        Reading::Binary => Body::Binary(body),
        Reading::Attributes => Body::Attributes(attributes::read(&body)),
        Reading::Menu => {
            if by_lines {
                notes.extend(text::ended(&body).and_then(|(_, excess)| after_dot(excess)));
            }
            let items = menu::read(&body);
            let incomplete = items.iter().filter(|item| !item.is_complete).count();
            if incomplete > 0 {
                notes.push(Note::IncompleteItems(incomplete));
            }
            Body::Menu(items)
        }
    };
    Ok(Reply {
        octets,
        body,
        notes,
    })
}

/// Returns the body after a header, without the lone dot that the header announces.
fn body_after_header(
    header: &Header,
    octets: &Bytes,
    notes: &mut Vec<Note>,
) -> Result<Bytes, GopherError> {
    let body = octets.slice(header.size..);
    let received = body.len();
    match header.length {
        Length::Octets(length) if received < length => Err(GopherError::CutOff { received }),
        Length::Octets(length) => Ok(body.slice(..length)),
        Length::ToDot => match text::ended(&body) {
            None => Err(GopherError::CutOff { received }),
            Some((text, excess)) => {
                notes.extend(after_dot(excess));
                Ok(text)
            }
        },
        Length::ToEnd => Ok(body),
    }
}

fn after_dot(excess: usize) -> Option<Note> {
    (excess > 0).then_some(Note::AfterDot(excess))
}

/// Parses the body of a Gopher+ error: a line `code contact`, followed by a message.
fn plus_error(body: &[u8]) -> ServerError {
    let mut lines = text::lines(body).map(text::decoded);
    let first = lines.next().unwrap_or_default();
    let (code, contact) = first.split_once(' ').unwrap_or((&first, ""));
    let words: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let code = code.trim().parse().ok();
    ServerError {
        code: code.or(Some(0)),
        contact: Some(contact.trim().to_owned()).filter(|contact| !contact.is_empty()),
        message: match code {
            Some(_) => words.join(" "),
            None => [first]
                .into_iter()
                .chain(words)
                .collect::<Vec<_>>()
                .join(" "),
        },
    }
}

/// Parses the error from a server without Gopher+. Such an error is a menu in which an item of type 3 contains the
/// message.
fn menu_error(body: &[u8]) -> Option<ServerError> {
    if body.len() > MAX_ERROR || body.first() != Some(&b'3') {
        return None;
    }
    let items = menu::read(body);
    let is_error = items
        .iter()
        .all(|item| item.is_complete && (item.item_type == '3' || item.is_information()));
    let message = items.first().filter(|_| is_error)?.display.clone();
    Some(ServerError {
        code: None,
        contact: None,
        message,
    })
}
