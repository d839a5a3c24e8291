//! A database in a distributed search engine: type-1 queries become queries of the engine, records are the octets that it keeps.
//!
//! What any engine shares is here: what to find (`clause`), what to ask (`plan`) and what comes back (`answer`), without a word of
//! an engine's language. [`opensearch`] makes and fills an index of its own in OpenSearch; [`catalogue`] reads the index that another
//! program keeps.
//!
//! A search goes through these modules:
//!
//! 1. `clause` walks the type-1 query and makes a `Clause` of it: what to find in which index. Operators of one kind become one list.
//!    A term becomes a leaf of the index's own kind: `opensearch::leaf` reads terms with the code of `MemoryBackend`, and joins terms of
//!    one index. A query of more than 1,000 leaves or 30 levels is refused here.
//! 2. `plan` is what is asked in one request: the clause, the order, the page, facets, counts, and the time to answer in.
//! 3. `elastic::request` writes the plan in JSON; `opensearch::request` says in which fields, which `opensearch::document` describes, and
//!    `opensearch::pattern` writes masks and regular expressions. Terms were folded and split by the code of `MemoryBackend`; the engine
//!    does neither. `link` sends the JSON to one of the nodes.
//! 4. `elastic` makes an `EngineAnswer` of the response: the total, the records, and what is missing. It also decides which diagnostic a
//!    failure is.
//! 5. `hits` keeps the clause as the result set, and `pages` fetches records when they are presented. `far` finds those far from the
//!    first where records are in the order of numbers: the number at a position is estimated, and corrected by a count.
//!
//! What any database in an engine does with these is written once, in `search`, `sort`, `scan` and `pages`, over the trait
//! `EngineDatabase`.
//!
//! Another engine needs leaves, a `request` and a `response` of its own. In a catalogue, `catalogue::map` reads which field answers which
//! attribute (`catalogue/maps`), and `catalogue::offer` compares the map with the fields of the index every minute, and offers what both
//! have. `catalogue::term` decides what a term means and sends its text verbatim, since the engine folds it. `catalogue::dialect` chooses
//! the language of the engine, which `catalogue::koha` or `catalogue::solr` writes.

mod answer;
#[cfg(test)]
mod asking;
mod cache;
pub mod catalogue;
mod clause;
mod elastic;
mod far;
mod health;
mod hits;
mod layout;
mod link;
pub mod opensearch;
mod options;
mod pages;
mod plan;
mod records;
mod scan;
mod search;
mod sort;
mod uses;

pub use self::health::ServerCounts;
pub use self::layout::EngineLayout;
pub use self::options::EngineOptions;
pub use self::uses::{IndexNameError, IndexUses, named_indexes};
