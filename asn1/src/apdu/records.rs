//! The records in a response: database records, fragments of segmented records, and diagnostics in place of records
//! (Z39.50-2003 §3.2.2.1.8, §4.1 `Records`).

use super::{DatabaseName, DefaultDiagFormat, DiagRec, External, ExternalEncoding};
use crate::production::productions;
use crate::types::OctetString;

productions! {
    /// The records in a response, or diagnostics in their place.
    pub enum Records {
        [28] ResponseRecords(Vec<NamePlusRecord>),
        [130] NonSurrogateDiagnostic(DefaultDiagFormat),
        [205] MultipleNonSurDiagnostics(Vec<DiagRec>),
    }

    /// A record and the name of its database.
    pub struct NamePlusRecord {
        [0] name: Option<DatabaseName>,
        [1] record: Record,
    }

    /// A record, a fragment of a record, or the diagnostic in place of a record.
    pub enum Record {
        [explicit 1] RetrievalRecord(External),
        [2] SurrogateDiagnostic(DiagRec),
        [3] StartingFragment(FragmentSyntax),
        [4] IntermediateFragment(FragmentSyntax),
        [5] FinalFragment(FragmentSyntax),
    }

    /// A fragment of a record.
    pub enum FragmentSyntax {
        ExternallyTagged(External),
        NotExternallyTagged(OctetString),
    }
}

impl NamePlusRecord {
    /// Returns the octets of the record or fragment, unless it is encoded in a different way.
    pub(crate) fn octets(&self) -> Option<&[u8]> {
        let external = match &self.record {
            Record::RetrievalRecord(external) => external,
            Record::SurrogateDiagnostic(_) => return None,
            Record::StartingFragment(fragment)
            | Record::IntermediateFragment(fragment)
            | Record::FinalFragment(fragment) => match fragment {
                FragmentSyntax::ExternallyTagged(external) => external,
                FragmentSyntax::NotExternallyTagged(octets) => return Some(octets),
            },
        };
        match &external.encoding {
            ExternalEncoding::OctetAligned(octets) => Some(octets),
            _ => None,
        }
    }
}
