//! TLS on a listener: the server's certificate and key, and the verification of client certificates (RFC 8446).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::{
    ClientCertVerifierBuilder, ParsedCertificate, VerifierBuilderError, WantsServerCert,
    WebPkiClientVerifier,
};
use tokio_rustls::rustls::{CertificateError, ConfigBuilder, RootCertStore, ServerConfig};
use z3950_files::{input, pem as pem_file};

use crate::lock::lock;

/// The TLS configuration of a listener. Clones share it, so that [`Tls::replace`] affects listeners in use.
#[derive(Clone)]
pub struct Tls(Arc<Mutex<Settings>>);

#[derive(Clone)]
struct Settings {
    config: Arc<ServerConfig>,
    /// The time from which the server's certificate is valid.
    begins: Option<SystemTime>,
    expires: Option<SystemTime>,
}

/// The server's requirements for client certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// Client certificates are not requested.
    #[default]
    Unasked,
    /// Client certificates are requested but not required. They must be issued by one of these authorities, which are in PEM.
    Optional(Vec<u8>),
    /// Client certificates are required. They must be issued by one of these authorities, which are in PEM.
    Required(Vec<u8>),
}

/// The reason why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error from the file system.
        source: io::Error,
    },
    /// The PEM does not contain the expected certificate or key.
    #[error("no {what} in {}, which holds {found}", place(.path))]
    Missing {
        /// The object that was expected, such as a certificate or key.
        what: &'static str,
        /// The path of the file, if the PEM is from a file.
        path: Option<PathBuf>,
        /// A description of what was found instead.
        found: String,
    },
    /// The PEM is damaged.
    #[error("the {what} in {} is damaged", place(.path))]
    Pem {
        /// The object that was expected but cannot be read.
        what: &'static str,
        /// The path of the file, if the PEM is from a file.
        path: Option<PathBuf>,
        /// The error from the PEM parser.
        source: pem::Error,
    },
    /// The key does not belong to the certificate.
    #[error(
        "the private key{} does not belong to the certificate{}: name the key that this certificate was made with",
        inside(.key), inside(.certificate)
    )]
    KeyMismatch {
        /// The path of the certificate's file, if it is from a file.
        certificate: Option<PathBuf>,
        /// The path of the key's file, if it is from a file.
        key: Option<PathBuf>,
    },
    /// The certificate cannot be used.
    #[error("the certificate{} cannot be used: {reason}", inside(.path))]
    Certificate {
        /// The path of the file, if the certificate is from a file.
        path: Option<PathBuf>,
        /// The reason why it cannot be used.
        reason: String,
    },
    /// The certificate or the key cannot be used.
    #[error("the certificate and key cannot be used")]
    Unusable(#[from] rustls::Error),
    /// The authorities cannot be used.
    #[error("the authorities of clients cannot be used")]
    Authorities(#[from] VerifierBuilderError),
}

fn place(path: &Option<PathBuf>) -> String {
    let path = path.as_ref().map(|path| path.display().to_string());
    path.unwrap_or_else(|| "what was given".to_owned())
}

fn inside(path: &Option<PathBuf>) -> String {
    let path = path.as_ref().map(|path| format!(" in {}", path.display()));
    path.unwrap_or_default()
}

impl TlsError {
    /// Adds the path of the file that caused the error.
    pub fn in_file(mut self, file: &Path) -> Self {
        if let Self::Missing { path, .. } | Self::Pem { path, .. } = &mut self
            && path.is_none()
        {
            *path = Some(file.to_owned());
        }
        self
    }
}

impl Tls {
    /// Creates a configuration from a certificate chain, which begins with the server's certificate, and its private key, both in
    /// PEM.
    ///
    /// # Errors
    /// The PEM is invalid, or the key does not belong to the certificate.
    pub fn from_pem(
        certificates: &[u8],
        key: &[u8],
        clients: &ClientCertificates,
    ) -> Result<Self, TlsError> {
        let builder = builder(clients)?;
        let chain = chain(certificates)?;
        let key = private_key(key)?;
        Self::with(builder, chain, key)
    }

    /// Creates a configuration from files; see [`Tls::from_pem`].
    ///
    /// # Errors
    /// Those of [`Tls::from_pem`]; also fails if a file cannot be read.
    pub fn load(
        certificates: &Path,
        key: &Path,
        clients: &ClientCertificates,
    ) -> Result<Self, TlsError> {
        let builder = builder(clients)?;
        let found = chain(&read(certificates)?);
        let found = found.map_err(|error| error.in_file(certificates))?;
        let own = private_key(&read(key)?).map_err(|error| error.in_file(key))?;
        Self::with(builder, found, own).map_err(|error| match error {
            TlsError::KeyMismatch { .. } => TlsError::KeyMismatch {
                certificate: Some(certificates.to_owned()),
                key: Some(key.to_owned()),
            },
            TlsError::Certificate { reason, .. } => TlsError::Certificate {
                path: Some(certificates.to_owned()),
                reason,
            },
            error => error,
        })
    }

    fn with(
        builder: ConfigBuilder<ServerConfig, WantsServerCert>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let (begins, expires) = chain.first().map(validity).unwrap_or_default();
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::KeyMismatch {
                certificate: None,
                key: None,
            },
            rustls::Error::InvalidCertificate(error) => TlsError::Certificate {
                path: None,
                reason: fault(&error),
            },
            error => TlsError::Unusable(error),
        })?;
        // The server sends a ticket after the handshake, without a request. yaz-client would take the ticket for an answer, and
        // from then on show each answer one request late.
        config.send_tls13_tickets = 0;
        let config = Arc::new(config);
        let settings = Settings {
            config,
            begins,
            expires,
        };
        Ok(Self(Arc::new(Mutex::new(settings))))
    }

    /// Replaces the certificate, the key and the verification of clients, for all listeners that use a clone of this
    /// configuration. Open connections are not affected.
    pub fn replace(&self, other: &Self) {
        let other = lock(&other.0).clone();
        *lock(&self.0) = other;
    }

    /// Returns the time from which the server's certificate is valid; `None` if the certificate cannot be parsed.
    pub fn begins(&self) -> Option<SystemTime> {
        lock(&self.0).begins
    }

    /// Returns the time until which the server's certificate is valid; `None` if the certificate cannot be parsed.
    pub fn expires(&self) -> Option<SystemTime> {
        lock(&self.0).expires
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&lock(&self.0).config))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn builder(
    clients: &ClientCertificates,
) -> Result<ConfigBuilder<ServerConfig, WantsServerCert>, TlsError> {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(match clients {
        ClientCertificates::Unasked => builder.with_no_client_auth(),
        ClientCertificates::Optional(authorities) => builder
            .with_client_cert_verifier(verifier(authorities)?.allow_unauthenticated().build()?),
        ClientCertificates::Required(authorities) => {
            builder.with_client_cert_verifier(verifier(authorities)?.build()?)
        }
    })
}

