//! The servers that the gateway may contact: its own server, those named in the settings and, if the settings open the gateway,
//! all servers at public addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use z3950::profile::Profiles;
use z3950::target::redacted;
use z3950::url::{Host, Mode, Octets, UrlError, Z3950Url, host_and_port};

use super::addresses::is_public;

/// The servers that the gateway may contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatewayTargets {
    named: Vec<NamedTarget>,
    /// Whether all servers at public addresses are allowed, at the default ports of the schemes.
    pub open: bool,
    /// The names of the server itself, each with a port; `None` stands for the ports of the listeners and the default ports of
    /// the schemes.
    own: Vec<(Host, Option<u16>)>,
}

/// A target named in the settings.
#[derive(Clone, Debug, PartialEq)]
struct NamedTarget {
    /// The target as written in the settings.
    text: String,
    host: Host,
    /// The port; `None` for the default port of the URL's scheme.
    port: Option<u16>,
    /// The databases; `None` for all databases of the server.
    databases: Option<Vec<Octets>>,
}

/// The reason why a string is not a valid target for a gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayTargetError {
    /// The target is malformed.
    #[error("{text} is not written host, host:port or host:port/database: {error}")]
    Malformed {
        /// The malformed target.
        text: String,
        /// The reason why it is malformed.
        error: UrlError,
    },
    /// The target is an SRU address.
    #[error(
        "{0} is an address of SRU, but a gateway carries out z39.50r, z39.50s and gopher URLs only: name it in targets of a [[database]] to have it searched"
    )]
    Sru(String),
}

/// The addresses by which this server is known to its clients.
#[derive(Debug, Default)]
pub(super) struct OwnAddresses<'a> {
    pub(super) listeners: &'a [SocketAddr],
    /// The host and port in the request's Host header; `None` if the header may name another server.
    pub(super) authority: Option<(&'a str, Option<u16>)>,
}

/// The server to which a URL leads.
#[derive(Debug)]
pub(super) struct GatewayDestination<'a> {
    pub(super) host: &'a Host,
    pub(super) port: u16,
    pub(super) databases: &'a [Octets],
    /// The default port of the URL's scheme.
    pub(super) default_port: u16,
}

/// The permission to follow a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// The URL leads to this server, so the gateway follows it in a session with this server.
    Own,
    /// The settings name the server, so all its addresses are allowed.
    Named,
    /// The gateway is open, so public addresses are allowed.
    Public,
}

impl GatewayTargets {
    /// Allows a target: `host`, `host:port`, `host:port/database+database`, or the name of a profile.
    ///
    /// # Errors
    /// Fails if the target has none of these forms.
    pub fn allow(&mut self, text: &str, profiles: &Profiles) -> Result<(), GatewayTargetError> {
        if let Some(target) = NamedTarget::of_profile(text, profiles) {
            self.named.push(target);
            return Ok(());
        }
        let lower = text.to_ascii_lowercase();
        if ["http:", "https:", "sru:"]
            .iter()
            .any(|scheme| lower.starts_with(scheme))
        {
            return Err(GatewayTargetError::Sru(redacted(text)));
        }
        // Without slashes, the scheme would be read as a host with an empty port.
        let slashes = if text.contains("://") { "" } else { "//" };
        let url = format!("z39.50s:{slashes}{text}");
        let parsed = Z3950Url::parse(&url, Mode::Lenient).map_err(|error| {
            GatewayTargetError::Malformed {
                text: text.to_owned(),
                error,
            }
        })?;
        let authority = text.split('/').next().unwrap_or_default();
        let after_host = authority.rsplit(']').next().unwrap_or_default();
        self.named.push(NamedTarget {
            text: text.to_owned(),
            host: parsed.host().clone(),
            port: after_host.contains(':').then(|| parsed.port()),
            databases: (!parsed.databases().is_empty()).then(|| parsed.databases().to_vec()),
        });
        Ok(())
    }

    /// Replaces targets that are profile names with the servers that the profiles describe.
    pub fn resolve(&mut self, profiles: &Profiles) {
        for target in &mut self.named {
            if let Some(known) = NamedTarget::of_profile(&target.text, profiles) {
                *target = known;
            }
        }
    }

