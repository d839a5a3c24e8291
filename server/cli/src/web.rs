//! The handlers of HTTP requests other than SRU: the page and the gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use z3950_front::CataloguePage;
use z3950_front::Gateway;
use z3950_server::Endpoint;
use z3950_server::web::Web;

use crate::config::Config;

/// The addresses on which the server listens.
#[derive(Clone, Debug)]
pub(crate) struct Listening {
    /// The addresses of all listeners.
    all: Vec<SocketAddr>,
    /// The addresses of the listeners without TLS.
    plain: Vec<SocketAddr>,
}

impl Listening {
    pub(crate) fn at(endpoints: &[Endpoint]) -> Self {
        let plain = endpoints.iter().filter_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(*address),
            _ => None,
        });
        Self {
            all: endpoints.iter().filter_map(Endpoint::address).collect(),
            plain: plain.collect(),
        }
    }
}

/// Returns the page and the gateway of a server with these listeners; `None` if both are disabled.
pub(crate) fn web(config: &Config, listening: &Listening) -> Option<Arc<dyn Web>> {
    let gateway = gateway(config, listening.all.clone());
    if !config.page {
        return Some(Arc::new(gateway?));
    }
    let page = CataloguePage::new().with_plain_listeners(listening.plain.clone());
    Some(match gateway {
        Some(gateway) => Arc::new(page.with_gateway(gateway)),
        None => Arc::new(page),
    })
}

/// Returns the gateway; `None` if it is disabled.
fn gateway(config: &Config, listeners: Vec<SocketAddr>) -> Option<Gateway> {
    let mut options = config.gateway.clone()?;
    options.has_page = config.page;
    let gateway = Gateway::new(options, Arc::clone(&config.gateway_profiles));
    gateway.set_listeners(listeners);
    Some(gateway)
}
