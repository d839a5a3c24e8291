//! The answers of a session, and the size of the records in them (Z39.50-2003 §3.2.2.1.5, §3.3).

use z3950_asn1::apdu::{Apdu, FragmentSyntax, NamePlusRecord, Record, Records, ReferenceId};

/// The APDUs that a session sends, and whether the connection then ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The APDUs, in order.
    pub apdus: Vec<Apdu>,
    /// Whether to close the connection after sending the APDUs.
    pub hang_up: bool,
}

impl Reply {
    /// Returns a reply that ends the connection without sending an APDU.
    pub fn hang_up() -> Self {
        Self {
            hang_up: true,
            ..Self::default()
        }
    }

    /// Returns the number of octets of the records in the reply.
    pub(crate) fn octets(&self) -> usize {
        self.apdus.iter().map(octets_of_records).sum()
    }

    /// Sets the referenceId of all answers.
    pub(super) fn bearing(mut self, reference_id: Option<ReferenceId>) -> Self {
        for apdu in &mut self.apdus {
            apdu.set_reference_id(reference_id.clone());
        }
        self
    }
}

impl From<Apdu> for Reply {
    fn from(apdu: Apdu) -> Self {
        Self::from(vec![apdu])
    }
}

impl From<Vec<Apdu>> for Reply {
    fn from(apdus: Vec<Apdu>) -> Self {
        Self {
            apdus,
            hang_up: false,
        }
    }
}

/// Returns the number of octets of the records in an answer.
fn octets_of_records(answer: &Apdu) -> usize {
    match answer {
        Apdu::SearchResponse(search) => octets_in(&search.records),
        Apdu::PresentResponse(present) => octets_in(&present.records),
        Apdu::Segment(segment) => octets_of_all(&segment.segment_records),
        _ => 0,
    }
}

pub(super) fn octets_in(records: &Option<Records>) -> usize {
    match records {
        Some(Records::ResponseRecords(records)) => octets_of_all(records),
        _ => 0,
    }
}

fn octets_of_all(records: &[NamePlusRecord]) -> usize {
    records.iter().map(|one| octets_of(&one.record)).sum()
}

fn octets_of(record: &Record) -> usize {
    match record {
        Record::RetrievalRecord(external)
        | Record::StartingFragment(FragmentSyntax::ExternallyTagged(external)) => {
            external.octets().len()
        }
        Record::IntermediateFragment(FragmentSyntax::NotExternallyTagged(octets))
        | Record::FinalFragment(FragmentSyntax::NotExternallyTagged(octets)) => octets.len(),
        _ => 0,
    }
}
