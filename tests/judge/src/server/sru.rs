//! Judges SRU servers: SRU 1.1 and 1.2 from the Library of Congress, and 2.0 from OASIS (searchRetrieve 1.0). Each check opens a
//! new connection and inspects the XML itself, because tolerant parsers, such as those of clients, ignore the order of elements
//! and their namespaces.
//!
//! | module | contents |
//! |---|---|
//! | `checks` | the checks, with one file per subject |
//! | `learn` | determines what the server offers |
//! | `trial` | a check in progress: requests and their answers |
//! | `answer` | an answer: its numbers, records, terms and diagnostics |
//! | `model` | the children of each element, and their order |
//! | `parameters` | a request as names and values |
//! | `tree` | XML as a tree with namespaces, within limits |
//! | `tap` | counts and limits the octets of a connection, and keeps them for the report |

mod answer;
pub(super) mod checks;
pub(super) mod learn;
mod model;
pub(super) mod parameters;
mod tap;
mod tree;
pub(super) mod trial;

/// The maximum number of requests in a check. It is high because the explain checks search each index.
pub(super) const MAX_REQUESTS: u32 = 300;

#[cfg(test)]
mod tests;
