//! What answers requests of HTTP that are not SRU's: the page and the gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use z3950_front::CataloguePage;
use z3950_front::Gateway;
use z3950_front::z3950::profile::Profiles;
use z3950_server::web::Web;

use crate::config::Config;

/// The page and the gateway of a server that listens on these addresses; `None` if both are off.
pub(crate) fn web(config: &Config, listeners: Vec<SocketAddr>) -> Option<Arc<dyn Web>> {
    let gateway = gateway(config, listeners);
    if config.no_page {
        return Some(Arc::new(gateway?));
    }
    let page = CataloguePage::new();
    Some(match gateway {
        Some(gateway) => Arc::new(page.with_gateway(gateway)),
        None => Arc::new(page),
    })
}

/// The gateway; `None` if it is off.
fn gateway(config: &Config, listeners: Vec<SocketAddr>) -> Option<Gateway> {
    let mut options = config.gateway.clone()?;
    options.has_page = !config.no_page;
    // They take a moment to read, and only servers that are allowed have use for them.
    let is_closed = options.targets.is_closed();
    let profiles = match is_closed {
        true => Profiles::default(),
        false => Profiles::built_in(),
    };
    let gateway = Gateway::new(options, profiles);
    gateway.set_listeners(listeners);
    Some(gateway)
}
