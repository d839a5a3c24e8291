//! Tests for each form and its remarks: text is written unchanged, the leader has 24 characters, and separators in text
//! are reported.

use super::*;
use crate::charset::{Options, to_utf8};
use crate::record::{Field, Leader};
use crate::stream::{InputForm, InputRecord, RecordReader};
use crate::table::{Columns, RowOrigin, Table, TableForm};

const INPUTS: [(InputForm, Form); 6] = [
    (InputForm::Marc, Form::Marc),
    (InputForm::MarcXml, Form::MarcXml),
    (InputForm::MarcXml, Form::MarcXchange),
    (InputForm::Json, Form::Json),
    (InputForm::Mrk, Form::Mrk),
    (InputForm::Line, Form::Line),
];

fn record(title: &str) -> MarcRecord {
    MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "x"),
            Field::data(b"245", "10", [("a", title)]),
        ],
    }
}

fn document(form: Form, record: &MarcRecord) -> Vec<u8> {
    let mut out = form.begin().as_bytes().to_vec();
    form.write(record, &mut out).expect("short");
    out.extend(form.end().as_bytes());
    out
}

fn read(octets: &[u8], form: InputForm) -> InputRecord {
    let found = RecordReader::new(octets, form).next();
    found.expect("a record").expect("in memory")
}

#[test]
fn audit_r_a2_a_backslash_is_a_backslash() {
    for text in [
        r"caf\xC3\xA9",
        r"lone \xE9",
        r"\x5CxC3 \x5C",
        r"C:\xFF\",
        r"\u00e9 \n",
    ] {
        let record = record(text);
        for (input, form) in INPUTS {
            let document = document(form, &record);
            if !matches!(form, Form::Json | Form::Mrk) {
                let shown = String::from_utf8_lossy(&document);
                assert!(shown.contains(text), "{form:?}: {shown}");
            }
            let found = read(&document, input);
            assert_eq!(found.notes, Vec::<String>::new(), "{form:?}");
            assert_eq!(
                found.record.expect("valid").fields,
                record.fields,
                "{form:?}"
            );
        }
        for form in [Form::Brief, Form::DublinCore] {
            let shown = document(form, &record);
            assert!(String::from_utf8_lossy(&shown).contains(text), "{form:?}");
        }
        let columns: Columns = "245a,title".parse().expect("columns");
        let table = Table::new(TableForm::Tsv, &columns);
        let mut row = Vec::new();
        let notes = table.write(&record, RowOrigin::default(), &[], &mut row);
        assert_eq!(notes, Vec::<String>::new());
        assert!(String::from_utf8_lossy(&row).starts_with(&format!("{text}\t")));
    }
}

#[test]
fn audit_r_a2_octets_that_are_not_text_are_reported() {
    let mut record = record("x");
    record.fields[1].body = b"10\x1Facaf\xE9".as_slice().into();
    for form in [Form::MarcXml, Form::MarcXchange, Form::Json] {
        let mut out = Vec::new();
        let remarks = form.write(&record, &mut out).expect("short");
        assert!(remarks.is_loss && remarks.notes.len() == 1, "{remarks:?}");
        let shown = String::from_utf8(out).expect("text");
        assert!(shown.contains("caf\u{FFFD}"), "{shown}");
    }
}

#[test]
fn audit_r_a1_the_writer_decides_the_structure_of_the_leader() {
    for leader in [
        "                        ",
        "00000nam anm00000   nmlk",
        "00000nam a9900000   9999",
        "00000nam a\\\\00000   ;<=>",
    ] {
        let mut record = record("Noia 7 / B");
        record.leader = Leader::padded(leader.as_bytes());
        let stated = record.clone();
        // Every reader corrects the code length, so it is corrected here too before the record is written.
        record.mend_code_length();
        for (input, form) in INPUTS {
            let found = read(&document(form, &record), input);
            let found = found.record.expect("a record");
            let mut octets = Vec::new();
            let remarks = Form::Marc.write(&found, &mut octets).expect("short");
            assert!(!remarks.is_loss, "{form:?}");
            assert_eq!(
                (&octets[10..12], &octets[20..24]),
                (&b"22"[..], &b"4500"[..])
            );
            let again = iso2709::parse(&octets.into()).expect("a record");
            assert_eq!(again.repairs, vec![], "{form:?} {leader}");
            assert_eq!(again.record.fields, record.fields, "{form:?} {leader}");
        }
        let remarks = Form::Marc.write(&stated, &mut Vec::new()).expect("short");
        assert_eq!(remarks.notes.len(), 1, "{leader}");
        assert!(remarks.notes[0].starts_with("leader positions 10-11"));
    }
    let unimarc = MarcRecord {
        leader: Leader(*b"00000nam  2200000   450 "),
        ..record("x")
    };
    let remarks = Form::Marc.write(&unimarc, &mut Vec::new());
    assert_eq!(remarks, Ok(Remarks::default()));
}

