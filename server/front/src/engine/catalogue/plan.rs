//! What a catalogue is asked, and what it answers, in no engine's language.

use super::leaf::CatalogueLeaf;
pub(super) use crate::engine::answer::{AskError, TermsAnswer};
use crate::engine::answer::{EngineAnswer, Hit};
use crate::engine::clause;
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
pub(super) type Answer = EngineAnswer<String>;

/// A record of an answer; it has the identifier that the engine knows it by.
pub(super) type CatalogueHit = Hit<String>;

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
