//! All profiles by name: built-in profiles, overridden by those in the user's `targets.toml`. A target on a command
//! line is the name of a profile, or an address whose profile is found by its host.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
#[cfg(feature = "profiles")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(feature = "profiles")]
use etcetera::{BaseStrategy, choose_base_strategy};
#[cfg(feature = "profiles")]
use serde::Deserialize;
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::query::nearest;
#[cfg(feature = "profiles")]
use z3950_files::input;

use super::{Credentials, Profile, SruOptions};
use crate::target::{self, Endpoint, Target, TargetError};
use crate::url::{self, Host, Mode, Userinfo, Z3950Url};

/// The built-in targets file, which is empty without the feature `profiles`.
const BUILT_IN: &str = if cfg!(feature = "profiles") {
    include_str!("targets.toml")
} else {
    ""
};
/// The path of the user's targets file, relative to the configuration directory.
#[cfg(feature = "profiles")]
const FILE: &str = "z3950/targets.toml";
/// The maximum size of a targets file in octets.
#[cfg(feature = "profiles")]
const MAX_FILE: u64 = 4 << 20;

/// A set of profiles, each with a name.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// The profiles from the user's files and from the program.
    own: Entries,
    /// The credentials that the program supplies for hosts, or for one port of a host.
    logins: Vec<(Host, Option<u16>, Credentials)>,
    /// Whether the built-in profiles are included.
    has_built_in: bool,
    /// All profiles, including the built-in ones. The map is built when it is first needed.
    all: OnceLock<Entries>,
}

type Entries = BTreeMap<String, ProfileEntry>;

/// A profile and its origin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProfileEntry {
    /// The profile itself.
    pub profile: Profile,
    /// Where the profile comes from.
    pub origin: Origin,
}

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The profile is built in, and has not been verified.
    BuiltIn,
    /// The profile comes from one of the user's files.
    File(PathBuf),
    /// The program supplied the profile.
    Program,
}

/// A target with its profile and databases.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// The name of the profile, if it has one.
    pub name: Option<String>,
    /// The address of the server.
    pub endpoint: Endpoint,
    /// The proxy in a `connect:` target.
    pub proxy: Option<String>,
    /// The databases that the target names or, if it names none, the databases in the profile. The list may be empty.
    pub databases: Vec<DatabaseName>,
    /// The profile. If no profile is known for the target, it contains only the address.
    pub profile: Profile,
    /// The user name and password in a URL. They replace the profile's credentials, even if they are not sent.
    pub userinfo: Option<Userinfo>,
    /// The URL in which the target was given, if it is an RFC 2056 URL. It may also name a record and its form.
    pub url: Option<Z3950Url>,
}

/// The error for profiles that cannot be read, or a target that cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read {}", .path.display())]
    #[non_exhaustive]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error from the file system.
        #[source]
        error: io::Error,
    },
    /// The file is not a valid targets file.
    #[error("{} is not a valid targets file: {error}", .path.display())]
    #[non_exhaustive]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The fault and its place.
        error: FileFault,
    },
    /// The text is neither the name of a profile nor an address.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// The fault in a targets file. `Display` begins with its place, as in `line 3, column 1: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// The 1-based line, and the 1-based column in characters, or `None` if the fault concerns the whole file.
    place: Option<(usize, usize)>,
    words: String,
}

impl FileFault {
    /// Returns the 1-based line of the fault, or `None` if the fault concerns the whole file.
    pub fn line(&self) -> Option<usize> {
        self.place.map(|(line, _)| line)
    }

    /// Returns the description of the fault, without its place.
    pub fn message(&self) -> &str {
        &self.words
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.words)
    }
}

#[cfg(feature = "profiles")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    targets: BTreeMap<String, Profile>,
}

impl Profiles {
    /// Returns the path of the user's targets file, which may not exist. Returns `None` if there is no home directory.
    #[cfg(feature = "profiles")]
    pub fn user_file() -> Option<PathBuf> {
        let folders = choose_base_strategy().ok()?;
        Some(folders.config_dir().join(FILE))
    }

    /// Returns the built-in profiles.
    #[cfg(feature = "profiles")]
    pub fn built_in() -> Self {
        Self {
            has_built_in: true,
            ..Self::default()
        }
    }

    /// Adds the profiles in a file, which replace profiles with the same name.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a valid targets file.
    #[cfg(feature = "profiles")]
    pub fn with_file(mut self, path: &Path) -> Result<Self, ProfileError> {
        let read = |error| ProfileError::Read {
            path: path.to_owned(),
            error,
        };
        let text = input::read_text(path, MAX_FILE).map_err(read)?;
        let File { targets } = toml::from_str(&text).map_err(|error| ProfileError::Malformed {
            path: path.to_owned(),
            error: fault(&text, &error),
        })?;
        let origin = Origin::File(path.to_owned());
        self.own.extend(entries(targets, &origin));
        self.all = OnceLock::new();
        Ok(self)
    }

