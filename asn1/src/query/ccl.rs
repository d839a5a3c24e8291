//! CCL, the Common Command Language (ISO 8777), in YAZ's dialect. A bib file defines the qualifiers with which queries
//! are parsed. RPN queries are printed as CCL if the qualifiers can express them.
//!
//! ```
//! use z3950_asn1::query::ccl::{self, Bib};
//!
//! let bib = Bib::default();
//! let query = ccl::parse("ti=war and date>1980", &bib)?;
//! assert_eq!(query.to_string(), "@and @attr 1=4 war @attr 2=5 @attr 1=31 1980");
//! assert_eq!(ccl::print(&query, &bib)?, "ti=war and date>1980");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bib;
mod parse;
mod print;
mod relation;
mod term;
#[cfg(test)]
mod tests;
mod token;

pub use bib::{Bib, BibError, MAX_BIB_LENGTH};
pub use parse::{MAX_WRITTEN_OUT, parse};
pub use print::{MAX_ATTRIBUTES_SAID, print};
