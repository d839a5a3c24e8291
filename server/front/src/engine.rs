//! A database in a distributed search engine: type-1 queries become queries for the engine, and records are the octets that
//! the engine stores.
//!
//! This module contains the code that all engines share: what to find (`clause`), the request (`plan`) and the answer
//! (`answer`), independently of the engine's language. [`opensearch`] creates and fills its own index in OpenSearch;
//! [`catalogue`] reads an index that belongs to another program.
//!
//! A search goes through these modules:
//!
//! 1. `clause` converts the type-1 query to a `Clause`, which says what to find in which index. Nested operators of one kind
//!    become one list. A term becomes a leaf, whose type depends on the kind of index: `opensearch::leaf` reads terms with the
//!    code of `MemoryBackend`, and joins terms in one index. A query with more than 1,000 leaves or 30 levels is refused here.
//! 2. `plan` describes one request: the clause, the order, the page, facets, counts, and the time limit.
//! 3. `elastic::request` converts the plan to JSON. `opensearch::request` decides which of the fields described in
//!    `opensearch::document` are searched, and `opensearch::pattern` writes masks and regular expressions. The code of
//!    `MemoryBackend` has already folded and split the terms, so the engine does neither. `link` sends the JSON to one of the
//!    nodes.
//! 4. `elastic` converts the response to an `EngineAnswer`: the total, the records, and a description of what is missing. It
//!    also chooses the diagnostic for a failure.
//! 5. `hits` keeps the clause as the result set, and `pages` fetches records when they are presented. `far` finds records at
//!    high positions if records are ordered by number: it estimates the number of the record at a position, and corrects the
//!    estimate by counting.
//!
//! The code that all databases in engines have in common is in `search`, `sort`, `scan` and `pages`, which use the trait
//! `EngineDatabase`.
//!
//! Another engine needs its own leaves, `request` and `response`. In a catalogue, `catalogue::map` reads which field answers
//! which attribute (`catalogue/maps`), and `catalogue::offer` compares the map with the fields of the index every minute, and
//! offers the attributes for which the index has fields. `catalogue::term` decides what a term means and sends its text
//! unchanged, because the engine folds it. `catalogue::dialect` chooses the language of the engine, which is implemented by
//! `catalogue::koha` or `catalogue::solr`.

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

pub use self::layout::EngineLayout;
pub use self::link::ServerCounts;
pub use self::options::EngineOptions;
pub use self::uses::{IndexNameError, IndexUses, named_indexes};
