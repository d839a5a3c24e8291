//! HTTP answers (RFC 9110 §8, §15), with their status, headers and body.

use bytes::Bytes;
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    SERVER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::outgoing::Outgoing;
use super::request::METHODS;

/// An HTTP answer.
#[derive(Clone, Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    /// The media type of the body; `None` if it is among the additional headers.
    pub(super) kind: Option<&'static str>,
    /// Additional headers of this answer.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Whether the connection ends after this answer.
    pub(super) is_last: bool,
}

/// The media types of SRU answers.
pub(super) const XML: &str = "text/xml; charset=utf-8";
pub(super) const SRU_XML: &str = "application/sru+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// The Content-Security-Policy of answers. It forbids scripts, because XHTML in a record could contain scripts that run with the
/// server's origin. It also forbids stylesheets, which the request can name, because browsers treat XSLT as a script.
const POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Creates an answer with plain text.
pub(super) fn plain(status: StatusCode, words: impl Into<Bytes>) -> HttpAnswer {
    HttpAnswer {
        status,
        kind: Some(TEXT),
        headers: HeaderMap::new(),
        body: words.into(),
        is_last: false,
    }
}

impl HttpAnswer {
    /// Returns the headers, apart from those common to all answers.
    fn headers(&self) -> impl Iterator<Item = (HeaderName, &'static str)> {
        let challenge = r#"Basic realm="z3950", charset="UTF-8""#;
        let of_status = match self.status {
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NO_CONTENT => Some((ALLOW, METHODS)),
            StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, challenge)),
            _ => None,
        };
        let kind = self
            .kind
            .map(|kind| (CONTENT_TYPE, kind))
            .filter(|_| self.status != StatusCode::NO_CONTENT);
        let for_browsers = kind.is_some().then_some([
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ]);
        let for_browsers = for_browsers.into_iter().flatten();
        let end = self.is_last.then_some((CONNECTION, "close"));
        kind.into_iter()
            .chain(for_browsers)
            .chain(of_status)
            .chain(end)
    }

    /// Converts the answer to a hyper response.
    pub(super) fn into_response(mut self, server: Option<&HeaderValue>) -> Response<Outgoing> {
        let body = std::mem::take(&mut self.body);
        let mut response = Response::new(Outgoing::from(body));
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        let headers = response.headers_mut();
        if let Some(server) = server {
            headers.insert(SERVER, server.clone());
        }
        for (name, value) in self.headers() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Encodes the answer to a malformed request, after which the connection ends.
    pub(super) fn last_octets(mut self, server: Option<&HeaderValue>) -> Vec<u8> {
        self.is_last = true;
        let (code, reason) = (self.status.as_u16(), self.status.canonical_reason());
        let reason = reason.unwrap_or_default();
        let mut head = format!("HTTP/1.1 {code} {reason}\r\n");
        for (name, value) in self.headers() {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(server) = server.and_then(|server| server.to_str().ok()) {
            head += &format!("server: {server}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", self.body.len());
        [head.as_bytes(), &self.body].concat()
    }
}

/// Returns the media type of an SRU answer for a value of Accept (RFC 9110 §12.5.1, RFC 6207): XML, unless the client explicitly
/// accepts SRU's own media type.
pub(super) fn kind_for(accepted: &str) -> &'static str {
    let mut ranges = accepted.split(',').map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_refused = parts.any(|part| {
            let quality = part.strip_prefix("q=").map(str::parse::<f32>);
            quality == Some(Ok(0.0))
        });
        (name, is_refused)
    });
    let is_named =
        |(name, is_refused): (&str, bool)| name.eq_ignore_ascii_case(SRU_XML) && !is_refused;
    if ranges.any(is_named) { SRU_XML } else { XML }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_the_one_of_sru_if_the_client_names_it() {
        for (accepted, expected) in [
            ("", XML),
            ("*/*", XML),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                XML,
            ),
            ("application/sru+xml", SRU_XML),
            ("text/xml, Application/SRU+XML;q=0.5", SRU_XML),
            ("application/sru+xml; q=0", XML),
            ("application/sru+xml-not", XML),
        ] {
            assert_eq!(kind_for(accepted), expected, "{accepted}");
        }
    }
}
