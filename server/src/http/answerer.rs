//! Answers the HTTP requests on a connection: reads each request, passes it to SRU or another handler, and applies faults to the
//! answer.

mod web;

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::sync::watch;
use tokio::time::sleep;
use z3950_asn1::sru::{self, Refusal, SoapFault, SoapRequestError, SruLimits, SruOperation};

use super::answer::{HttpAnswer, XML, kind_for, plain};
use super::fault;
use super::observed;
use super::outgoing::Outgoing;
use super::request::{Carrier, Heading, Problem, foreign, read, read_body};
use super::wire::{Exchange, WriteMode};
use crate::budget::DECODED;
use crate::connection::slots::{Slot, Slots};
use crate::connection::tally::{Requester, Tally};
use crate::connection::{Client, Context};
use crate::diagnostic::Diagnostic;
use crate::fault::{Fault, HttpSubject, Script, sru as sru_faults};
use crate::lock::lock;
use crate::metrics::{OperationKind, OperationTimer, SessionEnd};
use crate::observer::Peer;
use crate::sru::{SruReply, SruRequest, SruSession, SruStatus};
use crate::target::Target;
use crate::web::WebParts;

/// Answers the requests on a connection, one at a time.
pub(super) struct Answerer<'a> {
    session: SruSession,
    session_number: u64,
    peer: Peer,
    /// The connection slots in which further sessions of the client are counted; `None` if the sessions are not counted.
    slots: Option<Slots>,
    context: &'a Arc<Context>,
    exchange: &'a Arc<Mutex<Exchange>>,
    stopping: &'a watch::Receiver<bool>,
    tally: &'a mut Tally,
    limits: SruLimits,
    /// The value of the Server header.
    server: Option<HeaderValue>,
    is_encrypted: bool,
    /// The faults of the connection; `None` if the server does not have any.
    script: Option<Script>,
    /// Whether the observer uses the HTTP messages.
    is_observed: bool,
}

/// A request that has been read completely.
enum HttpRequest {
    /// An OPTIONS request.
    Options,
    Sru(Box<OfSru>),
    Web(Box<Heading>, Bytes),
}

/// An SRU request.
struct OfSru {
    heading: Heading,
    request: Result<sru::Request, Refusal>,
    /// The value of the Accept header.
    accepted: Option<HeaderValue>,
}

/// An answer, and the faults that strike it.
struct Answered {
    answer: HttpAnswer,
    /// The further parts of the body, which arrive later; `None` if the body is complete.
    parts: Option<WebParts>,
    striking: Vec<Fault>,
}

impl<'a> Answerer<'a> {
    pub(super) fn new(
        session: SruSession,
        client: &Client,
        context: &'a Arc<Context>,
        exchange: &'a Arc<Mutex<Exchange>>,
        stopping: &'a watch::Receiver<bool>,
        tally: &'a mut Tally,
        is_encrypted: bool,
    ) -> Self {
        let target = &context.target;
        let mut limits = SruLimits::default();
        limits.parameter = target.limits.query_text;
        limits.document = target.limits.apdu_size;
        let faults = &context.faults;
        let script = || Script::new(Arc::clone(faults), client.number);
        Self {
            session,
            peer: client.peer,
            slots: client.slot.as_ref().map(Slot::slots),
            exchange,
            stopping,
            tally,
            limits,
            server: server_name(target),
            context,
            is_encrypted,
            script: (!faults.is_empty()).then(script),
            is_observed: context.observer.wants_http(),
            session_number: client.number,
        }
    }

