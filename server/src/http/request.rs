//! Interprets the head of a request: the database, and the place of the SRU request (RFC 9110 §9, §8.3; SRU 1.1 and 1.2, "SRU via
//! HTTP GET", "via POST", "via SOAP").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap,
    HeaderName, ORIGIN, USER_AGENT, VIA,
};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Uri};
use hyper::{Method, StatusCode, Version};
use z3950_asn1::sru::SruLogin;
use z3950_asn1::via::Via;

/// The part of an HTTP request that carries the SRU request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The query string of the URL.
    Url,
    /// A form in the body.
    Form,
    /// A SOAP envelope in the body.
    Soap,
    /// No part, because the request is for another handler.
    Web,
    /// No part, because this is an OPTIONS request.
    Nothing,
}

/// The contents of the head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// The decoded path without leading and trailing slashes; empty if the request is not for SRU.
    pub(super) database: String,
    pub(super) carrier: Carrier,
    /// The host and port by which the client addresses the server.
    pub(super) authority: (String, Option<u16>),
    pub(super) login: Option<SruLogin>,
    /// The value of Content-Length; `None` if the request has no such header.
    pub(super) length: Option<u64>,
    /// Whether the request was sent by a page in a browser.
    pub(super) is_of_page: bool,
    /// The servers that have passed on the request.
    pub(super) via: Via,
    /// The value of the User-Agent header.
    pub(super) user_agent: String,
}

/// The reason for refusing a request before its body is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) words: String,
    /// Whether the client uses SOAP, in which case the answer must be a SOAP fault.
    pub(super) is_of_soap: bool,
}

impl Problem {
    pub(super) fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self {
            status,
            words: words.into(),
            is_of_soap: false,
        }
    }

    fn bad(words: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, words)
    }
}

/// The supported methods.
pub(super) const METHODS: &str = "GET, HEAD, POST, OPTIONS";

/// Reads the head of a request. `octets` is the head exactly as the client sent it, or empty if it is not known. `is_web` tells
/// whether the request is for a handler other than SRU.
pub(super) fn read(head: &Parts, octets: &[u8], is_web: bool) -> Result<Heading, Problem> {
    let carrier = match carrier(head) {
        Ok(Carrier::Nothing) => Carrier::Nothing,
        Err(problem) if problem.status == StatusCode::METHOD_NOT_ALLOWED => return Err(problem),
        _ if is_web => Carrier::Web,
        carrier => carrier?,
    };
    if other_value(&head.headers, EXPECT, "100-continue") {
        let words = "the only expectation that is met is 100-continue";
        return Err(Problem::new(StatusCode::EXPECTATION_FAILED, words));
    }
    let length = head.headers.get(CONTENT_LENGTH);
    if head.headers.contains_key(hyper::header::TRANSFER_ENCODING) {
        if length.is_some() || names_length(octets) {
            return Err(Problem::bad("Content-Length with Transfer-Encoding"));
        }
        // hyper drops a Content-Length next to a Transfer-Encoding, so it can only be found in the raw octets, which are missing
        // here.
        if octets.is_empty() {
            let words = "Transfer-Encoding in a request that is sent before the answer to another";
            return Err(Problem::bad(words));
        }
    }
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut hosts = head.headers.get_all(HOST).iter();
    let host = hosts.next();
    if (host.is_none() && head.version >= Version::HTTP_11) || hosts.next().is_some() {
        return Err(Problem::bad("exactly one Host is required"));
    }
    let of_url = if is_web {
        // The URL may be meant for a gateway and name another host, so only the Host field counts.
        None
    } else {
        head.uri.authority()
    };
    let authority = match (of_url, host) {
        (Some(authority), _) => host_and_port(authority.as_str()),
        (None, Some(host)) => host.to_str().ok().and_then(host_and_port),
        (None, None) => Some(("localhost".to_owned(), None)),
    };
    let authority = authority.ok_or_else(|| Problem::bad("the Host is not a host and port"))?;
    if is_web && is_of_other_site(&head.headers, &authority) {
        let words = "requests by the pages of other sites are refused";
        return Err(Problem::new(StatusCode::FORBIDDEN, words));
    }
    Ok(Heading {
        database: if is_web {
            String::new()
        } else {
            database(head.uri.path())?
        },
        carrier,
        authority,
        login: login(&head.headers)?,
        length,
        is_of_page: head.headers.contains_key(ORIGIN),
        via: via(&head.headers),
        user_agent: user_agent(&head.headers),
    })
}

/// Returns the reason why this server, which only supports HTTP with or without TLS, does not accept a request target (RFC 9110
/// §7.4); `None` if it accepts the target. `is_web` tells whether a gateway handles the request.
pub(super) fn foreign(target: &Uri, is_encrypted: bool, is_web: bool) -> Option<Problem> {
    let scheme = target.scheme_str()?;
    let is_foreign = match scheme {
        "http" => false,
        "https" => !is_encrypted,
        _ => !is_web,
    };
    is_foreign.then(|| Problem::bad(format!("{scheme}: is not carried out here")))
}

/// Parses a value of the Host header (RFC 9110 §7.2); `None` if it is malformed, or has a user or a port above 65535.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let port = match text.strip_prefix(host)?.strip_prefix(':') {
        None if text.len() > host.len() => return None,
        None | Some("") => None,
        Some(port) => Some(port.parse().ok()?),
    };
    Some((host.to_owned(), port))
}

