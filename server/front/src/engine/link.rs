//! Requests to the servers of a cluster over HTTP/1.1 (RFC 9112). Requests are distributed among the servers. For a while after
//! a failure, a server is tried only after all others, and a request that it did not answer is sent to the next server.

pub(crate) mod address;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod reading;
mod server;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use z3950::transport::TlsError;
use z3950::{Routes, TlsOptions};

use self::address::{ClusterAccess, ClusterAddress};
use self::server::Server;

/// A server of an engine, and its number of failed requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounts {
    /// The address of the server: `HOST:PORT`.
    pub server: String,
    /// The number of requests that the server did not answer.
    pub failures: u64,
    /// Whether the server answered the last request; `true` before the first one.
    pub is_up: bool,
}

/// The reason why a request has no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server does not accept connections, or closed the connection before the request was sent.
    #[error("{place}: {words}")]
    Unreachable { place: String, words: String },
    /// All connections with the server are in use.
    #[error("{place}: all connections are in use")]
    Busy { place: String },
    /// The server is overloaded: status 429 or 503.
    #[error("{place}: too busy ({status}): {reason}")]
    TooBusy {
        place: String,
        status: u16,
        reason: String,
        retry_after: Option<Duration>,
    },
    /// The required shards do not answer: status 500 or 503 without a cause, for example while the shards of a lost
    /// node move to other nodes.
    #[error("{place}: shards of the index do not answer ({status}) {reason}")]
    NoShard {
        place: String,
        status: u16,
        reason: String,
    },
    /// The server closed the connection instead of answering, possibly because of the request.
    #[error("{place}: closed the connection without an answer")]
    ClosedWithoutAnswer { place: String },
    /// The server refuses the request; `kind` and `reason` are from its answer.
    #[error("{place}: {status} {kind}: {reason}")]
    Refused {
        place: String,
        status: u16,
        kind: String,
        reason: String,
    },
    /// The answer is not JSON, or does not have the expected form.
    #[error("{place}: the answer with status {status} cannot be understood")]
    NotJson { place: String, status: u16 },
    /// The answer is longer than the request allows.
    #[error("{place}: an answer of more than {limit} octets")]
    TooLarge { place: String, limit: usize },
    /// The answer took too long.
    #[error("{place}: no answer within {} s", .limit.as_secs_f64())]
    Late { place: String, limit: Duration },
}

/// The media type of a search, and of other requests that consist of one JSON value.
pub(crate) const JSON: &str = "application/json";
/// The media type of several JSON values, each on a line.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// A request, which may be sent more than once.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) method: Method,
    /// The path and query string.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    /// The maximum number of octets in the answer.
    pub(crate) limit: usize,
    /// The maximum time to wait for the answer, if it differs from the time for all requests.
    pub(crate) time: Option<Duration>,
    /// Whether the request may be sent to another server if it is not known whether the first one has carried it out.
    pub(crate) is_repeatable: bool,
}

impl Draft {
    /// Creates a request that changes nothing.
    pub(crate) fn read(path: impl Into<String>, limit: usize) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            content_type: JSON,
            body: Bytes::new(),
            limit,
            time: None,
            is_repeatable: true,
        }
    }

    /// Creates a request that changes something.
    pub(crate) fn change(method: Method, path: impl Into<String>, body: &Value) -> Self {
        let body = match body {
            Value::Null => Bytes::new(),
            body => Bytes::from(body.to_string()),
        };
        Self {
            method,
            body,
            time: Some(CHANGE_TIME),
            is_repeatable: false,
            ..Self::read(path, MOST_CHANGED)
        }
    }
}

/// The kind of error with which an index, or the whole cluster, refuses changes.
pub(crate) const BLOCK: &str = "cluster_block_exception";

/// The maximum time to wait for a change, which has to reach the whole cluster.
pub(crate) const CHANGE_TIME: Duration = Duration::from_secs(120);
/// The maximum number of octets in the answer to a change.
const MOST_CHANGED: usize = 1 << 20;

/// A link to the servers of a cluster.
#[derive(Debug)]
pub(crate) struct Link {
    servers: Vec<Server>,
    time: Duration,
    /// The number of requests so far, which determines the server that is tried first.
    turn: AtomicUsize,
}

impl Link {
    /// Creates a link to the servers at these addresses. It has at most `connections` connections to each server, and waits at most
    /// `time` for an answer. It does not connect yet.
    ///
    /// # Errors
    /// Fails if the certificates to trust cannot be used.
    pub(crate) fn with_access(
        addresses: &[ClusterAddress],
        access: &ClusterAccess,
        connections: usize,
        time: Duration,
    ) -> Result<Self, TlsError> {
        let mut routes = Routes::default();
        if addresses.iter().any(|address| address.is_secure) {
            let mut options = TlsOptions::new();
            options.roots = access.ca.clone();
            routes = routes.tls(options);
            routes.read_certificates()?;
        }
        let servers = addresses
            .iter()
            .map(|address| Server::new(address, &routes, access, connections));
        Ok(Self {
            servers: servers.collect(),
            time,
            turn: AtomicUsize::default(),
        })
    }

