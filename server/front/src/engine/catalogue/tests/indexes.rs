//! Tests of indexes that do not match their map or no longer match it, and of the description of an index.

use super::*;

/// An index of a different or unknown program is not searched.
#[tokio::test]
async fn an_index_that_is_not_kohas_is_refused() {
    for (answer, expected) in [
        (
            FakeAnswer::Json(200, json!({ "x": { "mappings": {} } })),
            "is not one of Koha's",
        ),
        (
            FakeAnswer::Json(404, json!({ "error": { "type": "x" } })),
            "there is no index books",
        ),
        (
            FakeAnswer::Json(403, json!({ "error": { "type": "x" } })),
            "denies access",
        ),
        (
            FakeAnswer::with("401 Unauthorized", "", "<html>"),
            "denies access",
        ),
        (
            FakeAnswer::of("text/html", "<html>"),
            "cannot be understood",
        ),
    ] {
        let given = answer.clone();
        let node = FakeNode::start(move |_| given.clone()).await;
        let database = database(&node, false);
        let error = database.check().await.expect_err(expected);
        assert!(
            error.to_string().contains(expected) && error.is_mismatch(),
            "{error}"
        );
        let refused = searched(&database, "@attr 1=4 war")
            .await
            .map(|found| found.hits.len());
        assert_eq!(refused, Err(109));
    }
}

/// An alias of two indexes is refused, because different records in the two may have the same numbers.
#[tokio::test]
async fn an_alias_of_two_indexes_is_refused() {
    let node = FakeNode::start(|request| {
        let mut mapping = mapping(&["title"]);
        mapping["koha_2"] = mapping["koha_1"].clone();
        match &*request.path {
            "/books/_mapping" => FakeAnswer::Json(200, mapping),
            _ => held(request, 3),
        }
    });
    let node = node.await;
    let database = database(&node, false);
    let error = database.check().await.expect_err("refused");
    let words = "books is an alias of 2 indexes; name one of them";
    assert_eq!(error.to_string(), words);
    let refused = searched(&database, "@attr 1=4 war").await;
    assert_eq!(refused.map(|found| found.hits.len()), Err(109));
}

/// An answer that may come from a different index is not used before the fields have been compared again.
#[tokio::test]
async fn an_index_that_replaces_another_is_noticed_at_once() {
    for (total, index, fields, expected, compared) in [
        // Nothing is found in a field that does not exist, so the fields are compared again.
        (0, "koha_1", &["title"][..], Err(114), 2),
        (0, "koha_1", &["title", "author"], Ok(0), 2),
        // Records are found in other fields, but the alias now points to a different index, so the fields are compared again.
        (3, "koha_2", &["title"], Err(114), 2),
        (3, "koha_2", &["title", "author"], Ok(3), 2),
        (3, "koha_1", &["title", "author"], Ok(3), 1),
    ] {
        let is_compared = Arc::new(Mutex::new(false));
        let node = FakeNode::start(move |request| {
            if !request.path.ends_with("/_mapping") {
                let FakeAnswer::Json(status, answer) = held(request, total) else {
                    panic!("{request:?}");
                };
                let answer = answer.to_string().replace("koha_1", index);
                return FakeAnswer::Json(status, serde_json::from_str(&answer).expect("JSON"));
            }
            let is_later = std::mem::replace(&mut *lock(&is_compared), true);
            if is_later {
                let mapping = mapping(fields).to_string().replace("koha_1", index);
                FakeAnswer::Json(200, serde_json::from_str(&mapping).expect("JSON"))
            } else {
                FakeAnswer::Json(200, mapping(&["title", "author"]))
            }
        });
        let node = node.await;
        let database = database(&node, false);
        let query = "@or @attr 1=4 war @attr 1=1003 a";
        let found = searched(&database, query).await;
        let found = found.map(|found| found.hits.len());
        assert_eq!(found, expected, "{total} {index} {fields:?}");
        let asked = node.asked();
        let asked = asked.iter().filter(|request| request.method == "GET");
        assert_eq!(asked.count(), compared, "{total} {index} {fields:?}");
    }
}

