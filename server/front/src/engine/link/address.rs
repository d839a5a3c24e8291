//! The addresses of the servers in a cluster, and the credentials and certificates for connections to them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use z3950::Pem;

/// The URL of an index in a cluster: `http://HOST:PORT/INDEX` or `https://HOST:PORT/INDEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAddress {
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// The host: a name, or an IPv4 or IPv6 address.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// The name of the index, or of an alias.
    pub index: String,
}

/// The reason why a string is not the address of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterAddressError {
    /// The string does not have the form of an address.
    #[error("expected an address such as http://127.0.0.1:9200/books")]
    Malformed,
    /// The name of the index is not valid.
    #[error(
        "an index has a name of up to 200 small letters, digits, - and _, and begins with a letter or digit"
    )]
    Index,
    /// The path of an index that belongs to another program is not valid.
    #[error(
        "an index of another program is a path of letters, digits, points, - and _, such as koha_biblios or solr/biblio"
    )]
    Path,
    /// The address belongs to a database in Sphinx Search.
    #[error(
        "databases in Sphinx Search are no longer served: create an index in OpenSearch with z3950d engine-create, name it here, such as \
         http://127.0.0.1:9200/books, and load the MARC files anew with z3950d load"
    )]
    Sphinx,
    /// The address contains a name and password.
    #[error("a name and password belong in the file of credentials, not in an address")]
    Credentials,
}

impl ClusterAddress {
    /// Returns whether both addresses refer to the same server, judging by the names alone.
    pub fn is_same_server(&self, other: &Self) -> bool {
        is_same_machine(&self.host, &other.host) && self.port == other.port
    }

    /// Returns whether third parties could read the traffic, because it leaves this machine unencrypted.
    pub fn is_exposed(&self) -> bool {
        let is_own = match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        };
        !self.is_secure && !is_own
    }
}

impl ClusterAddress {
    /// Parses the address of an index that belongs to another program: `http://HOST:PORT/INDEX`, where the index may have several
    /// path segments, as in `/solr/biblio`.
    ///
    /// # Errors
    /// See [`ClusterAddressError`].
    pub fn of_catalogue(text: &str) -> Result<Self, ClusterAddressError> {
        let address = Self::read(text)?;
        if is_path(&address.index) {
            Ok(address)
        } else {
            Err(ClusterAddressError::Path)
        }
    }

    /// Parses an address without checking the name of the index.
    fn read(text: &str) -> Result<Self, ClusterAddressError> {
        if text.starts_with("sphinxql:") {
            return Err(ClusterAddressError::Sphinx);
        }
        let plain = text.strip_prefix("http://").map(|rest| (false, rest));
        let secure = || text.strip_prefix("https://").map(|rest| (true, rest));
        let (is_secure, rest) = plain
            .or_else(secure)
            .ok_or(ClusterAddressError::Malformed)?;
        let (place, index) = rest.split_once('/').ok_or(ClusterAddressError::Malformed)?;
        if place.contains('@') {
            return Err(ClusterAddressError::Credentials);
        }
        let (host, port) = host_and_port(place).ok_or(ClusterAddressError::Malformed)?;
        Ok(Self {
            is_secure,
            host,
            port,
            index: index.to_owned(),
        })
    }
}

impl FromStr for ClusterAddress {
    type Err = ClusterAddressError;

    fn from_str(text: &str) -> Result<Self, ClusterAddressError> {
        let address = Self::read(text)?;
        if is_index(&address.index) {
            Ok(address)
        } else {
            Err(ClusterAddressError::Index)
        }
    }
}

impl fmt::Display for ClusterAddress {
    /// Writes the server, without the index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Returns whether two hosts are the same, judging by the names alone.
fn is_same_machine(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|host| {
        if host.eq_ignore_ascii_case("localhost") {
            "127.0.0.1"
        } else {
            host
        }
    });
    one.eq_ignore_ascii_case(other)
}

/// Returns the host and port in a string; an IPv6 address is in brackets.
fn host_and_port(place: &str) -> Option<(String, u16)> {
    let (host, port) = place.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    let is_host =
        |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c) || inner.is_some() && c == ':';
    (!host.is_empty() && host.chars().all(is_host)).then(|| (host.to_owned(), port))
}

/// Returns whether a string can be the name of an index. The engine allows more, and refuses names that begin with `-` or `_`.
fn is_index(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    name.len() <= 200
        && name.chars().all(is_part)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns whether a string can be the path of an index or core that belongs to another program.
fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(is_name)
    };
    path.len() <= 200 && path.split('/').all(is_part)
}

/// The credentials for the servers of a cluster, and the certificates to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The certificates that are trusted for `https://`, in addition to the system's.
    pub ca: Option<Pem>,
    /// The credentials of this client.
    pub credentials: Option<ClusterCredentials>,
}

/// A name and password (RFC 7617), or an API key, as the value of the Authorization header.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterCredentials(HeaderValue);

