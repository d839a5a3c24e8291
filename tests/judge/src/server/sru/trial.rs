//! A check in progress. It sends HTTP requests within limits on a connection of its own, which it uses until the server closes
//! it.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::Method;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use z3950_asn1::sru::Version;

use super::answer::{HttpReply, JudgedReply, shortened};
use super::parameters::SruParameters;
use super::tap::{LoggedStream, PassedOctets, SharedLog};
use super::tree::XmlTree;
use crate::server::ledger::Ledger;
use crate::server::offer::{MissingPrerequisite, SruOffer};
use crate::server::options::{JudgeOptions, JudgedServer};
use crate::server::trial::{QUIET, seconds};
use crate::server::verdict::{Checked, Preparation, Verdict, counted};
use z3950::error::chain;
use z3950::sru::{login, path};

/// The media types in the Accept header.
const ACCEPTED: &str = "application/sru+xml, text/xml, application/xml, */*;q=0.5";
/// The media type of forms.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";
/// The media type of SOAP requests.
pub(super) const SOAP: &str = "text/xml; charset=utf-8";

/// A check in progress.
pub(in crate::server) struct SruTrial {
    /// What the server offers.
    pub(super) offer: Arc<SruOffer>,
    server: Arc<JudgedServer>,
    connection: Option<TappedConnection>,
    /// The messages of the check, and their cost.
    pub(in crate::server) ledger: Ledger,
}

/// An open connection. The task that serves it ends when the value is dropped.
struct TappedConnection {
    sender: http1::SendRequest<Full<Bytes>>,
    task: AbortHandle,
    log: SharedLog,
    is_used: bool,
}

impl Drop for TappedConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An HTTP request.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) method: Method,
    /// The path and query string.
    pub(super) path: String,
    pub(super) accepted: &'static str,
    /// The media type and the body; `None` if the request has no body.
    pub(super) body: Option<(&'static str, Bytes)>,
}

impl SentRequest {
    pub(super) fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            accepted: ACCEPTED,
            body: None,
        }
    }

    pub(super) fn post(path: String, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            method: Method::POST,
            body: Some((kind, body.into())),
            ..Self::get(path)
        }
    }
}

/// The reason why a request was not answered.
enum NoReply {
    /// The connection ended before any part of the answer arrived.
    Lost(String),
    /// Another reason, which determines the verdict of the check.
    Other(Verdict),
}

impl SruTrial {
    pub(in crate::server) fn new(server: Arc<JudgedServer>, offer: Arc<SruOffer>) -> Self {
        Self {
            offer,
            server,
            connection: None,
            ledger: Ledger::default(),
        }
    }

    /// Returns the options of the judgement.
    pub(super) fn options(&self) -> &JudgeOptions {
        &self.server.options
    }

    /// Returns the path of the database.
    pub(super) fn base(&self) -> String {
        let first = self.options().databases.first();
        let name = first.map_or_else(String::new, |name| name.0.to_string_lossy().into_owned());
        path(&name)
    }

    /// Ends the check unless the server supports this version.
    pub(super) fn offered(&self, version: Version) -> Checked {
        if self.offer.versions.contains(&version) {
            Ok(())
        } else if self.offer.has_answered {
            Err(Verdict::not_offered(format!(
                "the server does not answer in {}",
                version.as_str()
            )))
        } else {
            Err(Verdict::not_judged("no answer of SRU came"))
        }
    }

    /// Returns the version to use for checks that do not depend on the version: the latest version that the server supports.
    pub(super) fn main(&self) -> Checked<Version> {
        let version = self.offer.versions.last().copied();
        version.ok_or_else(|| Verdict::not_judged("no answer of SRU came"))
    }

    /// Returns the query with hits. Ends the check if the query has fewer hits than this number.
    pub(super) fn query(&self, hits: u64) -> Checked<String> {
        if self.offer.missing.contains(&MissingPrerequisite::Query) {
            return Err(Verdict::not_judged("the query that was given is refused"));
        }
        match (self.offer.hits, &self.offer.query) {
            (found, Some(query)) if found >= hits => Ok(query.clone()),
            (found, _) => Err(Verdict::not_judged(format!(
                "needs a query with {} or more; the best has {found}",
                counted(hits, "hit")
            ))),
        }
    }

