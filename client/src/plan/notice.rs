//! What a plan has to say beside what is sent: refusals, cautions for a person to agree to, and warnings of what
//! is done otherwise than the URL says (RFC 2056 §4, §6; RFC 1738 §6).

use std::fmt;

use super::syntax;
use crate::url::{self, Octets};

/// Why nothing is sent for a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A retrieval without a docid has no meaning (RFC 2056 §4).
    #[error("the URL names no record to retrieve")]
    NoDocid,
    /// None of these is supported.
    #[error("no record syntax can be asked for: {}", Unsupported(.0))]
    NoSupportedRecordSyntax(Vec<Octets>),
    /// A hint cannot be followed, and was to be.
    #[error("the hint {hint} cannot be followed: {}", Unsupported(.values))]
    HintUnsatisfiable {
        /// The keyword of the hint.
        hint: &'static str,
        /// Its values.
        values: Vec<Octets>,
    },
    /// The server's profile names credentials that cannot be had; says why.
    #[error("cannot get the credentials for the server: {0}")]
    Credentials(String),
}

impl PlanError {
    /// The name by which programs know the refusal, such as `NoDocid`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoDocid => "NoDocid",
            Self::NoSupportedRecordSyntax(_) => "NoSupportedRecordSyntax",
            Self::HintUnsatisfiable { .. } => "HintUnsatisfiable",
            Self::Credentials(_) => "NoCredentials",
        }
    }
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

impl Caution {
    /// The name by which programs know the caution, such as `ReservedPort:25`.
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

/// What was not done as the URL says. `Display` is for people, [`code`](Self::code) for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The parser's own.
    Url(url::Warning),
    /// The hint with this keyword cannot be followed.
    HintIgnored {
        /// The keyword of the hint.
        hint: &'static str,
        /// Its values.
        values: Vec<Octets>,
    },
    /// No record syntax is asked for, since none of these is supported.
    RecordSyntaxOmitted(Vec<Octets>),
}

impl Warning {
    /// The name by which programs know the warning: `Name` or `Name:detail`, such as `HintIgnored:rs`.
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

/// Record syntaxes that are not supported, in words, with what may have been meant.
struct Unsupported<'a>(&'a [Octets]);

impl fmt::Display for Unsupported<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [name] => write!(f, "{name} is not supported")?,
            names => write!(f, "none of {} is supported", list(names))?,
        }
        for name in self.0 {
            if let Some(similar) = syntax::similar(name.as_bytes()) {
                write!(f, "; did you mean {similar} instead of {name}?")?;
            }
        }
        Ok(())
    }
}

fn list(names: &[Octets]) -> String {
    names
        .iter()
        .map(Octets::to_string)
        .collect::<Vec<_>>()
        .join("+")
}
