//! The client's methods for sessions: they lease sessions from the pool for exclusive or shared use, open sessions
//! outside the pool, close sessions, and report the demand for them.

use std::sync::Arc;

use futures_util::future::join_all;
use z3950_asn1::apdu::{IdAuthentication, InitializeRequest};

use super::Client;
use crate::error::Error;
use crate::plan::id_pass;
use crate::pool::{Lease, PoolStatus, SessionDemand, Sharing};
use crate::protocol::session::{Session, SessionOptions};
use crate::target::profile::{ProfileError, Resolved};
use crate::target::{Endpoint, TargetError};
use crate::transport::Connect;

impl Client {
    /// Leases a session with a target for exclusive use, within the limits of the target's profile. The credentials in
    /// `init` are used or, if it has none, the credentials of the profile. If the maximum number of sessions is in use,
    /// the method waits until a session is returned. Holding a lease while waiting for another one may deadlock.
    ///
    /// # Errors
    /// [`Error::Credentials`], the errors of [`Client::connect`], and an error in phase Connect if the wait reaches its
    /// limit.
    pub async fn lease(&self, target: &Resolved, init: InitializeRequest) -> Result<Lease, Error> {
        self.in_time(self.lend(target, init, Sharing::Alone)).await
    }

    /// Leases a session with a target for shared use. As long as the limits of the target's profile allow another
    /// session, the caller gets a session that nobody else uses. Otherwise, the caller shares a session that is in use,
    /// provided that its server performs operations concurrently.
    ///
    /// # Errors
    /// The errors of [`lease`](Self::lease).
    pub async fn share(&self, target: &Resolved, init: InitializeRequest) -> Result<Lease, Error> {
        self.in_time(self.lend(target, init, Sharing::WithOthers))
            .await
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

    /// Returns the options for sessions with a target. The credentials in `init` are used or, if it has none, the
    /// credentials in the target's URL or in its profile.
    ///
    /// # Errors
    /// [`Error::Target`] for credentials in a URL that are not to be sent; [`Error::Credentials`].
    pub async fn options_at(
        &self,
        target: &Resolved,
        mut init: InitializeRequest,
    ) -> Result<SessionOptions, Error> {
        if init.id_authentication.is_none() {
            init.id_authentication = self.url_credentials(target)?;
        }
        if let (None, Some(credentials)) = (&init.id_authentication, &target.profile.credentials) {
            let authentication = Box::pin(self.authentication(credentials)).await;
            init.id_authentication =
                Some(authentication.map_err(|error| Error::Credentials(Arc::new(error)))?);
        }
        Ok(self.session_options(init, Some(&target.profile)))
    }

    /// Returns the credentials in the URL of a target.
    ///
    /// # Errors
    /// [`Error::Target`] if the options do not allow sending them.
    pub(super) fn url_credentials(
        &self,
        target: &Resolved,
    ) -> Result<Option<IdAuthentication>, Error> {
        let Some(userinfo) = &target.userinfo else {
            return Ok(None);
        };
        if self.options.plan.allow_url_credentials {
            return Ok(Some(id_pass(userinfo)));
        }
        let address = match &target.url {
            Some(url) => url.to_string(),
            None => target.endpoint.to_string(),
        };
        let error = ProfileError::Target(TargetError::Credentials(address));
        Err(Error::Target(Arc::new(error)))
    }

    /// Opens a session outside the pool, through `proxy` if it is given. Only `options` apply, not
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

    /// Closes a session. Waits for the server's Close if the options require this.
    pub async fn close(&self, session: &Session) {
        // An error means that the session has already ended.
        let _ = if self.options.awaits_close {
            session.close().await
        } else {
            session.close_now().await
        };
    }

    /// Returns the demand for sessions with the server at this endpoint.
    pub fn demand(&self, endpoint: &Endpoint) -> SessionDemand {
        SessionDemand(self.pool.server(endpoint))
    }

    /// Returns how many of the client's sessions are in use or idle, and how many callers are waiting for a session.
    ///
    /// ```
    /// let client = z3950::Client::new();
    /// assert_eq!(client.pool_status().in_use, 0);
    /// ```
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }
}
