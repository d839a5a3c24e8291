//! SRU (SRU 1.1 and 1.2 from the Library of Congress, OASIS searchRetrieve 1.0 for 2.0, Record Update 1.0): each request is
//! converted to Z39.50 requests in a [`Session`], so that databases, access, limits and times are the same for both protocols.
//!
//! This module does not depend on HTTP: requests and answers are values of [`z3950_asn1::sru`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use z3950_asn1::sru::{Request, SruLimits};
//! use z3950_server::sru::{SruRequest, SruSession, SruStatus};
//! use z3950_server::{Limits, MemoryBackend, Target};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let target = Target::new(Arc::new(MemoryBackend::demo()), Limits::default());
//! let mut session = SruSession::new(Arc::new(target));
//! let request = Request::from_parameters(b"query=dc.title%3Dpeace&maximumRecords=1", &SruLimits::default());
//! let reply = session.answer(SruRequest::new("books", request)).await;
//! assert_eq!(reply.status, SruStatus::Answered);
//! let xml = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
//! assert!(xml.contains("<zs:recordPosition>1</zs:recordPosition>"), "{xml}");
//! # }
//! ```

mod exchange;
mod explain;
mod facets;
mod failure;
mod query;
mod records;
mod scan;
mod schema;
mod search;
mod update;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::{
    Apdu, DatabaseName, IdAuthentication, IdPass, InitializeRequest, InitializeResponse, Options,
    ProtocolVersion,
};
use z3950_asn1::format::user_info1::UserInfo1;
use z3950_asn1::sru::{
    ExplainResponse, Refusal, Request, Response, ScanResponse, SearchRetrieveResponse,
    SruDiagnostic, SruLogin, SruOperation, UpdateResponse, Version,
};
use z3950_asn1::via::Via;

use self::failure::SruFailure;
use crate::budget::Charge;
use crate::caught::caught;
use crate::logins::Proof;
use crate::session::Session;
use crate::target::Target;

/// Answers the requests on a connection, one at a time.
///
/// The Z39.50 session is opened with the first request. It is reopened whenever the user or the list of servers that pass on the
/// requests changes.
pub struct SruSession {
    target: Arc<Target>,
    session: Session,
    /// The credentials with which the session was opened.
    login: Option<SruLogin>,
    /// The servers that have passed on the requests in the session.
    via: Via,
    /// The database for requests that do not name one.
    default_database: Option<String>,
}

/// A request, with the information from its HTTP message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruRequest {
    /// The path of the URL, which names the database. If it is empty, a SOAP request may name the database; otherwise, the first
    /// database is used.
    pub database: String,
    /// The request, or the reason why it was refused.
    pub request: Result<Request, Refusal>,
    /// The credentials of HTTP Basic authentication. Credentials in the request itself take precedence.
    pub login: Option<SruLogin>,
    /// The host and port by which the client addresses the server; they appear in the description of a database.
    pub authority: (String, Option<u16>),
    /// Whether the client uses TLS.
    pub secure: bool,
    /// The servers that have passed on the request, from the Via header (RFC 9110 §7.6.3).
    pub via: Via,
    /// The name of the client program, from the User-Agent header (RFC 9110 §10.1.5).
    pub user_agent: String,
}

impl SruRequest {
    /// Creates a request for a database, without credentials.
    pub fn new(database: impl Into<String>, request: Result<Request, Refusal>) -> Self {
        Self {
            database: database.into(),
            request,
            login: None,
            authority: ("localhost".to_owned(), None),
            secure: false,
            via: Via::default(),
            user_agent: String::new(),
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruReply {
    /// The response, which echoes the request.
    pub response: Response,
    /// The URL of the stylesheet to be named at the beginning of the answer; `None` if the request does not name one.
    pub stylesheet: Option<String>,
    /// The kind of answer, from which the HTTP status is derived.
    pub status: SruStatus,
    /// The time for which the answer is withheld, because the client guesses passwords.
    pub silence: Duration,
    /// Whether to close the connection, because the client has reached the maximum number of failed attempts to authenticate.
    pub hang_up: bool,
}

/// The kind of an answer, from which the HTTP status is derived. Diagnostics alone do not affect the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SruStatus {
    /// The answer has records or diagnostics: status 200.
    #[default]
    Answered,
    /// The database does not exist: status 404.
    UnknownDatabase,
    /// The client has to authenticate, or its credentials are wrong: status 401.
    Unauthorized,
    /// The client's credentials were not checked, because too many wrong credentials came from its address: status 429.
    TooManyAttempts,
}

/// The context shared by all operations of a request.
struct Context {
    version: Version,
    database: String,
    /// Whether the client has not sent credentials although the server has users.
    is_anonymous: bool,
    authority: (String, Option<u16>),
    secure: bool,
    /// Whether the client treats a search as failed if a diagnostic accompanies the records.
    takes_diagnostics_as_failure: bool,
}

impl Context {
    fn databases(&self) -> Vec<DatabaseName> {
        vec![DatabaseName::from(self.database.as_str())]
    }
}

impl SruSession {
    /// Creates a session for a client on the server's host.
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            session: Session::new(Arc::clone(&target)),
            target,
            login: None,
            via: Via::default(),
            default_database: None,
        }
    }

