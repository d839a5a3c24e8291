//! Why a catalogue cannot be used.

use super::map::CatalogueEngine;
use super::offer::FieldsError;
use crate::engine::link::Failure;

/// Why a catalogue cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// No server answers, or the engine refuses for now.
    #[error("{0}")]
    Unreachable(String),
    /// The engine refuses this client.
    #[error("the search engine denies access: {0}")]
    Denied(String),
    /// There is no index of the name.
    #[error("there is no index {0}")]
    Absent(String),
    /// The engine refuses a request.
    #[error("the search engine refuses: {0}")]
    Refused(String),
    /// The answer is not that of such an engine.
    #[error("the answers of the search engine cannot be understood: {0}")]
    Malformed(String),
    /// Several indexes have the name, whose records have the same numbers.
    #[error("{index} is an alias of {indexes} indexes; name one of them")]
    Several {
        /// The alias.
        index: String,
        /// The number of indexes.
        indexes: usize,
    },
    /// The index has nothing of what the map says.
    #[error("the index {index} is not one of {}: {what}", .engine.index())]
    Foreign {
        /// The index.
        index: String,
        /// The engine of the map.
        engine: CatalogueEngine,
        /// What is missing.
        what: String,
    },
    /// The certificates to trust cannot be used.
    #[error("{0}")]
    Certificates(String),
}

impl CatalogueError {
    /// Returns whether the index is not as the settings say. Otherwise the engine does not answer.
    pub fn is_mismatch(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }

    /// Returns why the fields of an index are not known.
    pub(super) fn of_fields(error: &FieldsError, index: &str) -> Self {
        match error {
            FieldsError::Failed(failure) => Self::of(failure, index),
            FieldsError::Several(indexes) => Self::Several {
                index: index.to_owned(),
                indexes: *indexes,
            },
        }
    }

    /// Returns what a failure says of an index.
    pub(super) fn of(failure: &Failure, index: &str) -> Self {
        let words = failure.to_string();
        match failure {
            Failure::Refused { status, .. } | Failure::NotJson { status, .. }
                if [401, 403].contains(status) =>
            {
                Self::Denied(words)
            }
            // Solr reports this error in HTML.
            Failure::Refused { status: 404, .. } | Failure::NotJson { status: 404, .. } => {
                Self::Absent(index.to_owned())
            }
            Failure::Refused { .. } => Self::Refused(words),
            Failure::NotJson { .. } | Failure::TooLarge { .. } => Self::Malformed(words),
            _ => Self::Unreachable(words),
        }
    }
}
