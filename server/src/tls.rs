//! TLS on a listener: certificate and key of the server, and what is asked of clients (RFC 8446).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{
    ClientCertVerifierBuilder, VerifierBuilderError, WebPkiClientVerifier,
};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// What a listener shows its clients, and asks of them. Clones share it.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

/// Which clients are let in by their certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// None is asked for.
    #[default]
    Unasked,
    /// One is asked for and has to be of these authorities, in PEM, if the client has any.
    Optional(Vec<u8>),
    /// One of these authorities, in PEM, is required.
    Required(Vec<u8>),
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What should be certificates or a key is none.
    #[error("no {what} in PEM")]
    Pem {
        /// What is wanted.
        what: &'static str,
        /// Why it is none.
        source: pem::Error,
    },
    /// There is no certificate where one is needed.
    #[error("no {what} in PEM")]
    None {
        /// What is wanted.
        what: &'static str,
    },
    /// Certificate and key do not belong together, or are of no use.
    #[error("a certificate and key that cannot be used")]
    Unusable(#[from] rustls::Error),
    /// The authorities are of no use.
    #[error("authorities that cannot be used")]
    Authorities(#[from] VerifierBuilderError),
}

impl Tls {
    /// TLS with a chain of certificates, the server's first, and its private key, both in PEM.
    ///
    /// # Errors
    /// What is not in PEM, or does not belong together.
    pub fn from_pem(
        certificates: &[u8],
        key: &[u8],
        clients: &ClientCertificates,
    ) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?;
        let builder = match clients {
            ClientCertificates::Unasked => builder.with_no_client_auth(),
            ClientCertificates::Optional(authorities) => builder
                .with_client_cert_verifier(verifier(authorities)?.allow_unauthenticated().build()?),
            ClientCertificates::Required(authorities) => {
                builder.with_client_cert_verifier(verifier(authorities)?.build()?)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem {
            what: "private key",
            source,
        })?;
        let config = builder.with_single_cert(chain(certificates, "certificate")?, key)?;
        Ok(Self(Arc::new(config)))
    }

    /// The same from files.
    ///
    /// # Errors
    /// Files that cannot be read, and those of [`Tls::from_pem`].
    pub fn load(
        certificates: &Path,
        key: &Path,
        clients: &ClientCertificates,
    ) -> Result<Self, TlsError> {
        Self::from_pem(&read(certificates)?, &read(key)?, clients)
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// The octets of a file of certificates or keys.
///
/// # Errors
/// [`TlsError::Read`].
pub fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

fn verifier(authorities: &[u8]) -> Result<ClientCertVerifierBuilder, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in chain(authorities, "authority")? {
        roots.add(authority)?;
    }
    Ok(WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::new(default_provider()),
    ))
}

fn chain(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|source| TlsError::Pem { what, source })?;
    match certificates.is_empty() {
        true => Err(TlsError::None { what }),
        false => Ok(certificates),
    }
}
