//! TLS (RFC 8446, RFC 5246) over another connector. The server's certificate is verified against the system's roots unless
//! verification is turned off.

mod verify;

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_native_certs::load_native_certs;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, HandshakeKind, RootCertStore};
use z3950_asn1::{input, pem as pem_file};

pub(crate) use self::verify::Distrust;
pub use self::verify::Remedy;
use self::verify::{Trusted, Verifier};
use super::connect::{BoxStream, Connect, Connecting};
use super::timeouts::Timeouts;
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// The certificates to trust, and the client's own certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// A PEM file with certificates that are trusted in addition to the system's roots.
    pub roots: Option<PathBuf>,
    /// Whether to accept any certificate. The connection is then encrypted, but the server is not authenticated.
    pub insecure: bool,
    /// The client certificate for servers that request one.
    pub certificate: Option<ClientCertificate>,
}

/// A client certificate and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file with the certificate, followed by its issuers.
    pub chain: PathBuf,
    /// The file with the private key. It may be the same file as `chain`.
    pub key: PathBuf,
}

/// The error for options that cannot be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file does not contain the expected items.
    #[error("no {what} in {}, which holds {found}", .path.display())]
    Missing {
        /// The expected items.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The actual contents of the file.
        found: String,
    },
    /// A file or the system's roots cannot be used.
    #[error("{0}")]
    Unusable(String, #[source] Option<Box<dyn StdError + Send + Sync>>),
}

/// Creates the TLS configuration, which all connections with the same options share. Reads the certificate files and
/// the system's roots. The configuration keeps TLS sessions for resumption, if servers allow it.
pub(super) fn connector(options: &TlsOptions) -> Result<TlsConnector, TlsError> {
    Ok(TlsConnector::from(Arc::new(config(options)?)))
}

/// A connector for TLS over another connector.
#[derive(Clone)]
pub struct Tls {
    pub(super) inner: Arc<dyn Connect>,
    pub(super) trust: TlsConnector,
}

impl Tls {
    /// Creates a connector for TLS over the connections made by `inner`.
    ///
    /// # Errors
    /// Fails if the options cannot be applied. The certificate files are read immediately.
    pub fn new(inner: impl Connect + 'static, options: &TlsOptions) -> Result<Self, TlsError> {
        Ok(Self {
            inner: Arc::new(inner),
            trust: connector(options)?,
        })
    }
}

impl Connect for Tls {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            let stream = self.inner.connect(host, port, timeouts).await?;
            let name = ServerName::try_from(host.for_connecting()).map_err(|error| {
                let cause = Cause::Tls(Arc::new(io::Error::other(error)));
                unavailable(cause)
            })?;
            let handshake = self.trust.connect(name, stream);
            let secured = timeouts.to_connect().hold(Phase::Tls, handshake).await?;
            let stream = secured.map_err(failed)?;
            let (_, tls) = stream.get_ref();
            let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
            tracing::debug!(version = ?tls.protocol_version(), resumed, "TLS");
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

/// Returns the error for a failed handshake.
fn failed(error: io::Error) -> Error {
    unavailable(match fault(&error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            Cause::Tls(Arc::new(io::Error::other(Distrust(why.clone()))))
        }
        _ => Cause::Handshake(Arc::new(error)),
    })
}

/// Returns the remedy if the error is a rejected certificate.
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

/// Returns whether the server sent an alert, during or after the handshake. Servers that require a client certificate
/// do so.
pub fn is_alert(error: &io::Error) -> bool {
    matches!(fault(error), Some(rustls::Error::AlertReceived(_)))
}

fn config(options: &TlsOptions) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(NOT_SET_UP, error))?;
    let trusted = if options.insecure {
        Trusted::Any
    } else {
        named(options.roots.as_deref(), Arc::clone(&provider))?
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
            rustls::Error::InconsistentKeys(_) => {
                let (key, chain) = (key.display(), chain.display());
                let words = format!(
                    "the private key in {key} does not belong to the certificate in {chain}: name the key that this certificate was made with"
                );
                TlsError::Unusable(words, None)
            }
            error => rejected(chain, error),
        })
}

/// Returns the trusted certificates: the system's roots and the certificates in a file.
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
            added.map_err(|error| rejected(path, error))?;
        }
    }
    if store.is_empty() {
        let words = "this system has no trusted CA certificates; name a file of them";
        return Err(TlsError::Unusable(words.to_owned(), None));
    }
    let roots = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
    Ok(Trusted::Named {
        roots: roots.map_err(|error| unusable(NOT_SET_UP, error))?,
        certificates: named,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let octets = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    let found = found.map_err(|error| damaged(path, error))?;
    if found.is_empty() {
        Err(missing("certificate", path, &octets))
    } else {
        Ok(found)
    }
}

/// The maximum size of a certificate file in octets. The bundle of all Web authorities has about 250,000 octets.
const MAX_FILE: u64 = 16 << 20;

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let octets = input::read(path, MAX_FILE);
    octets.map_err(|error| unusable(format!("cannot use {}", path.display()), error))
}

fn missing(what: &'static str, path: &Path, octets: &[u8]) -> TlsError {
    TlsError::Missing {
        what,
        path: path.to_owned(),
        found: pem_file::contents(octets),
    }
}

fn damaged(path: &Path, error: pem::Error) -> TlsError {
    unusable(format!("the PEM in {} is damaged", path.display()), error)
}

fn rejected(path: &Path, error: rustls::Error) -> TlsError {
    unusable(
        format!("cannot use the certificate in {}", path.display()),
        error,
    )
}

const NOT_SET_UP: &str = "TLS cannot be set up";

fn unusable(words: impl Into<String>, error: impl StdError + Send + Sync + 'static) -> TlsError {
    TlsError::Unusable(words.into(), Some(Box::new(error)))
}

#[cfg(test)]
mod tests;
