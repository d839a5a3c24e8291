//! Targets as users write them: YAZ's host forms (`lib.example:2100/books+maps`, `tcp:`, `ssl:`, `unix:`, `connect:`),
//! session URLs (RFC 2056 §3), and SRU URLs. A target consists of a server and its databases.

pub mod adapt;
pub(crate) mod http;
pub mod profile;

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use z3950_asn1::apdu::DatabaseName;

use self::profile::SruMethod;
use crate::url::{
    self, DEFAULT_PORT, Host, Mode, UrlError, Userinfo, Z3950Url, generic, host_and_port,
};

/// A server, and the databases to search, if they are given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Target {
    /// The address of the server.
    pub endpoint: Endpoint,
    /// The HTTP proxy in a `connect:` target, as `[user:password@]host[:port]`.
    pub proxy: Option<String>,
    /// The databases in the order given. The list may be empty. An SRU server has a single database, whose name is the
    /// path of the URL.
    pub databases: Vec<DatabaseName>,
    /// How to send SRU requests, if the target specifies it.
    pub sru_method: Option<SruMethod>,
    /// The user name and password in a URL. They are sent only if the user allows it.
    pub userinfo: Option<Userinfo>,
    /// The URL in which the target was given, if it is an RFC 2056 URL. It may also name a record and its form.
    pub url: Option<Z3950Url>,
}

impl Target {
    /// Creates a target without a proxy or databases.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            proxy: None,
            databases: Vec::new(),
            sru_method: None,
            userinfo: None,
            url: None,
        }
    }
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Z39.50 over plain TCP.
    Tcp(Host, u16),
    /// Z39.50 over TLS.
    Tls(Host, u16),
    /// Z39.50 over a Unix socket.
    Unix(PathBuf),
    /// SRU over HTTP.
    Http(Host, u16),
    /// SRU over HTTPS.
    Https(Host, u16),
}

impl Endpoint {
    /// Returns the host, or `127.0.0.1` for a Unix socket.
    pub fn host(&self) -> Host {
        match self {
            Self::Tcp(host, _)
            | Self::Tls(host, _)
            | Self::Http(host, _)
            | Self::Https(host, _) => host.clone(),
            Self::Unix(_) => Host::Ipv4(Ipv4Addr::LOCALHOST),
        }
    }

    /// Returns the port, or the default port of Z39.50 for a Unix socket.
    pub fn port(&self) -> u16 {
        match self {
            Self::Tcp(_, port)
            | Self::Tls(_, port)
            | Self::Http(_, port)
            | Self::Https(_, port) => *port,
            Self::Unix(_) => DEFAULT_PORT,
        }
    }
}

/// Returns the default port of SRU with or without TLS (RFC 9110 §4.2).
fn sru_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

impl fmt::Display for Endpoint {
    /// Writes the address in YAZ's notation: `lib.example:210`, `ssl:lib.example:210`, `unix:/run/z`,
    /// `http://lib.example`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Tls(host, port) => write!(f, "ssl:{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Http(host, 80) => write!(f, "http://{host}"),
            Self::Http(host, port) => write!(f, "http://{host}:{port}"),
            Self::Https(host, 443) => write!(f, "https://{host}"),
            Self::Https(host, port) => write!(f, "https://{host}:{port}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)?;
        let separator = match self.endpoint {
            Endpoint::Unix(_) => ':',
            _ => '/',
        };
        for (index, database) in self.databases.iter().enumerate() {
            let before = if index == 0 { separator } else { '+' };
            write!(f, "{before}{}", database.0.to_string_lossy())?;
        }
        Ok(())
    }
}

