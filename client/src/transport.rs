//! From an endpoint to a stream of octets: names, sockets, TLS, proxies, and how long to wait for each.
//! Z39.50-2003 §1 leaves the transport open; RFC 2056 means TCP, with default port 210.
//!
//! | connector | connects |
//! |---|---|
//! | [`Tcp`] | to the addresses of a host, IPv6 and IPv4 in turn |
//! | [`Unix`] | to a Unix socket |
//! | [`Tls`] | through another connector, then verifies the server |
//! | `Proxied` | through an HTTP or SOCKS5 proxy (feature `proxy`) |
//!
//! [`Routes`] combines them for an endpoint.

pub(crate) mod connect;
#[cfg(feature = "proxy")]
mod proxy;
mod tcp;
pub(crate) mod timeouts;
#[cfg(feature = "tls")]
mod tls;
#[cfg(unix)]
mod unix;

use std::sync::Arc;
#[cfg(feature = "tls")]
use std::sync::OnceLock;

pub use self::connect::{BoxFuture, BoxStream, ByteStream, Connect};
#[cfg(feature = "proxy")]
pub use self::proxy::{NoProxy, Proxied, Proxy, ProxyError};
pub use self::tcp::{Resolve, SystemResolver, Tcp};
pub use self::timeouts::Timeouts;
#[cfg(feature = "tls")]
use self::tls::Trust;
#[cfg(feature = "tls")]
pub use self::tls::{ClientCertificate, Remedy, Tls, TlsError, TlsOptions, is_alert, remedy};
#[cfg(unix)]
pub use self::unix::Unix;
use crate::target::Endpoint;

/// How to reach endpoints: the settings that all have in common. Clones share the trusted certificates, which are read on the
/// first use of TLS.
#[derive(Clone, Default)]
pub struct Routes {
    base: Base,
    #[cfg(feature = "tls")]
    tls: TlsOptions,
    #[cfg(feature = "tls")]
    trust: Arc<OnceLock<Trust>>,
    #[cfg(feature = "proxy")]
    proxy: Option<(Proxy, NoProxy)>,
    wrap: Option<Wrap>,
}

/// What [`Routes::wrapped`] puts around a connector.
type Wrap = Arc<dyn Fn(Arc<dyn Connect>) -> Arc<dyn Connect> + Send + Sync>;

/// Makes the plain connections.
#[derive(Clone)]
enum Base {
    Tcp(Tcp),
    /// For all endpoints, without TLS or proxy.
    Fixed(Arc<dyn Connect>),
}

impl Default for Base {
    fn default() -> Self {
        Self::Tcp(Tcp::default())
    }
}

/// Why there is no route to an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The TLS options cannot be followed.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy of a `connect:` target is malformed.
    #[cfg(feature = "proxy")]
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A feature that the endpoint needs is not compiled in.
    #[error("{0} is not built into this program")]
    NotBuiltIn(&'static str),
}

impl Routes {
    /// TCP to the addresses that `resolver` finds.
    pub fn with_resolver(resolver: impl Resolve + 'static) -> Self {
        Self::over(Base::Tcp(Tcp::new(resolver)))
    }

    /// One connector for all endpoints, without TLS or proxy on top.
    pub fn fixed(connector: impl Connect + 'static) -> Self {
        Self::over(Base::Fixed(Arc::new(connector)))
    }

    fn over(base: Base) -> Self {
        Self {
            base,
            #[cfg(feature = "tls")]
            tls: TlsOptions::default(),
            #[cfg(feature = "tls")]
            trust: Arc::default(),
            #[cfg(feature = "proxy")]
            proxy: None,
            wrap: None,
        }
    }

