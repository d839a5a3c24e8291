//! A server of a cluster, with its connections, and the exchange of a request and its answer.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use z3950::transport::{BoxStream, Connect, RouteError};
use z3950::url::Mode;
use z3950::{Endpoint, Host, Routes, Timeouts};
use z3950_server::lock;

use super::address::{ClusterAccess, ClusterAddress};
use super::{Draft, Failure, ServerCounts, refused};
use crate::trouble::Trouble;

/// The time for which a failed server is used only after all other servers.
pub(super) const PAUSE: Duration = Duration::from_secs(10);
/// The maximum time to wait for a connection.
const OPENING_TIME: Duration = Duration::from_secs(3);
/// The maximum number of octets in an answer's head, and the size of a connection's buffer.
const MOST_HEAD: usize = 64 << 10;
const AGENT: &str = concat!("z3950d/", env!("CARGO_PKG_VERSION"));

/// A server of a cluster.
pub(super) struct Server {
    place: String,
    /// The connector, host and port for the server, or the reason why there is no connector.
    route: Result<(Arc<dyn Connect>, Host, u16), String>,
    authorization: Option<HeaderValue>,
    free: Mutex<Vec<Connection>>,
    permits: Semaphore,
    /// The time of the last failure, if the server has not answered since.
    failed: Mutex<Option<Instant>>,
    failures: AtomicU64,
    trouble: Trouble,
}

