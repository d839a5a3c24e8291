//! Records in each of their forms, records that cannot be read or are gone, far pages, and hostile terms.

use bytes::Bytes;
use serde_json::{Value, json};
use z3950_asn1::query::parse_pqf;
use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_server::backend::{
    Backend, Composition, DatabaseName, Hits, Retrieve, RetrieveMany, Search,
};
use z3950_tests::koha::{
    Edition, KohaDocument, KohaIndex, RecordForm, made_up, of_libraries, shared_node, with_items,
};
use z3950_tests::opensearch::own_index;

use super::brute::{ACCESS, Asked, Brute, shown};
use super::{all_records, number, opened};

async fn hits(backend: &dyn Backend, pqf: &str) -> Hits {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let names = [DatabaseName::from("town")];
    let found = backend.search(Search::new(&names, &query)).await;
    found.unwrap_or_else(|why| panic!("{pqf}: {why:?}")).hits
}

/// Returns the records of a page, or the condition of the diagnostic of each or of all.
async fn page(
    backend: &dyn Backend,
    hits: &Hits,
    start: usize,
    length: usize,
) -> Result<Vec<Result<MarcRecord, i64>>, i64> {
    let composition = Composition::full(None);
    let ids = hits.ids(start..start + length);
    if let Some(prepared) = backend.prepare(RetrieveMany::new(hits, &ids, &composition)) {
        prepared.await.map_err(|why| why.condition)?;
    }
    let mut records = Vec::new();
    for id in ids {
        let retrieved = backend.record(Retrieve::new(hits, id, &composition)).await;
        let record = retrieved.and_then(|retrieved| retrieved.record);
        records.push(record.map_err(|why| why.condition).map(|record| {
            let octets = Bytes::copy_from_slice(record.octets());
            iso2709::parse(&octets).expect("sound").record
        }));
    }
    Ok(records)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_all_forms_are_given_as_koha_has_them() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let records = [made_up(40), of_libraries()].concat();
    for edition in [Edition::Current, Edition::Older] {
        let index = KohaIndex::filled(cluster, "forms", edition, &records);
        let engine = opened(&index);
        let found = all_records(&engine, &hits(&engine, "@attr 1=1016 @attr 2=103 x").await).await;
        let expected: Vec<&KohaDocument> = shown(&index).collect();
        assert_eq!(found.len(), expected.len());
        for (found, document) in found.iter().zip(expected) {
            assert_eq!(number(found), document.number);
            assert_eq!(
                found.fields, document.record.fields,
                "{:?} {}",
                document.form, document.number
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_is_a_diagnostic_in_its_place() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let mut index = KohaIndex::filled(cluster, "broken", Edition::Current, &made_up(8));
    let mut long = index.documents[0].record.clone();
    long.fields.extend((0..140).map(|at| {
        Field::data(
            b"500",
            "  ",
            [("a", format!("{at} {}", "long ".repeat(200)))],
        )
    }));
    index
        .documents
        .push(KohaDocument::new(9, &with_items(&long, 9), RecordForm::Xml));
    let mut broken: Vec<(usize, Value)> = Vec::new();
    for (number, data) in [
        (2, json!("bm9uc2Vuc2U=\n")),
        (3, json!("!!! no base64 !!!")),
        (4, json!("<record><datafield")),
        (5, Value::Null),
        (6, json!("")),
    ] {
        let document = &index.documents[number - 1];
        let mut object = document.json(Edition::Current);
        object["marc_data"] = data;
        object["marc_format"] = json!(if number == 4 {
            "MARCXML"
        } else {
            "base64ISO2709"
        });
        if let Some(object) = object.as_object_mut() {
            object.remove("marc_data_array");
            object.retain(|_, value| !value.is_null());
        }
        broken.push((number, object));
    }
    index.put(broken);
    index.put([(9, { index.documents[8].json(Edition::Current) })]);
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    let records = page(&engine, &all, 0, all.len()).await.expect("records");
    let shown: Vec<Option<usize>> = records
        .iter()
        .map(|record| record.as_ref().ok().map(number))
        .collect();
    // The ninth record is too long for ISO 2709.
    assert_eq!(
        shown,
        [
            Some(1),
            None,
            None,
            None,
            None,
            None,
            Some(7),
            Some(8),
            None
        ],
        "{records:?}"
    );
}

/// A record that is deleted after records were presented is a diagnostic in its place, and others keep their places.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_gone_is_a_diagnostic_in_its_place() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "gone", Edition::Current, &made_up(30));
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    let before = all_records(&engine, &all).await;
    let again = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    // The set keeps its records from here on.
    page(&engine, &again, 10, 2).await.expect("records");
    let late = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    index.delete(&[number(&before[20])]);
    assert_eq!(page(&engine, &late, 10, 2).await.err(), Some(27));
    let records = page(&engine, &again, 0, again.len())
        .await
        .expect("records");
    for (at, (record, expected)) in records.iter().zip(&before).enumerate() {
        if at == 20 {
            assert!(record.is_err(), "{record:?}");
        } else {
            assert_eq!(record.as_ref().map(number), Ok(number(expected)), "{at}");
        }
    }
}

/// An index that is built anew takes the place of the old one under result sets; they are answered from the new one.
#[tokio::test(flavor = "multi_thread")]
async fn an_alias_may_move_to_an_index_that_is_built_anew() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let old = KohaIndex::filled(cluster, "old", Edition::Current, &made_up(30));
    let new = KohaIndex::filled(cluster, "new", Edition::Current, &made_up(30));
    let alias = own_index("alias");
    let act = |actions: Value| {
        let (status, answer) = cluster.ask(
            "POST",
            "/_aliases",
            &json!({ "actions": actions }).to_string(),
        );
        assert_eq!(status, 200, "{answer}");
    };
    act(json!([{ "add": { "index": old.name, "alias": alias } }]));
    let named = KohaIndex {
        cluster,
        name: alias.clone(),
        documents: Vec::new(),
    };
    let engine = opened(&named);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    act(
        json!([{ "remove_index": { "index": old.name } }, { "add": { "index": new.name, "alias": alias } }]),
    );
    let records = all_records(&engine, &all).await;
    let numbers: Vec<usize> = records.iter().map(number).collect();
    let expected: Vec<usize> = shown(&new).map(|document| document.number).collect();
    assert_eq!(numbers, expected);
}

/// Pages are given up to the depth that the engine allows, and refused beyond it.
#[tokio::test(flavor = "multi_thread")]
async fn far_pages_are_given_or_refused() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex {
        cluster,
        name: own_index("far"),
        documents: Vec::new(),
    };
    index.create(Edition::Current, 2);
    let record = |number: usize| MarcRecord {
        fields: vec![
            Field::data(b"245", "10", [("a", "war")]),
            Field::data(b"999", "  ", [("c", number.to_string())]),
        ],
        ..MarcRecord::default()
    };
    let numbers: Vec<usize> = (1..=10_300).collect();
    for part in numbers.chunks(2_000) {
        let documents = part.iter().map(|number| {
            let document = KohaDocument::new(*number, &record(*number), RecordForm::Base64);
            (*number, document.json(Edition::Current))
        });
        index.put(documents);
    }
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=4 war").await;
    assert_eq!(all.len(), 10_300);
    for start in [0, 100, 9_990] {
        let records = page(&engine, &all, start, 10).await.expect("records");
        let found: Vec<usize> = records
            .iter()
            .map(|record| record.as_ref().map(number).expect("a record"))
            .collect();
        assert_eq!(found, (start + 1..=start + 10).collect::<Vec<_>>());
    }
    match page(&engine, &all, 10_200, 10).await {
        Ok(records) => {
            let found: Vec<usize> = records
                .iter()
                .map(|record| record.as_ref().map(number).expect("a record"))
                .collect();
            assert_eq!(found, (10_201..=10_210).collect::<Vec<_>>());
        }
        Err(condition) => assert_eq!(condition, 13),
    }
}

