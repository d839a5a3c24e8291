//! The target: databases, limits and users, shared by all sessions of a server (Z39.50-2003 §3.1).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::Semaphore;
use z3950_asn1::apdu::ProtocolVersion;

use crate::access::{Access, Authenticate, User, UserList};
use crate::backend::Backend;
#[cfg(feature = "sru")]
use crate::backend::DatabaseInfo;
use crate::budget::{Account, Budget};
use crate::caught::Panics;
use crate::explain::ExplainDatabase;
use crate::extended::Tasks;
use crate::headroom::HeadroomProbe;
use crate::limits::Limits;
use crate::lock::lock;
use crate::logins::Logins;
use crate::offer::Offer;
#[cfg(feature = "sru")]
use crate::shared_sets::SharedSets;

/// The name of the database for clients that do not name one.
const DEFAULT: &str = "Default";

/// The databases, limits and users of a server, shared by all its sessions.
pub struct Target {
    pub(crate) backend: Arc<dyn Backend>,
    /// Databases with their own backends.
    pub(crate) special: Vec<(String, Arc<dyn Backend>)>,
    pub(crate) limits: Limits,
    pub(crate) offer: Offer,
    pub(crate) access: Access,
    /// The program's own login check; `None` to check logins against the list in `access`.
    authenticate: Option<Arc<dyn Authenticate>>,
    /// The users listed in `access`; `None` if there are none.
    users: Option<Arc<UserList>>,
    pub(crate) logins: Arc<Logins>,
    /// The panics that have occurred in requests.
    pub(crate) panics: Arc<Panics>,
    pub(crate) tasks: Arc<Tasks>,
    /// The budget for the memory that clients make the server use.
    pub(crate) budget: Arc<Budget>,
    /// The account for the memory of sorts and long searches in progress.
    pub(crate) work: Arc<Account>,
    /// The semaphore that limits how many responses with many records are packed at the same time.
    pub(crate) packers: Semaphore,
    /// The result sets that later SRU requests can name.
    #[cfg(feature = "sru")]
    pub(crate) shared_sets: Arc<SharedSets>,
    explain: OnceLock<Arc<dyn Backend>>,
    /// The number of open sessions of each user, by name and group.
    sessions: Arc<Mutex<HashMap<UserKey, usize>>>,
}

impl Target {
    /// Creates a target with these databases, open to everybody.
    pub fn new(backend: Arc<dyn Backend>, limits: Limits) -> Self {
        let budget = Budget::new(&limits);
        let tasks = Tasks::default().charged_to(budget.common_account());
        Self {
            backend,
            special: Vec::new(),
            offer: Offer::default(),
            access: Access::default(),
            authenticate: None,
            users: None,
            logins: Arc::default(),
            panics: Arc::default(),
            tasks: Arc::new(tasks),
            work: budget.common_account(),
            packers: Semaphore::new(limits.large_answers.clamp(1, Semaphore::MAX_PERMITS)),
            #[cfg(feature = "sru")]
            shared_sets: Arc::new(SharedSets::new(&limits, budget.common_account())),
            budget,
            limits,
            explain: OnceLock::new(),
            sessions: Arc::default(),
        }
    }

    /// Sets the function that measures the remaining memory; while memory is short, requests that need more are refused.
    pub fn with_headroom(self, probe: HeadroomProbe) -> Self {
        self.budget.watch(probe);
        self
    }

    /// Adds a database with its own backend. Its name is compared regardless of case, and it cannot be searched together with
    /// other databases. A name such as `union@loc`, which consists of the name of the database, `@` and a suffix, selects a part
    /// of the database. Parts are searched with the same backend and the same rights, and are not listed.
    pub fn with_database(mut self, name: &str, backend: Arc<dyn Backend>) -> Self {
        self.special.push((name.to_owned(), backend));
        self
    }

    /// Replaces the offer. Options and versions that the server does not implement are removed from it.
    pub fn with_offer(self, mut offer: Offer) -> Self {
        offer.options = offer.options.intersection(Offer::default().options);
        offer.versions = offer.versions.intersection(ProtocolVersion::UP_TO_3);
        Self { offer, ..self }
    }

    /// Replaces the store of tasks.
    pub fn with_tasks(self, tasks: Tasks) -> Self {
        let tasks = tasks.charged_to(self.budget.common_account());
        Self {
            tasks: Arc::new(tasks),
            ..self
        }
    }

    /// Sets the access control, which may restrict access to a list of users.
    pub fn with_access(self, access: Access) -> Self {
        let users = (!access.users.is_empty())
            .then(|| Arc::new(UserList::new(access.users.clone(), &self.limits)));
        Self {
            access,
            users,
            ..self
        }
    }

    /// Sets the login check, which replaces the list in [`Access::users`].
    pub fn with_authenticate(self, authenticate: Arc<dyn Authenticate>) -> Self {
        Self {
            authenticate: Some(authenticate),
            ..self
        }
    }

    /// Returns the login check; `None` if the server does not have users.
    pub(crate) fn authenticate(&self) -> Option<Arc<dyn Authenticate>> {
        let list = || Some(Arc::clone(self.users.as_ref()?) as _);
        self.authenticate.clone().or_else(list)
    }

    /// Returns whether the server has users.
    pub(crate) fn has_logins(&self) -> bool {
        self.authenticate.is_some() || self.users.is_some()
    }

