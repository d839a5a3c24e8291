//! What a plan has to say beside what is sent: refusals, cautions for a person to agree to, and warnings of what
//! is done otherwise than the URL says (RFC 2056 §4, §6; RFC 1738 §6).

use std::fmt;

use crate::url::{self, Octets};

/// Why nothing is sent for a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A retrieval without a docid has no meaning (RFC 2056 §4).
    #[error("the URL names no record to retrieve")]
    NoDocid,
    /// None of these is supported.
    #[error("no supported record syntax among {}", list(.0))]
    NoSupportedRecordSyntax(Vec<Octets>),
    /// A hint cannot be followed, and was to be.
    #[error("hint {hint} cannot be followed: nothing supported among {}", list(.values))]
    HintUnsatisfiable {
        /// The keyword of the hint.
        hint: &'static str,
        /// Its values.
        values: Vec<Octets>,
    },
    /// The server's profile names credentials that cannot be had; says why.
    #[error("no credentials for the server: {0}")]
    Credentials(String),
}

/// What a person should agree to before the URL is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caution {
    /// The port is that of another protocol, which a URL might abuse (RFC 1738 §6, RFC 2056 §6).
    ReservedPort(u16),
    /// The URL holds user name or password.
    Credentials {
        /// Whether they would be sent.
        sent: bool,
    },
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

/// What was not done as the URL says. `Display` is `Name` or `Name:detail`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The parser's own.
    Url(url::Warning),
    /// The hint with this keyword cannot be followed.
    HintIgnored(&'static str),
    /// No record syntax is asked for, since none of these is supported.
    RecordSyntaxOmitted(Vec<Octets>),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(warning) => warning.fmt(f),
            Self::HintIgnored(hint) => write!(f, "HintIgnored:{hint}"),
            Self::RecordSyntaxOmitted(names) => write!(f, "RecordSyntaxOmitted:{}", list(names)),
        }
    }
}

fn list(names: &[Octets]) -> String {
    names
        .iter()
        .map(Octets::to_string)
        .collect::<Vec<_>>()
        .join("+")
}
