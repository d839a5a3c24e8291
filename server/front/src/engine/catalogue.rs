//! A database in an index that belongs to another program, such as Koha, VuFind or Blacklight. The index is only
//! read, never written.
//!
//! ```text
//!  map ─▶ offer ◀─ fields of the index
//!          │
//!  search ─▶ term ─▶ clause ─▶ plan ─▶ dialect ─▶ link that reads ─▶ a server of the engine
//!    hits ◀────────────────── answer ◀──┘
//! ```

mod database;
mod dialect;
mod error;
mod koha;
mod leaf;
mod look;
mod map;
mod masks;
mod offer;
mod plan;
mod scan;
mod search;
mod solr;
mod term;

pub use self::database::CatalogueDatabase;
pub use self::error::CatalogueError;
pub use self::look::{FittingMap, Look, look};
pub use self::map::{CatalogueEngine, CatalogueMap, CatalogueMapError};
pub use self::offer::MissingField;

/// The options of a catalogue: its name, the location of its index, and the time limits.
pub type CatalogueOptions = super::EngineOptions;

#[cfg(test)]
mod tests;
