//! HTTP/1.1 requests and responses (RFC 9112) over the connectors of this crate. A connection is kept for the next
//! request, responses are limited in octets and time, and redirections are followed only within the same host. This
//! client is used for SRU and gateways.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT, VIA,
};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::debug;
use z3950_asn1::sru::is_secret_parameter;
use z3950_asn1::via::Via;
use z3950_marc::charset::Encoding;

use crate::error::{Cause, Error, Phase, SruFault, chain};
use crate::target::Endpoint;
use crate::target::http::HttpUrl;
use crate::transport::{Routes, Timeouts};

/// The maximum number of redirections for a request.
const MAX_REDIRECTS: usize = 4;
/// The maximum number of octets in the head of a response.
const MAX_HEAD: usize = 64 << 10;

const AGENT: &str = concat!("z3950/", env!("CARGO_PKG_VERSION"));

/// A client for one server, which connects when it sends a request.
pub(crate) struct HttpClient {
    routes: Routes,
    proxy: Option<String>,
    endpoint: Endpoint,
    /// The header Authorization for each request, or `None` if there are no credentials.
    authorization: Option<HeaderValue>,
    /// The header Via for each request, or `None` if the requests have not passed through other servers.
    via: Option<HeaderValue>,
    max_body: usize,
    kept: Option<Kept>,
}

/// An open connection. Dropping this value ends its task.
struct Kept {
    sender: http1::SendRequest<Full<Bytes>>,
    task: AbortHandle,
    /// Whether a request has been answered on the connection, after which the server may close it at any time.
    is_used: bool,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request: a path with its query, and a body.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    pub(crate) path: String,
    /// The accepted media types, as in the header Accept (RFC 9110 §12.5.1).
    pub(crate) accepted: &'static str,
    /// The media type and the octets of the body. A request with a body is sent with POST, and a request without a body
    /// with GET.
    pub(crate) body: Option<(&'static str, Bytes)>,
    /// Whether the request may be repeated if the connection is lost.
    pub(crate) is_repeatable: bool,
}

/// The response to an HTTP request, with its complete body.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    /// How long the server asks the client to wait, or `None` if it does not.
    pub(crate) retry_after: Option<Duration>,
    /// The media type in lower case, without parameters, or an empty string if the response has none.
    pub(crate) media_type: String,
    pub(crate) body: Bytes,
}

/// The reason why there is no response.
enum LostRequest {
    /// The connection was lost before the head of the response was received.
    Lost(hyper::Error),
    Other(Error),
}

impl From<Error> for LostRequest {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl HttpClient {
    /// Creates a client for a server. No connection is made yet. The body of a response may have at most `max_body`
    /// octets.
    pub(crate) fn new(
        routes: Routes,
        endpoint: Endpoint,
        proxy: Option<String>,
        max_body: usize,
    ) -> Self {
        Self {
            routes,
            proxy,
            endpoint,
            authorization: None,
            via: None,
            max_body,
            kept: None,
        }
    }

    /// Sets the user name and password to send with each request (RFC 7617). With `None`, no credentials are sent.
    pub(crate) fn authorize(&mut self, login: Option<(&str, &str)>) {
        self.authorization = login.and_then(|(user, password)| {
            let pair = STANDARD.encode(format!("{user}:{password}"));
            let mut value = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
    }

    /// Sets the servers through which requests have passed, which are named in the header Via of each request (RFC 9110
    /// §7.6.3).
    pub(crate) fn pass_on(&mut self, via: &Via) {
        let value = (!via.is_empty()).then(|| via.to_header());
        self.via = value.and_then(|value| value.try_into().ok());
    }

    /// Closes the connection. If a request is in progress, its response is discarded.
    pub(crate) fn disconnect(&mut self) {
        self.kept = None;
    }

    /// Connects, unless a connection is open.
    pub(crate) async fn connect(&mut self, timeouts: &Timeouts) -> Result<(), Error> {
        if self
            .kept
            .as_ref()
            .is_some_and(|kept| !kept.sender.is_closed())
        {
            return Ok(());
        }
        self.kept = None;
        let route = self
            .routes
            .to(&self.endpoint, self.proxy.as_deref())
            .map_err(|error| Error::Route(Arc::new(error)))?;
        let (host, port) = (self.endpoint.host(), self.endpoint.port());
        let stream = route.connect(&host, port, timeouts).await?;
        let builder = http1::Builder::new().max_buf_size(MAX_HEAD).clone();
        let (sender, connection) = builder
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unavailable(Phase::Connect, error))?;
        // The request in progress reports errors, so the result of this task is dropped.
        let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        self.kept = Some(Kept {
            sender,
            task,
            is_used: false,
        });
        Ok(())
    }

    /// Sends a request. If a connection that was used before has been closed, the request is sent again on a new
    /// connection. If the server redirects the client to another address on the same host, the request is sent there.
    ///
    /// # Errors
    /// Fails if there is no response, or if it exceeds the limits. A response with any HTTP status is not an error.
    pub(crate) async fn ask(
        &mut self,
        phase: Phase,
        request: &HttpRequest,
        timeouts: &Timeouts,
    ) -> Result<HttpAnswer, Error> {
        let mut request = request.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.reach(phase, &request, timeouts).await?;
            let status = response.status();
            let location = response
                .headers()
                .get(LOCATION)
                // With status 300, the user has to choose (RFC 9110 §15.4.1), so the location is not followed.
                .filter(|_| status.is_redirection() && status != StatusCode::MULTIPLE_CHOICES);
            let Some(location) = location else {
                return self.receive(phase, response, timeouts).await;
            };
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            // The body of the redirection is not read, so the connection cannot be reused.
            self.kept = None;
            self.follow(phase, &location, &mut request)?;
        }
        Err(Error::fault(phase, SruFault::Redirects(MAX_REDIRECTS)))
    }