/// The error for a malformed target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is empty.
    #[error("the target is empty")]
    Empty,
    /// The host, the port or the URL is malformed.
    #[error("{text} is not a target")]
    #[non_exhaustive]
    Malformed {
        /// The malformed text.
        text: String,
        /// The fault and its offset in the text.
        #[source]
        error: UrlError,
    },
    /// The scheme belongs to another protocol.
    #[error(
        "{0}: is not a scheme of targets: they begin with z39.50s://, tcp:, ssl:, unix:, http:// or https://, or with a host"
    )]
    Scheme(String),
    /// `tcp:` or `ssl:` is followed by slashes.
    #[error("write {0} without the slashes after the colon")]
    Slashes(String),
    /// A URL was given where a host is expected.
    #[error("give the host alone, with or without a port, in place of {0}")]
    UrlForHost(String),
    /// `sru:` is followed by text that is not a URL.
    #[error("an address of SRU is written http://host/database, or sru:post:http://host/database")]
    NoUrl,
    /// An SRU URL contains the parameters of a request.
    #[error(
        "write {address}, without {names}: these belong to a request; a command takes the query, a profile the version, the method and the schema"
    )]
    Parameters {
        /// The names of the parameters.
        names: String,
        /// The URL without its parameters, user name and password.
        address: String,
    },
    /// An SRU URL has a fragment. The value is the URL without its fragment, user name and password.
    #[error("write {0}, without the part after #, which is never sent")]
    Fragment(String),
    /// The URL has a docid, but a record is not a target. The value is the URL without its user name and password.
    #[error(
        "{0} names a record: get retrieves it, open opens its session, and connect takes a URL without a docid"
    )]
    Record(String),
    /// The URL has a user name or a password, which must be sent only if the user allows it. The value is the URL
    /// without them.
    #[error(
        "the user and password in {0} are not sent; give them by Client::builder().credentials, connect_with or a profile, or set allow_url_credentials"
    )]
    Credentials(String),
    /// `connect:` is not followed by a comma and a target.
    #[error("a connect: target is written connect:proxy:port,target")]
    NoTarget,
}

impl FromStr for Target {
    type Err = TargetError;

    /// Parses a target.
    ///
    /// The default port is 210. `@` means localhost, and `+` separates databases. The docid in a URL is available only
    /// in [`url`](Self::url).
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if url::classify(text).is_some() {
            return of_url(text);
        }
        if let Some(target) = http::target(text) {
            return target;
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if SCHEMES.contains(&scheme) => (scheme, rest),
            _ => match text.split_once("://") {
                Some((scheme, _)) => return Err(TargetError::Scheme(redacted(scheme))),
                None => ("tcp", text),
            },
        };
        match scheme {
            "connect" => {
                let (proxy, target) = rest.split_once(',').ok_or(TargetError::NoTarget)?;
                let target: Self = target.parse()?;
                let proxy = Some(proxy.to_owned());
                Ok(Self { proxy, ..target })
            }
            "unix" => Ok(unix(rest)),
            _ if rest.starts_with("//") => Err(TargetError::Slashes(redacted(text))),
            "ssl" | "tls" => internet(text, rest, Endpoint::Tls),
            _ => internet(text, rest, Endpoint::Tcp),
        }
    }
}

/// The words before a colon that are known as schemes, and therefore are not hosts.
const SCHEMES: &[&str] = &[
    "tcp", "ssl", "tls", "unix", "connect", "http", "https", "sru",
];

fn of_url(text: &str) -> Result<Target, TargetError> {
    let url = Z3950Url::parse(text, Mode::Lenient).map_err(|error| malformed(text, error))?;
    let target = Target::new(Endpoint::Tcp(url.host().clone(), url.port()));
    Ok(Target {
        databases: databases_of(&url),
        userinfo: url.userinfo().cloned(),
        url: Some(url),
        ..target
    })
}

/// Returns the databases in a URL.
pub fn databases_of(url: &Z3950Url) -> Vec<DatabaseName> {
    let names = url.databases().iter();
    names
        .map(|name| DatabaseName::from(name.as_bytes()))
        .collect()
}

fn internet(
    text: &str,
    rest: &str,
    endpoint: fn(Host, u16) -> Endpoint,
) -> Result<Target, TargetError> {
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let place = match place.strip_prefix('@') {
        Some(port) => format!("localhost{port}"),
        None => place.to_owned(),
    };
    let (host, port) =
        host_and_port(place, Mode::Lenient).map_err(|error| malformed(text, error))?;
    Ok(Target {
        databases: databases(path),
        ..Target::new(endpoint(host, port.unwrap_or(DEFAULT_PORT)))
    })
}

/// Parses the text after `unix:`, which is a path without colons, followed by databases.
fn unix(rest: &str) -> Target {
    let (path, names) = rest.split_once(':').unwrap_or((rest, ""));
    Target {
        databases: databases(names),
        ..Target::new(Endpoint::Unix(path.into()))
    }
}

/// Splits a list of databases at plus signs.
fn databases(names: &str) -> Vec<DatabaseName> {
    let names = names.split('+').filter(|name| !name.is_empty());
    names.map(DatabaseName::from).collect()
}