    /// Adds a profile, which replaces a profile with the same name.
    #[must_use]
    pub fn with_profile(mut self, name: impl Into<String>, profile: Profile) -> Self {
        let origin = Origin::Program;
        self.own
            .insert(name.into(), ProfileEntry { profile, origin });
        self.all = OnceLock::new();
        self
    }

    /// Sets the credentials for a server, given as `host` for all its ports or as `host:port`. They replace the
    /// credentials in profiles. Credentials for one port take precedence over those for all ports.
    ///
    /// # Errors
    /// [`ProfileError::Target`], if the text is not a host.
    pub fn with_credentials(
        mut self,
        host: &str,
        credentials: Credentials,
    ) -> Result<Self, ProfileError> {
        if host.contains("://") {
            return Err(TargetError::UrlForHost(target::redacted(host)).into());
        }
        let (host, port) = url::host_and_port(host, Mode::Lenient)
            .map_err(|error| target::malformed(host, error))?;
        self.logins
            .retain(|login| (&login.0, login.1) != (&host, port));
        self.logins.push((host, port, credentials));
        Ok(self)
    }

    /// Returns the credentials that the program supplied for a server.
    pub(crate) fn login(&self, host: &Host, port: u16) -> Option<&Credentials> {
        let of_port = |wanted: Option<u16>| {
            let mut logins = self.logins.iter();
            logins.find(|login| login.0 == *host && login.1 == wanted)
        };
        let login = of_port(Some(port)).or_else(|| of_port(None));
        login.map(|(_, _, credentials)| credentials)
    }

    fn all(&self) -> &Entries {
        self.all.get_or_init(|| {
            let mut all = Entries::new();
            // A test checks the built-in list. If it were malformed, only the user's targets would be known.
            #[cfg(feature = "profiles")]
            if self.has_built_in
                && let Ok(File { targets }) = toml::from_str(BUILT_IN)
            {
                all.extend(entries(targets, &Origin::BuiltIn));
            }
            all.extend(self.own.clone());
            all
        })
    }

    /// Returns the profiles to search for this name or host. The built-in list is parsed only if the name occurs in its
    /// text, because parsing takes longer than a request to a nearby server, and most servers are not in the list.
    fn about(&self, name: &str) -> &Entries {
        let name = name.to_ascii_lowercase();
        if self.has_built_in && BUILT_IN.contains(&name) {
            self.all()
        } else {
            &self.own
        }
    }