    /// Ends the check if the server finds records for words that do not occur anywhere, as some test servers do.
    pub(super) fn indexed(&self) -> Checked {
        if self.offer.has_index {
            Ok(())
        } else {
            Err(Verdict::not_judged("a word that occurs nowhere has hits"))
        }
    }

    /// Returns a search for the first record of the query with hits.
    pub(super) fn search(&self, version: Version) -> Checked<SruParameters> {
        Ok(self.search_for(version, &self.query(1)?))
    }

    /// Returns a search for the first record of a query.
    pub(super) fn search_for(&self, version: Version, query: &str) -> SruParameters {
        SruParameters::search(version, self.offer.names_version, query)
    }

    /// Returns a scan of five terms with the scan clause that was found to work.
    pub(super) fn scan(&self, version: Version) -> Checked<SruParameters> {
        match &self.offer.scan_clause {
            Some(clause) => Ok(SruParameters::scan(
                version,
                self.offer.names_version,
                clause,
            )),
            None => Err(Verdict::not_offered("no scan was answered with terms")),
        }
    }

    /// Returns an explain request.
    pub(super) fn explain(&self, version: Version) -> SruParameters {
        SruParameters::explain(version, self.offer.names_version)
    }

    /// Sends a GET request. Fails unless the answer is XML.
    pub(super) async fn ask(&mut self, parameters: &SruParameters) -> Checked<JudgedReply> {
        let message = SentRequest::get(self.path_of(parameters));
        self.ask_by(message).await
    }

    /// Sends a GET request that the check needs. Ends the check if the request fails.
    pub(super) async fn given(&mut self, parameters: &SruParameters) -> Checked<JudgedReply> {
        self.ask(parameters)
            .await
            .and_then(JudgedReply::accepted)
            .given()
    }

    /// Sends a request with any method. Fails unless the answer is XML.
    pub(super) async fn ask_by(&mut self, message: SentRequest) -> Checked<JudgedReply> {
        let reply = self.exchange(message).await?;
        Ok(JudgedReply::read(reply)?)
    }

    /// Returns the path and query string of a GET request.
    pub(super) fn path_of(&self, parameters: &SruParameters) -> String {
        let (base, encoded) = (self.base(), self.whole(parameters).encoded());
        let joint = if base.contains('?') { '&' } else { '?' };
        if encoded.is_empty() {
            base
        } else {
            format!("{base}{joint}{encoded}")
        }
    }

    /// Adds the parameters that the options specify for this server.
    pub(super) fn whole(&self, parameters: &SruParameters) -> SruParameters {
        let mut whole = parameters.clone();
        let options = &self.options().sru;
        for (name, value) in &options.parameters {
            whole = whole.with(name, value.clone());
        }
        match self.login().filter(|_| options.login_in_url) {
            Some((user, password)) => whole.with("x-username", user).with("x-password", password),
            None => whole,
        }
    }

    fn login(&self) -> Option<(String, String)> {
        let identity = self.options().init.id_authentication.as_ref()?;
        login(identity).map(|login| (login.user, login.password))
    }

    /// Sends a request, on the previous connection if it is still open.
    pub(super) async fn exchange(&mut self, message: SentRequest) -> Checked<HttpReply> {
        self.pace().await;
        let is_used = self.connection.as_ref().is_some_and(|open| open.is_used);
        let mut sent = self.send(&message).await;
        if let (true, Err(NoReply::Lost(_))) = (is_used, &sent) {
            // The server has closed the connection that it had kept open, so the request is repeated on a new connection.
            self.connection = None;
            sent = self.send(&message).await;
        }
        let (reply, passed) = match sent {
            Ok(reply) => (Ok(reply), self.passed()),
            Err(NoReply::Lost(words)) => (
                Err(Verdict::fail("an answer of HTTP", words)),
                self.passed(),
            ),
            Err(NoReply::Other(verdict)) => (Err(verdict), self.passed()),
        };
        if reply.is_err() {
            self.connection = None;
            let is_silent = passed
                .as_ref()
                .is_none_or(|(_, received, _)| received.length == 0);
            self.ledger.is_silent |= is_silent;
            self.ledger.is_ended = true;
        }
        if let Some((sent, received, is_full)) = passed {
            self.note(&sent, &received, reply.as_ref().ok());
            if is_full {
                self.connection = None;
                let most = self.server.options.limits.check_octets;
                let came = format!("more than {most} octets in one check");
                return Err(Verdict::fail("an answer of a reasonable size", came));
            }
        }
        reply
    }

