//! Addresses of SRU: `http://host/path`, `https://…`, and `sru:get:http://…` with the method (the base URL of SRU 1.1 §"Base URL").

use z3950_asn1::apdu::DatabaseName;

use super::profile::SruMethod;
use super::{Endpoint, Target, TargetError, malformed, redacted};
use crate::url::{Mode, host_and_port};

/// The ports of HTTP and HTTPS (RFC 9110 §4.2).
const PORTS: [u16; 2] = [80, 443];

/// The parameters of SRU itself, which are no part of an address that was copied from a browser.
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

impl Endpoint {
    /// The server of an `http:` or `https:` URL, and its path with parameters, without the first slash.
    ///
    /// # Errors
    /// Another scheme, user and password, or a malformed host or port.
    pub(crate) fn of_http(url: &str) -> Result<(Self, String), TargetError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let is_secure = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" => true,
            _ => return Err(TargetError::Scheme(redacted(scheme))),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (place, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let named = host_and_port(place, Mode::Lenient).map_err(|error| malformed(url, error));
        let (host, port) = named?;
        let [plain, secure] = PORTS;
        let endpoint = match is_secure {
            true => Self::Https(host, port.unwrap_or(secure)),
            false => Self::Http(host, port.unwrap_or(plain)),
        };
        Ok((endpoint, path.strip_prefix('/').unwrap_or(path).to_owned()))
    }

    /// Whether it is a server of SRU.
    pub fn is_sru(&self) -> bool {
        matches!(self, Self::Http(..) | Self::Https(..))
    }
}

/// The port of SRU with TLS or without.
pub(crate) fn default_port(is_secure: bool) -> u16 {
    let [plain, secure] = PORTS;
    if is_secure { secure } else { plain }
}

/// The target, if the text is an address of SRU: the path is its database.
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
    Some(Endpoint::of_http(url).map(|(endpoint, path)| Target {
        sru_method: method,
        databases: database(&path).into_iter().collect(),
        ..Target::new(endpoint)
    }))
}

fn after<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(scheme.len())?;
    begin.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// A path as the name of a database; parameters that are not of SRU stay.
fn database(path: &str) -> Option<DatabaseName> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let own = query.split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        !name.is_empty() && !PARAMETERS.contains(&&*name.to_ascii_lowercase())
    });
    let own: Vec<&str> = own.collect();
    let name = match own.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", own.join("&")),
    };
    (!name.is_empty()).then(|| name.as_str().into())
}
