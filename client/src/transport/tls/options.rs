//! TLS options: the certificates to trust, and the client's own certificate, as PEM (RFC 7468) in files or in memory.

use std::fmt;
use std::path::PathBuf;

use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use z3950_files::{input, pem as pem_file};

use crate::error::{PemPlace, TlsError};

/// The certificates to trust, and the client's own certificate.
///
/// ```no_run
/// use z3950::{Client, Pem, TlsOptions};
///
/// # fn example(authority: &str) -> Result<Client, z3950::Error> {
/// let tls = TlsOptions::new()
///     .with_roots(Pem::text(authority))
///     .with_certificate(Pem::file("client.pem"), Pem::file("client.key"));
/// Client::builder().tls(tls).build()
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Certificates that are trusted in addition to the system's roots: the certificates of authorities, or of the
    /// server itself.
    pub roots: Option<Pem>,
    /// Whether to accept any certificate. The connection is then encrypted, but the server is not authenticated.
    pub insecure: bool,
    /// The client certificate for servers that request one.
    pub certificate: Option<ClientCertificate>,
}

impl TlsOptions {
    /// Creates options that trust the system's roots and have no client certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the certificates that are trusted in addition to the system's roots, such as the certificate of a private
    /// authority.
    #[must_use]
    pub fn with_roots(mut self, roots: impl Into<Pem>) -> Self {
        self.roots = Some(roots.into());
        self
    }

    /// Sets the client certificate, followed by its issuers, and its private key. Both may be in the same PEM.
    #[must_use]
    pub fn with_certificate(mut self, chain: impl Into<Pem>, key: impl Into<Pem>) -> Self {
        self.certificate = Some(ClientCertificate {
            chain: chain.into(),
            key: key.into(),
        });
        self
    }
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, followed by its issuers.
    pub chain: Pem,
    /// The private key. It may be in the same file as the certificate.
    pub key: Pem,
}

/// Certificates or keys in PEM (RFC 7468).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pem {
    /// The contents of a file, which is read when the options are first used.
    File(PathBuf),
    /// The PEM itself, which `Debug` does not show, because it may be a private key.
    Text(Vec<u8>),
}

impl Pem {
    /// Creates a reference to a PEM file, which is read when the options are first used.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }

    /// Creates PEM from text in memory.
    pub fn text(pem: impl Into<Vec<u8>>) -> Self {
        Self::Text(pem.into())
    }

    fn place(&self, items: &'static str) -> PemPlace {
        match self {
            Self::File(path) => PemPlace::File(path.clone()),
            Self::Text(_) => PemPlace::Memory(items),
        }
    }
}

impl From<PathBuf> for Pem {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(<redacted>)"),
        }
    }
}

/// PEM that has been read, and the place it came from.
pub(super) struct ReadPem {
    octets: Vec<u8>,
    pub(super) place: PemPlace,
}

/// The maximum size of a certificate file in octets. The bundle of all Web authorities has about 250,000 octets.
const MAX_FILE: u64 = 16 << 20;

impl ReadPem {
    /// Reads PEM. `items` names the expected items in messages about PEM from memory.
    pub(super) fn read(pem: &Pem, items: &'static str) -> Result<Self, TlsError> {
        let place = pem.place(items);
        let octets = match pem {
            Pem::Text(octets) => octets.clone(),
            Pem::File(path) => match input::read(path, MAX_FILE) {
                Ok(octets) => octets,
                Err(source) => return Err(TlsError::Read { pem: place, source }),
            },
        };
        Ok(Self { octets, place })
    }

    /// Returns the certificates. Fails if there are none.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.octets).collect();
        // A section without an end may have been read as one with the next section, so each section is also checked
        // separately.
        match (found, self.first_fault()) {
            (_, Some((line, fault))) => Err(self.damaged_in(line, &fault)),
            (Err(fault), None) => Err(self.damaged_in(1, &fault)),
            (Ok(found), None) if found.is_empty() => Err(self.missing("certificate")),
            (Ok(found), None) => Ok(found),
        }
    }

    /// Returns the first private key. Fails if there is none.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        PrivateKeyDer::from_pem_slice(&self.octets).map_err(|error| match error {
            PemError::NoItemsFound => self.missing("private key"),
            error => {
                let (line, fault) = self.first_fault().unwrap_or((1, error));
                self.damaged_in(line, &fault)
            }
        })
    }

    fn missing(&self, what: &'static str) -> TlsError {
        TlsError::Missing {
            what,
            pem: self.place.clone(),
            found: pem_file::contents(&self.octets),
        }
    }

    fn damaged_in(&self, line: usize, fault: &PemError) -> TlsError {
        TlsError::Damaged {
            pem: self.place.clone(),
            line,
            fault: match fault {
                PemError::MissingSectionEnd { .. } => "has no end",
                PemError::IllegalSectionStart { .. } => "does not begin as PEM does",
                PemError::Base64Decode(_) => "is not base64",
                _ => "cannot be read",
            },
        }
    }

    /// Returns the 1-based line in which the first damaged section begins, and its fault. Returns `None` if no section
    /// is damaged.
    fn first_fault(&self) -> Option<(usize, PemError)> {
        let lines: Vec<&[u8]> = self.octets.split(|octet| *octet == b'\n').collect();
        let begins = |line: &[u8]| line.starts_with(b"-----BEGIN ");
        let mut first = 1;
        // Each section is read separately, because a section without an end would otherwise extend into the next.
        for section in lines.chunk_by(|_, next| !begins(next)) {
            let octets = section.join(&b'\n');
            let mut items = CertificateDer::pem_slice_iter(&octets);
            if let Some(error) = items.find_map(Result::err) {
                return Some((first, error));
            }
            first += section.len();
        }
        None
    }
}