    /// Returns whether the server sends an HTTP answer to a search.
    pub(in crate::server) async fn is_answered(&mut self) -> bool {
        let version = self.main().unwrap_or(Version::V1_2);
        let query = self.query(0).unwrap_or_else(|_| "a".to_owned());
        let search = self.search_for(version, &query);
        let message = SentRequest::get(self.path_of(&search));
        self.exchange(message).await.is_ok()
    }

    /// Returns whether the connection is still open after it has been used for a request.
    pub(in crate::server) async fn is_kept(&mut self) -> bool {
        match &mut self.connection {
            Some(open) => open.sender.ready().await.is_ok(),
            None => false,
        }
    }

    /// Sends arbitrary octets on a new connection. Returns what the server sends until it closes the connection or stops sending.
    /// Fails if the server sends `most` octets or more.
    pub(super) async fn send_octets(&mut self, octets: &[u8], most: usize) -> Checked<Vec<u8>> {
        let (mut tap, log) = self.send_on_new(octets).await?;
        let limit = self.answer_limit();
        let mut came = Vec::new();
        let conversation = async {
            let mut wait = limit;
            let mut part = [0; 4096];
            while came.len() < most
                && let Ok(Ok(count @ 1..)) = timeout(wait, tap.read(&mut part)).await
            {
                came.extend_from_slice(part.get(..count).unwrap_or_default());
                wait = limit.min(QUIET);
            }
        };
        // A timeout is not a fault, because a connection that stays open and silent is as good as a closed one.
        let _ = timeout(limit, conversation).await;
        self.note_log(&log);
        if came.len() < most {
            Ok(came)
        } else {
            let came = format!("{} and more", counted(came.len(), "octet"));
            Err(Verdict::fail("an answer of a reasonable size", came))
        }
    }

    /// Sends arbitrary octets on a new connection, and then closes the connection.
    pub(super) async fn send_and_hang_up(&mut self, octets: &[u8]) -> Checked {
        let (mut tap, log) = self.send_on_new(octets).await?;
        // An error means that the server has already closed the connection.
        let _ = timeout(self.answer_limit(), tap.shutdown()).await;
        self.note_log(&log);
        Ok(())
    }

    async fn send_on_new(&mut self, octets: &[u8]) -> Checked<(LoggedStream, SharedLog)> {
        self.connection = None;
        self.pace().await;
        let (mut tap, log) = self.connect().await?;
        let sending = async {
            // The server may answer and close the connection before it has read everything, so errors are ignored.
            let _ = tap.write_all(octets).await;
            let _ = tap.flush().await;
        };
        let _ = timeout(self.answer_limit(), sending).await;
        Ok((tap, log))
    }

    fn note_log(&mut self, log: &SharedLog) {
        let (sent, received, _) = log.take();
        self.note(&sent, &received, None);
    }

    /// Closes the connection.
    pub(in crate::server) fn hang_up(&mut self) {
        self.connection = None;
    }

    async fn connect(&mut self) -> Checked<(LoggedStream, SharedLog)> {
        let JudgedServer {
            connector,
            host,
            port,
            options,
            ..
        } = &*self.server;
        let connected = connector.connect(host, *port, &options.timeouts).await;
        let stream = connected.map_err(|error| {
            self.ledger.is_unreachable = true;
            Verdict::not_judged(chain(&error))
        })?;
        let most = options.limits.check_octets;
        let log = SharedLog::new(most.saturating_sub(self.ledger.octets));
        let tap = LoggedStream {
            stream,
            log: log.clone(),
        };
        Ok((tap, log))
    }

    async fn open(&mut self) -> Result<&mut TappedConnection, NoReply> {
        let is_open = self
            .connection
            .as_ref()
            .is_some_and(|open| !open.sender.is_closed());
        if !is_open {
            let (tap, log) = self.connect().await.map_err(NoReply::Other)?;
            let shaken = http1::handshake(TokioIo::new(tap)).await;
            let (sender, connection) = shaken.map_err(|error| NoReply::Lost(chain(&error)))?;
            let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
            self.connection = Some(TappedConnection {
                sender,
                task,
                log,
                is_used: false,
            });
        }
        let open = self.connection.as_mut();
        open.ok_or_else(|| NoReply::Other(Verdict::not_judged("there is no connection")))
    }

