//! Opens Z39.50 sessions with the server itself on behalf of an HTTP request, over pipes in memory.

use std::sync::{Arc, Mutex};

use tokio::io::duplex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, info_span};

use crate::access::Admission;
use crate::backend::DatabaseInfo;
use crate::connection::slots::{Slot, Slots};
use crate::connection::tally::Tally;
use crate::connection::{self, Client, Context};
use crate::lock::lock;
use crate::observer::Peer;
use crate::web::{LoginStatus, Opening, OwnSessions, SruLogin};

/// Opens sessions on behalf of an HTTP client; dropping the value ends them. The first session uses the slot of the client's
/// connection. Each further session needs a separate slot; while no slot is free, it waits until another session of the request ends.
pub(super) struct SessionsOfRequest {
    peer: Peer,
    slots: Option<Slots>,
    context: Arc<Context>,
    stopping: watch::Receiver<bool>,
    places: Arc<SessionPlaces>,
    tasks: Mutex<JoinSet<()>>,
}

/// Limits the number of concurrent sessions of a request.
struct SessionPlaces {
    most: usize,
    taken: Mutex<usize>,
    freed: Notify,
}

/// Permission to open a session; dropping the value returns the permission.
struct SessionPlace {
    places: Arc<SessionPlaces>,
    _slot: Option<Slot>,
}

/// The maximum number of octets buffered in each direction of a pipe.
const PIPE: usize = 16 << 10;

impl SessionsOfRequest {
    pub(super) fn new(
        peer: Peer,
        slots: Option<Slots>,
        context: Arc<Context>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let places = SessionPlaces {
            most: context.target.limits.sessions_per_request,
            taken: Mutex::default(),
            freed: Notify::new(),
        };
        Self {
            peer,
            slots,
            context,
            stopping,
            places: Arc::new(places),
            tasks: Mutex::default(),
        }
    }

    /// Waits until the request may open a further session.
    async fn place(&self) -> SessionPlace {
        loop {
            if let Some(place) = self.free_place() {
                return place;
            }
            // `Notify` remembers one notification, so a notification before this line is not missed.
            self.places.freed.notified().await;
        }
    }

    fn free_place(&self) -> Option<SessionPlace> {
        let mut taken = lock(&self.places.taken);
        let slot = match (*taken, &self.slots) {
            (0, _) => None,
            (taken, _) if taken >= self.places.most => return None,
            (_, None) => None,
            (_, Some(slots)) => Some(slots.spare(self.peer.ip())?),
        };
        *taken += 1;
        Some(SessionPlace {
            places: Arc::clone(&self.places),
            _slot: slot,
        })
    }
}

impl Drop for SessionPlace {
    fn drop(&mut self) {
        let mut taken = lock(&self.places.taken);
        *taken = taken.saturating_sub(1);
        self.places.freed.notify_one();
    }
}

impl SessionsOfRequest {
    /// Returns how a session with this login is admitted; `None` if it is refused. Credentials are recognized only if they were
    /// admitted recently.
    fn admission(&self, login: Option<&SruLogin>) -> Option<Admission> {
        let target = &self.context.target;
        if !target.has_logins() {
            return Some(Admission::Anybody);
        }
        match login {
            None => target.access.admit_anonymous().ok(),
            Some(login) => {
                let user = target.logins.admitted.find(&login.user, &login.password);
                user.map(Admission::User)
            }
        }
    }
}

impl OwnSessions for SessionsOfRequest {
    fn databases(&self, login: Option<&SruLogin>) -> Vec<DatabaseInfo> {
        let target = &self.context.target;
        let user = match self.admission(login) {
            Some(Admission::Anybody) => None,
            Some(Admission::User(user)) => Some(user),
            Some(Admission::Unproved) | None => return Vec::new(),
        };
        let may_have = |database: &DatabaseInfo| {
            let user = user.as_ref();
            user.is_none_or(|user| user.may_have(&database.name))
        };
        target.databases().into_iter().filter(may_have).collect()
    }

    fn login_status(&self, login: Option<&SruLogin>) -> LoginStatus {
        match self.admission(login) {
            Some(Admission::User(_)) => LoginStatus::User,
            Some(Admission::Anybody) => LoginStatus::Guest,
            Some(Admission::Unproved) | None => LoginStatus::Stranger,
        }
    }

    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let place = self.place().await;
            let (ours, mut theirs) = duplex(PIPE);
            let context = Arc::clone(&self.context);
            let stopping = self.stopping.clone();
            let client = Client {
                number: context.next_number(),
                peer: self.peer,
                begun: Instant::now(),
                slot: None,
                speaks_http: false,
            };
            let span = info_span!("session", number = client.number, peer = %self.peer);
            let mut tally = span.in_scope(|| {
                Tally::within(
                    client.number,
                    client.peer,
                    Arc::clone(&context.metrics),
                    Arc::clone(&context.observer),
                    stopping.clone(),
                )
            });
            let served = async move {
                connection::serve(&mut theirs, &client, context, stopping, &mut tally).await;
                drop(place);
            };
            let mut tasks = lock(&self.tasks);
            // Tasks that have ended are removed, so that the set does not grow.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(served.instrument(span));
            ours
        })
    }
}
