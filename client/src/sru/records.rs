//! Chooses the schema to request, and converts records and diagnostics to Z39.50 forms.

use z3950_asn1::apdu::{
    CompSpec, DatabaseName, DefaultDiagFormat, DiagRec, ElementSetNames, ElementSpec,
    NamePlusRecord, Record, RecordComposition, Schema,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::is_marc;
use z3950_asn1::sru::{SearchRetrieveResponse, SruCondition, SruDiagnostic, SruLimits, SruRecord};
use z3950_asn1::types::InternationalString;

use super::Refused;

/// The form in which a search or Present requests records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) schema: AskedSchema,
    /// Whether MARCXML is returned without conversion.
    is_xml: bool,
}

/// The schema that a search or Present requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AskedSchema {
    /// The schema in the profile, or MARCXML.
    Default,
    /// The schema with this name.
    Named(String),
    /// A schema chosen by the server.
    Any,
}

/// The element sets that are not schema names: full and brief records (Z39.50-2003 §3.6.2).
const ELEMENT_SETS: [&str; 2] = ["F", "B"];
/// The name of the schema for records with holdings.
const OPAC: &str = "opac";

impl Form {
    /// Returns the form for a record syntax and an element set. The element set may be the name of a schema.
    ///
    /// # Errors
    /// Fails if SRU has no equivalent of the syntax.
    pub(super) fn new(
        syntax: Option<Oid>,
        element_set: Option<&ElementSetNames>,
    ) -> Result<Self, Refused> {
        let name = match element_set {
            Some(ElementSetNames::GenericElementSetName(name)) => Some(name),
            _ => None,
        };
        Self::of(syntax, name)
    }

    fn of(syntax: Option<Oid>, name: Option<&InternationalString>) -> Result<Self, Refused> {
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let named = name.filter(|name| {
            let mut known = ELEMENT_SETS.iter();
            !known.any(|known| known.eq_ignore_ascii_case(name))
        });
        let schema = |other| named.map_or(other, AskedSchema::Named);
        let (schema, is_xml) = match syntax {
            None => (schema(AskedSchema::Any), false),
            Some(syntax) if is_marc(&syntax) => (schema(AskedSchema::Default), false),
            Some(oid::XML | oid::APPLICATION_XML) => (schema(AskedSchema::Default), true),
            Some(oid::OPAC) => (schema(AskedSchema::Named(OPAC.to_owned())), false),
            Some(other) => {
                let words = format!("{other}: SRU has XML only, which is read as MARC or OPAC");
                return Err(Refused::because(Condition::RECORD_SYNTAX, words));
            }
        };
        Ok(Self { schema, is_xml })
    }

    /// Returns the form requested by a Present.
    ///
    /// # Errors
    /// Fails if SRU has no equivalent of the syntax or composition.
    pub(super) fn composed(
        syntax: Option<Oid>,
        composition: Option<&RecordComposition>,
    ) -> Result<Self, Refused> {
        match composition {
            None => Self::of(syntax, None),
            Some(RecordComposition::Simple(names)) => Self::new(syntax, Some(names)),
            Some(RecordComposition::Complex(complex)) => Self::complex(syntax, complex),
        }
    }

    fn complex(syntax: Option<Oid>, composition: &CompSpec) -> Result<Self, Refused> {
        let refused = |what| Refused::because(Condition::COMP_SPEC, what);
        let generic = match (&composition.generic, &composition.db_specific) {
            (Some(generic), None) => generic,
            _ => return Err(refused("SRU has one composition for all databases")),
        };
        let listed = composition.record_syntax.as_ref();
        let syntax = syntax.or_else(|| listed.and_then(|list| list.first().copied()));
        let name = match (&generic.schema.0, &generic.element_spec) {
            (Some(Schema::Uri(uri)), _) => Some(uri),
            (None, Some(ElementSpec::ElementSetName(name))) => Some(name),
            (None, None) => None,
            (Some(Schema::Oid(oid)), _) => {
                return Err(refused(&format!(
                    "{oid}: schemas of SRU have URIs or names"
                )));
            }
            (None, Some(ElementSpec::ExternalEspec(_))) => {
                return Err(refused("SRU has no element specifications"));
            }
        };
        Self::of(syntax, name)
    }

