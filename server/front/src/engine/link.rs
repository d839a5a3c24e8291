//! Connections with a server of the engine.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use super::mysql::{Rows, SqlConnection, SqlError, SqlResult};
use crate::lock::lock;

/// Where an index of the engine is: `sphinxql://HOST:PORT/INDEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineAddress {
    /// The host.
    pub host: String,
    /// The port of the MySQL protocol.
    pub port: u16,
    /// The index.
    pub index: String,
}

impl EngineAddress {
    /// Whether both are the same server, as far as their names tell.
    pub fn is_same_server(&self, other: &Self) -> bool {
        is_same_machine(&self.host, &other.host) && self.port == other.port
    }
}

/// Why a text is no address of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as sphinxql://127.0.0.1:9306/books")]
pub struct EngineAddressError;

impl FromStr for EngineAddress {
    type Err = EngineAddressError;

    fn from_str(text: &str) -> Result<Self, EngineAddressError> {
        let rest = text.strip_prefix("sphinxql://").ok_or(EngineAddressError)?;
        let (place, index) = rest.split_once('/').ok_or(EngineAddressError)?;
        let (host, port) = host_and_port(place).ok_or(EngineAddressError)?;
        if is_index(index) {
            Ok(Self {
                host,
                port,
                index: index.to_owned(),
            })
        } else {
            Err(EngineAddressError)
        }
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Whether two hosts are the same, as far as their names tell.
pub(super) fn is_same_machine(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|host| {
        if host.eq_ignore_ascii_case("localhost") {
            "127.0.0.1"
        } else {
            host
        }
    });
    one.eq_ignore_ascii_case(other)
}

/// A host and a port; an address of IPv6 is in brackets.
pub(super) fn host_and_port(place: &str) -> Option<(String, u16)> {
    let (host, port) = place.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    let is_host =
        |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c) || inner.is_some() && c == ':';
    (!host.is_empty() && host.chars().all(is_host)).then(|| (host.to_owned(), port))
}

