//! Plans for a catalogue and its answers, independently of the engine's language.

use super::leaf::CatalogueLeaf;
pub(super) use crate::engine::answer::{AskError, TermsAnswer};
use crate::engine::answer::{EngineAnswer, Hit};
use crate::engine::clause;
use crate::engine::plan;

/// A condition on records in a catalogue.
pub(super) type Clause = clause::Clause<CatalogueLeaf>;
/// The request to a catalogue. The dialect excludes hidden records.
pub(super) type Plan<'a> = plan::Plan<'a, CatalogueLeaf>;
/// A sort key, which is a field.
pub(super) type OrderBy = plan::OrderBy<String>;
/// A facet to count, which is a field.
pub(super) type FacetOf = plan::FacetOf<String>;
/// The answer from a catalogue.
pub(super) type Answer = EngineAnswer<String>;

/// A record in an answer, with the engine's identifier.
pub(super) type CatalogueHit = Hit<String>;

/// A request to list terms, which are the values in a field around a start.
#[derive(Clone, Debug)]
pub(super) struct TermsPlan<'a> {
    /// The field, which has the role [`Scan`](super::map::Role::Scan).
    pub(super) field: &'a str,
    /// The start as the client wrote it; the engine folds it. If it is empty, the list begins with the first value.
    pub(super) start: &'a str,
    /// The maximum number of values before the start, and from the start onwards.
    pub(super) before: usize,
    pub(super) after: usize,
    /// The records whose values are listed; `None` for all records.
    pub(super) within: Option<&'a Clause>,
}
