//! What a catalogue is asked, and what it answers, in no engine's language.

use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use super::leaf::CatalogueLeaf;
use super::records::HeldRecord;
use crate::engine::answer::EngineAnswer;
use crate::engine::clause;
use crate::engine::link::Failure;
use crate::engine::plan;

/// A condition on records of a catalogue.
pub(super) type Clause = clause::Clause<CatalogueLeaf>;
/// What to ask a catalogue. Records that are hidden are left out by the dialect.
pub(super) type Plan<'a> = plan::Plan<'a, CatalogueLeaf>;
/// A part of the order of records: the field.
pub(super) type OrderBy = plan::OrderBy<String>;
/// A facet to count: the field.
pub(super) type FacetOf = plan::FacetOf<String>;
/// The answer of a catalogue.
pub(super) type Answer = EngineAnswer<CatalogueHit>;

/// A record of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CatalogueHit {
    /// The identifier.
    pub(super) id: String,
    /// The record, if it was asked for.
    pub(super) record: Option<HeldRecord>,
    /// Its place in the order, after which another page can begin; empty for an engine without such places.
    pub(super) place: String,
}

/// Terms to list: the values of a field around a start.
#[derive(Clone, Debug)]
pub(super) struct TermsPlan<'a> {
    /// The field: that of the role [`Scan`](super::map::Role::Scan).
    pub(super) field: &'a str,
    /// The start as the client wrote it; the engine folds it. It is empty for the first value.
    pub(super) start: &'a str,
    /// The most values before the start, and from it on.
    pub(super) before: usize,
    pub(super) after: usize,
    /// The records whose values are listed; `None` for all.
    pub(super) within: Option<&'a Clause>,
}

/// Values of a field, in ascending order, each with its number of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TermsAnswer {
    pub(super) before: Vec<(String, usize)>,
    /// From the start on.
    pub(super) after: Vec<(String, usize)>,
    /// Whether the first of `after` is the start itself.
    pub(super) is_exact: bool,
    /// Why records may be missing; `None` if all parts of the index were read.
    pub(super) missing: Option<String>,
}

/// Why a catalogue has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum AskError {
    /// The request has no answer.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The answer has another form than expected.
    #[error("an answer without {0}")]
    Malformed(&'static str),
    /// The query has too many words or terms for the engine.
    #[error("{0}")]
    TooComplex(String),
    /// The engine cannot be asked for it.
    #[error("{}", .0.addinfo.to_string_lossy())]
    Refused(Diagnostic),
}

impl From<Diagnostic> for AskError {
    fn from(why: Diagnostic) -> Self {
        Self::Refused(why)
    }
}

impl AskError {
    /// Returns what it means to a client; none of the engine's words are a part of it.
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
