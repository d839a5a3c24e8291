//! What a server of SRU offers, found out before it is judged: versions, its description, a query that has hits, an index to scan.

use serde_json::{Value, json};
use z3950_asn1::sru::Version;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexMap};

use crate::server::offer::Missing;

/// The versions in their order.
pub(super) const VERSIONS: [Version; 3] = [Version::V1_1, Version::V1_2, Version::V2_0];

/// What a server of SRU offers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SruOffer {
    /// Whether an answer of SRU came, in whichever version.
    pub has_answered: bool,
    /// The path of the database.
    pub path: String,
    /// The versions in which it answers, from the earliest on.
    pub versions: Vec<Version>,
    /// Whether it answers in 2.0 only if the request names the version, which 2.0 does not have.
    pub names_version: bool,
    /// What it says about itself.
    pub description: Option<ZeeRex>,
    /// A query with hits, in CQL; if none has any, the first one tried.
    pub query: Option<String>,
    /// How many hits it has.
    pub hits: u64,
    /// Whether it has an index: no hits for a word that occurs nowhere.
    pub has_index: bool,
    /// A scan clause whose index has terms.
    pub scan_clause: Option<String>,
    /// What was asked for and is not there.
    pub missing: Vec<Missing>,
    /// What could not be found out, and why.
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

    /// The names of the description's indexes in CQL, with their prefixes, that `keeps` returns true for: one of each index.
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

    /// The term of the query: its last word.
    pub(super) fn term(&self) -> &str {
        let query = self.query.as_deref().unwrap_or_default();
        let word = query.rsplit(['=', ' ']).next().unwrap_or_default();
        word.trim_matches(['"', '(', ')'])
    }
}
