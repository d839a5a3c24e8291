//! `prospero` URLs (RFC 1738 §3.11). The lenient mode also accepts a version after `%00`, as in RFC 1630.
//!
//! ```text
//! "prospero://" hostport "/" segment *( "/" segment ) *( ";" field "=" value )
//! ```

use std::fmt;

use super::super::authority::HostPort;
use super::super::common::{self, Content, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::super::span::Span;
use super::{segments, write_data, write_segments};

/// An object in the Prospero directory service. Its name contains no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProsperoUrl {
    hostport: HostPort<{ ProsperoUrl::DEFAULT_PORT }>,
    segments: Vec<Octets>,
    version: Option<Octets>,
    fields: Vec<ProsperoField>,
}

/// A field that the directory link must match, such as `OBJECT-VERSION`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProsperoField {
    name: Octets,
    value: Octets,
}

impl ProsperoField {
    /// Creates a field from its name and value. Both may be empty.
    ///
    /// # Errors
    /// `ForbiddenControl` at the first control character.
    pub fn new(name: impl Into<Octets>, value: impl Into<Octets>) -> Result<Self, UrlError> {
        let (name, value) = (name.into(), value.into());
        common::no_controls(name.as_bytes())?;
        common::no_controls(value.as_bytes())?;
        Ok(ProsperoField { name, value })
    }

    /// Returns the name of the field.
    pub fn name(&self) -> &Octets {
        &self.name
    }

    /// Returns the value of the field.
    pub fn value(&self) -> &Octets {
        &self.value
    }
}

impl ProsperoUrl {
    /// The default port of Prospero.
    pub const DEFAULT_PORT: u16 = 1525;

    /// Creates the URL of an object from its name, in which slashes separate segments, and its fields.
    ///
    /// # Errors
    /// `ForbiddenControl` at the first control character in the name.
    pub fn new(
        hostport: HostPort<{ ProsperoUrl::DEFAULT_PORT }>,
        hsoname: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = ProsperoField>,
    ) -> Result<Self, UrlError> {
        let hsoname = hsoname.as_ref();
        common::no_controls(hsoname)?;
        Ok(ProsperoUrl {
            hostport,
            segments: hsoname
                .split(|&octet| octet == b'/')
                .map(Octets::from)
                .collect(),
            version: None,
            fields: fields.into_iter().collect(),
        })
    }

    /// Returns the host and the port to connect to.
    pub fn hostport(&self) -> &HostPort<{ ProsperoUrl::DEFAULT_PORT }> {
        &self.hostport
    }

    /// Returns the host-specific object name, which is the segments joined by slashes.
    pub fn hsoname(&self) -> Octets {
        let segments: Vec<&[u8]> = self.segments.iter().map(Octets::as_bytes).collect();
        segments.join(&b'/').into()
    }

    /// Returns the version of the object, if the URL is in the RFC 1630 form.
    pub fn version(&self) -> Option<&Octets> {
        self.version.as_ref()
    }

    /// Returns the fields, in the order in which they appear in the URL.
    pub fn fields(&self) -> &[ProsperoField] {
        &self.fields
    }

    /// Parses the text after `prospero:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (hostport, rest) = common::double_slash(rest)?.cut(b"/");
        let hostport = HostPort::parse(hostport, mode)?;
        let path = rest.after(b"/", "add `/` and the object's name")?;
        let content = Content::string(mode);
        let (path, mut rest) = path.cut(b";");
        let (hsoname, version) = match mode {
            Mode::Strict => (path, None),
            Mode::Lenient => at_zero(path),
        };
        let segments = segments(hsoname, content)?;
        let version = version.map(|version| content.decode(version)).transpose()?;
        let mut fields = Vec::new();
        while let Some(field) = rest.strip_prefix(b";") {
            let semicolon = rest;
            let (field, tail) = field.cut(b";");
            let (name, value) = field
                .split_once(b'=')
                .ok_or_else(|| semicolon.fail(UrlErrorKind::MalformedParameter))?;
            fields.push(ProsperoField {
                name: content.decode_with(name, FIELD)?,
                value: content.decode_with(value, FIELD)?,
            });
            rest = tail;
        }
        Ok(ProsperoUrl {
            hostport,
            segments,
            version,
            fields,
        })
    }
}

/// Reserved characters that are data in the names and values of fields (RFC 1738 §5).
const FIELD: &[u8] = b"?:@&";

impl fmt::Display for ProsperoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "prospero://{}", self.hostport)?;
        write_segments(f, &self.segments)?;
        if let Some(version) = &self.version {
            f.write_str("%00")?;
            write_data(f, version, b"")?;
        }
        for ProsperoField { name, value } in &self.fields {
            f.write_str(";")?;
            write_data(f, name, FIELD)?;
            f.write_str("=")?;
            write_data(f, value, FIELD)?;
        }
        Ok(())
    }
}

/// Splits the path at the first escaped NUL octet (`%00`).
fn at_zero(path: Span<'_>) -> (Span<'_>, Option<Span<'_>>) {
    match path.octets().windows(3).position(|window| window == b"%00") {
        Some(index) => {
            let (name, rest) = path.split_at(index);
            (name, rest.strip_prefix(b"%00"))
        }
        None => (path, None),
    }
}
