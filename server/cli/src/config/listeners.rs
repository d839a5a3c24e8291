//! Reads the listeners from the setting `listen` and from `[[listener]]` tables, which are for listeners with TLS or without HTTP.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::de::DeValue;

use super::section::{Section, Value, flag, string};
use super::setting::settings;

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerConfig {
    pub(crate) place: ListenAddress,
    /// The certificate and key of a TLS listener; `None` without TLS.
    pub(crate) tls: Option<TlsFiles>,
    /// Whether the listener also answers SRU over HTTP.
    pub(crate) http: bool,
}

/// An address to listen on: a host and port as text, which the system resolves, or a Unix socket. Examples are `127.0.0.1:2100`,
/// `[::1]:0` and `unix:/run/z3950d.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A host and port.
    Address(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The PEM files for a listener with TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate chain, beginning with the server's certificate.
    pub(crate) certificate: PathBuf,
    /// The private key.
    pub(crate) key: PathBuf,
    /// The PEM file with the authorities that may sign client certificates, and whether a certificate is required; if `None`,
    /// certificates are not requested.
    pub(crate) clients: Option<(PathBuf, bool)>,
}

/// The reason why a string is not an address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as 127.0.0.1:2100 or unix:/run/z3950d")]
pub(crate) struct ListenAddressError;

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(ListenAddressError),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let address = text.strip_prefix("tcp:").unwrap_or(text);
        let (host, port) = address.rsplit_once(':').ok_or(ListenAddressError)?;
        match (host, port.parse::<u16>()) {
            ("", _) | (_, Err(_)) => Err(ListenAddressError),
            // `tls:` is not part of this address: TLS has separate settings, or is not supported here.
            _ if address.starts_with("tls:") => Err(ListenAddressError),
            _ => Ok(Self::Address(address.to_owned())),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<ListenAddress> for ListenerConfig {
    fn from(place: ListenAddress) -> Self {
        Self {
            place,
            tls: None,
            http: true,
        }
    }
}

/// The address to listen on by default.
const ADDRESS: &str = "127.0.0.1:2100";

/// An address to listen on from the command line, with or without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    place: ListenAddress,
    tls: bool,
}

impl FromStr for Listen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (text, tls) = match text.strip_prefix("tls:") {
            Some(address) => (address, true),
            None => (text, false),
        };
        match text.parse() {
            Ok(ListenAddress::Unix(_)) if tls => Err("there is no TLS on a Unix socket"),
            Ok(place) => Ok(Self { place, tls }),
            Err(_) => Err(
                "expected an address such as 127.0.0.1:2100, tls:0.0.0.0:2101 or unix:/run/z3950d",
            ),
        }
    }
}

/// The command-line options for listeners.
#[derive(Debug, Default)]
pub(crate) struct GivenListeners {
    pub(super) listen: Vec<Listen>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) authorities: Option<PathBuf>,
    pub(super) is_certificate_required: bool,
    pub(super) is_z3950_only: bool,
}

impl GivenListeners {
    /// Replaces the listeners by those on the command line, adds the default listener if there is none, and disables
    /// SRU over HTTP if requested.
    pub(super) fn apply(self, listeners: &mut Vec<ListenerConfig>) {
        let required = self.is_certificate_required;
        let files = self.certificate.zip(self.key);
        let tls = files.map(|(certificate, key)| TlsFiles {
            certificate,
            key,
            clients: self.authorities.map(|authorities| (authorities, required)),
        });
        if !self.listen.is_empty() {
            let given = self.listen.into_iter().map(|listen| ListenerConfig {
                tls: tls.clone().filter(|_| listen.tls),
                ..listen.place.into()
            });
            *listeners = given.collect();
        }
        if listeners.is_empty() {
            listeners.push(ListenAddress::Address(ADDRESS.to_owned()).into());
        }
        for listener in listeners {
            listener.http &= !self.is_z3950_only;
        }
    }
}

impl ListenAddress {
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Unix(path) => Self::Unix(folder.join(path)),
            address => address,
        }
    }
}

/// A `[[listener]]` table.
#[derive(Default)]
pub(super) struct ListenerTable {
    address: Option<ListenAddress>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    /// Whether client certificates are required; `None` if they are not requested.
    clients: Option<bool>,
    authorities: Option<PathBuf>,
    is_z3950_only: bool,
}

settings! {
    /// A listener with TLS, or a listener that answers Z39.50 only. All other listeners also answer SRU over HTTP on the same port.
    /// Repeat the table for further listeners.
    LISTENER "[[listener]]": ListenerTable = ListenerTable::default() => {
        ///address = "0.0.0.0:2101"
        "address": Required(|listener, value| listener.address = value.parse(str::parse));
        ///http = true
        "http": Other(|listener, value| {
            value.set("true or false", |value| flag(value).map(|is_http| !is_http), &mut listener.is_z3950_only);
        });
        /// The certificate chain in PEM, the server's own certificate first, and its private key.
        ///certificate = "server.pem"
        "certificate": Path(|listener| &mut listener.certificate);
        ///key = "server.key"
        "key": Path(|listener| &mut listener.key);
        /// Whether client certificates are unasked, optional or required, and the authorities that may sign them.
        ///clients = "optional"
        "clients": Other(|listener, value| {
            value.set("unasked, optional or required", clients, &mut listener.clients);
        });
        ///client-authorities = "clients.pem"
        "client-authorities" ("authorities"): Path(|listener| &mut listener.authorities);
    }
}

fn clients(value: &DeValue<'_>) -> Option<Option<bool>> {
    match string(value)? {
        "unasked" => Some(None),
        "optional" => Some(Some(false)),
        "required" => Some(Some(true)),
        _ => None,
    }
}

/// Adds the listeners in `listen`.
pub(super) fn addresses(value: &Value<'_>, listeners: &mut Vec<ListenerConfig>) {
    for item in value.items() {
        match item.text().map(ListenAddress::from_str) {
            Some(Ok(place)) => listeners.push(place.in_folder(item.section.folder).into()),
            _ => item.note_key(ListenAddressError),
        }
    }
}

/// Reads a `[[listener]]` table, and notes its errors. Returns `None` if the table has no address.
pub(super) fn listener(section: &Section<'_>) -> Option<ListenerConfig> {
    let mut listener = ListenerTable::default();
    section.fill(&[&LISTENER], &mut listener);
    match (&listener.authorities, listener.clients) {
        (Some(_), None) => {
            section.note("client-authorities without clients = \"optional\" or \"required\"");
        }
        (None, Some(_)) => {
            section.note("clients are asked for certificates, but client-authorities are missing");
        }
        _ => {}
    }
    let clients = listener.authorities.zip(listener.clients);
    let (certificate, key) = (listener.certificate, listener.key);
    if certificate.is_some() != key.is_some() || (certificate.is_none() && clients.is_some()) {
        section.note("TLS takes both a certificate and a key");
    }
    let tls = certificate.zip(key).map(|(certificate, key)| TlsFiles {
        certificate,
        key,
        clients,
    });
    let place = listener.address?.in_folder(section.folder);
    if tls.is_some() && matches!(place, ListenAddress::Unix(_)) {
        section.note("there is no TLS on a Unix socket");
    }
    let http = !listener.is_z3950_only;
    Some(ListenerConfig { place, tls, http })
}
