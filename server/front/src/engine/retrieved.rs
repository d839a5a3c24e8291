//! Records of an engine in the syntax that a client wants.

use bytes::Bytes;
use z3950_server::asn1::apdu::External;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::record::marc_syntax;
use z3950_server::backend::{Composition, RecordId};
use z3950_server::marc::iso2709;
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

/// The position of a record, by which result sets of an engine identify it.
pub(super) fn position_of(RecordId(position): RecordId) -> Option<u32> {
    u32::try_from(position).ok()
}

/// What a client is told of a result set that is not of this database.
pub(super) fn foreign() -> Diagnostic {
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")
}

/// Converts a record.
///
/// # Errors
/// 238 for a syntax that the record is not available in, 14 for a record that cannot be read.
pub(super) fn converted(
    octets: &Bytes,
    composition: &Composition,
    database: &str,
) -> Result<External, Diagnostic> {
    let damaged = |_| diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "the record is damaged");
    let own = marc_syntax(&iso2709::parse(octets).map_err(damaged)?.record);
    let syntax = composition.syntax.unwrap_or(own);
    forms::record(octets, own, &syntax, composition.element_set(database))
}

/// Returns the diagnostic of a Present for that of a search.
pub(super) fn presenting(why: Diagnostic) -> Diagnostic {
    if Condition(why.condition) == Condition::DATABASE_UNAVAILABLE {
        let words = why.addinfo.to_string_lossy();
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, &*words)
    } else {
        why
    }
}

/// What a client is told if the records of a set may have other positions now.
pub(super) fn other_parts() -> Diagnostic {
    let words = "other parts of the index answer than answered the search: search again";
    diagnostic(Condition::DATABASE_UNAVAILABLE, words)
}

/// What a client is told of a position that is too far; `start` counts from 0.
pub(super) fn out_of_range(start: usize) -> Diagnostic {
    let position = start.saturating_add(1).to_string();
    diagnostic(Condition::OUT_OF_RANGE, position)
}
