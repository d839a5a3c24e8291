//! Controls the admission to sessions and the rights of users (Z39.50-2003 §3.2.1.1.2 id/authentication, §3.2.5 access control).
//!
//! Users are authenticated by an implementation of [`Authenticate`]: the [`UserList`] of [`Access::users`], or a program's own
//! implementation, for example with a directory or a database table.
//!
//! ```
//! use std::sync::Arc;
//! use z3950_server::access::{Authenticate, Login, User};
//! use z3950_server::backend::{Answer, Condition, diagnostic, ready};
//! use z3950_server::testing::TestServer;
//!
//! /// Admits members of the staff, with the password of the day.
//! struct Staff;
//!
//! impl Authenticate for Staff {
//!     fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User> {
//!         let is_known = login.user.ends_with("@staff") && login.password == b"open sesame";
//!         ready(if is_known {
//!             Ok(User::new(login.user))
//!         } else {
//!             Err(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, login.user))
//!         })
//!     }
//! }
//!
//! let server = TestServer::builder().demo().authenticate(Arc::new(Staff)).start();
//! ```

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use z3950_asn1::apdu::{IdAuthentication, IdPass};

use crate::backend::{Answer, ready};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;
use crate::passwords::{PasswordChecks, PasswordHash};

/// The rules for opening a session. By default, everybody may open one, with or without credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The users; if there are none, everybody may open a session. The list is ignored if the target has its own
    /// [`Authenticate`].
    pub users: Vec<User>,
    /// Whether clients without credentials are admitted even if there are users.
    pub anonymous: bool,
    /// The way in which the server asks clients without credentials to authenticate before their first operation (§3.2.5); with
    /// `None`, their Init is refused instead.
    pub challenge: Option<Challenge>,
    /// The client addresses that are refused with condition 1016.
    pub blocked: Vec<IpAddr>,
    /// Whether clients at any address may update databases. By default, this is limited to clients on the server's host
    /// (loopback, Unix sockets) and users with [`User::update`]. Other updates are refused with condition 222.
    pub anyone_may_update: bool,
}

/// A user, with credentials and rights.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The userId; in an open authentication string, it is the part before its last `/`.
    pub name: String,
    /// The groupId; `None` accepts any group.
    pub group: Option<String>,
    /// The password; `None` accepts any password, unless `password_hash` is set.
    pub password: Option<String>,
    /// The hash of the password; if it is set, `password` is ignored.
    pub password_hash: Option<PasswordHash>,
    /// The databases that the user may search; `None` for all. Other databases are refused with condition 236.
    pub databases: Option<Vec<String>>,
    /// The maximum number of concurrent sessions of the user; further sessions are refused with condition 1015.
    pub sessions: Option<usize>,
    /// Whether the user may update databases from any address; with `None`, the user has the same right as an anonymous client.
    pub update: Option<bool>,
    /// The condition with which every login of the user is refused, such as 1012 to 1017.
    pub refusal: Option<Condition>,
}

impl User {
    /// Creates a user with this name, whose password has already been checked or does not matter.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// Authenticates the users of a server, for example with a database of passwords, a directory or another program.
///
/// A login is checked before its request begins, and logins from one address are checked one at a time. The check may wait, for
/// at most [`Limits::login_time`](crate::Limits::login_time); after that time, or if the check panics, the client is refused.
/// Work that blocks a thread, such as hashing a password, belongs in [`backend::blocking`](crate::backend::blocking).
///
/// The answers to wrong logins are delayed ([`Limits::refusal_delay`](crate::Limits::refusal_delay)), and too many wrong
/// logins end the connection, whatever code checks them. A Z39.50 session is checked once; SRU clients send their login
/// again on each connection.
pub trait Authenticate: Send + Sync {
    /// Returns the user with this login, including the rights to databases, sessions and updates. The password and hash in the
    /// result are ignored. [`Caller::user`](crate::backend::Caller::user) gives the backend the user's name.
    ///
    /// # Errors
    /// Fails with the reason for the refusal: condition 1011 for a wrong name or password, or 1012 to 1017 for other reasons.
    /// Each of these conditions counts as a wrong login, except 1014 and the conditions for server problems (1, 2 and 1018),
    /// because then the login could not be checked.
    fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User>;
}

/// A login that a client has sent.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Login<'a> {
    /// The userId; in an open authentication string, it is the part before its last `/`.
    pub user: &'a str,
    /// The groupId; `None` if the client did not send one.
    pub group: Option<&'a str>,
    /// The password; empty if there is none.
    pub password: &'a [u8],
    /// The address of the client; `None` for a client on the server's host that has no address, such as a client that uses a Unix
    /// socket.
    pub address: Option<IpAddr>,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, <redacted>)", self.user)
    }
}

