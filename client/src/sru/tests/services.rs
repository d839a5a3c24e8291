//! Updates and descriptions.

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
    // The first refusal ends it.
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
        "Explain failed: diagnostic 1 (the server has a permanent error; trying again will not help): explain (SRU diagnostic 4: the server does not offer this operation)",
        "protocol error during Explain: the answer to another operation than explain",
    ] {
        let error = connection.describe().await;
        assert_eq!(chain(&error.expect_err("no description")), expected);
    }
}
