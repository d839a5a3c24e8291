//! Tests for MARCXML: records that round-trip, repairs, and errors.

use proptest::prelude::*;

use super::*;
use crate::record::{Field, Leader, Tag};

fn record(fields: Vec<Field>) -> MarcRecord {
    let leader = Leader::default();
    MarcRecord { leader, fields }
}

fn check(field: Field, xml: &str) {
    let record = record(vec![field]);
    let written = to_xml(&record);
    assert_eq!(
        written.text,
        format!(
            "<record xmlns=\"{NAMESPACE}\">\n  <leader>00000nam a2200000   4500</leader>\n{xml}</record>\n"
        )
    );
    assert_eq!(written.notes, Vec::<String>::new(), "{xml}");
    let read = from_xml(&collection([&record])).expect("ours");
    let remarks = Remarks::default();
    assert_eq!((read.record, read.remarks), (record, remarks), "{xml}");
    assert!(!read.is_field_lost, "{xml}");
}

#[test]
fn fields_and_their_elements() {
    check(
        Field::control(b"001", " a<&>b "),
        "  <controlfield tag=\"001\"> a&lt;&amp;&gt;b </controlfield>\n",
    );
    check(
        Field::data(
            b"245",
            "1 ",
            [
                ("a", &b" Emma\t/\r\n"[..]),
                ("\"", b""),
                ("a", b"caf\\xC3\\xA9 \\xE9"),
            ],
        ),
        "  <datafield tag=\"245\" ind1=\"1\" ind2=\" \">\n    <subfield code=\"a\"> Emma\t/&#13;\n</subfield>\n    \
         <subfield code=\"&quot;\"></subfield>\n    <subfield code=\"a\">caf\\xC3\\xA9 \\xE9</subfield>\n  </datafield>\n",
    );
    check(
        Field::control(b"500", "  "),
        "  <datafield tag=\"500\" ind1=\" \" ind2=\" \">\n  </datafield>\n",
    );
    check(
        Field::control(b"500", "10no delimiter"),
        "  <datafield tag=\"500\" ind1=\"1\" ind2=\"0\">\n    <subfield code=\"\">no delimiter</subfield>\n  </datafield>\n",
    );
}

#[test]
fn records_in_marcxchange() {
    for (leader, number, field, begin, xml) in [
        (
            *b"00000nam a2200000   4500",
            "971201s1813    enk           000 1 eng  ",
            Field::data(b"245", "10", [("a", "Emma")]),
            "<record format=\"MARC21\" type=\"Bibliographic\">",
            "ind1=\"1\" ind2=\"0\">",
        ),
        (
            *b"00000nx  a3200000   4500",
            "short",
            Field::data(b"852", "1 x", [("a", "Emma")]),
            "<record type=\"Holdings\">",
            "ind1=\"1\" ind2=\" \" ind3=\"x\">",
        ),
        (
            *b"00000nz  a0200000   4500",
            "short",
            Field::data(b"100", "", [("a", "Emma")]),
            "<record type=\"Authority\">",
            "tag=\"100\">",
        ),
        (
            *b"00000nz  a1200000   4500",
            "short",
            Field::data(b"100", "1", [("a", "Emma")]),
            "<record type=\"Authority\">",
            "tag=\"100\" ind1=\"1\">",
        ),
        (
            *b"00000nam  2200000   450 ",
            "short",
            Field::data(b"200", "1 ", [("a", "Emma")]),
            "<record format=\"UNIMARC\" type=\"Bibliographic\">",
            "ind1=\"1\" ind2=\" \">",
        ),
    ] {
        let record = MarcRecord {
            leader: Leader(leader),
            fields: vec![Field::control(b"008", number), field],
        };
        let written = to_exchange_in_collection(&record);
        assert_eq!(written.notes, Vec::<String>::new(), "{xml}");
        assert!(written.text.starts_with(begin), "{}", written.text);
        assert!(written.text.contains(xml), "{}", written.text);
        let document = format!("{EXCHANGE_BEGIN}{}{COLLECTION_END}", written.text);
        assert!(document.contains(EXCHANGE_NAMESPACE));
        let read = from_xml(&document).expect("ours");
        let remarks = Remarks::default();
        assert_eq!((read.record, read.remarks), (record, remarks), "{xml}");
        assert!(!read.is_field_lost, "{xml}");
    }
}

#[test]
fn characters_that_xml_cannot_hold() {
    let written = to_xml(&record(vec![
        Field::control(b"001", "a\u{1}"),
        Field::data(b"500", "123", [("a", "\u{1B}(N")]),
    ]));
    assert!(written.text.contains("a\u{FFFD}<") && written.text.contains("\u{FFFD}(N<"));
    assert_eq!(
        written.notes,
        [
            "control characters or octets that are not UTF-8 in 001 replaced, XML cannot hold them",
            "field 500 has more than two indicators; MARCXML holds two",
            "control characters or octets that are not UTF-8 in 500 replaced, XML cannot hold them",
        ]
    );
}

