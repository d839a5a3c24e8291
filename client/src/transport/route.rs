//! The way to an [`Endpoint`]: TCP, through a proxy where there is one, TLS on top; or a socket of this machine.

use std::sync::Arc;

use super::{Connect, Resolve, Tcp};
#[cfg(feature = "proxy")]
use super::{NoProxy, Proxied, Proxy, ProxyError};
#[cfg(feature = "tls")]
use super::{Tls, TlsError, TlsOptions};
use crate::target::Endpoint;

/// How to get anywhere: what is the same for all endpoints.
#[derive(Clone, Default)]
pub struct Routes {
    way: Way,
    #[cfg(feature = "tls")]
    tls: TlsOptions,
    #[cfg(feature = "proxy")]
    proxy: Option<(Proxy, NoProxy)>,
}

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
            #[cfg(feature = "proxy")]
            proxy: None,
        }
    }

    /// With other TLS options.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = options;
        self
    }

    /// Through a proxy, but to hosts of `exempt` without it.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, proxy: Proxy, exempt: NoProxy) -> Self {
        self.proxy = Some((proxy, exempt));
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
        Ok(Arc::new(Tls::new(inner, &self.tls)?))
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
