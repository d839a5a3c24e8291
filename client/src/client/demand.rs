//! The demand for sessions in a client's pool.

use super::Client;
use crate::pool::SessionDemand;
use crate::target::Endpoint;

impl Client {
    /// Returns the demand for sessions with the server at this endpoint.
    pub fn demand(&self, endpoint: &Endpoint) -> SessionDemand {
        SessionDemand(self.pool.server(endpoint))
    }
}
