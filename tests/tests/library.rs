//! The public API of the library as other programs use it: connections, queries, result sets, records, parts of an index.

mod connection;
mod editions;
mod examples;
mod find;
mod peers;
mod record;
mod resumption;
mod sharing;
