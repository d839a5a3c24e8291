//! Tests with inputs in every form: the records, the offsets of damaged records, and the records next to them.

mod odd;

use std::io::{self, Read};

use super::*;
use crate::Field;
use crate::Form;
use crate::Leader;

/// Returns a record with the given 001.
fn record(number: &str) -> MarcRecord {
    MarcRecord {
        leader: Leader(*b"00040nam a2200037   4500"),
        fields: vec![Field::control(b"001", number.to_owned())],
    }
}

/// Returns a document with these records in a form.
fn document(form: Form, numbers: &[&str]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), form);
    for number in numbers {
        writer.write(&record(number)).expect("short");
    }
    writer.finish().expect("a vector takes it")
}

/// A source that returns one octet at a time, like a slow pipe.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = room.len().min(1);
        self.0.read(room.get_mut(..count).unwrap_or_default())
    }
}

/// Returns the 001 of each record in the input, or `!` and the reason for a record that cannot be read.
fn found(form: InputForm, input: &[u8]) -> Vec<String> {
    let shown = |found: InputRecord| match found.record {
        Ok(record) => String::from_utf8_lossy(record.control_number().unwrap_or(b"?")).into_owned(),
        Err(damage) => format!("!{damage}"),
    };
    let quick: Vec<InputRecord> = RecordReader::new(input, form)
        .map(|found| found.expect("in memory"))
        .collect();
    if input.len() < 4096 {
        let slow: Vec<InputRecord> = RecordReader::new(Slow(input), form)
            .map(|found| found.expect("in memory"))
            .collect();
        assert_eq!(slow, quick, "{}", input.escape_ascii());
    }
    for (index, found) in quick.iter().enumerate() {
        assert_eq!(found.number, index as u64 + 1);
        assert!(found.offset <= input.len() as u64);
    }
    quick.into_iter().map(shown).collect()
}

const FORMS: [(InputForm, Form); 5] = [
    (InputForm::Marc, Form::Marc),
    (InputForm::MarcXml, Form::MarcXml),
    (InputForm::Json, Form::Json),
    (InputForm::Mrk, Form::Mrk),
    (InputForm::Line, Form::Line),
];

#[test]
fn every_form_is_detected_and_read() {
    for (input, output) in FORMS {
        let document = document(output, &["a", "b", "c"]);
        assert_eq!(found(input, &document), ["a", "b", "c"], "{input:?}");
        assert_eq!(InputForm::guess(&document), Some(input));
        let reader = RecordReader::guessing(&document[..], InputForm::Marc).expect("in memory");
        assert_eq!(reader.form(), input);
        assert_eq!(
            reader
                .map(|found| found.expect("in memory").record.expect("valid"))
                .collect::<Vec<_>>(),
            ["a", "b", "c"].map(record)
        );
        assert_eq!(found(input, b""), Vec::<String>::new());
        assert_eq!(found(input, b"\n \n"), Vec::<String>::new());
    }
}

#[test]
fn a_failing_source_ends_the_records() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    for (form, _) in FORMS {
        let mut reader = RecordReader::new(Broken, form);
        assert!(reader.next().is_some_and(|found| found.is_err()));
        assert!(reader.next().is_none());
    }
}

