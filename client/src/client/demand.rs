//! The sessions in a client's pool, and the demand for them.

use super::Client;
use crate::pool::{PoolStatus, SessionDemand};
use crate::target::Endpoint;

impl Client {
    /// Returns the demand for sessions with the server at this endpoint.
    pub fn demand(&self, endpoint: &Endpoint) -> SessionDemand {
        SessionDemand(self.pool.server(endpoint))
    }

    /// Returns how many sessions of the client are in use or idle, and how many users wait for one.
    ///
    /// ```
    /// let client = z3950::Client::new();
    /// assert_eq!(client.pool_status().in_use, 0);
    /// ```
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }
}
