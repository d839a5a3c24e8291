//! The state shared by the operations of an open session (Z39.50-2003 §3.1.1, §3.1.6, §3.2.1): the agreed options, the user and
//! the result sets.

mod interrupt;
mod result_sets;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use z3950_asn1::apdu::{DatabaseName, Options};
use z3950_asn1::via::Via;

pub use self::interrupt::Interrupt;
pub(crate) use self::interrupt::Operation;
use self::result_sets::ResultSets;
use crate::access::User;
use crate::backend::{Backend, Caller};
use crate::budget::{Account, Charge};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::explain::EXPLAIN_DATABASE;
use crate::extended::{EXTEND_DATABASE, PackageDatabase};
use crate::lock::lock;
use crate::target::{Target, UserPermit};

/// The state shared by the operations of an open session.
pub(crate) struct Association {
    pub(crate) target: Arc<Target>,
    /// The session as seen by the backend, without its user.
    caller: Caller,
    pub(crate) terms: Terms,
    /// The permit of the authenticated user, which counts against the user's session limit; unset until the client has
    /// authenticated.
    permit: OnceLock<UserPermit>,
    /// Whether the client is on the server's host.
    is_local: bool,
    account: Arc<Account>,
    result_sets: Mutex<ResultSets>,
    usage: Mutex<Usage>,
    /// The database IR-Extend-1 with the packages that this user may see, created on first use.
    packages: OnceLock<Arc<PackageDatabase>>,
}

/// The terms agreed on at Init (Z39.50-2003 §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The protocol version, 1 to 3.
    pub(crate) version: u8,
    /// The options in effect.
    pub(crate) options: Options,
    /// The maximum total size of the records in one response, in octets.
    pub(crate) preferred_message_size: usize,
    /// The maximum size of a record that is requested alone, in octets, which is at least the preferred message size.
    pub(crate) exceptional_record_size: usize,
    /// Whether the client still has to authenticate before its first operation.
    pub(crate) unproved: bool,
}

/// The work that a session has done so far, for resource reports (Z39.50-2003 §3.2.6.3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) searches: usize,
    /// The number of records found by the last search.
    pub(crate) found: usize,
    /// The total number of records sent.
    pub(crate) records: usize,
}

impl Association {
    pub(crate) fn new(
        target: Arc<Target>,
        terms: Terms,
        permit: Option<UserPermit>,
        peer: Option<IpAddr>,
        via: Via,
        account: &Arc<Account>,
    ) -> Self {
        let mut caller = Caller::new().with_via(via);
        if let Some(address) = peer {
            caller = caller.with_address(address);
        }
        Self {
            account: Arc::clone(account),
            result_sets: Mutex::new(ResultSets::new(&target.limits, account)),
            target,
            caller,
            terms,
            permit: permit.map(OnceLock::from).unwrap_or_default(),
            is_local: peer.is_none_or(|address| address.is_loopback()),
            usage: Mutex::default(),
            packages: OnceLock::new(),
        }
    }

    /// Returns a new charge of zero octets to the session's account.
    pub(crate) fn no_charge(&self) -> Charge {
        Charge::to(&self.account)
    }

    /// Returns the maximum number of concurrent operations.
    pub(crate) fn most_operations(&self) -> usize {
        if self.terms.options.contains(Options::CONCURRENT_OPERATIONS) {
            self.target.limits.concurrent_operations.max(1)
        } else {
            1
        }
    }

