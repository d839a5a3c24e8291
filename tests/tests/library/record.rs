//! Tests of the title and text of records in every syntax and character set.

use z3950::Record;
use z3950_asn1::apdu::External;
use z3950_asn1::oid::{OPAC, SUTRS, UNIMARC, USMARC, XML};
use z3950_asn1::record::opac::{CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord};
use z3950_asn1::record::sutrs_external;
use z3950_marc::charset::Charset;
use z3950_marc::{iso2709, marcxml, mrk};

fn marc(text: &str) -> Vec<u8> {
    let records = mrk::parse_all(text).expect("a record");
    iso2709::encode(&records[0]).expect("octets")
}

const EMMA: &str = "=LDR  00000nam a2200000 a 4500
=001  id7
=100  1\\$aAusten, Jane.
=245  10$aEmma :$ba novel /$cJane Austen.
";

#[test]
fn titles_are_text_in_utf_8_whatever_the_record_is_in() {
    let of = |syntax, octets: Vec<u8>| Record::new(External::octet_aligned(syntax, octets), None);
    let xml = |text: &str| of(XML, text.as_bytes().to_vec());
    for (record, title) in [
        (of(USMARC, marc(EMMA)), Some("Emma : a novel")),
        (
            of(
                UNIMARC,
                marc(
                    "=LDR  00000nam  2200000   450 \n=001  1\n=100  \\\\$a20260101d2026    m  y0frey50      ba\n=200  1\\$aÉmile$fRousseau\n",
                ),
            ),
            Some("Émile"),
        ),
        (
            xml(
                "<record xmlns='http://www.loc.gov/MARC21/slim'><leader>00000nam a2200000 a 4500</leader><datafield tag='245' ind1='1' ind2='0'><subfield code='a'>Emma /</subfield></datafield></record>",
            ),
            Some("Emma"),
        ),
        (
            xml(
                "<dc xmlns:d='http://purl.org/dc/elements/1.1/'><d:title>War &amp;\n peace&#33;</d:title><d:title>x</d:title></dc>",
            ),
            Some("War & peace!"),
        ),
        (xml("<a><title/></a>"), None),
        (xml("<a>"), None),
        (of(USMARC, b"rubbish".to_vec()), None),
        (
            Record::new(sutrs_external("Title: Emma").expect("a record"), None),
            None,
        ),
    ] {
        assert_eq!(record.title().as_deref(), title, "{record:?}");
    }
}

#[test]
fn a_known_character_set_overrides_the_record() {
    let mut octets = marc(EMMA);
    let at = octets
        .windows(4)
        .position(|four| four == b"Emma")
        .expect("the title");
    octets[at] = 0xC9;
    let record = Record::new(External::octet_aligned(USMARC, octets), None);
    let latin = Charset::by_name("iso-8859-1");
    let title = record.with_charset(latin).title();
    assert_eq!(title.as_deref(), Some("Émma : a novel"));
}

#[test]
fn a_record_is_text_json_and_xml() {
    let record = Record::new(External::octet_aligned(USMARC, marc(EMMA)), Some(3));
    assert!(
        record.text().contains("245 10 $a Emma : $b a novel"),
        "{}",
        record.text()
    );
    assert_eq!(record.json().expect("JSON")["fields"][0]["001"], "id7");
    assert!(
        record
            .marcxml()
            .expect("XML")
            .contains("<subfield code=\"a\">Emma :</subfield>")
    );
    assert_eq!(record.octets(), marc(EMMA));
    let text = Record::new(sutrs_external("Emma\n").expect("a record"), None);
    assert_eq!(
        (text.syntax(), text.text().as_str()),
        (Some(SUTRS), "Emma\n")
    );
    assert_eq!(text.json(), Some("Emma\n".into()));
}

#[test]
fn holdings_give_location_and_availability() {
    let holding = HoldingsAndCircData {
        nuc_code: Some("DLC".into()),
        call_number: Some("PR4034 .E5".into()),
        circulation_data: Some(vec![CircRecord {
            available_now: true,
            item_id: Some("39001".into()),
            ..CircRecord::default()
        }]),
        ..HoldingsAndCircData::default()
    };
    let in_marc = marc(
        "=LDR  00000nx  a2200000   4500\n=001  h1\n=852  0\\$aDLC$bMain$hPR4034$i.E5$zAsk at the desk\n",
    );
    let opac = OpacRecord {
        bibliographic_record: Some(External::octet_aligned(USMARC, marc(EMMA))),
        holdings_data: Some(vec![
            HoldingsRecord::HoldingsAndCirc(Box::new(holding)),
            HoldingsRecord::MarcHoldingsRecord(Box::new(External::octet_aligned(USMARC, in_marc))),
        ]),
    };
    let record = Record::new(External::of_value(OPAC, &opac).expect("a record"), None);
    assert_eq!(record.title().as_deref(), Some("Emma : a novel"));
    let holdings = record.holdings();
    assert_eq!(holdings.len(), 2);
    assert_eq!(holdings[0].library.as_deref(), Some("DLC"));
    assert_eq!(holdings[0].item_id.as_deref(), Some("39001"));
    assert_eq!(holdings[0].available, Some(true));
    assert_eq!(holdings[1].call_number.as_deref(), Some("PR4034 .E5"));
    assert_eq!(holdings[1].available, None);
    assert_eq!(holdings[1].note.as_deref(), Some("Ask at the desk"));
}

#[test]
fn holdings_are_in_marc_records_too() {
    let located = format!("{EMMA}=852  0\\$bMain$hPR4034\n=876  \\\\$p1$jDUE 2026-12-01\n");
    let xml = marcxml::to_xml(&mrk::parse_all(&located).expect("a record")[0]).text;
    for (external, copies) in [
        (External::octet_aligned(USMARC, marc(EMMA)), 0),
        (External::octet_aligned(USMARC, marc(&located)), 1),
        (External::octet_aligned(XML, xml.into_bytes()), 1),
        (External::octet_aligned(XML, "<a>"), 0),
        (sutrs_external("Title: Emma").expect("a record"), 0),
    ] {
        let holdings = Record::new(external, None).holdings();
        assert_eq!(holdings.len(), copies, "{holdings:?}");
        for holding in holdings {
            assert_eq!(holding.location.as_deref(), Some("Main"));
            assert_eq!(holding.available, Some(false));
            assert_eq!(holding.due.as_deref(), Some("2026-12-01"));
        }
    }
}
