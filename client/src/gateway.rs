//! Retrieval through a gateway, which is an HTTP server that retrieves URLs for clients that do not know the scheme or
//! cannot reach the server (RFC 1630 "Introduction"; RFC 1738 §3: "specific gateway locators"). The request has the
//! form `GET GATEWAY/get?url=URL`.

mod answer;
mod gopher;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use z3950_asn1::oid;

use crate::error::{Error, GatewayError, Phase};
use crate::plan::Plan;
use crate::protocol::service::init::EXCEPTIONAL_RECORD_SIZE;
use crate::retrieve::Outcome;
use crate::target::http::HttpUrl;
use crate::target::{Endpoint, TargetError};
use crate::transport::http::{HttpAnswer, HttpClient, HttpRequest};
use crate::transport::{Routes, Timeouts};
use crate::url::Userinfo;

/// The accepted media types, with MARC as the most preferred (RFC 2220). MARCXML (RFC 6207) is accepted for the record
/// syntax XML, and text for SUTRS. The last type is the type of a problem description (RFC 9457).
const MARC_FIRST: &str = "application/marc, application/marcxml+xml;q=0.9, text/xml;q=0.8, application/xml;q=0.8, text/plain;q=0.5, application/problem+json;q=0.1";
const XML_FIRST: &str = "application/marcxml+xml, text/xml, application/xml, application/marc;q=0.9, text/plain;q=0.5, application/problem+json;q=0.1";
const TEXT_FIRST: &str = "text/plain, application/marc;q=0.9, application/marcxml+xml;q=0.8, text/xml;q=0.8, application/xml;q=0.8, application/problem+json;q=0.1";

/// The address of a gateway, such as `http://gateway.example/` or `https://user:password@lib.example/z/`. The client
/// sends the user name and password with each request. `Display` shows neither of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    endpoint: Endpoint,
    /// The path, which begins and ends with a slash.
    path: String,
    userinfo: Option<Userinfo>,
}

/// The reason why text is not the address of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayAddressError {
    /// The text is not an HTTP URL.
    #[error("the address of a gateway begins with http:// or https://")]
    Scheme,
    /// The user, password, host or port is malformed.
    #[error(transparent)]
    Malformed(TargetError),
    /// The URL has a query or a fragment.
    #[error("the address of a gateway ends with its path: write {0}")]
    Parameters(Gateway),
}

impl FromStr for Gateway {
    type Err = GatewayAddressError;

    /// Parses an `http:` or `https:` URL without a query. The slash at its end may be left out.
    fn from_str(text: &str) -> Result<Self, GatewayAddressError> {
        let url = HttpUrl::parse(text).map_err(|error| match error {
            TargetError::Scheme(_) => GatewayAddressError::Scheme,
            error => GatewayAddressError::Malformed(error),
        })?;
        let path = url.path.trim_end_matches('/');
        let gateway = Self {
            path: match path {
                "" => "/".to_owned(),
                path => format!("/{path}/"),
            },
            endpoint: url.endpoint,
            userinfo: url.userinfo,
        };
        if url.query.is_empty() && !url.has_fragment {
            Ok(gateway)
        } else {
            Err(GatewayAddressError::Parameters(gateway))
        }
    }
}

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.endpoint, self.path)
    }
}

/// A client for a gateway. It keeps connections open for further requests.
pub(crate) struct GatewayClient {
    gateway: Gateway,
    routes: Routes,
    idle: Mutex<Vec<HttpClient>>,
}

impl GatewayClient {
    /// Creates a client. No connection is made yet.
    pub(crate) fn new(gateway: Gateway, routes: Routes) -> Self {
        Self {
            gateway,
            routes,
            idle: Mutex::default(),
        }
    }

    /// Retrieves the record for a plan through the gateway.
    pub(crate) async fn retrieve(&self, plan: &Plan, timeouts: &Timeouts) -> Outcome {
        let url = match plan.url() {
            Ok(url) => url.canonical(),
            Err(error) => return Outcome::Failed(error.into()),
        };
        let request = HttpRequest {
            path: format!("{}get?url={}", self.gateway.path, parameter(&url)),
            accepted: match plan.defaults.record_syntax {
                Some(oid::XML) => XML_FIRST,
                Some(oid::SUTRS) => TEXT_FIRST,
                _ => MARC_FIRST,
            },
            body: None,
            is_repeatable: true,
        };
        match self.ask(&request, timeouts).await {
            Ok(answer) => answer::outcome(answer, plan),
            Err(error) => error.into(),
        }
    }

    /// Makes a request on an idle connection or, if there is none, on a new one. After a successful request, the
    /// connection is kept for the next request.
    async fn ask(&self, request: &HttpRequest, timeouts: &Timeouts) -> Result<HttpAnswer, Error> {
        let kept = self.idle().pop();
        let mut http = kept.unwrap_or_else(|| self.http());
        let answer = http
            .ask(Phase::Search, request, timeouts)
            .await
            .map_err(|error| self.unreachable(error))?;
        self.idle().push(http);
        Ok(answer)
    }

    /// Converts a connection error to [`GatewayError::Unreachable`], which says that the gateway, not the server,
    /// cannot be reached.
    fn unreachable(&self, error: Error) -> Error {
        match error {
            Error::Unavailable {
                phase: Phase::Resolve | Phase::Connect | Phase::Proxy | Phase::Tls,
                ..
            } => Error::Gateway(GatewayError::Unreachable {
                gateway: self.gateway.to_string(),
                error: Arc::new(error),
            }),
            error => error,
        }
    }

    fn http(&self) -> HttpClient {
        let max_body = usize::try_from(EXCEPTIONAL_RECORD_SIZE).unwrap_or(usize::MAX);
        let endpoint = self.gateway.endpoint.clone();
        let mut http = HttpClient::new(self.routes.clone(), endpoint, None, max_body);
        if let Some(userinfo) = &self.gateway.userinfo {
            let password = userinfo.password().map(ToString::to_string);
            let user = userinfo.user().to_string();
            http.authorize(Some((&user, &password.unwrap_or_default())));
        }
        http
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<HttpClient>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Percent-encodes the value of a URL parameter: all characters except the unreserved characters of RFC 3986 §2.3 are
/// escaped.
fn parameter(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(octet));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(escaped, "%{octet:02X}")),
        }
    }
    escaped
}
