//! Shows the parts of a database that consists of other databases: the result of each part, and the parts that contain a
//! certain record.

use z3950::Record;
use z3950::service::search::SearchResult;
use z3950_asn1::apdu::OtherInformation;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::diag1::{Diagnostic, DiagnosticFormat};
use z3950_asn1::format::sources::reason;

use super::parameters::Parameters;
use crate::choices::Catalogues;
use crate::text::clean;

/// A database that has a record, with a link to the record there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLink {
    pub(super) name: String,
    /// The link; empty if the record's position in the database is not known.
    pub(super) link: String,
}

/// Returns links to the databases that contain a record. For a record that is not merged, this is the database it comes from,
/// unless that is `target` itself.
pub(super) fn links(
    record: &Record,
    target: &str,
    parameters: &Parameters,
    catalogues: &Catalogues,
) -> Vec<SourceLink> {
    if record.sources().is_empty() {
        let other = record
            .database()
            .filter(|name| !name.eq_ignore_ascii_case(target));
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

/// The result of one part of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceHits {
    pub(super) name: String,
    /// The link to the search in this part alone; empty if this server does not have the part as a database.
    pub(super) link: String,
    pub(super) count: String,
    /// The reason why the part did not answer; empty if it did.
    pub(super) failure: String,
}

/// Returns the result of each part of a database; empty if the database has no parts.
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
        link: if catalogues.has(&source.name) {
            parameters.link(&source.name, &[])
        } else {
            String::new()
        },
        count: source.records.map(in_words).unwrap_or_default(),
        failure: match (source.records, source.failure) {
            (Some(_), _) => String::new(),
            (None, Some(failure)) => clean(&reason(&failure)),
            (None, None) => "no answer".to_owned(),
        },
    });
    hits.collect()
}

/// Returns the names of the databases whose records are not counted in the facets.
pub(super) fn uncounted(found: &SearchResult, catalogues: &Catalogues) -> Vec<String> {
    let told = found
        .additional_search_info
        .as_ref()
        .and_then(OtherInformation::value::<DiagnosticFormat>);
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

/// Formats a number of records: `nothing found`, `1 record`, `2 records`.
pub(super) fn in_words(count: u64) -> String {
    match count {
        0 => "nothing found".to_owned(),
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    }
}

/// Returns the names of the databases that contain a record.
pub(super) fn names(record: &Record) -> Vec<String> {
    let sources = record.sources().iter();
    let names: Vec<String> = sources.map(|source| source.database.clone()).collect();
    if names.is_empty() {
        record.database().map(str::to_owned).into_iter().collect()
    } else {
        names
    }
}