    /// Creates a link without credentials and with the system's certificates.
    #[cfg(test)]
    pub(crate) fn new(addresses: &[ClusterAddress], connections: usize, time: Duration) -> Self {
        let access = ClusterAccess::default();
        Self::with_access(addresses, &access, connections, time).expect("certificates")
    }

    /// Searches an index. `query_string` is the text after `?`, and may be empty.
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
        self.send(Method::POST, path, body, JSON, limit_octets)
            .await
    }

    /// Searches several times in one request; each search is a header, such as `{"index": "books"}`, and a body. Returns the answers
    /// in the order of the searches.
    ///
    /// # Errors
    /// The [`Failure`] of the first search that failed.
    pub(crate) async fn searches(
        &self,
        searches: &[(Value, Value)],
        limit_octets: usize,
    ) -> Result<Vec<Value>, Failure> {
        let lines = searches
            .iter()
            .map(|(header, body)| format!("{header}\n{body}\n"));
        let body = Bytes::from(lines.collect::<String>());
        let draft = Draft {
            method: Method::POST,
            content_type: NDJSON,
            body,
            ..Draft::read("/_msearch", limit_octets)
        };
        let read = |answer| answers_of(answer, searches.len());
        let lacks_records = |answers: &Vec<Value>| answers.iter().any(lost_a_node);
        match self.ask_until_settled(&draft, read, lacks_records).await {
            // The busy response ended the first attempt, so other servers have not been asked yet.
            Err(Failure::TooBusy { .. }) => self.ask_in_turn(&draft).await.and_then(read),
            outcome => outcome,
        }
    }

    /// Sends a request that changes nothing.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn send(
        &self,
        method: Method,
        path: String,
        body: Bytes,
        content_type: &'static str,
        limit_octets: usize,
    ) -> Result<Value, Failure> {
        let draft = Draft {
            method,
            content_type,
            body,
            ..Draft::read(path, limit_octets)
        };
        self.ask(&draft).await
    }

    /// Sends a request to the servers in turn, until one has received it. If a server does not answer it, or is overloaded, one
    /// other server is tried. A search during which a node was lost is sent again, because other nodes have copies of its
    /// records.
    ///
    /// # Errors
    /// The [`Failure`] of the last server that was reached or, if none was reached, of the last server that was tried.
    pub(crate) async fn ask(&self, draft: &Draft) -> Result<Value, Failure> {
        if draft.is_repeatable {
            self.ask_until_settled(draft, Ok, lost_a_node).await
        } else {
            self.ask_in_turn(draft).await
        }
    }

    /// Repeats a request until shards are available, because a cluster that has just lost a node needs time to detect the loss. If a
    /// node was lost during the request, it is repeated once more, because other nodes may have copies of its records.
    async fn ask_until_settled<T>(
        &self,
        draft: &Draft,
        read: impl Fn(Value) -> Result<T, Failure>,
        lacks_records: impl Fn(&T) -> bool,
    ) -> Result<T, Failure> {
        let mut outcome = self.ask_in_turn(draft).await.and_then(&read);
        for time in SETTLING_TIMES {
            if !matches!(outcome, Err(Failure::NoShard { .. })) {
                break;
            }
            tokio::time::sleep(time).await;
            outcome = self.ask_in_turn(draft).await.and_then(&read);
        }
        match outcome {
            Ok(answer) if lacks_records(&answer) => self.ask_in_turn(draft).await.and_then(read),
            outcome => outcome,
        }
    }

    async fn ask_in_turn(&self, draft: &Draft) -> Result<Value, Failure> {
        let time = draft.time.unwrap_or(self.time);
        let mut failure = Failure::Unreachable {
            place: "the cluster".to_owned(),
            words: "no address".to_owned(),
        };
        let mut is_last = false;
        for server in self.in_turn() {
            match server.ask(draft, time).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => {
                    let next = self.next_after(server, &failed, draft).await;
                    let is_reached = !matches!(failed, Failure::Unreachable { .. });
                    if is_reached || matches!(failure, Failure::Unreachable { .. }) {
                        failure = failed;
                    }
                    match next {
                        Next::Any => {}
                        Next::One if !is_last => is_last = true,
                        Next::One | Next::Nobody => return Err(failure),
                    }
                }
            }
        }
        Err(failure)
    }

    /// Decides which server gets a request that a server did not answer. If a connection was closed without an answer, another
    /// server only gets the request if this server is gone, because a server that is still running closed the connection on
    /// account of the request.
    async fn next_after(&self, server: &Server, failure: &Failure, draft: &Draft) -> Next {
        let has_others = self.servers.len() > 1;
        match failure {
            Failure::Unreachable { .. } | Failure::Busy { .. } => Next::Any,
            Failure::TooBusy { .. } | Failure::NoShard { .. } => Next::One,
            Failure::Late { .. } if draft.is_repeatable => Next::One,
            Failure::ClosedWithoutAnswer { .. }
                if draft.is_repeatable && has_others && server.is_gone().await =>
            {
                Next::One
            }
            _ => Next::Nobody,
        }
    }

    /// Sends a request to all servers at the same time. Returns the address of each server with its answer.
    pub(crate) async fn ask_each(&self, draft: &Draft) -> Vec<(&str, Result<Value, Failure>)> {
        let time = draft.time.unwrap_or(self.time);
        let asked = self
            .servers
            .iter()
            .map(async |server| (server.place(), server.ask(draft, time).await));
        futures_util::future::join_all(asked).await
    }

    /// Returns the number of failed requests for each server, and whether it answered the last request.
    pub(crate) fn counts(&self) -> Vec<ServerCounts> {
        self.servers.iter().map(Server::counts).collect()
    }

    /// Returns the servers in the order in which they are tried for the next request: servers that failed recently come last.
    fn in_turn(&self) -> impl Iterator<Item = &Server> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = first.checked_rem(self.servers.len()).unwrap_or_default();
        let (before, after) = self.servers.split_at(first);
        let in_turn = after.iter().chain(before);
        let (sound, failed): (Vec<_>, Vec<_>) = in_turn.partition(|server| !server.has_failed());
        sound.into_iter().chain(failed)
    }
}

