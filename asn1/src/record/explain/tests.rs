//! Tests for Explain records: known octets, round trips of each category, and the output for people.

use serde_json::json;

use super::*;
use crate::apdu::StringOrNumeric;
use crate::codec::{decode_value, encode_value};
use crate::describe::Describe;
use crate::oid;
use crate::record::RetrievedRecord;

#[test]
fn known_octets_of_a_category_list() {
    let octets = [
        &[0xbf, 0x64, 0x16, 0xa1, 0x14, 0x30, 0x12, 0x81, 0x0c][..],
        b"DatabaseInfo",
        &[0x82, 2, b'D', b'B'],
    ]
    .concat();
    let record: ExplainRecord = decode_value(&octets).expect("decodes");
    assert_eq!(
        record.describe().to_json(),
        json!({"categoryList": {"categories": [{"category": "DatabaseInfo", "originalCategory": "DB"}]}})
    );
    assert_eq!(encode_value(&record).expect("encodes"), octets);
}

#[test]
fn known_octets_of_a_target() {
    let octets = [
        &[0xa0, 0x28][..],
        // `commonInfo` with `dateAdded`
        &[0xa0, 0x0a, 0x80, 8],
        b"20260101",
        &[0x81, 1, b'T', 0x84, 1, 0xff, 0x85, 1, 0],
        // `welcomeMessage` in English
        &[0xaa, 0x0b, 0x30, 9, 0x80, 3],
        b"eng",
        &[0x81, 2, b'H', b'i'],
        // `languages` has tag 101, but comes before `commonAccessInfo`.
        &[0xbf, 0x65, 3, 0x1b, 1, b'x'],
    ]
    .concat();
    let record: ExplainRecord = decode_value(&octets).expect("decodes");
    assert_eq!(
        record.describe().to_text(),
        "Target info:\n  Common info:\n    Date added: 20260101\n  Name: T\n  Named result sets: yes\n  \
         Multiple DBsearch: no\n  Welcome message:\n    Language: eng\n    Text: Hi\n  Languages: x\n"
    );
    assert_eq!(encode_value(&record).expect("encodes"), octets);
}

