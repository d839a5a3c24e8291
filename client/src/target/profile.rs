//! Target profiles: the address of a server, its peculiarities and its limits. Profiles are stored in `targets.toml`,
//! and are found by name or by host.
//!
//! ```toml
//! [targets.mylib]
//! title = "My library"
//! host = "lib.example"
//! port = 2100                               # 210 if left out
//! tls = false
//! databases = ["books", "maps"]
//! record_syntax = "usmarc"
//! element_set = "F"
//! record_charset = "marc8"                  # overrides what the records declare
//! query_charset = "windows-1250"            # UTF-8 if left out
//! attributes = ["2=3", "5=100"]             # for operands that have no attribute of that type
//! indexes = { isbn = "1=7 5=1" }            # how to search an index
//! docid = ["1=1032,4=104", "1=12", "1=1007"]  # how to search for a docid, most wanted first
//! credentials = { user = "guest", password_env = "MYLIB_PASSWORD" }
//! chunk = 20                                # records in one Present
//! pause = 0.5                               # seconds between two requests
//! sessions = 2                              # at once
//! pipelined = 4                             # requests sent before earlier ones are answered
//! sru = { version = "1.2", schema = "marcxml" }  # an SRU server, over HTTP
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `targets.toml` | the built-in targets |
//! | `list` | all profiles by name, and the resolution of targets |
//! | `indexes` | the attributes for searches in an index |
//! | `habits` | default attributes of query operands |
//! | `sru` | the options for a server over SRU |
//! | `command` | commands that print a password |
//! | `credentials` | passwords by reference: an environment variable or a command |

#[cfg(feature = "profiles")]
mod command;
mod credentials;
mod habits;
mod indexes;
mod list;
mod sru;

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use z3950_asn1::apdu::AttributeElement;
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

pub use self::credentials::{Credentials, CredentialsError};
pub(crate) use self::habits::InPqf;
pub use self::habits::{Attributes, HabitError};
pub use self::indexes::Indexes;
pub use self::list::{FileFault, Origin, ProfileEntry, ProfileError, Profiles, Resolved};
pub use self::sru::{SruMethod, SruMethodError, SruOptions, sru_version};
use crate::target::{Endpoint, sru_port};
use crate::url::{DEFAULT_PORT, Host, Mode};

/// The maximum pause between two requests.
pub const MAX_PAUSE: Duration = Duration::from_secs(3600);

/// The maximum value of [`Profile::pipelined`].
pub const MAX_PIPELINED: usize = 64;

/// The profile of a target. If a field is absent, the server or the command line decides.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, remote = "Self")]
#[non_exhaustive]
pub struct Profile {
    /// The title of the target, which is shown to users.
    pub title: Option<String>,
    /// The host of the server.
    #[serde(deserialize_with = "host")]
    pub host: Host,
    /// The port of the server. The default is 210, or the default port of HTTP or HTTPS for an SRU server.
    #[serde(default)]
    pub port: u16,
    /// Whether the server uses TLS.
    #[serde(default)]
    pub tls: bool,
    /// The databases to search if a target names none.
    #[serde(default)]
    pub databases: Vec<String>,
    /// The record syntax to request by default.
    #[serde(default, deserialize_with = "record_syntax")]
    pub record_syntax: Option<Oid>,
    /// The element set to request by default.
    pub element_set: Option<String>,
    /// The character set of the records, which overrides the one that they declare.
    #[serde(default, deserialize_with = "charset")]
    pub record_charset: Option<Charset>,
    /// The character set of query terms. The default is UTF-8.
    #[serde(default, deserialize_with = "charset")]
    pub query_charset: Option<Charset>,
    /// Attributes to add to operands that have no attribute of the same type.
    #[serde(default)]
    pub attributes: Attributes,
    /// For a Z39.50 server, the attributes for searches in an index, by the name or Use value of the index.
    #[serde(default)]
    pub indexes: Indexes,
    /// The attributes to use in searches for a docid, most preferred first. If the list is empty, the attributes
    /// prescribed by RFC 2056 are used.
    #[serde(default)]
    pub docid: Vec<Attributes>,
    /// The credentials for the target.
    pub credentials: Option<Credentials>,
    /// The maximum number of records per Present.
    #[serde(default, deserialize_with = "at_least_one")]
    pub chunk: Option<u32>,
    /// The minimum time between two requests, which is at most [`MAX_PAUSE`].
    #[serde(default, deserialize_with = "seconds")]
    pub pause: Option<Duration>,
    /// The maximum number of sessions at the same time.
    #[serde(default, deserialize_with = "at_least_one")]
    pub sessions: Option<usize>,
    /// The maximum number of unanswered requests in a session, if the server does not grant concurrentOperations. It is
    /// at most [`MAX_PIPELINED`]. See [`SessionOptions::max_pipelined`](crate::session::SessionOptions::max_pipelined).
    #[serde(default, deserialize_with = "pipelined")]
    pub pipelined: Option<usize>,
    /// The options for SRU, or `None` for a Z39.50 server.
    pub sru: Option<SruOptions>,
    /// The source of the information in this profile, such as a web page.
    pub source: Option<String>,
    /// A note for users.
    pub note: Option<String>,
}

