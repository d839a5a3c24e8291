//! Segmentation: combines the Segments of a Present response, and the fragments of records in them (Z39.50-2003 §3.3.2,
//! §3.3.3).

use z3950_asn1::apdu::{
    DiagRec, External, ExternalEncoding, FragmentSyntax, NamePlusRecord, PresentResponse, Record,
    Records, Segment,
};
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::Any;

use crate::error::ProtocolFault;
use crate::protocol::service::diagnostics::inform;
use crate::protocol::service::miscounted;

/// The maximum number of octets in all segments of one answer.
pub(super) const MAX_OCTETS: usize = 67_108_864;

/// The record syntaxes in which a record is a BER value.
const ASN1_SYNTAXES: [Oid; 5] = [
    oid::OPAC,
    oid::GRS_1,
    oid::SUMMARY,
    oid::EXPLAIN,
    oid::TASK_PACKAGE,
];

/// The Segments received so far, before the Present response.
#[derive(Default)]
pub(super) struct Segments {
    records: Vec<NamePlusRecord>,
    octets: usize,
}

impl Segments {
    /// Adds a Segment. `octets` is its encoded length.
    pub(super) fn add(&mut self, segment: Segment, octets: usize) -> Result<(), ProtocolFault> {
        let announced = segment.number_of_records_returned;
        let came = segment.segment_records.len();
        if usize::try_from(announced) != Ok(came) {
            return Err(miscounted(announced, came));
        }
        self.octets = self.octets.saturating_add(octets);
        if self.octets > MAX_OCTETS {
            return Err(ProtocolFault::Segments(MAX_OCTETS));
        }
        self.records.extend(segment.segment_records);
        Ok(())
    }

    /// Returns the complete answer, which ends with `last`. `syntax` is the requested record syntax.
    /// `are_fragments_allowed` says whether level 2 segmentation is in effect. Without it, fragments are left
    /// unchanged.
    ///
    /// Some servers count only the records in `last`, and others count the records in all segments. Either number is
    /// accepted, and is replaced by the number of complete records. If there are records in segments, non-surrogate
    /// diagnostics in `last` become additional information in format diag-1 (Appendix DIAG.2), because a response
    /// contains either records or diagnostics.
    pub(super) fn complete(
        &mut self,
        mut last: PresentResponse,
        syntax: Option<Oid>,
        are_fragments_allowed: bool,
    ) -> Result<PresentResponse, ProtocolFault> {
        let has_fragments =
            |records: &[NamePlusRecord]| records.iter().any(|named| is_fragment(&named.record));
        let is_cut = match &last.records.0 {
            Some(Records::ResponseRecords(records)) => has_fragments(records),
            _ => false,
        };
        if self.records.is_empty() && !(is_cut && are_fragments_allowed) {
            return Ok(last);
        }
        let mut records = std::mem::take(&mut self.records);
        let before = records.len();
        let mut is_counted = false;
        match last.records.0.take() {
            Some(Records::ResponseRecords(rest)) => records.extend(rest),
            None => {}
            Some(Records::NonSurrogateDiagnostic(diagnostic)) => {
                is_counted = true;
                inform(&mut last.other_info, [DiagRec::DefaultFormat(diagnostic)]);
            }
            Some(Records::MultipleNonSurDiagnostics(diagnostics)) => {
                is_counted = true;
                inform(&mut last.other_info, diagnostics);
            }
        }
        let announced = last.number_of_records_returned;
        let came = records.len();
        if are_fragments_allowed && has_fragments(&records) {
            records = join(records, syntax)?;
        }
        let counts = [came, came - before, records.len()];
        is_counted |= usize::try_from(announced).is_ok_and(|count| counts.contains(&count));
        if !is_counted {
            return Err(miscounted(announced, came));
        }
        last.number_of_records_returned = i64::try_from(records.len()).unwrap_or(i64::MAX);
        last.records = Records::ResponseRecords(records).into();
        Ok(last)
    }
}

fn is_fragment(record: &Record) -> bool {
    matches!(
        record,
        Record::StartingFragment(_) | Record::IntermediateFragment(_) | Record::FinalFragment(_)
    )
}

