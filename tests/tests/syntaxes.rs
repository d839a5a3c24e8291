//! Tests of damaged OPAC, GRS-1, Summary and Explain records. None of them may cause a panic. Records that can be read must
//! survive a round trip, and must be convertible to text, JSON and XML. The mutations are seeded; `Z3950_MUTATIONS=N` multiplies
//! their number.

use z3950_asn1::apdu::{
    External, ExternalEncoding, ExternalValue as _, IntUnit, StringOrNumeric, Unit,
};
use z3950_asn1::codec::encode_value;
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::explain::{
    AttributeCombinations, AttributeDetails, AttributeOccurrence, ExplainRecord, OccurrenceValues,
};
use z3950_asn1::record::grs1::{ElementData, GenericRecord, TaggedElement, Variant};
use z3950_asn1::record::opac::{
    CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord, Volume,
};
use z3950_asn1::record::summary::{BriefBib, FormatSpec};
use z3950_asn1::record::sutrs_external;
use z3950_asn1::types::Any;
use z3950_tests::random::{Random, mutations};

#[test]
fn no_mutated_record_panics() {
    let mut random = Random::new("record syntaxes");
    let originals = originals();
    let samples: Vec<_> = originals.iter().map(|(_, octets)| octets.clone()).collect();
    for _ in 0..mutations(60_000) {
        let (syntax, original) = random.pick(&originals);
        let octets = random.mutate(original, &samples);
        if let Some(value) = Any::new(octets) {
            survives(&External::single_asn1_type(*syntax, value));
        }
    }
}

fn survives(external: &External) {
    let record = RetrievedRecord::of(external);
    let (text, json, xml) = match &record {
        RetrievedRecord::Opac(record) => (record.to_text(), record.to_json(), record.to_xml()),
        RetrievedRecord::Grs1(record) => (record.to_text(), record.to_json(), record.to_xml()),
        RetrievedRecord::Summary(record) => forms(record),
        RetrievedRecord::Explain(record) => forms(record),
        _ => return,
    };
    assert!(!xml.contains(['\0', '\x1b']), "{xml:?}");
    assert!(!json.is_null() && (text.is_empty() || text.ends_with('\n')));
    let written = Any::new(record.octets().to_vec()).expect("a record has octets");
    let syntax = external.direct_reference.unwrap_or(oid::OPAC);
    let again = RetrievedRecord::of(&External::single_asn1_type(syntax, written));
    assert_eq!(again, record);
}

fn forms(record: &impl Describe) -> (String, serde_json::Value, String) {
    let value = record.describe();
    (value.to_text(), value.to_json(), value.to_xml("record"))
}

fn originals() -> Vec<(Oid, Vec<u8>)> {
    let holding = HoldingsAndCircData {
        call_number: Some("PG3366".into()),
        volumes: Some(vec![Volume {
            chronology: Some("1911".into()),
            ..Volume::default()
        }]),
        circulation_data: Some(vec![CircRecord {
            item_id: Some("0001".into()),
            ..CircRecord::default()
        }]),
        ..HoldingsAndCircData::default()
    };
    let opac = OpacRecord {
        bibliographic_record: sutrs_external("War"),
        holdings_data: Some(vec![HoldingsRecord::HoldingsAndCirc(Box::new(holding))]),
    };
    let unit = IntUnit {
        value: 5,
        unit_used: Unit::default(),
    };
    let mut leaf = TaggedElement::numbered(2, 1, ElementData::String("War".into()));
    leaf.applied_variant = Some(Variant::default());
    let amount = TaggedElement::numbered(1, 10, ElementData::IntUnit(Box::new(unit)));
    let grs1 = GenericRecord(vec![
        leaf.clone(),
        TaggedElement::named("x", ElementData::Subtree(vec![leaf, amount])),
    ]);
    let summary = BriefBib {
        title: "War".into(),
        format: Some(vec![FormatSpec {
            r#type: "t".into(),
            size: Some(9),
            best_posn: None,
        }]),
        ..BriefBib::default()
    };
    let occurrence = AttributeOccurrence {
        attribute_set: None,
        attribute_type: 1,
        must_be_supplied: Some(()),
        attribute_values: OccurrenceValues::Specific(vec![StringOrNumeric::Numeric(4)]),
    };
    let explain = ExplainRecord::AttributeDetails(Box::new(AttributeDetails {
        common_info: None,
        database_name: "books".into(),
        attributes_by_set: None,
        attribute_combinations: Some(AttributeCombinations {
            default_attribute_set: oid::BIB_1,
            legal_combinations: vec![vec![occurrence]],
        }),
    }));
    let explain = (oid::EXPLAIN, encode_value(&explain).expect("encodes"));
    let values = [opac.to_external(), grs1.to_external()].map(|record| {
        let record = record.expect("encodes");
        let ExternalEncoding::SingleAsn1Type(value) = record.encoding else {
            panic!("a value")
        };
        (
            record.direct_reference.expect("a syntax"),
            value.as_bytes().to_vec(),
        )
    });
    let summary = (oid::SUMMARY, encode_value(&summary).expect("encodes"));
    values.into_iter().chain([summary, explain]).collect()
}
