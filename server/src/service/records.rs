//! Packs the records of a response: determines their syntax and elements (Z39.50-2003 §3.2.3.1.5, §3.6), and packs as many as
//! possible into the agreed message sizes, or into segments if segmentation is in effect (§3.3). A record that can never be sent
//! is replaced by a diagnostic (16, 17).

use std::ops::Range;

use bytes::Bytes;
use tracing::info;
use z3950_asn1::apdu::{
    CompSpec, DatabaseName, DiagRec, ElementSetNames, ElementSpec, External, ExternalEncoding,
    FragmentSyntax, Information, NamePlusRecord, OtherInformation, OtherInformationUnit,
    PresentStatus, Record, RecordComposition, Schema, Specification,
};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::sru::{RecordSource, RecordSources, with_sound_xml};
use z3950_asn1::types::InternationalString;

use crate::association::{Association, Operation};
use crate::backend::{
    Backend, Composition, Hits, RecordId, ResultSet, Retrieve, RetrieveMany, Retrieved,
};
use crate::budget::Charge;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// Returns the composition of the records in the answer to a Search.
///
/// # Errors
/// Condition 239 for a syntax and 25 for an element set that the backend does not support.
pub(super) fn of_names(
    backend: &dyn Backend,
    is_strict: bool,
    syntax: Option<Oid>,
    names: Option<&ElementSetNames>,
) -> Result<Composition, Diagnostic> {
    let syntax = syntax
        .map(|syntax| known_syntax(backend, syntax))
        .transpose()?;
    let known = |name| known_element_set(backend, is_strict, name, syntax.as_ref());
    let mut composition = Composition::full(syntax);
    match names {
        None => {}
        Some(ElementSetNames::GenericElementSetName(name)) => {
            composition.element_set = known(name)?;
        }
        Some(ElementSetNames::DatabaseSpecific(names)) => {
            let names = names.iter().map(|one| (&one.db_name, known(&one.esn.0)));
            composition.by_database = by_database(names)?;
        }
    }
    Ok(composition)
}

/// Returns the composition of the records in the answer to a Present. The syntaxes of a CompSpec take precedence over the
/// preferred syntax.
///
/// # Errors
/// The same as for [`of_names`]; 1066 for a schema and 244 for an element specification that the backend does not support.
pub(super) fn of_present(
    backend: &dyn Backend,
    is_strict: bool,
    syntax: Option<Oid>,
    composition: Option<&RecordComposition>,
) -> Result<Composition, Diagnostic> {
    match composition {
        None => of_names(backend, is_strict, syntax, None),
        Some(RecordComposition::Simple(names)) => of_names(backend, is_strict, syntax, Some(names)),
        Some(RecordComposition::Complex(specification)) => {
            let syntax = specified_syntax(backend, specification, syntax)?;
            let of = |one| specified(backend, is_strict, one, syntax.as_ref());
            let mut composition = Composition::full(syntax);
            if let Some(generic) = &specification.generic {
                composition.element_set = of(generic)?;
            }
            let others = specification.db_specific.iter().flatten();
            composition.by_database = by_database(others.map(|one| (&one.db, of(&one.spec))))?;
            Ok(composition)
        }
    }
}

fn known_syntax(backend: &dyn Backend, syntax: Oid) -> Result<Oid, Diagnostic> {
    if backend.has_syntax(&syntax) {
        Ok(syntax)
    } else {
        Err(diagnostic(Condition::RECORD_SYNTAX, syntax.to_string()))
    }
}

/// Returns the name if the backend has this element set, or the name of the full element set if unknown names are permitted: see
/// [`Offer::strict_element_sets`](crate::Offer::strict_element_sets).
fn known_element_set(
    backend: &dyn Backend,
    is_strict: bool,
    name: &InternationalString,
    syntax: Option<&Oid>,
) -> Result<String, Diagnostic> {
    let names_schema = matches!(syntax, Some(&oid::XML | &oid::APPLICATION_XML));
    match name.to_str() {
        Ok(known) if backend.has_element_set(known, syntax) => Ok(known.to_owned()),
        _ if !is_strict && !names_schema => {
            info!(element_set = ?name.to_string_lossy(), "there is no such element set; records are sent in full");
            Ok(Composition::full(None).element_set)
        }
        _ => Err(diagnostic(Condition::ELEMENT_SET_NAME, name.as_bytes())),
    }
}

