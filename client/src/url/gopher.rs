//! Gopher URLs as defined by the Gopher URL draft (December 1996), which replaces RFC 1738 §3.4: their parts, their
//! canonical form, and the octets of their requests. `parse` parses text, and `build` combines parts.

mod build;
mod item_type;
mod parse;
mod plus;

use std::fmt;
use std::str::FromStr;

use super::authority::HostPort;
use super::common::{self, Mode};
use super::error::UrlError;
use super::host::Host;
use super::octets::Octets;
use super::span::Span;
pub use build::GopherUrlBuilder;
pub use item_type::{GopherType, ReplyKind};
pub(crate) use plus::same_attribute;
pub use plus::{AttributeScope, GopherPlus, PlusRequest};

/// The default port of Gopher (draft §2.1).
pub const DEFAULT_GOPHER_PORT: u16 = 70;

const SCHEME: &str = "gopher";

/// A Gopher URL, which is always valid.
///
/// Invariants: the port is 1–65535; the selector and the search string contain no tab, CR or LF; a Gopher+ string is
/// preceded by a search string, which may be empty; the canonical form is at most
/// [`MAX_URL_LENGTH`](super::MAX_URL_LENGTH) octets. Two URLs are equal if their canonical forms are equal; `Display`
/// writes the canonical form.
///
/// ```
/// use z3950::url::{GopherUrl, Mode, PlusWire};
///
/// let url = GopherUrl::parse("gopher://gopher.example/7/find%09cat%20dog", Mode::Strict)?;
/// assert_eq!(url.request(PlusWire::Draft), b"/find\tcat dog\r\n");
/// # Ok::<(), z3950::url::UrlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GopherUrl {
    hostport: HostPort<DEFAULT_GOPHER_PORT>,
    item_type: GopherType,
    selector: Octets,
    search: Option<Octets>,
    plus: Option<GopherPlus>,
}

/// The number of tabs written before a Gopher+ string if there is no search string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PlusWire {
    /// Two tabs, as in the draft (§2.4), and one tab before a filled form (§3.2).
    #[default]
    Draft,
    /// One tab, as expected by servers from 1993.
    Protocol,
}

impl GopherUrl {
    /// Parses a URL. The text may contain any octets, but octets outside 21–7E hex are refused.
    ///
    /// [`Mode::Strict`] accepts the item types in the draft. [`Mode::Lenient`] accepts any character that a URL may
    /// contain as item type, and national characters as data. Both modes accept reserved characters as data, and refuse
    /// a fragment and userinfo.
    ///
    /// Source: Gopher URL draft §2.1, §4, whose grammar omits the `/` that appears in its examples.
    ///
    /// # Errors
    /// The first error in the order of [`UrlErrorKind`](super::UrlErrorKind), with its 0-based offset in `text`.
    pub fn parse(text: impl AsRef<[u8]>, mode: Mode) -> Result<Self, UrlError> {
        parse::parse(text.as_ref(), mode)
    }

    /// Returns whether the scheme of text is `gopher`, without parsing the text after the scheme. Surrounding spaces
    /// and one leading `URL:` are skipped, as in [`Mode::Lenient`].
    pub fn has_scheme(text: impl AsRef<[u8]>) -> bool {
        let text = common::unwrapped(Span::new(text.as_ref()));
        common::scheme(text)
            .is_ok_and(|(scheme, _)| scheme.octets().eq_ignore_ascii_case(SCHEME.as_bytes()))
    }

    /// Starts a builder with the host, for the top menu of the server at port 70.
    pub fn builder(host: Host) -> GopherUrlBuilder {
        GopherUrlBuilder::new(host)
    }

    /// Starts a builder with the parts of this URL, including a filled form.
    pub fn to_builder(&self) -> GopherUrlBuilder {
        GopherUrlBuilder {
            url: self.clone(),
            ask_forms: self.plus.as_ref().is_some_and(GopherPlus::is_filled_form),
        }
    }

