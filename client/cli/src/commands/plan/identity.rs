//! The identity with which a URL would be retrieved: its form, its server and its source, but never the password (RFC
//! 1736 §5, Z39.50-2003 §3.2.1.1.6).

use serde::Serialize;
use z3950::plan::{IdentitySource, Plan};
use z3950::profile::{Credentials, Origin, Profiles};
use z3950::url::{Userinfo, Z3950Url};

use crate::commands::connection::{Identity, credentials};
use crate::console::output::Failure;
use crate::render::shown;

/// The identity that Init would send. The JSON object made from it always has all keys, and never contains the
/// password.
#[derive(Debug, Serialize)]
pub(super) struct PlannedIdentity {
    /// The form of the identity: `anonymous`, `id-pass`, or `open` if user name and password are one string.
    form: &'static str,
    user: Option<String>,
    group: Option<String>,
    /// The source of the password, if a password is sent: `url`, `environment` or `command`.
    #[serde(rename = "password_from")]
    password: Option<&'static str>,
    /// The environment variable that contains the password, if this is its source.
    #[serde(rename = "password_variable")]
    variable: Option<String>,
    /// The source of the identity: `url`, `options` or `profile`.
    source: &'static str,
    /// The name of the profile, if the identity comes from a profile.
    profile: Option<String>,
    /// The file that contains the profile, if the identity comes from a profile.
    file: Option<String>,
    /// The server to which the identity would be sent, as `host:port`.
    #[serde(skip)]
    server: String,
}

impl PlannedIdentity {
    /// Returns the identity that would be sent for a plan, if any.
    pub(super) fn of(
        plan: &Plan,
        url: &Z3950Url,
        options: &Identity,
        profiles: &Profiles,
    ) -> Result<Option<Self>, Failure> {
        let Some(source) = plan.identity_source else {
            return Ok(None);
        };
        let identity = match source {
            IdentitySource::Url => url.userinfo().map(Self::of_url),
            IdentitySource::Options => credentials(options)?.as_ref().map(Self::of_credentials),
            IdentitySource::Profile => profiles.of_url(url).and_then(|(name, entry)| {
                let identity = Self::of_credentials(entry.profile.credentials.as_ref()?);
                Some(Self {
                    source: "profile",
                    profile: Some(name.to_owned()),
                    file: match &entry.origin {
                        Origin::File(path) => Some(path.display().to_string()),
                        _ => None,
                    },
                    ..identity
                })
            }),
        };
        Ok(identity.map(|identity| Self {
            server: format!("{}:{}", plan.host, plan.port),
            ..identity
        }))
    }

    fn of_url(userinfo: &Userinfo) -> Self {
        Self {
            user: Some(shown(userinfo.user().as_bytes())),
            password: userinfo.password().map(|_| "url"),
            source: "url",
            ..Self::of_credentials(&Credentials::default())
        }
    }

    fn of_credentials(credentials: &Credentials) -> Self {
        let text = |text: &Option<String>| text.as_ref().map(|text| shown(text.as_bytes()));
        let form = match (credentials.anonymous, credentials.open) {
            (true, _) => "anonymous",
            (false, true) => "open",
            (false, false) => "id-pass",
        };
        let variable = text(&credentials.password_env).filter(|_| form != "anonymous");
        let command = credentials
            .password_command
            .as_ref()
            .filter(|_| form != "anonymous")
            .map(|_| "command");
        Self {
            form,
            user: text(&credentials.user),
            // Credentials of the form `open` cannot contain a group.
            group: text(&credentials.group).filter(|_| form == "id-pass"),
            password: variable.as_ref().map(|_| "environment").or(command),
            variable,
            source: "options",
            profile: None,
            file: None,
            server: String::new(),
        }
    }

    /// Returns the parts of the human-readable line that describes the identity.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.push(match (&self.user, self.form) {
            (_, "anonymous") => "as anonymous".to_owned(),
            (Some(user), _) => format!("as user {user}"),
            (None, _) => "without a user name".to_owned(),
        });
        words.extend(self.group.as_ref().map(|group| format!("group {group}")));
        words.extend(self.password.map(|source| match (&self.variable, source) {
            (Some(name), _) => format!("with the password in the environment variable {name}"),
            (None, "url") => "with the password of the URL".to_owned(),
            (None, _) => "with the password that a command prints".to_owned(),
        }));
        words.push(format!("to {}", self.server));
        let file = self.file.as_ref().map(|file| format!(" in {file}"));
        words.push(match &self.profile {
            Some(name) => format!("given by the profile {name}{}", file.unwrap_or_default()),
            None if self.source == "url" => "given in the URL".to_owned(),
            None => "given by options".to_owned(),
        });
        words
    }
}