fn reads(inside: &str, fields: Vec<Field>, notes: &[&str]) {
    let xml = format!(
        "<m:record xmlns:m='x'><m:leader>00000nam a2200000   4500</m:leader>{inside}</m:record>"
    );
    let read = from_xml(&xml).expect(inside);
    assert_eq!(read.record, record(fields), "{inside}");
    assert_eq!(read.remarks.notes, notes, "{inside}");
}

#[test]
fn other_writers_xml() {
    reads(
        "<controlfield tag='001'>x<!-- y --><![CDATA[<z>]]>&#x416;&apos;</controlfield>",
        vec![Field::control(b"001", "x<z>Ж'")],
        &[],
    );
    reads(
        "<controlfield tag='001'/>",
        vec![Field::control(b"001", "")],
        &[],
    );
    reads(
        "<datafield tag='245'><subfield>x</subfield><subfield code='a'>&bomb; y</subfield></datafield>",
        vec![Field::data(b"245", "  ", [(" ", "x"), ("a", "&bomb; y")])],
        &[
            "ind1 missing, read as a blank",
            "ind2 missing, read as a blank",
            "subfield without a code, read as a blank",
            "entity bomb is none of the five of XML, which alone are read: it stays as it is",
        ],
    );
    reads(
        "<datafield ind1='' ind2='1'/><controlfield tag='24'/>stray<b>old<c/></b>",
        vec![],
        &[
            "field without a tag left out",
            "ind1 missing, read as a blank",
            "field 24 left out, a tag has three octets",
            "text outside of fields and subfields ignored",
            "element b ignored",
        ],
    );
    let wrapped = "<record><header>h</header><metadata><record><controlfield tag='001'>x</controlfield></record></metadata></record>";
    let read = from_xml(wrapped).expect("the inner one");
    assert_eq!(read.record.fields, [Field::control(b"001", "x")]);
    assert_eq!(read.remarks.notes, ["no leader; a default one is used"]);
    let short = from_xml("<record><leader>00000</leader></record>").expect("a record");
    assert_eq!(short.record.leader, Leader::padded(b"00000"));
    assert_eq!(
        short.remarks.notes,
        ["the leader has 5 octets instead of 24"]
    );
}

#[test]
fn omissions_are_losses() {
    let whole = "<leader>00000nam a2200000   4500</leader><controlfield tag='001'>x</controlfield>";
    for (inside, is_loss) in [
        (whole.to_owned(), false),
        // Skipping an element that is not MARC is not a loss.
        (format!("{whole}<x:note>of <b>theirs</b></x:note>"), false),
        // The skipped text belongs to a field, although it is in an element that fields cannot contain.
        (
            format!(
                "{whole}<datafield tag='245'><subfield code='a'>one<b>bold</b>c</subfield></datafield>"
            ),
            true,
        ),
        (
            format!("{whole}<datafield tag='245'><b><i>lost</i></b></datafield>"),
            true,
        ),
        (
            format!("{whole}<controlfield tag='002'>i<i>&lt;</i></controlfield>"),
            true,
        ),
        (
            format!("{whole}<datafield tag='245'><b> <i/>\n</b></datafield>"),
            false,
        ),
        (format!("{whole}<datafield tag='245'/>&bomb;"), true),
        (
            format!("{whole}<datafield tag='245'><subfield code='a'>&bomb;</subfield></datafield>"),
            true,
        ),
        (
            format!("{whole}<datafield tag='245'><subfield>x</subfield></datafield>"),
            true,
        ),
        (format!("{whole}<subfield code='a'>x</subfield>"), true),
        (
            format!("{whole}<b><controlfield tag='002'>x</controlfield></b>"),
            true,
        ),
        (
            format!("{whole}<datafield tag='24' ind1=' ' ind2=' '/>"),
            true,
        ),
        (format!("{whole}<controlfield>x</controlfield>"), true),
        (format!("{whole}stray"), true),
        (whole.replace("4500", "450"), true),
        (whole.replace("leader", "b"), true),
    ] {
        let read = from_xml(&format!("<record>{inside}</record>")).expect("a record");
        assert_eq!(read.remarks.is_loss, is_loss, "{inside}: {read:?}");
    }
}