/// The delays before each repetition of a search that no shard answered, during which the cluster can detect the loss of a node.
const SETTLING_TIMES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
];

/// The choice of a server for a request that another server did not answer.
enum Next {
    /// Any other server, because this one has not received the request.
    Any,
    /// One other server.
    One,
    Nobody,
}

/// Returns the answers to several searches.
fn answers_of(mut answer: Value, searches: usize) -> Result<Vec<Value>, Failure> {
    let place = || "the cluster".to_owned();
    let malformed = || Failure::NotJson {
        place: place(),
        status: 200,
    };
    let Some(Value::Array(answers)) = answer.get_mut("responses").map(Value::take) else {
        return Err(malformed());
    };
    if answers.len() != searches {
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

/// The maximum number of characters that are kept of a server's error message.
const MOST_WORDS: usize = 300;

/// Returns the failure for a request that a server refused, with the details from its answer.
fn refused(place: String, status: u16, answer: &Value, retry_after: Option<Duration>) -> Failure {
    let error = answer.get("error").unwrap_or(&Value::Null);
    // The root cause quotes a shard; the causes above it only say that all shards failed.
    let root = error.pointer("/root_cause/0").unwrap_or(error);
    let text = |name: &str| {
        let value = root.get(name).or_else(|| error.get(name));
        let text = value.and_then(Value::as_str).or_else(|| error.as_str());
        shortened(text.unwrap_or_default())
    };
    // Solr has its message in `msg`, without a root cause.
    let reason = || match error.get("msg").and_then(Value::as_str) {
        Some(words) => shortened(words),
        None => text("reason"),
    };
    let kind = text("type");
    match status {
        500 | 503 if is_without_shards(error) => Failure::NoShard {
            place,
            status,
            reason: reason(),
        },
        // The status 429 can also mean that an index is blocked while the disk of a node is nearly full, which is a refusal. The
        // status 503 can also mean that a cluster has no manager, which counts as too busy.
        429 | 503 if (status, &*kind) != (429, BLOCK) => Failure::TooBusy {
            place,
            status,
            reason: reason(),
            retry_after,
        },
        _ => Failure::Refused {
            place,
            status,
            kind,
            reason: reason(),
        },
    }
}

/// Returns whether a search failed because shards were not available, and not because one of them refused it.
fn is_without_shards(error: &Value) -> bool {
    let causes = error.get("root_cause").and_then(Value::as_array);
    error.get("type").and_then(Value::as_str) == Some("search_phase_execution_exception")
        && causes.is_none_or(Vec::is_empty)
}

/// Returns whether a node was lost during the search. A node that was lost earlier does not cause such a failure.
fn lost_a_node(answer: &Value) -> bool {
    let failures = answer
        .pointer("/_shards/failures")
        .and_then(Value::as_array);
    failures.into_iter().flatten().any(|failure| {
        let kind = failure.pointer("/reason/type").and_then(Value::as_str);
        kind.is_some_and(|kind| LOST_NODE.contains(&kind))
    })
}

/// The kinds of failures for shards whose node was lost.
const LOST_NODE: [&str; 4] = [
    "node_disconnected_exception",
    "node_not_connected_exception",
    "node_closed_exception",
    "connect_transport_exception",
];

/// Returns the beginning of a server's message, on one line.
pub(crate) fn shortened(words: &str) -> String {
    let words = words.chars().take(MOST_WORDS);
    words
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
