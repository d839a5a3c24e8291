//! Fetches Gopher items through the client's gateway.

#![cfg(feature = "sru")]

use super::Client;
use crate::gopher::{GopherError, GopherOptions, Reply};
use crate::url::GopherUrl;

impl Client {
    /// Fetches the item named by a Gopher URL through this client's gateway, within the client's timeouts; returns
    /// `None` if the client has no gateway. The gateway decides which ports are allowed and how a Gopher+ request is
    /// written.
    ///
    /// # Errors
    /// The errors of [`gopher::retrieve`](crate::gopher::retrieve). The gateway's own errors are returned as
    /// [`GopherError::Connect`].
    pub async fn gopher_by_gateway(
        &self,
        url: &GopherUrl,
        options: &GopherOptions,
    ) -> Option<Result<Reply, GopherError>> {
        let gateway = self.gateway.as_ref()?;
        Some(gateway.fetch(url, options, &self.options().timeouts).await)
    }
}
