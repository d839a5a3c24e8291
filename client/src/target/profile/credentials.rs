//! Secrets of a target by reference: a file of targets names an environment variable or a command that gives the
//! password, never the password itself (Z39.50-2003 §3.2.1.1.6, idAuthentication).

use std::fmt;
use std::process::{Command, Stdio};

use serde::Deserialize;
use z3950_asn1::apdu::{IdAuthentication, IdPass};

/// Who to be at a target, and where the password comes from.
#[derive(Clone, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// The user, if the server wants one.
    #[serde(default)]
    pub user: Option<String>,
    /// The group, if the server wants one.
    #[serde(default)]
    pub group: Option<String>,
    /// The environment variable that holds the password.
    #[serde(default)]
    pub password_env: Option<String>,
    /// A command of the shell whose first line is the password.
    #[serde(default)]
    pub password_command: Option<String>,
    /// Whether user and password travel as one string, `user/password`, as some servers want.
    #[serde(default)]
    pub open: bool,
    /// Whether to be nobody, and to say so.
    #[serde(default)]
    pub anonymous: bool,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The environment variable is not set, or is no text.
    #[error("the environment variable {0}, which holds the password, is not set")]
    Variable(String),
    /// The command cannot be run.
    #[error("cannot run the password command")]
    Command(#[source] std::io::Error),
    /// The command failed, or printed nothing.
    #[error("the password command returned no password: {0}")]
    NoPassword(String),
}

impl Credentials {
    /// What to send at Init. Reads the environment, or runs the command and waits for it.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub fn authentication(&self) -> Result<IdAuthentication, CredentialsError> {
        if self.anonymous {
            return Ok(IdAuthentication::Anonymous);
        }
        let password = self.password()?;
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

    fn password(&self) -> Result<Option<String>, CredentialsError> {
        if let Some(name) = &self.password_env {
            let value = std::env::var(name);
            return value
                .map(Some)
                .map_err(|_| CredentialsError::Variable(name.clone()));
        }
        let Some(command) = &self.password_command else {
            return Ok(None);
        };
        let output = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(CredentialsError::Command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().next() {
            Some(line) if output.status.success() && !line.is_empty() => Ok(Some(line.to_owned())),
            _ => Err(CredentialsError::NoPassword(output.status.to_string())),
        }
    }
}

impl fmt::Debug for Credentials {
    /// Without the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_come_from_elsewhere() {
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
            assert_eq!(read(text).authentication().ok(), authentication, "{text}");
        }
        assert_eq!(format!("{:?}", read("user = 'u'")), "<redacted>");
    }
}