    /// Sets the client's address, as [`Session::with_peer`] does.
    pub fn with_peer(self, address: IpAddr) -> Self {
        Self {
            session: self.session.with_peer(address),
            ..self
        }
    }

    /// Returns a new charge of zero octets to the session's account.
    pub(crate) fn no_charge(&self) -> Charge {
        self.session.no_charge()
    }

    /// Answers a request. Dropping the future cancels the operation.
    ///
    /// Errors are reported as diagnostics in the answer. Bib-1 diagnostics are converted to the corresponding SRU diagnostics,
    /// with the addinfo as details.
    pub async fn answer(&mut self, asked: SruRequest) -> SruReply {
        let (request, refused) = match asked.request {
            Ok(request) => (Box::new(request), Vec::new()),
            Err(refusal) => (refusal.request, refusal.diagnostics),
        };
        let login = request.login.as_ref().or(asked.login.as_ref());
        let context = Context {
            version: request.version,
            database: self.database(asked.database, &request),
            is_anonymous: login.is_none() && self.target.has_logins(),
            authority: asked.authority,
            secure: asked.secure,
            takes_diagnostics_as_failure: asked.user_agent.starts_with(YAZ),
        };
        let answered = if refused.is_empty() {
            match self.open(login, asked.via).await {
                // The box keeps the futures of idle sessions small.
                Ok(()) => {
                    let panics = Arc::clone(&self.target.panics);
                    let answered = caught(Box::pin(self.carry_out(&context, &request))).await;
                    answered.unwrap_or_else(|panic| Err(panics.diagnostic(panic).into()))
                }
                Err(failure) => Err(failure),
            }
        } else {
            Err(SruFailure::from(refused))
        };
        let (response, status) = match answered {
            Ok(response) => (response, SruStatus::Answered),
            Err(failure) => {
                let status = failure.status(context.is_anonymous);
                let failure = failure.explained(context.is_anonymous);
                (failed(&request, failure.diagnostics), status)
            }
        };
        let is_allowed = failure::check_stylesheet(&request).is_ok();
        let stylesheet = request.stylesheet.clone().filter(|_| is_allowed);
        let mut response = with_echo(response, request);
        diagnostics(&mut response).iter_mut().for_each(shorten);
        SruReply {
            stylesheet,
            response,
            status,
            silence: self.session.silence(),
            hang_up: self.session.is_refused(),
        }
    }

    /// Returns the name of the user; `None` if the client has not authenticated.
    pub fn user(&self) -> Option<&str> {
        self.session.user()
    }

    async fn carry_out(
        &mut self,
        context: &Context,
        request: &Request,
    ) -> Result<Response, SruFailure> {
        failure::check_stylesheet(request)?;
        match &request.operation {
            SruOperation::SearchRetrieve(search) => {
                let found = self.search(context, search).await;
                found.map(Into::into)
            }
            SruOperation::Scan(scan) => self.scan(context, scan).await.map(Into::into),
            SruOperation::Explain(explain) => self.explain(context, explain).map(Into::into),
            SruOperation::Update(update) => self.update(context, update).await.map(Into::into),
        }
    }

    /// Returns the name of the database for a request.
    fn database(&mut self, of_path: String, request: &Request) -> String {
        if !of_path.is_empty() {
            return of_path;
        }
        if let Some(named) = &request.database {
            return named.clone();
        }
        let first = || {
            let mut databases = self.target.databases().into_iter();
            databases.next().map(|first| first.name).unwrap_or_default()
        };
        self.default_database.get_or_insert_with(first).clone()
    }

