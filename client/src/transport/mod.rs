//! From a host and a port to a stream of octets: names, sockets, TLS, proxies, and how long to wait for each.
//! Z39.50-2003 §1 leaves the transport open; TCP is the one RFC 2056 means, port 210 its default.
//!
//! | connector | goes |
//! |---|---|
//! | [`Tcp`] | to the addresses of a host, IPv6 and IPv4 in turn |
//! | [`Unix`] | to a socket of this machine |
//! | [`Tls`] | through another connector, then proves who the server is |
//! | `Proxied` | through an HTTP or SOCKS5 proxy (feature `proxy`) |
//!
//! [`Routes`] puts them together for an endpoint.

#[cfg(feature = "proxy")]
mod proxy;
mod route;
mod tcp;
#[cfg(feature = "tls")]
mod tls;
#[cfg(unix)]
mod unix;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

#[cfg(feature = "proxy")]
pub use self::proxy::{NoProxy, Proxied, Proxy, ProxyError};
pub use self::route::{RouteError, Routes};
pub use self::tcp::Tcp;
#[cfg(feature = "tls")]
pub use self::tls::{ClientCertificate, Tls, TlsError, TlsOptions};
#[cfg(feature = "tls")]
pub use self::tls::{Remedy, is_alert, remedy};
#[cfg(unix)]
pub use self::unix::Unix;
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream of octets in both directions, such as a TCP connection.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// Any [`ByteStream`].
pub type BoxStream = Box<dyn ByteStream>;

/// How long to wait. `None` and zero mean without limit, except for `close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For name and connection together, over all addresses of the host; 10 s.
    pub connect: Option<Duration>,
    /// For each answer; 30 s.
    pub answer: Option<Duration>,
    /// For the server's Close and the end of the connection; 1 s.
    pub close: Duration,
    /// For all of it: no wait goes beyond this moment. The farewell of `close` may.
    pub deadline: Option<Instant>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(10)),
            answer: Some(Duration::from_secs(30)),
            close: Duration::from_secs(1),
            deadline: None,
        }
    }
}

impl Timeouts {
    /// The same with another limit for a connection; `None` is no limit.
    #[must_use]
    pub fn with_connect(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.connect = limit.into();
        self
    }

    /// The same with another limit for each answer; `None` is no limit.
    #[must_use]
    pub fn with_answer(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.answer = limit.into();
        self
    }

    /// The same with another moment at which every wait ends; `None` is no such moment.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Instant>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// The limit of a connection begun now.
    pub(crate) fn to_connect(self) -> Limit {
        self.limit(self.connect)
    }

    /// The limit of an answer awaited from now on.
    pub(crate) fn to_answer(self) -> Limit {
        self.limit(self.answer)
    }

    /// The deadline alone, while a person is asked.
    pub(crate) fn to_deadline(self) -> Limit {
        self.limit(None)
    }

    fn limit(self, wait: Option<Duration>) -> Limit {
        let step = wait
            .filter(|wait| !wait.is_zero())
            .and_then(|wait| Limit::within(wait).0);
        Limit(match (step, self.deadline) {
            (Some((at, cause)), Some(deadline)) if at < deadline => Some((at, cause)),
            (_, Some(deadline)) => Some((deadline, Cause::Deadline)),
            (step, None) => step,
        })
    }
}

/// The moment at which a wait ends, and what that is then called; none if the clock does not reach so far.
#[derive(Debug, Clone)]
pub(crate) struct Limit(Option<(Instant, Cause)>);

impl Limit {
    /// This long from now.
    pub(crate) fn within(wait: Duration) -> Self {
        Self(
            Instant::now()
                .checked_add(wait)
                .map(|at| (at, Cause::Timeout(wait))),
        )
    }

    /// The moment; `None` if there is none.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.as_ref().map(|(at, _)| *at)
    }

    /// What a wait is that lasted until then.
    pub(crate) fn error(&self, phase: Phase) -> Error {
        let cause = self.0.as_ref().map(|(_, cause)| cause.clone());
        Error::Unavailable {
            phase,
            cause: cause.unwrap_or(Cause::Deadline),
        }
    }

    /// Waits for `work`, but no longer than this.
    pub(crate) async fn hold<T>(
        &self,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        match &self.0 {
            None => Ok(work.await),
            Some((at, cause)) => {
                tokio::time::timeout_at(*at, work)
                    .await
                    .map_err(|_| Error::Unavailable {
                        phase,
                        cause: cause.clone(),
                    })
            }
        }
    }
}

/// Finds the addresses of a host.
pub trait Resolve: Send + Sync {
    /// The socket addresses to try, in this order.
    ///
    /// # Errors
    /// When the host has none, or it could not be asked for.
    fn resolve<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            match host {
                Host::Ipv4(address) => Ok(vec![(*address, port).into()]),
                Host::Ipv6(address) => Ok(vec![(*address, port).into()]),
                Host::Name(name) => Ok(tokio::net::lookup_host((name.as_str(), port))
                    .await?
                    .collect()),
            }
        })
    }
}

/// An address stands for itself, whatever host and port are asked for.
impl Resolve for SocketAddr {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![*self]) })
    }
}

/// Opens a stream of octets to a host and port.
///
/// A connector that leads to one place only, such as [`Unix`], need not look at either.
pub trait Connect: Send + Sync {
    /// A stream to `host`, opened within `timeouts.connect`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] in phase Resolve or Connect.
    fn connect<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>>;
}

impl Connect for Arc<dyn Connect> {
    fn connect<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>> {
        (**self).connect(host, port, timeouts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    ///
    #[test]
    fn every_wait_has_a_limit_but_the_whole_has_none() {
        let timeouts = Timeouts::default();
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs());
        assert_eq!(seconds(timeouts.connect), Some(10));
        assert_eq!(seconds(timeouts.answer), Some(30));
        assert_eq!(timeouts.close.as_secs(), 1);
        assert_eq!(timeouts.deadline, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_nearer_limit_counts() {
        let deadline = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        for (answer, deadline, after, cause) in [
            (Some(30), None, Some(30), "no response within 30 s"),
            (Some(30), deadline(5), Some(5), "the deadline passed"),
            (Some(3), deadline(5), Some(3), "no response within 3 s"),
            (Some(0), deadline(5), Some(5), "the deadline passed"),
            (None, None, None, ""),
            (Some(u64::MAX), None, None, ""),
        ] {
            let answer = answer.map(Duration::from_secs);
            let limit = Timeouts {
                answer,
                deadline,
                ..Timeouts::default()
            }
            .to_answer();
            let limit = limit
                .0
                .map(|(at, cause)| ((at - Instant::now()).as_secs(), cause.to_string()));
            assert_eq!(limit, after.map(|after| (after, cause.to_owned())));
        }
    }
}
