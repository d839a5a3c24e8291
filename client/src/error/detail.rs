//! The text that explains an error.

use std::fmt;

/// Text about an error for people to read. Programs should not match on it, because its wording may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail(String);

impl From<String> for Detail {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Detail {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
