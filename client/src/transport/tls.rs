//! TLS (RFC 8446, RFC 5246) over another way to connect: the server proves that it is the host asked for, by a
//! certificate that the system's roots vouch for, unless it is allowed not to.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_native_certs::load_native_certs;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::{BoxFuture, BoxStream, Connect, Timeouts};
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// Whom to trust, and how to prove who one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// A PEM file of certificates to trust beside the system's roots.
    pub roots: Option<PathBuf>,
    /// Takes any certificate of any server: the connection is secret, but nobody knows with whom.
    pub insecure: bool,
    /// What to show to servers that ask for a certificate of the client.
    pub certificate: Option<ClientCertificate>,
}

/// A certificate of the client and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate first, then those that vouch for it.
    pub chain: PathBuf,
    /// Its private key; it may stand in the file of the chain.
    pub key: PathBuf,
}

/// Options that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A PEM file that cannot be read, or holds nothing of what it should.
    #[error("cannot use {}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: pem::Error,
    },
    /// A certificate or key that does not work.
    #[error("cannot use the certificate in {}", .path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: rustls::Error,
    },
    /// The system has no roots, and no file of others was named.
    #[error("this system has no certificates to trust; name a file of them")]
    NoRoots,
    /// The TLS library refused its own defaults.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// TLS as [`TlsOptions`] want it, its certificates read: what all connections made with the same options share.
#[derive(Clone)]
pub(super) struct Trust(TlsConnector);

impl Trust {
    /// Reads the files of certificates that the options name, and the system's.
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
    /// Options that cannot be followed: files are read now.
    pub fn new(inner: impl Connect + 'static, options: &TlsOptions) -> Result<Self, TlsError> {
        Ok(Self::trusting(Arc::new(inner), Trust::new(options)?))
    }

    /// The same with certificates that were read before.
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

/// A handshake that failed: because of the certificate, or otherwise.
fn failed(error: io::Error) -> Error {
    let is_certificate = matches!(fault(&error), Some(rustls::Error::InvalidCertificate(_)));
    let error = Arc::new(error);
    unavailable(match is_certificate {
        true => Cause::Tls(error),
        false => Cause::Handshake(error),
    })
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

/// Whether the server broke TLS off with an alert, in the handshake or behind it, which is what it does to a client
/// whose certificate it misses.
#[cfg(feature = "cli")]
pub(crate) fn is_alert(error: &io::Error) -> bool {
    matches!(fault(error), Some(rustls::Error::AlertReceived(_)))
}

fn config(options: &TlsOptions) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?;
    let builder = match options.insecure {
        true => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
        false => builder.with_root_certificates(roots(options.roots.as_deref())?),
    };
    let Some(ClientCertificate { chain, key }) = &options.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = certificates(chain)?;
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| pem_error(key, error))?;
    builder
        .with_client_auth_cert(certificates, private_key)
        .map_err(|error| TlsError::Certificate {
            path: chain.clone(),
            error,
        })
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let system = load_native_certs();
    for error in &system.errors {
        tracing::info!(%error, "a certificate of the system cannot be read");
    }
    store.add_parsable_certificates(system.certs);
    if let Some(path) = file {
        for certificate in certificates(path)? {
            store
                .add(certificate)
                .map_err(|error| TlsError::Certificate {
                    path: path.to_owned(),
                    error,
                })?;
        }
    }
    match store.is_empty() {
        true => Err(TlsError::NoRoots),
        false => Ok(store),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| pem_error(path, error))?;
    match found.is_empty() {
        true => Err(pem_error(path, pem::Error::NoItemsFound)),
        false => Ok(found),
    }
}

fn pem_error(path: &Path, error: pem::Error) -> TlsError {
    TlsError::Pem {
        path: path.to_owned(),
        error,
    }
}

/// Believes every certificate, and checks only that the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
