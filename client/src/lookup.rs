//! Looks up known records by identifier, in any usual notation (Z39.50-2003 Appendix ATR.3; RFC 2056 §4 for docids).
//!
//! | file | holds |
//! |---|---|
//! | `attempts` | the searches for an identifier, most likely first |
//! | `matched` | the field of a record that contains the identifier |
//! | `of_record` | the identifiers in a record, which are used to look up a better record |
//! | `publication` | title, author and year of a record, by which a record without an identifier is looked up |
//! | `merit` | chooses the best of several records for copy cataloguing |

pub(crate) mod attempts;
mod matched;
mod merit;
mod of_record;
mod publication;

pub(crate) use self::attempts::{Attempt, Precondition, attempts, broader};
pub use self::matched::{Match, holds, matched};
pub(crate) use self::matched::{has_docid, has_identifier};
pub(crate) use self::merit::Merit;
pub use self::merit::{Preferences, SOURCES, cataloguing_language};
pub use self::of_record::identifiers;
pub use self::publication::Publication;
pub(crate) use self::publication::{Likeness, broader_searches, searches};
pub use crate::identifier::{Identifier, IdentifierError, Kind, MAX_IDENTIFIERS};
