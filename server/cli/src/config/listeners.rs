//! Listeners: `listen`, and `[[listener]]` tables for TLS and for those without HTTP.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::section::{Section, string};

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerConfig {
    pub(crate) place: ListenAddress,
    /// The certificate and key, for TLS.
    pub(crate) tls: Option<TlsFiles>,
    /// Whether it answers SRU over HTTP, too.
    pub(crate) http: bool,
}

/// An address, as text that the system resolves, or a Unix socket: `127.0.0.1:2100`, `[::1]:0`, `unix:/run/z3950d.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A host and port.
    Address(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The PEM files of a listener with TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The chain of certificates, the server's first.
    pub(crate) certificate: PathBuf,
    /// The private key.
    pub(crate) key: PathBuf,
    /// The authorities of client certificates, and whether a certificate is required; `None` requests none.
    pub(crate) clients: Option<(PathBuf, bool)>,
}

/// Why a text is not an address to listen on.
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
            // Here, TLS has settings of its own or none.
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

pub(super) fn read(top: &Section<'_>, folder: &Path) -> Vec<ListenerConfig> {
    let mut listeners: Vec<ListenerConfig> = Vec::new();
    for value in top.values("listen") {
        match string(value.get_ref()).map(ListenAddress::from_str) {
            Some(Ok(place)) => listeners.push(place.in_folder(folder).into()),
            _ => top.note(value, format!("listen: {ListenAddressError}")),
        }
    }
    let others = top.sections("listener", |section| listener(section, folder));
    listeners.extend(others.into_iter().flatten());
    listeners
}

impl ListenAddress {
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Unix(path) => Self::Unix(folder.join(path)),
            address => address,
        }
    }
}

fn listener(section: &Section<'_>, folder: &Path) -> Option<ListenerConfig> {
    let path = |key| section.path(key, folder);
    let place = section.need("address", "a text", string);
    let place = place.and_then(|_| section.parse("address", ListenAddress::from_str));
    let certificate = path("certificate");
    let key = path("key");
    let authorities = path("authorities");
    let required = section.read(
        "clients",
        "unasked, optional or required",
        |value| match string(value)? {
            "unasked" => Some(None),
            "optional" => Some(Some(false)),
            "required" => Some(Some(true)),
            _ => None,
        },
    );
    let required = required.flatten();
    match (&authorities, required) {
        (Some(_), None) => {
            section.note_whole("authorities without clients = \"optional\" or \"required\"");
        }
        (None, Some(_)) => {
            section.note_whole("clients are asked for certificates, but authorities are missing");
        }
        _ => {}
    }
    let clients = authorities.zip(required);
    if certificate.is_some() != key.is_some() || (certificate.is_none() && clients.is_some()) {
        section.note_whole("TLS takes both a certificate and a key");
    }
    let tls = certificate.zip(key).map(|(certificate, key)| TlsFiles {
        certificate,
        key,
        clients,
    });
    let place = place?.in_folder(folder);
    if tls.is_some() && matches!(place, ListenAddress::Unix(_)) {
        section.note_whole("there is no TLS on a Unix socket");
    }
    let http = section.flag("http").unwrap_or(true);
    Some(ListenerConfig { place, tls, http })
}
