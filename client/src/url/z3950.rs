//! Z39.50 URLs (RFC 2056), with their parts, canonical form and equality. The module `parse` parses text, and `build`
//! combines parts; both return only valid URLs.

mod build;
mod parse;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::caution::Caution;
use super::common::{self, Class, Mode};
use super::encoded::Encoded;
use super::error::UrlError;
use super::host::Host;
use super::octets::Octets;
use super::userinfo::{self, Secrets, Userinfo};
pub use build::Z3950UrlBuilder;

/// The default port of Z39.50 (RFC 2056 §3, §4).
pub const DEFAULT_PORT: u16 = 210;

/// The two schemes, which determine the purpose of a URL (RFC 2056 §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `z39.50s`: open a session and leave it open.
    Session,
    /// `z39.50r`: fetch one record.
    Retrieval,
}

impl Kind {
    /// Returns the scheme in lower case, without a colon.
    pub fn scheme(self) -> &'static str {
        match self {
            Kind::Session => "z39.50s",
            Kind::Retrieval => "z39.50r",
        }
    }

    /// Returns the kind of URL that has this scheme. Letter case is ignored (RFC 1738 §2.1).
    pub(crate) fn of_scheme(scheme: &[u8]) -> Option<Self> {
        [Kind::Session, Kind::Retrieval]
            .into_iter()
            .find(|kind| scheme.eq_ignore_ascii_case(kind.scheme().as_bytes()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Session => "session",
            Kind::Retrieval => "retrieval",
        })
    }
}

/// A parameter that RFC 2056 §5 reserves for the future. It is kept and passed on, but has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    keyword: String,
    value: Encoded,
}

impl Extension {
    /// Returns the keyword in lower case. It is a letter followed by letters, digits, `.`, `_` and `-`, and is neither
    /// `esn` nor `rs`.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// Returns the decoded value. It may be empty, and contains no control characters.
    pub fn value(&self) -> Octets {
        self.value.decode()
    }

    /// Returns the value with its escapes. The keyword determines whether a plus is a separator, as in `rs`, or data,
    /// so `+` and `%2B` remain different.
    pub fn encoded(&self) -> &Encoded {
        &self.value
    }
}

/// A session or retrieval URL (RFC 2056), which is always valid.
///
/// Invariants: the port is 1–65535; database names, docid, element set name and record syntaxes have at least one octet;
/// only the docid may contain control characters; a URL with a docid, like every retrieval URL, has at least one
/// database; the canonical form is at most [`MAX_URL_LENGTH`](super::MAX_URL_LENGTH) octets.
///
/// Two URLs are equal if their canonical forms are equal; userinfo, fragment and warnings are ignored. `Display` writes the
/// canonical form, so neither it nor `Debug` shows a password.
#[derive(Clone, Debug)]
pub struct Z3950Url {
    parts: Parts,
    userinfo: Option<Userinfo>,
    fragment: Option<Octets>,
    warnings: Vec<Caution>,
}

/// The parts of a URL that its canonical form contains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parts {
    kind: Kind,
    host: Host,
    port: u16,
    databases: Vec<Octets>,
    docid: Option<Octets>,
    element_set: Option<Octets>,
    record_syntaxes: Vec<Octets>,
    extensions: Vec<Extension>,
}

