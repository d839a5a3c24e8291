//! Servers that lead to each other in a circle. A search says which servers it has come through; a database that finds itself among
//! them refuses it. What comes through other servers has sessions of its own, so that it never waits for what waits for it.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use z3950::Client;
use z3950::profile::ProfileError;
use z3950_server::Diagnostic;
use z3950_server::asn1::via::Via;

use super::records::RecordCache;
use super::upstream::Upstream;
use super::{RemoteOptions, failure};
use crate::lock::lock;

/// The targets of a database, for each chain of servers that searches come through.
pub(super) struct Chains {
    /// The identifier of the database among all servers.
    id: u64,
    client: Client,
    cache: Arc<RecordCache>,
    /// For searches that come through no other server.
    pub(super) direct: Vec<Arc<Upstream>>,
    /// For the others.
    chained: Mutex<Vec<Chain>>,
}

struct Chain {
    via: Via,
    upstreams: Vec<Arc<Upstream>>,
}

/// The most chains that are in use at one time.
const MAX_CHAINS: usize = 8;

/// The most sessions with a target for each chain.
const SESSIONS_OF_CHAIN: usize = 2;

impl Chains {
    /// # Errors
    /// A target that is neither a profile nor an address.
    pub(super) fn new(
        client: Client,
        options: &RemoteOptions,
        cache: Arc<RecordCache>,
    ) -> Result<Self, ProfileError> {
        let mut chains = Self {
            // The keys are random.
            id: RandomState::new().hash_one(()),
            client,
            cache,
            direct: Vec::new(),
            chained: Mutex::default(),
        };
        chains.direct = chains.connected(options, Via::default())?;
        Ok(chains)
    }

    /// What its sessions are opened with.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The targets, for a search that has come through these servers.
    ///
    /// # Errors
    /// Condition 109: the search has come through this database, or through too many servers.
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
            let others = servers.get(before + 1..).unwrap_or_default();
            let others: Via = others.iter().copied().collect();
            let words = match others.is_empty() {
                true => "this server leads back to itself".to_owned(),
                false => format!("this server leads back to itself through {others}"),
            };
            tracing::warn!(%via, "a search that came back is refused");
            return Err(failure::unavailable(words));
        }
        if via.is_too_long() {
            let words = format!("the search came through more than {} servers", Via::MAX);
            return Err(failure::unavailable(words));
        }
        let mut chained = lock(&self.chained);
        if let Some(known) = chained.iter().find(|chain| chain.via == via) {
            return Ok(known.upstreams.clone());
        }
        if chained.len() >= MAX_CHAINS {
            chained.retain(Chain::is_used);
        }
        if chained.len() >= MAX_CHAINS {
            let words = "too many servers pass searches on to this one";
            return Err(failure::unavailable(words));
        }
        let mut options = options.clone();
        options.sessions = options.sessions.min(SESSIONS_OF_CHAIN);
        let upstreams = self.connected(&options, via);
        let upstreams = upstreams.map_err(|error| failure::unavailable(error.to_string()))?;
        chained.push(Chain {
            via,
            upstreams: upstreams.clone(),
        });
        Ok(upstreams)
    }

    fn connected(
        &self,
        options: &RemoteOptions,
        via: Via,
    ) -> Result<Vec<Arc<Upstream>>, ProfileError> {
        let mut of_client = self.client.options().clone();
        of_client.via = via.then(self.id);
        let client = self.client.with_options(of_client);
        let targets = options.targets.iter().map(|target| {
            let upstream = Upstream::new(&client, options, target, Arc::clone(&self.cache))?;
            Ok(Arc::new(upstream))
        });
        targets.collect()
    }
}

impl Chain {
    /// Whether a search or a result set uses it.
    fn is_used(&self) -> bool {
        let mut upstreams = self.upstreams.iter();
        upstreams.any(|upstream| Arc::strong_count(upstream) > 1)
    }
}

#[cfg(test)]
mod tests;
