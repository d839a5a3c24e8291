//! The refusal of a proxy.

use std::fmt;

/// The reason why a proxy does not connect. `Display` names the proxy, without its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRefusal {
    proxy: String,
    status: Option<u16>,
    words: String,
}

impl ProxyRefusal {
    /// Creates the refusal of an HTTP proxy that answered with a status (RFC 9110 §15).
    #[cfg(feature = "proxy")]
    pub(crate) fn of_status(
        proxy: &impl fmt::Display,
        code: u16,
        status: &impl fmt::Display,
    ) -> Self {
        Self {
            proxy: proxy.to_string(),
            status: Some(code),
            words: format!(" answered {status}"),
        }
    }

    /// Creates the refusal of a SOCKS proxy (RFC 1928 §6).
    #[cfg(feature = "proxy")]
    pub(crate) fn of_socks(proxy: &impl fmt::Display, reason: &impl fmt::Display) -> Self {
        Self {
            proxy: proxy.to_string(),
            status: None,
            words: format!(": {reason}"),
        }
    }

    /// Returns the HTTP status of the answer, such as 407 from a proxy that wants credentials; `None` from a SOCKS proxy.
    pub fn status(&self) -> Option<u16> {
        self.status
    }
}

impl fmt::Display for ProxyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.proxy, self.words)
    }
}