    /// Opens the session, unless it is already open for the same user and servers.
    async fn open(&mut self, login: Option<&SruLogin>, via: Via) -> Result<(), SruFailure> {
        if self.session.is_open() && (self.login.as_ref(), self.via) == (login, via) {
            return Ok(());
        }
        self.login = login.cloned();
        self.via = via;
        let id_authentication = login.map(|login| {
            IdAuthentication::IdPass(IdPass {
                group_id: None,
                user_id: Some(login.user.as_str().into()),
                password: Some(login.password.as_str().into()),
            })
        });
        let init = InitializeRequest {
            protocol_version: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH
                | Options::PRESENT
                | Options::SCAN
                | Options::SORT
                | Options::EXTENDED_SERVICES
                | Options::NAMED_RESULT_SETS,
            id_authentication,
            implementation_version: via.after(None),
            ..InitializeRequest::default()
        };
        let init = init.into();
        let proof = match self.session.login_check(&init) {
            Some(check) => Box::pin(check.run()).await,
            None => Proof::default(),
        };
        let reply = match self.session.begin(&init, proof) {
            Err(reply) => reply,
            // Init does not begin an operation, so this does not happen.
            Ok(_) => return Err(SruFailure::unanswered()),
        };
        match reply.apdus.first() {
            Some(Apdu::InitializeResponse(response)) if response.result => Ok(()),
            Some(Apdu::InitializeResponse(response)) => Err(not_admitted(response)),
            _ => Err(SruFailure::unanswered()),
        }
    }
}

/// Returns the failure for an Init that was refused.
fn not_admitted(response: &InitializeResponse) -> SruFailure {
    let information = response.user_information_field.as_ref();
    let why = information.and_then(UserInfo1::diagnostic_of);
    why.map_or_else(SruFailure::unanswered, SruFailure::from)
}

/// Returns the answer to a failed request, with these diagnostics.
fn failed(request: &Request, diagnostics: Vec<SruDiagnostic>) -> Response {
    let version = request.version;
    match &request.operation {
        SruOperation::SearchRetrieve(_) => {
            SearchRetrieveResponse::failed(version, diagnostics).into()
        }
        SruOperation::Scan(_) => {
            let mut response = ScanResponse::new(version, Vec::new());
            response.diagnostics = diagnostics;
            response.into()
        }
        SruOperation::Explain(_) => {
            let mut response = ExplainResponse::new(version, "");
            response.record = None;
            response.diagnostics = diagnostics;
            response.into()
        }
        SruOperation::Update(_) => {
            let mut response = UpdateResponse::new(version, false);
            response.diagnostics = diagnostics;
            response.into()
        }
    }
}

fn diagnostics(response: &mut Response) -> &mut [SruDiagnostic] {
    match response {
        Response::SearchRetrieve(response) => &mut response.diagnostics,
        Response::Scan(response) => &mut response.diagnostics,
        Response::Explain(response) => &mut response.diagnostics,
        Response::Update(response) => &mut response.diagnostics,
    }
}

/// The prefix of the User-Agent of clients that use YAZ: zoomsh, and programs with the ZOOM libraries for C, Perl, PHP and other
/// languages.
const YAZ: &str = "YAZ/";

/// The maximum number of characters of a request that a diagnostic repeats.
const MAX_REPEATED: usize = 200;

/// Shortens the text of a diagnostic, because it may contain a long part of the request.
fn shorten(diagnostic: &mut SruDiagnostic) {
    let texts = diagnostic
        .message
        .iter_mut()
        .chain([&mut diagnostic.details]);
    for text in texts {
        if let Some((end, _)) = text.char_indices().nth(MAX_REPEATED) {
            text.truncate(end);
            text.push('…');
        }
    }
}

fn with_echo(mut response: Response, request: Box<Request>) -> Response {
    match &mut response {
        Response::SearchRetrieve(response) => response.echo = Some(request),
        Response::Scan(response) => response.echo = Some(request),
        Response::Explain(response) => response.echo = Some(request),
        // The response to a Record Update does not echo the request.
        Response::Update(_) => {}
    }
    response
}

#[cfg(test)]
mod tests;
