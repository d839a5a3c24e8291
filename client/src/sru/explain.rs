//! An SRU server's description of itself (SRU, "Explain"), and the profile derived from it (ZeeRex 2.0).

use bytes::Bytes;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};
use z3950_asn1::sru::{ExplainRequest, Response, Version};

use super::Refused;
use super::records::to_diag_recs;
use super::sets::SruExchange;
use crate::error::{Diagnostics, Error, Phase, SruFault};
use crate::target::profile::{Profile, sru_version};
use crate::transport::timeouts::Timeouts;

/// An SRU server's description of a database.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SruDescription {
    /// The contents of the description. Parts that the server leaves out are empty.
    pub zeerex: ZeeRex,
    /// The `explain` element as received.
    pub xml: Bytes,
}

impl SruExchange {
    /// Requests the description of a database.
    pub(super) async fn describe(
        &mut self,
        database: &str,
        timeouts: &Timeouts,
    ) -> Result<SruDescription, Error> {
        let phase = Phase::Explain;
        let explain = ExplainRequest::default();
        let diagnostics = match self.server.ask(phase, database, explain, timeouts).await {
            Err(Refused::Error(error)) => return Err(error),
            Err(Refused::For(diagnostics)) => diagnostics,
            Ok(Response::Explain(answer)) if answer.record.is_some() => {
                let xml = answer.record.map(|record| record.data).unwrap_or_default();
                if xml.trim_ascii().is_empty() {
                    return Err(Error::fault(phase, SruFault::Undescribed));
                }
                let zeerex = ZeeRex::from_xml(xml.clone(), &self.server.limits)
                    .map_err(|error| Error::fault(phase, SruFault::Response(error.into())))?;
                return Ok(SruDescription { zeerex, xml });
            }
            Ok(Response::Explain(answer)) if answer.diagnostics.is_empty() => {
                return Err(Error::fault(phase, SruFault::Undescribed));
            }
            Ok(answer) if answer.diagnostics().is_empty() => {
                return Err(Error::fault(phase, SruFault::Operation("explain")));
            }
            Ok(answer) => to_diag_recs(answer.diagnostics()),
        };
        Err(Error::Refused {
            phase,
            diagnostics: Diagnostics(diagnostics),
        })
    }
}

/// Parts of the names or identifiers of MARC schemas, best first.
const MARC: [&str; 3] = ["marcxml", "marc21", "marc"];

impl SruDescription {
    /// Adds data from the description to the profile of the server: title, SRU version, CQL indexes for the usual Use
    /// values, schema, and the maximum number of records in one answer.
    pub fn complete(&self, profile: &mut Profile) {
        let zeerex = &self.zeerex;
        let title = Some(&zeerex.database.title).filter(|title| !title.is_empty());
        profile.title = profile.title.take().or(title.cloned());
        let maximum = zeerex
            .config
            .setting("maximumRecords")
            .and_then(|text| text.trim().parse().ok());
        profile.chunk = profile.chunk.or(maximum.filter(|count| *count > 0));
        let Some(options) = &mut profile.sru else {
            return;
        };
        if options.version == Version::default() {
            let words = zeerex.server.version.split([' ', ',']);
            let told = words.filter_map(sru_version).max();
            options.version = told.unwrap_or_default();
        }
        if options.schema.is_none() {
            options.schema = self.marc_schema();
        }
        for index in &zeerex.indexes {
            let names = index.maps.iter().filter_map(|map| match map {
                ZeeRexMap::Name { set, name } if set.is_empty() => Some(name.clone()),
                ZeeRexMap::Name { set, name } => Some(format!("{set}.{name}")),
                ZeeRexMap::Attributes(_) => None,
            });
            let names: Vec<String> = names.collect();
            let Some(first) = names.first().filter(|_| index.search != Some(false)) else {
                continue;
            };
            let values = index.maps.iter().filter_map(|map| match map {
                ZeeRexMap::Attributes(attributes) => attributes
                    .iter()
                    .find(|attribute| attribute.attribute_type == 1)
                    .and_then(|attribute| attribute.value.parse().ok()),
                ZeeRexMap::Name { set, name } => use_of(set, name),
            });
            // Without an entry, an index is named by its Use value, so a name that already has this form needs no
            // entry.
            for value in values.filter(|value| !is_number_of(first, *value)) {
                options
                    .indexes
                    .entry(value)
                    .or_insert_with(|| first.clone());
            }
        }
    }