impl Profile {
    /// Creates a profile with only an address.
    pub fn at(host: Host, port: u16, tls: bool) -> Self {
        Self {
            title: None,
            host,
            port,
            tls,
            databases: Vec::new(),
            record_syntax: None,
            element_set: None,
            record_charset: None,
            query_charset: None,
            attributes: Attributes::default(),
            indexes: Indexes::default(),
            docid: Vec::new(),
            credentials: None,
            chunk: None,
            pause: None,
            sessions: None,
            pipelined: None,
            sru: None,
            source: None,
            note: None,
        }
    }

    /// Applies the attributes that the profile of a Z39.50 server gives for the index of an operand; see [`Indexes`].
    pub(crate) fn indexed(&self, attributes: &mut Vec<AttributeElement>) {
        if self.sru.is_none() {
            self.indexes.apply(attributes);
        }
    }

    /// Returns the address of the server.
    pub fn endpoint(&self) -> Endpoint {
        let (host, port) = (self.host.clone(), self.port);
        match (self.sru.is_some(), self.tls) {
            (false, true) => Endpoint::Tls(host, port),
            (false, false) => Endpoint::Tcp(host, port),
            (true, true) => Endpoint::Https(host, port),
            (true, false) => Endpoint::Http(host, port),
        }
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut profile = Self::deserialize(deserializer)?;
        if profile.port == 0 {
            profile.port = match profile.sru {
                Some(_) => sru_port(profile.tls),
                None => DEFAULT_PORT,
            };
        }
        Ok(profile)
    }
}

/// The maximum number of sessions with a server, unless its profile sets a different number.
const MAX_SESSIONS: usize = 16;

/// The limits for leased sessions; see [`Client::lease`](crate::Client::lease). Sessions opened for session URLs
/// observe the pause, but are not counted. Sessions opened by [`Client::session`](crate::Client::session) neither
/// observe the pause nor are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetLimits {
    /// The maximum number of sessions at the same time, 16 by default. At least one session is always allowed.
    pub sessions: usize,
    /// The minimum time between two requests, over all sessions with the server. The default is zero.
    pub pause: Duration,
}

impl Default for TargetLimits {
    fn default() -> Self {
        Self {
            sessions: MAX_SESSIONS,
            pause: Duration::ZERO,
        }
    }
}

impl From<&Profile> for TargetLimits {
    fn from(profile: &Profile) -> Self {
        let default = Self::default();
        Self {
            sessions: profile.sessions.unwrap_or(default.sessions),
            pause: profile.pause.unwrap_or(default.pause),
        }
    }
}

fn host<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Host, D::Error> {
    let text = String::deserialize(deserializer)?;
    Host::parse(&text, Mode::Lenient)
        .map_err(|error| custom(format!("{text} is not a host: {error}")))
}

