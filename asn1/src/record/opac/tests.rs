//! Tests for OPAC records: known octets, the three output formats, and circulation data.

use serde_json::json;
use z3950_marc::Field;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;

use super::*;
use crate::apdu::{External, ExternalValue as _};
use crate::codec::{decode_value, encode_value};
use crate::oid;
use crate::record::RetrievedRecord;
use crate::record::sutrs_external;

fn marc() -> External {
    let record = MarcRecord {
        fields: vec![
            Field::control(b"001", "id7"),
            Field::data(b"245", "10", [("a", "War & peace")]),
        ],
        ..MarcRecord::default()
    };
    External::octet_aligned(oid::USMARC, iso2709::encode(&record).expect("fits"))
}

fn sample() -> OpacRecord {
    let holding = HoldingsAndCircData {
        nuc_code: Some("DLC".into()),
        call_number: Some("PG3366 .V6 <1911>".into()),
        volumes: Some(vec![Volume {
            enumeration: Some("v.1".into()),
            ..Volume::default()
        }]),
        circulation_data: Some(vec![CircRecord {
            available_now: true,
            item_id: Some("0001".into()),
            ..CircRecord::default()
        }]),
        ..HoldingsAndCircData::default()
    };
    OpacRecord {
        bibliographic_record: Some(marc()),
        holdings_data: Some(vec![
            HoldingsRecord::HoldingsAndCirc(Box::new(holding)),
            HoldingsRecord::MarcHoldingsRecord(Box::new(
                sutrs_external("852 $a DLC").expect("encodes"),
            )),
        ]),
    }
}

#[test]
fn known_octets_come_back() {
    let octets = [
        0x30, 0x20, 0xa2, 0x1e, 0xa2, 0x1c, 0x88, 1, b's', 0x8b, 1, b'c', 0xb2, 5, 0x30, 3, 0x82,
        1, b'4', 0xb3, 0x0d, 0x30, 0x0b, 0x81, 1, 0xff, 0x86, 1, 0, 0x87, 1, 0, 0x88, 0,
    ];
    let record: OpacRecord = decode_value(&octets).expect("decodes");
    let Some([HoldingsRecord::HoldingsAndCirc(data)]) = record.holdings_data.as_deref() else {
        panic!("one holding: {record:?}")
    };
    assert_eq!(data.nuc_code, Some("s".into()));
    assert_eq!(data.call_number, Some("c".into()));
    let items = data.circulation_data.as_deref().unwrap_or_default();
    assert!(
        matches!(
            items,
            [CircRecord {
                available_now: true,
                on_hold: false,
                ..
            }]
        ),
        "{items:?}"
    );
    assert_eq!(encode_value(&record).expect("encodes"), octets);
}

#[test]
fn a_record_round_trips() {
    let external = sample().to_external().expect("encodes");
    assert_eq!(
        RetrievedRecord::of(&external),
        RetrievedRecord::Opac(Box::new(sample()))
    );
    let empty = OpacRecord::default().to_external().expect("encodes");
    assert_eq!(
        RetrievedRecord::of(&empty),
        RetrievedRecord::Opac(Box::default())
    );
}

#[test]
fn text_shows_the_record_and_then_its_holdings() {
    let text = sample().to_text();
    let (record, holdings) = text.split_once("Holdings:\n").expect("holdings");
    assert!(
        record.ends_with("001 id7\n245 10 $a War & peace\n"),
        "{record}"
    );
    assert_eq!(
        holdings,
        "  Library  Call number        Volume  Available  Item  Note\n  \
         DLC      PG3366 .V6 <1911>  v.1     yes        0001\n  \
         \x20                                                    852 $a DLC\n"
    );
}

#[test]
fn a_record_as_json_and_xml() {
    let json = sample().to_json();
    assert_eq!(
        json.pointer("/bibliographicRecord/fields/0/001"),
        Some(&json!("id7"))
    );
    assert_eq!(
        json.pointer("/holdingsData/0/holdingsAndCirc"),
        Some(&json!({
            "nucCode": "DLC",
            "callNumber": "PG3366 .V6 <1911>",
            "volumes": [{"enumeration": "v.1"}],
            "circulationData": [{"availableNow": true, "itemId": "0001", "renewable": false, "onHold": false}],
        }))
    );
    let marc_holdings = json!({"syntax": "1.2.840.10003.5.101", "text": "852 $a DLC"});
    assert_eq!(
        json.pointer("/holdingsData/1/marcHoldingsRecord"),
        Some(&marc_holdings)
    );

    let xml = sample().to_xml();
    let mut rest = &*xml;
    for part in [
        "<opacRecord>\n<bibliographicRecord>\n<record xmlns=\"http://www.loc.gov/MARC21/slim\">",
        "War &amp; peace",
        "</bibliographicRecord>\n<holdings>\n<holding>\n<nucCode>DLC</nucCode>",
        "<callNumber>PG3366 .V6 &lt;1911&gt;</callNumber>",
        "<volumes>\n<volume>\n<enumeration>v.1</enumeration>\n</volume>\n</volumes>",
        "<circulations>\n<circulation>\n<availableNow value=\"1\"/>\n<itemId>0001</itemId>",
        "<renewable value=\"0\"/>\n<onHold value=\"0\"/>\n</circulation>\n</circulations>\n</holding>",
        "<marcHoldingsRecord><value syntax=\"1.2.840.10003.5.101\">852 $a DLC</value></marcHoldingsRecord>",
        "</holdings>\n</opacRecord>\n",
    ] {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("{part:?} is not in {rest}")
        };
        rest = after;
    }
}

#[test]
fn records_inside_records_are_not_followed() {
    let mut external = marc();
    for _ in 0..2000 {
        let outer = OpacRecord {
            bibliographic_record: Some(external),
            holdings_data: None,
        };
        external = outer.to_external().expect("encodes");
    }
    let RetrievedRecord::Opac(record) = RetrievedRecord::of(&external) else {
        panic!("an OPAC record")
    };
    assert!(
        record
            .to_text()
            .starts_with("(a value in syntax 1.2.840.10003.5.102 (opac), ")
    );
    assert!(record.to_xml().contains("encoding=\"base64\""));
    assert!(
        record
            .to_json()
            .pointer("/bibliographicRecord/base64")
            .is_some()
    );
}

#[test]
fn a_note_is_added_to_notes_other_than_the_status() {
    for (note, expected, available) in [
        (None, "u@a", None),
        (Some(" "), "u@a", None),
        (Some("Fragile"), "Fragile; u@a", None),
        (Some("AVAILABLE"), "u@a", Some(true)),
        (Some("DUE 12-01-26"), "u@a", Some(false)),
    ] {
        let mut data = HoldingsAndCircData {
            public_note: note.map(Into::into),
            ..HoldingsAndCircData::default()
        };
        data.add_note("u@a");
        let items = data.circulation_data.iter().flatten();
        let told = items.map(|item| item.available_now).next();
        assert_eq!(data.public_note, Some(expected.into()), "{note:?}");
        assert_eq!(told, available, "{note:?}");
    }
}