    /// Converts a record, or the diagnostic in its place, to the Z39.50 form.
    pub(super) fn record(
        &self,
        sru: &SruRecord,
        database: &str,
        limits: &SruLimits,
    ) -> NamePlusRecord {
        let external = if is_blank(sru) {
            None
        } else if self.is_xml {
            sru.to_xml_external()
        } else {
            sru.to_external(limits)
        };
        let record = match (external, &sru.diagnostic) {
            (Some(external), _) => Record::RetrievalRecord(external),
            (None, Some(diagnostic)) => Record::SurrogateDiagnostic(to_diag_rec(diagnostic)),
            (None, None) => without_record("the server sent nothing as the record"),
        };
        let own = sru.database(limits);
        named(record, own.as_deref().unwrap_or(database))
    }
}

fn named(record: Record, database: &str) -> NamePlusRecord {
    NamePlusRecord {
        name: Some(DatabaseName::from(database)),
        record,
    }
}

fn left_out() -> Record {
    without_record("the server left the record out")
}

fn without_record(why: &str) -> Record {
    let diagnostic = DefaultDiagFormat::bib1(Condition::SYSTEM_ERROR_PRESENTING.0, why);
    Record::SurrogateDiagnostic(DiagRec::DefaultFormat(diagnostic))
}

/// Returns whether a record contains neither data nor a diagnostic: no octets, or one element without attributes and
/// contents.
fn is_blank(record: &SruRecord) -> bool {
    if record.diagnostic.is_some() {
        return false;
    }
    let text = String::from_utf8_lossy(&record.data);
    let Some((tag, rest)) = text.split_once('>') else {
        return text.trim().is_empty();
    };
    let mut attributes = tag.split_ascii_whitespace().skip(1);
    let is_bare = attributes.all(|word| word == "/" || word.starts_with("xmlns"));
    let rest = rest.trim();
    let is_closed = if tag.ends_with('/') {
        rest.is_empty()
    } else {
        rest.starts_with("</") && rest.find('>') == Some(rest.len() - 1)
    };
    is_bare && is_closed
}

/// Returns whether an answer contains records, all of which are blank.
pub(super) fn has_only_blank_records(response: &SearchRetrieveResponse) -> bool {
    !response.records.is_empty() && response.records.iter().all(is_blank)
}

/// The maximum number of records that a message names.
const MAX_NAMED: usize = 5;

/// Returns a message about each kind of repair made to records in an answer. The answer's first record is at position
/// `start`.
pub(super) fn repair_messages(response: &SearchRetrieveResponse, start: u64) -> Vec<String> {
    let escaped = named_records(response, start, |record| record.escaped > 0)
        .map(|records| format!("{records}: an & that begins no reference is read as text"));
    let lost = named_records(response, start, |record| {
        std::str::from_utf8(&record.data).is_ok_and(|text| text.contains('\u{FFFD}'))
    })
    .map(|records| format!("{records}: U+FFFD stands for text that could not be read"));
    escaped.into_iter().chain(lost).collect()
}

