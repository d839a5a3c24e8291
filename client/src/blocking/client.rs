//! The client, and the events of a search at several targets.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use super::runtime::Runtime;
use crate::client::{ClientOptions, ConnectOptions};
use crate::error::Error;
use crate::find::{self, Event, SearchTarget, Wanted};
use crate::record::Record;

/// Retrieves URLs and connects to targets; see [`Client`](crate::Client). Cloning a client creates another handle to
/// the same sessions.
#[derive(Clone, Debug, Default)]
pub struct Client {
    client: crate::Client,
    runtime: Arc<Runtime>,
}

impl Client {
    /// Creates a client that does not depend on its environment; see [`Client::new`](crate::Client::new).
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a client with options.
    pub fn with(options: ClientOptions) -> Self {
        crate::Client::with(options).into()
    }

    /// Creates a client with the user's configuration; see
    /// [`Client::from_user_config`](crate::Client::from_user_config).
    ///
    /// # Errors
    /// Fails if the configuration is invalid.
    #[cfg(feature = "profiles")]
    pub fn from_user_config() -> Result<Self, Error> {
        crate::Client::from_user_config().map(Self::from)
    }

    /// Connects to a target; see [`Client::connect`](crate::Client::connect).
    ///
    /// # Errors
    /// The errors of [`Client::connect`](crate::Client::connect).
    pub fn connect(&self, target: impl AsRef<str>) -> Result<Connection, Error> {
        let connection = self.runtime.run(self.client.connect(target))?;
        Ok(Connection::new(connection, &self.runtime))
    }

    /// Connects to a target with credentials or time limits that apply only to this connection; see
    /// [`Client::connect_with`](crate::Client::connect_with).
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect).
    pub fn connect_with(
        &self,
        target: impl AsRef<str>,
        options: ConnectOptions,
    ) -> Result<Connection, Error> {
        let connection = self.client.connect_with(target, options);
        Ok(Connection::new(
            self.runtime.run(connection)?,
            &self.runtime,
        ))
    }

    /// Returns a client with the same sessions whose calls take at most `limit` each; see
    /// [`Client::within`](crate::Client::within).
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        Self {
            client: self.client.within(limit),
            runtime: Arc::clone(&self.runtime),
        }
    }

    /// Returns the record named by a retrieval URL; see [`Client::get`](crate::Client::get).
    ///
    /// # Errors
    /// The errors of [`Client::get`](crate::Client::get).
    pub fn get(&self, url: impl AsRef<str>) -> Result<Record, Error> {
        self.runtime.run(self.client.get(url))
    }

    /// Parses a target for [`find`](Self::find); see [`Client::target`](crate::Client::target).
    ///
    /// # Errors
    /// The errors of [`Client::target`](crate::Client::target).
    pub fn target(&self, target: impl AsRef<str>) -> Result<SearchTarget, Error> {
        self.client.target(target)
    }

    /// Searches for records at one or more targets, and returns the events of the search; see
    /// [`Client::find`](crate::Client::find).
    ///
    /// # Errors
    /// [`Error::Unavailable`], if the thread of the client cannot be started.
    pub fn find(
        &self,
        targets: impl IntoIterator<Item = SearchTarget>,
        wanted: Wanted,
    ) -> Result<Events, Error> {
        let events = self.client.find(targets, wanted);
        // Start the thread, so that it is running when the events are read.
        self.runtime.wait(std::future::ready(()))?;
        Ok(Events {
            events,
            runtime: Arc::clone(&self.runtime),
        })
    }

    /// Closes all idle sessions; see [`Client::close_all`](crate::Client::close_all).
    pub fn close_all(&self) {
        // An error means that the thread cannot be started. In that case, there is no session to close.
        let _ = self.runtime.wait(self.client.close_all());
    }
}

impl From<crate::Client> for Client {
    /// Creates a client with the options, profiles, routes and idle sessions of an asynchronous client.
    fn from(client: crate::Client) -> Self {
        Self {
            client,
            runtime: Arc::default(),
        }
    }
}

/// The events of a search for records; see [`find::Events`]. Dropping it ends the search.
#[derive(Debug)]
#[must_use = "nothing is sent before the first event is read"]
pub struct Events {
    events: find::Events,
    runtime: Arc<Runtime>,
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.runtime.wait(self.events.next()).ok()?
    }
}
