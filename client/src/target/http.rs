//! SRU addresses: `http://host/path`, `https://…`, and `sru:get:http://…`, which includes the method. The address is
//! the base URL as defined in SRU 1.1, "Base URL".

use z3950_asn1::apdu::DatabaseName;

use super::profile::SruMethod;
use super::{Endpoint, Target, TargetError, malformed, redacted, sru_port};
use crate::url::{Mode, Userinfo, host_and_port, userinfo};

/// The parameters that SRU defines for requests, which cannot be part of an address. Other parameters are allowed,
/// because some servers have them in their base URL.
const PARAMETERS: &[&str] = &[
    "version",
    "operation",
    "query",
    "querytype",
    "startrecord",
    "maximumrecords",
    "recordpacking",
    "recordxmlescaping",
    "recordschema",
    "recordxpath",
    "resultsetttl",
    "sortkeys",
    "stylesheet",
    "renderedby",
    "httpaccept",
    "responsetype",
    "facetlimit",
    "facetstart",
    "facetsort",
    "scanclause",
    "responseposition",
    "maximumterms",
    "x-username",
    "x-password",
    "x-pquery",
];

/// The parts of an `http:` or `https:` URL.
pub(crate) struct HttpUrl<'a> {
    pub(crate) endpoint: Endpoint,
    pub(crate) userinfo: Option<Userinfo>,
    /// The path, without its first slash.
    pub(crate) path: &'a str,
    /// The text after the question mark. It may be empty.
    pub(crate) query: &'a str,
    pub(crate) has_fragment: bool,
}

impl<'a> HttpUrl<'a> {
    /// Splits an `http:` or `https:` URL into its parts (RFC 3986 §3).
    ///
    /// # Errors
    /// Fails if the scheme is different, or if the user name, password, host or port is malformed.
    pub(crate) fn parse(url: &'a str) -> Result<Self, TargetError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let is_secure = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" => true,
            _ => return Err(TargetError::Scheme(redacted(scheme))),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let error = |error| malformed(url, error);
        let userinfo = login.map(userinfo).transpose().map_err(error)?;
        let (host, port) = host_and_port(place, Mode::Lenient).map_err(error)?;
        let port = port.unwrap_or(sru_port(is_secure));
        let endpoint = if is_secure {
            Endpoint::Https(host, port)
        } else {
            Endpoint::Http(host, port)
        };
        let (rest, has_fragment) = match rest.split_once('#') {
            Some((rest, _)) => (rest, true),
            None => (rest, false),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(Self {
            endpoint,
            userinfo,
            path: path.strip_prefix('/').unwrap_or(path),
            query,
            has_fragment,
        })
    }

    /// Returns the name of the database: the path, followed by the parameters whose names `keeps` accepts.
    fn database(&self, keeps: impl Fn(&str) -> bool) -> Option<DatabaseName> {
        let kept = self.parameters().filter(|(name, _)| keeps(name));
        let kept: Vec<&str> = kept.map(|(_, pair)| pair).collect();
        let name = if kept.is_empty() {
            self.path.to_owned()
        } else {
            format!("{}?{}", self.path, kept.join("&"))
        };
        (!name.is_empty()).then(|| name.as_str().into())
    }

    /// Returns the name and the complete text of each parameter.
    fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| (pair.split('=').next().unwrap_or_default(), pair))
    }
}

impl Endpoint {
    /// Returns whether this is the address of an SRU server.
    pub fn is_sru(&self) -> bool {
        matches!(self, Self::Http(..) | Self::Https(..))
    }
}

/// Returns the target for an SRU address, whose path is the database. Returns `None` for any other text.
pub(super) fn target(text: &str) -> Option<Result<Target, TargetError>> {
    let mut method = None;
    let mut url = text;
    if let Some(rest) = after(text, "sru:") {
        url = rest;
        if let Some((name, rest)) = rest.split_once(':')
            && let Ok(named) = name.parse::<SruMethod>()
        {
            method = Some(named);
            url = rest;
        }
    } else if after(text, "http:")
        .or_else(|| after(text, "https:"))
        .is_none()
    {
        return None;
    }
    if !url.contains("://") {
        return Some(Err(TargetError::NoUrl));
    }
    Some(HttpUrl::parse(url).and_then(|url| read(&url, method)))
}

/// Returns the target for a URL, whose path and parameters give the name of the database.
fn read(url: &HttpUrl<'_>, sru_method: Option<SruMethod>) -> Result<Target, TargetError> {
    let is_own = |name: &str| !PARAMETERS.contains(&&*name.to_ascii_lowercase());
    let target = Target {
        sru_method,
        userinfo: url.userinfo.clone(),
        databases: url.database(is_own).into_iter().collect(),
        ..Target::new(url.endpoint.clone())
    };
    if url.has_fragment {
        return Err(TargetError::Fragment(target.to_string()));
    }
    let names = url.parameters().map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| !is_own(name)).collect();
    if names.is_empty() {
        Ok(target)
    } else {
        Err(TargetError::Parameters {
            names: names.join(", "),
            address: target.to_string(),
        })
    }
}

fn after<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(scheme.len())?;
    begin.eq_ignore_ascii_case(scheme).then_some(rest)
}
