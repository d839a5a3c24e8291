//! Credentials (Z39.50-2003 §3.2.1.1.6, idAuthentication). A program may supply the password directly. A targets file
//! names an environment variable or a command that returns the password, but never contains the password.

use std::fmt;
use std::process::ExitStatus;

use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use z3950_asn1::apdu::{IdAuthentication, IdPass};

#[cfg(feature = "profiles")]
use super::command::run;

/// The credentials for a target, and the password or its source.
///
/// ```
/// use z3950::Credentials;
///
/// let reader = Credentials::password("ann", "secret");
/// assert_eq!(format!("{reader:?}"), "<redacted>");
/// ```
#[derive(Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Credentials {
    /// The user name, or `None` if the server needs none.
    pub user: Option<String>,
    /// The group of the user, or `None` if the server needs none.
    pub group: Option<String>,
    /// The password, if the program supplied it. A targets file cannot contain it.
    #[serde(skip)]
    given: Option<String>,
    /// The environment variable that contains the password.
    pub password_env: Option<String>,
    /// A shell command whose first line of output is the password.
    pub password_command: Option<String>,
    /// Whether to send the user name and password as one string, `user/password`, as some servers expect.
    pub open: bool,
    /// Whether to authenticate anonymously.
    pub anonymous: bool,
}

/// The reason why the credentials cannot be obtained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The environment variable is not set, or is not UTF-8.
    #[error("the environment variable {0}, which holds the password, is not set")]
    Variable(String),
    /// The command cannot be run.
    #[error("cannot run the password command")]
    Command(#[source] std::io::Error),
    /// The command failed or printed nothing.
    #[error("the password command returned no password: {0}")]
    NoPassword(ExitStatus),
    /// The command was still running at the deadline, and was killed.
    #[error("the password command did not finish before the deadline")]
    Deadline,
}

impl Credentials {
    /// Creates credentials from a user name and a password.
    pub fn password(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            user: Some(user.into()),
            given: Some(password.into()),
            ..Self::default()
        }
    }

    /// Creates credentials that authenticate anonymously.
    pub fn anonymous() -> Self {
        Self {
            anonymous: true,
            ..Self::default()
        }
    }

    /// Sets the group to which the user belongs (`groupId`).
    #[must_use]
    pub fn with_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Sets the user name and password to be sent as one string, `user/password`, as some servers expect.
    #[must_use]
    pub fn as_one_string(mut self) -> Self {
        self.open = true;
        self
    }

    /// Returns the credentials in the form of Init's idAuthentication. If necessary, reads the environment variable or
    /// runs the command, which is killed at the deadline.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub async fn authentication(
        &self,
        deadline: Option<Instant>,
    ) -> Result<IdAuthentication, CredentialsError> {
        if self.anonymous {
            return Ok(IdAuthentication::Anonymous);
        }
        let password = self.found_password(deadline).await?;
        if self.open {
            let words = [self.user.clone(), password];
            let text: Vec<String> = words.into_iter().flatten().collect();
            return Ok(IdAuthentication::Open(text.join("/").into()));
        }
        let string = |text: Option<String>| text.map(Into::into);
        Ok(IdAuthentication::IdPass(IdPass {
            group_id: string(self.group.clone()),
            user_id: string(self.user.clone()),
            password: string(password),
        }))
    }

    async fn found_password(
        &self,
        deadline: Option<Instant>,
    ) -> Result<Option<String>, CredentialsError> {
        if self.given.is_some() {
            return Ok(self.given.clone());
        }
        if let Some(name) = &self.password_env {
            let value = std::env::var(name);
            return value
                .map(Some)
                .map_err(|_| CredentialsError::Variable(name.clone()));
        }
        let Some(command) = &self.password_command else {
            return Ok(None);
        };
        let ended = match deadline {
            None => run(command).await,
            Some(at) => {
                let ended = timeout_at(at, run(command)).await;
                ended.map_err(|_| CredentialsError::Deadline)?
            }
        };
        let (printed, status) = ended.map_err(CredentialsError::Command)?;
        let text = String::from_utf8_lossy(&printed);
        match text.lines().next() {
            Some(line) if status.success() && !line.is_empty() => Ok(Some(line.to_owned())),
            _ => Err(CredentialsError::NoPassword(status)),
        }
    }
}

#[cfg(not(feature = "profiles"))]
async fn run(_: &str) -> std::io::Result<(Vec<u8>, std::process::ExitStatus)> {
    let reason = "password commands need the feature `profiles` of z3950";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, reason))
}

impl fmt::Debug for Credentials {
    /// Writes `<redacted>` in place of the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Tests that a password command is killed at the deadline, even if it has closed its output, or has a child that
    /// keeps the output open.
    #[tokio::test]
    async fn a_password_command_is_killed_at_the_deadline() {
        for command in ["sleep 5", "echo x; exec >&-; sleep 5", "sleep 5; echo x"] {
            let text = format!("user = 'u'\npassword_command = '{command}'");
            let credentials: Credentials = toml::from_str(&text).expect("credentials");
            let begun = Instant::now();
            let error = credentials
                .authentication(Some(begun + Duration::from_millis(50)))
                .await
                .expect_err("it runs for seconds");
            assert!(matches!(error, CredentialsError::Deadline), "{error:?}");
            assert!(begun.elapsed() < Duration::from_secs(4), "{command}");
        }
    }

    #[tokio::test]
    async fn passwords_come_from_the_environment_or_a_command() {
        let read = |text: &str| toml::from_str::<Credentials>(text).expect("credentials");
        let id_pass = |user: &str, password: Option<&str>| {
            IdAuthentication::IdPass(IdPass {
                group_id: None,
                user_id: Some(user.into()),
                password: password.map(Into::into),
            })
        };
        for (text, authentication) in [
            ("anonymous = true", Some(IdAuthentication::Anonymous)),
            ("user = 'u'", Some(id_pass("u", None))),
            (
                "user = 'u'\npassword_command = 'echo secret; echo more'",
                Some(id_pass("u", Some("secret"))),
            ),
            (
                "user = 'u'\nopen = true\npassword_command = 'echo secret'",
                Some(IdAuthentication::Open("u/secret".into())),
            ),
            ("user = 'u'\npassword_command = 'false'", None),
            ("user = 'u'\npassword_command = 'true'", None),
            ("user = 'u'\npassword_env = 'Z3950_NO_SUCH_VARIABLE'", None),
        ] {
            let found = read(text).authentication(None).await;
            assert_eq!(found.ok(), authentication, "{text}");
        }
        assert_eq!(format!("{:?}", read("user = 'u'")), "<redacted>");
        for (given, authentication) in [
            (Credentials::password("u", "s"), id_pass("u", Some("s"))),
            (
                Credentials::password("u", "s").as_one_string(),
                IdAuthentication::Open("u/s".into()),
            ),
            (Credentials::anonymous(), IdAuthentication::Anonymous),
        ] {
            let found = given.authentication(None).await;
            assert_eq!(found.ok(), Some(authentication), "audit_r_l6");
        }
    }
}
