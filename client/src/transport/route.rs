//! The way to an [`Endpoint`]: TCP, through a proxy where there is one, TLS on top; or a socket of this machine.

use std::sync::Arc;
#[cfg(feature = "tls")]
use std::sync::OnceLock;

#[cfg(feature = "tls")]
use super::tls::Trust;
use super::{Connect, Resolve, Tcp};
#[cfg(feature = "proxy")]
use super::{NoProxy, Proxied, Proxy, ProxyError};
#[cfg(feature = "tls")]
use super::{Tls, TlsError, TlsOptions};
use crate::target::Endpoint;

/// How to get anywhere: what is the same for all endpoints. Copies share the certificates they trust, which are read when
/// the first of them leads to an endpoint with TLS.
#[derive(Clone, Default)]
pub struct Routes {
    way: Way,
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

/// Where plain connections come from.
#[derive(Clone)]
enum Way {
    Tcp(Tcp),
    /// Everything goes this way, whatever is asked for.
    Fixed(Arc<dyn Connect>),
}

impl Default for Way {
    fn default() -> Self {
        Self::Tcp(Tcp::default())
    }
}

/// Why there is no way to an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The TLS options cannot be followed.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy of a `connect:` target is none.
    #[cfg(feature = "proxy")]
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// This program was built without what the endpoint needs.
    #[error("{0} is not built into this program")]
    NotBuiltIn(&'static str),
}

impl Routes {
    /// By TCP to the addresses that `resolver` finds.
    pub fn with_resolver(resolver: impl Resolve + 'static) -> Self {
        Self::over(Way::Tcp(Tcp::new(resolver)))
    }

    /// In whatever way `connector` goes, for all endpoints: neither TLS nor proxies are put on top.
    pub fn fixed(connector: impl Connect + 'static) -> Self {
        Self::over(Way::Fixed(Arc::new(connector)))
    }

    fn over(way: Way) -> Self {
        Self {
            way,
            #[cfg(feature = "tls")]
            tls: TlsOptions::default(),
            #[cfg(feature = "tls")]
            trust: Arc::default(),
            #[cfg(feature = "proxy")]
            proxy: None,
            wrap: None,
        }
    }

    /// With other TLS options.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = options;
        self.trust = Arc::default();
        self
    }

    /// Reads the certificates that the TLS options name now, so that a bad file is known before anything is sent.
    ///
    /// # Errors
    /// Options that cannot be followed.
    #[cfg(feature = "tls")]
    pub fn read_certificates(&self) -> Result<(), TlsError> {
        self.trust().map(drop)
    }

    /// Through a proxy, but to hosts of `exempt` without it.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, proxy: Proxy, exempt: NoProxy) -> Self {
        self.proxy = Some((proxy, exempt));
        self
    }

    /// Through `wrap`, which gets every connector, TLS and proxies included, and gives the one to use: to log or record
    /// what is sent and received.
    pub fn wrapped(
        mut self,
        wrap: impl Fn(Arc<dyn Connect>) -> Arc<dyn Connect> + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// The connector that leads to an endpoint, through the proxy of a `connect:` target if `proxy` names one.
    ///
    /// # Errors
    /// Options that cannot be followed. Nothing is connected to yet.
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
        let tcp = match &self.way {
            Way::Fixed(connector) => return Ok(Arc::clone(connector)),
            Way::Tcp(tcp) => tcp.clone(),
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
            // A proxy named for this target alone is meant for its host, whichever that is.
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
            // Should two read them at once, either may keep them.
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
    Ok(Arc::new(super::Unix::new(path)))
}

#[cfg(not(unix))]
fn unix(_: &std::path::Path) -> Result<Arc<dyn Connect>, RouteError> {
    Err(RouteError::NotBuiltIn("the way to Unix sockets"))
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{BoxFuture, BoxStream, Timeouts};
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
