//! Requests to an OpenSearch cluster by HTTP/1.1: addresses in turn, pooled connections, and bounded answers.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::engine::link::{host_and_port, is_same_machine};
use crate::lock::lock;

/// Where an index of a cluster is: `http://HOST:PORT/INDEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAddress {
    /// The host: a name, or an address of IPv4 or IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The index, or an alias of it.
    pub index: String,
}

/// Why a text is not an address of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as http://127.0.0.1:9200/books")]
pub struct ClusterAddressError;

impl ClusterAddress {
    /// Returns whether both are the same server, as far as their names tell.
    pub fn is_same_server(&self, other: &Self) -> bool {
        is_same_machine(&self.host, &other.host) && self.port == other.port
    }
}

impl FromStr for ClusterAddress {
    type Err = ClusterAddressError;

    fn from_str(text: &str) -> Result<Self, ClusterAddressError> {
        let rest = text.strip_prefix("http://").ok_or(ClusterAddressError)?;
        let (place, index) = rest.split_once('/').ok_or(ClusterAddressError)?;
        let (host, port) = host_and_port(place).ok_or(ClusterAddressError)?;
        if is_index(index) {
            Ok(Self {
                host,
                port,
                index: index.to_owned(),
            })
        } else {
            Err(ClusterAddressError)
        }
    }
}

impl fmt::Display for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Returns whether a text can be the name of an index: small letters, digits, `-` and `_`, beginning with a letter or digit.
fn is_index(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    name.len() <= 200
        && name.chars().all(is_part)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Why a request has no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server does not accept connections, or breaks one off before the request was sent.
    #[error("{place}: {words}")]
    Unreachable { place: String, words: String },
    /// All connections with the server are in use.
    #[error("{place}: all connections are in use")]
    Busy { place: String },
    /// The server has too much to do: 429 or 503.
    #[error("{place}: too busy ({status}): {reason}")]
    TooBusy {
        place: String,
        status: u16,
        reason: String,
        retry_after: Option<Duration>,
    },
    /// The server closed the connection instead of answering. The request may be why: it must not be sent again.
    #[error("{place}: closed the connection without an answer")]
    ClosedWithoutAnswer { place: String },
    /// The server refuses the request; `kind` and `reason` are its own words.
    #[error("{place}: {status} {kind}: {reason}")]
    Refused {
        place: String,
        status: u16,
        kind: String,
        reason: String,
    },
    /// The answer is not JSON, or has another form than expected.
    #[error("{place}: the answer with status {status} cannot be understood")]
    NotJson { place: String, status: u16 },
    /// The answer is longer than the request allows.
    #[error("{place}: an answer of more than {limit} octets")]
    TooLarge { place: String, limit: usize },
    /// The answer took too long.
    #[error("{place}: no answer within {} s", .limit.as_secs_f64())]
    Late { place: String, limit: Duration },
}

/// The longest wait for a connection.
const OPENING_TIME: Duration = Duration::from_secs(3);

type Sender = SendRequest<Full<Bytes>>;

/// A request, which may be sent more than once.
struct Draft<'a> {
    method: Method,
    path: String,
    body: Bytes,
    content_type: &'a str,
    limit: usize,
}

/// The servers of a cluster.
#[derive(Debug)]
pub(crate) struct Link {
    servers: Vec<Server>,
    time: Duration,
    /// The number of requests, by which servers take turns.
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Server {
    place: String,
    host: String,
    port: u16,
    free: Mutex<Vec<Sender>>,
    permits: Semaphore,
}

impl Link {
    /// Creates a link with the servers at these addresses: at most `connections` with each, and at most `time` for an answer.
    pub(crate) fn new(addresses: &[ClusterAddress], connections: usize, time: Duration) -> Self {
        let servers = addresses.iter().map(|address| Server {
            place: address.to_string(),
            host: address.host.clone(),
            port: address.port,
            free: Mutex::default(),
            permits: Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)),
        });
        Self {
            servers: servers.collect(),
            time,
            turn: AtomicUsize::default(),
        }
    }

    /// Searches an index: `query_string` is what follows `?`, and may be empty.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn search(
        &self,
        index: &str,
        query_string: &str,
        body: &Value,
        limit_octets: usize,
    ) -> Result<Value, Failure> {
        let mut path = format!("/{index}/_search");
        if !query_string.is_empty() {
            path.push('?');
            path.push_str(query_string);
        }
        let body = Bytes::from(body.to_string());
        let json = "application/json";
        self.send(Method::POST, path, body, json, limit_octets)
            .await
    }

    /// Searches several times in one request; each search is a header, such as `{"index": "books"}`, and a body. Returns the answers
    /// in the order of the searches.
    ///
    /// # Errors
    /// See [`Failure`]; that of the first search that failed.
    pub(crate) async fn searches(
        &self,
        searches: &[(Value, Value)],
        limit_octets: usize,
    ) -> Result<Vec<Value>, Failure> {
        let lines = searches
            .iter()
            .map(|(header, body)| format!("{header}\n{body}\n"));
        let body = Bytes::from(lines.collect::<String>());
        let path = "/_msearch".to_owned();
        let ndjson = "application/x-ndjson";
        let mut answer = self
            .send(Method::POST, path, body, ndjson, limit_octets)
            .await?;
        let place = || "the cluster".to_owned();
        let malformed = || Failure::NotJson {
            place: place(),
            status: 200,
        };
        let Some(Value::Array(answers)) = answer.get_mut("responses").map(Value::take) else {
            return Err(malformed());
        };
        if answers.len() != searches.len() {
            return Err(malformed());
        }
        for answer in &answers {
            if answer.get("error").is_some() {
                let status = answer.get("status").and_then(Value::as_u64);
                let status = status.and_then(|status| u16::try_from(status).ok());
                return Err(refused(place(), status.unwrap_or(500), answer, None));
            }
        }
        Ok(answers)
    }

    /// Sends a request, to another server if the first one cannot be reached.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn send(
        &self,
        method: Method,
        path: String,
        body: Bytes,
        content_type: &str,
        limit_octets: usize,
    ) -> Result<Value, Failure> {
        let draft = Draft {
            method,
            path,
            body,
            content_type,
            limit: limit_octets,
        };
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut failed = None;
        for place in 0..self.servers.len().min(2) {
            let at = first.wrapping_add(place) % self.servers.len();
            let Some(server) = self.servers.get(at) else {
                continue;
            };
            match self.ask(server, &draft).await {
                Err(failure @ Failure::Unreachable { .. }) => failed = Some(failure),
                answer => return answer,
            }
        }
        Err(failed.unwrap_or_else(|| Failure::Unreachable {
            place: "the cluster".to_owned(),
            words: "no address".to_owned(),
        }))
    }

    async fn ask(&self, server: &Server, draft: &Draft<'_>) -> Result<Value, Failure> {
        let late = |_| Failure::Late {
            place: server.place.clone(),
            limit: self.time,
        };
        timeout(self.time, server.ask(draft))
            .await
            .map_err(late)
            .flatten()
    }
}