/// Whether a text can be the name of an index: it is part of statements.
fn is_index(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Why the engine has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LinkError {
    /// The engine refuses a statement.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached, refuses a connection, or breaks off.
    #[error("{place}: {words}")]
    Broken { place: String, words: String },
    /// All connections with it are in use.
    #[error("{place}: all connections are in use")]
    Busy { place: String },
    /// No answer came in time.
    #[error("{place}: no answer within {} s", .limit.as_secs_f64())]
    Late { place: String, limit: Duration },
    /// Its answer is malformed.
    #[error("{place}: a malformed answer: {words}")]
    Malformed { place: String, words: &'static str },
}

/// The place of an answer that may be any server's.
pub(super) const UNKNOWN_PLACE: &str = "the engine";

impl LinkError {
    /// An answer of one of the engine's servers that cannot be read.
    pub(super) fn malformed(words: &'static str) -> Self {
        Self::Malformed {
            place: UNKNOWN_PLACE.to_owned(),
            words,
        }
    }
}

/// How long a server may take to accept a connection and to greet, which takes no work.
const OPENING_TIME: Duration = Duration::from_secs(3);

/// A server of the engine.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) place: String,
    host: String,
    port: u16,
    free: Mutex<Vec<SqlConnection<TcpStream>>>,
    permits: Semaphore,
    time: Duration,
}

impl Link {
    pub(super) fn new(host: &str, port: u16, connections: usize, time: Duration) -> Self {
        Self {
            place: format!("{host}:{port}"),
            host: host.to_owned(),
            port,
            free: Mutex::default(),
            permits: Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)),
            time,
        }
    }

    /// A connection that is free now.
    pub(super) fn try_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.try_acquire().ok()
    }

    /// When a request that begins now gives up waiting for a connection.
    pub(super) fn patience(&self) -> Instant {
        Instant::now() + self.time
    }

    /// Waits for a free connection.
    ///
    /// # Errors
    /// There is none until then.
    pub(super) async fn permit(&self, until: Instant) -> Result<SemaphorePermit<'_>, LinkError> {
        match timeout_at(until, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            // They are never closed.
            Ok(Err(_)) | Err(_) => Err(LinkError::Busy {
                place: self.place.clone(),
            }),
        }
    }

    /// The rows of statements, in their order.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(super) async fn ask(&self, statements: &[u8]) -> Result<Vec<Rows>, LinkError> {
        let permit = self.permit(self.patience()).await?;
        self.ask_with(permit, statements).await
    }

    /// The same with a free connection.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(super) async fn ask_with(
        &self,
        permit: SemaphorePermit<'_>,
        statements: &[u8],
    ) -> Result<Vec<Rows>, LinkError> {
        let results = self.results(permit, self.time, statements).await?;
        Ok(results.into_iter().map(|result| result.rows).collect())
    }

    /// The results of statements, in their order, with a time limit of its own: for a free connection, and then again for the answer.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(super) async fn ask_within(
        &self,
        limit: Duration,
        statements: &[u8],
    ) -> Result<Vec<SqlResult>, LinkError> {
        let permit = self.permit(Instant::now() + limit).await?;
        self.results(permit, limit, statements).await
    }

    async fn results(
        &self,
        _permit: SemaphorePermit<'_>,
        limit: Duration,
        statements: &[u8],
    ) -> Result<Vec<SqlResult>, LinkError> {
        let answer = timeout(limit, self.ask_patiently(statements)).await;
        answer.unwrap_or_else(|_| {
            // They are of no use if the server hangs.
            lock(&self.free).clear();
            Err(self.late(limit))
        })
    }

    async fn ask_patiently(&self, statements: &[u8]) -> Result<Vec<SqlResult>, LinkError> {
        // The engine may have closed a connection that was idle.
        while let Some(connection) = self.free() {
            match self.ask_on(connection, statements).await {
                Err(LinkError::Broken { .. }) => {}
                other => return other,
            }
        }
        let opened = timeout(OPENING_TIME, self.open()).await;
        let connection = opened.unwrap_or_else(|_| Err(self.late(OPENING_TIME)))?;
        self.ask_on(connection, statements).await
    }

    fn free(&self) -> Option<SqlConnection<TcpStream>> {
        lock(&self.free).pop()
    }

    /// # Errors
    /// A server that cannot be reached, or that greets by a refusal, such as of further connections.
    async fn open(&self) -> Result<SqlConnection<TcpStream>, LinkError> {
        let broken = |words| LinkError::Broken {
            place: self.place.clone(),
            words,
        };
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| broken(error.to_string()))?;
        // Only a delay.
        let _ = stream.set_nodelay(true);
        SqlConnection::new(stream)
            .await
            .map_err(|error| match error {
                SqlError::Refused(words) => broken(words),
                other => self.failure(other),
            })
    }

    /// A connection that fails, or whose caller goes away, is dropped.
    async fn ask_on(
        &self,
        mut connection: SqlConnection<TcpStream>,
        statements: &[u8],
    ) -> Result<Vec<SqlResult>, LinkError> {
        let answer = connection.ask(statements).await;
        if matches!(answer, Ok(_) | Err(SqlError::Refused(_))) {
            lock(&self.free).push(connection);
        }
        answer.map_err(|error| self.failure(error))
    }

    fn failure(&self, error: SqlError) -> LinkError {
        let place = self.place.clone();
        match error {
            SqlError::Refused(words) => LinkError::Refused(words),
            SqlError::Malformed(words) => LinkError::Malformed { place, words },
            SqlError::Broken(error) => LinkError::Broken {
                place,
                words: error.to_string(),
            },
        }
    }

    fn late(&self, limit: Duration) -> LinkError {
        LinkError::Late {
            place: self.place.clone(),
            limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            (
                "sphinxql://127.0.0.1:9306/books",
                Some(("127.0.0.1", 9306, "books")),
            ),
            ("sphinxql://[::1]:9306/b_2", Some(("::1", 9306, "b_2"))),
            (
                "sphinxql://engine.example:1/a",
                Some(("engine.example", 1, "a")),
            ),
            ("mysql://127.0.0.1:9306/books", None),
            ("sphinxql://127.0.0.1/books", None),
            ("sphinxql://127.0.0.1:0/books", None),
            ("sphinxql://127.0.0.1:9306/", None),
            ("sphinxql://127.0.0.1:9306/b;c", None),
            ("sphinxql://127.0.0.1:9306/2b", None),
            ("sphinxql://a b:9306/books", None),
        ] {
            let read: Option<EngineAddress> = text.parse().ok();
            let read = read
                .as_ref()
                .map(|read| (&*read.host, read.port, &*read.index));
            assert_eq!(read, expected, "{text}");
        }
    }

    /// What a server does with a connection.
    #[derive(Clone, Copy)]
    enum Manner {
        Silent,
        Closing,
        Speaking(&'static [u8]),
    }

    async fn asked(manner: Manner) -> LinkError {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let server = tokio::spawn(async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else {
                    return;
                };
                match manner {
                    Manner::Closing => {}
                    Manner::Silent => {
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                    }
                    Manner::Speaking(octets) => {
                        let _ = stream.write_all(octets).await;
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                    }
                }
            }
        });
        let time = match manner {
            Manner::Silent => Duration::from_millis(1),
            _ => Duration::from_secs(60),
        };
        let link = Link::new("127.0.0.1", port, 1, time);
        let failure = link.ask(b"SELECT 1").await.expect_err("no answer");
        server.abort();
        failure
    }

    #[tokio::test]
    async fn servers_that_are_none_are_told_apart() {
        let silent = asked(Manner::Silent).await;
        assert!(matches!(silent, LinkError::Late { .. }), "{silent:?}");
        let broken = asked(Manner::Closing).await;
        assert!(matches!(broken, LinkError::Broken { .. }), "{broken:?}");
        let malformed = asked(Manner::Speaking(&[1, 0, 0, 0, 9])).await;
        assert!(
            matches!(malformed, LinkError::Malformed { .. }),
            "{malformed:?}"
        );
        let full = asked(Manner::Speaking(
            b"\x17\0\0\0\xff\x10\x04Too many connections",
        ))
        .await;
        assert!(matches!(full, LinkError::Broken { .. }), "{full:?}");
        for failure in [silent, broken, malformed, full] {
            assert!(failure.to_string().starts_with("127.0.0.1:"), "{failure}");
        }
    }
}
