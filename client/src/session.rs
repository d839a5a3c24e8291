//! A session with a server: a cheap handle, a method for each service, one line into `service` each.
//! Opening it is Init (Z39.50-2003 §3.2.1); dropping the last handle closes it.

use std::sync::{Arc, Weak};

use tokio::io::{AsyncRead, AsyncWrite};
use tracing::{Span, field, info_span};
use z3950_asn1::apdu::{Apdu, Options, PresentRequest, Query, SearchRequest};

pub use crate::connection::End;
use crate::connection::{self, Handle};
use crate::error::{Error, Phase, ProtocolFault};
use crate::service::delete::{self, Delete, DeleteResult};
use crate::service::init::{InitOptions, ServerInfo};
use crate::service::present::{self, PresentOptions, PresentResult};
use crate::service::search::{self, SearchOptions, SearchResult};
use crate::transport::{Connect, Timeouts};
use crate::url::Host;

/// How to open a session, and how long to wait in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionOptions {
    /// What to offer.
    pub init: InitOptions,
    /// How long to wait.
    pub timeouts: Timeouts,
}

/// An open session. Cloning it gives another handle on the same one.
///
/// Requests made at the same time are sent one after the other, in the order in which they were made. Any
/// future of this type may be dropped: the session stays in step.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
    timeouts: Timeouts,
}

#[derive(Debug)]
struct Shared {
    handle: Handle,
    server: ServerInfo,
}

impl Session {
    /// Connects to `host` and `port` and opens a session there.
    ///
    /// # Errors
    /// Those of [`Connect::connect`] and [`Session::over`].
    pub async fn connect(
        host: &Host,
        port: u16,
        connector: &dyn Connect,
        options: &SessionOptions,
    ) -> Result<Self, Error> {
        let stream = connector.connect(host, port, &options.timeouts).await?;
        Self::open(stream, options, info_span!("connection", %host, port)).await
    }

    /// Opens a session on any stream of octets. Must be called within a tokio runtime, which runs its task.
    ///
    /// # Errors
    /// In phase Init: [`Error::InitRejected`], [`Error::Unavailable`], [`Error::ProtocolError`],
    /// [`Error::ProtocolClosed`], [`Error::AccessRefused`]. The stream is closed then.
    pub async fn over<S>(stream: S, options: &SessionOptions) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::open(
            stream,
            options,
            info_span!("connection", host = field::Empty),
        )
        .await
    }

    async fn open<S>(stream: S, options: &SessionOptions, span: Span) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let SessionOptions { init, timeouts } = options;
        let handle = connection::spawn(stream, init.max_apdu_size(), *timeouts, span);
        match handle.ask(init.request().into(), *timeouts).await? {
            Apdu::InitializeResponse(response) => {
                let server = ServerInfo::new(init, &response);
                Ok(Self {
                    shared: Arc::new(Shared { handle, server }),
                    timeouts: *timeouts,
                })
            }
            other => Err(crate::service::unexpected(Phase::Init, &other)),
        }
    }

    /// What the server is, and what was agreed on.
    pub fn server_info(&self) -> &ServerInfo {
        &self.shared.server
    }

    /// Searches; see [`search_request`](Self::search_request).
    ///
    /// # Errors
    /// Those of [`search_request`](Self::search_request).
    pub async fn search(
        &self,
        query: Query,
        options: &SearchOptions,
    ) -> Result<SearchResult, Error> {
        search::search(self, options.request(query)).await
    }

    /// Sends a search of one's own making.
    ///
    /// # Errors
    /// [`Error::Refused`] when the search failed, after which the session goes on. [`Error::ProtocolError`]
    /// with [`ProtocolFault::NotGranted`] for a named result set that the server does not offer. All other
    /// errors end the session.
    pub async fn search_request(&self, request: SearchRequest) -> Result<SearchResult, Error> {
        search::search(self, request).await
    }

    /// Fetches `count` records of a result set from position `start` (1-based) on.
    ///
    /// # Errors
    /// [`Error::Refused`] when no record could be had, after which the session goes on; others end it.
    pub async fn present(
        &self,
        start: u64,
        count: u64,
        options: &PresentOptions,
    ) -> Result<PresentResult, Error> {
        present::present(self, options.request(start, count)).await
    }

    /// Sends a Present of one's own making.
    ///
    /// # Errors
    /// Those of [`present`](Self::present).
    pub async fn present_request(&self, request: PresentRequest) -> Result<PresentResult, Error> {
        present::present(self, request).await
    }

    /// Deletes result sets.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer it; others end the session.
    pub async fn delete(&self, sets: Delete) -> Result<DeleteResult, Error> {
        delete::delete(self, sets).await
    }

    /// Closes the session, an operation in progress included; returns when the connection is closed, which
    /// takes [`Timeouts::close`] at most. All handles see its end. Closing twice is no error.
    ///
    /// # Errors
    /// [`Error::Ended`] with its cause, if the session had ended otherwise before.
    pub async fn close(&self) -> Result<(), Error> {
        self.shared.handle.close().await
    }

    /// Whether requests are still taken. The server may end the session at any moment.
    pub fn is_open(&self) -> bool {
        self.shared.handle.is_open()
    }

    /// Waits for the end of the session, and says how it ended.
    pub async fn ended(&self) -> End {
        self.shared.handle.ended().await
    }

    /// The same session, waited for differently by this handle.
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self {
            shared: self.shared.clone(),
            timeouts,
        }
    }

    /// Whether both are handles on one session.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// A handle that does not keep the session open.
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.shared), self.timeouts)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, request: Apdu) -> Result<Apdu, Error> {
        self.shared.handle.ask(request, self.timeouts).await
    }

    /// Whether the server granted an option, which version 2 does not know to say of every feature.
    pub(crate) fn require(
        &self,
        phase: Phase,
        option: Options,
        name: &'static str,
    ) -> Result<(), Error> {
        let server = self.server_info();
        match server.version < 3 || server.options.contains(option) {
            true => Ok(()),
            false => Err(Error::fault(phase, ProtocolFault::NotGranted(name))),
        }
    }
}

/// See [`Session::downgrade`].
#[derive(Debug, Clone)]
pub(crate) struct WeakSession(Weak<Shared>, Timeouts);

impl WeakSession {
    /// The session, if it is open and somebody still has a handle on it.
    pub(crate) fn upgrade(&self) -> Option<Session> {
        let session = Session {
            shared: self.0.upgrade()?,
            timeouts: self.1,
        };
        session.is_open().then_some(session)
    }
}

#[cfg(test)]
mod mutation;
#[cfg(test)]
mod tests;
