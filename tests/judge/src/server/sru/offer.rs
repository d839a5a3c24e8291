//! The features that an SRU server offers, determined before it is judged: versions, a description, a query that has hits, an
//! index to scan.

use serde_json::{Value, json};
use z3950_asn1::sru::Version;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use crate::server::offer::Missing;

/// The versions in order.
pub(super) const VERSIONS: [Version; 3] = [Version::V1_1, Version::V1_2, Version::V2_0];

/// The features that an SRU server offers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SruOffer {
    /// Whether the server sent an SRU answer, in any version.
    pub has_answered: bool,
    /// The path of the database.
    pub path: String,
    /// The versions in which the server answers, earliest first.
    pub versions: Vec<Version>,
    /// Whether the server answers in 2.0 only if the request names the version, although 2.0 does not have this parameter.
    pub names_version: bool,
    /// The server's description of itself.
    pub description: Option<ZeeRex>,
    /// A query with hits, in CQL; if no query has hits, the first one tried.
    pub query: Option<String>,
    /// The number of hits of the query.
    pub hits: u64,
    /// Whether the server has an index: it finds no hits for a word that occurs nowhere.
    pub has_index: bool,
    /// A scan clause whose index has terms.
    pub scan_clause: Option<String>,
    /// The things that were requested and do not exist.
    pub missing: Vec<Missing>,
    /// Features that could not be determined, with the reason.
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

    /// Returns the CQL names, with their prefixes, of the description's indexes for which `keeps` returns true: one name for
    /// each index.
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

    /// Returns the term of the query: its last word.
    pub(super) fn term(&self) -> &str {
        let query = self.query.as_deref().unwrap_or_default();
        let word = query.rsplit(['=', ' ']).next().unwrap_or_default();
        word.trim_matches(['"', '(', ')'])
    }
}