impl<'a> Login<'a> {
    /// Creates a login with a name and a password.
    pub fn new(user: &'a str, password: &'a [u8]) -> Self {
        Self {
            user,
            group: None,
            password,
            address: None,
        }
    }
}

/// A list of users, whose passwords may be hashed.
pub struct UserList {
    users: Vec<User>,
    checks: PasswordChecks,
}

impl UserList {
    /// Creates a list. At most [`Limits::password_checks`](crate::Limits::password_checks) hashed passwords are verified at the
    /// same time.
    pub fn new(users: Vec<User>, limits: &Limits) -> Self {
        Self {
            users,
            checks: PasswordChecks::new(limits),
        }
    }

    /// Returns the hashes against which a password must be verified before [`find`](Self::find) compares it. If the user does not
    /// have a hash but other users do, returns one of their hashes, so that the time does not reveal which users exist.
    fn hashes_for(&self, login: Login<'_>) -> Vec<PasswordHash> {
        let hash = |user: &User| {
            let hash = user.password_hash.as_ref();
            hash.filter(|_| user.refusal.is_none()).cloned()
        };
        let named = self.users.iter().filter(|user| user.name == login.user);
        let hashes: Vec<PasswordHash> = named.filter_map(hash).collect();
        if hashes.is_empty() {
            self.users.iter().find_map(hash).into_iter().collect()
        } else {
            hashes
        }
    }

    /// Finds the user with a login. A hashed password counts as wrong unless it was verified recently.
    fn find(&self, login: Login<'_>) -> Result<User, Diagnostic> {
        let mut users = self.users.iter();
        let user = users.find(|user| user.is(login, &self.checks));
        let wrong = || diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, login.user);
        let user = user.ok_or_else(wrong)?;
        match user.refusal {
            Some(refusal) => Err(diagnostic(refusal, login.user)),
            None => Ok(user.clone()),
        }
    }
}

impl fmt::Debug for UserList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.users.fmt(f)
    }
}

impl Authenticate for UserList {
    /// An unknown user and a wrong password give the same answer.
    fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User> {
        let hashes = self.hashes_for(login);
        if hashes.is_empty() {
            return ready(self.find(login));
        }
        Box::pin(async move {
            for hash in hashes {
                self.checks.verify(&hash, login.password).await;
            }
            self.find(login)
        })
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({}, <redacted>)", self.name)
    }
}

/// The form in which the server asks for credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// A simple challenge with this text for the user; the client answers with `user/password`.
    Simple(String),
    /// Prompts for the user name and the password (challenge `prompt-1`).
    Prompts,
}

/// Credentials sent by a client.
#[derive(Clone, Copy, Default)]
pub(crate) struct Credentials<'a> {
    pub(crate) group: Option<&'a [u8]>,
    pub(crate) user: &'a [u8],
    pub(crate) password: &'a [u8],
}

/// The result of admitting a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The client is admitted without a user name.
    Anybody,
    /// The client is admitted as this user.
    User(Arc<User>),
    /// The client is admitted, but must authenticate before its first operation.
    Unproved,
}

impl Access {
    /// Decides whether a client with these credentials is admitted to a server that has users. `prove` checks a user name and
    /// password, and returns the user.
    ///
    /// # Errors
    ///
    /// Fails with condition 1010 if credentials are required and missing, with 1014 for an unsupported form, or with the error
    /// from `prove`.
    pub(crate) fn admit(
        &self,
        credentials: Option<&IdAuthentication>,
        prove: impl FnOnce() -> Result<Arc<User>, Diagnostic>,
    ) -> Result<Admission, Diagnostic> {
        match credentials {
            None | Some(IdAuthentication::Anonymous) => self.admit_anonymous(),
            Some(IdAuthentication::Open(_) | IdAuthentication::IdPass(_)) => {
                prove().map(Admission::User)
            }
            Some(IdAuthentication::Other(external)) => {
                let syntax = external.direct_reference;
                let syntax = syntax.map_or_else(String::new, |syntax| syntax.to_string());
                Err(diagnostic(Condition::AUTHENTICATION_SYSTEM, syntax))
            }
        }
    }

