//! The notices of a plan: errors that prevent any request, cautions that the user should confirm, and warnings about
//! deviations from the URL (RFC 2056 §4, §6; RFC 1738 §6).

use std::fmt;
use std::sync::Arc;

use z3950_asn1::oid::Oid;
use z3950_asn1::query::nearest;

use crate::target::profile::CredentialsError;
use crate::url::{self, Octets};

/// The reason why no request can be sent for a URL.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The URL is for a retrieval but has no docid, so it has no meaning (RFC 2056 §4).
    #[error("the URL names no record to retrieve")]
    NoDocid,
    /// The URL names these record syntaxes, but none of them is supported.
    #[error("no record syntax can be asked for: {}", Unsupported(.0))]
    NoSupportedRecordSyntax(Vec<Octets>),
    /// A hint in the URL cannot be followed, although the options require it.
    #[error("the hint {hint} cannot be followed: {}", Unsupported(.values))]
    #[non_exhaustive]
    HintUnsatisfiable {
        /// The keyword of the hint.
        hint: &'static str,
        /// The values of the hint.
        values: Vec<Octets>,
    },
    /// The credentials of the server's profile cannot be obtained.
    #[error("cannot get the credentials for the server")]
    Credentials(#[source] Arc<CredentialsError>),
    /// The URL has a user name or a password, which must be sent only if the user allows it.
    #[error(
        "the user and password in the URL are not sent; give them by Client::builder().credentials, connect_with or a profile, or set allow_url_credentials"
    )]
    CredentialsNotSent,
}

impl PlanError {
    /// Returns a stable name for the error, for use by programs, such as `NoDocid`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoDocid => "NoDocid",
            Self::NoSupportedRecordSyntax(_) => "NoSupportedRecordSyntax",
            Self::HintUnsatisfiable { .. } => "HintUnsatisfiable",
            Self::Credentials(_) => "NoCredentials",
            Self::CredentialsNotSent => "CredentialsNotSent",
        }
    }
}

/// A risk that the user should confirm before the URL is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caution {
    /// The port belongs to another protocol, which a malicious URL might attack (RFC 1738 §6, RFC 2056 §6).
    ReservedPort(u16),
    /// The URL contains a user name or password.
    Credentials {
        /// Whether the credentials will be sent to the server.
        sent: bool,
    },
}

impl Caution {
    /// Returns a stable name for the caution, for use by programs, such as `ReservedPort:25`.
    pub fn code(&self) -> String {
        match self {
            Self::ReservedPort(port) => format!("ReservedPort:{port}"),
            Self::Credentials { sent: true } => "CredentialsSent".to_owned(),
            Self::Credentials { sent: false } => "CredentialsNotSent".to_owned(),
        }
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedPort(port) => write!(f, "port {port} is reserved for another protocol"),
            Self::Credentials { sent: true } => {
                f.write_str("credentials of the URL are sent to the server")
            }
            Self::Credentials { sent: false } => f.write_str("credentials of the URL are not sent"),
        }
    }
}

/// A way in which the requests deviate from the URL. `Display` is for people, [`code`](Self::code) for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A warning that the URL parser issued.
    Url(url::Caution),
    /// A hint in the URL is ignored, because it cannot be followed.
    HintIgnored {
        /// The keyword of the hint.
        hint: &'static str,
        /// The values of the hint.
        values: Vec<Octets>,
    },
    /// No record syntax is requested, because the client supports none of these syntaxes in the URL.
    RecordSyntaxOmitted(Vec<Octets>),
}

impl Warning {
    /// Returns a stable name for the warning, for use by programs: `Name` or `Name:detail`, such as `HintIgnored:rs`.
    pub fn code(&self) -> String {
        match self {
            Self::Url(warning) => warning.code(),
            Self::HintIgnored { hint, .. } => format!("HintIgnored:{hint}"),
            Self::RecordSyntaxOmitted(names) => format!("RecordSyntaxOmitted:{}", list(names)),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(warning) => warning.fmt(f),
            Self::HintIgnored { hint, values } => write!(
                f,
                "the hint {hint}={} is ignored: {}",
                list(values),
                Unsupported(values)
            ),
            Self::RecordSyntaxOmitted(names) => {
                write!(f, "no record syntax is asked for: {}", Unsupported(names))
            }
        }
    }
}

/// Describes unsupported record syntaxes, with suggestions.
struct Unsupported<'a>(&'a [Octets]);

impl fmt::Display for Unsupported<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [name] => write!(f, "{name} is not supported")?,
            names => write!(f, "none of {} is supported", list(names))?,
        }
        for name in self.0 {
            if let Some(similar) = similar(name.as_bytes()) {
                write!(f, "; did you mean {similar} instead of {name}?")?;
            }
        }
        Ok(())
    }
}

/// Returns the known name that is most similar to an unknown name.
fn similar(name: &[u8]) -> Option<&'static str> {
    let known = Oid::record_syntax_names().map(|(known, _)| known);
    let name = std::str::from_utf8(name).ok()?;
    match Oid::record_syntax_by_name(name.as_bytes()) {
        Some(_) => None,
        None => nearest(name, known),
    }
}

fn list(names: &[Octets]) -> String {
    names
        .iter()
        .map(Octets::to_string)
        .collect::<Vec<_>>()
        .join("+")
}
