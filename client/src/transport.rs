//! Opens a stream of octets to an endpoint: name resolution, sockets, TLS, proxies, and a time limit for each step.
//! Z39.50-2003 §1 does not define the transport, but RFC 2056 implies TCP, with default port 210.
//!
//! | connector | connects |
//! |---|---|
//! | [`Tcp`] | to the addresses of a host, IPv6 and IPv4 in turn |
//! | [`Unix`] | to a Unix socket |
//! | `Tls` | through another connector, then verifies the server (feature `tls`) |
//! | `Proxied` | through an HTTP or SOCKS5 proxy (feature `proxy`) |
//!
//! [`Routes`] combines these parts for an endpoint.

pub(crate) mod connect;
#[cfg(feature = "sru")]
pub(crate) mod http;
#[cfg(feature = "proxy")]
mod proxy;
pub(crate) mod timeouts;
#[cfg(feature = "tls")]
mod tls;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(feature = "tls")]
use std::sync::OnceLock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep};
#[cfg(feature = "tls")]
use tokio_rustls::TlsConnector;

use self::connect::not_connected;
pub use self::connect::{BoxFuture, BoxStream, ByteStream, Connect, Connecting};
#[cfg(feature = "proxy")]
pub use self::proxy::{NoProxy, Proxied, Proxy};
use self::timeouts::Limit;
pub use self::timeouts::Timeouts;
#[cfg(feature = "tls")]
pub use self::tls::{
    CertificateAdvice, ClientCertificate, Pem, Tls, TlsOptions, certificate_advice, is_alert,
};
#[cfg(feature = "proxy")]
pub use crate::error::ProxyError;
pub use crate::error::RouteError;
use crate::error::{Cause, Error, Phase};
#[cfg(feature = "tls")]
pub use crate::error::{PemPlace, TlsError};
use crate::target::Endpoint;
use crate::url::Host;

/// The settings for connections to endpoints. Clones share the trusted certificates, which are read when TLS is first
/// used.
#[derive(Clone, Default)]
pub struct Routes {
    tcp: Tcp,
    /// The connector for all endpoints, to which neither TLS nor a proxy is added. With `None`, the other settings
    /// apply.
    fixed: Option<Arc<dyn Connect>>,
    #[cfg(feature = "tls")]
    tls: TlsOptions,
    #[cfg(feature = "tls")]
    trust: Arc<OnceLock<TlsConnector>>,
    #[cfg(feature = "proxy")]
    proxy: Option<(Proxy, NoProxy)>,
    wrap: Option<Wrap>,
}

/// The function passed to [`Routes::wrapped`], which wraps a connector.
type Wrap = Arc<dyn Fn(Arc<dyn Connect>) -> Arc<dyn Connect> + Send + Sync>;

impl Routes {
    /// Creates routes that connect by TCP to the addresses found by `resolver`.
    pub fn with_resolver(resolver: impl Resolve + 'static) -> Self {
        Self {
            tcp: Tcp::new(resolver),
            ..Self::default()
        }
    }

    /// Creates routes that use one connector for all endpoints, without adding TLS or a proxy.
    pub fn fixed(connector: impl Connect + 'static) -> Self {
        Self {
            fixed: Some(Arc::new(connector)),
            ..Self::default()
        }
    }