    /// Returns the profile with this name, ignoring letter case.
    pub fn named(&self, name: &str) -> Option<(&str, &ProfileEntry)> {
        let known = self.about(name);
        let found = known.get_key_value(name).or_else(|| {
            let mut entries = known.iter();
            entries.find(|(known, _)| known.eq_ignore_ascii_case(name))
        });
        found.map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the profile of a server. If the server has several profiles, the one with these databases is preferred.
    pub fn at(
        &self,
        endpoint: &Endpoint,
        databases: &[DatabaseName],
    ) -> Option<(&str, &ProfileEntry)> {
        let here: Vec<_> = self
            .about(&endpoint.host().to_string())
            .iter()
            .filter(|(_, entry)| entry.profile.endpoint() == *endpoint)
            .collect();
        let has = |entry: &ProfileEntry| {
            let mut names = entry.profile.databases.iter();
            names.any(|name| {
                databases
                    .iter()
                    .any(|database| database.0.as_bytes().eq_ignore_ascii_case(name.as_bytes()))
            })
        };
        here.iter()
            .find(|(_, entry)| has(entry))
            .or(here.first())
            .map(|(name, entry)| (name.as_str(), *entry))
    }

    /// Returns the profile for the host and port in a URL. Profiles with and without TLS match, because RFC 2056 URLs
    /// cannot express TLS.
    pub fn of_url(&self, url: &Z3950Url) -> Option<(&str, &ProfileEntry)> {
        self.of_host(url.host(), url.port(), &target::databases_of(url))
    }

    fn of_host(
        &self,
        host: &Host,
        port: u16,
        databases: &[DatabaseName],
    ) -> Option<(&str, &ProfileEntry)> {
        let plain = self.at(&Endpoint::Tcp(host.clone(), port), databases);
        plain.or_else(|| self.at(&Endpoint::Tls(host.clone(), port), databases))
    }

    /// Resolves a target given on a command line as `NAME`, `NAME/database+database`, or an address as in [`Target`].
    ///
    /// # Errors
    /// Fails if the text is neither the name of a profile nor an address.
    pub fn resolve(&self, text: &str) -> Result<Resolved, ProfileError> {
        let (name, named_databases) = text.split_once('/').unwrap_or((text, ""));
        if let Some((name, entry)) = self.named(name) {
            let target = Target {
                databases: target::databases(named_databases),
                ..Target::new(entry.profile.endpoint())
            };
            return Ok(self.resolved(Some(name), target, entry.profile.clone()));
        }
        let mut target: Target = text.parse()?;
        if url::classify(text).is_some()
            && let Endpoint::Tcp(host, port) = &target.endpoint
            && let Some((_, entry)) = self.of_host(host, *port, &target.databases)
        {
            target.endpoint = entry.profile.endpoint();
        }
        Ok(self.resolve_target(target))
    }

    /// Adds the profile of its server to a parsed target.
    pub fn resolve_target(&self, target: Target) -> Resolved {
        match self.at(&target.endpoint, &target.databases) {
            Some((name, entry)) => self.resolved(Some(name), target, entry.profile.clone()),
            None => {
                let endpoint = &target.endpoint;
                let tls = matches!(endpoint, Endpoint::Tls(..) | Endpoint::Https(..));
                let mut profile = Profile::at(endpoint.host(), endpoint.port(), tls);
                profile.sru = endpoint.is_sru().then(SruOptions::default);
                self.resolved(None, target, profile)
            }
        }
    }

    fn resolved(&self, name: Option<&str>, target: Target, mut profile: Profile) -> Resolved {
        let endpoint = &target.endpoint;
        if let Some(credentials) = self.login(&endpoint.host(), endpoint.port()) {
            profile.credentials = Some(credentials.clone());
        }
        Resolved::new(name, target, profile)
    }

    /// Returns a profile whose name, or a word in its title, is similar to an unknown name.
    pub fn nearest(&self, name: &str) -> Option<(&str, &ProfileEntry)> {
        let all = self.all();
        let by_name = nearest(name, all.keys().map(String::as_str));
        let found = by_name.and_then(|found| all.get_key_value(found));
        let found = found.or_else(|| {
            let nearest = nearest(name, all.values().flat_map(title_words))?;
            let mut entries = all.iter();
            entries.find(|(_, entry)| title_words(entry).any(|word| word == nearest))
        });
        found.map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns all profiles with their names, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ProfileEntry)> {
        let entries = self.all().iter();
        entries.map(|(name, entry)| (name.as_str(), entry))
    }
}

#[cfg(feature = "profiles")]
fn entries(
    targets: BTreeMap<String, Profile>,
    origin: &Origin,
) -> impl Iterator<Item = (String, ProfileEntry)> {
    targets.into_iter().map(|(name, profile)| {
        let origin = origin.clone();
        (name, ProfileEntry { profile, origin })
    })
}

/// Returns the words in a title that are compared with names.
fn title_words(entry: &ProfileEntry) -> impl Iterator<Item = &str> {
    let title = entry.profile.title.as_deref().unwrap_or_default();
    let words = title.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() > 4)
}

impl Resolved {
    fn new(name: Option<&str>, target: Target, mut profile: Profile) -> Self {
        if let (Some(sru), Some(method)) = (&mut profile.sru, target.sru_method) {
            sru.method = method;
        }
        if target.userinfo.is_some() {
            profile.credentials = None;
        }
        let own = profile.databases.iter();
        Self {
            name: name.map(str::to_owned),
            databases: if target.databases.is_empty() {
                own.map(|name| DatabaseName::from(name.as_str())).collect()
            } else {
                target.databases
            },
            endpoint: target.endpoint,
            proxy: target.proxy,
            userinfo: target.userinfo,
            url: target.url,
            profile,
        }
    }
}

/// Converts a TOML error to a fault with its place, but without the text of the file, which may contain passwords.
#[cfg(feature = "profiles")]
fn fault(text: &str, error: &toml::de::Error) -> FileFault {
    let message = error.message();
    let words = match message.rsplit_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid ") => {
            let kind = found.split(['"', '`']).next().unwrap_or_default();
            format!("{}, expected {expected}", kind.trim_end())
        }
        _ => message.to_owned(),
    };
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map(|before| {
        let line = before.matches('\n').count() + 1;
        let last = before.rsplit('\n').next().unwrap_or_default();
        (line, last.chars().count() + 1)
    });
    FileFault { place, words }
}

#[cfg(test)]
mod tests;