/// The codes in MARCXML and JSON are explicit, so a leader that states longer codes is wrong.
#[test]
fn audit_r_a1_explicit_codes_correct_the_leader() {
    let xml = "<record><leader>00000nam a2300000 a 4500</leader><datafield tag=\"020\" ind1=\" \" ind2=\" \">\
               <subfield code=\"a\">9780306406157</subfield></datafield></record>";
    let json = r#"{"leader":"00000nam a2500000 a 4500","fields":[{"020":{"ind1":" ","ind2":" ","subfields":[{"a":"9780306406157"}]}}]}"#;
    for (text, form) in [(xml, InputForm::MarcXml), (json, InputForm::Json)] {
        let found = read(text.as_bytes(), form);
        assert_eq!(
            found.notes,
            ["leader position 11 is not usable"],
            "{form:?}"
        );
        let record = found.record.expect("a record");
        assert_eq!(record.leader.octet(11), b'2', "{form:?}");
        let field = record.fields_by_tag("020").next().expect("a field");
        assert_eq!(field.subfield("a"), Some(&b"9780306406157"[..]), "{form:?}");
    }
}

/// An indicator of several octets would shift the codes and the text after it.
#[test]
fn audit_r_a6_an_indicator_that_is_not_ascii_is_a_blank() {
    let xml = "<record><leader>00000nam a2200000 a 4500</leader><datafield tag=\"245\" ind1=\"é\" ind2=\"0\">\
               <subfield code=\"a\">Title</subfield></datafield></record>";
    let found = read(xml.as_bytes(), InputForm::MarcXml).record;
    let found = found.expect("a record");
    for form in Form::ALL {
        let mut octets = Vec::new();
        let remarks = form.write(&found, &mut octets).expect("short");
        let words = "an indicator of 245 replaced by a blank, it is not ASCII";
        assert!(remarks.is_loss, "{form:?}");
        assert!(remarks.notes.iter().any(|note| note == words), "{form:?}");
        assert!(!String::from_utf8_lossy(&octets).contains('é'), "{form:?}");
        if form == Form::Marc {
            let again = iso2709::parse_strict(&octets.into()).expect("a valid record");
            assert_eq!(again.leader.octet(10), b'2');
            assert_eq!(&*again.fields[0].body, b" 0\x1faTitle");
        }
    }
}

#[test]
fn audit_r_a6_all_octets_in_all_positions_of_the_leader() {
    let mut written = 0;
    for position in 0..Leader::LENGTH {
        for octet in 0..=255 {
            let mut record = record("Noia 7 / B");
            record.leader.0[position] = octet;
            let converted = to_utf8(&record, &Options::default());
            let is_odd = !matches!(octet, b' '..=b'~');
            assert_eq!(converted.is_loss(), is_odd, "{position} {octet}");
            if is_odd {
                let shown = converted.problems[0].to_string();
                let end = format!("{octet:02X} is not printable ASCII at octet {position}");
                assert_eq!(shown, format!("leader: {end}"));
            }
            let mut converted = converted.record;
            // Every reader corrects the code length, so it is corrected here too before the record is written.
            converted.mend_code_length();
            for (input, form) in INPUTS {
                let found = read(&document(form, &converted), input);
                assert!(!found.incomplete, "{form:?} {position} {octet}: {found:?}");
                let found = found.record.expect("a record");
                assert_eq!(found.fields, record.fields, "{form:?} {position} {octet}");
                let leader = found.leader.0;
                assert!(leader.iter().all(|octet| matches!(octet, b' '..=b'~')));
                written += 1;
            }
            // In XML, the leader has 24 octets even if the record has not been converted first.
            for form in [Form::MarcXml, Form::MarcXchange] {
                let document = String::from_utf8(document(form, &record)).expect("text");
                let (_, leader) = document.split_once("<leader>").expect("a leader");
                let (leader, _) = leader.split_once("</leader>").expect("its end");
                let escaped = leader.replace("&lt;", "<").replace("&gt;", ">");
                assert_eq!(escaped.replace("&amp;", "&").len(), 24, "{leader}");
            }
        }
    }
    assert_eq!(written, 24 * 256 * 6);
}

