//! A node of a cluster that is killed: what is missing is told, or the search is refused.

use std::sync::Arc;

use tokio::runtime::Runtime;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_server::backend::{Backend, DatabaseName, Search};
use z3950_tests::koha::{Edition, KohaIndex, made_up};
use z3950_tests::opensearch::{Cluster, NodeProgram};

/// Opens an index at the first node of a cluster.
fn opened(cluster: &Cluster, index: &str, is_strict: bool) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let map = CatalogueMap::parse(text).expect("a map");
    let url = cluster.urls(index).swap_remove(0);
    let address = ClusterAddress::of_catalogue(&url).expect("an address");
    let mut options = CatalogueOptions::new("town", vec![address]);
    options.strict = is_strict;
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

/// Returns the number of all records and whether some are missing, or the condition of the diagnostic.
async fn found(database: &CatalogueDatabase) -> Result<(usize, bool), i64> {
    let names = [DatabaseName::from("town")];
    let query = parse_pqf("@attr 1=1016 @attr 2=103 x").expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    let found = found.map_err(|why| why.condition)?;
    let is_part = found.sources.iter().any(|source| source.failure.is_some());
    Ok((found.hits.len(), is_part))
}

#[test]
fn a_node_that_is_killed_is_missed_or_refused() {
    let Some(program) = NodeProgram::for_koha() else {
        return;
    };
    let mut cluster = Cluster::start(&program, 2);
    let (name, total) = {
        let index = KohaIndex::filled(&cluster, "killed", Edition::Current, &made_up(100));
        let total = super::brute::shown(&index).count();
        (index.name, total)
    };
    let [lenient, strict] = [false, true].map(|is_strict| opened(&cluster, &name, is_strict));
    let runtime = Runtime::new().expect("a runtime");
    let found = |database: &CatalogueDatabase| runtime.block_on(found(database));
    assert_eq!(found(&lenient), Ok((total, false)));
    assert_eq!(found(&strict), Ok((total, false)));
    cluster.kill(1);
    let (part, is_part) = found(&lenient).expect("the records of a shard");
    assert!(is_part && part < total, "{part} of {total}");
    assert_eq!(found(&strict), Err(109));
    cluster.restart(1);
    cluster.wait_for_green();
    assert_eq!(found(&lenient), Ok((total, false)));
    assert_eq!(found(&strict), Ok((total, false)));
}
