//! Tests of the library's public API as used by other programs: connections, queries, result sets, records, parts of an index.

mod connection;
mod editions;
mod examples;
mod find;
mod peers;
mod record;
mod resumption;
mod runtimes;
mod sharing;