/// Describes the positions of the records for which a condition holds. Returns `None` if there are no such records.
fn named_records(
    response: &SearchRetrieveResponse,
    start: u64,
    holds: impl Fn(&SruRecord) -> bool,
) -> Option<String> {
    let all = (start..).zip(&response.records);
    let these = all.filter(|(_, record)| holds(record));
    let positions = these.map(|(at, record)| record.position.unwrap_or(at).to_string());
    let mut named: Vec<String> = positions.collect();
    let further = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    let more = match further {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    let records = match &*named {
        [] => return None,
        [_] => "record",
        _ => "records",
    };
    let named = named.join(", ");
    Some(format!("{records} {named}{more}"))
}

/// Returns the records in an answer to a request for `count` records from position `start`. Positions that the server
/// left out contain a diagnostic. If the positions in the answer are inconsistent or outside the requested range, all
/// of them are ignored.
pub(super) fn placed(
    response: &SearchRetrieveResponse,
    form: &Form,
    database: &str,
    start: u64,
    count: u64,
    limits: &SruLimits,
) -> Vec<NamePlusRecord> {
    let end = start.saturating_add(count);
    let records = &response.records;
    let mut expected = start;
    let is_sound = records.iter().all(|record| {
        let position = record.position;
        let follows = position.is_some_and(|position| position >= expected && position < end);
        expected = position.map_or(end, |position| position.saturating_add(1));
        follows
    });
    let mut found = Vec::new();
    let mut next = start;
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    for record in records.iter().take(most) {
        let position = record.position.filter(|_| is_sound);
        while position.is_some_and(|position| next < position) {
            found.push(named(left_out(), database));
            next += 1;
        }
        found.push(form.record(record, database, limits));
        next += 1;
    }
    // If the next record is the one after the requested range, the server has left out records at the end of the range.
    if !records.is_empty() && response.next_record_position == Some(end) {
        while next < end {
            found.push(named(left_out(), database));
            next += 1;
        }
    }
    found
}

/// Returns the position of the first record if the server sent records other than those requested. This is assumed if
/// the answer states consecutive positions, with three exceptions: the first of them is in the requested range; the
/// server numbers the records in each answer from 0 or 1; or it numbers all records of the result from 0.
pub(super) fn misplaced(response: &SearchRetrieveResponse, start: u64, count: u64) -> Option<u64> {
    let first = response.records.first()?.position?;
    let mut expected = first;
    let is_in_a_row = response.records.iter().all(|record| {
        let is_next = record.position == Some(expected);
        expected = expected.saturating_add(1);
        is_next
    });
    let end = start.saturating_add(count);
    let is_plausible = (start..end).contains(&first) || first <= 1 || first == start - 1;
    (is_in_a_row && !is_plausible).then_some(first)
}

/// Returns the diagnostic with which the server refused the schema, either for all records or for each of them.
pub(super) fn schema_refusal(response: &SearchRetrieveResponse) -> Option<&SruDiagnostic> {
    let is_of_schema = |diagnostic: &&SruDiagnostic| {
        matches!(
            diagnostic.condition(),
            Some(SruCondition::SCHEMA | SruCondition::NOT_IN_SCHEMA)
        )
    };
    match response.records.as_slice() {
        [] => response.diagnostics.iter().find(is_of_schema),
        records => {
            let mut all = records.iter().map(|record| record.diagnostic.as_ref());
            let first = all.next().flatten().filter(is_of_schema)?;
            all.all(|other| other.is_some_and(|other| is_of_schema(&other)))
                .then_some(first)
        }
    }
}

/// Converts a diagnostic to Bib-1. The number and the message of the SRU diagnostic are added to its details.
pub(super) fn to_diag_rec(diagnostic: &SruDiagnostic) -> DiagRec {
    let condition = diagnostic.to_bib1().condition;
    let number = match diagnostic.condition() {
        Some(SruCondition(number)) => number.to_string(),
        None => diagnostic.uri.clone(),
    };
    let mut words = match diagnostic.words() {
        "" => format!("SRU diagnostic {number}"),
        words => format!("SRU diagnostic {number}: {words}"),
    };
    if !diagnostic.details.is_empty() {
        words = format!("{} ({words})", diagnostic.details);
    }
    DiagRec::DefaultFormat(DefaultDiagFormat::bib1(condition, &*words))
}

/// Converts the diagnostics in an answer to Bib-1.
pub(super) fn to_diag_recs(diagnostics: &[SruDiagnostic]) -> Vec<DiagRec> {
    diagnostics.iter().map(to_diag_rec).collect()
}
