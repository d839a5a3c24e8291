//! A target of a search.

use z3950::pager::PagerOptions;
use z3950::service::search::SearchOptions;

use super::Wanted;
use crate::commands::target::NamedTarget;

/// A target, and how to search it.
pub(super) struct Spot {
    pub(super) place: NamedTarget,
    pub(super) search: SearchOptions,
    pub(super) options: PagerOptions,
}

impl Spot {
    pub(super) fn new(wanted: &Wanted, count: u64, place: NamedTarget) -> Self {
        let (mut search, mut options) = place.options(&wanted.asked);
        search.takes_unknown_count = true;
        options.chunk_size = options.chunk_size.min(count.max(1));
        // The first records come with the search, unless others are to be shown first.
        let is_sorted_later = !wanted.sort.is_empty() && !place.resolved.endpoint.is_sru();
        if wanted.start == 1 && !is_sorted_later {
            search = search.with_records(options.chunk_size.min(count));
        }
        Self {
            search,
            options,
            place,
        }
    }

    /// Whether queries are asked over SRU.
    pub(super) fn is_sru(&self) -> bool {
        self.place.resolved.endpoint.is_sru()
    }
}
