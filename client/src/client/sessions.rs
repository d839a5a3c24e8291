//! Sessions with targets: from the pool, shared with other users, and outside the pool.

use std::sync::Arc;

use futures_util::future::join_all;
use z3950_asn1::apdu::InitializeRequest;

use super::Client;
use crate::error::Error;
use crate::pool::{Lease, Sharing};
use crate::protocol::session::{Session, SessionOptions};
use crate::target::Endpoint;
use crate::target::profile::Resolved;
use crate::transport::Connect;

impl Client {
    /// Lends a session with a target for exclusive use, within the limits of the target's profile. The credentials are
    /// those of `init`, or those of the profile if it has none. If as many sessions are in use as the limits allow, the
    /// method waits until a session is returned. Holding a lease while waiting for another one may deadlock.
    ///
    /// # Errors
    /// [`Error::Credentials`], the errors of [`Client::connect`], and an error in phase Connect if the wait reaches its
    /// limit.
    pub async fn lease(&self, target: &Resolved, init: InitializeRequest) -> Result<Lease, Error> {
        self.lend(target, init, Sharing::Alone).await
    }

    /// Lends a session with a target for shared use. As long as the limits of the target's profile allow another
    /// session, the caller gets a session alone. After that, the caller shares a session in use, if its server performs
    /// operations concurrently.
    ///
    /// # Errors
    /// The errors of [`lease`](Self::lease).
    pub async fn share(&self, target: &Resolved, init: InitializeRequest) -> Result<Lease, Error> {
        self.lend(target, init, Sharing::WithOthers).await
    }

    async fn lend(
        &self,
        target: &Resolved,
        init: InitializeRequest,
        sharing: Sharing,
    ) -> Result<Lease, Error> {
        let options = self.options_at(target, init).await?;
        let limits = self.limits(Some(&target.profile));
        let (endpoint, proxy) = (&target.endpoint, target.proxy.as_deref());
        let lease = self.pool.lend(endpoint, proxy, options, &limits, sharing);
        lease.await
    }

    /// Returns the options for sessions with a target. The credentials are those of `init`, or those of the profile if
    /// it has none.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub async fn options_at(
        &self,
        target: &Resolved,
        mut init: InitializeRequest,
    ) -> Result<SessionOptions, Error> {
        if let (None, Some(credentials)) = (&init.id_authentication, &target.profile.credentials) {
            let authentication = Box::pin(self.authentication(credentials)).await;
            init.id_authentication =
                Some(authentication.map_err(|error| Error::Credentials(Arc::new(error)))?);
        }
        Ok(self.session_options(init, Some(&target.profile)))
    }

    /// Opens a session outside the pool, through `proxy` if it is given. Only `options` apply, and not
    /// [`ClientOptions`](super::ClientOptions).
    ///
    /// # Errors
    /// The errors of [`Session::connect`], and [`Error::Route`] if there is no route to the server, for example if a
    /// certificate file for TLS is missing.
    pub async fn session(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        self.pool.connect(endpoint, proxy, options).await
    }

    /// Returns the connector for an endpoint, through `proxy` if it is given, for programs that implement the protocol
    /// themselves. No connection is made yet.
    ///
    /// # Errors
    /// [`Error::Route`] if there is no route to the server, for example if a certificate file for TLS is missing.
    pub fn connector(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
    ) -> Result<Arc<dyn Connect>, Error> {
        self.pool.connector(endpoint, proxy)
    }

    /// Closes all idle sessions and all sessions opened for session URLs, within [`Timeouts::close`](crate::Timeouts::close).
    pub async fn close_all(&self) {
        let sessions = self.pool.drain();
        join_all(sessions.iter().map(|session| self.close(session))).await;
    }

    /// Closes a session, and waits for the server's Close if this is set in the options.
    pub async fn close(&self, session: &Session) {
        // An error means that the session has already ended.
        let _ = if self.options.awaits_close {
            session.close().await
        } else {
            session.close_now().await
        };
    }
}