    /// Sets the resolver for host names.
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.tcp = Tcp::new(resolver);
        self
    }

    /// Sets the TLS options.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = options;
        self.trust = Arc::default();
        self
    }

    /// Reads the certificates named in the TLS options, so that an invalid file is reported before anything is sent.
    ///
    /// # Errors
    /// Fails if the options cannot be applied.
    #[cfg(feature = "tls")]
    pub fn read_certificates(&self) -> Result<(), TlsError> {
        self.trust().map(drop)
    }

    /// Sets the proxy, and the hosts that are reached without it.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, proxy: Proxy, exempt: NoProxy) -> Self {
        self.proxy = Some((proxy, exempt));
        self
    }

    /// Wraps every connector, after TLS and proxies have been added to it, for example to record the octets that are
    /// sent and received.
    pub fn wrapped(
        mut self,
        wrap: impl Fn(Arc<dyn Connect>) -> Arc<dyn Connect> + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// Returns the connector for an endpoint. `proxy` is the proxy in a `connect:` target. No connection is made yet.
    ///
    /// # Errors
    /// Fails if the options cannot be applied.
    pub fn to(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
    ) -> Result<Arc<dyn Connect>, RouteError> {
        let connector = self.plain(endpoint, proxy)?;
        Ok(match &self.wrap {
            Some(wrap) => wrap(connector),
            None => connector,
        })
    }

    fn plain(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
    ) -> Result<Arc<dyn Connect>, RouteError> {
        if let Some(connector) = &self.fixed {
            return Ok(Arc::clone(connector));
        }
        match endpoint {
            #[cfg(not(feature = "sru"))]
            Endpoint::Http(..) | Endpoint::Https(..) => Err(RouteError::NotBuiltIn("SRU")),
            #[cfg(feature = "sru")]
            Endpoint::Http(..) => self.proxied(proxy),
            Endpoint::Tcp(..) => self.proxied(proxy),
            #[cfg(all(feature = "sru", feature = "tls"))]
            Endpoint::Https(..) => Ok(Arc::new(Tls {
                inner: self.proxied(proxy)?,
                trust: self.trust()?,
            })),
            #[cfg(all(feature = "sru", not(feature = "tls")))]
            Endpoint::Https(..) => Err(RouteError::NotBuiltIn("TLS")),
            #[cfg(feature = "tls")]
            Endpoint::Tls(..) => Ok(Arc::new(Tls {
                inner: self.proxied(proxy)?,
                trust: self.trust()?,
            })),
            #[cfg(not(feature = "tls"))]
            Endpoint::Tls(..) => Err(RouteError::NotBuiltIn("TLS")),
            #[cfg(unix)]
            Endpoint::Unix(path) => Ok(Arc::new(Unix::new(path))),
            #[cfg(not(unix))]
            Endpoint::Unix(_) => Err(RouteError::NotBuiltIn("support for Unix sockets")),
        }
    }

    #[cfg(feature = "proxy")]
    fn proxied(&self, proxy: Option<&str>) -> Result<Arc<dyn Connect>, RouteError> {
        let tcp = self.tcp.clone();
        let named = proxy.map(|text| text.parse::<Proxy>()).transpose()?;
        let chosen = match (named, &self.proxy) {
            // The proxy in a `connect:` target applies to every host, without exemptions.
            (Some(proxy), _) => Some((proxy, NoProxy::none())),
            (None, general) => general.clone(),
        };
        Ok(match chosen {
            Some((proxy, exempt)) => Arc::new(Proxied::new(tcp, proxy, exempt)),
            None => Arc::new(tcp),
        })
    }

    #[cfg(not(feature = "proxy"))]
    fn proxied(&self, proxy: Option<&str>) -> Result<Arc<dyn Connect>, RouteError> {
        match proxy {
            Some(_) => Err(RouteError::NotBuiltIn("support for proxies")),
            None => Ok(Arc::new(self.tcp.clone())),
        }
    }

    #[cfg(feature = "tls")]
    fn trust(&self) -> Result<TlsConnector, TlsError> {
        Ok(match self.trust.get() {
            Some(trust) => trust.clone(),
            // If two threads read the certificates at once, either result will do.
            None => {
                let trust = tls::connector(&self.tls)?;
                self.trust.get_or_init(|| trust).clone()
            }
        })
    }
}

/// The time after which the next address is tried in parallel (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);

/// A resolver, which finds the addresses of a host.
pub trait Resolve: Send + Sync {
    /// Returns the socket addresses to try, in order.
    ///
    /// # Errors
    /// Fails if the host has no addresses, or if the lookup failed.
    fn resolve<'a>(&'a self, host: &'a Host, port: u16) -> Resolving<'a>;
}

impl<R: Resolve + ?Sized> Resolve for Arc<R> {
    fn resolve<'a>(&'a self, host: &'a Host, port: u16) -> Resolving<'a> {
        (**self).resolve(host, port)
    }
}

/// The future that [`Resolve::resolve`] returns.
pub type Resolving<'a> = BoxFuture<'a, io::Result<Vec<SocketAddr>>>;

/// The operating system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a Host, port: u16) -> Resolving<'a> {
        Box::pin(async move {
            let name = host.for_connecting();
            Ok(lookup_host((&*name, port)).await?.collect())
        })
    }
}

