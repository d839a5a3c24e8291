//! Names to addresses, and TCP to the first address that answers: IPv6 and IPv4 in turn, each with a head start on the next
//! (RFC 8305, "happy eyeballs"), so that a silent address costs a quarter of a second, not its timeout.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::connect::{BoxFuture, BoxStream, Connect, not_connected};
use super::timeouts::{Limit, Timeouts};
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// How long an address is tried before the next one is tried beside it (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Finds the addresses of a host.
pub trait Resolve: Send + Sync {
    /// The socket addresses to try, in this order.
    ///
    /// # Errors
    /// When the host has none, or the lookup failed.
    fn resolve<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the operating system.
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

/// A fixed address, whatever the host and port.
impl Resolve for SocketAddr {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![*self]) })
    }
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
            let stream = first_reachable(in_turn(addresses), &limit).await?;
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

/// Alternates the address families, beginning with that of the first address; each keeps its order.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_ipv6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, other): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_ipv6);
    let mut other = other.into_iter();
    let mut order = Vec::new();
    for address in preferred {
        order.push(address);
        order.extend(other.next());
    }
    order.extend(other);
    order
}

/// The first connection that succeeds, or the error of the last attempt.
async fn first_reachable(addresses: Vec<SocketAddr>, limit: &Limit) -> Result<TcpStream, Error> {
    let mut failure = no_address(io::ErrorKind::NotFound.into());
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    while let Some(address) = waiting.next() {
        attempts.push(attempt(address, limit));
        // The next address is tried when an attempt has failed, or after the head start.
        let ended = tokio::select! {
            Some(ended) = attempts.next() => ended,
            () = sleep(HEAD_START), if waiting.len() > 0 => continue,
        };
        match ended {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    while let Some(ended) = attempts.next().await {
        match ended {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn attempt(address: SocketAddr, limit: &Limit) -> Result<TcpStream, Error> {
    let connected = limit
        .hold(Phase::Connect, TcpStream::connect(address))
        .await
        .and_then(|connected| connected.map_err(not_connected));
    match connected {
        Ok(stream) => {
            // Requests are small and answered one by one. An error only costs speed.
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Err(failure) => {
            tracing::info!(%address, %failure, "address not reachable");
            Err(failure)
        }
    }
}

fn no_address(error: io::Error) -> Error {
    Error::Unavailable {
        phase: Phase::Resolve,
        cause: Cause::Dns(Arc::new(error)),
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

    /// A local port that was free a moment ago.
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

    #[test]
    fn families_take_turns() {
        let addresses = |text: &str| -> Vec<SocketAddr> {
            let parsed = text.split_whitespace().map(|address| address.parse());
            parsed.collect::<Result<_, _>>().expect("addresses")
        };
        for (resolved, order) in [
            ("", ""),
            ("1.1.1.1:1 1.1.1.2:1", "1.1.1.1:1 1.1.1.2:1"),
            (
                "[::1]:1 [::2]:1 1.1.1.1:1 1.1.1.2:1 1.1.1.3:1",
                "[::1]:1 1.1.1.1:1 [::2]:1 1.1.1.2:1 1.1.1.3:1",
            ),
            ("1.1.1.1:1 [::1]:1 [::2]:1", "1.1.1.1:1 [::1]:1 [::2]:1"),
        ] {
            assert_eq!(in_turn(addresses(resolved)), addresses(order));
        }
    }
}
