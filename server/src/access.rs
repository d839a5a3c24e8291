//! Access control: admission to sessions, and the rights of users (Z39.50-2003 §3.2.1.1.2 id/authentication, §3.2.5 access
//! control).

use std::fmt;
use std::net::IpAddr;

use z3950_asn1::apdu::{IdAuthentication, IdPass};

use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::passwords::{PasswordChecks, PasswordHash};

/// The rules for opening a session. By default, everybody may open one, with or without credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The users; if there are none, everybody may open a session.
    pub users: Vec<User>,
    /// Whether clients without credentials are admitted even if users are listed.
    pub anonymous: bool,
    /// How to ask clients without credentials for them before their first operation (§3.2.5); `None` to refuse their Init
    /// instead.
    pub challenge: Option<Challenge>,
    /// The client addresses that are refused with condition 1016.
    pub blocked: Vec<IpAddr>,
    /// Whether clients at any address may update databases. By default, this is limited to clients on the server's host
    /// (loopback, Unix sockets) and users with [`User::update`]. Other updates are refused with condition 222.
    pub anyone_may_update: bool,
}

/// A user and its rights.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The userId; in an open authentication string, it is the part before its last `/`.
    pub name: String,
    /// The groupId; `None` accepts any.
    pub group: Option<String>,
    /// The password; `None` accepts any, unless there is a hash of one.
    pub password: Option<String>,
    /// The hash of the password, in place of the password itself.
    pub password_hash: Option<PasswordHash>,
    /// The databases that the user may search; `None` for all. Other databases are refused with condition 236.
    pub databases: Option<Vec<String>>,
    /// The maximum number of concurrent sessions of the user; further ones are refused with condition 1015.
    pub sessions: Option<usize>,
    /// Whether the user may update databases from any address; with `None`, the user has the rights of a client without a name.
    pub update: Option<bool>,
    /// The condition with which the user is always refused, such as 1012 to 1017.
    pub refusal: Option<Condition>,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({}, <redacted>)", self.name)
    }
}

/// The form in which the server asks for credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// A simple challenge with this text for the user; the answer is `user/password`.
    Simple(String),
    /// Prompts for user name and password (prompt-1).
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Admitted without a user name.
    Anybody,
    /// Admitted as the user at this index of [`Access::users`].
    User(usize),
    /// Admitted, but must authenticate later.
    Unproved,
}

impl Access {
    /// Decides on the admission of a client with these credentials.
    ///
    /// # Errors
    ///
    /// Condition 1010 if credentials are required and missing, 1011 if they are wrong, 1014 for an unsupported form, or the
    /// refusal in the user's entry.
    pub(crate) fn admit(
        &self,
        credentials: Option<&IdAuthentication>,
        checks: &PasswordChecks,
    ) -> Result<Admission, Diagnostic> {
        if self.users.is_empty() {
            return Ok(Admission::Anybody);
        }
        match credentials {
            None | Some(IdAuthentication::Anonymous) => match &self.challenge {
                _ if self.anonymous => Ok(Admission::Anybody),
                Some(_) => Ok(Admission::Unproved),
                None => Err(diagnostic(Condition::BAD_USER_ID, "")),
            },
            Some(IdAuthentication::Open(text)) => {
                self.prove(Credentials::open(text.as_bytes()), checks)
            }
            Some(IdAuthentication::IdPass(id_pass)) => {
                self.prove(Credentials::from(id_pass), checks)
            }
            Some(IdAuthentication::Other(external)) => {
                let syntax = external.direct_reference;
                let syntax = syntax.map_or_else(String::new, |syntax| syntax.to_string());
                Err(diagnostic(Condition::AUTHENTICATION_SYSTEM, syntax))
            }
        }
    }

    /// Returns whether [`Access::admit`] compares these credentials with the credentials of users.
    pub(crate) fn compares(&self, credentials: Option<&IdAuthentication>) -> bool {
        let has_password = matches!(
            credentials,
            Some(IdAuthentication::Open(_) | IdAuthentication::IdPass(_))
        );
        has_password && !self.users.is_empty()
    }

    /// Checks whether a client may update databases.
    ///
    /// # Errors
    ///
    /// Condition 222 with the reason.
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

