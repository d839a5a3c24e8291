//! What a server offers. This is determined before the server is judged: a database, a query with hits, and other values that the
//! checks of the protocol need.

use std::sync::Arc;

use serde_json::{Value, json};
use z3950_asn1::apdu::{DatabaseName, InitializeResponse, Options, RpnQuery};
use z3950_asn1::oid::Oid;
use z3950_asn1::sru::Version;
use z3950_asn1::sru::zeerex::{ZeeRex, ZeeRexIndex, ZeeRexMap};

/// Words that occur in most catalogues, in several languages. The last ones are meant for test servers.
pub(super) const WORDS: [&str; 14] = [
    "history", "war", "water", "the", "of", "a", "de", "la", "und", "computer", "book", "test",
    "peace", "1",
];
/// The preferred numbers of hits. They are small enough for all records to be fetched.
pub(super) const FEW: std::ops::RangeInclusive<i64> = 3..=20;
/// The message if the server did not answer while its offer was being determined.
pub(super) const TOO_LATE: &str = "the server did not answer in time";

/// A precondition of the judgement that the server does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingPrerequisite {
    /// The server could not be reached, or did not answer the first request.
    Answer,
    /// Init was rejected.
    Session,
    /// A database does not exist.
    Database,
    /// The user's query was refused.
    Query,
    /// The user's query has no hits.
    Hits,
    /// The database for updates cannot be updated.
    Updates,
}

/// What a server offers in the protocol in which it is judged.
#[derive(Debug, Clone)]
pub enum ServerOffer {
    /// What a Z39.50 server offers.
    Z3950(Arc<Offer>),
    /// What an SRU server offers.
    Sru(Arc<SruOffer>),
}

impl ServerOffer {
    /// Returns whether the server answered any request.
    pub fn has_answered(&self) -> bool {
        match self {
            Self::Z3950(offer) => offer.init.is_some(),
            Self::Sru(offer) => offer.has_answered,
        }
    }

    /// Returns the preconditions of the judgement that the server does not meet.
    pub fn missing(&self) -> &[MissingPrerequisite] {
        match self {
            Self::Z3950(offer) => &offer.missing,
            Self::Sru(offer) => &offer.missing,
        }
    }

    /// Returns notes on features that could not be determined, with the reason.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Z3950(offer) => &offer.notes,
            Self::Sru(offer) => &offer.notes,
        }
    }

    /// Returns the server's properties and the values used to judge it, as pairs of name and value.
    pub(super) fn used(&self) -> Vec<(String, Value)> {
        match self {
            Self::Z3950(offer) => offer.used(),
            Self::Sru(offer) => offer.used(),
        }
    }
}

/// The features that a Z39.50 server offers, as determined before the server is judged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Offer {
    /// The server's answer to Init; `None` if there was no answer.
    pub init: Option<InitializeResponse>,
    /// The version in force; 0 if there is no session.
    pub version: u8,
    /// The options granted by the server.
    pub granted: Options,
    /// The databases that are judged.
    pub databases: Vec<DatabaseName>,
    /// Whether the databases were chosen by the judge, because the user did not name any.
    pub is_default: bool,
    /// A query with hits or, if none was found, the first query tried.
    pub query: Option<RpnQuery>,
    /// The reason why the query was refused; `None` if a query was accepted.
    pub refusal: Option<String>,
    /// The number of hits of the query.
    pub hits: i64,
    /// The record syntaxes in which the server returned the first record.
    pub syntaxes: Vec<Oid>,
    /// The preconditions of the judgement that the server does not meet.
    pub missing: Vec<MissingPrerequisite>,
    /// Notes on features that could not be determined, with the reason.
    pub notes: Vec<String>,
}

impl Offer {
    fn used(&self) -> Vec<(String, Value)> {
        let databases: Vec<Value> = self
            .databases
            .iter()
            .map(|name| name.0.to_string_lossy().into())
            .collect();
        let options: Vec<&str> = self.granted.names().collect();
        let syntaxes: Vec<&str> = self.syntaxes.iter().filter_map(|oid| oid.name()).collect();
        let implementation = self.init.as_ref().map(|init| {
            let texts = [&init.implementation_name, &init.implementation_version];
            let texts = texts
                .into_iter()
                .flatten()
                .map(|text| text.to_string_lossy());
            texts.collect::<Vec<_>>().join(" ")
        });
        let query = self.query.as_ref().map(ToString::to_string);
        [
            ("implementation", json!(implementation)),
            ("version", json!(self.version)),
            ("options", json!(options)),
            ("databases", json!(databases)),
            ("query", json!(query)),
            ("hits", json!(self.hits)),
            ("syntaxes", json!(syntaxes)),
            ("notes", json!(self.notes)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// The features that an SRU server offers, as determined before the server is judged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SruOffer {
    /// Whether the server sent an SRU answer in any version.
    pub has_answered: bool,
    /// The path of the database.
    pub path: String,
    /// The versions that the server supports, earliest first.
    pub versions: Vec<Version>,
    /// Whether the server supports version 2.0 only for requests with the parameter `version`, which is not defined in 2.0.
    pub names_version: bool,
    /// The server's description of itself; `None` if it does not send one.
    pub description: Option<ZeeRex>,
    /// A CQL query with hits or, if none was found, the first query tried.
    pub query: Option<String>,
    /// The number of hits of the query.
    pub hits: u64,
    /// Whether the server evaluates queries, so that a search for a word that does not occur anywhere has no hits.
    pub has_index: bool,
    /// A scan clause for an index that contains terms.
    pub scan_clause: Option<String>,
    /// The preconditions of the judgement that the server does not meet.
    pub missing: Vec<MissingPrerequisite>,
    /// Notes on features that could not be determined, with the reason.
    pub notes: Vec<String>,
}

impl SruOffer {
    fn used(&self) -> Vec<(String, Value)> {
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

    /// Returns the CQL names, with prefixes, of the indexes in the description for which `keeps` returns true. An index with
    /// several names is listed under one of them.
    pub(super) fn indexes(&self, keeps: impl Fn(&ZeeRexIndex) -> bool) -> Vec<String> {
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

/// Returns whether `hits` is a better number of hits for the checks than `than`. Numbers in [`FEW`] are best, followed by the
/// smallest number above this range, and then by the largest number below it.
pub(super) fn is_better(hits: i64, than: i64) -> bool {
    match (hits, than) {
        _ if hits <= 0 || FEW.contains(&than) => false,
        _ if FEW.contains(&hits) => true,
        _ if hits > *FEW.end() => than < *FEW.start() || hits < than,
        _ => than < hits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_hits_are_best() {
        for (hits, than, better) in [
            (0, 0, false),
            (-5, 0, false),
            (1, 0, true),
            (2, 1, true),
            (1, 2, false),
            (3, 2, true),
            (3, 500, true),
            (20, 21, true),
            (4, 3, false),
            (21, 2, true),
            (21, 20, false),
            (2, 21, false),
            (22, 21, false),
            (21, 22, true),
        ] {
            assert_eq!(is_better(hits, than), better, "{hits} than {than}");
        }
    }
}
