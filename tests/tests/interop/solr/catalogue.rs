//! A catalogue in front of a Solr collection, which is called directly as a backend.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{RpnQuery, RpnStructure};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{
    AttributesPlusTerm, Backend, Composition, DatabaseName, Found, Hits, Operand, Retrieve,
    RetrieveMany, Search,
};
use z3950_tests::solr::SolrShape;

use super::Filled;

/// A set of identifiers.
pub(super) type Ids = BTreeSet<String>;

/// The records that a query finds, or the condition of its diagnostic.
pub(super) type Outcome = Result<Ids, i64>;

/// Returns the text of the built-in map for a schema.
pub(super) fn shipped(shape: SolrShape) -> &'static str {
    CatalogueMap::shipped(shape.name()).expect("a map")
}

/// Returns a database for a collection that uses a map.
fn opened(filled: &Filled, map: &str) -> CatalogueDatabase {
    let addresses = filled.nodes.urls(&filled.collection);
    let addresses = addresses
        .iter()
        .map(|url| ClusterAddress::of_catalogue(url));
    let addresses = addresses.collect::<Result<Vec<_>, _>>().expect("addresses");
    let map = CatalogueMap::parse(map).expect("a valid map");
    let options = CatalogueOptions::new("town", addresses);
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

pub(super) fn query(pqf: &str) -> RpnQuery {
    parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"))
}

pub(super) fn operand(query: &RpnQuery) -> &AttributesPlusTerm {
    match &query.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => operand,
        other => panic!("{other:?}"),
    }
}

/// A catalogue in front of a Solr collection.
pub(super) struct SolrCatalogue {
    pub(super) database: CatalogueDatabase,
    pub(super) names: [DatabaseName; 1],
}

impl SolrCatalogue {
    pub(super) fn open(filled: &Filled, shape: SolrShape) -> Self {
        Self::with_map(filled, shipped(shape))
    }

    /// Opens the catalogue with a map that a site has changed.
    pub(super) fn with_map(filled: &Filled, map: &str) -> Self {
        Self {
            database: opened(filled, map),
            names: [DatabaseName::from("town")],
        }
    }

    pub(super) async fn search(&self, pqf: &str) -> Result<Found, (i64, String)> {
        let query = query(pqf);
        let found = self.database.search(Search::new(&self.names, &query)).await;
        found.map_err(|why| (why.condition, why.addinfo.to_string_lossy().into_owned()))
    }

    /// Returns the identifiers of all records that a query finds.
    pub(super) async fn ids(&self, pqf: &str) -> Result<Ids, (i64, String)> {
        let hits = self.search(pqf).await?.hits;
        let mut ids = Ids::new();
        for record in self.records(&hits, 0..hits.len()).await {
            let id = record.control_number().expect("an identifier");
            ids.insert(String::from_utf8_lossy(id).into_owned());
        }
        assert_eq!(ids.len(), hits.len(), "{pqf}: each record once");
        Ok(ids)
    }

    pub(super) async fn records(&self, hits: &Hits, positions: Range<usize>) -> Vec<MarcRecord> {
        let composition = Composition::full(None);
        let ids = hits.ids(positions);
        if let Some(prepared) = self
            .database
            .prepare(RetrieveMany::new(hits, &ids, &composition))
        {
            prepared.await.expect("prepared");
        }
        let mut found = Vec::new();
        for id in ids {
            let retrieved = self
                .database
                .record(Retrieve::new(hits, id, &composition))
                .await;
            let record = retrieved.expect("retrieved").record.expect("a record");
            let octets = Bytes::copy_from_slice(record.octets());
            found.push(iso2709::parse(&octets).expect("valid").record);
        }
        found
    }

    /// Compares the results of queries with the expected ones. Returns descriptions of the queries that differ, and the number of
    /// queries that find records.
    pub(super) async fn compare(&self, cases: &[(String, Outcome)]) -> (Vec<String>, usize) {
        let (mut wrong, mut finding) = (Vec::new(), 0);
        for (pqf, expected) in cases {
            let found = self.ids(pqf).await;
            finding += usize::from(found.as_ref().is_ok_and(|ids| !ids.is_empty()));
            match (&found, expected) {
                (Ok(ids), Ok(expected)) if ids == expected => {}
                (Err((condition, _)), Err(expected)) if condition == expected => {}
                _ => wrong.push(format!("{pqf}: {found:?} instead of {expected:?}")),
            }
        }
        (wrong, finding)
    }
}
