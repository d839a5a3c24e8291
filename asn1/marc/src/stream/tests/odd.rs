//! Tests with inputs that deviate slightly from their forms: they have faults that people overlook or unusual line
//! ends, or are saved responses or text copied from displays.

use super::*;
use crate::charset::{Options, to_utf8};
use crate::random::{Random, rounds};
use crate::stream::mutation::mutate;

/// Returns the records of an input in line form, or the reasons why they cannot be read; the remarks; and whether any
/// data was lost.
fn read_all(form: InputForm, input: &[u8]) -> (Vec<String>, Vec<String>, bool) {
    let (mut shown, mut notes, mut is_loss) = (Vec::new(), Vec::new(), false);
    for found in RecordReader::guessing(input, form).expect("in memory") {
        let found = found.expect("in memory");
        shown.push(found.record.map_or_else(
            |error| format!("!{error}"),
            |record| String::from_utf8(marcline::to_lines(&record)).expect("UTF-8"),
        ));
        notes.extend(found.notes);
        is_loss |= found.incomplete;
    }
    (shown, notes, is_loss)
}

const LEADER: &str = "00000nam a2200000 a 4500";

#[test]
fn audit_r_a7_faults_that_a_person_can_read_over() {
    let xml = |fields: &str| format!("<record><leader>{LEADER}</leader>{fields}</record>");
    let data = |attributes: &str, subfields: &str| {
        xml(&format!(
            "<datafield tag=\"245\" {attributes}>{subfields}</datafield>"
        ))
    };
    let usual = "ind1=\"1\" ind2=\"0\"";
    let json = |leader: &str, fields: &str| format!("{{{leader}\"fields\":[{fields}]}}");
    let whole = format!("\"leader\":\"{LEADER}\",");
    let json_data = |members: &str| json(&whole, &format!("{{\"245\":{{{members}}}}}"));
    for (input, lines, note, is_lossy) in [
        (
            data("ind1=\"\" ind2=\"0\"", "<subfield code=\"a\">x</subfield>"),
            "245  0 $a x",
            "ind1 missing, read as a blank",
            false,
        ),
        (
            data(
                usual,
                "<subfield code=\"\">x</subfield><subfield code=\"b\">y</subfield>",
            ),
            "245 10 $  x $b y",
            "subfield with an empty code, read as a blank",
            true,
        ),
        (
            data(
                usual,
                "<subfield code=\"a\">x</subfield><subfield code=\"\">y</subfield>",
            ),
            "245 10 $a x $  y",
            "subfield with an empty code, read as a blank",
            true,
        ),
        (
            data(
                usual,
                "<subfield code=\"a\">AT&T & co &amp; x&lt;</subfield>",
            ),
            "245 10 $a AT&T & co & x<",
            "an & that begins no reference is read as text",
            false,
        ),
        (
            json("\"leader\":\"00000nam\",", "{\"001\":\"x\"}"),
            "001 x",
            "leader is not a string of 24 octets",
            true,
        ),
        (
            json("\"leader\":\"\",", "{\"001\":\"x\"}"),
            "001 x",
            "leader is not a string of 24 octets",
            true,
        ),
        (
            json("\"leader\":null,", "{\"001\":\"x\"}"),
            "001 x",
            "leader is not a string of 24 octets",
            true,
        ),
        (
            json("", "{\"001\":\"x\"}"),
            "001 x",
            "leader is not a string of 24 octets",
            true,
        ),
        (
            json(&whole, "{\"01\":\"x\"},{\"001\":\"x\"}"),
            "001 x",
            "fields[0].01 is not a tag of three octets",
            true,
        ),
        (
            json_data("\"ind1\":\"\",\"ind2\":\"\",\"subfields\":[{\"a\":\"x\"}]"),
            "245    $a x",
            "fields[0].245 has empty indicators, read as blanks",
            false,
        ),
        (
            json_data("\"ind1\":\"12\",\"ind2\":3,\"subfields\":[{\"a\":\"x\"}]"),
            "245 1  $a x",
            "fields[0].245.ind1 is not one character",
            true,
        ),
        (
            json_data("\"subfields\":[{\"\":\"x\"},{\"a\":null},{\"b\":\"y\"},7]"),
            "245    $  x $b y",
            "fields[0].245.subfields[0] is not a subfield whose code has the length that the leader says",
            true,
        ),
    ] {
        let (shown, notes, is_loss) = read_all(InputForm::Marc, input.as_bytes());
        let [record] = &shown[..] else {
            panic!("{input}: {shown:?}")
        };
        assert_eq!(record.lines().nth(1), Some(lines), "{input}: {record}");
        assert_eq!(notes.first().map(String::as_str), Some(note), "{input}");
        assert_eq!(is_loss, is_lossy, "{input}: {notes:?}");
    }
    for input in [
        "{\"fields\":[{\"name\":\"x\"}]}",
        "{\"leader\":7}",
        "{\"a\":1}",
    ] {
        let (shown, ..) = read_all(InputForm::Json, input.as_bytes());
        assert_eq!(shown, ["!leader is not a string of 24 octets"], "{input}");
    }
}