    fn marc_schema(&self) -> Option<String> {
        let schemas = || {
            self.zeerex
                .schemas
                .iter()
                .filter(|one| one.retrieve != Some(false))
        };
        let found = MARC.iter().find_map(|part| {
            let is_marc = |text: &str| text.to_ascii_lowercase().contains(part);
            schemas().find(|schema| is_marc(&schema.name) || is_marc(&schema.identifier))
        });
        let schema = found.or_else(|| schemas().next())?;
        Some(if schema.name.is_empty() {
            schema.identifier.clone()
        } else {
            schema.name.clone()
        })
    }
}

/// Returns whether a CQL index name states the Use value by its number, as in `bib1.1214`.
fn is_number_of(name: &str, value: i64) -> bool {
    let number = name.split_once('.').filter(|(set, _)| {
        let set = set.to_ascii_lowercase();
        set == "bib1" || set == "bib-1"
    });
    number.is_some_and(|(_, number)| number == value.to_string())
}

/// Returns the Use value for an index whose name has the same meaning in all context sets, such as `title` or `isbn`.
fn use_of(set: &str, name: &str) -> Option<i64> {
    const NAMES: [(&str, i64); 12] = [
        ("title", 4),
        ("creator", 1003),
        ("author", 1003),
        ("subject", 21),
        ("publisher", 1018),
        ("date", 31),
        ("language", 54),
        ("isbn", 7),
        ("issn", 8),
        ("lccn", 9),
        ("serverchoice", 1016),
        ("identifier", 1007),
    ];
    let is_record = set.eq_ignore_ascii_case("rec") && name.eq_ignore_ascii_case("identifier");
    if is_record || name.eq_ignore_ascii_case("recordIdentifier") {
        return Some(12);
    }
    let mut known = NAMES.iter();
    known
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use z3950_asn1::sru::SruLimits;

    use super::*;
    use crate::target::profile::Profiles;

    #[test]
    fn a_description_completes_a_profile() {
        let xml = "<explain xmlns=\"http://explain.z3950.org/dtd/2.0/\"><serverInfo version=\"1.1, 1.2 3.0\"/><databaseInfo><title>Books</title></databaseInfo><indexInfo>\
                   <index><title>T</title><map><name set=\"pica\">tit</name></map><map><attr type=\"1\" set=\"bib1\">4</attr></map></index>\
                   <index><map><name set=\"dc\">creator</name></map></index><index><map><name set=\"rec\">identifier</name></map></index>\
                   <index><map><name set=\"bib1\">1214</name></map><map><attr type=\"1\" set=\"bib1\">1214</attr></map></index>\
                   <index search=\"false\"><map><name set=\"x\">isbn</name></map></index><index><map><name>issn</name></map></index>\
                   <index><map><attr type=\"1\">8</attr></map></index></indexInfo><schemaInfo><schema name=\"dc\"/>\
                   <schema identifier=\"info:srw/schema/1/marcxml-v1.1\"/></schemaInfo>\
                   <configInfo><setting type=\"maximumRecords\">50</setting></configInfo></explain>";
        let zeerex = ZeeRex::from_xml(xml.to_owned(), &SruLimits::default()).expect("ZeeRex");
        let description = SruDescription {
            zeerex,
            xml: Bytes::from(xml),
        };
        let resolved = |target: &str| {
            Profiles::default()
                .resolve(target)
                .expect("a target")
                .profile
        };
        let mut profile = resolved("http://lib.example/x");
        description.complete(&mut profile);
        assert_eq!(
            (profile.title.as_deref(), profile.chunk),
            (Some("Books"), Some(50))
        );
        let sru = profile.sru.clone().expect("SRU");
        assert_eq!(sru.version, Version::V1_2);
        assert_eq!(
            sru.schema.as_deref(),
            Some("info:srw/schema/1/marcxml-v1.1")
        );
        let indexes: Vec<_> = sru
            .indexes
            .iter()
            .map(|(value, name)| (*value, &**name))
            .collect();
        assert_eq!(
            indexes,
            [
                (4, "pica.tit"),
                (8, "issn"),
                (12, "rec.identifier"),
                (1003, "dc.creator")
            ]
        );
        // A description does not replace values that are already set.
        let before = profile.clone();
        description.complete(&mut profile);
        assert_eq!(profile, before);
        let mut other = resolved("lib.example");
        description.complete(&mut other);
        assert_eq!(other.sru, None);
    }
}
