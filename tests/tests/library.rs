//! Tests of the library's public API in the way other programs use it: connections, queries, result sets, records, and parts of
//! an index.

mod connection;
mod editions;
mod examples;
mod find;
mod peers;
mod record;
mod resumption;
mod runtimes;
mod sharing;
