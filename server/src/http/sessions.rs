//! Sessions of Z39.50 that a request of HTTP has with the server itself, over pipes in memory.

use std::sync::{Arc, Mutex};

use tokio::io::duplex;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, info_span};

use crate::backend::DatabaseInfo;
use crate::connection::tally::Tally;
use crate::connection::{self, Client, Context};
use crate::lock::lock;
use crate::metrics::SessionEnd;
use crate::observer::Peer;
use crate::web::{Opening, OwnSessions};

/// Opens sessions in the name of a client; dropping it ends them.
pub(super) struct SessionsOfRequest {
    peer: Peer,
    context: Arc<Context>,
    stopping: watch::Receiver<bool>,
    free: Arc<Semaphore>,
    tasks: Mutex<JoinSet<()>>,
}

/// Octets that wait in each direction of a pipe, at most.
const PIPE: usize = 16 << 10;

impl SessionsOfRequest {
    pub(super) fn new(peer: Peer, context: Arc<Context>, stopping: watch::Receiver<bool>) -> Self {
        let most = context.target.limits.sessions_per_request;
        let free = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            peer,
            context,
            stopping,
            free: Arc::new(free),
            tasks: Mutex::default(),
        }
    }
}

impl OwnSessions for SessionsOfRequest {
    fn databases(&self) -> Vec<DatabaseInfo> {
        self.context.target.databases()
    }

    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            // It is never closed.
            let permit = Arc::clone(&self.free).acquire_owned().await;
            let (ours, mut theirs) = duplex(PIPE);
            let context = Arc::clone(&self.context);
            let stopping = self.stopping.clone();
            let client = Client {
                number: context.next_number(),
                peer: self.peer,
                begun: Instant::now(),
                room: None,
                speaks_http: false,
            };
            let span = info_span!("session", number = client.number, peer = %self.peer);
            let mut tally = span.in_scope(|| {
                Tally::new(
                    client.number,
                    client.peer,
                    Arc::clone(&context.metrics),
                    Arc::clone(&context.observer),
                    stopping.clone(),
                )
            });
            tally.ends_if_dropped(SessionEnd::Left);
            let served = async move {
                connection::serve(&mut theirs, &client, context, stopping, &mut tally).await;
                drop(permit);
            };
            let mut tasks = lock(&self.tasks);
            // Those that have ended are forgotten.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(served.instrument(span));
            ours
        })
    }
}