#[test]
fn audit_r_a4_separators_in_text_are_not_structure() {
    let leader = "00000nam a2200000   4500";
    for separator in ['\u{1D}', '\u{1E}', '\u{1F}'] {
        let number = u32::from(separator);
        let raw = format!("War{separator}bPeace");
        let xml = |title: &str| {
            format!(
                "<record><leader>{leader}</leader><controlfield tag='001'>x</controlfield>\
                 <datafield tag='245' ind1='1' ind2='0'><subfield code='a'>{title}</subfield></datafield></record>"
            )
        };
        let json = |title: &str| {
            format!(
                "{{\"leader\":\"{leader}\",\"fields\":[{{\"001\":\"x\"}},{{\"245\":{{\"ind1\":\"1\",\"ind2\":\"0\",\"subfields\":[{{\"a\":\"{title}\"}}]}}}}]}}"
            )
        };
        for (form, text) in [
            (InputForm::MarcXml, xml(&raw)),
            (
                InputForm::MarcXml,
                xml(&format!("War<![CDATA[{separator}]]>bPeace")),
            ),
            (InputForm::MarcXml, xml(&format!("War&#x{number:X};bPeace"))),
            (InputForm::MarcXml, xml(&format!("War&#{number};bPeace"))),
            (InputForm::Json, json(&format!("War\\u{number:04x}bPeace"))),
            (
                InputForm::Mrk,
                format!("=LDR  {leader}\n=001  x\n=245  10$a{raw}\n"),
            ),
            (
                InputForm::Mrk,
                format!("=LDR  {leader}\n=001  x\n=245  10$aWar{{x{number:02X}}}bPeace\n"),
            ),
            (
                InputForm::Line,
                format!("{leader}\n001 x\n245 10 $a {raw}\n"),
            ),
        ] {
            let found = read(text.as_bytes(), form);
            assert!(found.incomplete, "{form:?} {text:?}: {found:?}");
            assert_eq!(found.notes.len(), 1, "{form:?} {text:?}: {found:?}");
            let found = found.record.expect("a record");
            assert_eq!(found.fields.len(), 2, "{form:?} {text:?}: {found:?}");
            let subfields: Vec<_> = found.fields[1].subfields().collect();
            let stand_in = if form == InputForm::Line {
                "?"
            } else {
                "\u{FFFD}"
            };
            let title = format!("War{stand_in}bPeace");
            assert_eq!(subfields.len(), 1, "{form:?} {text:?}");
            let shown = String::from_utf8_lossy(subfields[0].data);
            assert!(
                shown == title || text.contains("&#") && shown.starts_with("War&#"),
                "{form:?} {text:?} {shown}"
            );
            let octets = iso2709::encode(&found).expect("no separator");
            let again = iso2709::parse(&octets.into()).expect("a record");
            assert_eq!(again.record.fields, found.fields);
        }
        // Separators in an indicator, a subfield code, a tag and the leader must not become structure either.
        let odd = [
            xml("A").replace("ind1='1'", &format!("ind1='{separator}'")),
            xml("A").replace("code='a'", &format!("code='{separator}'")),
            xml("A").replace("tag='245'", &format!("tag='24{separator}'")),
            xml("A").replace("00000nam", &format!("0000{separator}nam")),
        ];
        for text in odd {
            let found = read(text.as_bytes(), InputForm::MarcXml);
            assert!(found.incomplete, "{text:?}");
            let found = found.record.expect("a record");
            let octets = iso2709::encode(&found).expect("no separator");
            let again = iso2709::parse(&octets.into()).expect("a record");
            assert_eq!(again.record.fields, found.fields, "{text:?}");
        }
    }
}

/// Returns every control character of ASCII and Latin-1 except the separators of ISO 2709.
fn controls() -> impl Iterator<Item = char> {
    let all = (0..0x20).chain(0x7F..0xA0).filter_map(char::from_u32);
    all.filter(|control| !matches!(control, '\u{1D}'..='\u{1F}'))
}

/// Returns the text of the only subfield of 245.
fn title(record: &MarcRecord, what: &str) -> String {
    assert_eq!(record.fields.len(), 2, "{what}: {record:?}");
    let subfields: Vec<_> = record.fields[1].subfields().collect();
    assert_eq!(subfields.len(), 1, "{what}: {record:?}");
    String::from_utf8_lossy(subfields[0].data).into_owned()
}