    /// Answers a request. Dropping the future cancels the operation.
    ///
    /// `octets` are the known part of the head, in the form in which the client sent it.
    pub(super) async fn answer(
        &mut self,
        request: Request<Incoming>,
        octets: Vec<u8>,
    ) -> Result<Response<Outgoing>, Infallible> {
        let (head, body) = request.into_parts();
        let web = self.context.web.as_ref();
        let web = web.filter(|web| web.takes(&head));
        let mut kept = Bytes::new();
        let asked = self.read(&head, &octets, web.is_some(), body, &mut kept);
        let asked = asked.await;
        drop(octets);
        if self.is_observed {
            let message = observed::request(&head, kept);
            let observer = &self.context.observer;
            observer.http_received(self.session_number, &message);
        }
        let counts = {
            let mut exchange = lock(self.exchange);
            let length = head.headers.get(CONTENT_LENGTH);
            let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
            exchange.answering(length.unwrap_or(0), is_last(&head));
            exchange.take_counts()
        };
        self.tally.http_received(counts);
        let is_head = head.method == Method::HEAD;
        let has_chunks = head.headers.contains_key(TRANSFER_ENCODING);
        let answered = match (asked, web) {
            (Ok(HttpRequest::Sru(asked)), _) => {
                let database = asked.heading.database.clone();
                let answered = self.carry_out(*asked).await;
                self.or_missing(&head, &database, answered)
            }
            (Ok(HttpRequest::Web(heading, body)), Some(web)) => {
                self.of_web(&**web, head, *heading, body).await
            }
            (Ok(_), _) => self.told(plain(StatusCode::NO_CONTENT, "")),
            (Err(problem), _) => self.told(refused(problem)),
        };
        let Answered {
            mut answer,
            mut parts,
            striking,
        } = answered;
        if !striking.is_empty()
            && let Some(parts) = parts.take()
        {
            answer.body = self.collect(parts).await;
        }
        let charged = lock(self.exchange).charge.set(answer.body.len());
        if let Err(why) = charged {
            answer = without_room(&why);
            parts = None;
        }
        let manner = if striking.is_empty() {
            WriteMode::default()
        } else {
            self.strike(&striking, &mut answer).await
        };
        let mut exchange = lock(self.exchange);
        answer.is_last |= has_chunks;
        exchange.is_last |= answer.is_last;
        exchange.sending(manner, parts.is_some() && !is_head);
        drop(exchange);
        let body = answer.body.clone();
        let mut response = answer.into_response(self.server.as_ref());
        if let Some(parts) = parts {
            *response.body_mut() = Outgoing::Parts(parts, Arc::clone(self.exchange));
        }
        if self.is_observed {
            let message = observed::answer(&response, body);
            let observer = &self.context.observer;
            observer.http_sent(self.session_number, &message);
        }
        Ok(response)
    }

    /// Applies faults to an HTTP answer; returns how to write the answer.
    async fn strike(&self, striking: &[Fault], answer: &mut HttpAnswer) -> WriteMode {
        let struck = fault::strike(striking, answer);
        if struck.is_silent || !struck.delay.is_zero() {
            lock(self.exchange).delayed();
        }
        if struck.is_silent {
            std::future::pending::<()>().await;
        }
        if !struck.delay.is_zero() {
            sleep(struck.delay).await;
        }
        struck.manner
    }

    /// Returns the faults that strike a request.
    fn striking(&mut self, request: impl FnOnce() -> HttpSubject) -> Vec<Fault> {
        let script = self.script.as_mut();
        script.map_or_else(Vec::new, |script| script.striking_http(&request()))
    }