    /// Sends a request and returns the head of the response.
    async fn reach(
        &mut self,
        phase: Phase,
        request: &HttpRequest,
        timeouts: &Timeouts,
    ) -> Result<hyper::Response<Incoming>, Error> {
        let may_be_stale = self.kept.as_ref().is_some_and(|kept| kept.is_used);
        match self.send(phase, request, timeouts).await {
            Ok(response) => Ok(response),
            Err(LostRequest::Lost(error))
                if may_be_stale && (request.is_repeatable || error.is_canceled()) =>
            {
                debug!(%error, "the server closed the connection, opening another");
                self.kept = None;
                match self.send(phase, request, timeouts).await {
                    Ok(response) => Ok(response),
                    Err(failure) => Err(self.failed(phase, failure)),
                }
            }
            Err(failure) => Err(self.failed(phase, failure)),
        }
    }

    fn failed(&mut self, phase: Phase, failure: LostRequest) -> Error {
        self.kept = None;
        match failure {
            LostRequest::Lost(error) => of_http(phase, &error),
            LostRequest::Other(error) => error,
        }
    }

    async fn send(
        &mut self,
        phase: Phase,
        request: &HttpRequest,
        timeouts: &Timeouts,
    ) -> Result<hyper::Response<Incoming>, LostRequest> {
        self.connect(timeouts).await?;
        let message = self.message(phase, request)?;
        let Some(kept) = &mut self.kept else {
            let cause = Cause::Disconnected;
            return Err(Error::Unavailable { phase, cause }.into());
        };
        debug!(method = %message.method(), path = %shown(&request.path), "HTTP request");
        let limit = timeouts.to_answer();
        let response = limit
            .hold(phase, kept.sender.send_request(message))
            .await?
            .map_err(LostRequest::Lost)?;
        debug!(status = %response.status(), "HTTP answer");
        kept.is_used = true;
        Ok(response)
    }

    fn message(
        &self,
        phase: Phase,
        request: &HttpRequest,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let unusable = |error: hyper::http::Error| {
            Error::fault(phase, SruFault::Http(error.to_string().into()))
        };
        let (method, body) = match &request.body {
            Some((_, octets)) => (Method::POST, octets.clone()),
            None => (Method::GET, Bytes::new()),
        };
        let message = hyper::Request::builder()
            .method(method)
            .uri(&request.path)
            .header(HOST, authority(&self.endpoint))
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, request.accepted);
        let mut message = message.body(Full::new(body)).map_err(unusable)?;
        let headers = message.headers_mut();
        if let Some((content_type, _)) = &request.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            if content_type.starts_with("text/xml") {
                let action = HeaderName::from_static("soapaction");
                headers.insert(action, HeaderValue::from_static("\"\""));
            }
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(via) = &self.via {
            headers.insert(VIA, via.clone());
        }
        Ok(message)
    }

    /// Receives the body of a response. The answer timeout restarts with each part of the body, but the complete body
    /// may take at most ten times that timeout.
    async fn receive(
        &mut self,
        phase: Phase,
        response: hyper::Response<Incoming>,
        timeouts: &Timeouts,
    ) -> Result<HttpAnswer, Error> {
        let (head, body) = response.into_parts();
        let received = self.body(phase, &head.headers, body, timeouts).await;
        if received.is_err() {
            // The rest of this answer would be mistaken for the next answer, so the connection is dropped.
            self.kept = None;
        }
        Ok(HttpAnswer {
            status: head.status,
            retry_after: retry_after(&head.headers),
            media_type: media_type(&head.headers),
            body: received?,
        })
    }