#[test]
fn audit_r_a7_saved_answers() {
    let marc = |id: &str| {
        format!(
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>{LEADER}</leader>\
                 <controlfield tag=\"001\">{id}</controlfield></record>"
        )
    };
    let deleted =
        "<record><header status=\"deleted\"><identifier>oai:1</identifier></header></record>";
    let harvested = |id: &str| {
        format!(
            "<record><header/><metadata>{}</metadata></record>",
            marc(id)
        )
    };
    let escaped = |id: &str| {
        marc(id)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('\"', "&#34;")
    };
    let packed = |data: &str| {
        format!(
            "<record><recordPacking>string</recordPacking><recordData>{data}</recordData></record>"
        )
    };
    let oai = |records: &str| format!("<OAI-PMH><ListRecords>{records}</ListRecords></OAI-PMH>");
    let sru = |records: &str| {
        format!(
            "<zs:searchRetrieveResponse xmlns:zs=\"x\"><records>{records}</records></zs:searchRetrieveResponse>"
        )
    };
    let cdata = format!("<![CDATA[<?xml version=\"1.0\"?>{}]]>", marc("b"));
    for (input, expected) in [
        (
            oai(&[deleted, &harvested("a"), deleted, &harvested("b"), deleted].concat()),
            &["a", "b"][..],
        ),
        (oai(deleted), &[]),
        (
            sru(&[packed(&escaped("a")), packed(&cdata), packed(&marc("c"))].concat()),
            &["a", "b", "c"],
        ),
    ] {
        let (shown, notes, is_loss) = read_all(InputForm::Marc, input.as_bytes());
        let shown: Vec<&str> = shown
            .iter()
            .filter_map(|lines| lines.lines().nth(1))
            .collect();
        let expected: Vec<String> = expected.iter().map(|id| format!("001 {id}")).collect();
        assert_eq!(shown, expected, "{input}");
        assert_eq!((notes, is_loss), (vec![], false), "{input}");
    }
    for data in ["", "a &lt; b", "&lt;dc/>", "&nbsp;", "<x>&lt;record/></x>"] {
        let (shown, ..) = read_all(InputForm::Marc, sru(&packed(data)).as_bytes());
        assert_eq!(shown, ["!no record element"], "{data}");
    }
}

#[test]
fn audit_r_a9_displays_and_line_ends() {
    let mrk = format!("=LDR  {LEADER}\n=001  x\n=245  10$aŠ & co\n\n=LDR  {LEADER}\n=001  y\n");
    let json = format!("{{\"leader\":\"{LEADER}\",\"fields\":[{{\"001\":\"x\"}}]}}\n");
    let line = format!("{LEADER}\n001 x\n245 10 $a Š\n\n{LEADER}\n001 y\n");
    let display = format!(
        "LEADER {LEADER}\n001    x\n245 10 Š and\n       so on\nLEADER {LEADER}\n001    y\n"
    );
    let expected = |text: &str| read_all(InputForm::Marc, text.as_bytes());
    for text in [&mrk, &json, &line, &display] {
        let (shown, notes, is_loss) = expected(text);
        assert_eq!((notes, is_loss), (vec![], false), "{text}");
        assert_eq!(shown.len(), if text == &json { 1 } else { 2 }, "{text}");
        let cr = text.replace('\n', "\r");
        let crlf = text.replace('\n', "\r\n");
        let (little, big): (Vec<u8>, Vec<u8>) = (
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        );
        for input in [
            cr.as_bytes(),
            crlf.as_bytes(),
            &little,
            &big,
            &[&b"\xFF\xFE"[..], &little].concat(),
            &[&b"\xFE\xFF"[..], &big].concat(),
        ] {
            assert_eq!(
                read_all(InputForm::Marc, input).0,
                shown,
                "{}",
                input.escape_ascii()
            );
            let slow = RecordReader::guessing(Slow(input), InputForm::Marc).expect("in memory");
            assert_eq!(slow.count(), shown.len(), "{}", input.escape_ascii());
        }
    }
    let (shown, ..) = expected(&display);
    assert_eq!(
        shown.first(),
        Some(&format!("{LEADER}\n001 x\n245 10 $a Š and so on\n"))
    );
}