/// Returns records with features that other tests do not use: CHOICEs, explicit tags, elements without a tag,
/// recursion.
fn samples() -> Vec<ExplainRecord> {
    let number = StringOrNumeric::Numeric;
    let element = |data_type| ElementInfo {
        element_name: "e".into(),
        element_tag_path: vec![PathStep {
            tag_type: 2,
            tag_value: number(1),
        }],
        data_type: Some(data_type),
        required: true,
        repeatable: false,
        description: Some("d".into()),
    };
    let combinations = AttributeCombinations {
        default_attribute_set: oid::BIB_1,
        legal_combinations: vec![vec![
            AttributeOccurrence {
                attribute_set: None,
                attribute_type: 1,
                must_be_supplied: Some(()),
                attribute_values: OccurrenceValues::Specific(vec![number(4), number(1032)]),
            },
            AttributeOccurrence {
                attribute_set: Some(oid::BIB_1),
                attribute_type: 4,
                must_be_supplied: None,
                attribute_values: OccurrenceValues::AnyOrNone,
            },
        ]],
    };
    vec![
        ExplainRecord::AttributeDetails(Box::new(AttributeDetails {
            common_info: None,
            database_name: "books".into(),
            attributes_by_set: Some(vec![AttributeSetDetails {
                attribute_set: oid::BIB_1,
                attributes_by_type: vec![AttributeTypeDetails {
                    attribute_type: 1,
                    default_if_omitted: Some(OmittedAttributeInterpretation {
                        default_value: Some(number(1016)),
                        default_description: None,
                    }),
                    attribute_values: Some(vec![AttributeValue {
                        value: number(4),
                        description: Some("title".into()),
                        sub_attributes: None,
                        super_attributes: Some(vec![number(1016)]),
                        partial_support: Some(()),
                    }]),
                }],
            }]),
            attribute_combinations: Some(combinations),
        })),
        ExplainRecord::SchemaInfo(Box::new(SchemaInfo {
            common_info: None,
            schema: oid::GILS_SCHEMA,
            name: "GILS".into(),
            description: None,
            tag_type_mapping: Some(vec![TagTypeMapping {
                tag_type: 1,
                tag_set: Some(oid::TAG_SET_M),
                default_tag_type: Some(()),
            }]),
            record_structure: Some(vec![element(ElementDataType::Structured(vec![element(
                ElementDataType::Primitive(PrimitiveDataType::STRING),
            )]))]),
        })),
        ExplainRecord::TagSetInfo(Box::new(TagSetInfo {
            common_info: None,
            tag_set: oid::TAG_SET_G,
            name: "tagSet-G".into(),
            description: None,
            elements: Some(vec![TagSetElement {
                elementname: "title".into(),
                nicknames: None,
                element_tag: number(1),
                description: None,
                data_type: None,
                other_tag_info: Some(Default::default()),
            }]),
        })),
        ExplainRecord::SortDetails(Box::new(SortDetails {
            common_info: None,
            database_name: "books".into(),
            sort_keys: Some(vec![SortKeyDetails {
                description: None,
                element_specifications: None,
                attribute_specifications: None,
                sort_type: Some(SortType::Structured("by date".into())),
                case_sensitivity: Some(CaseSensitivity::NEVER),
            }]),
        })),
        ExplainRecord::Variants(Box::new(VariantSetInfo {
            common_info: None,
            variant_set: oid::VARIANT_1,
            name: "Variant-1".into(),
            variants: Some(vec![VariantClass {
                name: None,
                description: None,
                variant_class: 2,
                variant_types: vec![VariantType {
                    name: None,
                    description: None,
                    variant_type: 1,
                    variant_value: Some(VariantValue {
                        data_type: PrimitiveDataType::NUMERIC,
                        values: Some(ValueSet::Range(Box::new(ValueRange {
                            lower: Some(ValueDescription::Integer(1)),
                            upper: Some(ValueDescription::String("z".into())),
                        }))),
                    }),
                }],
            }]),
        })),
    ]
}

#[test]
fn records_round_trip() {
    for record in samples() {
        let octets = encode_value(&record).expect("encodes");
        assert_eq!(
            decode_value::<ExplainRecord>(&octets).expect("decodes"),
            record
        );
        let external = crate::apdu::External::of_value(oid::EXPLAIN, &record).expect("encodes");
        assert_eq!(
            RetrievedRecord::of(&external),
            RetrievedRecord::Explain(record)
        );
    }
}

#[test]
fn combinations_are_shown() {
    let samples = samples();
    let json = samples.first().expect("one").describe().to_json();
    assert_eq!(
        json.pointer("/attributeDetails/attributeCombinations/legalCombinations/0"),
        Some(&json!([
            {"attributeType": 1, "mustBeSupplied": true, "attributeValues": {"specific": [4, 1032]}},
            {"attributeSet": "1.2.840.10003.3.1", "attributeType": 4, "attributeValues": {"anyOrNone": true}},
        ]))
    );
    let xml = samples.get(1).expect("two").describe().to_xml("explain");
    assert!(xml.contains("<primitive>string</primitive>"), "{xml}");
}

#[test]
fn the_decoder_limits_the_nesting_of_elements() {
    let mut record = samples().swap_remove(1);
    let ExplainRecord::SchemaInfo(schema) = &mut record else {
        panic!("a schema")
    };
    for _ in 0..500 {
        let below = schema.record_structure.take().unwrap_or_default();
        schema.record_structure = Some(vec![ElementInfo {
            element_name: "e".into(),
            element_tag_path: Vec::new(),
            data_type: Some(ElementDataType::Structured(below)),
            required: false,
            repeatable: false,
            description: None,
        }]);
    }
    let octets = encode_value(&record).expect("encodes");
    assert!(decode_value::<ExplainRecord>(&octets).is_err());
}