    /// Returns the hashes against which a password must be verified before [`prove`](Self::prove) compares it. If the user does
    /// not have a hash but others do, it is one of theirs, so that the time does not tell which users there are.
    pub(crate) fn hashes_for(&self, given: Credentials<'_>) -> Vec<PasswordHash> {
        let hash = |user: &User| {
            let hash = user.password_hash.as_ref();
            hash.filter(|_| user.refusal.is_none()).cloned()
        };
        let named = self.users.iter();
        let named = named.filter(|user| user.name.as_bytes() == given.user);
        let hashes: Vec<PasswordHash> = named.filter_map(hash).collect();
        if hashes.is_empty() {
            self.users.iter().find_map(hash).into_iter().collect()
        } else {
            hashes
        }
    }

    /// Finds the user with these credentials. A hashed password counts as wrong unless it was verified lately.
    ///
    /// # Errors
    ///
    /// The same as for [`Access::admit`]. An unknown user and a wrong password give the same answer.
    pub(crate) fn prove(
        &self,
        given: Credentials<'_>,
        checks: &PasswordChecks,
    ) -> Result<Admission, Diagnostic> {
        let mut users = self.users.iter();
        let wrong = || diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, given.user);
        let place = users
            .position(|user| user.is(given, checks))
            .ok_or_else(wrong)?;
        match self.users.get(place).and_then(|user| user.refusal) {
            Some(refusal) => Err(diagnostic(refusal, given.user)),
            None => Ok(Admission::User(place)),
        }
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

    fn is(&self, given: Credentials<'_>, checks: &PasswordChecks) -> bool {
        let group = self.group.as_ref();
        self.name.as_bytes() == given.user
            && group.is_none_or(|group| given.group == Some(group.as_bytes()))
            && (self.refusal.is_some() || self.has_password(given.password, checks))
    }

    fn has_password(&self, given: &[u8], checks: &PasswordChecks) -> bool {
        match (&self.password_hash, &self.password) {
            (Some(hash), _) => checks.is_right(hash, given),
            (None, Some(password)) => same(password.as_bytes(), given),
            (None, None) => true,
        }
    }
}

/// Compares two secrets in constant time.
fn same(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).map(|(left, right)| left ^ right);
    left.len() == right.len() && differences.fold(0, |all, one| all | one) == 0
}

impl<'a> Credentials<'a> {
    /// Returns the credentials that Init gives as user and password; `None` for others.
    pub(crate) fn of(given: &'a IdAuthentication) -> Option<Self> {
        match given {
            IdAuthentication::Open(text) => Some(Self::open(text.as_bytes())),
            IdAuthentication::IdPass(id_pass) => Some(Self::from(id_pass)),
            IdAuthentication::Anonymous | IdAuthentication::Other(_) => None,
        }
    }

    /// Parses an open authentication string in the forms of common clients: `user`, `user/password` or `group/user/password`.
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
    use crate::limits::Limits;
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

    fn check(access: &Access, given: Option<IdAuthentication>, expected: Result<Admission, &str>) {
        let checks = PasswordChecks::new(&Limits::default());
        let admitted = access.admit(given.as_ref(), &checks).map_err(|refused| {
            let addinfo = refused.addinfo.to_string_lossy().into_owned();
            format!("{} {addinfo}", refused.condition)
        });
        assert_eq!(admitted, expected.map_err(ToOwned::to_owned));
    }

    #[test]
    fn without_users_everybody_is_admitted() {
        for given in [
            None,
            Some(IdAuthentication::Anonymous),
            Some(id_pass(None, "x", "y")),
        ] {
            check(&Access::default(), given, Ok(Admission::Anybody));
        }
    }

    #[test]
    fn listed_users_are_admitted() {
        let open = |text: &str| Some(IdAuthentication::Open(text.into()));
        let pass = |group, user, password| Some(id_pass(group, user, password));
        let other =
            |syntax: Oid| Some(IdAuthentication::Other(External::octet_aligned(syntax, "")));
        for (given, expected) in [
            (pass(None, "ann", "secret"), Ok(Admission::User(0))),
            (pass(Some("any"), "ann", "secret"), Ok(Admission::User(0))),
            (open("ann/secret"), Ok(Admission::User(0))),
            (open("any/ann/secret"), Ok(Admission::User(0))),
            (
                pass(Some("club"), "member", "secret"),
                Ok(Admission::User(2)),
            ),
            (open("club/member/secret"), Ok(Admission::User(2))),
            (open("key"), Ok(Admission::User(3))),
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
        check(&anonymous, None, Ok(Admission::Anybody));
        check(&anonymous, pass(None, "ann", "x"), Err("1011 ann"));
        let asked = Access {
            challenge: Some(Challenge::Prompts),
            ..access()
        };
        check(&asked, None, Ok(Admission::Unproved));
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