    /// Returns the scheme, `gopher`.
    pub fn scheme(&self) -> &'static str {
        SCHEME
    }

    pub(crate) fn hostport(&self) -> &HostPort<DEFAULT_GOPHER_PORT> {
        &self.hostport
    }

    /// Returns the host to connect to.
    pub fn host(&self) -> &Host {
        self.hostport.host()
    }

    /// Returns the port to connect to, from 1 to 65535. The default is [`DEFAULT_GOPHER_PORT`].
    pub fn port(&self) -> u16 {
        self.hostport.port()
    }

    /// Returns the type of the item, which determines how the reply is interpreted. A URL without a path has the type
    /// of a menu.
    pub fn item_type(&self) -> GopherType {
        self.item_type
    }

    /// Returns the selector, which may contain any octets except tab, CR and LF, and may be empty.
    pub fn selector(&self) -> &Octets {
        &self.selector
    }

    /// Returns the search string. An empty search string is different from an absent one.
    pub fn search(&self) -> Option<&Octets> {
        self.search.as_ref()
    }

    /// Returns the Gopher+ string, if the URL has one.
    pub fn plus(&self) -> Option<&GopherPlus> {
        self.plus.as_ref()
    }

    /// Returns whether the URL still needs a search string (draft §2.3).
    pub fn needs_search_term(&self) -> bool {
        self.item_type == GopherType::SEARCH && self.search.is_none()
    }

    /// Returns whether the data contains a control character, except in a filled form. Servers written in C, for
    /// example, treat a NUL octet as the end of the line.
    pub(crate) fn has_control(&self) -> bool {
        let plus = self
            .plus
            .as_ref()
            .filter(|plus| !plus.is_filled_form())
            .map(GopherPlus::octets);
        let fields = [Some(&self.selector), self.search.as_ref(), plus];
        let mut octets = fields.into_iter().flatten().flat_map(Octets::as_bytes);
        octets.any(u8::is_ascii_control)
    }

    /// Returns the octets to send, including the line end (draft §2.2–§2.8, §3.2).
    pub fn request(&self, wire: PlusWire) -> Vec<u8> {
        let mut octets = self.selector.as_bytes().to_vec();
        let search = self.search.as_ref().map(Octets::as_bytes);
        let filled = self.plus.as_ref().is_some_and(GopherPlus::is_filled_form);
        let one_tab = self.plus.is_some() && (filled || wire == PlusWire::Protocol);
        if let Some(search) = search.filter(|search| !(search.is_empty() && one_tab)) {
            octets.push(b'\t');
            octets.extend_from_slice(search);
        }
        if let Some(plus) = &self.plus {
            octets.push(b'\t');
            octets.extend_from_slice(plus.octets().as_bytes());
        }
        if !filled {
            octets.extend_from_slice(b"\r\n");
        }
        octets
    }

    /// Returns the canonical form, which is the same for all equal URLs.
    ///
    /// Scheme and host are in lower case. Port 70 is omitted, but never the slash. The type is omitted only for a menu
    /// without a selector. Unreserved and reserved characters are literal, and all other octets are escaped.
    /// [`Mode::Strict`] accepts the canonical form if [the host](Host::is_strict) and [the type](GopherType::is_listed)
    /// allow it.
    pub fn canonical(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for GopherUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}://{}/", self.hostport)?;
        let is_bare = self.selector.is_empty() && self.search.is_none();
        if self.item_type != GopherType::MENU || !is_bare {
            self.item_type.fmt(f)?;
        }
        write_data(f, &self.selector)?;
        if let Some(search) = &self.search {
            f.write_str("%09")?;
            write_data(f, search)?;
        }
        if let Some(plus) = &self.plus {
            f.write_str("%09")?;
            write_data(f, plus.octets())?;
        }
        Ok(())
    }
}

/// Parses a URL in [`Mode::Strict`].
impl FromStr for GopherUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        GopherUrl::parse(text, Mode::Strict)
    }
}

fn write_data(f: &mut fmt::Formatter<'_>, data: &Octets) -> fmt::Result {
    common::write_escaped(f, data.as_bytes(), common::is_xchar)
}
