//! A reply as the plan wants it read: header, then text, menu, octets, attributes, or the server's error.

use bytes::Bytes;

use super::MAX_LINES;
use super::attributes::{self, Attributes};
use super::error::{GopherError, ServerError};
use super::header::{Header, Length};
use super::menu::{self, MenuItem};
use super::plan::{GopherPlan, Reading};
use super::text;

/// What a server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The octets as they came, header and lone dot included.
    pub octets: Bytes,
    /// The same, read.
    pub body: Body,
    /// What a person should know about it.
    pub notes: Vec<Note>,
}

/// What a reply holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A text without the lone dot behind it, otherwise unchanged.
    Text(Bytes),
    /// A menu.
    Menu(Vec<MenuItem>),
    /// Octets.
    Binary(Bytes),
    /// Attributes, item by item.
    Attributes(Vec<Attributes>),
}

/// A remark on a reply that was taken all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// Not one octet.
    #[error("the server sent nothing")]
    Empty,
    /// A view was asked for and came without a header.
    #[error("the server does not answer by Gopher+, so this is the item in its only view")]
    NoHeader,
    /// Attributes were asked for by name.
    #[error("the server cannot select attributes, so all were requested")]
    AllAttributes,
    /// Octets after the lone dot that ends a text, a menu or attributes of a server that keeps the connection; there may be more
    /// that was not waited for.
    #[error("a lone dot ends the reply, and {} after it are left out; --format raw shows them", octets(*.0))]
    AfterDot(usize),
    /// Lines of a menu without host or port.
    #[error("{0} lines of the menu have no location")]
    IncompleteItems(usize),
}

fn octets(count: usize) -> String {
    match count {
        1 => "1 octet".to_owned(),
        count => format!("{count} octets"),
    }
}

/// The largest reply that may be an error in the form of a menu, in octets.
const MAX_ERROR: usize = 4096;

/// Reads a reply. A text ends at its last lone dot where the server closed the connection, and at its first where the server
/// kept it (`is_open`).
pub(super) fn read(plan: &GopherPlan, octets: Bytes, is_open: bool) -> Result<Reply, GopherError> {
    let mut notes = Vec::new();
    if octets.is_empty() {
        notes.push(Note::Empty);
    }
    let (body, by_lines) = match plan.header(&octets) {
        Some(header) => {
            let (body, by_lines) = headed(&header, &octets, &mut notes)?;
            if header.failed {
                return Err(plus_error(&body).into());
            }
            (body, by_lines)
        }
        None if plan.reading() == Reading::Attributes => {
            return Err(menu_error(&octets).map_or(GopherError::NotGopherPlus, GopherError::Server));
        }
        None => {
            if plan.is_plus() && !octets.is_empty() {
                notes.push(Note::NoHeader);
            }
            (octets.clone(), true)
        }
    };
    if let Some(error) = menu_error(&body) {
        return Err(error.into());
    }
    if matches!(plan.reading(), Reading::Menu | Reading::Attributes) {
        let lines = body.iter().filter(|&&octet| octet == b'\n').count();
        if lines > MAX_LINES {
            return Err(GopherError::TooManyLines(MAX_LINES));
        }
    }
    let body = match plan.reading() {
        Reading::Text if !by_lines => Body::Text(body),
        Reading::Text if !is_open => Body::Text(text::unstuffed(&body)),
        Reading::Text => Body::Text(match text::ended(&body) {
            Some(ended) => {
                notes.extend(after_dot(ended.excess));
                ended.text
            }
            None => body,
        }),
        Reading::Binary => Body::Binary(body),
        Reading::Attributes => Body::Attributes(attributes::read(&body)),
        Reading::Menu => {
            if by_lines {
                notes.extend(text::ended(&body).and_then(|ended| after_dot(ended.excess)));
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

/// The body behind a header, and whether its end is a lone dot: one of announced length has none.
fn headed(
    header: &Header,
    octets: &Bytes,
    notes: &mut Vec<Note>,
) -> Result<(Bytes, bool), GopherError> {
    let body = octets.slice(header.size()..);
    let received = body.len();
    match header.length {
        Length::Octets(length) if received < length => Err(GopherError::CutOff { received }),
        Length::Octets(length) => Ok((body.slice(..length), false)),
        Length::ToDot => match text::ended(&body) {
            None => Err(GopherError::CutOff { received }),
            Some(ended) => {
                notes.extend(after_dot(ended.excess));
                Ok((ended.text, false))
            }
        },
        Length::ToEnd => Ok((body, false)),
    }
}

fn after_dot(excess: usize) -> Option<Note> {
    (excess > 0).then_some(Note::AfterDot(excess))
}

/// The body of a reply with `-` in its header: a line `code contact`, then words.
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

/// The error that a server without Gopher+ sends in the place of any item: a menu of type 3.
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
