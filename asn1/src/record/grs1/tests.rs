//! Tests for GRS-1 records: known octets, every kind of content, the three output formats, and the maximum depth.

use serde_json::json;

use super::*;
use crate::apdu::{ExternalValue as _, Unit};
use crate::codec::{decode_value, encode_value};
use crate::oid;
use crate::record::RetrievedRecord;
use crate::types::OctetString;

fn title(text: &str) -> TaggedElement {
    TaggedElement::numbered(TAG_SET_G, 1, ElementData::String(text.into()))
}

/// Returns a record with one element of every kind.
fn sample() -> GenericRecord {
    let unit = IntUnit {
        value: 5,
        unit_used: Unit {
            unit: Some(StringOrNumeric::String("kg".into())),
            ..Unit::default()
        },
    };
    let external = External::octet_aligned(oid::XML, &b"<a/>"[..]);
    let leaf = |tag, content| TaggedElement::numbered(4, tag, content);
    let mut marked = title("War & peace");
    marked.tag_occurrence = Some(1);
    marked.meta_data = Some(Box::new(ElementMetaData {
        display_name: Some("Title".into()),
        usage_right: Some(Usage {
            r#type: UsageType::REDISTRIBUTABLE,
            restriction: None,
        }),
        hits: Some(vec![HitVector {
            satisfier: Term::General("war".into()).into(),
            offset_into_element: None,
            length: None,
            hit_rank: Some(1),
            target_token: None,
        }]),
        ..ElementMetaData::default()
    }));
    marked.applied_variant = Some(Variant {
        global_variant_set_id: None,
        triples: vec![
            Triple {
                variant_set_id: None,
                class: 2,
                r#type: 1,
                value: TripleValue::InternationalString("text/plain".into()),
            },
            Triple {
                variant_set_id: Some(oid::BIB_1),
                class: 2,
                r#type: 1,
                value: TripleValue::Null,
            },
        ],
    });
    GenericRecord(vec![
        TaggedElement::numbered(TAG_SET_M, 14, ElementData::String("id7".into())),
        marked,
        TaggedElement::named(
            "245",
            ElementData::Subtree(vec![title("inner"), leaf(99, ElementData::Numeric(-3))]),
        ),
        leaf(1, ElementData::Octets(OctetString::from(&b"\xff"[..]))),
        leaf(2, ElementData::Date("20260101".into())),
        leaf(3, ElementData::Ext(Box::new(external.clone()))),
        leaf(4, ElementData::TrueOrFalse(true)),
        leaf(5, ElementData::Oid(oid::GRS_1)),
        leaf(6, ElementData::IntUnit(Box::new(unit))),
        leaf(7, ElementData::ElementNotThere),
        leaf(8, ElementData::ElementEmpty),
        leaf(9, ElementData::NoDataRequested),
        leaf(10, ElementData::Diagnostic(Box::new(external))),
    ])
}

#[test]
fn known_octets_come_back() {
    // The record has a title, and a number below an element with a string tag.
    let octets = [
        0x30, 0x2d, 0x30, 0x0f, 0x81, 1, 2, 0xa2, 3, 0x82, 1, 1, 0xa4, 5, 0x1b, 3, b'W', b'a',
        b'r', 0x30, 0x1a, 0x81, 1, 3, 0xa2, 3, 0x81, 1, b'x', 0xa4, 0x10, 0xa6, 0x0e, 0x30, 0x0c,
        0x30, 10, 0xa2, 3, 0x82, 1, 5, 0xa4, 3, 2, 1, 9,
    ];
    let record: GenericRecord = decode_value(&octets).expect("decodes");
    let five = TaggedElement {
        tag_type: None,
        ..TaggedElement::numbered(0, 5, ElementData::Numeric(9))
    };
    let expected = vec![
        title("War"),
        TaggedElement::named("x", ElementData::Subtree(vec![five])),
    ];
    assert_eq!(record.0, expected);
    assert_eq!(encode_value(&record).expect("encodes"), octets);
}

#[test]
fn every_kind_of_content_travels() {
    let external = sample().to_external().expect("encodes");
    assert_eq!(
        RetrievedRecord::of(&external),
        RetrievedRecord::Grs1(sample())
    );
}

