//! Prevents loops between servers that are each other's targets. A search carries the list of servers that have passed it on; a
//! database that finds itself in the list refuses the search. Searches that were passed on by servers use separate sessions, so
//! that they cannot wait for a search that waits for them.

pub(super) mod load;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use z3950::Client;
use z3950::profile::ProfileError;
use z3950_asn1::apdu::{Query, RpnQuery};
use z3950_asn1::codec::encode_value;
use z3950_asn1::via::Via;
use z3950_server::Diagnostic;
use z3950_server::lock;

use self::load::{BusyChains, ChainLoad, MAX_CHAINS, too_many};
use super::cache::RecordCache;
use super::upstream::Upstream;
use super::{RemoteOptions, failure};

/// The targets of a database, with separate sessions for each chain of servers that passes searches on.
pub(super) struct Chains {
    /// The globally unique identifier of the database.
    id: u64,
    client: Client,
    cache: Arc<RecordCache>,
    /// The targets for searches that come directly from clients.
    pub(super) direct: Vec<Arc<Upstream>>,
    /// The targets for searches passed on by other servers, the least recently used chain first.
    chained: Mutex<Vec<Chain>>,
    busy: Arc<BusyChains>,
    recent: Mutex<VecDeque<ChainedSearch>>,
}

struct Chain {
    via: Via,
    load: ChainLoad,
    upstreams: Vec<Arc<Upstream>>,
}

/// A recent search that was passed on by other servers.
struct ChainedSearch {
    /// The first server of the chain, and the query.
    key: (u64, Vec<u8>),
    via: Via,
    at: Instant,
}

/// The maximum number of recent searches, which are remembered to recognize a search that arrives by several paths.
const MAX_RECENT: usize = 64;

/// The maximum number of sessions with a target for each chain.
const SESSIONS_OF_CHAIN: usize = 2;

impl Chains {
    /// Creates the targets of a database, without connecting to them.
    ///
    /// # Errors
    /// Fails if a target is neither a profile nor an address.
    pub(super) fn new(
        client: Client,
        options: &RemoteOptions,
        cache: Arc<RecordCache>,
    ) -> Result<Self, ProfileError> {
        let mut chains = Self {
            // The keys of a `RandomState` are random, so this hash is a random identifier.
            id: RandomState::new().hash_one(()),
            client,
            cache,
            direct: Vec::new(),
            chained: Mutex::default(),
            busy: Arc::default(),
            recent: Mutex::default(),
        };
        chains.direct = chains.connected(options, Via::default(), None)?;
        Ok(chains)
    }

    /// Returns the client that opens the sessions.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the targets for a search that was passed on by these servers.
    ///
    /// # Errors
    /// Fails with condition 109 if the search was passed on by this database, or through too many servers.
    pub(super) fn upstreams(
        &self,
        options: &RemoteOptions,
        via: Via,
    ) -> Result<Vec<Arc<Upstream>>, Diagnostic> {
        if via.is_empty() {
            return Ok(self.direct.clone());
        }
        let servers = via.servers();
        if let Some(before) = servers.iter().position(|server| *server == self.id) {
            let others: Via = servers
                .get(before + 1..)
                .unwrap_or_default()
                .iter()
                .copied()
                .collect();
            let words = if others.is_empty() {
                "this server leads back to itself".to_owned()
            } else {
                format!("this server leads back to itself through {others}")
            };
            tracing::warn!(%via, "a search that came back is refused");
            return Err(failure::unavailable(words));
        }
        if via.is_too_long() {
            let words = format!("the search came through more than {} servers", Via::MAX);
            return Err(failure::unavailable(words));
        }
        let mut chained = lock(&self.chained);
        if let Some(known) = chained.iter().position(|chain| chain.via == via) {
            let known = chained.remove(known);
            let upstreams = known.upstreams.clone();
            chained.push(known);
            return Ok(upstreams);
        }
        if chained.len() >= MAX_CHAINS {
            let idle = chained
                .iter()
                .position(|chain| !chain.load.is_busy())
                .ok_or_else(too_many)?;
            for upstream in chained.remove(idle).upstreams {
                upstream.retire();
            }
        }
        let mut options = options.clone();
        options.sessions = options.sessions.min(SESSIONS_OF_CHAIN);
        let load = ChainLoad::new(&self.busy);
        let upstreams = self
            .connected(&options, via, Some(&load))
            .map_err(|error| failure::unavailable(error.to_string()))?;
        chained.push(Chain {
            via,
            load,
            upstreams: upstreams.clone(),
        });
        Ok(upstreams)
    }

    /// Returns whether the same search arrived by another path a moment ago. Its records must not be returned again, because the
    /// server at which it began would count them twice.
    pub(super) fn is_repeated(&self, options: &RemoteOptions, via: Via, query: &RpnQuery) -> bool {
        let (Some(first), Ok(query)) = (
            via.servers().first(),
            encode_value(&Query::Type1(query.clone())),
        ) else {
            return false;
        };
        let key = (*first, query);
        let mut recent = lock(&self.recent);
        recent.retain(|search| search.at.elapsed() < options.total_time);
        let is_repeated = recent
            .iter()
            .any(|search| search.key == key && search.via != via);
        if recent.len() >= MAX_RECENT {
            recent.pop_front();
        }
        let at = Instant::now();
        recent.push_back(ChainedSearch { key, via, at });
        is_repeated
    }

    fn connected(
        &self,
        options: &RemoteOptions,
        via: Via,
        load: Option<&ChainLoad>,
    ) -> Result<Vec<Arc<Upstream>>, ProfileError> {
        let mut of_client = self.client.options().clone();
        of_client.via = via.then(self.id);
        let client = self.client.with_options(of_client);
        let targets = options.targets.iter().map(|target| {
            let cache = Arc::clone(&self.cache);
            let upstream = Upstream::new(&client, options, target, cache, load.cloned())?;
            Ok(Arc::new(upstream))
        });
        targets.collect()
    }
}

#[cfg(test)]
mod tests;
