//! `--demo`: a server with the built-in catalogue in this process, which every host leads to.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use z3950_server::{Limits, MemoryBackend, Server};

use crate::console::output::Failure;

/// Starts the server on a free loopback port; it ends with the process.
pub(crate) async fn start() -> Result<SocketAddr, Failure> {
    let backend = Arc::new(MemoryBackend::demo());
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0), backend, Limits::default())
        .await
        .map_err(|error| Failure::machine("start the demo server", &error))?;
    let address = server.local_addrs().first().copied();
    tokio::spawn(server.run(std::future::pending()));
    address.ok_or_else(|| Failure::machine("start the demo server", &"it has no address"))
}