    /// Takes over the state of the target that this one replaces: its tasks, memory budget and shared result sets, its records
    /// of logins and panics, and the number of open sessions of each user.
    pub(crate) fn succeed(&mut self, before: &Self) {
        self.tasks = Arc::clone(&before.tasks);
        self.logins = Arc::clone(&before.logins);
        self.panics = Arc::clone(&before.panics);
        self.sessions = Arc::clone(&before.sessions);
        self.budget = Arc::clone(&before.budget);
        self.work = Arc::clone(&before.work);
        #[cfg(feature = "sru")]
        {
            self.shared_sets = Arc::clone(&before.shared_sets);
        }
    }

    /// Returns the databases to list for clients: the databases of the common backend, followed by the databases with
    /// their own backends.
    #[cfg(feature = "sru")]
    pub(crate) fn databases(&self) -> Vec<DatabaseInfo> {
        let special = self
            .special
            .iter()
            .flat_map(|(_, backend)| backend.databases());
        self.backend
            .databases()
            .into_iter()
            .chain(special)
            .collect()
    }

    /// Returns whether clients can name this database, or the database of which it is a part.
    #[cfg(feature = "sru")]
    pub(crate) fn has_database(&self, name: &str) -> bool {
        let is_one = |one: &DatabaseInfo| one.name.eq_ignore_ascii_case(name);
        self.special_of(name).is_some() || self.databases().iter().any(is_one)
    }

    /// Returns the database with its own backend that has this name, or that has a part with this name. If all databases have
    /// their own backends, `Default` selects the first one, unless a database has this name.
    pub(crate) fn special_of(&self, name: &str) -> Option<&(String, Arc<dyn Backend>)> {
        let is = |special: &str| {
            let (start, rest) = name.split_at_checked(special.len())?;
            let is_part = rest.is_empty() || rest.starts_with('@');
            (is_part && start.eq_ignore_ascii_case(special)).then_some(())
        };
        let mut special = self.special.iter();
        special
            .find(|(special, _)| is(special).is_some())
            .or_else(|| {
                let has_others = || !self.backend.databases().is_empty();
                let first = self.special.first()?;
                (name.eq_ignore_ascii_case(DEFAULT) && !has_others()).then_some(first)
            })
    }

    /// Returns the database IR-Explain-1.
    pub(crate) fn explain(&self) -> Arc<dyn Backend> {
        let make = || {
            let backend = Arc::clone(&self.backend);
            let (offer, limits) = (self.offer.clone(), self.limits.clone());
            let explain = ExplainDatabase::new(backend, offer, limits, &self.access);
            let special = self.special.iter().map(|(_, backend)| Arc::clone(backend));
            let explain = special.fold(explain, ExplainDatabase::and);
            Arc::new(explain) as Arc<dyn Backend>
        };
        Arc::clone(self.explain.get_or_init(make))
    }
}

/// The name and group of a user.
type UserKey = (String, Option<String>);

/// A place among the limited number of sessions of a user; dropping the value frees the place.
pub(crate) struct UserPermit {
    user: Arc<User>,
    name: Arc<str>,
    sessions: Arc<Mutex<HashMap<UserKey, usize>>>,
}

impl UserPermit {
    /// Returns a permit for a user; `None` if the user already has the maximum number of sessions.
    pub(crate) fn take(target: &Target, user: Arc<User>) -> Option<Self> {
        let mut sessions = lock(&target.sessions);
        let open = sessions.get(&user.key()).copied().unwrap_or_default();
        if user.sessions.is_some_and(|most| open >= most) {
            return None;
        }
        sessions.insert(user.key(), open.saturating_add(1));
        Some(Self {
            name: user.name.as_str().into(),
            user,
            sessions: Arc::clone(&target.sessions),
        })
    }

    pub(crate) fn user(&self) -> &User {
        &self.user
    }

    /// Returns the name of the user. Copies of the name share its memory.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

impl Drop for UserPermit {
    fn drop(&mut self) {
        let mut sessions = lock(&self.sessions);
        let key = self.user.key();
        match sessions.get_mut(&key) {
            Some(open) if *open > 1 => *open -= 1,
            _ => {
                sessions.remove(&key);
            }
        }
    }
}

impl User {
    fn key(&self) -> UserKey {
        (self.name.clone(), self.group.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryBackend;

    #[test]
    fn a_database_with_its_own_backend_has_parts_and_is_listed() {
        let own = MemoryBackend::builder().describe("union", "", "").build();
        let target = Target::new(Arc::new(MemoryBackend::demo()), Limits::default())
            .with_database("union", Arc::new(own));
        for (name, is_known) in [
            ("union", true),
            ("UNION", true),
            ("union@127.0.0.1:210/cat", true),
            ("unions", false),
            ("unio", false),
            ("", false),
            ("unioñ", false),
            ("books", false),
        ] {
            assert_eq!(target.special_of(name).is_some(), is_known, "{name}");
        }
        // `Default` stands for all databases of the common backend.
        assert!(target.special_of("Default").is_none());
        let databases = target.databases();
        let names: Vec<_> = databases.iter().map(|database| &*database.name).collect();
        assert_eq!(names, ["books", "serials", "union"]);
    }

    #[test]
    fn the_default_database_is_the_first_where_all_have_their_own_backends() {
        let own = |name| Arc::new(MemoryBackend::builder().describe(name, "", "").build());
        let none = Arc::new(MemoryBackend::builder().build());
        let mut target = Target::new(none, Limits::default());
        assert!(target.special_of("Default").is_none());
        target = target.with_database("one", own("one"));
        target = target.with_database("two", own("two"));
        let named = |target: &Target| target.special_of("default").map(|(name, _)| name.clone());
        assert_eq!(named(&target).as_deref(), Some("one"));
        let target = target.with_database("Default", own("Default"));
        assert_eq!(named(&target).as_deref(), Some("Default"));
    }
}
