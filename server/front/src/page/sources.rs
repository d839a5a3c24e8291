//! The databases that a database consists of: what each of them has found, and which of them have a record.

use z3950::Record;
use z3950::asn1::apdu::OtherInformation;
use z3950::asn1::bib1::diagnostics::Condition;
use z3950::asn1::format::diag1::{Diagnostic, DiagnosticFormat};
use z3950::asn1::format::sources::reason;
use z3950::service::search::SearchResult;

use super::parameters::Parameters;
use crate::choices::Catalogues;
use crate::text::clean;

/// A database that has a record, with a link to its own record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLink {
    pub(super) name: String,
    /// The link; empty if it is not known which of the database's records it is.
    pub(super) link: String,
}

/// Returns the databases that have a record, if there are several, or the database of a record that was found in another one,
/// `target`.
pub(super) fn links(
    record: &Record,
    target: &str,
    parameters: &Parameters,
    catalogues: &Catalogues,
) -> Vec<SourceLink> {
    if record.sources().is_empty() {
        let other = record.database();
        let other = other.filter(|name| !name.eq_ignore_ascii_case(target));
        let link = other.map(|name| SourceLink {
            name: catalogues.short_title(name),
            link: String::new(),
        });
        return link.into_iter().collect();
    }
    let sources = record.sources().iter();
    let links = sources.map(|source| {
        let place = source.position.map(|at| at.to_string());
        let link = place.map(|at| parameters.link(&source.database, &[("at", &at)]));
        SourceLink {
            name: catalogues.short_title(&source.database),
            link: link.unwrap_or_default(),
        }
    });
    links.collect()
}

/// The result of one of several databases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceHits {
    pub(super) name: String,
    /// The search in this database alone.
    pub(super) link: String,
    pub(super) count: String,
    /// The reason why the database did not answer.
    pub(super) failure: String,
}

/// Returns what each of several databases has found; empty if there is only one.
pub(super) fn hits(
    found: &SearchResult,
    parameters: &Parameters,
    catalogues: &Catalogues,
) -> Vec<SourceHits> {
    let sources = found.sources().sources;
    if sources.len() < 2 {
        return Vec::new();
    }
    let hits = sources.into_iter().map(|source| SourceHits {
        name: catalogues.short_title(&source.name),
        link: parameters.link(&source.name, &[]),
        count: source.records.map(in_words).unwrap_or_default(),
        failure: match (source.records, source.failure) {
            (Some(_), _) => String::new(),
            (None, Some(failure)) => clean(&reason(&failure)),
            (None, None) => "no answer".to_owned(),
        },
    });
    hits.collect()
}

/// Returns the databases whose records are missing from the counts of facets.
pub(super) fn uncounted(found: &SearchResult, catalogues: &Catalogues) -> Vec<String> {
    let told = found.additional_search_info.as_ref();
    let told = told.and_then(OtherInformation::value::<DiagnosticFormat>);
    let units = told.into_iter().flat_map(|told| told.0);
    let uncounted = units.filter_map(|unit| {
        let Diagnostic::DefaultDiagRec(why) = unit.diagnostic? else {
            return None;
        };
        let message = unit.message?.to_string_lossy().into_owned();
        let (name, _) = message.split_once(": ")?;
        let lacks_facets = Condition(why.condition) == Condition::SERVICE_NOT_FOR_DATABASE
            && why.addinfo.as_bytes() == b"facets";
        lacks_facets.then(|| catalogues.short_title(name))
    });
    uncounted.collect()
}

/// Writes a number of records in words.
pub(super) fn in_words(count: u64) -> String {
    match count {
        0 => "nothing found".to_owned(),
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    }
}

/// Returns the names of the databases that a record is from.
pub(super) fn names(record: &Record) -> Vec<String> {
    let sources = record.sources().iter();
    let names: Vec<String> = sources.map(|source| source.database.clone()).collect();
    if names.is_empty() {
        record.database().map(str::to_owned).into_iter().collect()
    } else {
        names
    }
}
