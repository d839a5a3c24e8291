//! From a host and a port to a stream of octets: names, sockets, and how long to wait for either.
//! Z39.50-2003 §1 leaves the transport open; TCP is the one RFC 2056 means, port 210 its default.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

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
    /// The limit of a connection begun now.
    pub(crate) fn to_connect(self) -> Limit {
        self.limit(self.connect)
    }

    /// The limit of an answer awaited from now on.
    pub(crate) fn to_answer(self) -> Limit {
        self.limit(self.answer)
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

    /// A share of the time left: one of `parts` equal ones.
    fn share(&self, parts: usize) -> Self {
        Self(self.0.as_ref().map(|(at, cause)| {
            let now = Instant::now();
            let parts = u32::try_from(parts).unwrap_or(u32::MAX).max(1);
            (
                now + at.saturating_duration_since(now) / parts,
                cause.clone(),
            )
        }))
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

/// TCP over IPv4 and IPv6.
#[derive(Clone)]
pub struct Tcp {
    resolver: Arc<dyn Resolve>,
}

impl Tcp {
    /// TCP to the addresses that `resolver` finds.
    pub fn new(resolver: impl Resolve + 'static) -> Self {
        Self {
            resolver: Arc::new(resolver),
        }
    }
}

impl Default for Tcp {
    fn default() -> Self {
        Self::new(SystemResolver)
    }
}

impl Connect for Tcp {
    fn connect<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>> {
        Box::pin(async move {
            let limit = timeouts.to_connect();
            let addresses = limit
                .hold(Phase::Resolve, self.resolver.resolve(host, port))
                .await?
                .map_err(no_address)?;
            let stream = first_reachable(&addresses, &limit).await?;
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

/// Tries one address after the other; a silent one takes no more than its share of the time left.
async fn first_reachable(addresses: &[SocketAddr], limit: &Limit) -> Result<TcpStream, Error> {
    let mut failure = no_address(io::ErrorKind::NotFound.into());
    for (index, address) in addresses.iter().enumerate() {
        let share = limit.share(addresses.len() - index);
        failure = match share
            .hold(Phase::Connect, TcpStream::connect(address))
            .await
        {
            Ok(Ok(stream)) => {
                // Requests are small and answered one by one; an error here costs speed only.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => not_connected(error),
            Err(timeout) => timeout,
        };
        tracing::info!(%address, %failure, "address not reachable");
    }
    Err(failure)
}

fn no_address(error: io::Error) -> Error {
    Error::Unavailable {
        phase: Phase::Resolve,
        cause: Cause::Dns(Arc::new(error)),
    }
}

fn not_connected(error: io::Error) -> Error {
    let cause = match error.kind() {
        io::ErrorKind::ConnectionRefused => Cause::Refused,
        _ => Cause::Other,
    };
    Error::Unavailable {
        phase: Phase::Connect,
        cause: cause(Arc::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Mode;
    use tokio::net::TcpListener;

    struct Names(io::Result<Vec<SocketAddr>>);

    impl Resolve for Names {
        fn resolve<'a>(
            &'a self,
            _: &'a Host,
            _: u16,
        ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move {
                match &self.0 {
                    Ok(addresses) => Ok(addresses.clone()),
                    Err(error) => Err(error.kind().into()),
                }
            })
        }
    }

    struct Never;

    impl Resolve for Never {
        fn resolve<'a>(
            &'a self,
            _: &'a Host,
            _: u16,
        ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            Box::pin(std::future::pending())
        }
    }

    async fn connect(resolver: impl Resolve + 'static) -> Result<BoxStream, Error> {
        let host = Host::parse("lib.example", Mode::Strict).expect("a host");
        Tcp::new(resolver)
            .connect(&host, 210, &Timeouts::default())
            .await
    }

    /// A port of this machine that nobody listens at, as far as that can be known.
    async fn unused() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        listener.local_addr().expect("its address")
    }

    #[tokio::test]
    async fn all_addresses_are_tried_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        assert!(connect(address).await.is_ok());
        assert!(
            connect(Names(Ok(vec![unused().await, address])))
                .await
                .is_ok()
        );
        if let Ok(listener) = TcpListener::bind("[::1]:0").await {
            assert!(
                connect(listener.local_addr().expect("its address"))
                    .await
                    .is_ok()
            );
        }
    }

    #[tokio::test]
    async fn causes_are_told_apart() {
        let refused = connect(unused().await).await.err();
        assert!(matches!(
            refused,
            Some(Error::Unavailable {
                phase: Phase::Connect,
                cause: Cause::Refused(_)
            })
        ));
        for names in [Ok(vec![]), Err(io::ErrorKind::NotFound.into())] {
            let unknown = connect(Names(names)).await.err();
            assert!(matches!(
                unknown,
                Some(Error::Unavailable {
                    phase: Phase::Resolve,
                    cause: Cause::Dns(_)
                })
            ));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_resolver_ends_at_the_limit() {
        let silent = connect(Never).await.err();
        assert!(matches!(
            silent,
            Some(Error::Unavailable {
                phase: Phase::Resolve,
                cause: Cause::Timeout(_)
            })
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn the_nearer_limit_counts() {
        let deadline = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        for (answer, deadline, after, cause) in [
            (Some(30), None, Some(30), "nothing came within 30 s"),
            (Some(30), deadline(5), Some(5), "the deadline passed"),
            (Some(3), deadline(5), Some(3), "nothing came within 3 s"),
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
