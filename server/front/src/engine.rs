//! A database in a distributed search engine: type-1 queries become queries of the engine, records are the octets that it keeps.
//!
//! What any engine shares is here: what to find (`clause`), what to ask (`plan`) and what comes back (`answer`), without a word of
//! an engine's language. [`opensearch`] makes and fills an index of its own in OpenSearch; [`catalogue`] reads the index that another
//! program keeps.

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
