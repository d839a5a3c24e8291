//! The reasons why there is no route to a server: a proxy, certificates or a feature that cannot be used.

#[cfg(feature = "tls")]
use std::error::Error as StdError;
#[cfg(feature = "tls")]
use std::fmt;
#[cfg(feature = "tls")]
use std::path::PathBuf;

/// The reason why there is no route to an endpoint. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The TLS options cannot be applied.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy, named by a `connect:` target or the environment, is malformed.
    #[cfg(feature = "proxy")]
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The endpoint needs this feature, with which the library was not compiled.
    #[error("{0} is not built into this program")]
    NotBuiltIn(&'static str),
}

/// The error for a malformed proxy.
#[cfg(feature = "proxy")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not a proxy: {reason}")]
pub struct ProxyError {
    /// The malformed text, without credentials.
    pub(crate) text: String,
    pub(crate) reason: &'static str,
}

/// The error for TLS options that cannot be applied.
#[cfg(feature = "tls")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file with certificates or a key cannot be read.
    #[error("cannot use {pem}")]
    #[non_exhaustive]
    Read {
        /// The file that cannot be read.
        pem: PemPlace,
        /// The error from the file system.
        source: std::io::Error,
    },
    /// The PEM does not contain the expected items.
    #[error("no {what} in {pem}, which holds {found}")]
    #[non_exhaustive]
    Missing {
        /// The expected items.
        what: &'static str,
        /// The place where they were expected.
        pem: PemPlace,
        /// The actual contents.
        found: String,
    },
    /// The PEM is damaged (RFC 7468).
    #[error("{pem} is damaged: the section that begins in line {line} {fault}")]
    #[non_exhaustive]
    Damaged {
        /// The location of the PEM.
        pem: PemPlace,
        /// The line in which the damaged section begins, 1-based.
        line: usize,
        /// What is wrong with the section, as a phrase that can end a sentence.
        fault: &'static str,
    },
    /// The private key does not belong to the certificate.
    #[error(
        "the private key in {key} does not belong to the certificate in {chain}: name the key that this certificate was made with"
    )]
    #[non_exhaustive]
    KeyMismatch {
        /// The location of the private key.
        key: PemPlace,
        /// The location of the certificate.
        chain: PemPlace,
    },
    /// A certificate is valid PEM, but cannot be used.
    #[error("cannot use certificate {number} in {pem}")]
    #[non_exhaustive]
    Certificate {
        /// The location of the certificate.
        pem: PemPlace,
        /// The number of the certificate in the PEM, 1-based.
        number: usize,
        /// The reason why the certificate cannot be used.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Neither the system nor the options contain trusted certificates.
    #[error("this system has no trusted CA certificates; name a file of them")]
    NoRoots,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Setup(#[source] Box<dyn StdError + Send + Sync>),
}

/// The place where PEM was given, for messages.
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PemPlace {
    /// In the file at this path.
    File(PathBuf),
    /// In memory, with this description, such as `the trusted certificates`.
    Memory(&'static str),
}

#[cfg(feature = "tls")]
impl fmt::Display for PemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory(items) => write!(f, "the PEM of {items}"),
        }
    }
}