    /// Reads a request with its body.
    async fn read(
        &mut self,
        head: &Parts,
        octets: &[u8],
        is_web: bool,
        body: Incoming,
        kept: &mut Bytes,
    ) -> Result<HttpRequest, Problem> {
        if let Some(problem) = foreign(&head.uri, self.is_encrypted, is_web) {
            return Err(problem);
        }
        let heading = read(head, octets, is_web)?;
        let most = self.context.target.limits.apdu_size;
        let body = match heading.carrier {
            Carrier::Nothing => return Ok(HttpRequest::Options),
            Carrier::Web if head.method != Method::POST => Bytes::new(),
            Carrier::Url => Bytes::new(),
            Carrier::Form | Carrier::Soap | Carrier::Web => {
                read_body(body, heading.length, most).await?
            }
        };
        *kept = body.clone();
        let query = head.uri.query().unwrap_or_default().as_bytes();
        let length = query.len().max(body.len());
        let charged = lock(self.exchange)
            .charge
            .cover(length.saturating_mul(DECODED));
        charged.map_err(|why| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why.to_string()))?;
        let request = match heading.carrier {
            Carrier::Soap => match sru::Request::from_soap(body, &self.limits) {
                Ok(request) => Ok(request),
                Err(SoapRequestError::Refused(refusal)) => Err(refusal),
                Err(SoapRequestError::Xml(error)) => return Err(Problem::fault(&error)),
                Err(other) => return Err(Problem::fault(&format_args!("{other:?}"))),
            },
            Carrier::Form => sru::Request::from_parameters(&body, &self.limits),
            Carrier::Web => return Ok(HttpRequest::Web(Box::new(heading), body)),
            Carrier::Url | Carrier::Nothing => sru::Request::from_parameters(query, &self.limits),
        };
        if heading.is_of_page && matches!(&request, Ok(request) if is_update(request)) {
            let words = "updates from web pages are refused";
            return Err(Problem::new(StatusCode::FORBIDDEN, words));
        }
        Ok(HttpRequest::Sru(Box::new(OfSru {
            heading,
            request,
            accepted: head.headers.get(ACCEPT).cloned(),
        })))
    }

    /// Performs an SRU request and returns its answer.
    async fn carry_out(&mut self, asked: OfSru) -> Answered {
        let OfSru {
            heading,
            request,
            accepted,
        } = asked;
        let of_any = match &request {
            Ok(request) => request,
            Err(refusal) => &refusal.request,
        };
        let kind = kind(of_any);
        let accepted = match (&of_any.http_accept, &accepted) {
            (Some(accepted), _) => kind_for(accepted),
            (None, Some(accepted)) => kind_for(accepted.to_str().unwrap_or_default()),
            (None, None) => XML,
        };
        // Pages from other origins may read any response to a GET without credentials (Fetch standard, "CORS protocol").
        let is_public = heading.carrier == Carrier::Url && heading.login.is_none();
        let striking = self.striking(|| subject(&heading.database, of_any));
        let timer = OperationTimer::begin(kind, &self.context.metrics);
        let mut asked = SruRequest::new(heading.database, request);
        asked.login = heading.login;
        asked.authority = heading.authority;
        asked.via = heading.via;
        asked.user_agent = heading.user_agent;
        asked.secure = self.is_encrypted;
        let mut reply = self.session.answer(asked).await;
        let from = Requester {
            peer: self.peer.ip(),
            user: self.session.user(),
        };
        self.tally.sru_answered(timer, &reply, from);
        if reply.hang_up {
            self.tally.ends(SessionEnd::Refused, None);
        }
        for fault in &striking {
            sru_faults::answer(fault, &mut reply.response);
        }
        // The charge covers the records and their copy in the body.
        let octets = octets(&reply.response).saturating_mul(2);
        let charged = lock(self.exchange).charge.set(octets);
        if !reply.silence.is_zero() {
            lock(self.exchange).withheld();
            sleep(reply.silence).await;
        }
        if let Err(why) = charged {
            return Answered::whole(without_room(&why), striking);
        }
        let mut answer = answer(&reply, heading.carrier, accepted);
        if is_public {
            let any = HeaderValue::from_static("*");
            answer.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
        }
        Answered::whole(answer, striking)
    }

    /// Counts the answer to a request other than SRU, and returns it.
    fn told(&mut self, answer: HttpAnswer) -> Answered {
        let timer = OperationTimer::begin(OperationKind::Http, &self.context.metrics);
        self.tally.http_answered(timer, answer.status.as_u16());
        Answered::whole(answer, self.striking(HttpSubject::default))
    }
}

impl Drop for Answerer<'_> {
    fn drop(&mut self) {
        let counts = lock(self.exchange).take_counts();
        self.tally.http_counted(counts);
    }
}

impl Answered {
    fn whole(answer: HttpAnswer, striking: Vec<Fault>) -> Self {
        Self {
            answer,
            parts: None,
            striking,
        }
    }
}