    async fn body(
        &self,
        phase: Phase,
        headers: &HeaderMap,
        mut body: Incoming,
        timeouts: &Timeouts,
    ) -> Result<Bytes, Error> {
        let coding = headers.get(CONTENT_ENCODING);
        if let Some(coding) = coding.filter(|coding| !is_no_coding(coding.as_bytes())) {
            let coding = String::from_utf8_lossy(coding.as_bytes()).into_owned();
            return Err(Error::fault(phase, SruFault::Encoding(coding)));
        }
        let too_long = || Error::fault(phase, SruFault::TooLong(self.max_body));
        let limit = u64::try_from(self.max_body).unwrap_or(u64::MAX);
        if body.size_hint().lower() > limit {
            return Err(too_long());
        }
        let begun = Instant::now();
        let mut first = Bytes::new();
        let mut octets = BytesMut::new();
        loop {
            let Some(wait) = timeouts.to_rest(begun, Instant::now()) else {
                return Err(timeouts.to_answer().error(phase));
            };
            let Some(frame) = wait.hold(phase, body.frame()).await? else {
                break;
            };
            let frame = frame.map_err(|error| of_http(phase, &error))?;
            let Ok(part) = frame.into_data() else {
                continue;
            };
            if octets.len() + first.len() + part.len() > self.max_body {
                return Err(too_long());
            }
            match (first.is_empty(), octets.is_empty()) {
                (true, true) => first = part,
                (_, is_empty) => {
                    if is_empty {
                        octets.extend_from_slice(&std::mem::take(&mut first));
                    }
                    octets.extend_from_slice(&part);
                }
            }
        }
        Ok(if octets.is_empty() {
            first
        } else {
            octets.freeze()
        })
    }

    /// Follows a redirection if it is to the same host and is no less secure. Credentials are never sent to another
    /// host.
    fn follow(
        &mut self,
        phase: Phase,
        location: &str,
        request: &mut HttpRequest,
    ) -> Result<(), Error> {
        if location.trim().is_empty() {
            return Err(Error::fault(phase, SruFault::RedirectNowhere));
        }
        let elsewhere = || Error::fault(phase, SruFault::Redirect(shown(location)));
        let (endpoint, path) = if location.starts_with('/') && !location.starts_with("//") {
            (self.endpoint.clone(), location.to_owned())
        } else {
            let url = HttpUrl::parse(location).map_err(|_| elsewhere())?;
            if url.userinfo.is_some() {
                return Err(elsewhere());
            }
            let path = match url.query {
                "" => format!("/{}", url.path),
                query => format!("/{}?{query}", url.path),
            };
            (url.endpoint, path)
        };
        let is_allowed = endpoint == self.endpoint
            || (endpoint.host() == self.endpoint.host()
                && matches!(
                    (&self.endpoint, &endpoint),
                    (Endpoint::Http(..), Endpoint::Https(..))
                ));
        if !is_allowed {
            return Err(elsewhere());
        }
        self.endpoint = endpoint;
        // Some servers leave out the parameters in the redirection, so they are added again.
        request.path = match (path.contains('?'), request.path.split_once('?')) {
            (false, Some((_, parameters))) => format!("{path}?{parameters}"),
            _ => path,
        };
        Ok(())
    }
}

/// Returns the value of the header Host, which does not contain the default port of the scheme (RFC 9110 §7.2).
fn authority(endpoint: &Endpoint) -> String {
    let (host, port) = (endpoint.host(), endpoint.port());
    match endpoint {
        Endpoint::Http(..) if port == 80 => host.to_string(),
        Endpoint::Https(..) if port == 443 => host.to_string(),
        _ => format!("{host}:{port}"),
    }
}

/// Returns whether a header Content-Encoding does not name a coding of the body (RFC 9110 §8.4.1): it is empty, or
/// contains a character set, as sent by CLARIN servers.
fn is_no_coding(value: &[u8]) -> bool {
    value.split(|octet| *octet == b',').all(|coding| {
        let coding = coding.trim_ascii().to_ascii_lowercase();
        matches!(&*coding, b"" | b"identity" | b"none") || Encoding::for_label(&coding).is_some()
    })
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(value.unwrap_or_default());
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Returns the value of the header Retry-After, which is a number of seconds or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(SystemTime::now()).unwrap_or_default())
}

/// Returns a path with its parameters for logs, without secrets.
fn shown(path: &str) -> String {
    let Some((before, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let parts = query.split('&').map(|part| match part.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}=<redacted>"),
        _ => part.to_owned(),
    });
    format!("{before}?{}", parts.collect::<Vec<_>>().join("&"))
}

/// Returns the error for a connection that was lost, or for a response that is not HTTP.
fn of_http(phase: Phase, error: &hyper::Error) -> Error {
    let is_http = error.is_parse() || error.is_parse_status();
    if is_http && !error.is_incomplete_message() {
        let words = chain(error);
        return Error::fault(phase, SruFault::Http(words.into()));
    }
    if error.is_closed() || error.is_canceled() || error.is_incomplete_message() {
        Error::Unavailable {
            phase,
            cause: Cause::Disconnected,
        }
    } else {
        unavailable(phase, std::io::Error::other(chain(error)))
    }
}

fn unavailable(phase: Phase, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Unavailable {
        phase,
        cause: Cause::Other(Arc::new(std::io::Error::other(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_y3_character_sets_are_not_codings() {
        for (value, is_none) in [
            ("", true),
            ("identity", true),
            ("UTF-8", true),
            ("utf-8, identity", true),
            ("iso-8859-1", true),
            ("none", true),
            ("gzip", false),
            ("utf-8, gzip", false),
            ("br", false),
            ("x", false),
        ] {
            assert_eq!(is_no_coding(value.as_bytes()), is_none, "{value}");
        }
    }
}
