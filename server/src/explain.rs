//! The database IR-Explain-1 (Z39.50-2003 §3.2.10, Appendices ATR.2 and REC.1), which describes the server, its databases and
//! their features. Its records are created for each search, so that they are up to date.

mod records;

use std::ops::Range;
use std::sync::Arc;

use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::codec::encode_value;
use z3950_asn1::oid::Oid;

pub use self::records::EXPLAIN_DATABASE;
use self::records::{EXPLAIN, ExplainEntry, entries};
use crate::access::Access;
use crate::backend::{
    Answer, Backend, DatabaseInfo, Found, HitList, Hits, RecordId, Retrieve, Retrieved, Search,
    ready,
};
use crate::budget::DECODED;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;
use crate::offer::Offer;

/// The database IR-Explain-1 of a server.
pub struct ExplainDatabase {
    backends: Vec<Arc<dyn Backend>>,
    offer: Offer,
    limits: Limits,
    /// Whether there are clients that may not update databases.
    restricts_updates: bool,
}

impl ExplainDatabase {
    /// Creates the description of a server with this offer and these limits and access rules, and of the databases of a backend.
    pub fn new(backend: Arc<dyn Backend>, offer: Offer, limits: Limits, access: &Access) -> Self {
        Self {
            backends: vec![backend],
            offer,
            limits,
            restricts_updates: access.restricts_updates(),
        }
    }

    /// Adds the databases of a further backend to the description.
    pub fn and(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backends.push(backend);
        self
    }

    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let backends = self.backends.iter();
        let databases = backends.flat_map(|backend| backend.databases());
        let entries = entries(
            databases.collect(),
            &self.offer,
            &self.limits,
            self.restricts_updates,
        );
        let texts = entries.iter().map(|entry| entry.texts.as_slice());
        let texts: Vec<_> = (0..).map(RecordId).zip(texts).collect();
        let found = EXPLAIN.find(search, &texts)?;
        let numbered = (0..).map(RecordId).zip(entries);
        let entries = numbered
            .filter(|(number, _)| found.binary_search(number).is_ok())
            .collect();
        Ok(Hits::new(ExplainHits { entries }))
    }
}

/// A list of hits that keeps the records as they were at the time of the search.
struct ExplainHits {
    /// The entries, in ascending order.
    entries: Vec<(RecordId, ExplainEntry)>,
}

impl HitList for ExplainHits {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.entries.len());
        let entries = self.entries.get(positions.start..end);
        let ids = entries
            .unwrap_or_default()
            .iter()
            .map(|(number, _)| *number);
        ids.collect()
    }

    fn octets(&self) -> usize {
        let octets = self.entries.iter().map(|(_, entry)| {
            let record = encode_value(&entry.record).map_or(0, |octets| octets.len());
            let texts = entry.texts.iter().map(|(_, text)| text.len());
            record * DECODED + texts.sum::<usize>()
        });
        octets.sum()
    }
}

impl Backend for ExplainDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![EXPLAIN.info()]
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        ready(self.search(&search).map(Found::from))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        EXPLAIN.has_syntax(syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let entry = wanted.hits.downcast::<ExplainHits>().and_then(|hits| {
            let found = hits
                .entries
                .binary_search_by_key(&wanted.record, |(number, _)| *number);
            hits.entries.get(found.ok()?).map(|(_, entry)| entry)
        });
        let composition = wanted.composition;
        let shown = entry.and_then(|entry| {
            let element_set = composition.element_set(EXPLAIN_DATABASE);
            let record = if element_set.eq_ignore_ascii_case("B") {
                entry.brief()
            } else {
                entry.record.clone()
            };
            EXPLAIN.shown(&record, "explain", composition.syntax)
        });
        let failed = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        ready(Ok(Retrieved::new(
            DatabaseName::from(EXPLAIN_DATABASE),
            shown.ok_or_else(failed),
        )))
    }
}

#[cfg(test)]
mod tests;
