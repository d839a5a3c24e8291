//! SRU diagnostics: the Library of Congress's general set (`info:srw/diagnostic/1/`), and the set for Record Update
//! (`info:srw/diagnostic/12/`).

mod bib1;
mod conditions;
mod query;

use std::fmt;

pub use self::conditions::SruCondition;

/// The diagnostic set for searchRetrieve, scan and explain, as the part of the URI before the number.
pub const DIAGNOSTIC_SET: &str = "info:srw/diagnostic/1/";
/// The diagnostic set for Record Update, as the part of the URI before the number.
pub const UPDATE_DIAGNOSTIC_SET: &str = "info:srw/diagnostic/12/";

/// A diagnostic: an error or a warning in a response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruDiagnostic {
    /// The diagnostic set and the number of the condition, such as `info:srw/diagnostic/1/16`.
    pub uri: String,
    /// The subject of the diagnostic, such as the name of an index. It may be empty.
    pub details: String,
    /// The server's message, if it sent one.
    pub message: Option<String>,
}

impl SruDiagnostic {
    /// Creates a diagnostic about `details`, with a condition from the general set.
    pub fn new(condition: SruCondition, details: impl Into<String>) -> Self {
        Self::with_uri(format!("{DIAGNOSTIC_SET}{}", condition.0), details)
    }

    /// Creates a diagnostic about `details`, with a Record Update condition.
    pub fn update(number: u16, details: impl Into<String>) -> Self {
        Self::with_uri(format!("{UPDATE_DIAGNOSTIC_SET}{number}"), details)
    }

    /// Creates a diagnostic from any set, identified by its URI.
    pub fn with_uri(uri: impl Into<String>, details: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            details: details.into(),
            message: None,
        }
    }

    /// Returns the same diagnostic, but with this message.
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..self
        }
    }

    /// Returns the condition, if the diagnostic belongs to the general set.
    pub fn condition(&self) -> Option<SruCondition> {
        let number = self.uri.trim().strip_prefix(DIAGNOSTIC_SET)?;
        number.parse().ok().map(SruCondition)
    }

    /// Returns the number of the condition, if the diagnostic belongs to Record Update.
    pub fn update_number(&self) -> Option<u16> {
        let number = self.uri.trim().strip_prefix(UPDATE_DIAGNOSTIC_SET)?;
        number.parse().ok()
    }

    /// Returns the server's message, or the meaning of the condition if there is no message. The result is empty for an
    /// unknown condition.
    pub fn words(&self) -> &str {
        let own = self.message.as_deref().filter(|words| !words.is_empty());
        let known = || match self.update_number() {
            Some(number) => conditions::update_message(number),
            None => self.condition()?.message(),
        };
        own.or_else(known).unwrap_or_default()
    }
}

impl fmt::Display for SruDiagnostic {
    /// Writes, for example, `diagnostic 16 (the server has no such index): dc.colour`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.condition() {
            Some(SruCondition(number)) => write!(f, "diagnostic {number}")?,
            None => write!(f, "diagnostic {}", self.uri)?,
        }
        match self.words() {
            "" => {}
            words => write!(f, " ({words})")?,
        }
        match &*self.details {
            "" => Ok(()),
            details => write!(f, ": {details}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_are_shown_with_their_meaning() {
        let known = SruDiagnostic::new(SruCondition::INDEX, "dc.colour");
        assert_eq!(known.uri, "info:srw/diagnostic/1/16");
        for (diagnostic, shown) in [
            (
                known.clone(),
                "diagnostic 16 (the server has no such index): dc.colour",
            ),
            (
                known.with_message("no colours"),
                "diagnostic 16 (no colours): dc.colour",
            ),
            (SruDiagnostic::new(SruCondition(999), ""), "diagnostic 999"),
            (
                SruDiagnostic::update(50, "7"),
                "diagnostic info:srw/diagnostic/12/50 (there is no such record to replace or delete): 7",
            ),
            (
                SruDiagnostic::with_uri("http://example.org/x", "y"),
                "diagnostic http://example.org/x: y",
            ),
        ] {
            assert_eq!(diagnostic.to_string(), shown);
        }
    }
}