/// Returns a description of an error in a certificate.
fn fault(error: &CertificateError) -> String {
    let words = format!("{error:?}");
    match error {
        CertificateError::BadEncoding => "it is damaged".to_owned(),
        // The type of this error belongs to another crate, so the error is recognised by its text.
        CertificateError::Other(_) if words.contains("UnsupportedCertVersion") => {
            "it is of an old version of X.509: make one of version 3, with a subjectAltName"
                .to_owned()
        }
        // If rustls has no message for an error, it shows the error's name.
        _ if error.to_string() == words => "it is not one that TLS can use".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns the validity period of a certificate. It is taken from the errors reported when the certificate is verified as of the
/// earliest and as of the latest possible time.
fn validity(certificate: &CertificateDer<'static>) -> (Option<SystemTime>, Option<SystemTime>) {
    let Ok(certificate) = ParsedCertificate::try_from(certificate) else {
        return (None, None);
    };
    let roots = RootCertStore::empty();
    let limit = |seconds| {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let verified =
            verify_server_cert_signed_by_trust_anchor(&certificate, &roots, &[], now, &[]);
        match verified {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidYetContext {
                    not_before: limit, ..
                }
                | CertificateError::ExpiredContext {
                    not_after: limit, ..
                },
            )) => UNIX_EPOCH.checked_add(Duration::from_secs(limit.as_secs())),
            _ => None,
        }
    };
    (limit(0), limit(u64::MAX))
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|source| unread("private key", pem, source))
}

/// Returns the error for PEM that does not contain the expected certificate or key.
fn unread(what: &'static str, pem: &[u8], source: pem::Error) -> TlsError {
    let path = None;
    match source {
        pem::Error::NoItemsFound => TlsError::Missing {
            what,
            path,
            found: pem_file::contents(pem),
        },
        source => TlsError::Pem { what, path, source },
    }
}

/// The maximum size of a certificate or key file, in octets.
const MAX_FILE: u64 = 16 << 20;

/// Reads a certificate or key file.
///
/// # Errors
/// [`TlsError::Read`], if the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    input::read(path, MAX_FILE).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

fn verifier(authorities: &[u8]) -> Result<ClientCertVerifierBuilder, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in chain(authorities)? {
        roots.add(authority)?;
    }
    Ok(WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::new(default_provider()),
    ))
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.and_then(|certificates| {
        if certificates.is_empty() {
            Err(pem::Error::NoItemsFound)
        } else {
            Ok(certificates)
        }
    });
    certificates.map_err(|source| unread("certificate", pem, source))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    /// `openssl x509 -req` creates version 1 certificates if there is no subjectAltName, so users may have such certificates.
    #[test]
    fn certificates_of_old_versions_are_refused_in_words() {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let mut octets = certificate.der().to_vec();
        // `[0] { INTEGER 2 }` stands for version 3.
        let version = [0xa0, 3, 2, 1, 2];
        let at = octets.windows(5).position(|part| part == version);
        octets[at.expect("a version") + 4] = 0;
        let chain = vec![CertificateDer::from(octets)];
        let builder = builder(&ClientCertificates::Unasked).expect("a builder");
        let key = private_key(key.serialize_pem().as_bytes()).expect("a key");
        let error = Tls::with(builder, chain, key).expect_err("version 1");
        assert_eq!(
            error.to_string(),
            "the certificate cannot be used: it is of an old version of X.509: make one of version 3, with a subjectAltName"
        );
    }
}