    /// Sets the TLS options.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = options;
        self.trust = Arc::default();
        self
    }

    /// Reads the certificates that the TLS options name, to report a bad file before anything is sent.
    ///
    /// # Errors
    /// Options that cannot be followed.
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

    /// Wraps every connector, TLS and proxies included, for example to record what is sent and received.
    pub fn wrapped(
        mut self,
        wrap: impl Fn(Arc<dyn Connect>) -> Arc<dyn Connect> + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// The connector for an endpoint; `proxy` is that of a `connect:` target. Nothing is connected yet.
    ///
    /// # Errors
    /// Options that cannot be followed.
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
        let tcp = match &self.base {
            Base::Fixed(connector) => return Ok(Arc::clone(connector)),
            Base::Tcp(tcp) => tcp.clone(),
        };
        match endpoint {
            Endpoint::Unix(path) => unix(path),
            Endpoint::Tcp(..) => self.proxied(tcp, proxy),
            Endpoint::Tls(..) => self.secured(self.proxied(tcp, proxy)?),
        }
    }

    #[cfg(feature = "proxy")]
    fn proxied(&self, tcp: Tcp, proxy: Option<&str>) -> Result<Arc<dyn Connect>, RouteError> {
        let named = proxy.map(|text| text.parse::<Proxy>()).transpose()?;
        let chosen = match (named, &self.proxy) {
            // The proxy of a `connect:` target applies to every host.
            (Some(proxy), _) => Some((proxy, NoProxy::none())),
            (None, general) => general.clone(),
        };
        Ok(match chosen {
            Some((proxy, exempt)) => Arc::new(Proxied::new(tcp, proxy, exempt)),
            None => Arc::new(tcp),
        })
    }

    #[cfg(not(feature = "proxy"))]
    fn proxied(&self, tcp: Tcp, proxy: Option<&str>) -> Result<Arc<dyn Connect>, RouteError> {
        match proxy {
            Some(_) => Err(RouteError::NotBuiltIn("the way through a proxy")),
            None => Ok(Arc::new(tcp)),
        }
    }

    #[cfg(feature = "tls")]
    fn secured(&self, inner: Arc<dyn Connect>) -> Result<Arc<dyn Connect>, RouteError> {
        Ok(Arc::new(Tls::trusting(inner, self.trust()?)))
    }

    #[cfg(feature = "tls")]
    fn trust(&self) -> Result<Trust, TlsError> {
        Ok(match self.trust.get() {
            Some(trust) => trust.clone(),
            // If two threads read them at once, either result will do.
            None => {
                let trust = Trust::new(&self.tls)?;
                self.trust.get_or_init(|| trust).clone()
            }
        })
    }

    #[cfg(not(feature = "tls"))]
    fn secured(&self, _: Arc<dyn Connect>) -> Result<Arc<dyn Connect>, RouteError> {
        Err(RouteError::NotBuiltIn("TLS"))
    }
}

#[cfg(unix)]
fn unix(path: &std::path::Path) -> Result<Arc<dyn Connect>, RouteError> {
    Ok(Arc::new(Unix::new(path)))
}

#[cfg(not(unix))]
fn unix(_: &std::path::Path) -> Result<Arc<dyn Connect>, RouteError> {
    Err(RouteError::NotBuiltIn("the way to Unix sockets"))
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::url::Host;

    #[test]
    fn certificates_are_read_once_and_only_for_tls() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(Vec::new()).expect("no names");
        let certificate = params.self_signed(&key).expect("a certificate");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("roots.pem");
        let routes = Routes::default().tls(TlsOptions {
            roots: Some(file.clone()),
            ..TlsOptions::default()
        });
        let host: Host = "lib.example".parse().expect("a host");
        let plain = Endpoint::Tcp(host.clone(), 210);
        let secured = Endpoint::Tls(host, 210);
        assert!(routes.to(&plain, None).is_ok());
        assert!(matches!(routes.to(&secured, None), Err(RouteError::Tls(_))));
        std::fs::write(&file, certificate.pem()).expect("written");
        assert!(routes.clone().to(&secured, None).is_ok());
        std::fs::remove_file(&file).expect("removed");
        assert!(routes.to(&secured, None).is_ok());
        let others = routes.tls(TlsOptions {
            roots: Some(file),
            ..TlsOptions::default()
        });
        assert!(others.to(&secured, None).is_err());
    }

    /// Connects as another does, and counts how often.
    struct Counted(Arc<dyn Connect>, Arc<AtomicUsize>);

    impl Connect for Counted {
        fn connect<'a>(
            &'a self,
            host: &'a Host,
            port: u16,
            timeouts: &'a Timeouts,
        ) -> BoxFuture<'a, Result<BoxStream, crate::Error>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.connect(host, port, timeouts)
        }
    }

    #[tokio::test]
    async fn every_connection_passes_through_what_wraps_the_routes() {
        let count = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&count);
        let routes =
            Routes::default().wrapped(move |inner| Arc::new(Counted(inner, Arc::clone(&counter))));
        let folder = tempfile::tempdir().expect("a folder");
        let endpoint = Endpoint::Unix(folder.path().join("nothing"));
        let connector = routes.to(&endpoint, None).expect("a way");
        let timeouts = Timeouts::default();
        let refused = connector
            .connect(&endpoint.host(), endpoint.port(), &timeouts)
            .await;
        assert!(refused.is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
