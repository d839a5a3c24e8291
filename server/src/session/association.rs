//! What an open session has agreed on and keeps (Z39.50-2003 §3.1.1, §3.2.1). Operations that run at the same time share it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use z3950_asn1::apdu::{DatabaseName, Options};
use z3950_asn1::bib1::diagnostics::Condition;

use crate::access::User;
use crate::backend::Backend;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::extended::{EXTEND_DATABASE, PackageDatabase};
use crate::result_sets::ResultSets;
use crate::service::explain::EXPLAIN_DATABASE;
use crate::service::resource::Usage;
use crate::target::{Seat, Target};

/// What is agreed on and kept in an open session.
pub(crate) struct Association {
    pub(crate) target: Arc<Target>,
    pub(crate) terms: Terms,
    /// The user, once the client has proved to be one.
    seat: OnceLock<Seat>,
    result_sets: Mutex<ResultSets>,
    usage: Mutex<Usage>,
    /// The database IR-Extend-1 as this user sees it, once it has been asked for.
    packages: OnceLock<Arc<PackageDatabase>>,
}

/// What Init has settled (Z39.50-2003 §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The protocol version, 1 to 3.
    pub(crate) version: u8,
    /// The options in effect.
    pub(crate) options: Options,
    /// Octets of the records in one response.
    pub(crate) preferred_message_size: usize,
    /// Octets of a record asked for by itself; not less than the preferred message size.
    pub(crate) exceptional_record_size: usize,
    /// Whether the client has to prove to be a user before it is served.
    pub(crate) unproved: bool,
}

impl Association {
    /// Without result sets.
    pub(super) fn new(target: Arc<Target>, terms: Terms, seat: Option<Seat>) -> Self {
        Self {
            result_sets: Mutex::new(ResultSets::new(&target.limits)),
            target,
            terms,
            seat: seat.map(OnceLock::from).unwrap_or_default(),
            usage: Mutex::default(),
            packages: OnceLock::new(),
        }
    }

    /// How many operations may run at the same time.
    pub(crate) fn most_operations(&self) -> usize {
        match self.terms.options.contains(Options::CONCURRENT_OPERATIONS) {
            true => self.target.limits.concurrent_operations.max(1),
            false => 1,
        }
    }

    /// The result sets; nobody else has them meanwhile.
    pub(crate) fn result_sets(&self) -> MutexGuard<'_, ResultSets> {
        let result_sets = self.result_sets.lock();
        result_sets.unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session has done so far; nobody else has it meanwhile.
    pub(crate) fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user, where the client has proved to be one.
    pub(crate) fn user(&self) -> Option<&User> {
        self.seat.get().and_then(Seat::user)
    }

    /// Whether the client is still to be asked for credentials.
    pub(crate) fn is_unproved(&self) -> bool {
        self.terms.unproved && self.seat.get().is_none()
    }

    /// Notes who the client has proved to be.
    pub(crate) fn take_seat(&self, seat: Seat) {
        // Whoever has one already keeps it.
        let _ = self.seat.set(seat);
    }

    /// The backend behind the databases of a request.
    ///
    /// # Errors
    /// As [`Target::backend_of`]; 236 for a database that the user may not have.
    pub(crate) fn backend_of(
        &self,
        databases: &[DatabaseName],
    ) -> Result<Arc<dyn Backend>, Diagnostic> {
        if let Some(own) = self.own_database(databases) {
            return Ok(own);
        }
        let backend = self.target.backend_of(databases)?;
        if let Some(user) = self.user() {
            let denied = databases
                .iter()
                .find(|database| !user.may_have(&database.0.to_string_lossy()));
            if let Some(database) = denied {
                let name = database.0.as_bytes();
                return Err(diagnostic(Condition::DATABASE_ACCESS_DENIED, name));
            }
        }
        Ok(Arc::clone(backend))
    }

    /// The database of the server's own that a request names, if it names that alone: IR-Explain-1 or IR-Extend-1. With
    /// others it is as unknown as it is to their backend.
    fn own_database(&self, databases: &[DatabaseName]) -> Option<Arc<dyn Backend>> {
        let [database] = databases else {
            return None;
        };
        let name = database.0.to_string_lossy();
        let offer = &self.target.offer;
        if offer.explain && name.eq_ignore_ascii_case(EXPLAIN_DATABASE) {
            return Some(self.target.explain());
        }
        let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
        (has_tasks && name.eq_ignore_ascii_case(EXTEND_DATABASE)).then(|| {
            let packages = self.packages.get_or_init(|| {
                let user = self.user();
                let user = user.map(|user| user.name.clone());
                Arc::new(PackageDatabase::new(Arc::clone(&self.target.tasks), user))
            });
            Arc::clone(packages) as Arc<dyn Backend>
        })
    }

    /// Takes over the persistent result sets whose packages have been presented (Z39.50-2003 Appendix EXT.1.1). Those that
    /// find no room are not there when they are asked for.
    pub(super) fn open_persistent_sets(&self) {
        let opened = self.packages.get().map(|packages| packages.take_opened());
        for (name, set) in opened.into_iter().flatten() {
            let _ = self.result_sets().keep(&name, set);
        }
    }
}