/// Returns whether the request was made by a script from another site (RFC 6454 §7.2).
fn is_of_other_site(headers: &HeaderMap, (host, port): &(String, Option<u16>)) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return false;
    };
    let origin = origin
        .to_str()
        .ok()
        .and_then(|it| it.split_once("://"))
        .and_then(|(_, authority)| host_and_port(authority));
    origin.is_none_or(|(of_host, of_port)| !of_host.eq_ignore_ascii_case(host) || of_port != *port)
}

fn carrier(head: &Parts) -> Result<Carrier, Problem> {
    match head.method {
        Method::GET | Method::HEAD => Ok(Carrier::Url),
        Method::OPTIONS => Ok(Carrier::Nothing),
        Method::POST => {
            let kind = head.headers.get(CONTENT_TYPE);
            let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
            if other_value(&head.headers, CONTENT_ENCODING, "identity") {
                return Err(Problem::new(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "bodies with a Content-Encoding are not read",
                ));
            }
            match kind.trim().to_ascii_lowercase().as_str() {
                "application/x-www-form-urlencoded" if !is_utf8(parameters) => Err(Problem::new(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "the character set of forms is UTF-8",
                )),
                "application/x-www-form-urlencoded" => Ok(Carrier::Form),
                "text/xml" | "application/xml" | "application/soap+xml" | "text/plain" => {
                    Ok(Carrier::Soap)
                }
                _ => Err(Problem::new(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "a form (application/x-www-form-urlencoded) or SOAP (text/xml) is expected",
                )),
            }
        }
        _ => Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("the methods are {METHODS}"),
        )),
    }
}

/// Returns whether a header has a value other than the supported one.
fn other_value(headers: &HeaderMap, name: HeaderName, known: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.any(|value| !value.as_bytes().eq_ignore_ascii_case(known.as_bytes()))
}

/// Returns whether the parameters of a media type are compatible with UTF-8; US-ASCII is a subset of it.
fn is_utf8(parameters: &str) -> bool {
    parameters.split(';').all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        let known = ["utf-8", "utf8", "us-ascii"];
        !name.trim().eq_ignore_ascii_case("charset")
            || known.iter().any(|known| value.eq_ignore_ascii_case(known))
    })
}

/// Returns whether the head has a Content-Length. The raw octets are searched, because hyper drops the header if there is also a
/// transfer coding.
fn names_length(octets: &[u8]) -> bool {
    let is_empty = |line: &&[u8]| matches!(line, [] | [b'\r']);
    let mut lines = octets
        .split(|octet| *octet == b'\n')
        .skip_while(is_empty)
        .take_while(|line| !is_empty(line));
    let name = CONTENT_LENGTH.as_str().as_bytes();
    lines.any(|line| {
        let start = line.get(..name.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(name)
    })
}

/// Returns the database named by a path.
fn database(path: &str) -> Result<String, Problem> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut octets = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let value = high.zip(low).map(|(high, low)| high << 4 | low);
                let value = value.and_then(|value| u8::try_from(value).ok());
                value.ok_or_else(|| {
                    Problem::bad("% in the path is not followed by two hexadecimal digits")
                })?
            }
            octet => octet,
        });
    }
    match String::from_utf8(octets) {
        Ok(name) if !name.contains(char::is_control) => Ok(name),
        Ok(_) => Err(Problem::bad("the path has a control character")),
        Err(_) => Err(Problem::bad("the path is not UTF-8")),
    }
}

/// Returns the servers that have passed on a request (RFC 9110 §7.6.3).
fn via(headers: &HeaderMap) -> Via {
    let values = headers.get_all(VIA).iter();
    Via::of_header(values.filter_map(|value| value.to_str().ok()))
}

fn user_agent(headers: &HeaderMap) -> String {
    let value = headers.get(USER_AGENT);
    let value = value.and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// Returns the credentials of Basic authentication (RFC 7617). Credentials for other schemes are refused with status 401.
fn login(headers: &HeaderMap) -> Result<Option<SruLogin>, Problem> {
    let Some(credentials) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let wrong = || Problem::new(StatusCode::UNAUTHORIZED, "the credentials cannot be read");
    let credentials = credentials.to_str().map_err(|_| wrong())?;
    let (scheme, coded) = credentials.split_once(' ').unwrap_or((credentials, ""));
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "only Basic authentication is supported",
        ));
    }
    let octets = STANDARD.decode(coded.trim()).map_err(|_| wrong())?;
    let text = String::from_utf8(octets).map_err(|_| wrong())?;
    let (user, password) = text.split_once(':').ok_or_else(wrong)?;
    Ok(Some(SruLogin {
        user: user.to_owned(),
        password: password.to_owned(),
    }))
}

/// Reads the body of a request (RFC 9112 §6, §7) of at most `most` octets, with or without a Content-Length.
///
/// # Errors
/// Fails with status 413 for a longer body, or 400 for a body that is incomplete or malformed.
pub(super) async fn read_body(
    mut body: Incoming,
    length: Option<u64>,
    most: usize,
) -> Result<Bytes, Problem> {
    let too_long = || {
        let words = format!("the body may have {most} octets (apdu-size)");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, words)
    };
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_long());
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let words = format!("the body cannot be read: {error}");
            Problem::new(StatusCode::BAD_REQUEST, words)
        })?;
        let Ok(octets) = frame.into_data() else {
            continue;
        };
        if first.len() + all.len() + octets.len() > most {
            return Err(too_long());
        }
        // Most bodies come in one piece, which is not copied.
        if first.is_empty() && all.is_empty() {
            first = octets;
        } else {
            if !first.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&octets);
        }
    }
    if all.is_empty() {
        Ok(first)
    } else {
        Ok(all.freeze())
    }
}

#[cfg(test)]
mod tests;