/// Joins fragments into records. Complete records are left unchanged.
fn join(
    records: Vec<NamePlusRecord>,
    syntax: Option<Oid>,
) -> Result<Vec<NamePlusRecord>, ProtocolFault> {
    let mut whole = Vec::with_capacity(records.len());
    let mut open: Option<(NamePlusRecord, Parts)> = None;
    for NamePlusRecord { name, record } in records {
        match (record, open.take()) {
            (Record::StartingFragment(fragment), None) => {
                let parts = Parts::begin(fragment)?;
                // This record is a placeholder until the last fragment has arrived.
                let record = Record::RetrievalRecord(External::octet_aligned(oid::SUTRS, ""));
                open = Some((NamePlusRecord { name, record }, parts));
            }
            (Record::IntermediateFragment(fragment), Some((slot, mut parts))) => {
                parts.add(fragment)?;
                open = Some((slot, parts));
            }
            (Record::FinalFragment(fragment), Some((mut slot, mut parts))) => {
                parts.add(fragment)?;
                slot.record = Record::RetrievalRecord(parts.record(syntax)?);
                whole.push(slot);
            }
            (record @ (Record::RetrievalRecord(_) | Record::SurrogateDiagnostic(_)), None) => {
                whole.push(NamePlusRecord { name, record });
            }
            _ => return Err(ProtocolFault::Fragments),
        }
    }
    match open {
        None => Ok(whole),
        Some(_) => Err(ProtocolFault::Fragments),
    }
}

/// The fragments of a record received so far.
struct Parts {
    octets: Vec<u8>,
    /// The record syntax named by the EXTERNAL that encloses the first fragment, or `None` if the fragments are not
    /// enclosed in an EXTERNAL.
    tag: Option<Option<Oid>>,
}

impl Parts {
    fn begin(fragment: FragmentSyntax) -> Result<Self, ProtocolFault> {
        let tag = match &fragment {
            FragmentSyntax::ExternallyTagged(external) => Some(external.direct_reference),
            FragmentSyntax::NotExternallyTagged(_) => None,
        };
        let mut parts = Self {
            octets: Vec::new(),
            tag,
        };
        parts.add(fragment)?;
        Ok(parts)
    }

    fn add(&mut self, fragment: FragmentSyntax) -> Result<(), ProtocolFault> {
        match &fragment {
            FragmentSyntax::NotExternallyTagged(octets) => self.octets.extend_from_slice(octets),
            FragmentSyntax::ExternallyTagged(external) => match &external.encoding {
                ExternalEncoding::OctetAligned(octets) => self.octets.extend_from_slice(octets),
                ExternalEncoding::SingleAsn1Type(value) => {
                    self.octets.extend_from_slice(value.as_bytes());
                }
                ExternalEncoding::Arbitrary(_) => return Err(ProtocolFault::Fragments),
            },
        }
        Ok(())
    }

    /// Returns the record. The standard does not define the meaning of joined fragments without an EXTERNAL. Here they
    /// are an EXTERNAL if they can be decoded as one, and otherwise a record in the requested syntax.
    fn record(self, asked: Option<Oid>) -> Result<External, ProtocolFault> {
        let direct_reference = match self.tag {
            Some(syntax) => syntax,
            None => match decode_value(&self.octets) {
                Ok(external) => return Ok(external),
                Err(_) => asked,
            },
        };
        let is_asn1 = direct_reference.is_some_and(|syntax| ASN1_SYNTAXES.contains(&syntax));
        let encoding = if is_asn1 {
            ExternalEncoding::SingleAsn1Type(Any::new(self.octets).ok_or(ProtocolFault::Fragments)?)
        } else {
            ExternalEncoding::OctetAligned(self.octets.into())
        };
        Ok(External {
            direct_reference,
            indirect_reference: None,
            descriptor: None,
            encoding,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_taken_up_to_the_limit() {
        let segment = || Segment {
            reference_id: None,
            number_of_records_returned: 0,
            segment_records: vec![],
            other_info: None,
        };
        for (octets, expected) in [
            (vec![MAX_OCTETS], Ok(())),
            (vec![1, MAX_OCTETS - 1], Ok(())),
            (
                vec![MAX_OCTETS, 1],
                Err(ProtocolFault::Segments(MAX_OCTETS)),
            ),
            (
                vec![1, usize::MAX],
                Err(ProtocolFault::Segments(MAX_OCTETS)),
            ),
        ] {
            let mut segments = Segments::default();
            let mut added = octets.iter().map(|octets| segments.add(segment(), *octets));
            assert_eq!(added.try_for_each(|added| added), expected, "{octets:?}");
        }
    }
}
