//! HTTP requests other than SRU. Each request is passed to the handler together with a [`WebClient`], through which the handler
//! can open Z39.50 sessions with this server on behalf of the client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
pub use futures_util::Stream;
pub use http;
use http::request::Parts;
use tokio::io::DuplexStream;
pub use z3950_asn1::sru::SruLogin;

use crate::backend::DatabaseInfo;
use crate::observer::Peer;

/// A handler of HTTP requests other than SRU, such as web pages or a gateway.
///
/// The server reads the request and writes the answer, within its limits on size and time. OPTIONS, methods other than GET, HEAD
/// and POST, and malformed heads are answered by the server itself.
pub trait Web: Send + Sync {
    /// Returns whether the handler answers the request with this head; all other requests are treated as SRU. It is called for
    /// every request, so it should be fast.
    fn takes(&self, head: &Parts) -> bool;

    /// Answers a request. After [`Limits::operation_time`](crate::Limits::operation_time), the client gets status 503 instead.
    ///
    /// If the client disconnects, the future or the stream in the answer is dropped.
    fn answer(&self, request: WebRequest) -> WebAnswering<'_>;

    /// Returns the answer to a GET or HEAD request for a path at which this server does not have a database. If this is `None`,
    /// which is the default, the client gets the SRU diagnostic.
    fn missing(&self, head: &Parts) -> Option<http::Response<WebBody>> {
        let _ = head;
        None
    }
}

/// A future that returns the answer.
pub type WebAnswering<'a> = Pin<Box<dyn Future<Output = http::Response<WebBody>> + Send + 'a>>;

/// An HTTP request. Its `Debug` form omits everything that may be secret.
#[non_exhaustive]
pub struct WebRequest {
    /// The method, URL and headers.
    pub head: Parts,
    /// The body: for a POST, at most [`Limits::apdu_size`](crate::Limits::apdu_size) octets; otherwise empty.
    pub body: Bytes,
    /// The client that sent the request.
    pub client: WebClient,
}

impl fmt::Debug for WebRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, peer) = (&self.head.method, self.client.peer());
        write!(f, "WebRequest({method} from {peer})")
    }
}

/// The body of an answer.
pub enum WebBody {
    /// A complete body, sent with its length.
    Whole(Bytes),
    /// Parts that are sent as they become available. A part is requested only when the client can receive it, so parts of at most
    /// 64 KiB limit the memory for a slow client. If a part takes longer than
    /// [`Limits::operation_time`](crate::Limits::operation_time), the connection ends.
    Parts(WebParts),
}

/// A stream of the parts of a body.
pub type WebParts = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

impl WebBody {
    /// Creates a body of these parts.
    pub fn parts(parts: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Parts(Box::pin(parts))
    }
}

impl<T: Into<Bytes>> From<T> for WebBody {
    fn from(octets: T) -> Self {
        Self::Whole(octets.into())
    }
}

impl fmt::Debug for WebBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(octets) => write!(f, "Whole({} octets)", octets.len()),
            Self::Parts(_) => f.write_str("Parts"),
        }
    }
}

/// A handle on the client of a request. The sessions opened through the handle end when its last clone is dropped.
#[derive(Clone)]
pub struct WebClient(Arc<Known>);

/// The properties of a client.
struct Known {
    peer: Peer,
    login: Option<SruLogin>,
    is_encrypted: bool,
    authority: (String, Option<u16>),
    sessions: Box<dyn OwnSessions>,
}

/// Opens sessions of the server with itself on behalf of an HTTP client.
pub(crate) trait OwnSessions: Send + Sync {
    fn databases(&self, login: Option<&SruLogin>) -> Vec<DatabaseInfo>;
    fn login_status(&self, login: Option<&SruLogin>) -> LoginStatus;
    fn open(&self) -> Opening<'_>;
}

/// The status of a client at the server, according to its login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginStatus {
    /// One of the users listed by the server.
    User,
    /// An anonymous client: the server does not list users, or admits clients without a login.
    Guest,
    /// A client that may not do anything unless it sends a different login.
    Stranger,
}

/// A future that opens a session.
pub(crate) type Opening<'a> = Pin<Box<dyn Future<Output = DuplexStream> + Send + 'a>>;

impl WebClient {
    pub(crate) fn new(
        peer: Peer,
        login: Option<SruLogin>,
        is_encrypted: bool,
        authority: (String, Option<u16>),
        sessions: impl OwnSessions + 'static,
    ) -> Self {
        Self(Arc::new(Known {
            peer,
            login,
            is_encrypted,
            authority,
            sessions: Box::new(sessions),
        }))
    }

    /// Returns the client's address.
    pub fn peer(&self) -> Peer {
        self.0.peer
    }

    /// Returns the client's HTTP Basic login; `None` if the client did not send one. It has not been checked: the caller has to
    /// send it at Init.
    pub fn login(&self) -> Option<&SruLogin> {
        self.0.login.as_ref()
    }

    /// Returns whether the client uses TLS.
    pub fn is_encrypted(&self) -> bool {
        self.0.is_encrypted
    }

    /// Returns the host and port by which the client addresses the server.
    pub fn authority(&self) -> (&str, Option<u16>) {
        let (host, port) = &self.0.authority;
        (host, *port)
    }

    /// Returns the server's databases that this client may search. As with [`login_status`](Self::login_status), the client must have
    /// been admitted first.
    pub fn databases(&self) -> Vec<DatabaseInfo> {
        self.0.sessions.databases(self.login())
    }

    /// Returns the client's status at the server. An Init must have been accepted in a session first, because only sessions slow
    /// down clients that guess passwords.
    pub fn login_status(&self) -> LoginStatus {
        self.0.sessions.login_status(self.login())
    }

    /// Opens a Z39.50 session with the server itself on behalf of this client, with the rights, limits and faults for the
    /// client's address. The caller has to send Init.
    ///
    /// A request can have at most [`Limits::sessions_per_request`](crate::Limits::sessions_per_request) sessions at once; a
    /// further session waits until another is dropped.
    pub async fn connect(&self) -> DuplexStream {
        self.0.sessions.open().await
    }
}

impl fmt::Debug for WebClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebClient({})", self.0.peer)
    }
}

/// Returns whether the query string of a URL has a parameter that identifies an SRU request.
pub fn is_sru(query: &str) -> bool {
    let mut names = query
        .split('&')
        .filter_map(|pair| pair.split('=').next())
        .map(|name| name.to_ascii_lowercase());
    names.any(|name| {
        let known = ["operation", "version", "query", "scanclause", "querytype"];
        known.contains(&name.as_str()) || name.starts_with("x-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_sru_are_known() {
        for (query, expected) in [
            ("", false),
            ("q=war", false),
            ("start=2&target=books", false),
            ("operation=explain", true),
            ("maximumRecords=1&query=war", true),
            ("scanClause=war", true),
            ("version", true),
            ("q=operation", false),
        ] {
            assert_eq!(is_sru(query), expected, "{query}");
        }
    }
}
