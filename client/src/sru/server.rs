//! Sends one SRU request (with GET, as a form, or in SOAP) and reads its answer. If the answer is not an SRU response,
//! interprets the HTTP status.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;
use z3950_asn1::apdu::IdAuthentication;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::sru::{
    FacetParameters, Request, Response, ResponseError, SruLimits, SruLogin, SruOperation, Version,
    XmlError,
};

use super::Refused;
use crate::error::{Cause, Error, Phase, SruFault};
use crate::target::profile::{SruMethod, SruOptions};
use crate::transport::Timeouts;
use crate::transport::http::{HttpAnswer, HttpClient, HttpRequest};

const FORM: &str = "application/x-www-form-urlencoded";
const SOAP: &str = "text/xml; charset=utf-8";

/// The accepted media types. Servers differ in the media type of their answers (RFC 6207), so every type is accepted.
const ACCEPTED: &str = "application/sru+xml, text/xml, application/xml, */*;q=0.5";

/// The HTTP connection to an SRU server, and the options for requests.
pub(super) struct SruServer {
    pub(super) http: HttpClient,
    pub(super) options: SruOptions,
    pub(super) limits: SruLimits,
    /// The user name and password, if they are sent as request parameters.
    login: Option<SruLogin>,
}

impl SruServer {
    pub(super) fn new(http: HttpClient, options: SruOptions, limits: SruLimits) -> Self {
        Self {
            http,
            options,
            limits,
            login: None,
        }
    }

    /// Sets the credentials for all further requests, as given in Init (Z39.50-2003 §3.2.1.1.2).
    pub(super) fn log_in(&mut self, identity: Option<&IdAuthentication>) {
        let login = identity.and_then(login);
        let (in_url, in_header) = if self.options.login_in_url {
            (login, None)
        } else {
            (None, login)
        };
        self.login = in_url;
        let pair = in_header.as_ref();
        self.http
            .authorize(pair.map(|login| (&*login.user, &*login.password)));
    }

    /// Sends a request in the SRU version given in the options. A request with facets is sent in version 2.0, because
    /// earlier versions have no facets.
    ///
    /// # Errors
    /// [`Refused`] with the server's diagnostics, or with the reason given by the HTTP status.
    pub(super) async fn ask(
        &mut self,
        phase: Phase,
        database: &str,
        operation: impl Into<SruOperation>,
        timeouts: &Timeouts,
    ) -> Result<Response, Refused> {
        let operation = operation.into();
        let is_update = matches!(operation, SruOperation::Update(_));
        let version = match &operation {
            SruOperation::SearchRetrieve(search) if search.facets != FacetParameters::default() => {
                Version::V2_0
            }
            _ => self.options.version,
        };
        let mut request = Request::new(version, operation);
        request.login.clone_from(&self.login);
        request.extra = self.options.parameters.clone().into_iter().collect();
        let base = path(database);
        let method = if is_update {
            SruMethod::Soap
        } else {
            self.options.method
        };
        let (path, body) = match method {
            SruMethod::Get => {
                let joint = if base.contains('?') { '&' } else { '?' };
                (format!("{base}{joint}{}", request.to_parameters()), None)
            }
            SruMethod::Post => (base, Some((FORM, request.to_parameters().into()))),
            SruMethod::Soap => (base, Some((SOAP, Bytes::from(request.to_soap())))),
        };
        let request = HttpRequest {
            path,
            accepted: ACCEPTED,
            body,
            is_repeatable: !is_update,
        };
        let answer = self.http.ask(phase, &request, timeouts).await?;
        self.read(phase, database, answer)
    }

    fn read(&self, phase: Phase, database: &str, answer: HttpAnswer) -> Result<Response, Refused> {
        let HttpAnswer {
            status,
            retry_after,
            body,
            ..
        } = answer;
        let read = Response::from_xml(body, &self.limits);
        if status.is_success() {
            return read.map_err(|error| Error::fault(phase, SruFault::from(error)).into());
        }
        let title = match read {
            // The diagnostics in the answer explain more than the HTTP status.
            Ok(response) if !response.diagnostics().is_empty() => return Ok(response),
            Err(error @ ResponseError::Fault(_)) => {
                return Err(Error::fault(phase, SruFault::from(error)).into());
            }
            Err(ResponseError::Xml(XmlError::Html { title })) => title,
            _ => String::new(),
        };
        let words = format!("HTTP status {status}");
        Err(match status {
            StatusCode::UNAUTHORIZED => Refused::because(Condition::BAD_USER_ID_OR_PASSWORD, words),
            StatusCode::FORBIDDEN => Refused::because(Condition::DATABASE_ACCESS_DENIED, words),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                let name = format!("{} ({words})", shown(database));
                Refused::because(Condition::DATABASE_DOES_NOT_EXIST, name)
            }
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let cause = Cause::HttpStatus {
                    status: status.to_string(),
                    retry_after,
                };
                Error::Unavailable { phase, cause }.into()
            }
            _ => {
                let status = status.to_string();
                Error::fault(phase, SruFault::Status { status, title }).into()
            }
        })
    }
}

/// Returns the path for a database. Characters that are not allowed in a path are escaped, and existing escapes are
/// kept (RFC 3986 §3.3).
pub fn path(database: &str) -> String {
    let mut path = String::from("/");
    for octet in database.bytes() {
        match octet {
            b'!'..=b'~' if !b"\"<>\\^`{|}#".contains(&octet) => path.push(char::from(octet)),
            _ => path.push_str(&format!("%{octet:02X}")),
        }
    }
    path
}

fn shown(database: &str) -> Cow<'_, str> {
    match database {
        "" => "/".into(),
        name => name.into(),
    }
}

/// Returns the user name and password in an identity. A group is left out, because SRU has no parameter for it.
pub fn login(identity: &IdAuthentication) -> Option<SruLogin> {
    let mut login = SruLogin::default();
    match identity {
        IdAuthentication::IdPass(pass) => {
            let text = |text: &Option<z3950_asn1::types::InternationalString>| {
                text.as_ref()
                    .map_or_else(String::new, |text| text.to_string_lossy().into_owned())
            };
            login.user = text(&pass.user_id);
            login.password = text(&pass.password);
        }
        IdAuthentication::Open(both) => {
            let both = String::from_utf8_lossy(both.as_bytes()).into_owned();
            let (user, password) = both.split_once('/').unwrap_or((&both, ""));
            login.user = user.to_owned();
            login.password = password.to_owned();
        }
        IdAuthentication::Anonymous | IdAuthentication::Other(_) => return None,
    }
    Some(login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_paths() {
        for (database, expected) in [
            ("", "/"),
            ("sru/dnb", "/sru/dnb"),
            ("opac-de-627!x%20y", "/opac-de-627!x%20y"),
            ("a b?c=ü#", "/a%20b?c=%C3%BC%23"),
            ("a\r\nHost: b", "/a%0D%0AHost:%20b"),
        ] {
            assert_eq!(path(database), expected);
        }
    }
}
