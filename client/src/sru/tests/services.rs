//! Tests of record updates, and of descriptions of databases.

use bytes::Bytes;
use z3950_asn1::es::update::Action;
use z3950_marc::MarcRecord;
use z3950_marc::marcxml::from_xml;

use super::*;
use crate::service::extended::Order;

fn record(id: &str) -> MarcRecord {
    from_xml(&marc(id)).expect("MARCXML").record
}

fn updated(contents: &str) -> Reply {
    ok(format!(
        "<u:updateResponse xmlns:u=\"http://www.loc.gov/zing/srw/update/\">{contents}</u:updateResponse>"
    ))
}

#[tokio::test]
async fn records_are_updated_one_by_one() {
    let success = || updated("<u:operationStatus>success</u:operationStatus>");
    let locked = "<u:operationStatus>fail</u:operationStatus><diagnostics><diagnostic><uri>info:srw/diagnostic/12/52</uri>\
                  <details>2</details></diagnostic></diagnostics>";
    let peer = Peer::new([success(), success(), updated(locked), updated("")]);
    let connection = peer.connect().await;
    let records = [record("1"), record("2")];
    connection
        .update(Action::RECORD_INSERT, &records)
        .await
        .expect("done");
    let asked = peer.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[1].starts_with("POST /db <?xml"), "{}", asked[1]);
    assert!(asked[1].contains("info:srw/action/1/create") && asked[1].contains("Title 1"));
    assert!(!asked[1].contains("recordIdentifier"), "{}", asked[1]);
    let error = connection.update(Action::RECORD_REPLACE, &records).await;
    let words = chain(&error.expect_err("locked"));
    assert!(
        words.starts_with("Extended Services failed: diagnostic 224"),
        "{words}"
    );
    assert!(
        words.contains("2 (SRU diagnostic info:srw/diagnostic/12/52"),
        "{words}"
    );
    // The first refusal ends the update, so the remaining records are not sent.
    assert_eq!(peer.asked().len(), 4);
    assert!(peer.asked()[3].contains("recordIdentifier>1<"));
    let error = connection
        .update(Action::RECORD_DELETE, &records[..1])
        .await;
    let words = chain(&error.expect_err("failed"));
    assert!(words.ends_with("the server gives no reason"), "{words}");
    assert!(!peer.asked()[4].contains("Title"), "{}", peer.asked()[4]);
}

#[tokio::test]
async fn other_tasks_are_refused() {
    let peer = Peer::new([found(1, [1])]);
    let connection = peer.connect().await;
    let hits = connection
        .search_first(Query::any("a"), 1)
        .await
        .expect("hits");
    let error = connection.order(&hits, 1, Order::default()).await;
    let words = chain(&error.expect_err("refused"));
    assert!(
        words.contains("diagnostic 221") && words.ends_with("SRU has updates only"),
        "{words}"
    );
    let error = connection
        .update(Action::ELEMENT_UPDATE, &[record("1")])
        .await;
    let words = chain(&error.expect_err("refused"));
    assert!(
        words.contains("SRU inserts, replaces and deletes"),
        "{words}"
    );
    assert_eq!(peer.asked().len(), 2);
}

#[tokio::test]
async fn databases_are_described() {
    let explain = "<explain><databaseInfo><title>Books</title></databaseInfo></explain>";
    let with_record = |data: &str| {
        ok(format!(
            "<explainResponse><record><recordData>{data}</recordData></record></explainResponse>"
        ))
    };
    let peer = Peer::new([
        with_record(explain),
        ok(explain),
        with_record(""),
        ok("<explainResponse/>"),
        refused(4, "explain"),
        found(1, []),
    ]);
    let connection = peer.connect().await;
    for _ in 0..2 {
        let description = connection.describe().await.expect("a description");
        assert_eq!(description.zeerex.database.title, "Books");
        assert_eq!(description.xml, Bytes::from(explain));
    }
    assert_eq!(peer.asked()[1], "GET /db?explain");
    for expected in [
        "protocol error during Explain: the server has no description of the database",
        "protocol error during Explain: the server has no description of the database",
        "Explain failed: diagnostic 1025 (the database does not offer this service): explain (SRU diagnostic 4: the server does not offer this operation)",
        "protocol error during Explain: an answer to an operation other than explain",
    ] {
        let error = connection.describe().await;
        assert_eq!(chain(&error.expect_err("no description")), expected);
    }
}

