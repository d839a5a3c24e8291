//! The reasons why a URL could not be followed, as an HTTP status and a problem description (RFC 9457). The members `outcome`,
//! `hits` and `diagnostic` of the description are the same as those of `z3950 get --json`.

use std::io;

use serde_json::{Map, Value, json};
use z3950::error::{Cause, Phase};
use z3950::gopher::{GopherError, GopherPlanError};
use z3950::retrieve::{Outcome, OutcomeName};
use z3950::url::Z3950Url;
use z3950::{Error, Query};
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use crate::layout::heading;
use crate::own::refusal_status;
use crate::text::{chain, clean, encoded};

/// A failure to be reported to a client.
#[derive(Clone, Debug)]
pub(super) struct GatewayFailure {
    pub(super) status: StatusCode,
    /// The name of the retrieval's outcome; `None` if no retrieval was attempted.
    outcome: Option<OutcomeName>,
    pub(super) words: String,
    hits: Option<u64>,
    diagnostic: Option<Box<DiagRec>>,
    /// Links to alternatives, such as the same URL with only one of its databases.
    pub(super) links: Vec<GatewayLink>,
    /// Whether the gateway's time limit was reached before the server answered. The status is then 504.
    is_late: bool,
}

/// A link to an alternative.
#[derive(Clone, Debug)]
pub(super) struct GatewayLink {
    pub(super) path: String,
    pub(super) words: String,
}

