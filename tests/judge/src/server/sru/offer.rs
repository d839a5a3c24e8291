//! The offer of an SRU server, determined before it is judged: versions, a description, a query with hits, an index to scan.

use serde_json::{Value, json};
use z3950_asn1::sru::Version;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use crate::server::offer::MissingPrerequisite;

/// The versions of SRU, earliest first.
pub(super) const VERSIONS: [Version; 3] = [Version::V1_1, Version::V1_2, Version::V2_0];

/// The features that an SRU server offers, as determined before it is judged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SruOffer {
    /// Whether the server sent an SRU answer in any version.
    pub has_answered: bool,
    /// The path of the database.
    pub path: String,
    /// The versions that the server supports, earliest first.
    pub versions: Vec<Version>,
    /// Whether the server supports 2.0 only if the request has the parameter `version`, which does not exist in 2.0.
    pub names_version: bool,
    /// The server's description of itself; `None` if it does not send one.
    pub description: Option<ZeeRex>,
    /// A CQL query with hits or, if none was found, the first query tried.
    pub query: Option<String>,
    /// The number of hits of the query.
    pub hits: u64,
    /// Whether the server really searches: it has no hits for a word that does not occur anywhere.
    pub has_index: bool,
    /// A clause for scanning an index with terms.
    pub scan_clause: Option<String>,
    /// The preconditions of the judgement that the server does not meet.
    pub missing: Vec<MissingPrerequisite>,
    /// Notes on features that could not be determined, with the reason.
    pub notes: Vec<String>,
}

impl SruOffer {
    pub(in crate::server) fn used(&self) -> Vec<(String, Value)> {
        let versions: Vec<&str> = self.versions.iter().map(|one| one.as_str()).collect();
        let implementation = self.description.as_ref().and_then(|description| {
            let found = description.database.implementation.as_ref()?;
            Some(
                format!("{} {}", found.title, found.version)
                    .trim()
                    .to_owned(),
            )
        });
        let schemas: Vec<&str> = self
            .description
            .iter()
            .flat_map(|description| description.schemas.iter().map(|schema| &*schema.name))
            .collect();
        [
            ("implementation", json!(implementation)),
            ("versions", json!(versions)),
            ("databases", json!([self.path])),
            ("query", json!(self.query)),
            ("hits", json!(self.hits)),
            ("scan", json!(self.scan_clause)),
            ("schemas", json!(schemas)),
            ("notes", json!(self.notes)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Returns the CQL names, with prefixes, of the indexes in the description for which `keeps` returns true; one name per
    /// index.
    pub(super) fn indexes(
        &self,
        keeps: impl Fn(&z3950_asn1::sru::zeerex::ZeeRexIndex) -> bool,
    ) -> Vec<String> {
        let indexes = self.description.iter().flat_map(|one| &one.indexes);
        let names = indexes.filter(|index| keeps(index)).filter_map(|index| {
            index.maps.iter().find_map(|map| match map {
                ZeeRexMap::Name { set, name } if set.is_empty() => Some(name.clone()),
                ZeeRexMap::Name { set, name } => Some(format!("{set}.{name}")),
                ZeeRexMap::Attributes(_) => None,
            })
        });
        names.collect()
    }

    /// Returns the last word of the query, which is its term.
    pub(super) fn term(&self) -> &str {
        let query = self.query.as_deref().unwrap_or_default();
        let word = query.rsplit(['=', ' ']).next().unwrap_or_default();
        word.trim_matches(['"', '(', ')'])
    }
}