    /// Decides whether a client without credentials is admitted to a server that has users.
    ///
    /// # Errors
    /// Fails with condition 1010 if credentials are required.
    pub(crate) fn admit_anonymous(&self) -> Result<Admission, Diagnostic> {
        match &self.challenge {
            _ if self.anonymous => Ok(Admission::Anybody),
            Some(_) => Ok(Admission::Unproved),
            None => Err(diagnostic(Condition::BAD_USER_ID, "")),
        }
    }

    /// Checks whether a client may update databases.
    ///
    /// # Errors
    ///
    /// Fails with condition 222 and the reason.
    pub(crate) fn check_update(
        &self,
        user: Option<&User>,
        is_local: bool,
    ) -> Result<(), Diagnostic> {
        let granted = user.and_then(|user| user.update);
        if granted.unwrap_or(is_local || self.anyone_may_update) {
            return Ok(());
        }
        let why = match user {
            Some(user) => format!("user {} may not update databases", user.name),
            None => "updates from another host need a user who may update".to_owned(),
        };
        Err(diagnostic(Condition::TASK_USER, why))
    }

    /// Returns whether there are clients that may not update databases.
    pub(crate) fn restricts_updates(&self) -> bool {
        !self.anyone_may_update || self.users.iter().any(|user| user.update == Some(false))
    }
}

impl User {
    /// Returns whether the user may search the database. The case of names is ignored.
    pub(crate) fn may_have(&self, database: &str) -> bool {
        self.databases.as_ref().is_none_or(|databases| {
            let mut databases = databases.iter();
            databases.any(|known| known.to_lowercase() == database.to_lowercase())
        })
    }

    fn is(&self, login: Login<'_>, checks: &PasswordChecks) -> bool {
        let group = self.group.as_deref();
        self.name == login.user
            && (group.is_none() || group == login.group)
            && (self.refusal.is_some() || self.has_password(login.password, checks))
    }

    fn has_password(&self, given: &[u8], checks: &PasswordChecks) -> bool {
        match (&self.password_hash, &self.password) {
            (Some(hash), _) => checks.is_right(hash, given),
            (None, Some(password)) => same(password.as_bytes(), given),
            (None, None) => true,
        }
    }
}

/// Returns whether two secrets are equal. The comparison takes constant time.
fn same(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).map(|(left, right)| left ^ right);
    left.len() == right.len() && differences.fold(0, |all, one| all | one) == 0
}

impl<'a> Credentials<'a> {
    /// Returns the user name and password in the credentials of Init; `None` for other forms.
    pub(crate) fn of(given: &'a IdAuthentication) -> Option<Self> {
        match given {
            IdAuthentication::Open(text) => Some(Self::open(text.as_bytes())),
            IdAuthentication::IdPass(id_pass) => Some(Self::from(id_pass)),
            IdAuthentication::Anonymous | IdAuthentication::Other(_) => None,
        }
    }

    /// Parses an open authentication string in one of the forms that common clients send: `user`, `user/password` or
    /// `group/user/password`.
    pub(crate) fn open(text: &'a [u8]) -> Self {
        let mut parts = text.rsplitn(3, |octet| *octet == b'/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(password), Some(user), group) => Self {
                group,
                user,
                password,
            },
            (user, _, _) => Self {
                user: user.unwrap_or_default(),
                ..Self::default()
            },
        }
    }
}