impl Problem {
    /// Creates the problem to report for a body that is not an SRU request.
    fn fault(error: &dyn Display) -> Self {
        let words = error.to_string();
        Self {
            is_of_soap: true,
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, words)
        }
    }
}

/// Returns the answer for a refused request.
fn refused(problem: Problem) -> HttpAnswer {
    let Problem {
        status,
        words,
        is_of_soap,
    } = problem;
    if is_of_soap {
        return HttpAnswer {
            kind: Some(XML),
            ..plain(status, SoapFault::client(words).to_soap())
        };
    }
    let is_last = [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE].contains(&status);
    HttpAnswer {
        is_last,
        ..plain(status, words + "\n")
    }
}

fn without_room(why: &Diagnostic) -> HttpAnswer {
    plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"))
}

/// Returns the total number of octets of the records in an answer.
fn octets(response: &sru::Response) -> usize {
    let sru::Response::SearchRetrieve(found) = response else {
        return 0;
    };
    let taken = |record: &sru::SruRecord| record.data.len() + size_of::<sru::SruRecord>();
    found.records.iter().map(taken).sum()
}

/// Encodes the SRU answer for the way in which the request was sent.
fn answer(reply: &SruReply, carrier: Carrier, kind: &'static str) -> HttpAnswer {
    let (body, kind) = match carrier {
        Carrier::Soap => (reply.response.to_soap(), XML),
        _ => (reply.response.to_xml(reply.stylesheet.as_deref()), kind),
    };
    let status = match reply.status {
        SruStatus::Answered => StatusCode::OK,
        SruStatus::UnknownDatabase => StatusCode::NOT_FOUND,
        SruStatus::Unauthorized => StatusCode::UNAUTHORIZED,
        SruStatus::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
    };
    HttpAnswer {
        status,
        kind: Some(kind),
        headers: HeaderMap::new(),
        body: body.into(),
        is_last: reply.hang_up,
    }
}

/// Returns the parts of a request that the conditions of faults depend on.
fn subject(database: &str, request: &sru::Request) -> HttpSubject {
    let query = match &request.operation {
        SruOperation::SearchRetrieve(search) => search.query.clone(),
        SruOperation::Scan(scan) => scan.clause.clone(),
        SruOperation::Explain(_) | SruOperation::Update(_) => String::new(),
    };
    HttpSubject {
        operation: Some(request.operation.name()),
        database: database.to_owned(),
        query,
    }
}

fn is_update(request: &sru::Request) -> bool {
    matches!(request.operation, SruOperation::Update(_))
}

fn kind(request: &sru::Request) -> OperationKind {
    match request.operation {
        SruOperation::SearchRetrieve(_) => OperationKind::SruSearch,
        SruOperation::Scan(_) => OperationKind::SruScan,
        SruOperation::Explain(_) => OperationKind::SruExplain,
        SruOperation::Update(_) => OperationKind::SruUpdate,
    }
}

/// Returns whether the client wants the connection to end after this answer.
///
/// A chunked request is always treated as the last one, because hyper does not reveal where it ends, or where the next request in
/// the same packet begins.
fn is_last(head: &Parts) -> bool {
    if head.headers.contains_key(TRANSFER_ENCODING) {
        return true;
    }
    let mut options = head
        .headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let mut is_named = |name: &str| options.any(|option| option.trim().eq_ignore_ascii_case(name));
    if head.version >= Version::HTTP_11 {
        is_named("close")
    } else {
        !is_named("keep-alive")
    }
}

/// Returns the value of the Server header.
pub(super) fn server_name(target: &Target) -> Option<HeaderValue> {
    let name = target.offer.implementation_name.as_deref();
    let version = target.offer.implementation_version.as_deref();
    let server = [name, version].into_iter().flatten().collect::<Vec<_>>();
    server.join("/").parse().ok()
}

/// Creates the SRU session of a connection.
pub(super) fn session(client: &Client, context: &Context) -> SruSession {
    let session = SruSession::new(Arc::clone(&context.target));
    match client.peer.ip() {
        Some(address) => session.with_peer(address),
        None => session,
    }
}