impl Parts {
    fn new(kind: Kind, host: Host) -> Self {
        Parts {
            kind,
            host,
            port: DEFAULT_PORT,
            databases: Vec::new(),
            docid: None,
            element_set: None,
            record_syntaxes: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl Z3950Url {
    /// Starts a builder with the host and port 210.
    pub fn builder(kind: Kind, host: Host) -> Z3950UrlBuilder {
        Z3950UrlBuilder::new(kind, host)
    }

    /// Starts a builder with the parts of this URL, without userinfo, fragment and warnings.
    pub fn to_builder(&self) -> Z3950UrlBuilder {
        Z3950UrlBuilder {
            parts: self.parts.clone(),
        }
    }

    /// Returns whether this is a session or a retrieval URL.
    pub fn kind(&self) -> Kind {
        self.parts.kind
    }

    /// Returns the scheme in lower case, without a colon.
    pub fn scheme(&self) -> &'static str {
        self.parts.kind.scheme()
    }

    /// Returns the host to connect to.
    pub fn host(&self) -> &Host {
        &self.parts.host
    }

    /// Returns the port to connect to, from 1 to 65535. The default is [`DEFAULT_PORT`].
    pub fn port(&self) -> u16 {
        self.parts.port
    }

    /// Returns the user name and password, which only [`Mode::Lenient`] accepts.
    pub fn userinfo(&self) -> Option<&Userinfo> {
        self.userinfo.as_ref()
    }

    /// Returns the databases in the order in which they appear in the URL. A retrieval URL has at least one database.
    pub fn databases(&self) -> &[Octets] {
        &self.parts.databases
    }

    /// Returns the docid: opaque octets, which become the only term of the query (RFC 2056 §4).
    pub fn docid(&self) -> Option<&Octets> {
        self.parts.docid.as_ref()
    }

    /// Returns the element set name (`esn`).
    pub fn element_set(&self) -> Option<&Octets> {
        self.parts.element_set.as_ref()
    }

    /// Returns the record syntaxes (`rs`) as written, most preferred first. The list may be empty.
    pub fn record_syntaxes(&self) -> &[Octets] {
        &self.parts.record_syntaxes
    }

    /// Returns the parameters that RFC 2056 does not define, in the order in which they appear in the URL.
    pub fn extensions(&self) -> &[Extension] {
        &self.parts.extensions
    }

    /// Returns the decoded fragment, which is never sent and is accepted only in [`Mode::Lenient`].
    pub fn fragment(&self) -> Option<&Octets> {
        self.fragment.as_ref()
    }

    /// Returns the warnings about this URL, in the order in which the parts that they concern appear in the URL.
    pub fn warnings(&self) -> &[Caution] {
        &self.warnings
    }

    /// Returns the canonical form, which is the same for all equal URLs. [`Mode::Strict`] accepts it if [the host allows
    /// it](Host::is_strict).
    ///
    /// Scheme, host and keywords are in lower case. Port 210 is omitted, but the slash never is. Letters, digits and
    /// `$-_.!*'(),` are literal, and all other octets are escaped, including a plus that is data; in an extension, a plus
    /// is kept verbatim. `esn` comes before `rs`, and both come before the extensions. Source: RFC 2056 §5, RFC 1738
    /// §2.2.
    pub fn canonical(&self) -> String {
        self.to_string()
    }

    /// Returns the canonical form with the user name and password, if any. A URL with a user name is accepted only in
    /// [`Mode::Lenient`].
    pub fn to_string_with_secrets(&self) -> String {
        let text = self.to_string();
        let (Some(userinfo), Some((scheme, rest))) = (&self.userinfo, text.split_once("//")) else {
            return text;
        };
        let login = userinfo::with_secrets(|login| userinfo.write(login, Secrets::Shown));
        // If these characters were not escaped, they would end the host and port (RFC 2056 §5).
        let login = login.replace(';', "%3B").replace('?', "%3F");
        format!("{scheme}//{login}@{rest}")
    }
}

impl fmt::Display for Z3950Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}

/// Parses a URL in [`Mode::Strict`].
impl FromStr for Z3950Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Z3950Url::parse(text, Mode::Strict)
    }
}

impl PartialEq for Z3950Url {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Eq for Z3950Url {}

impl Hash for Z3950Url {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts.hash(state);
    }
}

/// Writes the canonical form.
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.kind.scheme(), self.host)?;
        if self.port != DEFAULT_PORT {
            write!(f, ":{}", self.port)?;
        }
        write_list(f, "/", &self.databases)?;
        if let Some(docid) = &self.docid {
            f.write_str("?")?;
            write_data(f, docid)?;
        }
        if let Some(element_set) = &self.element_set {
            f.write_str(";esn=")?;
            write_data(f, element_set)?;
        }
        if !self.record_syntaxes.is_empty() {
            write_list(f, ";rs=", &self.record_syntaxes)?;
        }
        for Extension { keyword, value } in &self.extensions {
            write!(f, ";{keyword}={value}")?;
        }
        Ok(())
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, opening: &str, items: &[Octets]) -> fmt::Result {
    f.write_str(opening)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str("+")?;
        }
        write_data(f, item)?;
    }
    Ok(())
}

fn write_data(f: &mut fmt::Formatter<'_>, data: &Octets) -> fmt::Result {
    common::write_escaped(f, data.as_bytes(), |octet| {
        octet != b'+' && Class::of(octet) == Class::Unreserved
    })
}
