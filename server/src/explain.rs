//! Explain (Z39.50-2003 §3.2.10, Appendices ATR.2 and REC.1): the database IR-Explain-1, which describes the server, its
//! databases and what they support. Its records are made for each search, so that they are current.

mod entry;
mod lists;
mod records;

use std::sync::Arc;

use z3950_asn1::apdu::{DatabaseName, External};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::explain::ExplainRecord;
use z3950_asn1::record::sutrs_external;

pub use self::entry::EXPLAIN_DATABASE;
use self::entry::ExplainEntry;
use self::records::entries;
use crate::backend::{
    Answer, Backend, DatabaseInfo, Found, HitList, Hits, RecordId, Retrieve, Retrieved, Search,
    ids_of, ready,
};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::extended::{UseRules, find};
use crate::limits::Limits;
use crate::offer::Offer;

/// The database IR-Explain-1 of a server.
pub struct ExplainDatabase {
    backend: Arc<dyn Backend>,
    offer: Offer,
    limits: Limits,
}

impl ExplainDatabase {
    /// Describes the databases of a backend, and a server with this offer and these limits.
    pub fn new(backend: Arc<dyn Backend>, offer: Offer, limits: Limits) -> Self {
        Self {
            backend,
            offer,
            limits,
        }
    }

    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let entries = entries(&*self.backend, &self.offer, &self.limits);
        let texts = || {
            let all = (0..).zip(&entries);
            Box::new(all.map(|(number, entry)| (RecordId(number), entry.texts.as_slice())))
                as Box<dyn Iterator<Item = _>>
        };
        let found = find(&RULES, search, texts)?;
        Ok(Hits::new(ExplainHits { entries, found }))
    }
}

/// Use attributes of Exp-1.
const RULES: UseRules = UseRules {
    attribute_set: oid::EXP_1,
    uses: &[1, 2, 3, 4, 5, 6, 8, 12, 15, 20, 21],
};

/// The records at the time of the search.
struct ExplainHits {
    entries: Vec<ExplainEntry>,
    found: Vec<RecordId>,
}

impl HitList for ExplainHits {
    fn len(&self) -> usize {
        self.found.len()
    }

    fn ids(&self, positions: std::ops::Range<usize>) -> Vec<RecordId> {
        ids_of(&self.found, positions)
    }
}

const SYNTAXES: &[Oid] = &[oid::EXPLAIN, oid::SUTRS, oid::XML, oid::APPLICATION_XML];

impl Backend for ExplainDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: EXPLAIN_DATABASE.to_owned(),
            syntaxes: SYNTAXES.to_vec(),
            ..DatabaseInfo::default()
        }]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        ready(self.search(&search).map(Found::from))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        SYNTAXES.contains(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let entry = wanted.hits.downcast::<ExplainHits>().and_then(|hits| {
            let number = usize::try_from(wanted.record.0).ok()?;
            hits.entries.get(number)
        });
        let shown = entry.and_then(|entry| {
            let is_brief = wanted
                .composition
                .element_set(EXPLAIN_DATABASE)
                .eq_ignore_ascii_case("B");
            let record = if is_brief {
                entry.brief()
            } else {
                entry.record.clone()
            };
            shown(&record, wanted.composition.syntax)
        });
        let failed = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        ready(Ok(Retrieved {
            database: DatabaseName::from(EXPLAIN_DATABASE),
            record: shown.ok_or_else(failed),
        }))
    }
}

/// A record in a syntax; `None` if it cannot be encoded.
fn shown(record: &ExplainRecord, syntax: Option<Oid>) -> Option<External> {
    match syntax {
        Some(oid::SUTRS) => sutrs_external(&record.describe().to_text()),
        Some(oid::XML | oid::APPLICATION_XML) => {
            let xml = record.describe().to_xml("explain");
            Some(External::octet_aligned(syntax?, xml.into_bytes()))
        }
        _ => External::of_value(oid::EXPLAIN, record).ok(),
    }
}

#[cfg(test)]
mod tests;