impl Server {
    async fn ask(&self, draft: &Draft<'_>) -> Result<Value, Failure> {
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(Failure::Busy {
                place: self.place.clone(),
            });
        };
        let mut sender = self.sender().await?;
        let closed = || Failure::ClosedWithoutAnswer {
            place: self.place.clone(),
        };
        let answer = sender.send_request(self.request(draft)?).await;
        let answer = answer.map_err(|_| closed())?;
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        let body = Limited::new(answer.into_body(), draft.limit)
            .collect()
            .await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(_) => closed(),
            Err(_) => Failure::TooLarge {
                place: self.place.clone(),
                limit: draft.limit,
            },
        })?;
        lock(&self.free).push(sender);
        self.read(status, retry_after, &body.to_bytes())
    }

    fn read(
        &self,
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Result<Value, Failure> {
        let place = self.place.clone();
        let value: Option<Value> = serde_json::from_slice(body).ok();
        if status.is_success() {
            let status = status.as_u16();
            return value.ok_or(Failure::NotJson { place, status });
        }
        let value = value.unwrap_or_default();
        Err(refused(place, status.as_u16(), &value, retry_after))
    }

    fn request(&self, draft: &Draft<'_>) -> Result<Request<Full<Bytes>>, Failure> {
        let request = Request::builder()
            .method(draft.method.clone())
            .uri(&draft.path)
            .header(HOST, &self.place)
            .header(CONTENT_TYPE, draft.content_type)
            .body(Full::new(draft.body.clone()));
        request.map_err(|error| self.unreachable(error))
    }

    async fn sender(&self) -> Result<Sender, Failure> {
        while let Some(mut sender) = self.pooled() {
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        let opening = TcpStream::connect((&*self.host, self.port));
        let opened = timeout(OPENING_TIME, opening).await;
        let stream = opened.map_err(|_| self.unreachable("no connection in time"))?;
        let stream = stream.map_err(|error| self.unreachable(error))?;
        let _ = stream.set_nodelay(true);
        let shaken = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| self.unreachable(error))?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn pooled(&self) -> Option<Sender> {
        lock(&self.free).pop()
    }

    fn unreachable(&self, words: impl fmt::Display) -> Failure {
        Failure::Unreachable {
            place: self.place.clone(),
            words: words.to_string(),
        }
    }
}

fn retry_after<B>(answer: &Response<B>) -> Option<Duration> {
    let text = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

/// The most characters of a server's words that are kept.
const MOST_WORDS: usize = 300;

/// Returns the failure of a request that a server refused, with what its answer says.
fn refused(place: String, status: u16, answer: &Value, retry_after: Option<Duration>) -> Failure {
    let error = answer.get("error").unwrap_or(&Value::Null);
    // The root cause has the words of a shard; those above it only say that all shards failed.
    let root = error.pointer("/root_cause/0").unwrap_or(error);
    let text = |name: &str| {
        let value = root.get(name).or_else(|| error.get(name));
        let text = value.and_then(Value::as_str).or_else(|| error.as_str());
        let text = text.unwrap_or_default().chars().take(MOST_WORDS);
        text.map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect()
    };
    match status {
        429 | 503 => Failure::TooBusy {
            place,
            status,
            reason: text("reason"),
            retry_after,
        },
        _ => Failure::Refused {
            place,
            status,
            kind: text("type"),
            reason: text("reason"),
        },
    }
}
