//! An open session and what belongs to it, and what all sessions share.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use z3950::client::Client;
use z3950::error::Error;
use z3950::pace::Clock;
use z3950::profile::Resolved;
use z3950::service::init::InitOptions;
use z3950::session::{End, Session};
use z3950::target::{Endpoint, Target};
use z3950_asn1::apdu::{AttributesPlusTerm, DatabaseName};
use z3950_asn1::oid::Oid;

use super::questions::Asker;
use super::tape::Tape;
use crate::commands::target::OpenSession;

/// What all sessions share.
pub(crate) struct SessionContext {
    pub(crate) client: Client,
    pub(crate) tape: Tape,
    /// Passes questions of servers to the user, if there is one.
    pub(crate) asker: Option<Arc<Asker>>,
}

/// How a session was opened, in order to reconnect.
#[derive(Clone, PartialEq)]
pub(super) struct ConnectInfo {
    /// For messages.
    pub(super) name: String,
    /// The server, and its profile.
    pub(super) target: Resolved,
    /// The Z39.50 proxy to connect through.
    pub(super) through: Option<Target>,
    pub(super) init: InitOptions,
}

impl ConnectInfo {
    /// The target as `open` takes it.
    pub(super) fn text(&self) -> String {
        match self.name.split_once(' ') {
            Some((target, _)) => target.to_owned(),
            None => self.name.clone(),
        }
    }

    /// The endpoint to connect to, and the HTTP or SOCKS proxy.
    pub(super) fn first(&self) -> (&Endpoint, Option<&str>) {
        match &self.through {
            Some(through) => (&through.endpoint, through.proxy.as_deref()),
            None => (&self.target.endpoint, self.target.proxy.as_deref()),
        }
    }
}

/// A session and what belongs to it.
pub(super) struct OpenedSession {
    pub(super) way: ConnectInfo,
    pub(super) session: Session,
    /// Keeps requests apart; sessions with the same server share it.
    pub(super) clock: Arc<Clock>,
    pub(super) databases: Vec<DatabaseName>,
    /// The number of named sets.
    pub(super) sets_named: u64,
    /// The hits of the sets by name.
    pub(super) hits: BTreeMap<String, Option<u64>>,
    pub(super) result_set: Option<CurrentSet>,
    pub(super) scanned: Option<Scanned>,
    /// Set while a command of the command line uses the session.
    pub(super) lent: Option<Lent>,
}

impl OpenedSession {
    /// How the session ended, for a message.
    pub(super) fn end(&self) -> &'static str {
        match self.session.ended().now_or_never() {
            Some(End::Failed(error))
                if !error.is_connection_lost()
                    && !matches!(*error, Error::ProtocolClosed { .. }) =>
            {
                "the session was given up after an error"
            }
            _ => "the server has closed the session",
        }
    }
}

/// The result set that commands use by default.
#[derive(Debug, Clone)]
pub(super) struct CurrentSet {
    pub(super) name: String,
    /// `None` if the server does not know.
    pub(super) hits: Option<u64>,
    /// The position that `show` shows next.
    pub(super) next: u64,
}

/// The end of the last scan.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    pub(super) attribute_set: Option<Oid>,
    pub(super) last: AttributesPlusTerm,
    pub(super) in_set: Option<String>,
}

/// A session lent to a command of the command line.
pub(super) struct Lent {
    pub(super) session: OpenSession,
    pub(super) makes_set: bool,
    /// The message if the command is interrupted.
    pub(super) interrupted: Option<&'static str>,
}
