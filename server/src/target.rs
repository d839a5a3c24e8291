//! What all sessions of a server share (Z39.50-2003 §3.1): the databases behind it, and what is granted to whom.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use z3950_asn1::apdu::{DatabaseName, Options, ProtocolVersion};
use z3950_asn1::bib1::diagnostics::Condition;

use crate::access::{Access, User};
use crate::backend::Backend;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::extended::Tasks;
use crate::limits::Limits;
use crate::service::explain::ExplainDatabase;

/// The server as every session sees it; one for all sessions.
pub struct Target {
    pub(crate) backend: Arc<dyn Backend>,
    /// Databases with a backend of their own.
    special: Vec<(String, Arc<dyn Backend>)>,
    pub(crate) limits: Limits,
    pub(crate) offer: Offer,
    pub(crate) access: Access,
    pub(crate) tasks: Arc<Tasks>,
    explain: OnceLock<Arc<dyn Backend>>,
    /// The sessions of each user.
    sessions: Vec<AtomicUsize>,
}

/// What the server offers at Init (Z39.50-2003 §3.2.1); what is left out of it is neither granted nor done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// The protocol versions: 1 to 3.
    pub versions: ProtocolVersion,
    /// The options: all that the server knows.
    pub options: Options,
    /// The implementationId: none.
    pub implementation_id: Option<String>,
    /// The implementationName: `z3950d`.
    pub implementation_name: Option<String>,
    /// The implementationVersion: the crate's.
    pub implementation_version: Option<String>,
    /// Languages of messages that a client may choose, as ISO 639-2 codes: `eng`.
    pub languages: Vec<String>,
    /// Asks the client whether to go on before a Search is answered that finds more records, if resource control is
    /// agreed on (§3.2.6): never.
    pub ask_above: Option<usize>,
    /// Whether there is a database IR-Explain-1 (§3.2.10): there is.
    pub explain: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            versions: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH
                | Options::PRESENT
                | Options::DELETE
                | Options::RESOURCE_REPORT
                | Options::TRIGGER_RESOURCE_CONTROL
                | Options::RESOURCE_CONTROL
                | Options::ACCESS_CONTROL
                | Options::SCAN
                | Options::SORT
                | Options::EXTENDED_SERVICES
                | Options::SEGMENTATION_1
                | Options::SEGMENTATION_2
                | Options::CONCURRENT_OPERATIONS
                | Options::NAMED_RESULT_SETS
                | Options::RESULT_COUNT
                | Options::NEGOTIATION_MODEL
                | Options::QUERY_TYPE_104
                | Options::STRING_SCHEMA,
            implementation_id: None,
            implementation_name: Some("z3950d".to_owned()),
            implementation_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            languages: vec!["eng".to_owned()],
            ask_above: None,
            explain: true,
        }
    }
}

impl Target {
    /// A server of these databases, open to all.
    pub fn new(backend: Arc<dyn Backend>, limits: Limits) -> Self {
        Self {
            backend,
            special: Vec::new(),
            limits,
            offer: Offer::default(),
            access: Access::default(),
            tasks: Arc::default(),
            explain: OnceLock::new(),
            sessions: Vec::new(),
        }
    }

    /// The same with a database that another backend stands behind; its name is compared without case. It cannot be
    /// searched together with others.
    pub fn with_database(mut self, name: &str, backend: Arc<dyn Backend>) -> Self {
        self.special.push((name.to_owned(), backend));
        self
    }

    /// The same with another offer, as far as the server knows the options.
    pub fn with_offer(self, mut offer: Offer) -> Self {
        offer.options = offer.options.intersection(Offer::default().options);
        offer.versions = offer.versions.intersection(ProtocolVersion::UP_TO_3);
        Self { offer, ..self }
    }

    /// The same with other limits for tasks, and with those kept already.
    pub fn with_tasks(self, tasks: Arc<Tasks>) -> Self {
        Self { tasks, ..self }
    }

    /// The same, open to those who are listed.
    pub fn with_access(self, access: Access) -> Self {
        let sessions = access.users.iter().map(|_| AtomicUsize::new(0)).collect();
        Self {
            access,
            sessions,
            ..self
        }
    }
}

impl Target {
    /// The backend behind the databases of a request.
    ///
    /// # Errors
    /// Condition 23 for none and for such as cannot be searched together, 111 for more than the limit.
    pub(crate) fn backend_of(
        &self,
        databases: &[DatabaseName],
    ) -> Result<&Arc<dyn Backend>, Diagnostic> {
        let most = self.limits.databases_per_search;
        if databases.is_empty() {
            return Err(diagnostic(Condition::COMBINATION, "no database is named"));
        }
        if databases.len() > most {
            return Err(diagnostic(Condition::TOO_MANY_DATABASES, most.to_string()));
        }
        for (special, backend) in &self.special {
            let mut named = databases.iter();
            if named.any(|name| name.0.to_string_lossy().eq_ignore_ascii_case(special)) {
                return match databases {
                    [_] => Ok(backend),
                    _ => Err(diagnostic(Condition::COMBINATION, special)),
                };
            }
        }
        Ok(&self.backend)
    }
}

impl Target {
    /// The database IR-Explain-1.
    pub(crate) fn explain(&self) -> Arc<dyn Backend> {
        let explain = self.explain.get_or_init(|| {
            let backend = Arc::clone(&self.backend);
            Arc::new(ExplainDatabase::new(
                backend,
                self.offer.clone(),
                self.limits.clone(),
            ))
        });
        Arc::clone(explain)
    }
}

/// A session of a user, counted while it lasts.
pub(crate) struct Seat {
    target: Arc<Target>,
    user: usize,
}

impl Seat {
    /// A session more of the user at this place of the list, unless that is one too many.
    pub(crate) fn take(target: &Arc<Target>, user: usize) -> Option<Self> {
        let most = target.access.users.get(user)?.sessions;
        let sessions = target.sessions.get(user)?;
        let one_more = |now: usize| {
            let allowed = most.is_none_or(|most| now < most);
            allowed.then(|| now.saturating_add(1))
        };
        let taken = sessions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then(|| Self {
            target: Arc::clone(target),
            user,
        })
    }

    /// The user.
    pub(crate) fn user(&self) -> Option<&User> {
        self.target.access.users.get(self.user)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(sessions) = self.target.sessions.get(self.user) {
            sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
