//! A search engine's answer to a [`Plan`](super::plan::Plan).

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use super::link::Failure;
use super::records::HeldRecord;

/// The answer to a plan. `I` is the type of record identifiers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineAnswer<I> {
    /// The number of records found.
    pub(super) total: usize,
    /// Whether the number is exact for the parts of the index that answered.
    pub(super) is_exact: bool,
    /// The reason why records may be missing; `None` if all parts of the index were searched.
    pub(super) missing: Option<String>,
    /// The records on the page.
    pub(super) hits: Vec<Hit<I>>,
    /// The index to which the records belong; `None` if there are no records, or the engine does not name the index.
    pub(super) index: Option<String>,
    /// The terms of each facet.
    pub(super) facets: Vec<FacetCounts>,
    /// The number of records that match each clause that was counted separately.
    pub(super) counts: Vec<usize>,
}

/// A record in an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit<I> {
    pub(super) id: I,
    /// The record, if it was requested.
    pub(super) record: Option<HeldRecord>,
    /// The record's place in the order, after which another page can begin; empty for an engine without such places.
    pub(super) place: String,
}

/// The terms of a facet, in the requested order, each with its number of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FacetCounts {
    pub(super) terms: Vec<(String, usize)>,
    /// Whether the numbers may be too small.
    pub(super) is_estimate: bool,
}

/// Values of a field, in ascending order, each with its number of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TermsAnswer {
    pub(super) before: Vec<(String, usize)>,
    /// The values from the requested start onwards.
    pub(super) after: Vec<(String, usize)>,
    /// Whether the first value in `after` is equal to the start.
    pub(super) is_exact: bool,
    /// The reason why records may be missing; `None` if all parts of the index were read.
    pub(super) missing: Option<String>,
}

/// The reason why an engine did not give a usable answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum AskError {
    /// The request failed.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The answer does not have the expected form.
    #[error("an answer without {0}")]
    Malformed(&'static str),
    /// The query has too many words or terms for the engine.
    #[error("{0}")]
    TooComplex(String),
    /// The engine cannot carry out the request.
    #[error("{}", .0.addinfo.to_string_lossy())]
    Refused(Diagnostic),
}

impl From<Diagnostic> for AskError {
    fn from(why: Diagnostic) -> Self {
        Self::Refused(why)
    }
}

impl AskError {
    /// Returns the diagnostic for the client, which does not contain any of the engine's own messages.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        let unavailable = |words: &str| diagnostic(Condition::DATABASE_UNAVAILABLE, words);
        match self {
            Self::Refused(why) => why.clone(),
            Self::TooComplex(_) => {
                let words = "the query stands for too many words";
                diagnostic(Condition::RESOURCES_EXHAUSTED, words)
            }
            Self::Malformed(_) => unavailable("the answer of the search engine is malformed"),
            Self::Failed(failure) => unavailable(match failure {
                Failure::Refused { .. } => "the search engine refuses the request",
                Failure::TooBusy { .. } | Failure::Busy { .. } => {
                    "the search engine has too much to do"
                }
                Failure::NoShard { .. } => "parts of the index do not answer",
                Failure::ClosedWithoutAnswer { .. } => "the search engine closed the connection",
                Failure::Late { .. } => "the search engine did not answer in time",
                Failure::TooLarge { .. } => "the answer of the search engine is too long",
                _ => "the search engine cannot be reached",
            }),
        }
    }
}