#[test]
fn input_that_is_not_a_record() {
    let refused = |text: &str| from_xml(text).unwrap_err();
    assert_eq!(refused(""), MarcXmlError::NoRecord);
    assert_eq!(refused("<record/>"), MarcXmlError::NoRecord);
    assert_eq!(
        refused("<record><leader>x</leader>"),
        MarcXmlError::Unfinished
    );
    assert!(matches!(
        refused("<record><leader></record>"),
        MarcXmlError::Syntax { .. }
    ));
    let deep = format!("<record>{}", "<a>".repeat(100_000));
    assert!(matches!(refused(&deep), MarcXmlError::TooDeep { .. }));
    let wide: String = (0..200_000).map(|n| format!(" a{n}='{n}'")).collect();
    reads(
        &format!("<controlfield{wide} tag='001'>x</controlfield>"),
        vec![Field::control(b"001", "x")],
        &[],
    );
}

#[test]
fn a_single_record_is_alone() {
    let one = "<record><leader>00000nam a2200000   4500</leader></record>";
    for (text, expected) in [
        (one.to_owned(), None),
        (
            format!("<?xml version='1.0'?><!-- a --><collection> {one}\n</collection>\n"),
            None,
        ),
        (format!("{one}{one}"), Some("(octet 58)")),
        (format!("<c>{one}{one}</c>"), Some("(octet 61)")),
        (
            format!("<c><a/>{one}</c>"),
            Some("something else next to it"),
        ),
        (
            format!("<c>{one}<datafield/></c>"),
            Some("something else next to it"),
        ),
        (format!("a {one}"), Some("something else next to it")),
        (format!("{one} a"), Some("something else next to it")),
        (format!("{one}&amp;"), Some("something else next to it")),
        (
            format!("{one}<![CDATA[a]]>"),
            Some("something else next to it"),
        ),
        (
            format!("<record><a>{one}{one}</a></record>"),
            Some("something else next to it"),
        ),
        (format!("<c>{one}"), Some("the text ends within the record")),
        (format!("<c>{one}</d>"), Some("not well-formed XML")),
        ("<c/>".to_owned(), Some("no record element")),
    ] {
        match (only_from_xml(&text), expected) {
            (Ok(read), None) => assert_eq!(Ok(read), from_xml(&text)),
            (Err(error), Some(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{text}: {error}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn indicators_and_codes_that_are_too_long_lose_data() {
    for (leader, field, expected) in [
        (
            "00000nam a2200000   4500",
            "ind1='ab' ind2=' '><subfield code='a'>x</subfield>",
            Some("ind1 ab has 2 characters instead of 1"),
        ),
        (
            "00000nam a2200000   4500",
            "ind1='1' ind2='ü'><subfield code='a'>x</subfield>",
            None,
        ),
        (
            "00000nam a2200000   4500",
            "ind1='1' ind2='0'><subfield code='ab'>x</subfield>",
            Some("subfield code ab has 2 characters instead of 1"),
        ),
        (
            "00000nam a2300000   4500",
            "ind1='1' ind2='0'><subfield code='ab'>x</subfield>",
            None,
        ),
        (
            "00000nam a2300000   4500",
            "ind1='1' ind2='0'><subfield code='abc'>x</subfield>",
            Some("subfield code abc has 3 characters instead of 2"),
        ),
    ] {
        let read = from_xml(&format!(
            "<record><leader>{leader}</leader><datafield tag='245' {field}</datafield></record>"
        ));
        let read = read.expect("a record");
        let note = read.remarks.notes.first().map(String::as_str);
        assert_eq!(note, expected, "{field}");
        assert_eq!(
            (read.remarks.is_loss, read.is_field_lost),
            (expected.is_some(), expected.is_some())
        );
    }
    let read = from_xml("<record><leader>x</leader></record>").expect("a record");
    assert_eq!((read.remarks.is_loss, read.is_field_lost), (true, false));
}

proptest! {
    #[test]
    fn fields_of_two_indicators_come_back(tag: [u8; 3], indicators in "[0-9 a-z]{2}", data in proptest::collection::vec(
        (any::<char>(), "\\PC{0,12}"), 0..4)) {
        // Map the tag to printable ASCII, which XML can represent.
        let tag = tag.map(|octet| b' ' + octet % 0x5F);
        let subfields = data.iter().map(|(code, text)| (code.to_string(), text));
        let field = Field::data(&tag, &indicators, subfields.filter(|(code, _)| !code.starts_with(char::is_control)));
        prop_assume!(field.subfields().all(|s| std::str::from_utf8(s.code).is_ok_and(|code| {
            code.chars().all(crate::xmltext::is_character) && !code.contains(['\r', '\n', '\t'])
        })));
        prop_assume!(!(Tag(tag).is_control() || field.is_control()));
        let record = record(vec![field]);
        let text = to_xml(&record).text;
        prop_assert_eq!(from_xml(&text).map(|read| read.record), Ok(record), "{}", text);
    }
}
