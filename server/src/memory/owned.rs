//! Searches and scans that own their data, so that they can run on other threads.

use std::collections::HashMap;

use z3950_asn1::apdu::{AttributesPlusTerm, DatabaseName, Operand, RpnQuery};
use z3950_asn1::oid::Oid;

use crate::backend::{FacetRequest, Hits, Scan, Search};

/// A search, with the result sets that its query names.
pub(super) struct OwnedSearch {
    databases: Vec<DatabaseName>,
    query: RpnQuery,
    result_sets: HashMap<Vec<u8>, Hits>,
    term_counts: bool,
    facets: Vec<FacetRequest>,
}

impl OwnedSearch {
    pub(super) fn of(search: &Search<'_>) -> Self {
        let mut result_sets = HashMap::new();
        for operand in search.query.rpn.operands() {
            if let Operand::ResultSet(name) = operand {
                let name = name.0.as_bytes();
                let hits = (search.result_set)(name);
                result_sets.extend(hits.map(|hits| (name.to_vec(), hits)));
            }
        }
        Self {
            databases: search.databases.to_vec(),
            query: search.query.clone(),
            result_sets,
            term_counts: search.term_counts,
            facets: search.facets.to_vec(),
        }
    }

    /// Calls a function with the search.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Search<'_>) -> T) -> T {
        work(&Search {
            databases: &self.databases,
            query: &self.query,
            result_set: &|name| self.result_sets.get(name).cloned(),
            term_counts: self.term_counts,
            facets: &self.facets,
        })
    }
}

/// A scan.
pub(super) struct OwnedScan {
    databases: Vec<DatabaseName>,
    attribute_set: Oid,
    start: AttributesPlusTerm,
    within: Option<Hits>,
    before: usize,
    after: usize,
    step: usize,
}

impl OwnedScan {
    pub(super) fn of(scan: &Scan<'_>) -> Self {
        Self {
            databases: scan.databases.to_vec(),
            attribute_set: scan.attribute_set,
            start: scan.start.clone(),
            within: scan.within.cloned(),
            before: scan.before,
            after: scan.after,
            step: scan.step,
        }
    }

    /// Calls a function with the scan.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Scan<'_>) -> T) -> T {
        work(&Scan {
            databases: &self.databases,
            attribute_set: self.attribute_set,
            start: &self.start,
            within: self.within.as_ref(),
            before: self.before,
            after: self.after,
            step: self.step,
        })
    }
}