/// An open connection. Dropping it closes the socket, so that the server cancels the request.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) fn new(
        address: &ClusterAddress,
        routes: &Routes,
        access: &ClusterAccess,
        connections: usize,
    ) -> Self {
        let credentials = access.credentials.as_ref();
        Self {
            place: address.to_string(),
            route: route(address, routes),
            authorization: credentials.map(|credentials| credentials.header().clone()),
            free: Mutex::default(),
            permits: Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)),
            failed: Mutex::default(),
            failures: AtomicU64::default(),
            trouble: Trouble::default(),
        }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Returns whether the server failed recently.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.failed).is_some_and(|failed| failed.elapsed() < PAUSE)
    }

    pub(super) fn counts(&self) -> ServerCounts {
        ServerCounts {
            server: self.place.clone(),
            failures: self.failures.load(Ordering::Relaxed),
            is_up: lock(&self.failed).is_none(),
        }
    }

    /// Sends a request, and waits at most `time` for a free connection and the whole answer.
    pub(super) async fn ask(&self, draft: &Draft, time: Duration) -> Result<Value, Failure> {
        let deadline = Instant::now()
            .checked_add(time)
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
        let busy = || Failure::Busy {
            place: self.place.clone(),
        };
        // The semaphore is never closed, so this error does not occur.
        let permit = timeout_at(deadline, self.permits.acquire())
            .await
            .map_err(|_| busy())?
            .map_err(|_| busy())?;
        let late = || Failure::Late {
            place: self.place.clone(),
            limit: time,
        };
        let answer = timeout_at(deadline, self.exchange(permit, draft)).await;
        let answer = answer.unwrap_or_else(|_| Err(late()));
        match &answer {
            Err(
                failure @ (Failure::Unreachable { .. }
                | Failure::Late { .. }
                | Failure::ClosedWithoutAnswer { .. }),
            ) => self.note_failure(failure),
            _ => self.note_answer(),
        }
        answer
    }

    /// Returns whether the server no longer answers any requests. A server that is being killed may still accept
    /// connections for a moment.
    pub(super) async fn is_gone(&self) -> bool {
        let asked = async {
            let mut connection = self.open().await?;
            let request = self.request(&Draft::read("/", 0))?;
            let answer = connection.sender.send_request(request).await;
            answer.map_err(|_| self.closed())
        };
        !matches!(timeout(OPENING_TIME, asked).await, Ok(Ok(_)))
    }

    /// Returns whether a connection is kept for further requests and is still open.
    #[cfg(test)]
    pub(super) fn is_connected(&self) -> bool {
        lock(&self.free).iter().any(|kept| !kept.sender.is_closed())
    }

    fn note_failure(&self, why: &Failure) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *lock(&self.failed) = Some(Instant::now());
        // After a failure, the free connections may hang too. They are dropped, so that no waiting request gets one of them.
        lock(&self.free).clear();
        let server = &*self.place;
        if let Some(requests) = self.trouble.failed() {
            tracing::warn!(server, requests, %why, "a server of the search engine does not answer");
        } else {
            tracing::debug!(server, %why, "a server of the search engine does not answer");
        }
    }

    fn note_answer(&self) {
        *lock(&self.failed) = None;
        if let Some(failed) = self.trouble.end() {
            tracing::warn!(server = %self.place, failed, "the server of the search engine answers again");
        }
    }

    async fn exchange(
        &self,
        _permit: SemaphorePermit<'_>,
        draft: &Draft,
    ) -> Result<Value, Failure> {
        // A pooled connection may have been closed in the meantime, which only the next request on it reveals.
        while let Some(mut kept) = self.kept() {
            if kept.sender.ready().await.is_err() {
                continue;
            }
            match kept.sender.send_request(self.request(draft)?).await {
                Err(error) if error.is_canceled() => continue,
                Err(_) => return Err(self.closed()),
                Ok(answer) => return self.receive(kept, answer, draft).await,
            }
        }
        let mut connection = self.open().await?;
        let answer = connection
            .sender
            .send_request(self.request(draft)?)
            .await
            .map_err(|_| self.closed())?;
        self.receive(connection, answer, draft).await
    }

    fn kept(&self) -> Option<Connection> {
        lock(&self.free).pop()
    }

    fn closed(&self) -> Failure {
        Failure::ClosedWithoutAnswer {
            place: self.place.clone(),
        }
    }

    /// Receives the body of an answer. The connection is kept for further requests if the answer is valid.
    async fn receive(
        &self,
        connection: Connection,
        answer: hyper::Response<hyper::body::Incoming>,
        draft: &Draft,
    ) -> Result<Value, Failure> {
        let (head, body) = answer.into_parts();
        // A refusal may be longer than the expected answer, so the limit is raised.
        let limit = draft.limit.max(MOST_HEAD);
        let body = Limited::new(body, limit)
            .collect()
            .await
            .map_err(|error| match error.downcast::<hyper::Error>() {
                Ok(_) => self.closed(),
                Err(_) => Failure::TooLarge {
                    place: self.place.clone(),
                    limit,
                },
            })?;
        if head.headers.contains_key(CONTENT_ENCODING) {
            return Err(self.not_json(head.status));
        }
        let answer = self.read(head.status, &head.headers, &body.to_bytes());
        if !matches!(answer, Err(Failure::NotJson { .. })) && !connection.sender.is_closed() {
            lock(&self.free).push(connection);
        }
        answer
    }

    fn read(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<Value, Failure> {
        let value: Option<Value> = serde_json::from_slice(body).ok();
        let value = value.filter(Value::is_object);
        if status.is_success() {
            return value.ok_or_else(|| self.not_json(status));
        }
        let is_busy = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        match value {
            None if !is_busy.contains(&status) => Err(self.not_json(status)),
            value => {
                let place = self.place.clone();
                let value = value.unwrap_or_default();
                Err(refused(
                    place,
                    status.as_u16(),
                    &value,
                    retry_after(headers),
                ))
            }
        }
    }

    fn not_json(&self, status: StatusCode) -> Failure {
        Failure::NotJson {
            place: self.place.clone(),
            status: status.as_u16(),
        }
    }

    fn request(&self, draft: &Draft) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder()
            .method(draft.method.clone())
            .uri(&draft.path)
            .header(HOST, &self.place)
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json");
        if !draft.body.is_empty() {
            request = request.header(CONTENT_TYPE, draft.content_type);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(draft.body.clone()));
        request.map_err(|error| self.unreachable(error))
    }

    async fn open(&self) -> Result<Connection, Failure> {
        let opened = timeout(OPENING_TIME, self.connect()).await;
        let stream = opened.map_err(|_| self.unreachable("no connection in time"))??;
        let mut builder = Builder::new();
        builder.max_buf_size(MOST_HEAD);
        let shaken = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| self.unreachable(error))?;
        // Errors are reported by the request in progress, so the result of this task is dropped.
        let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Connection { sender, task })
    }

    async fn connect(&self) -> Result<BoxStream, Failure> {
        let route = self.route.as_ref();
        let (connector, host, port) = route.map_err(|words| self.unreachable(words))?;
        let mut timeouts = Timeouts::default();
        timeouts.connect = Some(OPENING_TIME);
        let connected = connector.connect(host, *port, &timeouts).await;
        connected.map_err(|error| self.unreachable(words_of(&error)))
    }

    fn unreachable(&self, words: impl fmt::Display) -> Failure {
        Failure::Unreachable {
            place: self.place.clone(),
            words: words.to_string(),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.place).finish()
    }
}

/// Returns the connector, host and port for a server.
fn route(
    address: &ClusterAddress,
    routes: &Routes,
) -> Result<(Arc<dyn Connect>, Host, u16), String> {
    let bracketed = if address.host.contains(':') {
        format!("[{}]", address.host)
    } else {
        address.host.clone()
    };
    let host = Host::parse(bracketed, Mode::Lenient).map_err(|error| error.to_string())?;
    let endpoint = if address.is_secure {
        Endpoint::Https(host.clone(), address.port)
    } else {
        Endpoint::Http(host.clone(), address.port)
    };
    let connector = routes
        .to(&endpoint, None)
        .map_err(|error: RouteError| error.to_string())?;
    Ok((connector, host, address.port))
}

/// Formats an error with its causes.
fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    words
}

/// Returns the delay that a server requests (RFC 9110 §10.2.3), if the delay is in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
