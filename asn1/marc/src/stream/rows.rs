//! Records from the rows of a table: each column goes to a field, by its heading. What [`Table`](crate::table::Table) writes is read
//! back with the same values.

mod build;
mod headings;

pub use self::headings::{HeadingError, Headings};

#[cfg(test)]
mod tests;