/// Text that would be syntax somewhere in an engine finds what stands in records, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_terms_are_only_text() {
    const HOSTILE: [&str; 22] = [
        "*",
        "war*",
        "*:*",
        "title:war",
        "war AND peace",
        "war OR zzz",
        "NOT war",
        "(war",
        "war)",
        "war/peace",
        "/war/",
        "war~2",
        "war^5",
        "\"war",
        "war\" OR \"peace",
        "_exists_:title",
        "{\"match_all\":{}}",
        "\"}},{\"match_all\":{",
        "${war}",
        "{!lucene}war",
        "war\u{0}peace",
        "wa?r[a-z]",
    ];
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "hostile", Edition::Current, &made_up(120));
    let (engine, brute) = (opened(&index), Brute::new(&index));
    let names = [DatabaseName::from("town")];
    let mut wrong = Vec::new();
    for term in HOSTILE {
        for (access, _) in ACCESS {
            for (structure, truncation) in
                [(0, 0), (1, 0), (3, 0), (106, 0), (0, 1), (0, 2), (1, 1)]
            {
                let mut asked = Asked::new(*access, term);
                (asked.structure, asked.truncation) = (structure, truncation);
                let pqf = asked.pqf();
                let query = parse_pqf(&pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
                let found = engine.search(Search::new(&names, &query)).await;
                let expected = brute.find(&asked).len();
                match found {
                    Ok(found) if found.hits.len() == expected => {}
                    Ok(found) => {
                        wrong.push(format!("{pqf}: {} instead of {expected}", found.hits.len()))
                    }
                    // What has no letter is no term, and some terms do not fit their attributes.
                    Err(why) if [113, 118, 120, 123, 125, 126].contains(&why.condition) => {}
                    Err(why) => wrong.push(format!("{pqf}: {why:?}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}