impl GatewayFailure {
    pub(super) fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self {
            status,
            outcome: None,
            words: words.into(),
            hits: None,
            diagnostic: None,
            links: Vec::new(),
            is_late: false,
        }
    }

    /// Creates a failure for a URL that cannot be followed.
    pub(super) fn bad(words: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, words).named(OutcomeName::NotSent)
    }

    /// Creates a failure for a URL that must not be followed.
    pub(super) fn forbidden(words: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, words).named(OutcomeName::AccessRefused)
    }

    /// Creates a failure for a server that did not answer within the time limit.
    pub(super) fn late() -> Self {
        let words = "the server has not answered in time";
        let late = Self::new(StatusCode::GATEWAY_TIMEOUT, words).named(OutcomeName::Unavailable);
        Self {
            is_late: true,
            ..late
        }
    }

    /// Returns the heading of the page for this failure.
    pub(super) fn title(&self) -> &'static str {
        if self.is_late {
            "No answer in time"
        } else {
            heading(self.status)
        }
    }

    /// Creates a failure for a damaged record.
    pub(super) fn damaged(why: &str) -> Self {
        let words = format!("the record is damaged: {why}; &format=raw gives its octets");
        Self::new(StatusCode::BAD_GATEWAY, words).named(OutcomeName::ProtocolError)
    }

    /// Creates a failure for an outcome without a record. `own` is the client if the URL leads to this server, and `None` if it
    /// leads to another server.
    pub(super) fn of_outcome(outcome: &Outcome, url: &Z3950Url, own: Option<&WebClient>) -> Self {
        if let Some(refusal) = Self::of_special(outcome) {
            return refusal;
        }
        let name = outcome.name();
        let is_own = own.is_some();
        let has_login = own.is_some_and(|client| client.login().is_some());
        let condition = outcome.diagnostics().first().and_then(condition);
        let status = match name {
            _ if is_own && condition == Some(Condition::DATABASE_ACCESS_DENIED) => {
                if has_login {
                    StatusCode::FORBIDDEN
                } else {
                    StatusCode::UNAUTHORIZED
                }
            }
            _ if condition == Some(Condition::COMBINATION) => StatusCode::BAD_REQUEST,
            OutcomeName::NoMatch => StatusCode::NOT_FOUND,
            OutcomeName::Ambiguous => StatusCode::MULTIPLE_CHOICES,
            OutcomeName::NotSent => StatusCode::BAD_REQUEST,
            OutcomeName::PortRefused => StatusCode::FORBIDDEN,
            OutcomeName::InitRejected if is_own => refusal_status(outcome.diagnostics()),
            OutcomeName::AccessRefused if is_own => StatusCode::UNAUTHORIZED,
            OutcomeName::Unavailable => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        };
        let words = match outcome {
            Outcome::Failed(error) => chain(error),
            outcome => outcome.to_string(),
        };
        let words = match status {
            StatusCode::UNAUTHORIZED => format!(
                "{words}. This server asks for a user and password that its operator has set up; they are sent by HTTP Basic"
            ),
            StatusCode::BAD_REQUEST if condition == Some(Condition::COMBINATION) => {
                "these databases cannot be searched together: ask for the record in one of them"
                    .to_owned()
            }
            _ => words,
        };
        let hits = match outcome {
            Outcome::Failed(Error::NoMatch) => Some(0),
            Outcome::Failed(Error::Ambiguous { hits, .. }) => Some(*hits),
            _ => None,
        };
        Self {
            hits,
            diagnostic: outcome.diagnostics().first().cloned().map(Box::new),
            links: match status {
                StatusCode::MULTIPLE_CHOICES | StatusCode::BAD_REQUEST => in_each_database(url),
                _ => Vec::new(),
            },
            ..Self::new(status, words).named(name)
        }
    }

    /// Adds a link to the search page that lists all records that the URL names.
    pub(super) fn with_list(mut self, url: &Z3950Url) -> Self {
        if let Some(path) = listed(url) {
            let words = match self.hits {
                Some(hits) => format!("Show the {hits} records"),
                None => "Show the records".to_owned(),
            };
            self.links.insert(0, GatewayLink { path, words });
        }
        self
    }

    /// Creates a failure for a Gopher item that could not be fetched.
    pub(super) fn of_gopher(error: &GopherError) -> Self {
        if let GopherError::Connect(error) = error
            && let Some(refusal) = Self::of_special(&Outcome::from(error.clone()))
        {
            return refusal;
        }
        let words = chain(error);
        let (status, name) = match error {
            GopherError::Plan(GopherPlanError::PortRefused(_)) => {
                (StatusCode::FORBIDDEN, OutcomeName::PortRefused)
            }
            GopherError::Plan(_) => (StatusCode::BAD_REQUEST, OutcomeName::NotSent),
            GopherError::Connect(_) | GopherError::Interrupted { .. } => {
                (StatusCode::GATEWAY_TIMEOUT, OutcomeName::Unavailable)
            }
            GopherError::Server(error) if error.is_temporary() => {
                (StatusCode::GATEWAY_TIMEOUT, OutcomeName::Unavailable)
            }
            GopherError::Server(error) if error.is_gone() => {
                (StatusCode::NOT_FOUND, OutcomeName::NoMatch)
            }
            GopherError::Server(_) => (StatusCode::BAD_GATEWAY, OutcomeName::RecordRefused),
            _ => (StatusCode::BAD_GATEWAY, OutcomeName::ProtocolError),
        };
        Self::new(status, words).named(name)
    }

    /// Returns the failure for a host name that has only special-purpose addresses. The name was resolved, but nothing was sent.
    fn of_special(outcome: &Outcome) -> Option<Self> {
        let Outcome::Failed(Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Dns(error),
            ..
        }) = outcome
        else {
            return None;
        };
        let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
        is_refused.then(|| Self::forbidden(error.to_string()))
    }

    fn named(self, name: OutcomeName) -> Self {
        Self {
            outcome: Some(name),
            ..self
        }
    }

    /// Returns the problem description as JSON.
    pub(super) fn to_json(&self) -> Value {
        let mut members = Map::new();
        let title = self.status.canonical_reason().unwrap_or_default();
        members.insert("title".to_owned(), title.into());
        members.insert("status".to_owned(), self.status.as_u16().into());
        members.insert("detail".to_owned(), self.words.as_str().into());
        if let Some(outcome) = self.outcome {
            members.insert("outcome".to_owned(), outcome.as_str().into());
        }
        if let Some(hits) = self.hits {
            members.insert("hits".to_owned(), hits.into());
        }
        if let Some(DiagRec::DefaultFormat(diagnostic)) = self.diagnostic.as_deref() {
            let value = json!({
                "set": diagnostic.diagnostic_set_id.to_string(),
                "code": diagnostic.condition,
                "text": diagnostic.message(),
                "addinfo": diagnostic.addinfo.to_string_lossy(),
            });
            members.insert("diagnostic".to_owned(), value);
        }
        if !self.links.is_empty() {
            let paths: Vec<&str> = self.links.iter().map(|link| &*link.path).collect();
            members.insert("links".to_owned(), paths.into());
        }
        members.into()
    }

    /// Returns the problem description as text.
    pub(super) fn to_text(&self) -> String {
        let links = self.links.iter().map(|link| format!("{}\n", link.path));
        format!("{}\n{}", self.words, links.collect::<String>())
    }
}

fn condition(diagnostic: &DiagRec) -> Option<Condition> {
    match diagnostic {
        DiagRec::DefaultFormat(one) => Some(Condition(one.condition)),
        DiagRec::ExternallyDefined(_) => None,
    }
}

/// Returns links to the same URL with each of its databases alone. There are none if the URL has only one database.
fn in_each_database(url: &Z3950Url) -> Vec<GatewayLink> {
    let databases = url.databases();
    let alone = databases.iter().filter(|_| databases.len() > 1);
    let links = alone.filter_map(|database| {
        let url = url.to_builder().databases([database.clone()]);
        Some(GatewayLink {
            path: format!("/{}", url.build().ok()?),
            words: format!("The record of {}", clean(&database.to_string())),
        })
    });
    links.collect()
}

/// Returns the path of the search page that lists the records that a URL names; `None` if the URL has no docid, or one that is
/// not UTF-8.
fn listed(url: &Z3950Url) -> Option<String> {
    let docid = url.docid()?.as_bytes().to_vec();
    let query = Query::docid(String::from_utf8(docid).ok()?).to_string();
    let databases = url.databases().iter();
    let targets: String = databases
        .map(|name| format!("&target={}", encoded(name.as_bytes())))
        .collect();
    Some(format!("/search?q={}{targets}", encoded(query)))
}
