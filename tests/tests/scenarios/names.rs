//! The names of the APDUs in common sequences, in the form that transcripts contain.

pub(crate) const INIT: [&str; 2] = ["initRequest", "initResponse"];
pub(crate) const SEARCH: [&str; 2] = ["searchRequest", "searchResponse"];
pub(crate) const PRESENT: [&str; 2] = ["presentRequest", "presentResponse"];
pub(crate) const CLOSE: [&str; 2] = ["close", "close"];

/// Concatenates the sequences.
pub(crate) fn sequence(parts: &[&[&'static str]]) -> Vec<&'static str> {
    parts.concat()
}