/// Returns the element sets that are requested for particular databases.
fn by_database<'a>(
    element_sets: impl Iterator<Item = (&'a DatabaseName, Result<String, Diagnostic>)>,
) -> Result<Vec<(String, String)>, Diagnostic> {
    let named = element_sets
        .map(|(name, element_set)| Ok((name.0.to_string_lossy().into_owned(), element_set?)));
    named.collect()
}

/// Returns the first syntax in the list that the backend supports. If it supports none of them, the backend chooses, provided
/// that the request sets selectAlternativeSyntax.
fn specified_syntax(
    backend: &dyn Backend,
    specification: &CompSpec,
    preferred: Option<Oid>,
) -> Result<Option<Oid>, Diagnostic> {
    let listed = specification.record_syntax.as_deref().unwrap_or_default();
    if let Some(available) = listed.iter().find(|syntax| backend.has_syntax(syntax)) {
        return Ok(Some(*available));
    }
    let Some(wanted) = listed.first().copied().or(preferred) else {
        return Ok(None);
    };
    match known_syntax(backend, wanted) {
        Err(_) if specification.select_alternative_syntax => Ok(None),
        chosen => chosen.map(Some),
    }
}

fn specified(
    backend: &dyn Backend,
    is_strict: bool,
    one: &Specification,
    syntax: Option<&Oid>,
) -> Result<String, Diagnostic> {
    if let Some(schema) = &*one.schema {
        let known = backend.element_set_of_schema(schema, syntax);
        return known.ok_or_else(|| match schema {
            Schema::Oid(schema) => diagnostic(Condition::SCHEMA, schema.to_string()),
            Schema::Uri(schema) => diagnostic(Condition::SCHEMA, schema.as_bytes()),
        });
    }
    match &one.element_spec {
        None => Ok(Composition::full(None).element_set),
        Some(ElementSpec::ElementSetName(name)) => {
            known_element_set(backend, is_strict, name, syntax)
        }
        Some(ElementSpec::ExternalEspec(_)) => {
            Err(diagnostic(Condition::COMP_SPEC, "externalEspec"))
        }
    }
}

/// The packed records of a response.
pub(super) struct Packed {
    /// The segments before the response itself.
    pub(super) segments: Vec<Vec<NamePlusRecord>>,
    /// The records and surrogate diagnostics of the response (or, while packing, of the current segment), in the requested order.
    pub(super) last: Vec<NamePlusRecord>,
    /// The total number of records. A record that spans segments counts once.
    pub(super) records: usize,
    /// The status: success, partial-2 if not all records fit, partial-3 if the client stopped the operation, or partial-4 if the
    /// server stopped it.
    pub(super) status: PresentStatus,
    /// For each record that was merged from several databases, the databases that contain it.
    sources: Vec<OtherInformationUnit>,
    sizes: Sizes,
    /// The number of octets of the records in the current segment.
    octets: usize,
    /// The charge for the records of all segments.
    charge: Charge,
}

/// The limits on the size of a response, in octets of records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The maximum size of a segment or, without segmentation, of the response.
    pub(super) segment: usize,
    /// The maximum number of segments, including the response itself.
    pub(super) segments: usize,
    /// The maximum size of a record.
    pub(super) record: usize,
    /// Whether a record may be split over several segments (level 2).
    pub(super) fragments: bool,
}

impl Sizes {
    /// Returns the limits for a response without segments.
    pub(super) fn of(association: &Association) -> Self {
        Self {
            segment: association.terms.preferred_message_size,
            segments: 1,
            record: association.terms.exceptional_record_size,
            fragments: false,
        }
    }
}

/// The number of records above which a response counts as large. Each time this many records have been packed, which takes about
/// half a millisecond, other sessions can run.
const RECORDS_AT_ONCE: usize = 64;

