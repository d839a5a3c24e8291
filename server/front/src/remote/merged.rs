//! The record of a merged hit: one bibliographic record with the holdings of all targets that have the edition, each marked with
//! the name of its source.

use bytes::Bytes;
use z3950::Record;
use z3950_asn1::apdu::{External, ExternalValue as _};
use z3950_asn1::oid::OPAC;
use z3950_asn1::record::opac::{HoldingsRecord, OpacRecord};
use z3950_asn1::record::{RetrievedRecord, marc_syntax};
use z3950_marc::{Field, MarcRecord};
use z3950_server::Diagnostic;
use z3950_server::backend::{Composition, RecordSource};
use z3950_server::memory::forms;

use super::failure::foreign;
use super::form::converted;

/// A record from a target.
pub(super) struct SourceRecord {
    pub(super) source: RecordSource,
    pub(super) record: Record,
    marc: Option<MarcRecord>,
}

/// The maximum number of octets in a control number that identifies a record at its source.
const MAX_ID: usize = 256;

impl SourceRecord {
    /// Creates a record from a database with its rank in the database, from 1.
    pub(super) fn new(database: &str, rank: u64, record: Record) -> Self {
        let marc = record.marc();
        let id = marc.as_ref().and_then(MarcRecord::control_number);
        let id = id.and_then(|id| std::str::from_utf8(id.trim_ascii()).ok());
        let id = id.filter(|id| !id.is_empty() && id.len() <= MAX_ID);
        let mut source = RecordSource::new(database);
        source.position = Some(rank);
        source.id = id.map(str::to_owned);
        Self {
            source,
            record,
            marc,
        }
    }

    /// Returns the holdings in the record, each with the name of its source. If the record has no OPAC holdings, returns the
    /// holdings in its MARC record.
    fn holdings(&self) -> Vec<HoldingsRecord> {
        let own = match self.record.retrieved() {
            RetrievedRecord::Opac(record) => record.holdings_data.unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut all: Vec<HoldingsRecord> = match (own.is_empty(), &self.marc) {
            (true, Some(marc)) => of_marc(marc),
            _ => own.into_iter().flat_map(readable).collect(),
        };
        for one in &mut all {
            if let HoldingsRecord::HoldingsAndCirc(data) = one {
                data.add_note(&self.source.database);
            }
        }
        all
    }
}

/// Converts a holdings record in MARC to the elements of an OPAC record, because only these elements can contain a note.
fn readable(holding: HoldingsRecord) -> Vec<HoldingsRecord> {
    let HoldingsRecord::MarcHoldingsRecord(external) = &holding else {
        return vec![holding];
    };
    let marc = Record::new((**external).clone(), None).marc();
    match marc.map(|marc| of_marc(&marc)) {
        Some(of_marc) if !of_marc.is_empty() => of_marc,
        _ => vec![holding],
    }
}

fn of_marc(marc: &MarcRecord) -> Vec<HoldingsRecord> {
    let nothing = External::octet_aligned(marc_syntax(marc), Bytes::new());
    let opac = OpacRecord::of_marc(nothing, marc);
    opac.holdings_data.unwrap_or_default()
}

/// A record merged from several records of an edition.
pub(super) struct MergedRecord<'a> {
    /// The record whose bibliographic data is shown.
    pub(super) chosen: &'a SourceRecord,
    all: &'a [SourceRecord],
}

/// Merges the records; the one with the most fields is shown. Returns `None` if there are no records.
pub(super) fn one_of(all: &[SourceRecord]) -> Option<MergedRecord<'_>> {
    let fields = |one: &SourceRecord| one.marc.as_ref().map_or(0, |marc| marc.fields.len());
    let most = all.iter().map(fields).max()?;
    let chosen = all.iter().find(|one| fields(one) == most)?;
    Some(MergedRecord { chosen, all })
}

/// The maximum number of octets in the records whose holdings are combined. The holdings of further sources are left out.
const MAX_HOLDINGS: usize = 8 << 20;

/// Returns as many records, from the first onwards, as have at most `most` octets in total.
fn first_within(all: &[SourceRecord], most: usize) -> impl Iterator<Item = &SourceRecord> {
    let mut octets: usize = 0;
    all.iter().take_while(move |one| {
        octets = octets.saturating_add(one.record.external().octets().len());
        octets <= most
    })
}

