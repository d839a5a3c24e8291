//! Records into a response: as many as fit the sizes agreed on, with diagnostics in the place of those that never will
//! (Z39.50-2003 §3.3.1, conditions 16 and 17).

use z3950_asn1::apdu::{
    DatabaseName, DiagRec, External, ExternalEncoding, NamePlusRecord, PresentStatus, Record,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::composition::Composition;
use crate::backend::RecordId;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::session::Association;

/// What goes into a response.
pub(crate) struct Packed {
    /// Records and surrogate diagnostics, in the order asked for.
    pub(crate) records: Vec<NamePlusRecord>,
    /// Success, or partial-2 where not all fitted.
    pub(crate) status: PresentStatus,
}

/// Packs the wanted records, up to the first that no longer fits.
///
/// A record of more than the preferred message size is sent when it is the only one wanted, up to the exceptional record
/// size. So a client always gets on: the first place of a response is filled with the record or with a diagnostic.
pub(crate) fn pack(
    association: &Association,
    wanted: impl Iterator<Item = RecordId>,
    composition: &Composition,
) -> Packed {
    let terms = &association.terms;
    let mut wanted = wanted.peekable();
    let mut records = Vec::new();
    let mut octets: usize = 0;
    while let Some(id) = wanted.next() {
        if records.len() >= association.limits.records_per_response.max(1) {
            return Packed {
                records,
                status: PresentStatus::PARTIAL_2,
            };
        }
        let alone = records.is_empty() && wanted.peek().is_none();
        let (mut entry, mut size) = entry(association, id, composition);
        let too_large = if size > terms.exceptional_record_size {
            Some(Condition::RECORD_EXCEEDS_EXCEPTIONAL_SIZE)
        } else if size > terms.preferred_message_size && !alone {
            Some(Condition::RECORD_EXCEEDS_PREFERRED_SIZE)
        } else {
            None
        };
        if let Some(condition) = too_large {
            entry.record = surrogate(diagnostic(condition, size.to_string()));
            size = 0;
        }
        octets = octets.saturating_add(size);
        if octets > terms.preferred_message_size && !records.is_empty() {
            return Packed {
                records,
                status: PresentStatus::PARTIAL_2,
            };
        }
        records.push(entry);
    }
    Packed {
        records,
        status: PresentStatus::SUCCESS,
    }
}

/// The record or the diagnostic in its place, and its octets.
fn entry(
    association: &Association,
    id: RecordId,
    composition: &Composition,
) -> (NamePlusRecord, usize) {
    let backend = &association.backend;
    let database = backend.database_of(id);
    let element_set = composition.element_set(database);
    let syntax = composition
        .syntax
        .unwrap_or_else(|| backend.default_syntax(id));
    let (record, size) = match backend.record(id, &syntax, element_set) {
        Ok(external) => {
            let size = octets(&external);
            (Record::RetrievalRecord(external), size)
        }
        Err(diagnostic) => (surrogate(diagnostic), 0),
    };
    let name = Some(DatabaseName::from(database));
    (NamePlusRecord { name, record }, size)
}

fn surrogate(diagnostic: Diagnostic) -> Record {
    Record::SurrogateDiagnostic(DiagRec::DefaultFormat(diagnostic))
}

fn octets(external: &External) -> usize {
    match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => value.as_bytes().len(),
        ExternalEncoding::OctetAligned(octets) => octets.len(),
        ExternalEncoding::Arbitrary(bits) => bits.len().div_ceil(8),
    }
}