/// Checks that for damaged variants of these inputs the reader ends, its remarks are bounded, and the records can be
/// written.
#[test]
fn audit_r_a9_mutated_odd_inputs_are_bounded() {
    let mrk =
        format!("=LDR  {LEADER}\n=001  x\n=245  10$aEmma /$cJ. & co\n\n=LDR  {LEADER}\n=001  y\n");
    let display = format!(
        "LEADER {LEADER}\n001    x\n245 10 |a Emma / |c Jane\n       Austen.\n000 {LEADER}\n001    y\n"
    );
    let marc = format!(
        "<record><leader>{LEADER}</leader><controlfield tag=\"001\">x</controlfield><datafield tag=\"245\" ind1=\"\" ind2=\"0\">\
         <subfield code=\"\">AT&T</subfield></datafield></record>"
    );
    let escaped = marc.replace('&', "&amp;").replace('<', "&lt;");
    let utf16 = mrk.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let inputs: [Vec<u8>; 8] = [
        mrk.replace('\n', "\r").into(),
        utf16,
        display.clone().into(),
        display.replace('\n', "\r\n").into(),
        "{\"leader\":\"\",\"fields\":[{\"245\":{\"ind1\":\"\",\"subfields\":[{\"\":\"x\"}]}}]}".into(),
        format!("<OAI-PMH><ListRecords><record><header status=\"deleted\"/></record><record><metadata>{marc}</metadata></record></ListRecords></OAI-PMH>").into(),
        format!("<searchRetrieveResponse><records><record><recordPacking>string</recordPacking><recordData>{escaped}</recordData></record></records></searchRetrieveResponse>").into(),
        format!("<records><record><recordData><![CDATA[<?xml version=\"1.0\"?>{marc}]]></recordData></record></records>").into(),
    ];
    let mut random = Random(0x0DD_1A9);
    let mut read = 0;
    for input in &inputs {
        for _ in 0..rounds(500) {
            let mut octets = input.clone();
            mutate(&mut octets, &mut random);
            let Ok(found) = RecordReader::guessing(&octets[..], InputForm::Marc) else {
                continue;
            };
            for found in found {
                let found = found.expect("in memory");
                let shown = octets.escape_ascii();
                assert!(found.notes.len() <= MAX_NOTES + 1, "{shown}");
                assert!(found.offset <= octets.len() as u64, "{shown}");
                let Ok(record) = found.record else { continue };
                let converted = to_utf8(&record, &Options::default()).record;
                let leader = converted.leader.0;
                assert!(leader.iter().all(|octet| matches!(octet, b' '..=b'~')));
                for form in Form::ALL {
                    let _ = form.write(&converted, &mut Vec::new());
                }
                read += 1;
            }
        }
    }
    assert!(read > inputs.len() * 250, "{read}");
}

#[test]
fn audit_r_d3_records_after_the_first_in_a_document_are_reported() {
    let of = |numbers: &[&str]| document(Form::MarcXml, numbers);
    let marked = |document: &[u8]| {
        let found = marcxml_record(document)?;
        let number = found.record.ok()?.control_number()?.to_vec();
        Some((number, found.incomplete, found.notes))
    };
    let first = |incomplete, notes: &[&str]| {
        let notes: Vec<String> = notes.iter().map(|note| (*note).to_owned()).collect();
        Some((b"1".to_vec(), incomplete, notes))
    };
    assert_eq!(marked(&of(&["1"])), first(false, &[]));
    assert_eq!(
        marked(&of(&["1", "2"])),
        first(true, &["another MARC record in the same XML is left out"])
    );
    assert_eq!(
        marked(&of(&["1", "2", "3"])),
        first(true, &["2 more MARC records in the same XML are left out"])
    );
    let empty = [&of(&["1"])[..], b"<record/>"].concat();
    assert_eq!(marked(&empty), first(false, &[]));
    assert_eq!(marked(b"<dc/>"), None);
}