#[tokio::test]
async fn facets_are_counted_in_2_0() {
    use crate::service::search::SearchOptions;
    use z3950_asn1::format::facets::{FacetField, FacetList};

    let targets = "[targets.new]\nhost = \"lib.example\"\nsru = { version = \"2.0\" }\n\
                   [targets.old]\nhost = \"lib.example\"\nsru = { version = \"1.2\" }\n";
    let facets = "<sr:facetedResults xmlns:sr=\"http://docs.oasis-open.org/ns/search-ws/facetedResults\"><sr:facet>\
                  <sr:index>dc.creator</sr:index><sr:terms><sr:term><sr:actualTerm>Tolstoy</sr:actualTerm><sr:count>4</sr:count>\
                  </sr:term></sr:terms></sr:facet></sr:facetedResults></zs:searchRetrieveResponse>";
    let answer = found_xml(4, [1]).replace("</zs:searchRetrieveResponse>", facets);
    let search = async |target: &str, peer: &Peer| {
        let client = peer.client_with(Timeouts::default(), targets);
        let connection = client.connect(target).await.expect("a connection");
        let session = connection.inner.session().await.expect("a session");
        let wanted = FacetList(vec![
            FacetField::request("author", 3),
            FacetField::of_use(21, 5, 1, false),
        ]);
        let options = SearchOptions::default()
            .with_facets(&wanted)
            .expect("facets");
        session
            .search(
                z3950_asn1::apdu::Query::Type1(Query::any("war").into()),
                &options,
            )
            .await
    };
    let peer = Peer::new([ok(answer.clone())]);
    let found = search("new", &peer).await.expect("hits");
    let list = found.facets().expect("facets").0;
    assert_eq!(list.len(), 1);
    assert_eq!(
        list[0].field(),
        FacetField::request("author", 3).field(),
        "{list:?}"
    );
    assert_eq!(list[0].terms.as_ref().map(|terms| terms[0].count), Some(4));
    assert!(
        peer.asked()[1]
            .ends_with("&facetLimit=3%3Adc.creator%2C5%3Adc.subject&facetStart=1%3Adc.subject"),
        "{:?}",
        peer.asked()
    );
    // Versions before 2.0 do not have facets, so the request is sent as version 2.0.
    let peer = Peer::new([ok(answer)]);
    search("old", &peer).await.expect("hits");
    let asked = peer.asked();
    assert!(asked[1].contains("&facetLimit="), "{asked:?}");
    assert!(!asked[1].contains("version=1"), "{asked:?}");
}

#[tokio::test]
async fn cql_goes_as_it_was_typed() {
    let scan = || ok("<scanResponse><terms><term><value>war</value></term></terms></scanResponse>");
    let peer = Peer::new([found(1, []), found(1, []), scan(), scan()]);
    let connection = peer.connect().await;
    let cql = |text: &str| Query::cql(text).expect("CQL");
    let typed = cql("dc.title  = (war) sortby dc.date");
    connection.search(typed).await.expect("hits");
    let joined = cql("title=war") & Query::isbn("1");
    connection.search(joined).await.expect("hits");
    connection.scan(cql("dc.title=war")).await.expect("terms");
    connection.scan(Query::title("war")).await.expect("terms");
    let asked = peer.asked();
    for (asked, expected) in asked[1..].iter().zip([
        "query=dc.title%20%20%3D%20%28war%29%20sortby%20dc.date&",
        "query=dc.title%20%3D%20war%20and%20bath.isbn%20%3D%201&",
        "scanClause=dc.title%3Dwar&",
        "scanClause=dc.title%20%3D%20war&",
    ]) {
        assert!(asked.contains(expected), "{asked}");
    }
}