    pub(crate) fn result_sets(&self) -> MutexGuard<'_, ResultSets> {
        lock(&self.result_sets)
    }

    pub(crate) fn usage(&self) -> MutexGuard<'_, Usage> {
        lock(&self.usage)
    }

    /// Returns the authenticated user; `None` if the client has not authenticated.
    pub(crate) fn user(&self) -> Option<&User> {
        self.permit.get().map(UserPermit::user)
    }

    /// Returns the session as seen by the backend.
    pub(crate) fn caller(&self) -> Caller {
        let caller = self.caller.clone();
        match self.permit.get() {
            Some(permit) => caller.with_user(permit.name()),
            None => caller,
        }
    }

    /// Returns whether the client must still authenticate.
    pub(crate) fn is_unproved(&self) -> bool {
        self.terms.unproved && self.permit.get().is_none()
    }

    /// Checks whether the client may update databases.
    ///
    /// # Errors
    /// Fails with condition 222 and the reason.
    pub(crate) fn check_update(&self) -> Result<(), Diagnostic> {
        let access = &self.target.access;
        access.check_update(self.user(), self.is_local)
    }

    /// Sets the permit of the user who has authenticated, unless one is already set.
    pub(crate) fn set_permit(&self, permit: UserPermit) {
        let _ = self.permit.set(permit);
    }

    /// Checks whether a result set may have this name.
    ///
    /// # Errors
    /// Fails with condition 22 for a name longer than the limit or, if named result sets are not offered, for any name but
    /// `default` (§3.2.2.1.4).
    pub(crate) fn check_set_name(&self, name: &[u8]) -> Result<(), Diagnostic> {
        let most = self.target.limits.result_set_name;
        if name.len() > most {
            let octets = name.len();
            let words = format!("a name has at most {most} octets, not {octets}");
            return Err(diagnostic(Condition::RESULT_SET_NAMING, words));
        }
        let offered = self.target.offer.options;
        if name == b"default" || offered.contains(Options::NAMED_RESULT_SETS) {
            return Ok(());
        }
        Err(diagnostic(Condition::RESULT_SET_NAMING, name))
    }

    /// Returns the backend for the databases named in a request.
    ///
    /// # Errors
    /// Fails with condition 23 if no database is named or the combination cannot be searched, with 111 for more databases than
    /// the limit, or with 236 for a database that the user may not search.
    pub(crate) fn backend_of(
        &self,
        databases: &[DatabaseName],
    ) -> Result<Arc<dyn Backend>, Diagnostic> {
        let most = self.target.limits.databases_per_search;
        if let [database] = databases
            && let Some(own) = self.own_database(&database.0.to_string_lossy())
        {
            return Ok(own);
        }
        if databases.is_empty() {
            return Err(diagnostic(Condition::COMBINATION, "no database is named"));
        }
        if databases.len() > most {
            return Err(diagnostic(Condition::TOO_MANY_DATABASES, most.to_string()));
        }
        let special_of = |name: &DatabaseName| self.target.special_of(&name.0.to_string_lossy());
        let (special, backend) = match databases.iter().find_map(special_of) {
            Some((special, _)) if databases.len() > 1 => {
                return Err(diagnostic(Condition::COMBINATION, special));
            }
            Some((special, own)) => (Some(special), own),
            None => (None, &self.target.backend),
        };
        if let Some(user) = self.user() {
            let is_denied = |name: &&DatabaseName| match special {
                Some(special) => !user.may_have(special),
                None => !user.may_have(&name.0.to_string_lossy()),
            };
            if let Some(denied) = databases.iter().find(is_denied) {
                let name = denied.0.as_bytes();
                return Err(diagnostic(Condition::DATABASE_ACCESS_DENIED, name));
            }
        }
        Ok(Arc::clone(backend))
    }

    /// Returns the backend of one of the server's own databases, IR-Explain-1 or IR-Extend-1; `None` for any other name.
    fn own_database(&self, name: &str) -> Option<Arc<dyn Backend>> {
        let offer = &self.target.offer;
        if offer.explain && name.eq_ignore_ascii_case(EXPLAIN_DATABASE) {
            return Some(self.target.explain());
        }
        let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
        (has_tasks && name.eq_ignore_ascii_case(EXTEND_DATABASE)).then(|| {
            let packages = self.packages.get_or_init(|| {
                let user = self.user().map(|user| user.name.clone());
                Arc::new(PackageDatabase::new(Arc::clone(&self.target.tasks), user))
            });
            Arc::clone(packages) as Arc<dyn Backend>
        })
    }

    /// Adds to the session the persistent result sets whose packages have been presented (Z39.50-2003 Appendix EXT.1.1). Sets
    /// that exceed the session's limits are left out, and a later request for them fails.
    pub(crate) fn open_persistent_sets(&self) {
        let opened = self.packages.get().map(|packages| packages.take_opened());
        for (name, set) in opened.into_iter().flatten() {
            let _ = self.result_sets().keep(&name, set);
        }
    }
}
