//! Builds or changes a Z39.50 URL (RFC 2056). Parts are escaped as necessary. Only parts that a URL cannot express are
//! refused.

use super::super::encoded::Encoded;
use super::super::error::BuildError;
use super::super::host::Host;
use super::super::octets::Octets;
use super::parse::is_keyword;
use super::{Extension, Kind, Parts, Z3950Url};

/// A builder for [`Z3950Url`], whose [`build`](Self::build) checks the parts.
///
/// Source: RFC 2056 §5. Parsing the result in [`Mode::Lenient`](crate::url::Mode::Lenient) returns an equal URL, and so does
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

    /// Sets whether this is a session or a retrieval URL.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.parts.kind = kind;
        self
    }

    /// Sets the host to connect to.
    pub fn host(mut self, host: Host) -> Self {
        self.parts.host = host;
        self
    }

    /// Sets the port to connect to, from 1 to 65535.
    pub fn port(mut self, port: u16) -> Self {
        self.parts.port = port;
        self
    }

    /// Adds a database, whose name has at least one octet and no control characters.
    pub fn database(mut self, name: impl Into<Octets>) -> Self {
        self.parts.databases.push(name.into());
        self
    }

    /// Replaces the databases.
    pub fn databases<T: Into<Octets>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.parts.databases = names.into_iter().map(T::into).collect();
        self
    }

    /// Sets the docid, which has at least one octet.
    pub fn docid(mut self, docid: impl Into<Octets>) -> Self {
        self.parts.docid = Some(docid.into());
        self
    }

    /// Removes the docid.
    pub fn without_docid(mut self) -> Self {
        self.parts.docid = None;
        self
    }

    /// Sets the element set name, which has at least one octet and no control characters.
    pub fn element_set(mut self, name: impl Into<Octets>) -> Self {
        self.parts.element_set = Some(name.into());
        self
    }

    /// Removes the element set name.
    pub fn without_element_set(mut self) -> Self {
        self.parts.element_set = None;
        self
    }

    /// Adds a record syntax, which is less preferred than the ones added before it. Its name has at least one octet and no
    /// control characters.
    pub fn record_syntax(mut self, name: impl Into<Octets>) -> Self {
        self.parts.record_syntaxes.push(name.into());
        self
    }

    /// Replaces the record syntaxes, most preferred first.
    pub fn record_syntaxes<T: Into<Octets>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.parts.record_syntaxes = names.into_iter().map(T::into).collect();
        self
    }

    /// Adds a parameter that RFC 2056 does not define. The keyword is a letter followed by letters, digits, `.`, `_`
    /// and `-`; its letter case is ignored. The value may be empty, and must not contain control characters.
    pub fn extension(mut self, keyword: impl Into<String>, value: impl Into<Octets>) -> Self {
        let mut keyword = keyword.into();
        keyword.make_ascii_lowercase();
        self.parts.extensions.push(Extension {
            keyword,
            value: Encoded::of_words([value.into()]),
        });
        self
    }

    /// Removes all parameters except `esn` and `rs`.
    pub fn without_extensions(mut self) -> Self {
        self.parts.extensions.clear();
        self
    }

    /// Builds the URL, without userinfo, fragment and warnings.
    ///
    /// # Errors
    /// Fails at the first part, from left to right, that cannot be expressed in a URL.
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

fn check(parts: &Parts) -> Result<(), BuildError> {
    let refuse = |name, message: &str| Err(BuildError::new(name, message));
    if parts.port == 0 {
        return refuse(
            "PortOutOfRange",
            "port 0 is out of range: use a number from 1 to 65535",
        );
    }
    for name in &parts.databases {
        string(name, "EmptyDatabase", "a database name")?;
    }
    // A docid needs a database, and a retrieval URL needs one too (RFC 2056 §3 and §4).
    match &parts.docid {
        Some(docid) if docid.is_empty() => {
            return refuse("EmptyDocid", "the docid is empty: leave it out");
        }
        Some(_) if parts.databases.is_empty() => {
            return refuse(
                "DocidWithoutDatabase",
                "a docid needs a database to search: name one",
            );
        }
        _ if parts.kind == Kind::Retrieval && parts.databases.is_empty() => {
            let message = "the retrieval URL has no database: name at least one";
            return refuse("MissingDatabase", message);
        }
        _ => {}
    }
    if let Some(name) = &parts.element_set {
        string(name, "EmptyElementSet", "the element set name")?;
    }
    for name in &parts.record_syntaxes {
        string(name, "EmptyRecordSyntax", "a record syntax")?;
    }
    for Extension { keyword, value } in &parts.extensions {
        if ["esn", "rs"].contains(&keyword.as_str()) {
            let instead = "set the element set name or the record syntaxes instead";
            let message = format!("{keyword} is not an extension: {instead}");
            return refuse("ReservedKeyword", &message);
        }
        if !is_keyword(keyword) {
            let rule = "use a letter, then letters, digits, `.`, `_`, `-`";
            let message = format!("{keyword:?} is not a valid parameter keyword: {rule}");
            return refuse("InvalidKeyword", &message);
        }
        no_controls(&value.decode(), &format!("the parameter {keyword}"))?;
    }
    BuildError::bounded(&parts.to_string())
}

/// Returns an error for a protocol string that is empty or contains a control character.
fn string(octets: &Octets, if_empty: &'static str, part: &str) -> Result<(), BuildError> {
    if octets.is_empty() {
        Err(BuildError::new(
            if_empty,
            format!("{part} is empty: leave it out"),
        ))
    } else {
        no_controls(octets, part)
    }
}

fn no_controls(octets: &Octets, part: &str) -> Result<(), BuildError> {
    match octets
        .as_bytes()
        .iter()
        .find(|octet| octet.is_ascii_control())
    {
        Some(octet) => Err(BuildError::new(
            "ForbiddenControl",
            format!("control character {octet:02X} (hex) in {part}: only a docid may hold one"),
        )),
        None => Ok(()),
    }
}
