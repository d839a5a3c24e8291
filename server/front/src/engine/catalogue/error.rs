//! Errors from catalogues.

use super::map::CatalogueEngine;
use super::offer::FieldsError;
use crate::engine::link::Failure;

/// The reason why a catalogue cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// No server answers, or the engine temporarily refuses requests.
    #[error("{0}")]
    Unreachable(String),
    /// The engine refuses this client.
    #[error("the search engine denies access: {0}")]
    Denied(String),
    /// There is no index with this name.
    #[error("there is no index {0}")]
    Absent(String),
    /// The engine refuses a request.
    #[error("the search engine refuses: {0}")]
    Refused(String),
    /// The answer is not from the engine for which the map is written.
    #[error("the answers of the search engine cannot be understood: {0}")]
    Malformed(String),
    /// The name is an alias for several indexes, in which different records have the same numbers.
    #[error("{index} is an alias of {indexes} indexes; name one of them")]
    Several {
        /// The name of the alias.
        index: String,
        /// The number of indexes that have the alias.
        indexes: usize,
    },
    /// The index lacks a field that a database with this map needs.
    #[error("the index {index} is not one of {}: {what}", .engine.index())]
    Foreign {
        /// The name of the index.
        index: String,
        /// The engine for which the map is written.
        engine: CatalogueEngine,
        /// A description of what is missing.
        what: String,
    },
    /// The certificates to trust cannot be used.
    #[error("{0}")]
    Certificates(String),
}

impl CatalogueError {
    /// Returns `true` if the index does not match the settings, and `false` if the engine does not
    /// answer.
    pub fn is_mismatch(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }

    /// Returns the error for the reason why the fields of an index are not known.
    pub(super) fn of_fields(error: &FieldsError, index: &str) -> Self {
        match error {
            FieldsError::Failed(failure) => Self::of(failure, index),
            FieldsError::Several(indexes) => Self::Several {
                index: index.to_owned(),
                indexes: *indexes,
            },
        }
    }

    /// Returns the error for a failed request to an index.
    pub(super) fn of(failure: &Failure, index: &str) -> Self {
        let words = failure.to_string();
        match failure {
            Failure::Refused { status, .. } | Failure::NotJson { status, .. }
                if [401, 403].contains(status) =>
            {
                Self::Denied(words)
            }
            // Solr reports a missing index in HTML, so this response is not JSON.
            Failure::Refused { status: 404, .. } | Failure::NotJson { status: 404, .. } => {
                Self::Absent(index.to_owned())
            }
            Failure::Refused { .. } => Self::Refused(words),
            Failure::NotJson { .. } | Failure::TooLarge { .. } => Self::Malformed(words),
            _ => Self::Unreachable(words),
        }
    }
}
