//! Tests of a cluster in which a node is killed. Missing records are reported, or the search is refused.

use std::sync::Arc;

use tokio::runtime::Runtime;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_server::backend::{Backend, Composition, DatabaseName, Hits, Retrieve, Search};
use z3950_tests::koha::{Edition, KohaIndex, made_up};
use z3950_tests::opensearch::{Cluster, NodeProgram};

/// Returns a database for an index at the first node of a cluster.
fn opened(cluster: &Cluster, index: &str, is_strict: bool) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let map = CatalogueMap::parse(text).expect("a map");
    let url = cluster.urls(index).swap_remove(0);
    let address = ClusterAddress::of_catalogue(&url).expect("an address");
    let mut options = CatalogueOptions::new("town", vec![address]);
    options.strict = is_strict;
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

/// Returns the number of records that a query finds and whether some are missing, or the condition of the diagnostic.
async fn found(database: &CatalogueDatabase, pqf: &str) -> Result<(usize, bool), i64> {
    let names = [DatabaseName::from("town")];
    let query = parse_pqf(pqf).expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    let found = found.map_err(|why| why.condition)?;
    let failures = found
        .sources
        .iter()
        .filter_map(|source| source.failure.as_ref());
    let words: Vec<_> = failures.map(|why| why.addinfo.to_string_lossy()).collect();
    for words in &words {
        let known = [
            "1 of 2 parts of the index does not answer",
            "the search took too long",
        ];
        assert!(known.contains(&&**words), "{words}");
    }
    Ok((found.hits.len(), !words.is_empty()))
}

/// Presents the records in a result set one by one, and returns for each of them whether it was returned. The diagnostic for a
/// record that was not returned must say that the record no longer exists, or that its part of the index does not answer.
async fn presented(database: &CatalogueDatabase, hits: &Hits) -> Vec<bool> {
    let composition = Composition::full(None);
    let mut arrived = Vec::new();
    for id in hits.ids(0..hits.len()) {
        let wanted = Retrieve::new(hits, id, &composition);
        let record = database.record(wanted).await.expect("retrieved").record;
        if let Err(why) = &record {
            let words = "the record no longer exists, or its part of the index does not answer";
            assert_eq!(
                (why.condition, &*why.addinfo.to_string_lossy()),
                (14, words)
            );
        }
        arrived.push(record.is_ok());
    }
    arrived
}

const ALL: &str = "@attr 1=1016 @attr 2=103 x";

#[test]
fn a_node_that_is_killed_is_missed_or_refused() {
    let Some(program) = NodeProgram::for_koha() else {
        return;
    };
    let mut cluster = Cluster::start(&program, 2);
    let (name, numbers) = {
        let index = KohaIndex::filled(&cluster, "killed", Edition::Current, &made_up(100));
        let numbers = super::brute::shown(&index).map(|document| document.number);
        let numbers: Vec<usize> = numbers.collect();
        (index.name, numbers)
    };
    let total = numbers.len();
    let [lenient, strict] = [false, true].map(|is_strict| opened(&cluster, &name, is_strict));
    let runtime = Runtime::new().expect("a runtime");
    let found = |database: &CatalogueDatabase| runtime.block_on(found(database, ALL));
    let known = |database: &CatalogueDatabase, number: usize| {
        runtime.block_on(self::found(database, &format!("@attr 1=12 {number}")))
    };
    assert_eq!(found(&lenient), Ok((total, false)));
    assert_eq!(found(&strict), Ok((total, false)));
    // After this Present, the record numbers of the result set have been read.
    let hits = runtime.block_on(super::hits(&lenient, ALL));
    let page = runtime.block_on(super::page(&lenient, &hits, 20, 2));
    page.expect("records");
    cluster.kill(1);
    let (part, is_part) = found(&lenient).expect("the records of a shard");
    assert!(is_part && part < total, "{part} of {total}");
    assert_eq!(found(&strict), Err(109));
    // A record that is not found may be in the missing shard. The error reports this, and does not claim that the record does not
    // exist.
    let lost: Vec<usize> = { numbers.iter().copied() }
        .filter(|number| known(&lenient, *number) == Ok((0, true)))
        .collect();
    assert_eq!(lost.len(), total - part);
    assert_eq!(known(&strict, lost[0]), Err(109));
    let arrived = runtime.block_on(presented(&lenient, &hits));
    let expected = numbers.iter().enumerate();
    let first = hits.len().min(10);
    for ((place, number), arrived) in expected.zip(arrived) {
        // The first records came with the search response, so they are available even if their shard is missing.
        let is_kept = place < first;
        assert_eq!(arrived, is_kept || !lost.contains(number), "{number}");
    }
    // The first node may ignore the restarted node for a moment before it notices that it is running again.
    let wait_until_whole = || {
        while found(&lenient) != Ok((total, false)) {
            z3950_tests::pause();
        }
    };
    cluster.recover(&[1]);
    wait_until_whole();
    assert_eq!(found(&strict), Ok((total, false)));
    // If a node hangs, either its shards are reported as missing or the search times out. No answer claims to be complete.
    cluster.signal(1, "STOP");
    let outcomes = [found(&lenient), found(&lenient), found(&strict)];
    cluster.signal(1, "CONT");
    for outcome in outcomes {
        let is_told = match outcome {
            Ok((part, is_part)) => is_part && part < total,
            Err(condition) => condition == 109,
        };
        assert!(is_told, "{outcome:?}");
    }
    cluster.recover(&[]);
    wait_until_whole();
}
