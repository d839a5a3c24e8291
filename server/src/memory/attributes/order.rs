//! The index of a scan or sort (Z39.50-2003 §3.2.8.1.1, §3.2.7.1.3).

use z3950_asn1::apdu::{AttributesPlusTerm, SortKey};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;

use super::read::{TermAttributes, TermText};
use super::support::{KEY, NAME_NORMALIZED};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::index::Terms;
use crate::memory::words::words;

/// The terms to scan, and the starting term in their form; empty for the first term.
///
/// Structures 1, 3 and 101 scan the whole entries of an index of texts that has them, all others its words.
///
/// # Errors
/// The first unsupported attribute.
pub(in crate::memory) fn scan_start(
    fields: &Fields,
    attribute_set: &Oid,
    start: &AttributesPlusTerm,
) -> Result<(Terms, Vec<u8>), Diagnostic> {
    let TermAttributes {
        index,
        kind,
        relation,
        truncation,
        structure,
        ..
    } = TermAttributes::read(fields, attribute_set, &start.attributes)?;
    let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
    if relation != bib1::RELATION_EQUAL {
        return refused(Condition::RELATION, relation);
    }
    if ![bib1::TRUNCATION_NONE, bib1::TRUNCATION_RIGHT].contains(&truncation) {
        return refused(Condition::TRUNCATION, truncation);
    }
    let term = TermText::read(&start.term, kind, &fields.profile)?;
    let text = &*term.text;
    let as_wholes = matches!(
        structure,
        Some(bib1::STRUCTURE_PHRASE | KEY | NAME_NORMALIZED)
    );
    let (terms, start) = match kind {
        Kind::Octets => return Ok((Terms::Keys(index), term.octets.to_vec())),
        Kind::Text if as_wholes && fields.has_keys(index) => {
            (Terms::Keys(index), kind.key(text).unwrap_or_default())
        }
        Kind::Text => (
            Terms::Words(index),
            words(text).into_iter().next().unwrap_or_default(),
        ),
        // A scan can start at an incomplete key.
        _ => (
            Terms::Keys(index),
            kind.key(text).unwrap_or_else(|| words(text).concat()),
        ),
    };
    Ok((terms, start.into_bytes()))
}

/// The index of a sort key: a name, or attributes with a Use value.
///
/// # Errors
/// 207 for elements and for a name without an index; for attributes, the first unsupported one.
pub(in crate::memory) fn sort_index(fields: &Fields, key: &SortKey) -> Result<IndexId, Diagnostic> {
    match key {
        SortKey::SortField(name) => {
            let name = name.to_string_lossy();
            let found = fields.points().by_name(&name).map(|(index, _)| index);
            found.ok_or_else(|| diagnostic(Condition::SORT_SEQUENCE, &*name))
        }
        SortKey::ElementSpec(_) => Err(diagnostic(Condition::SORT_SEQUENCE, "elementSpec")),
        SortKey::SortAttributes(by) => Ok(TermAttributes::read(fields, &by.id, &by.list.0)?.index),
    }
}
