//! Builds a client from values that the program supplies, such as credentials, profiles, certificates, limits and a
//! proxy.

use std::time::Duration;

use super::{Client, ClientOptions, target_error};
use crate::error::Error;
#[cfg(feature = "tls")]
use crate::error::RouteError;
use crate::target::profile::{Credentials, Profile, ProfileError, Profiles};
#[cfg(feature = "tls")]
use crate::transport::TlsOptions;
#[cfg(feature = "proxy")]
use crate::transport::{NoProxy, Proxy};
use crate::transport::{Resolve, Routes, Timeouts};

/// Builds a [`Client`] that depends only on the given values: it reads a file or an environment variable only if a
/// value names one.
///
/// ```no_run
/// use std::time::Duration;
/// use z3950::{Client, Credentials, Query, Timeouts};
///
/// # async fn example() -> Result<(), z3950::Error> {
/// let client = Client::builder()
///     .credentials("lib.example", Credentials::password("ann", "secret"))
///     .timeouts(Timeouts::default().with_answer(Duration::from_secs(10)))
///     .max_sessions(4)
///     .build()?;
/// let catalogue = client.connect("lib.example:2100/books").await?;
/// println!("{} found", catalogue.search(Query::title("emma")).await?.count());
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use]
pub struct ClientBuilder {
    options: ClientOptions,
    profiles: Profiles,
    routes: Routes,
    /// The error for the first value that cannot be used, which [`build`](Self::build) returns.
    fault: Option<ProfileError>,
    #[cfg(feature = "tls")]
    has_tls: bool,
}

impl ClientBuilder {
    /// Sets the credentials for a server, given as `host` for all its ports or as `host:port`. They replace the
    /// credentials in profiles, and are used for URLs without credentials. Credentials for one port take precedence
    /// over those for all ports.
    pub fn credentials(mut self, host: impl AsRef<str>, credentials: Credentials) -> Self {
        let profiles = std::mem::take(&mut self.profiles);
        match profiles.with_credentials(host.as_ref(), credentials) {
            Ok(profiles) => self.profiles = profiles,
            Err(error) => self.fault = self.fault.or(Some(error)),
        }
        self
    }

    /// Adds a profile. A target selects it by its name, which [`Client::connect`] accepts, or by its address.
    pub fn profile(mut self, name: impl Into<String>, profile: Profile) -> Self {
        self.profiles = self.profiles.with_profile(name, profile);
        self
    }

    /// Sets the profiles, such as `Profiles::built_in` (feature `profiles`), to which [`profile`](Self::profile) and
    /// [`credentials`](Self::credentials) add. Call this method before those.
    pub fn profiles(mut self, profiles: Profiles) -> Self {
        self.profiles = profiles;
        self
    }

    /// Sets the trusted certificates, and the client's own certificate. [`build`](Self::build) reads them.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.routes = self.routes.tls(options);
        self.has_tls = true;
        self
    }

    /// Sets the proxy, and the hosts that are reached without it. By default, no proxy is used.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, proxy: Proxy, exempt: NoProxy) -> Self {
        self.routes = self.routes.proxy(proxy, exempt);
        self
    }

    /// Sets the resolver for host names.
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.routes = self.routes.resolver(resolver);
        self
    }

    /// Sets the time limits for connections and responses.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = timeouts;
        self
    }

    /// Sets the maximum number of sessions in use with each server whose profile sets none. The default is 16, and the
    /// minimum is one.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.options.max_sessions = Some(count);
        self
    }

    /// Sets the time for which unused sessions are kept for the next request; see [`ClientOptions::idle_time`].
    pub fn idle_time(mut self, time: Duration) -> Self {
        self.options.idle_time = Some(time);
        self
    }

    /// Sets all options, including timeouts and session limits. They replace all options set before.
    pub fn options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// Builds the client. No connection is made yet.
    ///
    /// # Errors
    /// [`Error::Route`], which names their location, for certificates or a key that cannot be used; [`Error::Target`]
    /// for credentials whose host is invalid.
    pub fn build(self) -> Result<Client, Error> {
        if let Some(error) = self.fault {
            return Err(target_error(error));
        }
        #[cfg(feature = "tls")]
        if self.has_tls {
            let certificates = self.routes.read_certificates();
            certificates.map_err(|error| Error::Route(RouteError::from(error).into()))?;
        }
        Ok(Client::with_routes(self.options, self.routes).with_profiles(self.profiles))
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The values that apply to one connection instead of those of its client; see [`Client::connect_with`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The credentials; with `None`, the credentials of the client, its profiles or the URL are used.
    pub credentials: Option<Credentials>,
    /// The time limits; with `None`, the client's time limits apply.
    pub timeouts: Option<Timeouts>,
}

impl ConnectOptions {
    /// Creates options that change nothing: the credentials and time limits of the client apply.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the credentials, which replace those of a profile or a URL.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sets the time limits for the connection and its responses.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }
}
