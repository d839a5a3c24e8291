//! Verifies the server's certificate, which must be issued by a trusted root, or be one of the certificates given by
//! the user (RFC 5280, RFC 6125).

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, OtherError, SignatureScheme,
};
use z3950_asn1::codec::frame::{Header, Length};
use z3950_files::moment::Moment;

/// The bit that marks a context tag in DER.
const CONTEXT: u8 = 0x80;

/// A verifier, which checks that [`Trusted`] accepts the server's certificate and that the server has its private key.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) trusted: Trusted,
}

/// The certificates that are accepted.
#[derive(Debug)]
pub(super) enum Trusted {
    /// Every certificate.
    Any,
    /// Certificates issued by the roots, and the given certificates themselves.
    ///
    /// A certificate given by the user needs no issuer, and may be a CA certificate, as created by `openssl req -x509`.
    /// Its name and dates are still checked.
    Named {
        roots: Arc<WebPkiServerVerifier>,
        certificates: Vec<CertificateDer<'static>>,
    },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Trusted::Named {
            roots,
            certificates,
        } = &self.trusted
        else {
            return Ok(ServerCertVerified::assertion());
        };
        match roots.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(error))
                if !is_final(&error) && certificates.iter().any(|named| named == certificate) =>
            {
                verify_by_itself(certificate, name)
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// Returns whether the certificate would be rejected even if the user trusted it.
fn is_final(error: &CertificateError) -> bool {
    matches!(
        error,
        CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
            | CertificateError::InvalidPurpose
            | CertificateError::InvalidPurposeContext { .. }
    )
}

/// Checks the name in a certificate, but not its issuer. Its dates were already checked before the search for its
/// issuer, which has failed.
fn verify_by_itself(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
) -> Result<ServerCertVerified, rustls::Error> {
    match verify_server_name(&ParsedCertificate::try_from(certificate)?, name) {
        Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        })) if presented.is_empty() => by_common_name(certificate, name)?,
        checked => checked?,
    }
    Ok(ServerCertVerified::assertion())
}

/// Checks the common name of a certificate without alternative names (RFC 6125 §6.4.4). Only certificates given by the
/// user are checked in this way.
fn by_common_name(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
) -> Result<(), CertificateError> {
    let common = common_name(certificate);
    let is_it = common.is_some_and(|common| match name {
        ServerName::DnsName(host) => common.eq_ignore_ascii_case(host.as_ref()),
        ServerName::IpAddress(address) => common.parse() == Ok(IpAddr::from(*address)),
        _ => false,
    });
    if is_it {
        Ok(())
    } else {
        Err(CertificateError::NotValidForNameContext {
            expected: name.to_owned(),
            presented: common.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Returns the first common name (`id-at-commonName`) in the subject of a certificate (RFC 5280 §4.1).
fn common_name(certificate: &[u8]) -> Option<&str> {
    const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    let (_, certificate) = elements(certificate).next()?;
    let (_, to_be_signed) = elements(certificate).next()?;
    // Skip the serial number, signature, issuer and validity to reach the subject. The optional version has a context
    // tag, so the filter removes it.
    let universal = elements(to_be_signed).filter(|(header, _)| header.class & CONTEXT == 0);
    let (_, subject) = { universal }.nth(4)?;
    let attributes = elements(subject).flat_map(|(_, set)| elements(set));
    { attributes }.find_map(|(_, attribute)| {
        let mut parts = elements(attribute);
        let (_, kind) = parts.next()?;
        let (_, value) = parts.next().filter(|_| kind == COMMON_NAME)?;
        std::str::from_utf8(value).ok()
    })
}

/// Returns the headers and contents of consecutive DER values, up to the first truncated value.
fn elements(mut octets: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    std::iter::from_fn(move || {
        let header = Header::read(octets).ok()??;
        let Length::Definite(length) = header.length else {
            return None;
        };
        let (contents, rest) = octets.get(header.octets..)?.split_at_checked(length)?;
        octets = rest;
        Some((header, contents))
    })
}

/// The reason why the server's certificate was rejected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UntrustedCertificate(pub(super) CertificateError);

/// Advice on what to do about a rejected certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateAdvice {
    /// The server needs a new certificate.
    Renew,
    /// Connect to the server by another of its names, or install a certificate for this name.
    Name,
    /// Trust the certificate or its issuer.
    Trust,
}

impl UntrustedCertificate {
    pub(crate) fn advice(&self) -> CertificateAdvice {
        match &self.0 {
            error if is_final(error) => CertificateAdvice::Renew,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                CertificateAdvice::Name
            }
            _ => CertificateAdvice::Trust,
        }
    }
}

impl fmt::Display for UntrustedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            CertificateError::Expired => f.write_str("the server's certificate expired"),
            CertificateError::ExpiredContext { not_after, .. } => {
                write!(f, "the server's certificate expired on {}", day(*not_after))
            }
            CertificateError::NotValidYet => {
                f.write_str("the server's certificate is not valid yet, or the clock here is wrong")
            }
            CertificateError::NotValidYetContext { not_before, .. } => write!(
                f,
                "the server's certificate is not valid before {}, or the clock here is wrong",
                day(*not_before)
            ),
            CertificateError::NotValidForName => {
                f.write_str("the server's certificate is not valid for the name asked for")
            }
            CertificateError::NotValidForNameContext {
                expected,
                presented,
            } => {
                let expected = expected.to_str();
                write!(f, "the server's certificate is not valid for {expected}")?;
                match &**presented {
                    [] => f.write_str(": it has no subjectAltName"),
                    names => {
                        let names: Vec<_> = names.iter().map(|name| plain(name)).collect();
                        write!(f, ", only for {}", names.join(", "))
                    }
                }
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => f.write_str(
                "the server's certificate is not signed by an authority that is trusted here",
            ),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                f.write_str("the server's certificate is not one for servers")
            }
            CertificateError::Other(other) if is_authority(other) => f.write_str(
                "the server's certificate is a CA certificate (CA:TRUE), and is not trusted itself",
            ),
            // A trusted authority has the name of the issuer, but a different key.
            CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => f
                .write_str(
                    "the server's certificate is not signed by an authority that is trusted here: its signature is of another kind \
                     than the authority's key",
                ),
            other => {
                let said = match other {
                    CertificateError::Other(other) => other.to_string(),
                    other => other.to_string(),
                };
                let words = in_words(&said);
                write!(f, "the server's certificate cannot be used: {words}")
            }
        }
    }
}

/// Converts a message from rustls or webpki to words. Some messages are only a name, such as `InvalidOcspResponse`.
fn in_words(said: &str) -> String {
    let end = said.find(|letter: char| !letter.is_ascii_alphanumeric());
    let (name, rest) = said
        .split_at_checked(end.unwrap_or(said.len()))
        .unwrap_or((said, ""));
    let rest = rest.trim_start();
    let is_name = rest.is_empty() || rest.starts_with(['(', '{']);
    if !is_name || !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        return said.to_owned();
    }
    let name = name.strip_suffix("Context").unwrap_or(name);
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

impl std::error::Error for UntrustedCertificate {}

/// Returns whether this is the error for a CA certificate, which rustls exposes only as the `Debug` form of a webpki
/// error.
fn is_authority(OtherError(error): &OtherError) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
}

/// Returns the name within `DnsName("lib.example")`, which is how webpki shows names.
fn plain(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn day(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    let Moment {
        year, month, day, ..
    } = Moment::from(time.unwrap_or(UNIX_EPOCH));
    format!("{year:04}-{month:02}-{day:02}")
}
