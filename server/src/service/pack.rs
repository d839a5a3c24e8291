//! Records into a response, or into segments of one: as many as fit the sizes agreed on, with diagnostics in the place of
//! those that never will (Z39.50-2003 §3.3, conditions 16 and 17).

use bytes::Bytes;
use z3950_asn1::apdu::{
    DatabaseName, DiagRec, External, ExternalEncoding, FragmentSyntax, NamePlusRecord,
    PresentStatus, Record,
};
use z3950_asn1::bib1::diagnostics::Condition;

use crate::backend::{Composition, RecordId, Retrieve, Retrieved};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::result_sets::ResultSet;
use crate::session::{Association, CANCELLED, Operation};

/// What goes into a response.
pub(crate) struct Packed {
    /// The segments before the response itself.
    pub(crate) segments: Vec<Vec<NamePlusRecord>>,
    /// Records and surrogate diagnostics of the response, in the order asked for.
    pub(crate) last: Vec<NamePlusRecord>,
    /// How many records there are in all, each counted once.
    pub(crate) records: usize,
    /// Success, partial-2 where not all fitted, partial-3 where the client had it stopped, or partial-4 where the server had.
    pub(crate) status: PresentStatus,
}

/// How much goes where, in octets of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// In a segment, or in the response where there is only that.
    pub(crate) segment: usize,
    /// The most segments, the response itself included.
    pub(crate) segments: usize,
    /// In a record.
    pub(crate) record: usize,
    /// Whether a record may span segments (level 2).
    pub(crate) fragments: bool,
}

impl Sizes {
    /// Without segments.
    pub(crate) fn of(association: &Association) -> Self {
        Self {
            segment: association.terms.preferred_message_size,
            segments: 1,
            record: association.terms.exceptional_record_size,
            fragments: false,
        }
    }
}

/// Packs the wanted records, up to the first that no longer fits.
///
/// Where records are not fragmented, one of more than the preferred message size is sent when it is the only one wanted, up to
/// the exceptional record size. So a client always gets on: the first place of a response is filled with the record or with a
/// diagnostic.
///
/// # Errors
/// The backend's, where it has no records at all, and why it was stopped before the first.
pub(crate) async fn pack(
    operation: &Operation,
    set: &ResultSet,
    wanted: Vec<RecordId>,
    composition: &Composition,
    sizes: &Sizes,
) -> Result<Packed, Diagnostic> {
    let most = operation.target.limits.records_per_response.max(1);
    let only = wanted.len() == 1;
    let mut packing = Packing::new(*sizes, wanted.len().min(most));
    for record in wanted {
        if packing.records >= most {
            return Ok(packing.end(PresentStatus::PARTIAL_2));
        }
        let wanted = Retrieve {
            hits: &set.hits,
            record,
            composition,
        };
        let retrieved = set.backend.record(wanted);
        match operation.or_stopped(retrieved).await {
            Ok(Retrieved { database, record }) => {
                if !packing.add(database, record, only) {
                    return Ok(packing.end(PresentStatus::PARTIAL_2));
                }
            }
            Err(why) if operation.is_stopped() && packing.records > 0 => {
                let by_client = why.condition == CANCELLED.0;
                return Ok(packing.end(match by_client {
                    true => PresentStatus::PARTIAL_3,
                    false => PresentStatus::PARTIAL_4,
                }));
            }
            Err(why) => return Err(why),
        }
    }
    Ok(packing.end(PresentStatus::SUCCESS))
}

/// Segments being filled.
struct Packing {
    sizes: Sizes,
    full: Vec<Vec<NamePlusRecord>>,
    current: Vec<NamePlusRecord>,
    /// Octets of records in the current segment.
    octets: usize,
    records: usize,
}

impl Packing {
    fn new(sizes: Sizes, records: usize) -> Self {
        Self {
            sizes,
            full: Vec::new(),
            current: Vec::with_capacity(records),
            octets: 0,
            records: 0,
        }
    }

    fn end(self, status: PresentStatus) -> Packed {
        Packed {
            segments: self.full,
            last: self.current,
            records: self.records,
            status,
        }
    }

