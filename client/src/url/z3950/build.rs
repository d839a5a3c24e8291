//! Builds or changes a URL of RFC 2056. Parts are escaped; only what no URL can express is refused.

use super::super::error::MAX_URL_LENGTH;
use super::super::host::Host;
use super::super::octets::Octets;
use super::parse::is_keyword;
use super::{Extension, Kind, Parts, Z3950Url};

/// A builder for [`Z3950Url`]; [`build`](Self::build) checks the parts.
///
/// Source: RFC 2056 §5. Parsing the result in [`Mode::Lenient`](crate::url::Mode::Lenient) gives an equal URL, as does
/// [`Mode::Strict`](crate::url::Mode::Strict) if [the host allows it](Host::is_strict).
#[derive(Clone, Debug)]
#[must_use]
pub struct Z3950UrlBuilder {
    pub(super) parts: Parts,
}

impl Z3950UrlBuilder {
    pub(super) fn new(kind: Kind, host: Host) -> Self {
        Z3950UrlBuilder {
            parts: Parts::new(kind, host),
        }
    }

    /// Session or retrieval.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.parts.kind = kind;
        self
    }

    /// The host to connect to.
    pub fn host(mut self, host: Host) -> Self {
        self.parts.host = host;
        self
    }

    /// The port to connect to, 1–65535.
    pub fn port(mut self, port: u16) -> Self {
        self.parts.port = port;
        self
    }

    /// Adds a database: at least one octet, no control characters.
    pub fn database(mut self, name: impl Into<Octets>) -> Self {
        self.parts.databases.push(name.into());
        self
    }

    /// Replaces the databases.
    pub fn databases<T: Into<Octets>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.parts.databases = names.into_iter().map(T::into).collect();
        self
    }

    /// Sets the docid: at least one octet.
    pub fn docid(mut self, docid: impl Into<Octets>) -> Self {
        self.parts.docid = Some(docid.into());
        self
    }

    /// Removes the docid.
    pub fn without_docid(mut self) -> Self {
        self.parts.docid = None;
        self
    }

    /// Sets the element set name: at least one octet, no control characters.
    pub fn element_set(mut self, name: impl Into<Octets>) -> Self {
        self.parts.element_set = Some(name.into());
        self
    }

    /// Removes the element set name.
    pub fn without_element_set(mut self) -> Self {
        self.parts.element_set = None;
        self
    }

    /// Adds a record syntax, less preferred than those before: at least one octet, no control characters.
    pub fn record_syntax(mut self, name: impl Into<Octets>) -> Self {
        self.parts.record_syntaxes.push(name.into());
        self
    }

    /// Replaces the record syntaxes, most preferred first.
    pub fn record_syntaxes<T: Into<Octets>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.parts.record_syntaxes = names.into_iter().map(T::into).collect();
        self
    }

    /// Adds a parameter that RFC 2056 does not define. The keyword is a letter followed by letters, digits, `.`, `_` and `-`, any
    /// case; the value may be empty and has no control characters.
    pub fn extension(mut self, keyword: impl Into<String>, value: impl Into<Octets>) -> Self {
        let mut keyword = keyword.into();
        keyword.make_ascii_lowercase();
        self.parts.extensions.push(Extension {
            keyword,
            value: value.into(),
        });
        self
    }

    /// Removes all parameters except `esn` and `rs`.
    pub fn without_extensions(mut self) -> Self {
        self.parts.extensions.clear();
        self
    }

    /// The URL, without userinfo, fragment and warnings.
    ///
    /// Errors: the first part, in the order of the URL, that cannot be expressed.
    pub fn build(self) -> Result<Z3950Url, BuildError> {
        let parts = self.parts;
        check(&parts)?;
        Ok(Z3950Url {
            parts,
            userinfo: None,
            fragment: None,
            warnings: Vec::new(),
        })
    }
}