/// A renamed field is no longer offered after at most a minute.
#[tokio::test]
async fn renamed_fields_are_noticed() {
    let fields = Arc::new(Mutex::new(vec!["title", "author"]));
    let fields_now = Arc::clone(&fields);
    let node = FakeNode::start(move |request| {
        if request.path.ends_with("/_mapping") {
            FakeAnswer::Json(200, mapping(&lock(&fields_now)))
        } else {
            held(request, 2_000)
        }
    });
    let node = node.await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=1003 a").await.expect("found");
    *lock(&fields) = vec!["title"];
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    tokio::time::resume();
    let refused = searched(&database, "@attr 1=1003 a")
        .await
        .map(|found| found.hits.len());
    assert_eq!(refused, Err(114));
    // The result set was found while the field existed, so its records can still be read.
    presented(&database, &found.hits, &[1_500])
        .await
        .expect("records");
    let asked = body(node.asked().last().expect("a request"));
    assert_eq!(
        asked["query"]["bool"]["filter"],
        json!([{ "match_phrase": { "author": "a" } }])
    );
}

/// If the field by which records are hidden is missing, searches are refused until it is back.
#[tokio::test]
async fn an_index_that_lost_the_field_of_hidden_records_is_refused() {
    let state = Arc::new(Mutex::new((3, "suppress")));
    let state_now = Arc::clone(&state);
    let node = FakeNode::start(move |request| {
        let (total, field) = *lock(&state_now);
        if !request.path.ends_with("/_mapping") {
            return held(request, total);
        }
        let mapping = mapping(&["title"]).to_string().replace("suppress", field);
        FakeAnswer::Json(200, serde_json::from_str(&mapping).expect("JSON"))
    });
    let node = node.await;
    let database = database(&node, false);
    for (total, field, expected) in [
        (3, "suppress", Ok(3)),
        // The missing field is detected when a search finds nothing. From then on, searches are refused until the field is back.
        (0, "renamed", Err(109)),
        (3, "renamed", Err(109)),
        (3, "suppress", Ok(3)),
    ] {
        *lock(&state) = (total, field);
        let found = searched(&database, "@attr 1=4 war").await;
        let found = found.map(|found| found.hits.len());
        assert_eq!(found, expected, "{total} {field}");
    }
}

/// Tests the description of an index, which is written for systems librarians.
#[tokio::test]
async fn an_index_is_looked_at() {
    let node = FakeNode::start(|request| {
        if request.path == "/" {
            let version = json!({ "distribution": "opensearch", "number": "2.19.6" });
            return FakeAnswer::Json(200, json!({ "version": version }));
        }
        held(request, 312)
    });
    let node = node.await;
    let access = crate::engine::link::address::ClusterAccess::default();
    let time = std::time::Duration::from_secs(60);
    let looked = look(&[node.address()], &access, time)
        .await
        .expect("an index");
    let text = looked.to_string();
    for words in [
        "OpenSearch 2.19.6, index books",
        "catalogue = \"koha\" fits: 4 of",
        "312 records can be found",
        "  title: words, masks, whole, keys, ranges, scan, sort\n",
        "there is no field isbn-all or isbn for words of isbn, so isbn is not offered",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for (mapping, expected) in [
        (
            json!({ "x": { "mappings": {} } }),
            "No map fits:\n  koha: it has no records",
        ),
        (
            json!({ "x": { "mappings": { "_meta": { "z3950d": { "version": 3 } } } } }),
            "This is an index of z3950d's own",
        ),
    ] {
        let other = FakeNode::start(move |_| FakeAnswer::Json(200, mapping.clone())).await;
        let looked = look(&[other.address()], &access, time)
            .await
            .expect("an index");
        assert!(looked.to_string().contains(expected), "{looked}");
        assert_eq!(looked.fitting, None);
    }
}
