//! The identity that a URL would be carried out with: which one, for which server and from which source, but never the
//! password (RFC 1736 §5, Z39.50-2003 §3.2.1.1.6).

use serde_json::{Value, json};
use z3950::plan::{IdentitySource, Plan};
use z3950::profile::{Credentials, Origin, Profiles};
use z3950::url::{Userinfo, Z3950Url};

use crate::commands::connection::{Identity, credentials};
use crate::console::output::Failure;
use crate::render::shown;

/// The identity that Init would send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannedIdentity {
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
    pub(super) form: IdentityForm,
    /// The source of the password, if one is sent.
    pub(super) password: Option<Password>,
    pub(super) source: IdentityOrigin,
    /// `host:port`
    pub(super) server: String,
}

/// The three forms of idAuthentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentityForm {
    Anonymous,
    IdPass,
    /// User and password as one string.
    Open,
}

/// The source of a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Password {
    Url,
    /// The environment variable of this name.
    Variable(String),
    Command,
}

/// The source of an identity.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdentityOrigin {
    Url,
    /// Options such as --user.
    Options,
    /// The profile of this name, and its file.
    Profile {
        name: String,
        file: Option<String>,
    },
}

impl PlannedIdentity {
    /// The identity that a plan would send, if any.
    pub(super) fn of(
        plan: &Plan,
        url: &Z3950Url,
        options: &Identity,
        profiles: &Profiles,
    ) -> Result<Option<Self>, Failure> {
        let server = format!("{}:{}", plan.host, plan.port);
        let Some(source) = plan.identity_source else {
            return Ok(None);
        };
        Ok(match source {
            IdentitySource::Url => url
                .userinfo()
                .map(|userinfo| Self::of_url(userinfo, server)),
            IdentitySource::Options => credentials(options)?.map(|credentials| {
                Self::of_credentials(&credentials, IdentityOrigin::Options, server)
            }),
            IdentitySource::Profile => profiles.of_url(url).and_then(|(name, entry)| {
                let credentials = entry.profile.credentials.as_ref()?;
                let file = match &entry.origin {
                    Origin::BuiltIn => None,
                    Origin::File(path) => Some(path.display().to_string()),
                };
                let name = name.to_owned();
                let source = IdentityOrigin::Profile { name, file };
                Some(Self::of_credentials(credentials, source, server))
            }),
        })
    }

    fn of_url(userinfo: &Userinfo, server: String) -> Self {
        Self {
            user: Some(shown(userinfo.user().as_bytes())),
            group: None,
            form: IdentityForm::IdPass,
            password: userinfo.password().map(|_| Password::Url),
            source: IdentityOrigin::Url,
            server,
        }
    }

    fn of_credentials(credentials: &Credentials, source: IdentityOrigin, server: String) -> Self {
        let text = |text: &Option<String>| text.as_ref().map(|text| shown(text.as_bytes()));
        let form = match (credentials.anonymous, credentials.open) {
            (true, _) => IdentityForm::Anonymous,
            (false, true) => IdentityForm::Open,
            (false, false) => IdentityForm::IdPass,
        };
        let command = credentials
            .password_command
            .as_ref()
            .map(|_| Password::Command);
        let variable = text(&credentials.password_env).map(Password::Variable);
        Self {
            user: text(&credentials.user),
            // An open string has no place for it.
            group: text(&credentials.group).filter(|_| form == IdentityForm::IdPass),
            form,
            password: variable
                .or(command)
                .filter(|_| form != IdentityForm::Anonymous),
            source,
            server,
        }
    }

    /// The object of `--json`: all keys are always there, and none holds the password.
    pub(super) fn object(&self) -> Value {
        let (name, file) = match &self.source {
            IdentityOrigin::Profile { name, file } => (Some(name), file.as_ref()),
            IdentityOrigin::Url | IdentityOrigin::Options => (None, None),
        };
        json!({
            "form": match self.form {
                IdentityForm::Anonymous => "anonymous",
                IdentityForm::IdPass => "id-pass",
                IdentityForm::Open => "open",
            },
            "user": self.user,
            "group": self.group,
            "password_from": self.password.as_ref().map(|password| match password {
                Password::Url => "url",
                Password::Variable(_) => "environment",
                Password::Command => "command",
            }),
            "password_variable": match &self.password {
                Some(Password::Variable(name)) => Some(name),
                _ => None,
            },
            "source": match self.source {
                IdentityOrigin::Url => "url",
                IdentityOrigin::Options => "options",
                IdentityOrigin::Profile { .. } => "profile",
            },
            "profile": name,
            "file": file,
        })
    }

    /// The parts of a line of the plan.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.push(match (&self.user, self.form) {
            (_, IdentityForm::Anonymous) => "as anonymous".to_owned(),
            (Some(user), _) => format!("as user {user}"),
            (None, _) => "without a user name".to_owned(),
        });
        words.extend(self.group.as_ref().map(|group| format!("group {group}")));
        words.extend(self.password.as_ref().map(|password| match password {
            Password::Url => "with the password of the URL".to_owned(),
            Password::Variable(name) => {
                format!("with the password in the environment variable {name}")
            }
            Password::Command => "with the password that a command prints".to_owned(),
        }));
        words.push(format!("to {}", self.server));
        words.push(match &self.source {
            IdentityOrigin::Url => "given in the URL".to_owned(),
            IdentityOrigin::Options => "given by options".to_owned(),
            IdentityOrigin::Profile { name, file: None } => format!("given by the profile {name}"),
            IdentityOrigin::Profile {
                name,
                file: Some(file),
            } => format!("given by the profile {name} in {file}"),
        });
        words
    }
}
