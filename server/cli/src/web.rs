//! What answers requests of HTTP that are not SRU's: the gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use z3950_front::Gateway;
use z3950_front::z3950::profile::Profiles;
use z3950_server::web::Web;

use crate::config::Config;

/// The gateway of a server that listens on these addresses; `None` if it is off.
pub(crate) fn web(config: &Config, listeners: Vec<SocketAddr>) -> Option<Arc<dyn Web>> {
    let options = config.gateway.clone()?;
    // They take a moment to read, and only servers that are allowed have use for them.
    let is_closed = options.targets.is_closed();
    let profiles = match is_closed {
        true => Profiles::default(),
        false => Profiles::built_in(),
    };
    let gateway = Gateway::new(options, profiles);
    gateway.set_listeners(listeners);
    Some(Arc::new(gateway))
}
