//! Compares `z3950d` with Koha's own responder. For each Use attribute in the responder's table of attributes, searches are made
//! for the contents of the field that the table assigns to it.

use std::collections::BTreeSet;

use serde_json::json;
use z3950_marc::{Field, MarcRecord};
use z3950_tests::koha::{Edition, KohaIndex, made_up, of_libraries, shared_node};

use super::brute::{Asked, Numbers, shown};
use super::{all_numbers, found, opened};

/// The responder's table for bibliographic records (`etc/z3950/attribute_mappings.yaml` in Koha). Each row consists of a Use
/// attribute and the fields of the index that the attribute selects. If the table contains a name from Koha's query builder, the
/// row contains the field for this name.
const RESPONDER: [(i64, &[&str]); 27] = [
    // The responder's table has `author` for these three attributes, so each of them also finds statements of responsibility and
    // the names that belong to the other two. Here, the attributes have the meaning that Bib-1 gives them.
    (1, &["personal-name"]),
    (2, &["corporate-name"]),
    (3, &["conference-name"]),
    (4, &["title"]),
    (5, &["title-series"]),
    (7, &["isbn"]),
    (8, &["issn"]),
    (9, &["lc-card-number"]),
    (10, &["bnb-card-number"]),
    (11, &["bgf-number"]),
    (12, &["local-number"]),
    (20, &["local-classification"]),
    (21, &["subject"]),
    (
        30,
        &["date-of-acquisition", "copydate", "date-of-publication"],
    ),
    (31, &["date-of-publication"]),
    (32, &["date-of-acquisition"]),
    (52, &["control-number"]),
    (1003, &["author"]),
    (1007, &["identifier-standard"]),
    (1011, &["date-entered-on-file"]),
    (1012, &["date-time-last-modified"]),
    (1018, &["publisher"]),
    (1019, &["record-source"]),
    (1021, &["bib-level"]),
    (1028, &["barcode"]),
    (1031, &["itype"]),
    (1033, &["host-item-number"]),
];
/// An additional row, whose field is also that of another row.
const CONTROL_NUMBER: (i64, &[&str]) = (1045, &["control-number"]);

/// The maximum number of values for which each field is searched.
const MOST_VALUES: usize = 12;

/// Returns records in which each field of the table has contents.
fn records() -> Vec<MarcRecord> {
    let mut records = [made_up(120), of_libraries()].concat();
    for (at, record) in records.iter_mut().enumerate().take(60) {
        record.fields.extend([
            Field::data(b"015", "  ", [("a", format!("GB{:07}", 9_500_000 + at))]),
            Field::data(b"110", "2 ", [("a", format!("Society of letters {at}"))]),
            Field::data(b"111", "2 ", [("a", format!("Congress {at} of history"))]),
            Field::data(b"773", "  ", [("9", (4_000 + at).to_string())]),
        ]);
    }
    records
}

/// Returns the numbers of the documents in which the engine finds all words of the text in a field. These are the documents that
/// the responder finds if it does not treat any character of the text as syntax.
fn asked_directly(index: &KohaIndex<'_>, field: &str, text: &str) -> Numbers {
    let words = text.split_whitespace();
    let words: Vec<_> = words
        .map(|word| json!({ "match_phrase": { field: word } }))
        .collect();
    let query =
        json!({ "bool": { "filter": words, "must_not": { "term": { "suppress": true } } } });
    let body = json!({ "size": 10_000, "_source": false, "query": query }).to_string();
    let (status, answer) =
        { index.cluster }.ask("POST", &format!("/{}/_search", index.name), &body);
    assert_eq!(status, 200, "{answer}");
    let hits = answer["hits"]["hits"].as_array().expect("hits").iter();
    let numbers = hits.map(|hit| hit["_id"].as_str().and_then(|id| id.parse().ok()));
    numbers.map(|number| number.expect("a number")).collect()
}

/// Returns whether the attribute is for dates but the text is not a date, such as `19uu` or `c1998.`.
fn is_no_date(access: i64, text: &str) -> bool {
    let is_date = text.len() == 4 || text.len() == 10;
    (30..=32).contains(&access)
        && !(is_date && text.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

/// `z3950d` finds every record that the responder finds.
#[tokio::test(flavor = "multi_thread")]
async fn each_attribute_of_kohas_own_table_finds_as_much() {
    let Some(cluster) = shared_node() else {
        return;
    };
    for edition in [Edition::Current, Edition::Older] {
        let index = KohaIndex::filled(cluster, "responder", edition, &records());
        let engine = opened(&index);
        let (mut wrong, mut asked) = (Vec::new(), 0);
        for (access, fields) in RESPONDER.into_iter().chain([CONTROL_NUMBER]) {
            for field in fields {
                let values = shown(&index).flat_map(|document| document.values(field));
                // Values that consist only of punctuation or spaces are left out, because Koha's responder does not find anything
                // with them either.
                let values = values.filter(|value| value.chars().any(char::is_alphanumeric));
                let values: BTreeSet<&String> = values.collect();
                assert!(!values.is_empty(), "nothing is in {field}");
                let step = values.len().div_ceil(MOST_VALUES);
                for value in values.into_iter().step_by(step) {
                    let pqf = Asked::new(access, value).pqf();
                    let expected = asked_directly(&index, field, value);
                    asked += 1;
                    match found(&engine, &pqf).await {
                        Ok(hits) => {
                            let numbers = all_numbers(&engine, &hits).await;
                            let numbers: Numbers = numbers.into_iter().collect();
                            if !numbers.is_superset(&expected) {
                                wrong.push(format!(
                                    "{pqf}: {} of {}",
                                    numbers.len(),
                                    expected.len()
                                ));
                            }
                        }
                        // A term that is not a date is refused, as in the memory backend.
                        Err(126) if is_no_date(access, value) => {}
                        Err(condition) => wrong.push(format!("{pqf}: {condition}")),
                    }
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "{} wrong of {asked}: {wrong:#?}",
            wrong.len()
        );
        assert!(asked > 200, "{asked}");
    }
}

/// If the index lacks the field of an attribute, the attribute is refused with a message, and is not replaced with another
/// attribute.
#[tokio::test(flavor = "multi_thread")]
async fn attributes_without_a_field_are_refused() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let filled = KohaIndex::filled(cluster, "lacking", Edition::Current, &made_up(5));
    let lacking = [
        "bgf-number",
        "author",
        "isbn",
        "isbn-all",
        "host-item-number",
    ];
    let index = super::without_fields(&filled, &lacking);
    let engine = opened(&index);
    let missing = engine.check().await.expect("an index of Koha's");
    let lost: BTreeSet<&str> = { missing.iter() }
        .filter(|field| field.is_lost)
        .map(|field| &*field.index)
        .collect();
    assert_eq!(lost, ["author", "bgfnumber", "hostitem", "isbn"].into());
    for (access, fields) in RESPONDER {
        let has_field = !lacking.contains(&fields[0]);
        let outcome = found(&engine, &Asked::new(access, "1999").pqf()).await;
        let expected = if has_field { None } else { Some(114) };
        assert_eq!(outcome.err(), expected, "{access}");
    }
}
