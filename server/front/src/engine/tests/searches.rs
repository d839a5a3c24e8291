//! Searches: everything that is counted comes in one round trip.

use z3950_server::asn1::apdu::{AttributeList, DatabaseName};
use z3950_server::asn1::query::parse_pqf;
use z3950_server::backend::FacetRequest;

use super::fake::Holdings;
use super::*;

fn attributes(query: &str) -> AttributeList {
    let mut query = parse_pqf(query).expect("a query");
    let mut terms = query.rpn.terms_mut();
    AttributeList(terms.next().expect("a term").attributes.clone())
}

#[tokio::test]
async fn facets_and_counts_come_with_the_search() {
    let engine =
        FakeServer::start(|request| ready(Some(Holdings::part(30).answer(&request)))).await;
    let database = database(&[&engine], &[]);
    let names = [DatabaseName::from("books")];
    let query = "@or ".repeat(39) + &["@attr 1=4 war"; 40].join(" ");
    let query = parse_pqf(&query).expect("a query");
    let facets = [1003, 21, 21, 9999]
        .map(|index| FacetRequest::new(attributes(&format!("@attr 1={index} x")), 0, 5, false));
    let mut search = Search::new(&names, &query);
    search.facets = &facets;
    search.term_counts = true;
    search.term_counts_asked = true;
    let found = database.search(search).await.expect("hits");
    let named: Vec<&AttributeList> = found.facets.iter().map(|facet| &facet.attributes).collect();
    assert_eq!(
        named,
        [&facets[0], &facets[1], &facets[2]].map(|facet| &facet.attributes)
    );
    assert!(found.facets.iter().all(|facet| facet.terms.len() == 1));
    // The engine takes 32 selects at once.
    let counts: Vec<usize> = found.term_counts.iter().map(|term| term.records).collect();
    assert_eq!(counts, [30; 28]);
    let asked = engine.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].matches("SELECT ").count(), 31);
    assert_eq!(found.sources.len(), 2);
}
