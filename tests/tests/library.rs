//! The public API of the library as a dependent program uses it: connections, queries, result sets, records, parts of an
//! index.

mod connection;
mod editions;
mod examples;
mod find;
mod peers;
mod record;
mod resumption;
mod sharing;
