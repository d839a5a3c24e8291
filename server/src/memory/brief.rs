//! Element set B of a MARC 21 or UNIMARC record: the fields that identify it in a list (Z39.50-2003 §3.6.2 leaves these to the
//! server).

use z3950_asn1::oid::UNIMARC;
use z3950_asn1::record::marc_syntax;
use z3950_marc::MarcRecord;

use super::fields::effective_tag;

/// Control number and date, fixed data, identifiers, main entry, title, edition, publication and extent.
const BRIEF: &[&str] = &[
    "001", "003", "005", "008", "020", "022", "100", "110", "111", "130", "245", "250", "260",
    "264", "300",
];
/// The corresponding fields of UNIMARC; 100 has the character set.
const BRIEF_UNIMARC: &[&str] = &[
    "001", "003", "005", "010", "011", "100", "101", "200", "205", "210", "214", "215", "700",
    "710", "720",
];

/// The record with only the fields of element set B, including those in another script.
pub(super) fn brief(record: &MarcRecord) -> MarcRecord {
    let brief = match marc_syntax(record) == UNIMARC {
        true => BRIEF_UNIMARC,
        false => BRIEF,
    };
    let wanted = |tag: &[u8]| brief.iter().any(|known| known.as_bytes() == tag);
    let fields = record.fields.iter();
    MarcRecord {
        leader: record.leader,
        fields: fields
            .filter(|field| wanted(effective_tag(field).as_ref()))
            .cloned()
            .collect(),
    }
}