fn record_syntax<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Oid>, D::Error> {
    let known = |name: &str| Oid::record_syntax_by_name(name.as_bytes());
    named(deserializer, known, "the name of a known record syntax")
}

fn charset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Charset>, D::Error> {
    named(deserializer, Charset::by_name, "a known character set")
}

fn named<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    known: impl FnOnce(&str) -> Option<T>,
    what: &str,
) -> Result<Option<T>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = known(&name).ok_or_else(|| custom(format!("{name} is not {what}")));
    found.map(Some)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let pause = Duration::try_from_secs_f64(seconds).ok();
    pause
        .filter(|pause| *pause <= MAX_PAUSE)
        .map(Some)
        .ok_or_else(|| {
            let most = MAX_PAUSE.as_secs();
            custom(format!("a pause is from 0 to {most} seconds"))
        })
}

fn pipelined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let count = usize::deserialize(deserializer)?;
    if (1..=MAX_PIPELINED).contains(&count) {
        Ok(Some(count))
    } else {
        Err(custom(format!("it must be from 1 to {MAX_PIPELINED}")))
    }
}

/// Deserializes a number that must not be zero.
fn at_least_one<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: Deserialize<'de> + Default + PartialEq,
{
    let count = N::deserialize(deserializer)?;
    if count == N::default() {
        Err(custom("it must be at least 1".to_owned()))
    } else {
        Ok(Some(count))
    }
}

fn custom<E: serde::de::Error>(message: String) -> E {
    E::custom(message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = include_str!("../../docs/targets.md");

    /// Returns the keys in the table below a heading on the documentation page for targets files.
    fn documented(heading: &str) -> BTreeSet<String> {
        let lines = PAGE.lines().skip_while(|line| *line != heading).skip(1);
        let lines = lines.take_while(|line| !line.starts_with('#'));
        let cells = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        cells.map(str::to_owned).collect()
    }

    /// Returns the keys that a deserializer accepts, which it lists in its error about an unknown key.
    fn known<T: serde::de::DeserializeOwned>() -> BTreeSet<String> {
        let refusal = toml::from_str::<T>("nonsense = 1").err();
        let refusal = refusal.expect("an unknown key").message().to_owned();
        let names = refusal.split('`').skip(1).step_by(2);
        names
            .filter(|name| *name != "nonsense")
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_page_on_targets_has_every_key() {
        assert_eq!(documented("## Keys"), known::<Profile>());
        assert_eq!(documented("## Credentials"), known::<Credentials>());
        assert_eq!(documented("## SRU"), known::<SruOptions>());
    }

    #[test]
    fn the_examples_of_the_page_on_targets_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("targets.toml");
        let blocks: Vec<&str> = PAGE
            .split("```toml\n")
            .skip(1)
            .filter_map(|block| block.split("```").next())
            .collect();
        assert!(blocks.len() > 1);
        std::fs::write(&path, blocks.concat()).expect("written");
        let profiles = Profiles::default().with_file(&path).expect("targets");
        let (_, mylib) = profiles.named("mylib").expect("a target");
        let mylib = &mylib.profile;
        assert_eq!(
            (mylib.port, mylib.docid.len(), mylib.chunk),
            (2100, 3, Some(20))
        );
        assert_eq!(mylib.attributes.0.len(), 2);
        let (_, secure) = profiles.named("secure").expect("a target");
        assert!(secure.profile.tls);
        let (_, public) = profiles.named("public").expect("a target");
        assert!(
            public
                .profile
                .credentials
                .as_ref()
                .is_some_and(|who| who.anonymous)
        );
        let (_, by_http) = profiles.named("byhttp").expect("a target");
        let endpoint = by_http.profile.endpoint();
        assert_eq!(endpoint.to_string(), "https://sru.example");
        // The examples on the documentation page must contain every key of a profile.
        let text = blocks.first().expect("a block");
        for key in known::<Profile>() {
            assert!(text.contains(&format!("\n{key} = ")), "{key}");
        }
    }
}