#[test]
fn compressed_inputs_are_refused() {
    for (magic, name) in [
        (&b"\x1F\x8B\x08"[..], "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"BZh91AY", "bzip2"),
        (b"\xFD7zXZ\0", "xz"),
        (b"\x28\xB5\x2F\xFD", "zstd"),
    ] {
        let input = [magic, &document(Form::Marc, &["a"])].concat();
        for (form, _) in FORMS {
            let mut reader = RecordReader::new(Slow(&input), form);
            let error = reader.next().expect("an error").expect_err("compressed");
            assert_eq!(
                error.to_string(),
                format!("compressed with {name}; decompress it first")
            );
            assert!(reader.next().is_none());
        }
    }
}

/// Checks a template, in which `WHOLE` is replaced by a sound record taken from a document in the form.
fn damaged(form: InputForm, output: Form, template: &str, expected: &[&str]) {
    let mut whole = Vec::new();
    output.write(&record("x"), &mut whole).expect("short");
    let whole = String::from_utf8(whole).expect("text");
    assert_eq!(
        found(form, template.replace("WHOLE", &whole).as_bytes()),
        expected,
        "{template}"
    );
}

#[test]
fn damage_does_not_affect_other_records() {
    let xml = |template: &str, expected: &[&str]| {
        damaged(InputForm::MarcXml, Form::MarcXml, template, expected)
    };
    let unclosed = "!the record is not closed";
    xml(
        "<collection>WHOLE<record><leader>x</leader>WHOLE</collection>",
        &["x", unclosed, "x"],
    );
    xml(
        "<collection>WHOLE<record><leader>x</leader></collection>",
        &["x", unclosed],
    );
    xml(
        "WHOLE<record><leader>x",
        &["x", "!the input ends within the record"],
    );
    xml(
        "<!-- WHOLE<!-- <record><leader>WHOLE",
        &[
            "!octets 0-3 are in no record",
            "x",
            "!octets 111-114 are in no record",
            unclosed,
            "x",
        ],
    );
    xml(
        "WHOLE<!-- WHOLE -->WHOLE<![CDATA[WHOLE]]>WHOLE<?p WHOLE?>WHOLE",
        &["x", "x", "x", "x"],
    );
    xml(
        "<a b='WHOLE<b>WHOLE",
        &["!octets 0-5 are in no record", "x", "x"],
    );
    let first_tag = "!the record is not closed";
    xml(
        "WHOLE<rec\nWHOLE<m:record typeWHOLE",
        &["x", first_tag, "x", first_tag, "x"],
    );
    xml("WHOLE<rec", &["x", first_tag]);
    xml("<!DOCTYPE r [<!ENTITY a '<record>'>]>WHOLE", &["x"]);
    xml(
        "<!DOCTYPE r [ WHOLE WHOLE",
        &["!octets 10-12 are in no record", "x", "x"],
    );
    xml(
        "WHOLE<m:record><m:leader/></m:record><record/>WHOLE",
        &["x", "?", "!no record element", "x"],
    );
    let bad = found(
        InputForm::MarcXml,
        b"<record><leader></a></record><record><leader/></record>",
    );
    assert!(
        matches!(&bad[..], [bad, good] if bad.starts_with("!not well-formed XML") && good == "?"),
        "{bad:?}"
    );

    let json = |template: &str, expected: &[&str]| {
        damaged(InputForm::Json, Form::Json, template, expected)
    };
    let brace = "!a brace is missing";
    json("\u{FEFF}[WHOLE,\r\nWHOLE]", &["x", "x"]);
    json("WHOLE WHOLE", &["x", "x"]);
    json("WHOLE{\"leader\":[\nWHOLE", &["x", brace, "x"]);
    json(
        "WHOLE{\"leader\":\"x\nWHOLE",
        &["x", "!an unclosed string", "x"],
    );
    json(
        "junk\nand more\nWHOLE, more\nWHOLE",
        &["!no JSON object", "x", "!no JSON object", "x"],
    );
    json(
        "WHOLE\n[[[[[[\nWHOLE,\n,\n,WHOLE,\n],[[[",
        &[
            "x",
            "!a bracket out of place",
            "x",
            "!a comma out of place",
            "x",
            "!a bracket out of place",
        ],
    );
    for stray in ["]", ",", "[[[", "[],,", "WHOLE,[]]"] {
        let input = document(Form::Json, &["x"]);
        let input = [&input[..], stray.replace("WHOLE", "").as_bytes(), b"]]"].concat();
        assert_eq!(
            found(InputForm::Json, &input),
            ["x", "!a bracket out of place"].map(|expected| match stray {
                "[],," => expected.replace("bracket", "comma"),
                _ => expected.to_owned(),
            }),
            "{stray}"
        );
    }
    json(
        "WHOLE{}WHOLE",
        &["x", "!leader is not a string of 24 octets", "x"],
    );
    json("{\"leader\":\"a\\\"}\",", &["!the record does not end"]);

    let mrk =
        |template: &str, expected: &[&str]| damaged(InputForm::Mrk, Form::Mrk, template, expected);
    mrk(
        "\u{FEFF}# remark\n\nWHOLEWHOLE\n\n\nWHOLE",
        &["x", "x", "x"],
    );
    mrk(
        "WHOLE\njunk\n\nWHOLEjunk\n",
        &["x", "!line 4: a field begins with =", "x"],
    );

    let line = |template: &str, expected: &[&str]| {
        damaged(InputForm::Line, Form::Line, template, expected)
    };
    line("WHOLEWHOLE\n(remark)\nWHOLE", &["x", "x", "x"]);
    line(
        "WHOLE\njunk\n\nWHOLE",
        &["x", "!line 4: neither a leader nor a field", "x"],
    );

    let marc = |template: &str, expected: &[&str]| {
        damaged(InputForm::Marc, Form::Marc, template, expected)
    };
    marc("\u{FEFF}WHOLE\r\n\u{FEFF}WHOLE", &["x", "x"]);
    marc(
        "WHOLEshort\x1DWHOLE\n99999WHOLE",
        &[
            "x",
            "!6 octets are too few for a leader of 24",
            "x",
            "!5 octets are too few for a leader of 24",
            "x",
        ],
    );
}

#[test]
fn audit_a5_xml_other_than_marcxml_is_damage() {
    let no_marcxml = "!not MARCXML: neither a record nor a collection";
    for (input, expected) in [
        ("<html><p>x</p></html>", &[no_marcxml][..]),
        ("00040nam a2200037   4500", &[no_marcxml]),
        ("<?xml version='1.0'?><collection/>", &[]),
        ("<m:collection xmlns:m='x'></m:collection>", &[]),
        (
            "<zs:searchRetrieveResponse><zs:numberOfRecords>0</zs:numberOfRecords></zs:searchRetrieveResponse>",
            &[],
        ),
        ("\u{FEFF} \n", &[]),
        ("", &[]),
    ] {
        assert_eq!(
            found(InputForm::MarcXml, input.as_bytes()),
            expected,
            "{input}"
        );
    }
}

/// Checks a template, in which `WHOLE` is replaced by a sound record. The part between `⟦` and `⟧` must be reported
/// as one gap.
fn gaps(template: &str) {
    let whole = String::from_utf8(document(Form::MarcXml, &["x"])).expect("text");
    let whole = whole
        .strip_prefix(Form::MarcXml.begin())
        .and_then(|whole| whole.strip_suffix(Form::MarcXml.end()))
        .expect("a collection");
    let (mut input, mut start, mut expected) = (String::new(), 0, Vec::new());
    for part in template.split_inclusive(['⟦', '⟧']) {
        let text = part.trim_end_matches(['⟦', '⟧']);
        expected.extend(text.matches("WHOLE").map(|_| "x".to_owned()));
        input += &text.replace("WHOLE", whole);
        if part.ends_with('⟦') {
            start = input.len();
        } else if part.ends_with('⟧') {
            let last = input.len() - 1;
            expected.push(format!("!octets {start}-{last} are in no record"));
        }
    }
    assert_eq!(
        found(InputForm::MarcXml, input.as_bytes()),
        expected,
        "{template}"
    );
}

#[test]
fn marcxml_outside_of_records_is_reported() {
    let field = "<datafield tag='245'><subfield code='a'>x</subfield></datafield>";
    for template in [
        "<collection>WHOLE ⟦FIELD</record>⟧ WHOLE</collection>",
        "<collection>⟦<m:leader>x</m:leader></m:record>⟧ WHOLE</collection>",
        "<collection>WHOLE ⟦FIELD⟧ </collection>",
        "WHOLE⟦</record>⟧WHOLE ⟦<leader/>⟧",
        "<collection>WHOLE ⟦< ⟧WHOLE</collection>\n⟦<⟧",
        "WHOLE⟦<!--⟧ WHOLE⟦<![CDATA[⟧ WHOLE⟦<?pi⟧ ",
        "WHOLE⟦ma</subfield> <!-- c --></datafield>⟧ <?p?>WHOLE",
        // A collection can contain neither text nor records in other forms.
        "<a>b<collection>WHOLE ⟦ma, 1815⟧\nWHOLE</collection>c</a>",
        "<collection>WHOLE</collection>\n⟦00040nam a2200037   4500\u{1E}⟧\n",
        "WHOLE⟦{\"leader\":\"x\"}⟧",
        "⟦=LDR  x⟧\n\nWHOLE",
        // Stray fields are also reported within wrappers, but the text of a wrapper is not MARC.
        "<OAI-PMH>a<b>c</b><record><header>d</header><metadata>WHOLE</metadata></record>e\
         ⟦FIELD</record>⟧</metadata></OAI-PMH>",
    ] {
        gaps(&template.replace("FIELD", field));
    }
}

#[test]
fn wrappers_around_marcxml_are_not_damage() {
    let item = "<record><header>d</header><metadata>WHOLE</metadata></record>";
    for template in [
        "\u{FEFF}<?xml version='1.0'?>\n<!DOCTYPE c []><collection>WHOLE</collection>\n\0\x1A\u{FEFF}",
        "<OAI-PMH>a<ListRecords>b ITEM c ITEM d</ListRecords><e>f</e>g<h/></OAI-PMH>",
        "<s:searchRetrieveResponse><s:numberOfRecords>5</s:numberOfRecords><s:records><s:record><s:recordData>\
         WHOLE</s:recordData><s:recordPosition>1</s:recordPosition></s:record></s:records>text\
         <s:extra>x</s:extra></s:searchRetrieveResponse>",
        "<a>b<![CDATA[<leader>]]><collection><!-- <leader> --><note>n</note>WHOLE</collection>c</a>",
        "<collection/>\n<collection>WHOLE</collection>",
    ] {
        gaps(&template.replace("ITEM", item));
    }
    // A record that lost its first tag is reported only once.
    let cut = "<collection><rec<leader>x</leader><controlfield tag='001'>y</controlfield></record></collection>";
    assert_eq!(
        found(InputForm::MarcXml, cut.as_bytes()),
        ["!the record is not closed"]
    );
}

#[test]
fn a_truncated_document_is_reported() {
    let xml = "!the input ends within the document: records may be missing";
    let unclosed = "!the record is not closed";
    for (template, expected) in [
        ("<collection>WHOLE", &["x", xml][..]),
        ("<collection>WHOLE</coll", &["x", xml]),
        ("<collection>\n", &[xml]),
        (
            "<OAI-PMH><ListRecords><record><metadata>WHOLE</metadata>",
            &["x", xml],
        ),
        (
            "<searchRetrieveResponse><record>WHOLE</record>",
            &["x", xml],
        ),
        // The damaged record is reported, so the missing end of the document is not reported as well.
        ("<collection>WHOLE<rec", &["x", "!the record is not closed"]),
        (
            "<collection>WHOLE<record><leader>",
            &["x", "!the input ends within the record"],
        ),
        ("<a>WHOLE", &["x"]),
        ("WHOLE", &["x"]),
        // In these documents, one record is not closed.
        ("WHOLE<record>\nWHOLE", &["x", "x", unclosed]),
        (
            "<collection>WHOLE<record>WHOLE WHOLE</collection><a/>WHOLE",
            &["x", "x", "x", unclosed, "x"],
        ),
        (
            "<record><metadata><collection>WHOLE</collection></metadata></record>",
            &["x"],
        ),
    ] {
        damaged(InputForm::MarcXml, Form::MarcXml, template, expected);
    }
    let json = "!the input ends within the array: records may be missing";
    for (template, expected) in [
        ("[WHOLE,\nWHOLE", &["x", "x", json][..]),
        ("\n[WHOLE,\nWHOLE,\n", &["x", "x", json]),
        ("[", &[json]),
        ("[WHOLE,WHOLE]\n", &["x", "x"]),
        ("[]", &[]),
        ("[WHOLE][WHOLE]", &["x", "x"]),
        // If damage to the last record is reported, the missing bracket is not reported as well. Without an opening
        // bracket, the records are not an array.
        (
            "[WHOLE,{\"leader\":\"x\"",
            &["x", "!the record does not end"],
        ),
        ("WHOLE\n[WHOLE", &["x", "x", json]),
        ("WHOLE,\nWHOLE,\n", &["x", "x"]),
    ] {
        damaged(InputForm::Json, Form::Json, template, expected);
    }
}

#[test]
fn bombs_are_quick_and_harmless() {
    let laughs = "<!DOCTYPE r [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]><record><leader>&b;&b;</leader></record>";
    let mut reader = RecordReader::new(laughs.as_bytes(), InputForm::MarcXml);
    let record = reader.next().expect("one").expect("in memory");
    assert!(
        record.notes.contains(
            &"entity b is none of the five of XML, which alone are read: it stays as it is"
                .to_owned()
        ),
        "{record:?}"
    );
    let external = "<!DOCTYPE r SYSTEM 'file:///etc/passwd' [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><record><controlfield tag='001'>&x;</controlfield></record>";
    assert_eq!(found(InputForm::MarcXml, external.as_bytes()), ["&x;"]);
    let deep = format!("<record><leader/>{}", "<a>".repeat(100_000));
    assert_eq!(
        found(InputForm::MarcXml, deep.as_bytes()),
        ["!the input ends within the record"]
    );
    let deep = format!("{deep}</record><record><leader/></record>");
    let deep = found(InputForm::MarcXml, deep.as_bytes());
    assert!(
        matches!(&deep[..], [deep, good] if deep.contains("nested") && good == "?"),
        "{deep:?}"
    );
    for pattern in [
        "<!--",
        "<![CDATA[",
        "<?",
        "<!DOCTYPE [",
        "<record",
        "<record ",
        "<a b='",
        "&",
        "<record><leader>",
    ] {
        let bomb = pattern.repeat(200_000);
        let _ = found(InputForm::MarcXml, bomb.as_bytes());
        let _ = found(InputForm::MarcXml, format!("<record>{bomb}").as_bytes());
    }
    for pattern in ["{", "[", "{\"leader\":", "\"", "{\n", "\\", "{\"a\":[\n"] {
        let _ = found(InputForm::Json, pattern.repeat(200_000).as_bytes());
    }
    let endless = vec![b'x'; MAX_RECORD + 100];
    for (form, _) in FORMS {
        let _ = found(form, &endless);
    }
}

#[test]
fn xml_in_other_encodings() {
    let text = "<?xml version='1.0' encoding='iso-8859-1'?><record><controlfield tag='001'>caf\u{E9}</controlfield></record>";
    let latin: Vec<u8> = text
        .chars()
        .map(|character| u32::from(character) as u8)
        .collect();
    assert_eq!(found(InputForm::MarcXml, &latin), ["café"]);
    let utf16: Vec<u8> = "\u{FEFF}<record><controlfield tag='001'>紅</controlfield></record>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(found(InputForm::MarcXml, &utf16), ["紅"]);
}
