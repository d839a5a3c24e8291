//! Tests of rows Z-7.3, Z-7.5 and Z-7.6: the diagnostic for each query, position and search that the server refuses.

use z3950::Error;
use z3950::service::present::PresentOptions;
use z3950::service::search::SearchOptions;
use z3950_asn1::apdu::{Apdu, PresentStatus, Query, ResultSetStatus};
use z3950_asn1::oid::{self, Oid};

use super::library;
use super::rows::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_3_each_unsupported_piece_has_its_diagnostic() {
    let server = library().start();
    let (_client, session) = session(&server).await;
    for (databases, pqf, condition, addinfo) in [
        (&["cat"][..], "@attr 1=9999 x", 114, "9999"),
        (&["cat"], "@attr 1=1032 @attr 4=999 x", 118, "999"),
        (&["cat"], "@attr 1=1032 @attr 4=5 x", 118, "5"),
        (&["cat"], "@attr 9=1 x", 113, "9"),
        (
            &["cat"],
            "@attrset gils @attr 1=4 x",
            121,
            "1.2.840.10003.3.5",
        ),
        (&["cat"], "@attr 2=102 @attr 1=4 x", 117, "102"),
        (&["cat"], "@attr 3=9 @attr 1=4 x", 119, "9"),
        (&["cat"], "@attr 5=103 @attr 1=4 x", 120, "103"),
        (&["cat"], "@attr 6=9 @attr 1=4 x", 122, "9"),
        (&["nosuch"], "x", 235, "nosuch"),
        (&["cat", "nosuch"], "x", 235, "nosuch"),
        (&["cat"], "@set nosuch", 30, "nosuch"),
    ] {
        assert_eq!(
            refused(&session, databases, pqf).await,
            (condition, addinfo.into()),
            "{pqf}"
        );
    }
    let many = vec!["cat"; 65];
    assert_eq!(refused(&session, &many, "x").await.0, 111);
    let mut options = SearchOptions::default();
    options.databases = vec!["cat".into()];
    for query in [Query::Type100("x".into()), Query::Type102("x".into())] {
        let number = query.type_number();
        let Err(Error::Refused { diagnostics, .. }) = session.search(query, &options).await else {
            panic!("{number}")
        };
        assert_eq!(diagnostics.condition(), Some(107), "{number}");
    }
    let ccl = |text: &str| Query::Type2(text.into());
    let found = session.search(ccl("no word of it"), &options).await;
    assert_eq!(found.expect("CCL is understood").hits, 0);
    let Err(Error::Refused { diagnostics, .. }) = session.search(ccl("("), &options).await else {
        panic!("CCL that is malformed")
    };
    assert_eq!(diagnostics.condition(), Some(108));
    assert_eq!(
        hits(&session, "@attr 1=1032 id7").await,
        1,
        "the session goes on"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_5_records_that_cannot_be_presented_are_reported() {
    let server = library().start();
    let (_client, session) = session(&server).await;
    hits(&session, "@attr 1=1032 id7").await;
    let options = |set: &str, element_set: Option<&str>, record_syntax: Option<Oid>| {
        let mut options = PresentOptions::default();
        options.result_set = set.into();
        options.element_set = element_set.map(Into::into);
        options.record_syntax = record_syntax;
        options
    };
    for (start, count, options, expected) in [
        (1, 1, options("default", None, None), None),
        (1, 1, options("default", Some("F"), Some(oid::USMARC)), None),
        (1, 1, options("default", Some("b"), Some(oid::SUTRS)), None),
        (1, 2, options("default", None, None), Some(13)),
        (0, 1, options("default", None, None), Some(13)),
        (2, 1, options("default", None, None), Some(13)),
        (u64::MAX, 1, options("default", None, None), Some(13)),
        (1, 1, options("Default", None, None), Some(30)),
        (1, 1, options("nosuch", None, None), Some(30)),
        (1, 1, options("default", Some("x"), None), Some(25)),
        (1, 1, options("default", None, Some(oid::OPAC)), None),
        (1, 1, options("default", None, Some(oid::UKMARC)), Some(239)),
    ] {
        let case = format!("{start}+{count} {options:?}");
        match (session.present(start, count, &options).await, expected) {
            (Ok(result), None) => assert_eq!(result.records.len(), 1, "{case}"),
            (Err(Error::Refused { diagnostics, .. }), Some(condition)) => {
                assert_eq!(diagnostics.condition(), Some(condition), "{case}");
            }
            (other, _) => panic!("{case}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_6_a_failed_search_says_that_there_is_no_result_set() {
    let server = library().start();
    let (client, session) = session(&server).await;
    refused(&session, &["nosuch"], "x").await;
    hits(&session, "@attr 1=1032 id7").await;
    client.close_all().await;
    let transcript = server.wait_for_end();
    let responses: Vec<_> = transcript
        .iter()
        .filter_map(|entry| match &entry.apdu {
            Some(Apdu::SearchResponse(response)) => Some(response),
            _ => None,
        })
        .collect();
    let [failed, succeeded] = responses[..] else {
        panic!("{} responses", responses.len())
    };
    assert!(!failed.search_status && succeeded.search_status);
    assert_eq!(
        (failed.result_count, failed.result_set_status),
        (0, Some(ResultSetStatus::NONE))
    );
    assert_eq!(
        (failed.present_status, succeeded.present_status),
        (None, Some(PresentStatus::SUCCESS))
    );
}