impl<'a> From<&'a IdPass> for Credentials<'a> {
    fn from(id_pass: &'a IdPass) -> Self {
        let octets = |text: &'a Option<z3950_asn1::types::InternationalString>| {
            text.as_ref().map(|text| text.as_bytes())
        };
        Self {
            group: octets(&id_pass.group_id),
            user: octets(&id_pass.user_id).unwrap_or_default(),
            password: octets(&id_pass.password).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::now;
    use z3950_asn1::apdu::External;
    use z3950_asn1::oid::{Oid, PROMPT_1};

    fn access() -> Access {
        let user = |name: &str| User {
            name: name.to_owned(),
            password: Some("secret".to_owned()),
            ..User::default()
        };
        let expired = User {
            refusal: Some(Condition(1012)),
            ..user("expired")
        };
        let member = User {
            group: Some("club".to_owned()),
            ..user("member")
        };
        let open = User {
            password: None,
            ..user("key")
        };
        Access {
            users: vec![user("ann"), expired, member, open],
            ..Access::default()
        }
    }

    fn id_pass(group: Option<&str>, user: &str, password: &str) -> IdAuthentication {
        IdAuthentication::IdPass(IdPass {
            group_id: group.map(Into::into),
            user_id: Some(user.into()),
            password: Some(password.into()),
        })
    }

    /// Asserts how a server with a list of users admits a client: as the user with the expected name, as `*` for anybody, or as
    /// `?` for a client that must authenticate later.
    fn check(access: &Access, given: Option<IdAuthentication>, expected: Result<&str, &str>) {
        let list = UserList::new(access.users.clone(), &Limits::default());
        let prove = || {
            let given = given.as_ref().and_then(Credentials::of).expect("a login");
            let text = |octets| std::str::from_utf8(octets).expect("text");
            let login = Login {
                group: given.group.map(text),
                ..Login::new(text(given.user), given.password)
            };
            now(list.authenticate(login)).map(Arc::new)
        };
        let admitted = match access.admit(given.as_ref(), prove) {
            Ok(Admission::User(user)) => Ok(user.name.clone()),
            Ok(Admission::Anybody) => Ok("*".to_owned()),
            Ok(Admission::Unproved) => Ok("?".to_owned()),
            Err(refused) => {
                let addinfo = refused.addinfo.to_string_lossy().into_owned();
                Err(format!("{} {addinfo}", refused.condition))
            }
        };
        let expected = expected.map(ToOwned::to_owned);
        assert_eq!(admitted, expected.map_err(ToOwned::to_owned));
    }

    #[test]
    fn listed_users_are_admitted() {
        let open = |text: &str| Some(IdAuthentication::Open(text.into()));
        let pass = |group, user, password| Some(id_pass(group, user, password));
        let other =
            |syntax: Oid| Some(IdAuthentication::Other(External::octet_aligned(syntax, "")));
        for (given, expected) in [
            (pass(None, "ann", "secret"), Ok("ann")),
            (pass(Some("any"), "ann", "secret"), Ok("ann")),
            (open("ann/secret"), Ok("ann")),
            (open("any/ann/secret"), Ok("ann")),
            (pass(Some("club"), "member", "secret"), Ok("member")),
            (open("club/member/secret"), Ok("member")),
            (open("key"), Ok("key")),
            (pass(None, "member", "secret"), Err("1011 member")),
            (pass(None, "ann", "wrong!"), Err("1011 ann")),
            (pass(None, "ann", "secre"), Err("1011 ann")),
            (pass(None, "nobody", "secret"), Err("1011 nobody")),
            (open("ann"), Err("1011 ann")),
            (pass(None, "expired", "x"), Err("1012 expired")),
            (None, Err("1010 ")),
            (Some(IdAuthentication::Anonymous), Err("1010 ")),
            (other(PROMPT_1), Err("1014 1.2.840.10003.8.1")),
        ] {
            check(&access(), given, expected);
        }
        let anonymous = Access {
            anonymous: true,
            ..access()
        };
        check(&anonymous, None, Ok("*"));
        check(&anonymous, pass(None, "ann", "x"), Err("1011 ann"));
        let asked = Access {
            challenge: Some(Challenge::Prompts),
            ..access()
        };
        check(&asked, None, Ok("?"));
        check(&asked, pass(None, "ann", "x"), Err("1011 ann"));
    }

    #[test]
    fn updates_need_leave_from_other_hosts() {
        let user = |update| User {
            name: "ann".to_owned(),
            update,
            ..User::default()
        };
        let (unsaid, allowed, denied) = (user(None), user(Some(true)), user(Some(false)));
        let stranger = "updates from another host need a user who may update";
        let ann = "user ann may not update databases";
        for (anyone, user, is_local, expected) in [
            (false, None, true, None),
            (false, None, false, Some(stranger)),
            (true, None, false, None),
            (false, Some(&unsaid), true, None),
            (false, Some(&unsaid), false, Some(ann)),
            (true, Some(&unsaid), false, None),
            (false, Some(&allowed), false, None),
            (false, Some(&denied), true, Some(ann)),
            (true, Some(&denied), false, Some(ann)),
        ] {
            let access = Access {
                anyone_may_update: anyone,
                ..Access::default()
            };
            let refused = access.check_update(user, is_local).err();
            let refused =
                refused.map(|why| (why.condition, why.addinfo.to_string_lossy().into_owned()));
            let expected = expected.map(|why| (222, why.to_owned()));
            assert_eq!(refused, expected, "{anyone} {user:?} {is_local}");
        }
    }

    #[test]
    fn databases_are_granted_without_case() {
        let user = User {
            databases: Some(vec!["Books".to_owned()]),
            ..User::default()
        };
        assert!(user.may_have("BOOKS") && !user.may_have("serials"));
        assert!(User::default().may_have("anything"));
        assert!(!format!("{:?}", access()).contains("secret"));
    }
}
