//! TLS (RFC 8446, RFC 5246) over another connector. The server's certificate is verified against the system's roots unless that
//! is turned off.

mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_native_certs::load_native_certs;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use z3950_asn1::{input, pem as pem_file};

pub(crate) use self::verify::Distrust;
pub use self::verify::Remedy;
use self::verify::{Trusted, Verifier};
use super::connect::{BoxFuture, BoxStream, Connect};
use super::timeouts::Timeouts;
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// The trusted certificates, and the client's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// A PEM file of certificates to trust in addition to the system's roots.
    pub roots: Option<PathBuf>,
    /// Accepts any certificate: the connection is encrypted, but the server is not authenticated.
    pub insecure: bool,
    /// The certificate for servers that request one.
    pub certificate: Option<ClientCertificate>,
}

/// A certificate of the client and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, then its issuers.
    pub chain: PathBuf,
    /// Its private key; may be the same file.
    pub key: PathBuf,
}

/// Options that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot use {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A file lacks what is expected in it.
    #[error("no {what} in {}, which holds {found}", .path.display())]
    Missing {
        /// What is expected.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What it contains.
        found: String,
    },
    /// The PEM in a file is damaged.
    #[error("the PEM in {} is damaged", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// Where.
        #[source]
        error: pem::Error,
    },
    /// The key does not belong to the certificate.
    #[error(
        "the private key in {} does not belong to the certificate in {}: name the key that this certificate was made with",
        .key.display(), .chain.display()
    )]
    KeyMismatch {
        /// The file of the certificate.
        chain: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A certificate or key is unusable.
    #[error("cannot use the certificate in {}", .path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: rustls::Error,
    },
    /// The system has no roots, and no file of certificates was given.
    #[error("this system has no trusted CA certificates; name a file of them")]
    NoRoots,
    /// The TLS library rejected its defaults.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
    /// The TLS library rejected the trusted certificates.
    #[error("TLS cannot be set up")]
    Roots(#[source] VerifierBuilderError),
}

/// The TLS configuration, shared by all connections with the same options.
#[derive(Clone)]
pub(super) struct Trust(TlsConnector);

impl Trust {
    /// Reads the certificate files of the options, and the system's roots.
    pub(super) fn new(options: &TlsOptions) -> Result<Self, TlsError> {
        Ok(Self(TlsConnector::from(Arc::new(config(options)?))))
    }
}

/// TLS through another connector.
#[derive(Clone)]
pub struct Tls {
    inner: Arc<dyn Connect>,
    trust: Trust,
}

impl Tls {
    /// TLS over the connections that `inner` makes.
    ///
    /// # Errors
    /// Invalid options: the files are read now.
    pub fn new(inner: impl Connect + 'static, options: &TlsOptions) -> Result<Self, TlsError> {
        Ok(Self::trusting(Arc::new(inner), Trust::new(options)?))
    }

    /// Uses certificates that were read before.
    pub(super) fn trusting(inner: Arc<dyn Connect>, trust: Trust) -> Self {
        Self { inner, trust }
    }
}

impl Connect for Tls {
    fn connect<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>> {
        Box::pin(async move {
            let stream = self.inner.connect(host, port, timeouts).await?;
            let name = ServerName::try_from(host.for_connecting()).map_err(|error| {
                let cause = Cause::Tls(Arc::new(io::Error::other(error)));
                unavailable(cause)
            })?;
            let handshake = self.trust.0.connect(name, stream);
            let secured = timeouts.to_connect().hold(Phase::Tls, handshake).await?;
            Ok(Box::new(secured.map_err(failed)?) as BoxStream)
        })
    }
}

/// The error of a failed handshake.
fn failed(error: io::Error) -> Error {
    unavailable(match fault(&error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            Cause::Tls(Arc::new(io::Error::other(Distrust(why.clone()))))
        }
        _ => Cause::Handshake(Arc::new(error)),
    })
}

/// A remedy for a rejected certificate.
pub fn remedy(error: &io::Error) -> Option<Remedy> {
    let distrust: &Distrust = error.get_ref()?.downcast_ref()?;
    Some(distrust.remedy())
}

fn unavailable(cause: Cause) -> Error {
    Error::Unavailable {
        phase: Phase::Tls,
        cause,
    }
}

fn fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether the server sent an alert, during or after the handshake, as it does if it requires a client certificate.
pub fn is_alert(error: &io::Error) -> bool {
    matches!(fault(error), Some(rustls::Error::AlertReceived(_)))
}

fn config(options: &TlsOptions) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?;
    let trusted = match options.insecure {
        true => Trusted::Any,
        false => named(options.roots.as_deref(), Arc::clone(&provider))?,
    };
    let verifier = Arc::new(Verifier { provider, trusted });
    let builder = builder.dangerous();
    let builder = builder.with_custom_certificate_verifier(verifier);
    let Some(ClientCertificate { chain, key }) = &options.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = certificates(chain)?;
    let octets = read(key)?;
    let private_key = PrivateKeyDer::from_pem_slice(&octets).map_err(|error| match error {
        pem::Error::NoItemsFound => missing("private key", key, &octets),
        error => damaged(key, error),
    })?;
    builder
        .with_client_auth_cert(certificates, private_key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::KeyMismatch {
                chain: chain.clone(),
                key: key.clone(),
            },
            error => unusable(chain, error),
        })
}

/// The system's roots and the certificates of a file.
fn named(file: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Trusted, TlsError> {
    let mut store = RootCertStore::empty();
    let system = load_native_certs();
    for error in &system.errors {
        tracing::info!(%error, "a certificate of the system cannot be read");
    }
    store.add_parsable_certificates(system.certs);
    let mut named = Vec::new();
    if let Some(path) = file {
        named = certificates(path)?;
        for certificate in &named {
            let added = store.add(certificate.clone());
            added.map_err(|error| unusable(path, error))?;
        }
    }
    if store.is_empty() {
        return Err(TlsError::NoRoots);
    }
    let roots = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
    Ok(Trusted::Named {
        roots: roots.map_err(TlsError::Roots)?,
        certificates: named,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let octets = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    let found = found.map_err(|error| damaged(path, error))?;
    match found.is_empty() {
        true => Err(missing("certificate", path, &octets)),
        false => Ok(found),
    }
}

/// The size limit of a certificate file in octets; the bundle of all web authorities has 250,000.
const MAX_FILE: u64 = 16 << 20;

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    input::read(path, MAX_FILE).map_err(|error| TlsError::Read {
        path: path.to_owned(),
        error,
    })
}

fn missing(what: &'static str, path: &Path, octets: &[u8]) -> TlsError {
    TlsError::Missing {
        what,
        path: path.to_owned(),
        found: pem_file::contents(octets),
    }
}

fn damaged(path: &Path, error: pem::Error) -> TlsError {
    TlsError::Pem {
        path: path.to_owned(),
        error,
    }
}

fn unusable(path: &Path, error: rustls::Error) -> TlsError {
    TlsError::Certificate {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests;
