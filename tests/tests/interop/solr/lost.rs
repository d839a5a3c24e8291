//! Tests of a node that is stopped. Missing records are reported, or the search is refused. After the node has been restarted,
//! nothing is missing.

use z3950_tests::program::z3950;
use z3950_tests::solr::{RecordForm, SolrNodes, SolrShape, vufind_document};

use super::home::{Home, Served, check};
use super::records;

const ALL: &str = "@attr 1=1016 @attr 2=103 x";

#[test]
fn a_shard_that_is_lost_is_missed_or_refused() {
    let Some(mut nodes) = SolrNodes::to_damage() else {
        return;
    };
    let number = 60;
    let collection = nodes.create(SolrShape::VuFind, "lost");
    let documents = records(number);
    let documents = documents
        .iter()
        .map(|one| vufind_document(one, RecordForm::Xml));
    nodes.load(&collection, &documents.collect::<Vec<_>>());
    let urls = nodes.urls(&collection);
    let lenient = Home::new(&urls, "catalogue = \"vufind\"").serve();
    let strict = Home::new(&urls, "catalogue = \"vufind\"\nstrict = true").serve();
    for served in [&lenient, &strict] {
        assert_eq!(served.count(ALL), number);
    }
    nodes.stop_node(1);
    // The first request may still go to the node that was stopped.
    let part = lenient.count(ALL);
    assert!(part > 0 && part < number, "{part}");
    let told = z3950(["search", &lenient.target(), ALL]);
    check(
        &told.stderr,
        &["part of town", "parts of the index do not answer"],
    );
    let in_xml = lenient.sru("cql.allRecords=1", &["maximumRecords=1"]);
    if let Some(found) = in_xml {
        check(
            &found,
            &[
                &format!("numberOfRecords>{part}<"),
                "parts of the index do not answer",
            ],
        );
    }
    let refused = z3950(["search", &strict.target(), ALL]);
    check(&refused.stderr, &["109"]);
    scans_are_told(&lenient, &strict);
    nodes.start_node(1);
    nodes.wait_for_documents(&collection, number);
    for served in [&lenient, &strict] {
        assert_eq!(served.count(ALL), number);
    }
}

fn scans_are_told(lenient: &Served, strict: &Served) {
    let scan = "scan @attr 1=1003 @attr 4=1 A";
    let Some(printed) = lenient.yaz(scan) else {
        return;
    };
    check(&printed, &["Scan returned code 5"]);
    check(&strict.yaz(scan).unwrap_or_default(), &["[109]"]);
}
