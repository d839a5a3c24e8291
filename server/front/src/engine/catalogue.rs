//! A database in the index that another program keeps, such as Koha, VuFind or Blacklight: it is read, and never written.
//!
//! ```text
//!  map ─▶ offer ◀─ fields of the index
//!          │
//!  search ─▶ term ─▶ clause ─▶ plan ─▶ dialect ─▶ link that reads ─▶ a server of the engine
//!    hits ◀────────────────── answer ◀──┘
//! ```

mod database;
mod dialect;
mod koha;
mod leaf;
mod look;
mod map;
mod masks;
mod offer;
mod options;
mod plan;
mod scan;
mod search;
mod solr;
mod term;

pub use self::database::CatalogueDatabase;
pub use self::look::{FittingMap, Look, look};
pub use self::map::{CatalogueEngine, CatalogueMap, CatalogueMapError};
pub use self::offer::MissingField;
pub use self::options::{CatalogueError, CatalogueOptions};

#[cfg(test)]
mod tests;