/// Returns one more than the maximum number of records in a response, so that the caller can tell whether there are more.
pub(super) fn most_records(association: &Association) -> usize {
    let most = association.target.limits.records_per_response.max(1);
    most.saturating_add(1)
}

/// Returns the size of a unit of otherInfo in octets; 0 if there is no unit.
fn octets_of(unit: Option<&OtherInformationUnit>) -> usize {
    match unit.map(|unit| &unit.information) {
        Some(Information::ExternallyDefinedInfo(external)) => external.octets().len(),
        _ => 0,
    }
}

/// The memory that a record takes in addition to its contents, in octets.
const RECORD: usize = size_of::<NamePlusRecord>();

/// Returns the records at these 0-based positions of a result set, which must all exist.
///
/// # Errors
/// Condition 14 if the backend does not return one record for each position.
pub(super) fn listed(hits: &Hits, positions: Range<usize>) -> Result<Vec<RecordId>, Diagnostic> {
    let number = positions.len();
    let ids = hits.ids(positions);
    if ids.len() == number {
        return Ok(ids);
    }
    let words = "the database does not list the records that it found";
    Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words))
}

/// Packs the requested records, up to the first one that does not fit.
///
/// The records are charged to the session until the response is complete. The number of large responses being packed is limited
/// by [`Limits::large_answers`](crate::Limits::large_answers).
///
/// Without fragments, a record that is larger than the preferred message size is sent only if it is requested alone, up to the
/// exceptional record size. A response always begins with a record or its diagnostic, so that clients make progress.
///
/// # Errors
/// The backend's diagnostic, if it cannot retrieve any record; the diagnostic with which the operation was stopped, if this was
/// before the first record; condition 31 if the session does not have enough memory for the records.
pub(super) async fn pack(
    operation: &Operation,
    set: &ResultSet,
    wanted: Vec<RecordId>,
    composition: &Composition,
    sizes: &Sizes,
) -> Result<Packed, Diagnostic> {
    let most = operation.target.limits.records_per_response.max(1);
    let only = wanted.len() == 1;
    let packers = &operation.target.packers;
    let _turn = if wanted.len() > RECORDS_AT_ONCE {
        // The semaphore is never closed, so this does not fail.
        operation
            .or_stopped(Box::pin(async { Ok(packers.acquire().await.ok()) }))
            .await?
    } else {
        None
    };
    let prepared = set.backend.prepare(RetrieveMany {
        caller: operation.caller(),
        hits: &set.hits,
        records: &wanted,
        composition,
    });
    if let Some(prepared) = prepared {
        operation.or_stopped(prepared).await?;
    }
    let mut packed = Packed {
        segments: Vec::new(),
        last: Vec::with_capacity(wanted.len().min(most)),
        records: 0,
        status: PresentStatus::SUCCESS,
        sources: Vec::new(),
        sizes: *sizes,
        octets: 0,
        charge: operation.no_charge(),
    };
    for &record in &wanted {
        if packed.records > 0 && packed.records.is_multiple_of(RECORDS_AT_ONCE) {
            // Let other sessions go first.
            tokio::task::yield_now().await;
        }
        if packed.records >= most {
            packed.status = PresentStatus::PARTIAL_2;
            break;
        }
        let retrieved = set.backend.record(Retrieve {
            caller: operation.caller(),
            hits: &set.hits,
            record,
            composition,
        });
        packed.status = match operation.or_stopped(retrieved).await {
            Ok(Retrieved {
                database,
                record,
                sources,
                is_written_here,
            }) => {
                let record = if is_written_here {
                    record
                } else {
                    record.and_then(sound)
                };
                let size = record.as_ref().map_or(0, |record| record.octets().len());
                let sources = packed.next_sources(sources);
                let size = size.saturating_add(octets_of(sources.as_ref()));
                if packed.add(database, record, only, octets_of(sources.as_ref())) {
                    packed.sources.extend(sources);
                    let taken = packed.charge.octets().saturating_add(RECORD);
                    packed.charge.set(taken.saturating_add(size))?;
                    continue;
                } else {
                    PresentStatus::PARTIAL_2
                }
            }
            Err(why) if !operation.is_stopped() || packed.records == 0 => return Err(why),
            Err(why) if why.condition == Condition::CANCELLED.0 => PresentStatus::PARTIAL_3,
            Err(_) => PresentStatus::PARTIAL_4,
        };
        break;
    }
    Ok(packed)
}