#[test]
fn audit_r_a4_every_control_character_is_written_or_reported() {
    let mut kept = 0;
    for control in controls() {
        let text = format!("War{control}bPeace");
        let record = record(&text);
        for (input, form) in INPUTS {
            let what = format!("{form:?} {control:?}");
            let mut written = form.begin().as_bytes().to_vec();
            let remarks = form.write(&record, &mut written).expect("short");
            written.extend(form.end().as_bytes());
            let found = read(&written, input);
            let is_told = remarks.is_loss || found.incomplete;
            let found = title(&found.record.expect("a record"), &what);
            // In line format, a line end within a value is shown as an escape.
            let is_shown = form == Form::Line && found.starts_with("War\\x0");
            assert!(is_told || found == text || is_shown, "{what}: {found:?}");
            kept += usize::from(found == text);
        }
        for form in Form::ALL {
            let remarks = form.write(&record, &mut Vec::new());
            assert!(remarks.is_ok(), "{form:?} {control:?}");
        }
    }
    assert!(kept > 5 * 32, "{kept}");
}

#[test]
fn audit_r_a4_every_control_character_is_read_or_reported() {
    let leader = "00000nam a2200000   4500";
    for control in controls() {
        let number = u32::from(control);
        let xml = |title: &str| {
            format!(
                "<record><leader>{leader}</leader><controlfield tag='001'>x</controlfield>\
                 <datafield tag='245' ind1='1' ind2='0'><subfield code='a'>{title}</subfield></datafield></record>"
            )
        };
        let json = |title: &str| {
            format!(
                "{{\"leader\":\"{leader}\",\"fields\":[{{\"001\":\"x\"}},{{\"245\":{{\"ind1\":\"1\",\"ind2\":\"0\",\"subfields\":[{{\"a\":\"{title}\"}}]}}}}]}}"
            )
        };
        let mrk = |title: &str| format!("=LDR  {leader}\n=001  x\n=245  10$a{title}\n");
        let line = |title: &str| format!("{leader}\n001 x\n245 10 $a {title}\n");
        let raw = format!("War{control}bPeace");
        let mut inputs = vec![
            (InputForm::MarcXml, xml(&raw)),
            (
                InputForm::MarcXml,
                xml(&format!("War<![CDATA[{control}]]>bPeace")),
            ),
            (InputForm::MarcXml, xml(&format!("War&#x{number:X};bPeace"))),
            (InputForm::MarcXml, xml(&format!("War&#{number};bPeace"))),
            (InputForm::Json, json(&format!("War\\u{number:04x}bPeace"))),
        ];
        if number < 0x80 {
            inputs.push((InputForm::Mrk, mrk(&format!("War{{x{number:02X}}}bPeace"))));
        }
        // In these two forms, a line end also ends the field, so it cannot be part of the text.
        if !matches!(control, '\n' | '\r') {
            inputs.extend([(InputForm::Mrk, mrk(&raw)), (InputForm::Line, line(&raw))]);
        }
        for (form, text) in inputs {
            let what = format!("{form:?} {text:?}");
            let found = read(text.as_bytes(), form);
            let is_told = found.incomplete;
            let title = title(&found.record.expect("a record"), &what);
            // XML 1.0 §2.11: a carriage return that is not written as a reference is a line end.
            let is_line_end = control == '\r' && title == "War\nbPeace";
            // A reference to a character that XML does not allow is kept as written.
            let is_reference = text.contains("&#") && title.starts_with("War&#");
            assert!(
                is_told || title == raw || is_line_end || is_reference,
                "{what}: {title:?}"
            );
        }
    }
}

#[test]
fn audit_r_a_lines_report_data_that_they_cannot_hold() {
    let subfield = "text in 245 reads as the begin of a subfield, as the form has no escape for $";
    let line_end = "a line end in 245 written as an escape";
    for (title, notes) in [
        ("Emma", &[][..]),
        ("costs $5.00 or US$ 5", &[]),
        ("made a$ b", &[]),
        ("costs $5 in all", &[subfield]),
        ("$5 bills", &[]),
        ("Emma $a", &[subfield]),
        ("one\ntwo", &[line_end]),
        ("one\rtwo $b three", &[line_end, subfield]),
    ] {
        let record = record(title);
        let mut out = Vec::new();
        let said = Form::Line.write(&record, &mut out).expect("written");
        assert_eq!(said.notes, notes, "{title:?}");
        assert_eq!(said.is_loss, !notes.is_empty(), "{title:?}");
        let back = read(&out, InputForm::Line).record.expect("a record");
        assert_eq!(back.fields == record.fields, notes.is_empty(), "{title:?}");
    }
}