/// Resolves every host and port to this address.
impl Resolve for SocketAddr {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> Resolving<'a> {
        Box::pin(async move { Ok(vec![*self]) })
    }
}

/// A connector for TCP, which connects to the first address that answers. IPv6 and IPv4 alternate, and each attempt has
/// a head start before the next one (RFC 8305, "happy eyeballs"), so that an address that does not answer costs a
/// quarter of a second instead of the complete timeout. Clones share a cache of host addresses, which are kept for a
/// minute.
#[derive(Clone)]
pub struct Tcp {
    resolver: Arc<dyn Resolve>,
    known: Arc<Mutex<HashMap<(Host, u16), KnownAddresses>>>,
}

/// The addresses of a host, and the time at which they were found.
type KnownAddresses = (Instant, Vec<SocketAddr>);

/// How long the addresses of a host are cached.
const REMEMBERED: Duration = Duration::from_secs(60);

impl Tcp {
    /// Creates a connector for the addresses found by `resolver`.
    pub fn new(resolver: impl Resolve + 'static) -> Self {
        Self {
            resolver: Arc::new(resolver),
            known: Arc::default(),
        }
    }

    fn known_addresses(&self) -> MutexGuard<'_, HashMap<(Host, u16), KnownAddresses>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (found, _)| found.elapsed() < REMEMBERED);
        known
    }
}

impl Default for Tcp {
    fn default() -> Self {
        Self::new(SystemResolver)
    }
}

impl Connect for Tcp {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            let limit = timeouts.to_connect();
            let key = (host.clone(), port);
            let known = self.known_addresses().get(&key).cloned();
            if let Some((_, addresses)) = known {
                if let Ok(stream) = first_reachable(in_turn(addresses), &limit).await {
                    return Ok(Box::new(stream) as BoxStream);
                }
                // The host may have moved to another address, so its name is resolved again.
                self.known_addresses().remove(&key);
            }
            let addresses = limit
                .hold(Phase::Resolve, self.resolver.resolve(host, port))
                .await?
                .map_err(no_address)?;
            let stream = first_reachable(in_turn(addresses.clone()), &limit).await?;
            self.known_addresses()
                .insert(key, (Instant::now(), addresses));
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

/// Orders addresses so that the address families alternate, beginning with the family of the first address. The
/// addresses of each family keep their order.
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

/// Returns the first connection that succeeds, or the error from the last attempt if none does.
async fn first_reachable(addresses: Vec<SocketAddr>, limit: &Limit) -> Result<TcpStream, Error> {
    let mut failure = no_address(io::ErrorKind::NotFound.into());
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    loop {
        attempts.extend(waiting.next().map(|address| attempt(address, limit)));
        // The next address is tried when an attempt has failed or the head start is over.
        let ended = tokio::select! {
            ended = attempts.next() => ended,
            () = sleep(HEAD_START), if waiting.len() > 0 => continue,
        };
        match ended {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => failure = error,
            None => return Err(failure),
        }
    }
}

async fn attempt(address: SocketAddr, limit: &Limit) -> Result<TcpStream, Error> {
    let connected = limit
        .hold(Phase::Connect, TcpStream::connect(address))
        .await
        .and_then(|connected| connected.map_err(not_connected));
    match &connected {
        // Requests are small and answered one by one, so they are sent without delay. A failure only costs speed.
        Ok(stream) => drop(stream.set_nodelay(true)),
        Err(failure) => tracing::info!(%address, %failure, "address not reachable"),
    }
    connected
}

fn no_address(error: io::Error) -> Error {
    Error::Unavailable {
        phase: Phase::Resolve,
        cause: Cause::Dns(Arc::new(error)),
    }
}

/// A connector for a Unix socket. It ignores host and port.
#[cfg(unix)]
#[derive(Clone, Debug)]
pub struct Unix {
    path: PathBuf,
}

#[cfg(unix)]
impl Unix {
    /// Creates a connector for the socket at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

#[cfg(unix)]
impl Connect for Unix {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            let connecting = tokio::net::UnixStream::connect(&self.path);
            let limit = timeouts.to_connect();
            let connected = limit.hold(Phase::Connect, connecting).await?;
            Ok(Box::new(connected.map_err(not_connected)?) as BoxStream)
        })
    }
}

#[cfg(test)]
mod tests;