#[test]
fn a_record_as_indented_text() {
    assert_eq!(
        sample().to_text(),
        "localControlNumber: id7\n\
         title[1]: War & peace\n  \
           [variant] bodyPartType 1: text/plain\n  \
           [variant] class 2 1: yes\n  \
           [meta-data] Usage right:\n  \
           [meta-data]   Type: redistributable\n  \
           [meta-data] Hits:\n  \
           [meta-data]   Satisfier: war\n  \
           [meta-data]   Hit rank: 1\n  \
           [meta-data] Display name: Title\n\
         245:\n  title: inner\n  (4,99): -3\n\
         (4,1): (base64) /w==\n(4,2): 20260101\n(4,3): <a/>\n(4,4): yes\n(4,5): 1.2.840.10003.5.105\n(4,6): 5 kg\n\
         (4,7): (not there)\n(4,8): (empty)\n(4,9): (no data requested)\n(4,10): <a/>\n"
    );
}

#[test]
fn a_record_as_json_and_xml() {
    let json = sample().to_json();
    for (pointer, expected) in [
        (
            "/0",
            json!({"tagType": 1, "tagValue": 14, "name": "localControlNumber", "content": {"string": "id7"}}),
        ),
        (
            "/1/appliedVariant/triples/0/className",
            json!("bodyPartType"),
        ),
        ("/1/metaData/usageRight/type", json!("redistributable")),
        ("/2/tagValue", json!("245")),
        ("/2/content/subtree/1/content/numeric", json!(-3)),
        ("/3/content/octets", json!("/w==")),
        (
            "/5/content/ext",
            json!({"syntax": "1.2.840.10003.5.109.10", "text": "<a/>"}),
        ),
        ("/8/content/intUnit/unitUsed/unit", json!("kg")),
        ("/9/content/elementNotThere", json!(true)),
    ] {
        assert_eq!(
            json.pointer(pointer),
            Some(&expected),
            "{pointer} of {json:#}"
        );
    }
    let xml = sample().to_xml();
    for part in [
        "<grs1>\n  <element type=\"1\" value=\"14\" name=\"localControlNumber\">id7</element>\n",
        "<displayName>Title</displayName>",
        "War &amp; peace</element>\n",
        "  <element type=\"3\" value=\"245\">\n    <element type=\"2\" value=\"1\" name=\"title\">inner</element>\n",
        "<element type=\"4\" value=\"7\" content=\"elementNotThere\"></element>\n",
    ] {
        assert!(xml.contains(part), "{part:?} is not in\n{xml}");
    }
}

fn nested(depth: usize) -> GenericRecord {
    let leaf = title("deep");
    let element = (1..depth).fold(leaf, |below, _| {
        TaggedElement::named("x", ElementData::Subtree(vec![below]))
    });
    GenericRecord(vec![element])
}

#[test]
fn trees_are_read_up_to_the_depth_limit() {
    for (depth, read) in [
        (1, true),
        (MAX_DEPTH, true),
        (MAX_DEPTH + 1, false),
        (1000, false),
    ] {
        let octets = encode_value(&nested(depth)).expect("encodes");
        let decoded = decode_value::<GenericRecord>(&octets);
        assert_eq!(decoded.is_ok(), read, "{depth}: {decoded:?}");
        if let Ok(record) = decoded {
            assert!(record.to_text().ends_with("title: deep\n"));
            assert!(record.to_xml().contains("deep"));
            assert!(record.to_json().to_string().contains("deep"));
        }
    }
}

#[test]
fn tags_have_names() {
    for (tag_type, value, name) in [
        (
            Some(1),
            StringOrNumeric::Numeric(14),
            Some("localControlNumber"),
        ),
        (Some(2), StringOrNumeric::Numeric(1), Some("title")),
        (Some(2), StringOrNumeric::Numeric(1000), None),
        (Some(3), StringOrNumeric::Numeric(1), None),
        (None, StringOrNumeric::Numeric(1), None),
        (
            Some(3),
            StringOrNumeric::String("author".into()),
            Some("author"),
        ),
    ] {
        assert_eq!(tag_name(tag_type, &value), name, "{tag_type:?} {value:?}");
    }
}
