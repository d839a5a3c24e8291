//! The public face of the library, as a program that depends on it sees it: connections, queries, result sets, records,
//! parts of an index.

mod connection;
mod examples;
mod peers;
mod record;
