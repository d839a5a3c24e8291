//! Tests for changing fields, and for creating fields from text.

use super::*;
use crate::charset::{Charset, to_charset};
use crate::{charset, iso2709, mrk};

fn record(lines: &str) -> MarcRecord {
    let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
    mrk::parse_all(&text).expect("a record").remove(0)
}

/// Returns the fields as lines, without the leader.
fn lines(record: &MarcRecord) -> String {
    let text = mrk::to_mrk(record);
    let (_, fields) = text.split_once('\n').expect("a leader");
    fields.trim_end().to_owned()
}

type Change = fn(&mut FieldMut<'_>) -> Result<(), EditError>;

/// Changes the first field of a record that is written as lines, and checks that the result is the expected lines. If
/// an error is expected, checks that its message contains the text and that the record has not changed.
fn check(before: &str, change: Change, expected: Result<&str, &str>) {
    let mut record = record(before);
    let unchanged = record.clone();
    let tag = record.fields[0].tag;
    let changed = record
        .field_mut(tag)
        .and_then(|mut field| change(&mut field));
    match (changed, expected) {
        (Ok(()), Ok(after)) => assert_eq!(lines(&record), after, "{before}"),
        (Err(error), Err(words)) => {
            assert!(error.to_string().contains(words), "{before}: {error}");
            assert_eq!(record, unchanged, "{before}: {error}");
        }
        (changed, expected) => panic!("{before}: {changed:?}, not {expected:?}"),
    }
}

#[test]
fn audit_r_l11_a_field_is_changed() {
    let title = "=245  10$aEma /$cJane Austen.$aEma";
    let cases: [(&str, Change, &str); 10] = [
        (
            title,
            |field| field.set("a", "Emma /").map(drop),
            "=245  10$aEmma /$cJane Austen.$aEma",
        ),
        (
            title,
            |field| field.set("h", "")?.push("a", "$5").map(drop),
            "=245  10$aEma /$cJane Austen.$aEma$h$a{dollar}5",
        ),
        (
            title,
            |field| {
                assert!(field.remove("a")?);
                assert!(!field.remove("x")?);
                Ok(())
            },
            "=245  10$cJane Austen.",
        ),
        (
            title,
            |field| field.set_subfields([("å", "é"), ("9", "\u{98}")]).map(drop),
            "=245  10$åé$9\u{98}",
        ),
        (
            title,
            |field| field.set_indicators(" |")?.set_indicators("0a").map(drop),
            "=245  0a$aEma /$cJane Austen.$aEma",
        ),
        (
            "=001  pg1",
            |field| field.set_value("pg 158").map(drop),
            "=001  pg\\158",
        ),
        (
            "=FMT  BK",
            |field| field.set_value("CR").map(drop),
            "=FMT  CR",
        ),
        // A field without subfields gets its missing indicators together with its first subfield.
        (
            "=500  1",
            |field| field.push("a", "x").map(drop),
            "=500  1\\$ax",
        ),
        (
            "=500  ",
            |field| field.set("a", "x").map(drop),
            "=500  \\\\$ax",
        ),
        (
            "=500  10Late delimiter$ax",
            |field| field.set_subfields([("a", "Text")]).map(drop),
            "=500  10$aText",
        ),
    ];
    for (before, change, after) in cases {
        check(before, change, Ok(after));
    }
}

#[test]
fn audit_r_l11_text_that_would_be_read_differently_is_refused() {
    let title = "=245  10$aEma";
    let cases: [(&str, Change, &str); 19] = [
        (
            title,
            |field| field.set("a", "x\u{1F}by").map(drop),
            "245$a has the control character U+001F",
        ),
        (
            title,
            |field| field.push("b", "x\u{1E}").map(drop),
            "245$b has the control character U+001E",
        ),
        (
            title,
            |field| field.set_subfields([("a", "é\u{1D}")]).map(drop),
            "245$a has the control character U+001D",
        ),
        (title, |field| field.set("a", "x\ny").map(drop), "U+000A"),
        (
            title,
            |field| field.set("", "x").map(drop),
            "\"\" is not a subfield code",
        ),
        (
            title,
            |field| field.push("ab", "x").map(drop),
            "\"ab\" is not",
        ),
        (title, |field| field.set(" ", "x").map(drop), "\" \" is not"),
        (
            title,
            |field| field.remove("\u{1F}").map(drop),
            "is not a subfield code",
        ),
        (
            title,
            |field| field.set("$a", "x").map(drop),
            "\"$a\" is not",
        ),
        (
            title,
            |field| field.set_indicators("1").map(drop),
            "\"1\" is not a pair",
        ),
        (
            title,
            |field| field.set_indicators("1#").map(drop),
            "\"1#\" is not a pair",
        ),
        (
            title,
            |field| field.set_indicators("A0").map(drop),
            "\"A0\" is not a pair",
        ),
        (
            title,
            |field| field.set_indicators("é").map(drop),
            "\"é\" is not a pair",
        ),
        (
            title,
            |field| field.set_value("x").map(drop),
            "245 is a data field",
        ),
        (
            title,
            |field| field.remove("a").map(drop),
            "no subfield left",
        ),
        (
            title,
            |field| field.set_subfields([("a", "x"); 0]).map(drop),
            "no subfield left",
        ),
        (
            "=001  x",
            |field| field.set("a", "x").map(drop),
            "001 is a control field",
        ),
        (
            "=001  x",
            |field| field.set_indicators("10").map(drop),
            "001 is a control field",
        ),
        (
            "=001  x",
            |field| field.set_value("x\u{1E}").map(drop),
            "001 has the control character U+001E",
        ),
    ];
    for (before, change, words) in cases {
        check(before, change, Err(words));
    }
    // The text of this field has no delimiter. If a subfield were added, the text would be read as indicators.
    let mut record = MarcRecord::default();
    record.fields.push(Field::control(b"500", "10No"));
    let pushed = record
        .field_mut("500")
        .expect("it exists")
        .push("a", "x")
        .map(drop);
    assert_eq!(pushed, Err(EditError::BareText(Tag(*b"500"))));
    assert_eq!(record.fields[0].body, "10No");
    let missing = record.field_mut("24").map(drop);
    assert_eq!(missing, Err(EditError::NoField("24".to_owned())));
}

#[test]
fn audit_r_l11_codes_are_as_long_as_the_leader_says() {
    let mut record = MarcRecord::default();
    record.leader.0[11] = b'3';
    record
        .fields
        .push(Field::data(b"200", "1 ", [("aa", "Ema"), ("ab", "x")]));
    let mut field = record.field_mut("200").expect("it exists");
    field.set("aa", "Emma").expect("a code of two characters");
    assert!(field.remove("ab").expect("another one"));
    assert!(field.set("a", "Emma").is_err());
    assert_eq!(record.fields[0].body, "1 \u{1F}aaEmma");
}

type RecordChange = fn(&mut MarcRecord) -> Result<(), EditError>;

/// Returns a record in this set that contains `Grün`.
fn foreign(set: Charset) -> MarcRecord {
    let lines = match set {
        Charset::Iso5426 => {
            "=100  \\\\$a19840619a1874    m  y0frey50      ba\n=200  1\\$aGrün\n=300  \\\\$ax"
        }
        _ => "=245  10$aGrün\n=300  \\\\$ax",
    };
    to_charset(&record(lines), set, &charset::Options::default()).record
}

#[test]
fn audit_r_l11_a_record_in_another_set_takes_text_in_utf8() {
    for set in [Charset::Marc8, Charset::Iso5426] {
        let source = foreign(set);
        let changes: [RecordChange; 4] = [
            |record| record.field_mut("300")?.set("a", "Émile").map(drop),
            |record| record.field_mut("300")?.push("b", "Émile").map(drop),
            |record| record.insert_ordered("500 __ $a Émile"),
            |record| {
                let edited = record.edit_fields("3XX", |field| {
                    field.set_subfields([("a", "Émile")]).map(drop)
                });
                assert_eq!(edited?, 1);
                Ok(())
            },
        ];
        for change in changes {
            let mut record = source.clone();
            change(&mut record).expect("it is converted");
            let octets = iso2709::encode(&record).expect("it is short");
            let read = iso2709::parse(&octets.into()).expect("a record").record;
            assert!(charset::declares_utf8(&read), "{set}");
            let text = lines(&read);
            assert!(
                text.contains("Grün") && text.contains("Émile"),
                "{set}: {text}"
            );
        }
        let mut record = source.clone();
        let mut field = record.field_mut("300").expect("it exists");
        field.set("a", "plain").expect("ASCII is in every set");
        let same = |record: &MarcRecord| (record.leader, record.fields.first().cloned());
        assert_eq!(same(&record), same(&source), "{set}");
    }
}

#[test]
fn audit_r_l11_a_record_that_cannot_be_converted_keeps_its_octets() {
    let mut record = MarcRecord::default();
    record.leader.0[9] = b' ';
    record.fields = vec![
        Field::data(b"245", "10", [("a", &b"Gr\xFF"[..])]),
        Field::data(b"300", "  ", [("a", "x")]),
    ];
    let source = record.clone();
    let set = record
        .field_mut("300")
        .and_then(|mut field| field.set("a", "é").map(drop));
    assert!(matches!(set, Err(EditError::Charset(_))), "{set:?}");
    let inserted = record.insert_ordered("500 __ $a é");
    assert!(
        matches!(inserted, Err(EditError::Charset(_))),
        "{inserted:?}"
    );
    assert_eq!(record, source);
    // A field in MARC-8 can be inserted into this record, which declares MARC-8 too, but not into a record in UTF-8.
    let latin = Field::data(b"500", "  ", [("a", &b"Gr\xE8un"[..])]);
    record.insert_ordered(latin.clone()).expect("the same set");
    let mut utf8 = MarcRecord::default();
    assert_eq!(
        utf8.insert_ordered(latin),
        Err(EditError::NotUtf8(Tag(*b"500")))
    );
    let cut = Field::data(b"500", "  ", [("a", "x\u{1E}y")]);
    assert_eq!(
        utf8.insert_ordered(cut),
        Err(EditError::Separator(Tag(*b"500")))
    );
    assert_eq!(utf8, MarcRecord::default());
}

#[test]
fn audit_r_l11_records_are_built() {
    let built = MarcRecord::builder()
        .leader("00000cam  2200000 i 4500")
        .control("001", "pg158")
        .field("008 970801s1815    xx                  eng  ")
        .data(
            "245",
            "10",
            [("a", "Émile : US$a /"), ("c", "Jane Austen.")],
        )
        .field("650 #0 $a Villages.")
        .build()
        .expect("a record");
    assert_eq!(
        mrk::to_mrk(&built),
        "=LDR  00000cam\\a2200000\\i\\4500\n=001  pg158\n=008  970801s1815\\\\\\\\xx\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\eng\n\
         =245  10$aÉmile : US{dollar}a /$cJane Austen.\n=650  \\0$aVillages.\n"
    );
    let builder = MarcRecord::builder;
    let a = [("a", "x")];
    for (faulty, words) in [
        (builder().leader("00000nam"), "is not a leader"),
        (
            builder().leader("00000nam é2200000 a 4500"),
            "is not a leader",
        ),
        (builder().data("24", "10", a), "\"24\" is not a tag"),
        (builder().data("LDR", "10", a), "\"LDR\" is not a tag"),
        (builder().data("000", "10", a), "\"000\" is not a tag"),
        (builder().data("24é", "10", a), "is not a tag"),
        (builder().data("2\u{1E}5", "10", a), "is not a tag"),
        (builder().data("001", "10", a), "001 is a control field"),
        (builder().data("245", "1", a), "is not a pair of indicators"),
        (
            builder().data("245", "123", a),
            "is not a pair of indicators",
        ),
        (
            builder().data("245", "\u{1F}a", a),
            "is not a pair of indicators",
        ),
        (
            builder().data("245", "10", [("", "x")]),
            "is not a subfield code",
        ),
        (
            builder().data("245", "10", [("a", "\u{1F}bx")]),
            "245$a has the control",
        ),
        (
            builder().data("245", "10", [("a", ""); 0]),
            "no subfield left",
        ),
        (builder().control("245", "x"), "245 is a data field"),
        (builder().control("FMT", "\u{1F}ax"), "FMT has the control"),
        (builder().field("no field"), "is not a field such as"),
        // Of several faults, only the first is reported.
        (
            builder().control("1", "x").data("2", "1", a),
            "\"1\" is not a tag",
        ),
    ] {
        let error = faulty.build().expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
