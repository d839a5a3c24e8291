//! Result sets that later requests from the same user can name, on any connection: SRU's `resultSetTTL` and `cql.resultSetId`.
//! Their number, lifetime and memory are limited.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{ResultSet, network};
use crate::budget::{Account, Charge};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;
use crate::lock::lock;

/// The shared result sets of all users.
pub(crate) struct SharedSets {
    sets: Mutex<Sets>,
    /// The account for the memory of the sets.
    account: Arc<Account>,
    most: usize,
    most_time: Duration,
}

#[derive(Default)]
struct Sets {
    by_name: HashMap<String, SharedSet>,
    /// A counter that is incremented with each use of a set, for `last_use`.
    uses: u64,
}

struct SharedSet {
    set: ResultSet,
    owner: SetOwner,
    /// The time for which the set is kept without being used.
    time: Duration,
    expires: Instant,
    last_use: u64,
    /// The charge for the set's memory.
    _charge: Charge,
}

/// The owner of a set, which determines who may use the set, and which sets are counted together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetOwner {
    /// The user; all clients that have not authenticated count as one user.
    pub(crate) user: Option<String>,
    pub(crate) address: Option<IpAddr>,
    /// The database in which the set was found, in lower case.
    pub(crate) database: String,
}

/// The size of an entry in octets, without its list of hits.
const ENTRY: usize = 512;

impl SharedSets {
    /// Creates an empty collection, whose sets are charged to the account.
    pub(crate) fn new(limits: &Limits, account: Arc<Account>) -> Self {
        Self {
            sets: Mutex::default(),
            account,
            most: limits.sru_sets,
            most_time: limits.sru_set_time,
        }
    }

    /// Keeps a set until it has not been used for `time`, which is limited to the server's maximum. Returns the name of the set
    /// and the limited time.
    ///
    /// If there are too many sets, the least recently used one is dropped. If the owner's address already has half of the
    /// permitted number of sets, or if memory is short, only sets of this address are dropped.
    ///
    /// # Errors
    /// Condition 112 if the limits do not permit any sets, 31 if the set is too large.
    pub(crate) fn keep(
        &self,
        owner: SetOwner,
        set: ResultSet,
        time: Duration,
    ) -> Result<(String, Duration), Diagnostic> {
        let address = owner.address.map(network);
        let owner = SetOwner { address, ..owner };
        let time = time.min(self.most_time);
        if self.most == 0 || time.is_zero() {
            return Err(diagnostic(Condition::TOO_MANY_RESULT_SETS, "0"));
        }
        let mut sets = self.current();
        let is_same = |other: &SharedSet| other.owner.address == address;
        let own = sets.by_name.values().filter(|set| is_same(set)).count();
        if own >= self.most.div_ceil(2) {
            sets.evict(is_same);
        } else if sets.by_name.len() >= self.most {
            sets.evict(|_| true);
        }
        let mut charge = Charge::to(&self.account);
        while let Err(why) = charge.set(ENTRY.saturating_add(set.hits.octets())) {
            if !sets.evict(is_same) {
                return Err(why);
            }
        }
        sets.uses += 1;
        let shared = SharedSet {
            set,
            owner,
            time,
            expires: Instant::now() + time,
            last_use: sets.uses,
            _charge: charge,
        };
        let name = random_name();
        sets.by_name.insert(name.clone(), shared);
        Ok((name, time))
    }

    /// Returns the set with this name and its lifetime, which starts again; `None` if this owner does not have a set with this
    /// name.
    pub(crate) fn find(
        &self,
        name: &str,
        user: Option<&str>,
        database: &str,
    ) -> Option<(ResultSet, Duration)> {
        let mut sets = self.current();
        sets.uses += 1;
        let uses = sets.uses;
        let shared = sets.by_name.get_mut(name)?;
        let owner = &shared.owner;
        let is_of_request = owner.user.as_deref() == user && owner.database == database;
        if !is_of_request || shared.set.hits.is_gone() {
            return None;
        }
        shared.last_use = uses;
        shared.expires = Instant::now() + shared.time;
        Some((shared.set.clone(), shared.time))
    }

    /// Drops the sets that have expired, and returns the remaining sets.
    fn current(&self) -> MutexGuard<'_, Sets> {
        let now = Instant::now();
        let mut sets = lock(&self.sets);
        sets.by_name.retain(|_, shared| shared.expires > now);
        sets
    }
}

impl Sets {
    /// Drops the least recently used set for which `among` is true; returns whether a set was dropped.
    fn evict(&mut self, among: impl Fn(&SharedSet) -> bool) -> bool {
        let some = self.by_name.iter().filter(|(_, shared)| among(shared));
        let oldest = some.min_by_key(|(_, shared)| shared.last_use);
        let name = oldest.map(|(name, _)| name.clone());
        name.is_some_and(|name| self.by_name.remove(&name).is_some())
    }
}

/// Returns a random name, which cannot be guessed.
fn random_name() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests;