/// Checks that the XML of a record can safely be embedded in any answer, and returns the record. Other XML could close the
/// surrounding elements, and insert forged elements.
///
/// # Errors
/// Condition 14 for XML that is not a single well-formed element.
fn sound(record: External) -> Result<External, Diagnostic> {
    with_sound_xml(record).map_err(|error| {
        let words = format!("the record's XML cannot be sent: {error}");
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
    })
}

impl Packed {
    /// Returns, for each record that was merged from several records, the databases that contain it; `None` if no record was
    /// merged.
    pub(super) fn other_info(&self) -> Option<OtherInformation> {
        (!self.sources.is_empty()).then(|| OtherInformation(self.sources.clone()))
    }

    /// Returns the unit of otherInfo that names `sources` as the databases of the next record to be added; `None` if `sources` is
    /// empty.
    fn next_sources(&self, sources: Vec<RecordSource>) -> Option<OtherInformationUnit> {
        let number = u64::try_from(self.records).map(|number| number.saturating_add(1));
        let named = RecordSources::new(number.ok(), sources);
        (!named.sources.is_empty()).then(|| named.to_unit())
    }

    /// Adds a record or its diagnostic; returns whether it fits. `further` is the size of the information on its sources, in
    /// octets.
    fn add(
        &mut self,
        database: DatabaseName,
        record: Result<External, Diagnostic>,
        only: bool,
        further: usize,
    ) -> bool {
        let record = record.and_then(|external| {
            let size = external.octets().len();
            match self.never_fits(size, only) {
                Some(condition) => Err(diagnostic(condition, size.to_string())),
                None => Ok((external, size)),
            }
        });
        let (added, size) = match record {
            Ok((external, size)) if size > self.room() && self.sizes.fragments => {
                return self.add_fragments(&database, &external);
            }
            Ok((external, size)) => (Record::RetrievalRecord(external), size),
            Err(why) => (Record::SurrogateDiagnostic(DiagRec::DefaultFormat(why)), 0),
        };
        let size = size.saturating_add(further);
        if size > self.room() && !self.last.is_empty() && !self.next_segment() {
            return false;
        }
        self.push(Some(database), added, size);
        self.records += 1;
        true
    }

    /// Returns the condition for a record that can never be sent because of its size; `None` if it can.
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

    /// Returns the number of segments that can still be started.
    fn left(&self) -> usize {
        self.sizes.segments.saturating_sub(self.segments.len() + 1)
    }

    /// Starts another segment if another one is allowed; returns whether a segment was started.
    fn next_segment(&mut self) -> bool {
        if self.left() == 0 {
            return false;
        }
        self.segments.push(std::mem::take(&mut self.last));
        self.octets = 0;
        true
    }

    fn push(&mut self, name: Option<DatabaseName>, record: Record, size: usize) {
        self.last.push(NamePlusRecord { name, record });
        self.octets = self.octets.saturating_add(size);
    }

    /// Adds a record in fragments; returns whether it fits. The first fragment fills the current segment.
    fn add_fragments(&mut self, database: &DatabaseName, external: &External) -> bool {
        let mut rest = Bytes::copy_from_slice(external.octets());
        let room = self
            .room()
            .saturating_add(self.left().saturating_mul(self.sizes.segment));
        if rest.len() > room {
            return false;
        }
        let mut first = true;
        loop {
            if self.room() == 0 && !self.next_segment() {
                return false;
            }
            let fragment = rest.split_to(rest.len().min(self.room()));
            let size = fragment.len();
            let untagged = || FragmentSyntax::NotExternallyTagged(fragment.clone().into());
            let record = match (first, rest.is_empty()) {
                (true, _) => Record::StartingFragment(FragmentSyntax::ExternallyTagged(External {
                    encoding: ExternalEncoding::OctetAligned(fragment.clone().into()),
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