    /// Adds a name of the server itself, `host` or `host:port`. A name without a port stands for the ports of the listeners and
    /// the default port of each scheme, which may be forwarded to a listener.
    ///
    /// # Errors
    /// Fails if the name does not contain a host.
    pub fn add_own_name(&mut self, name: &str) -> Result<(), UrlError> {
        self.own.push(host_and_port(name, Mode::Lenient)?);
        Ok(())
    }

    /// Returns whether only the server itself is allowed.
    pub fn is_closed(&self) -> bool {
        self.named.is_empty() && !self.open
    }

    /// Returns the permission to follow a URL; `None` if the URL must not be followed.
    pub(super) fn permission(
        &self,
        destination: &GatewayDestination<'_>,
        own: &OwnAddresses<'_>,
    ) -> Option<Permission> {
        if self.is_own(destination, own) {
            return Some(Permission::Own);
        }
        if self.named.iter().any(|target| target.allows(destination)) {
            return Some(Permission::Named);
        }
        let is_special = match destination.host {
            Host::Ipv4(address) => !is_public(IpAddr::V4(*address)),
            Host::Ipv6(address) => !is_public(IpAddr::V6(*address)),
            Host::Name(_) => destination.host.is_loopback(),
        };
        let is_default = destination.port == destination.default_port;
        (self.open && is_default && !is_special).then_some(Permission::Public)
    }

    /// Returns whether a URL leads to one of the server's listeners.
    fn is_own(&self, destination: &GatewayDestination<'_>, own: &OwnAddresses<'_>) -> bool {
        let GatewayDestination { host, port, .. } = *destination;
        let mut listeners = own.listeners.iter();
        if let Some((name, known)) = own.authority
            && Host::parse(name, Mode::Lenient).is_ok_and(|known| known == *host)
        {
            return known == Some(port) || listeners.any(|listener| listener.port() == port);
        }
        let mut names = self.own.iter().filter(|(name, _)| name == host);
        let is_named = names.any(|(_, known)| match known {
            Some(known) => *known == port,
            None => {
                let mut listeners = own.listeners.iter();
                port == destination.default_port || listeners.any(|one| one.port() == port)
            }
        });
        is_named
            || listeners.any(|listener| {
                let is_at = match host {
                    Host::Ipv4(address) => listener.ip() == IpAddr::V4(*address),
                    Host::Ipv6(address) => listener.ip() == IpAddr::V6(*address),
                    Host::Name(_) => false,
                };
                listener.port() == port && (is_at || host.is_loopback())
            })
    }
}

impl NamedTarget {
    fn of_profile(text: &str, profiles: &Profiles) -> Option<Self> {
        let (_, entry) = profiles.named(text)?;
        Some(Self {
            text: text.to_owned(),
            host: entry.profile.host.clone(),
            port: Some(entry.profile.port),
            databases: None,
        })
    }

    fn allows(&self, destination: &GatewayDestination<'_>) -> bool {
        let databases = destination.databases;
        self.host == *destination.host
            && destination.port == self.port.unwrap_or(destination.default_port)
            && self.databases.as_ref().is_none_or(|known| {
                !databases.is_empty() && databases.iter().all(|name| known.contains(name))
            })
    }
}