impl MergedRecord<'_> {
    /// Returns the record in the form that the composition requests. The form must not be OPAC.
    ///
    /// # Errors
    /// Fails if the record cannot be converted to this form.
    pub(super) fn record(&self, composition: &Composition) -> Result<External, Diagnostic> {
        let own = self.chosen.record.syntax().filter(|own| *own != OPAC);
        let merged = self.marc(true).and_then(|merged| {
            let stored = marc_syntax(&merged);
            let wanted = composition.syntax.or(own).unwrap_or(stored);
            forms::of_marc(&merged, &wanted, &composition.element_set).ok()
        });
        // If the merged record is too long for the requested form, the chosen record is sent instead.
        merged.map_or_else(|| converted(&self.chosen.record, composition), Ok)
    }

    /// Returns the record as an OPAC record with the holdings of all sources.
    ///
    /// # Errors
    /// Fails if the record cannot be converted to this form.
    pub(super) fn with_holdings(&self, element_set: &str) -> Result<External, Diagnostic> {
        let mut of_marc = Composition::full(None);
        element_set.clone_into(&mut of_marc.element_set);
        let merged = self.marc(false);
        let merged = merged
            .and_then(|merged| forms::of_marc(&merged, &marc_syntax(&merged), element_set).ok());
        let bibliographic = merged.map_or_else(|| converted(&self.chosen.record, &of_marc), Ok)?;
        let holdings: Vec<HoldingsRecord> = first_within(self.all, MAX_HOLDINGS)
            .flat_map(SourceRecord::holdings)
            .collect();
        let opac = OpacRecord {
            bibliographic_record: Some(bibliographic),
            holdings_data: (!holdings.is_empty()).then_some(holdings),
        };
        opac.to_external().map_err(|_| foreign())
    }

    /// Returns the MARC record with a field 856 for each source, which contains the source's database ($3) and the record's
    /// control number there ($w). If `has_holdings`, the record also contains the holdings of all sources, and each location has
    /// a public note that names its source.
    fn marc(&self, has_holdings: bool) -> Option<MarcRecord> {
        let mut merged = self.chosen.marc.clone()?;
        let is_chosen = |one: &&SourceRecord| std::ptr::eq(*one, self.chosen);
        for field in &mut merged.fields {
            if has_holdings && field.tag.0 == *LOCATION {
                *field = named(field, &self.chosen.source.database);
            }
        }
        let others = self
            .all
            .iter()
            .filter(|one| has_holdings && !is_chosen(one));
        for one in others {
            let fields = one.marc.iter().flat_map(|marc| &marc.fields);
            let holdings = fields
                .filter(|field| HOLDINGS.contains(&&field.tag.0))
                .map(|field| {
                    if field.tag.0 == *LOCATION {
                        named(field, &one.source.database)
                    } else {
                        field.clone()
                    }
                });
            merged.fields.extend(holdings);
        }
        for RecordSource { database, id, .. } in self.all.iter().map(|one| &one.source) {
            let parts = [("3", Some(database)), ("w", id.as_ref())];
            let parts = parts
                .into_iter()
                .filter_map(|(code, value)| Some((code, value?)));
            merged.fields.push(Field::data(b"856", "42", parts));
        }
        Some(merged)
    }
}

const LOCATION: &[u8; 3] = b"852";

/// The tags of MARC 21 holdings: locations, captions, enumerations and items.
const HOLDINGS: [&[u8; 3]; 10] = [
    LOCATION, b"853", b"854", b"855", b"863", b"864", b"865", b"866", b"876", b"877",
];

/// Returns a location with a public note ($z) that names its database.
fn named(location: &Field, source: &str) -> Field {
    let mut body = location.body.to_vec();
    body.push(z3950_marc::SUBFIELD_DELIMITER);
    body.push(b'z');
    body.extend_from_slice(source.as_bytes());
    Field {
        tag: location.tag,
        body: Bytes::from(body),
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::iso2709;

    use super::*;

    #[test]
    fn the_record_with_the_most_fields_has_the_holdings_of_all() {
        let record = |docid: &'static str, notes: usize| {
            let mut fields = vec![
                Field::control(b"001", docid),
                Field::data(b"852", "  ", [("b", docid)]),
            ];
            fields.extend((0..notes).map(|_| Field::data(b"500", "  ", [("a", "Note")])));
            let record = MarcRecord {
                fields,
                ..MarcRecord::default()
            };
            let octets = iso2709::encode(&record).expect("fits");
            Record::new(External::octet_aligned(marc_syntax(&record), octets), None)
        };
        let sources = [
            SourceRecord::new("u@a", 1, record("a1", 1)),
            SourceRecord::new("u@b", 4, record("b1", 3)),
            SourceRecord::new("u@c", 2, record("c1", 3)),
        ];
        let one = one_of(&sources).expect("a record");
        assert_eq!(one.chosen.source.database, "u@b");
        let values = |merged: &MarcRecord, tag: &str| -> Vec<String> {
            let fields = merged.fields_by_tag(tag);
            fields
                .map(|field| String::from_utf8_lossy(&field.body).replace('\u{1f}', "$"))
                .collect()
        };
        let merged = one.marc(true).expect("MARC");
        assert_eq!(merged.control_number(), Some(&b"b1"[..]));
        let locations = ["  $bb1$zu@b", "  $ba1$zu@a", "  $bc1$zu@c"];
        assert_eq!(values(&merged, "852"), locations);
        let named = ["42$3u@a$wa1", "42$3u@b$wb1", "42$3u@c$wc1"];
        assert_eq!(values(&merged, "856"), named);
        let bibliographic = one.marc(false).expect("MARC");
        assert_eq!(values(&bibliographic, "852"), ["  $bb1"]);
        let opac = one.with_holdings("F").expect("an OPAC record");
        let opac = Record::new(opac, None);
        let notes = opac.holdings().into_iter().map(|one| one.note);
        let named = ["u@a", "u@b", "u@c"].map(|name| Some(name.to_owned()));
        assert_eq!(notes.collect::<Vec<_>>(), named);
        assert!(one_of(&[]).is_none());
        let octets: usize = sources
            .iter()
            .map(|one| one.record.external().octets().len())
            .sum();
        assert_eq!(first_within(&sources, octets).count(), 3);
        assert_eq!(first_within(&sources, octets - 1).count(), 2);
    }
}