    async fn send(&mut self, message: &SentRequest) -> Result<HttpReply, NoReply> {
        let limit = self.answer_limit();
        let request = self.request(message)?;
        let silence = || {
            let words = format!("no answer within {}", seconds(limit));
            NoReply::Other(Verdict::fail("an answer of HTTP", words))
        };
        let open = self.open().await?;
        open.sender
            .ready()
            .await
            .map_err(|error| NoReply::Lost(chain(&error)))?;
        let answered = timeout(limit, open.sender.send_request(request)).await;
        let response = answered.map_err(|_| silence())?;
        let response = response.map_err(|error| NoReply::Lost(chain(&error)))?;
        open.is_used = true;
        let (head, mut body) = response.into_parts();
        let mut octets = BytesMut::new();
        loop {
            let frame = timeout(limit, body.frame()).await.map_err(|_| silence())?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| {
                let words = format!("status {}, then: {}", head.status, chain(&error));
                NoReply::Other(Verdict::fail("the whole of an answer", words))
            })?;
            if let Ok(part) = frame.into_data() {
                octets.extend_from_slice(&part);
            }
        }
        Ok(HttpReply {
            status: head.status.as_u16(),
            headers: head.headers,
            body: octets.freeze(),
        })
    }

    fn request(&self, message: &SentRequest) -> Result<hyper::Request<Full<Bytes>>, NoReply> {
        let JudgedServer { host, port, .. } = &*self.server;
        let agent = concat!("z3950/", env!("CARGO_PKG_VERSION"));
        let mut request = hyper::Request::builder()
            .method(message.method.clone())
            .uri(&message.path)
            .header(HOST, format!("{host}:{port}"))
            .header(USER_AGENT, agent)
            .header(ACCEPT, message.accepted);
        if let Some(basic) = self.basic() {
            request = request.header(AUTHORIZATION, format!("Basic {basic}"));
        }
        let body = match &message.body {
            Some((kind, octets)) => {
                request = request.header(CONTENT_TYPE, *kind);
                if *kind == SOAP {
                    request = request.header("soapaction", "\"\"");
                }
                octets.clone()
            }
            None => Bytes::new(),
        };
        let unusable =
            |error: hyper::http::Error| NoReply::Other(Verdict::not_judged(error.to_string()));
        request.body(Full::new(body)).map_err(unusable)
    }

    /// Returns the credentials for Basic authentication in Base64 (RFC 7617), or `None` if no credentials are to be sent in a
    /// header.
    fn basic(&self) -> Option<String> {
        let (user, password) = self.login().filter(|_| !self.options().sru.login_in_url)?;
        Some(STANDARD.encode(format!("{user}:{password}")))
    }

    /// Waits until the next request may be sent.
    async fn pace(&mut self) {
        let JudgedServer { pacer, options, .. } = &*self.server;
        self.ledger.pace(pacer, options.pause).await;
    }

    fn answer_limit(&self) -> Duration {
        let options = self.options();
        let limit = options.timeouts.answer;
        limit.unwrap_or(options.limits.check_time)
    }

    fn passed(&self) -> Option<(PassedOctets, PassedOctets, bool)> {
        self.connection.as_ref().map(|open| open.log.take())
    }

    /// Adds the messages to the ledger, for the report.
    fn note(&mut self, sent: &PassedOctets, received: &PassedOctets, reply: Option<&HttpReply>) {
        self.ledger.octets = self.ledger.octets.saturating_add(received.length);
        for (is_sent, passed) in [(true, sent), (false, received)] {
            if passed.length == 0 {
                continue;
            }
            let octets = Bytes::copy_from_slice(&passed.kept);
            let length = usize::try_from(passed.length).unwrap_or(usize::MAX);
            self.ledger.note(is_sent, &octets, length, || {
                match reply.filter(|_| !is_sent) {
                    Some(reply) => reply_summary(reply),
                    None => first_line(&octets),
                }
            });
        }
    }
}

/// Returns the first line of a message, and the beginning of its body.
fn first_line(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let line = head.lines().next().unwrap_or_default();
    match body {
        "" => shortened(line),
        body => shortened(&format!("{line} {body}")),
    }
}

/// Formats an answer as one line: its status, media type and length and, if it is XML, the name of its root element.
fn reply_summary(reply: &HttpReply) -> String {
    let root = XmlTree::read(&reply.body).ok().map(|tree| tree.root.name);
    match root {
        Some(name) => format!("{}, {name}", reply.summary()),
        None => reply.summary(),
    }
}
