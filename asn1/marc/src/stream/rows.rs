//! Creates records from the rows of a table: each column becomes a field, according to its heading. The output of
//! [`Table`](crate::table::Table) can be read back with the same values.

mod build;
mod headings;

pub use self::headings::{HeadingError, Headings};

#[cfg(test)]
mod tests;