impl fmt::Display for GatewayDestination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(texts: &[&str], open: bool) -> GatewayTargets {
        let mut targets = GatewayTargets {
            open,
            ..GatewayTargets::default()
        };
        for text in texts {
            let allowed = targets.allow(text, &Profiles::built_in());
            allowed.expect("a target");
        }
        targets
    }

    fn permission(
        targets: &GatewayTargets,
        url: &str,
        own: &OwnAddresses<'_>,
    ) -> Option<Permission> {
        let url = Z3950Url::parse(url, Mode::Lenient).expect("a URL");
        let destination = GatewayDestination {
            host: url.host(),
            port: url.port(),
            databases: url.databases(),
            default_port: 210,
        };
        targets.permission(&destination, own)
    }

    #[test]
    fn only_own_named_and_public_servers_are_asked() {
        use Permission::*;
        let listeners = ["127.0.0.1:2100", "10.0.0.1:2101"];
        let listeners = listeners.map(|text| text.parse().expect("an address"));
        let own = OwnAddresses {
            listeners: &listeners,
            authority: Some(("gw.example", Some(8080))),
        };
        let named = [
            "lib.example",
            "lib.example:2200/b",
            "10.0.0.9:210",
            "[::1]:9/b",
        ];
        let closed = targets(&named, false);
        let open = targets(&[], true);
        for (url, of_closed, of_open) in [
            ("z39.50r://127.0.0.1:2100/b?x", Some(Own), Some(Own)),
            ("z39.50r://localhost:2100/b?x", Some(Own), Some(Own)),
            ("z39.50r://LOCALHOST.:2101/b?x", Some(Own), Some(Own)),
            ("z39.50r://[::1]:2100/b?x", Some(Own), Some(Own)),
            ("z39.50r://10.0.0.1:2101/b?x", Some(Own), Some(Own)),
            ("z39.50r://10.0.0.1:2100/b?x", None, None),
            ("z39.50r://gw.example:8080/b?x", Some(Own), Some(Own)),
            ("z39.50r://gw.example:2100/b?x", Some(Own), Some(Own)),
            ("z39.50r://gw.example/b?x", None, Some(Public)),
            ("z39.50r://127.0.0.1/b?x", None, None),
            ("z39.50r://localhost/b?x", None, None),
            ("z39.50r://127.9.9.9:22/b?x", None, None),
            ("z39.50r://lib.example/c?x", Some(Named), Some(Public)),
            ("z39.50r://Lib.Example./c?x", Some(Named), Some(Public)),
            ("z39.50r://lib.example:211/c?x", None, None),
            ("z39.50r://lib.example:2200/b?x", Some(Named), None),
            ("z39.50r://lib.example:2200/b+c?x", None, None),
            ("z39.50r://lib.example:2200/c?x", None, None),
            ("z39.50r://lib.example.evil.example/b?x", None, Some(Public)),
            ("z39.50r://10.0.0.9/c?x", Some(Named), None),
            ("z39.50r://[::1]:9/b?x", Some(Named), None),
            ("z39.50r://[::ffff:127.0.0.1]/b?x", None, None),
            ("z39.50r://[fe80::1]/b?x", None, None),
            ("z39.50r://169.254.169.254/b?x", None, None),
            ("z39.50r://8.8.8.8/b?x", None, Some(Public)),
            ("z39.50r://8.8.8.8:80/b?x", None, None),
        ] {
            assert_eq!(permission(&closed, url, &own), of_closed, "closed: {url}");
            assert_eq!(permission(&open, url, &own), of_open, "open: {url}");
        }
    }

    #[test]
    fn profiles_and_own_names_are_known() {
        let mut targets = targets(&["loc"], false);
        let profiles = Profiles::built_in();
        let (_, entry) = profiles.named("loc").expect("a profile");
        let profile = &entry.profile;
        let url = format!("z39.50r://{}:{}/b?x", profile.host, profile.port);
        let nothing = OwnAddresses::default();
        assert_eq!(
            permission(&targets, &url, &nothing),
            Some(Permission::Named)
        );
        let mut named_later = GatewayTargets::default();
        named_later
            .allow("loc", &Profiles::default())
            .expect("a host");
        assert_eq!(permission(&named_later, &url, &nothing), None);
        named_later.resolve(&profiles);
        assert_eq!(named_later, targets);
        for name in ["gw.example", "other.example:7090"] {
            targets.add_own_name(name).expect("a host");
        }
        let listeners = ["0.0.0.0:2100".parse().expect("an address")];
        let own = OwnAddresses {
            listeners: &listeners,
            authority: None,
        };
        for (place, expected) in [
            ("gw.example:2100", Some(Permission::Own)),
            ("gw.example", Some(Permission::Own)),
            ("gw.example:2101", None),
            ("other.example:7090", Some(Permission::Own)),
            ("other.example:2100", None),
            ("other.example", None),
        ] {
            let url = format!("z39.50r://{place}/b?x");
            assert_eq!(permission(&targets, &url, &own), expected, "{url}");
        }
        for (text, words) in [
            ("a b", "is not written host"),
            ("http://lib.example/", "is an address of SRU"),
            ("lib.example:0", "is not written host"),
            ("", "is not written host"),
        ] {
            let error = targets.allow(text, &profiles).expect_err(text);
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
    }
}