    /// Adds a record, or the diagnostic in its place; answers whether there was room.
    fn add(
        &mut self,
        database: DatabaseName,
        record: Result<External, Diagnostic>,
        only: bool,
    ) -> bool {
        let (record, size) = match record {
            Ok(external) => {
                let size = octets(&external);
                match self.never_fits(size, only) {
                    Some(condition) => (Err(diagnostic(condition, size.to_string())), 0),
                    None => (Ok(external), size),
                }
            }
            Err(diagnostic) => (Err(diagnostic), 0),
        };
        let added = match record {
            Ok(external) if size > self.room() && self.sizes.fragments => {
                return self.add_fragments(&database, &external);
            }
            Ok(external) => Record::RetrievalRecord(external),
            Err(diagnostic) => Record::SurrogateDiagnostic(DiagRec::DefaultFormat(diagnostic)),
        };
        if size > self.room() && !self.current.is_empty() && !self.turn() {
            return false;
        }
        self.push(Some(database), added, size);
        self.records += 1;
        true
    }

    /// Why a record of this size cannot be sent whatever else there is.
    fn never_fits(&self, size: usize, only: bool) -> Option<Condition> {
        let Sizes {
            segment,
            segments,
            record,
            fragments,
        } = self.sizes;
        if size > record || (fragments && size > segment.saturating_mul(segments)) {
            Some(Condition::RECORD_EXCEEDS_EXCEPTIONAL_SIZE)
        } else if size > segment && !fragments && !only {
            Some(Condition::RECORD_EXCEEDS_PREFERRED_SIZE)
        } else {
            None
        }
    }

    fn room(&self) -> usize {
        self.sizes.segment.saturating_sub(self.octets)
    }

    /// The segments that may still be begun.
    fn left(&self) -> usize {
        self.sizes.segments.saturating_sub(self.full.len() + 1)
    }

    /// Begins another segment, if there may be one.
    fn turn(&mut self) -> bool {
        if self.left() == 0 {
            return false;
        }
        self.full.push(std::mem::take(&mut self.current));
        self.octets = 0;
        true
    }

    fn push(&mut self, name: Option<DatabaseName>, record: Record, size: usize) {
        self.current.push(NamePlusRecord { name, record });
        self.octets = self.octets.saturating_add(size);
    }

    /// Adds a record in pieces, the first of which goes into what is left of the current segment.
    fn add_fragments(&mut self, database: &DatabaseName, external: &External) -> bool {
        let mut rest = content(external);
        let room = self
            .room()
            .saturating_add(self.left().saturating_mul(self.sizes.segment));
        if rest.len() > room {
            return false;
        }
        let mut first = true;
        loop {
            if self.room() == 0 && !self.turn() {
                return false;
            }
            let piece = rest.split_to(rest.len().min(self.room()));
            let size = piece.len();
            let untagged = || FragmentSyntax::NotExternallyTagged(piece.clone().into());
            let record = match (first, rest.is_empty()) {
                (true, _) => Record::StartingFragment(FragmentSyntax::ExternallyTagged(External {
                    encoding: ExternalEncoding::OctetAligned(piece.clone().into()),
                    ..external.clone()
                })),
                (false, false) => Record::IntermediateFragment(untagged()),
                (false, true) => Record::FinalFragment(untagged()),
            };
            self.push(first.then(|| database.clone()), record, size);
            first = false;
            if rest.is_empty() {
                self.records += 1;
                return true;
            }
        }
    }
}

/// The octets of a record that go into fragments.
fn content(external: &External) -> Bytes {
    match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => Bytes::copy_from_slice(value.as_bytes()),
        ExternalEncoding::OctetAligned(octets) => octets.to_bytes(),
        ExternalEncoding::Arbitrary(bits) => Bytes::copy_from_slice(bits.as_bytes()),
    }
}

fn octets(external: &External) -> usize {
    match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => value.as_bytes().len(),
        ExternalEncoding::OctetAligned(octets) => octets.len(),
        ExternalEncoding::Arbitrary(bits) => bits.len().div_ceil(8),
    }
}