pub(crate) fn malformed(text: &str, error: UrlError) -> TargetError {
    TargetError::Malformed {
        text: redacted(text),
        error,
    }
}

/// Hides the user name and password in a target or URL, which may be malformed, so that it can be shown in messages.
/// When in doubt, this function hides too much rather than too little: all text from the start, or from the end of the
/// scheme, to an `@` after a colon. This text is kept only if the `@` follows a `?`, which begins a docid, and the text
/// before it is a complete URL.
pub fn redacted(text: &str) -> String {
    if !text.contains('@') {
        return text.to_owned();
    }
    if let Some((proxy, target)) = text
        .strip_prefix("connect:")
        .and_then(|rest| rest.split_once(','))
    {
        return format!("connect:{},{}", redacted(proxy), redacted(target));
    }
    let (scheme, rest) = text.split_at(secrets_begin(text));
    let is_address = scheme
        .split_once(':')
        .is_some_and(|(name, behind)| behind.is_empty() && generic::names_addresses(name));
    // A path and the databases after it may contain an `@`, so nothing is redacted.
    if is_address || scheme == "unix:" && (rest.starts_with(['/', '.']) || !rest.contains(':')) {
        return text.to_owned();
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let is_port = |text: &str| {
        text.bytes()
            .all(|octet| octet.is_ascii_digit() || octet == b']')
    };
    // After the complete address of a server, an `@` is part of a database name, so nothing is redacted.
    let host = authority
        .rsplit_once(':')
        .map(|(host, port)| (host, port.parse::<u16>()));
    if let Some((host, Ok(_))) = host
        && (host.contains('.') || host.starts_with('[') || host == "localhost")
        && !authority.contains('@')
    {
        return text.to_owned();
    }
    let is_place = authority
        .rsplit_once(':')
        .is_none_or(|(_, port)| is_port(port));
    let before_docid = if authority.contains('@') || is_place {
        let behind = rest.get(authority.len()..).unwrap_or_default();
        authority.len() + behind.find('?').unwrap_or(behind.len())
    } else {
        // A slash or a question mark may be part of an unescaped password, so the whole text is searched for an `@`.
        rest.len()
    };
    let has_slashes = scheme.ends_with(['/', '\\']);
    let at = rest.get(..before_docid).and_then(|rest| rest.rfind('@'));
    let at = at.filter(|at| {
        let before = rest.get(..*at).unwrap_or_default();
        authority.contains('@') || before.contains(':') || !has_slashes
    });
    // `@:2100` means localhost and does not contain a user name.
    match at.filter(|at| *at > 0).and_then(|at| rest.get(at..)) {
        Some(place) => format!("{scheme}<redacted>{place}"),
        None => text.to_owned(),
    }
}

/// Returns the offset at which user name and password may begin: after the scheme and any number of slashes or
/// backslashes. If the word before a colon is not a known scheme, it may be a user name.
fn secrets_begin(text: &str) -> usize {
    let is_slash = ['/', '\\'];
    let name = match text.split_once("://") {
        // The scheme may follow a prefix, as in `<URL:z39.50r`.
        Some((before, _))
            if !before.contains('@') && before.to_ascii_lowercase().contains("url:") =>
        {
            before
        }
        _ => text.split(':').next().unwrap_or_default(),
    };
    let Some(behind) = text
        .get(name.len()..)
        .and_then(|rest| rest.strip_prefix(':'))
    else {
        // The colon is missing, as in `z39.50r//`.
        let slashes = text.find("//").map(|at| at + 2);
        return slashes.unwrap_or_default();
    };
    let part = behind.trim_start_matches(is_slash);
    let is_known = || {
        let known = SCHEMES.iter().chain(&["z39.50r", "z39.50s", "gopher"]);
        known
            .into_iter()
            .any(|known| name.eq_ignore_ascii_case(known))
            || generic::names_addresses(name)
    };
    // The slash after `unix:` belongs to the path.
    if name == "unix" {
        return "unix:".len();
    }
    if part.len() < behind.len() || is_known() {
        text.len() - part.len()
    } else {
        // The colon is missing, as in `z39.50r//ann:pw@h`.
        name.find("//").map_or(0, |slashes| slashes + 2)
    }
}

#[cfg(test)]
mod tests;
