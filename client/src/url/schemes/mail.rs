//! `mailto` URLs (RFC 1738 §3.5), and the message identifiers in `mid`, `cid` and `news` URLs (RFC 1630). Both a mail
//! address and a message identifier are an `addr-spec` without angle brackets.

use std::fmt;

use super::super::common::{self, Content, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::host::{self, Host};
use super::super::octets::Octets;
use super::super::span::Span;
use super::write_data;

/// The mail address of a person or a service. No character in it is reserved, not even `?`. Therefore, header fields in
/// a URL, which RFC 6068 introduced later, become part of the address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MailtoUrl {
    address: Octets,
}

impl MailtoUrl {
    /// Creates a URL for an address of at least one octet. It must not contain control characters, because these could
    /// begin another header.
    ///
    /// # Errors
    /// `EmptyPart` if the address is empty; `ForbiddenControl` at the first control character.
    pub fn new(address: impl Into<Octets>) -> Result<Self, UrlError> {
        let address = address.into();
        if address.is_empty() {
            return Err(UrlError::at(UrlErrorKind::EmptyPart, 0));
        }
        common::no_controls(address.as_bytes())?;
        Ok(MailtoUrl { address })
    }

    /// Returns the decoded address.
    pub fn address(&self) -> &Octets {
        &self.address
    }

    /// Parses the text after `mailto:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        if rest.is_empty() {
            return Err(rest
                .fail(UrlErrorKind::EmptyPart)
                .advising("add the address"));
        }
        let content = Content::string(mode).never(b"@");
        let address = content.decode_with(rest, ALL)?;
        Ok(MailtoUrl { address })
    }
}

impl fmt::Display for MailtoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mailto:")?;
        write_data(f, &self.address, ALL)
    }
}

/// All reserved characters.
const ALL: &[u8] = b";/?:@&=";
/// Reserved characters that are data before the `@` of a message identifier.
const LOCAL: &[u8] = b";/?:&=";

/// The identifier of a message, of a part of a message, or of a news article. `Display` writes it escaped as in a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageId {
    local: Octets,
    domain: String,
}

impl MessageId {
    /// Creates the identifier `local@domain`.
    ///
    /// # Errors
    /// `EmptyPart` or `ForbiddenControl` in `local`; the errors from [`Host::parse`] for `domain`.
    pub fn new(local: impl Into<Octets>, domain: impl Into<String>) -> Result<Self, UrlError> {
        let (local, domain) = (local.into(), domain.into());
        if local.is_empty() {
            return Err(UrlError::at(UrlErrorKind::EmptyPart, 0));
        }
        common::no_controls(local.as_bytes())?;
        Host::parse(&domain, Mode::Lenient)?;
        Ok(MessageId { local, domain })
    }

    /// Returns the decoded part before the `@`, which has at least one octet and no control characters.
    pub fn local(&self) -> &Octets {
        &self.local
    }

    /// Returns the domain in its original letter case, because identifiers are compared octet by octet.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns the identifier in the form used in messages, but without angle brackets.
    pub fn octets(&self) -> Octets {
        [self.local.as_bytes(), b"@", self.domain.as_bytes()]
            .concat()
            .into()
    }

    /// Parses a complete identifier. Its domain must be a host name as defined in RFC 1738.
    pub(crate) fn parse(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let content = Content::string(mode).never(b"@");
        let Some((local, domain)) = text.rsplit_once(b'@') else {
            content.decode_with(text, LOCAL)?;
            let (_, end) = text.split_at(text.octets().len());
            return Err(end
                .fail(UrlErrorKind::MissingPart)
                .advising("add `@` and a domain"));
        };
        if local.is_empty() {
            return Err(local
                .fail(UrlErrorKind::EmptyPart)
                .advising("put the identifier before the `@`"));
        }
        let local = content.decode_with(local, LOCAL)?;
        host::host(domain, mode)?;
        Ok(MessageId {
            local,
            domain: domain.to_text(),
        })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_data(f, &self.local, LOCAL)?;
        write!(f, "@{}", self.domain)
    }
}
