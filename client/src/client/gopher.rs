//! Gopher items by the gateway of a client.

#![cfg(feature = "sru")]

use super::Client;
use crate::gopher::{GopherError, GopherOptions, Reply};
use crate::url::GopherUrl;

impl Client {
    /// Fetches what a Gopher URL names by the gateway of this client; `None` if it has none. The timeouts are those of the client. Which
    /// ports are allowed, and how a Gopher+ request is written, is for the gateway to say.
    ///
    /// # Errors
    /// Those of [`gopher::retrieve`](crate::gopher::retrieve); the gateway's own in [`GopherError::Connect`].
    pub async fn gopher_by_gateway(
        &self,
        url: &GopherUrl,
        options: &GopherOptions,
    ) -> Option<Result<Reply, GopherError>> {
        let gateway = self.gateway.as_ref()?;
        Some(gateway.fetch(url, options, &self.options().timeouts).await)
    }
}