/// Why parts do not make a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Ports start at 1.
    #[error("port 0 is out of range: use a number from 1 to 65535")]
    PortOutOfRange,
    /// An empty database name.
    #[error("a database name is empty: leave it out")]
    EmptyDatabase,
    /// A docid without a database (RFC 2056 §3).
    #[error("a docid needs a database to search: name one")]
    DocidWithoutDatabase,
    /// A retrieval URL without a database (RFC 2056 §4).
    #[error("the retrieval URL has no database: name at least one")]
    MissingDatabase,
    /// An empty docid.
    #[error("the docid is empty: leave it out")]
    EmptyDocid,
    /// An empty element set name.
    #[error("the element set name is empty: leave it out")]
    EmptyElementSet,
    /// An empty record syntax.
    #[error("a record syntax is empty: leave it out")]
    EmptyRecordSyntax,
    /// A keyword that is not a letter followed by letters, digits, `.`, `_` and `-`.
    #[error(
        "{:?} is not a valid parameter keyword: use a letter, then letters, digits, `.`, `_`, `-`",
        .0
    )]
    InvalidKeyword(String),
    /// A keyword that RFC 2056 defines.
    #[error("{0} is not an extension: set the element set name or the record syntaxes instead")]
    ReservedKeyword(String),
    /// A control character in what becomes a protocol string.
    #[error("control character {octet:02X} (hex) in {part}: only a docid may hold one")]
    ForbiddenControl {
        /// The part.
        part: StringPart,
        /// 00–1F or 7F hex.
        octet: u8,
    },
    /// A canonical form of more than [`MAX_URL_LENGTH`] octets.
    #[error("the URL has {length} octets: {MAX_URL_LENGTH} are the limit")]
    TooLong {
        /// The octets of the canonical form.
        length: usize,
    },
}

impl BuildError {
    /// A stable name for programs, such as `MissingDatabase`.
    pub fn name(&self) -> &'static str {
        match self {
            BuildError::PortOutOfRange => "PortOutOfRange",
            BuildError::EmptyDatabase => "EmptyDatabase",
            BuildError::DocidWithoutDatabase => "DocidWithoutDatabase",
            BuildError::MissingDatabase => "MissingDatabase",
            BuildError::EmptyDocid => "EmptyDocid",
            BuildError::EmptyElementSet => "EmptyElementSet",
            BuildError::EmptyRecordSyntax => "EmptyRecordSyntax",
            BuildError::InvalidKeyword(_) => "InvalidKeyword",
            BuildError::ReservedKeyword(_) => "ReservedKeyword",
            BuildError::ForbiddenControl { .. } => "ForbiddenControl",
            BuildError::TooLong { .. } => "TooLong",
        }
    }
}

/// The parts that become protocol strings, which have no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StringPart {
    /// A database name.
    Database,
    /// The value of `esn`.
    ElementSet,
    /// An item of `rs`.
    RecordSyntax,
    /// The value of the extension with this keyword.
    Extension(String),
}

impl std::fmt::Display for StringPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StringPart::Database => f.write_str("a database name"),
            StringPart::ElementSet => f.write_str("the element set name"),
            StringPart::RecordSyntax => f.write_str("a record syntax"),
            StringPart::Extension(keyword) => write!(f, "the parameter {keyword}"),
        }
    }
}

fn check(parts: &Parts) -> Result<(), BuildError> {
    if parts.port == 0 {
        return Err(BuildError::PortOutOfRange);
    }
    for name in &parts.databases {
        string(name, BuildError::EmptyDatabase, || StringPart::Database)?;
    }
    match &parts.docid {
        Some(docid) if docid.is_empty() => return Err(BuildError::EmptyDocid),
        Some(_) if parts.databases.is_empty() => return Err(BuildError::DocidWithoutDatabase),
        _ if parts.kind == Kind::Retrieval && parts.databases.is_empty() => {
            return Err(BuildError::MissingDatabase);
        }
        _ => {}
    }
    if let Some(name) = &parts.element_set {
        string(name, BuildError::EmptyElementSet, || StringPart::ElementSet)?;
    }
    for name in &parts.record_syntaxes {
        string(name, BuildError::EmptyRecordSyntax, || {
            StringPart::RecordSyntax
        })?;
    }
    for Extension { keyword, value } in &parts.extensions {
        match keyword.as_str() {
            "esn" | "rs" => return Err(BuildError::ReservedKeyword(keyword.clone())),
            _ if !is_keyword(keyword) => return Err(BuildError::InvalidKeyword(keyword.clone())),
            _ => no_controls(value, || StringPart::Extension(keyword.clone()))?,
        }
    }
    match parts.to_string().len() {
        length if length > MAX_URL_LENGTH => Err(BuildError::TooLong { length }),
        _ => Ok(()),
    }
}

fn string(
    octets: &Octets,
    empty: BuildError,
    part: impl FnOnce() -> StringPart,
) -> Result<(), BuildError> {
    if octets.is_empty() {
        Err(empty)
    } else {
        no_controls(octets, part)
    }
}

fn no_controls(octets: &Octets, part: impl FnOnce() -> StringPart) -> Result<(), BuildError> {
    match octets
        .as_bytes()
        .iter()
        .find(|octet| octet.is_ascii_control())
    {
        Some(&octet) => Err(BuildError::ForbiddenControl {
            part: part(),
            octet,
        }),
        None => Ok(()),
    }
}
