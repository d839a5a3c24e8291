//! TLS (RFC 8446, RFC 5246) over another connector. The server's certificate is verified against the system's roots unless
//! verification is turned off.

mod options;
mod verify;

use std::io;
use std::sync::Arc;

use rustls_native_certs::load_native_certs;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, HandshakeKind, RootCertStore};

use self::options::ReadPem;
pub use self::options::{ClientCertificate, Pem, TlsOptions};
pub use self::verify::CertificateAdvice;
pub(crate) use self::verify::UntrustedCertificate;
use self::verify::{Trusted, Verifier};
use super::connect::{BoxStream, Connect, Connecting};
use super::timeouts::Timeouts;
use crate::error::{Cause, Error, PemPlace, Phase, TlsError};
use crate::url::Host;

/// Creates the TLS configuration, which all connections with the same options share. Reads the certificate files and
/// the system's roots. The configuration keeps TLS sessions for resumption, if servers allow it.
pub(super) fn connector(options: &TlsOptions) -> Result<TlsConnector, TlsError> {
    Ok(TlsConnector::from(Arc::new(config(options)?)))
}

/// A connector that uses TLS over the connections of another connector.
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
        Some(rustls::Error::InvalidCertificate(why)) => Cause::Tls(Arc::new(io::Error::other(
            UntrustedCertificate(why.clone()),
        ))),
        _ => Cause::Handshake(Arc::new(error)),
    })
}

/// If the error means that the server's certificate was rejected, returns advice on what to do about it.
pub fn certificate_advice(error: &io::Error) -> Option<CertificateAdvice> {
    let untrusted: &UntrustedCertificate = error.get_ref()?.downcast_ref()?;
    Some(untrusted.advice())
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
/// do this if the client has none.
pub fn is_alert(error: &io::Error) -> bool {
    matches!(fault(error), Some(rustls::Error::AlertReceived(_)))
}

fn config(options: &TlsOptions) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.into()))?;
    let trusted = if options.insecure {
        Trusted::Any
    } else {
        trusted(options.roots.as_ref(), Arc::clone(&provider))?
    };
    let verifier = Arc::new(Verifier { provider, trusted });
    let builder = builder.dangerous();
    let builder = builder.with_custom_certificate_verifier(verifier);
    let Some(ClientCertificate { chain, key }) = &options.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = ReadPem::read(chain, "the client certificate")?;
    let certificates = chain.certificates()?;
    let key = ReadPem::read(key, "the client's private key")?;
    builder
        .with_client_auth_cert(certificates, key.key()?)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::KeyMismatch {
                key: key.place,
                chain: chain.place,
            },
            error => unusable(&chain.place, 1, error),
        })
}

/// Returns the trusted certificates: the system's roots and the given certificates.
fn trusted(given: Option<&Pem>, provider: Arc<CryptoProvider>) -> Result<Trusted, TlsError> {
    let mut store = RootCertStore::empty();
    let system = load_native_certs();
    for error in &system.errors {
        tracing::info!(%error, "a certificate of the system cannot be read");
    }
    store.add_parsable_certificates(system.certs);
    let mut certificates = Vec::new();
    if let Some(pem) = given {
        let pem = ReadPem::read(pem, "the trusted certificates")?;
        certificates = pem.certificates()?;
        for (number, certificate) in (1..).zip(&certificates) {
            let added = store.add(certificate.clone());
            added.map_err(|error| unusable(&pem.place, number, error))?;
        }
    }
    if store.is_empty() {
        return Err(TlsError::NoRoots);
    }
    let roots = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
    Ok(Trusted::Named {
        roots: roots.map_err(|error| TlsError::Setup(error.into()))?,
        certificates,
    })
}

fn unusable(pem: &PemPlace, number: usize, error: rustls::Error) -> TlsError {
    TlsError::Certificate {
        pem: pem.clone(),
        number,
        source: error.into(),
    }
}

#[cfg(test)]
mod tests;
