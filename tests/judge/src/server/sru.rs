//! SRU judged: SRU 1.1 and 1.2 of the Library of Congress, and 2.0 of OASIS (searchRetrieve 1.0). Each check has a connection of its own and
//! looks at the XML itself, since readers that tolerate everything, as clients have them, see neither order nor namespaces.
//!
//! | module | what it holds |
//! |---|---|
//! | `checks` | the checks, a file for each subject |
//! | `offer` | what the server offers; `learn` finds it out first |
//! | `trial` | a check in progress: a request, and what came |
//! | `answer` | an answer: its numbers, records, terms and diagnostics |
//! | `model` | which elements have which children, and in which order |
//! | `parameters` | a request as names and values |
//! | `tree` | XML as a tree with namespaces, within limits |
//! | `tap` | the octets of a connection, counted, limited and kept for the report |

mod answer;
pub(super) mod checks;
pub(super) mod learn;
mod model;
pub(super) mod offer;
pub(super) mod parameters;
mod tap;
mod tree;
pub(super) mod trial;

/// How many requests a check may make. Those about explain search each of the indexes.
pub(super) const MAX_REQUESTS: u32 = 300;

#[cfg(test)]
mod tests;
