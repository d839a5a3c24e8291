//! Tests of records in each of their formats, and of records that cannot be read.

use serde_json::{Value, json};
use z3950_asn1::oid::XML;
use z3950_marc::{Field, marcxml};
use z3950_server::backend::{Backend, Composition, Retrieve};
use z3950_tests::koha::{
    Edition, KohaDocument, KohaIndex, RecordForm, made_up, of_libraries, shared_node, with_items,
};

use super::brute::shown;
use super::{all_records, hits, number, opened, page};

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
    // The ninth record cannot be returned because it is too long for ISO 2709.
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

/// A record of more than a megabyte can only be returned as XML, whereas the other records are returned in any syntax.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_a_megabyte_is_given_as_xml() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let mut index = KohaIndex::filled(cluster, "large", Edition::Current, &made_up(3));
    for number in [4, 5] {
        let mut large = index.documents[0].record.clone();
        let text = "Łódź & war ".repeat(700);
        large
            .fields
            .extend((0..160).map(|_| Field::data(b"500", "  ", [("a", &*text)])));
        let document = KohaDocument::new(number, &with_items(&large, number), RecordForm::Xml);
        index.put([(number, document.json(Edition::Current))]);
        index.documents.push(document);
    }
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    assert_eq!(all.len(), 5);
    let records = page(&engine, &all, 0, 5).await.expect("records");
    let outcomes: Vec<Result<usize, i64>> = { records.iter() }
        .map(|record| record.as_ref().map(number).map_err(|condition| *condition))
        .collect();
    assert_eq!(outcomes, [Ok(1), Ok(2), Ok(3), Err(14), Err(14)]);
    let composition = Composition::full(Some(XML));
    let ids = all.ids(4..5);
    let retrieved = engine
        .record(Retrieve::new(&all, ids[0], &composition))
        .await;
    let record = retrieved.expect("retrieved").record.expect("a record");
    let text = String::from_utf8(record.octets().to_vec()).expect("UTF-8");
    assert!(text.len() > 1 << 20, "{}", text.len());
    let read = marcxml::from_xml(&text).expect("MARCXML").record;
    assert_eq!(read.fields, index.documents[4].record.fields);
}