/// The error for text that is not valid as the contents of a credentials file. It does not contain the text, which is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one line: NAME:PASSWORD, or ApiKey and the key")]
pub struct ClusterCredentialsError;

impl FromStr for ClusterCredentials {
    type Err = ClusterCredentialsError;

    /// Parses the contents of a credentials file: one line, `NAME:PASSWORD` or `ApiKey KEY`.
    fn from_str(text: &str) -> Result<Self, ClusterCredentialsError> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let value = match line.strip_prefix("ApiKey ") {
            Some(key) if !key.trim().is_empty() => format!("ApiKey {}", key.trim()),
            None if line.contains(':') && !line.contains(char::is_control) => {
                format!("Basic {}", STANDARD.encode(line))
            }
            _ => return Err(ClusterCredentialsError),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| ClusterCredentialsError)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl ClusterCredentials {
    /// Returns the value of the Authorization header.
    pub(super) fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl fmt::Debug for ClusterCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            ("http://127.0.0.1:9200/books", Ok((false, "127.0.0.1:9200"))),
            ("https://[::1]:9200/b-2_x", Ok((true, "[::1]:9200"))),
            (
                "http://node.example.org:1/0",
                Ok((false, "node.example.org:1")),
            ),
            ("127.0.0.1:9200/books", Err(ClusterAddressError::Malformed)),
            (
                "sphinxql://127.0.0.1:9306/books",
                Err(ClusterAddressError::Sphinx),
            ),
            (
                "http://127.0.0.1/books",
                Err(ClusterAddressError::Malformed),
            ),
            ("http://127.0.0.1:9200", Err(ClusterAddressError::Malformed)),
            (
                "http://127.0.0.1:0/books",
                Err(ClusterAddressError::Malformed),
            ),
            (
                "http://a:b@127.0.0.1:9200/books",
                Err(ClusterAddressError::Credentials),
            ),
            ("http://127.0.0.1:9200/", Err(ClusterAddressError::Index)),
            (
                "http://127.0.0.1:9200/_all",
                Err(ClusterAddressError::Index),
            ),
            (
                "http://127.0.0.1:9200/Books",
                Err(ClusterAddressError::Index),
            ),
            ("http://127.0.0.1:9200/a,b", Err(ClusterAddressError::Index)),
            ("http://127.0.0.1:9200/a/b", Err(ClusterAddressError::Index)),
            ("http://127.0.0.1:9200/a?b", Err(ClusterAddressError::Index)),
        ] {
            let read = text.parse::<ClusterAddress>();
            let read = read.map(|address| (address.is_secure, address.to_string()));
            let expected = expected.map(|(is_secure, place)| (is_secure, place.to_owned()));
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn audit_r_l1_addresses_that_others_can_listen_to_are_known() {
        for (text, is_exposed) in [
            ("http://127.0.0.1:1/b", false),
            ("http://127.1.2.3:1/b", false),
            ("http://[::1]:1/b", false),
            ("http://LOCALHOST:1/b", false),
            ("https://node.example.org:1/b", false),
            ("http://node.example.org:1/b", true),
            ("http://10.0.0.1:1/b", true),
            ("http://[fe80::1]:1/b", true),
        ] {
            let address: ClusterAddress = text.parse().expect(text);
            assert_eq!(address.is_exposed(), is_exposed, "{text}");
        }
    }

    #[test]
    fn addresses_of_other_programs_are_read() {
        for (text, expected) in [
            ("http://127.0.0.1:9200/koha_biblios", Ok("koha_biblios")),
            ("https://solr:8983/solr/Biblio.2", Ok("solr/Biblio.2")),
            ("http://a:1/", Err(ClusterAddressError::Path)),
            ("http://a:1/a//b", Err(ClusterAddressError::Path)),
            ("http://a:1/a/../b", Err(ClusterAddressError::Path)),
            ("http://a:1/_all", Err(ClusterAddressError::Path)),
            ("http://a:1/a,b", Err(ClusterAddressError::Path)),
            ("http://a:1/a?b", Err(ClusterAddressError::Path)),
            ("http://a:1/a%2fb", Err(ClusterAddressError::Path)),
            ("http://x:y@a:1/b", Err(ClusterAddressError::Credentials)),
        ] {
            let read = ClusterAddress::of_catalogue(text).map(|address| address.index);
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        for (text, expected) in [
            ("a:b c\n", Some("Basic YTpiIGM=")),
            ("a:b", Some("Basic YTpi")),
            ("ApiKey eHg6eXk=\r\n", Some("ApiKey eHg6eXk=")),
            ("", None),
            ("ApiKey ", None),
            ("ApiKey a\nb", None),
            ("name", None),
            ("a:b\nc:d\n", None),
        ] {
            let read = text.parse::<ClusterCredentials>();
            let shown = format!("{read:?}");
            assert!(
                !shown.contains("YTpi") && !shown.contains("eHg6"),
                "{shown}"
            );
            let value = read.ok();
            let value = value.as_ref().and_then(|read| read.header().to_str().ok());
            assert_eq!(value, expected, "{text:?}");
        }
    }
}
