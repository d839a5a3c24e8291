//! Tests for MARC-in-JSON.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const LEADER: &str = r#""leader":"00000nam a2200000   4500""#;

fn check(field: Field, json: &str) {
    let record = MarcRecord {
        leader: Leader::default(),
        fields: vec![field],
    };
    assert_eq!(
        to_json(&record),
        format!("{{{LEADER},\"fields\":[{json}]}}")
    );
    assert_eq!(from_json(&to_json(&record)).expect(json), record, "{json}");
}

#[test]
fn fields_in_json() {
    check(Field::control(b"001", " pg1342"), r#"{"001":" pg1342"}"#);
    check(
        Field::data(b"245", "10", [("a", "Emma /"), ("c", "J. \"A\".")]),
        r#"{"245":{"ind1":"1","ind2":"0","subfields":[{"a":"Emma /"},{"c":"J. \"A\"."}]}}"#,
    );
    check(
        Field::data(b"650", " 0", [("a", "a"), ("a", ""), ("", "")]),
        r#"{"650":{"ind1":" ","ind2":"0","subfields":[{"a":"a"},{"a":""},{"":""}]}}"#,
    );
    check(
        Field::control(b"500", "  "),
        r#"{"500":{"ind1":" ","ind2":" ","subfields":[]}}"#,
    );
    check(
        Field::control(b"500", "1\x1Fax"),
        r#"{"500":{"ind1":"1","ind2":"","subfields":[{"a":"x"}]}}"#,
    );
    check(
        Field::control(b"500", "é23\x1Fax"),
        r#"{"500":{"ind1":"é","ind2":"2","ind3":"3","subfields":[{"a":"x"}]}}"#,
    );
    check(
        Field::control(b"500", "10text\x1Fax"),
        r#"{"500":{"ind1":"1","ind2":"0","ind3":"t","ind4":"e","ind5":"x","ind6":"t","subfields":[{"a":"x"}]}}"#,
    );
    check(
        Field::control(b"500", "10text alone"),
        r#"{"500":{"ind1":"1","ind2":"0","subfields":[{"":"text alone"}]}}"#,
    );
    check(
        Field::control(b"FMT", &b"\x00 \\xE9"[..]),
        r#"{"FMT":"\u0000 \\xE9"}"#,
    );
}

#[test]
fn other_writers_json() {
    let json = format!(
        "{{\"fields\":[{{\"001\":\"x\",\"005\":\"y\"}},{{\"245\":{{\"subfields\":[{{\"a\":\"A\",\"b\":\"B\"}}],\"ind2\":\"4\"}}}}],{LEADER}}}"
    );
    let record = from_json(&json).expect("readable");
    let fields = [
        Field::control(b"001", "x"),
        Field::control(b"005", "y"),
        Field::data(b"245", " 4", [("a", "A"), ("b", "B")]),
    ];
    assert_eq!(record.fields, fields);
}

#[test]
fn repeated_names() {
    let read = |json: &str| from_json(json).map_err(|error| error.to_string());
    let json = format!(
        "{{{LEADER},\"fields\":[{{\"001\":\"A\",\"001\":\"B\"}},{{\"650\":{{\"ind1\":\" \",\"ind2\":\"0\",\"subfields\":[{{\"a\":\"War\",\"x\":\"History\",\"x\":\"Fiction\"}}]}}}}]}}"
    );
    let fields = [
        Field::control(b"001", "A"),
        Field::control(b"001", "B"),
        Field::data(
            b"650",
            " 0",
            [("a", "War"), ("x", "History"), ("x", "Fiction")],
        ),
    ];
    assert_eq!(read(&json).map(|record| record.fields), Ok(fields.into()));
    for (json, message) in [
        (
            format!("{{{LEADER},{LEADER},\"fields\":[]}}"),
            "leader is given twice",
        ),
        (
            format!("{{\"fields\":[],{LEADER},\"fields\":[]}}"),
            "fields is given twice",
        ),
        (
            format!("{{{LEADER},\"fields\":[{{\"245\":{{\"subfields\":[],\"subfields\":[]}}}}]}}"),
            "fields[0].245.subfields is given twice",
        ),
        (
            format!(
                "{{{LEADER},\"fields\":[{{\"245\":{{\"ind1\":\"1\",\"ind1\":\"0\",\"subfields\":[]}}}}]}}"
            ),
            "fields[0].245.ind1 is given twice",
        ),
    ] {
        assert_eq!(read(&json), Err(message.to_owned()), "{json}");
    }
}

fn refused(fields: &str, message: &str) {
    let json = format!("{{{LEADER},\"fields\":{fields}}}");
    assert_eq!(from_json(&json).unwrap_err().to_string(), message, "{json}");
}

#[test]
fn input_that_is_not_a_record() {
    assert_eq!(from_json("{").unwrap_err().to_string(), "not JSON");
    assert_eq!(
        from_json(&"[".repeat(1_000_000)).unwrap_err().to_string(),
        "not JSON"
    );
    let no_leader = from_json("{\"leader\":\"short\"}").unwrap_err();
    assert_eq!(no_leader.to_string(), "leader is not a string of 24 octets");
    refused("7", "fields is not an array");
    refused("[7]", "fields[0] is not an object");
    refused(
        r#"[{"001":7}]"#,
        "fields[0].001 is not a string or an object",
    );
    refused(
        r#"[{"01":"x"}]"#,
        "fields[0].01 is not a tag of three octets",
    );
    refused(
        r#"[{"245":{"ind1":1}}]"#,
        "fields[0].245.ind1 is not a string",
    );
    refused(r#"[{"245":{}}]"#, "fields[0].245.subfields is not an array");
    refused(
        r#"[{"245":{"subfields":[1]}}]"#,
        "fields[0].245.subfields[0] is not an object",
    );
    refused(
        r#"[{"245":{"subfields":[{"a":1}]}}]"#,
        "fields[0].245.subfields[0] is not an object of strings",
    );
}

#[test]
fn shapes_that_would_read_as_something_else() {
    let data = |members: &str| format!("[{{\"245\":{{{members}}}}}]");
    let path = "fields[0].245";
    refused(
        "[{\"001\":\"A\"},{}]",
        "fields[1] is not an object with a field",
    );
    refused(
        &data(r#""ind1":"00","subfields":[]"#),
        &format!("{path}.ind1 is not one character"),
    );
    refused(
        &data(r#""subfields":[{"a":"A"},{}]"#),
        &format!("{path}.subfields[1] is not an object with a subfield"),
    );
    for subfields in [r#"{"ab":"q"}"#, r#"{"a":"A"},{"":"w"}"#] {
        let last = subfields.matches('{').count() - 1;
        refused(
            &data(&format!("\"subfields\":[{subfields}]")),
            &format!(
                "{path}.subfields[{last}] is not a subfield whose code has the length that the leader says"
            ),
        );
    }
    // An empty indicator before another indicator becomes a space.
    let json = format!(
        "{{{LEADER},\"fields\":{}}}",
        data(r#""ind1":"","ind2":"4","subfields":[{"a":"A"}]"#)
    );
    let record = from_json(&json).expect("readable");
    assert_eq!(record.fields, [Field::data(b"245", " 4", [("a", "A")])]);
    let long = json.replace("a22", "a23").replace("{\"a\"", "{\"aa\"");
    let record = from_json(&long).expect("readable");
    assert_eq!(record.fields, [Field::data(b"245", " 4", [("aa", "A")])]);
}

#[test]
fn audit_r_l11_records_are_deserialized_as_from_json_reads_them() {
    let record = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "pg158"),
            Field::data(b"650", " 0", [("a", "War"), ("x", "é"), ("x", "")]),
        ],
    };
    let text = to_json(&record);
    assert_eq!(
        serde_json::from_str::<MarcRecord>(&text).expect("a record"),
        record
    );
    assert_eq!(
        serde_json::from_reader::<_, MarcRecord>(text.as_bytes()).expect("a record"),
        record
    );
    assert_eq!(
        serde_json::from_value::<MarcRecord>(to_value(&record)).expect("a record"),
        record
    );
    let larger = format!("{{\"x\":[{text},null]}}");
    let larger: BTreeMap<String, Vec<Option<MarcRecord>>> =
        serde_json::from_str(&larger).expect("records");
    assert_eq!(larger["x"], [Some(record), None]);
    // Repeated names, separators and invalid values give the same result from `from_json` and from `Deserialize`.
    for fields in [
        r#"[{"001":"A","001":"B"},{"245":{"subfields":[{"a":"A","a":"B"}],"ind2":"4","odd":null}}]"#,
        r#"[{"001":"A\u001fB"}]"#,
        r#"[{"245":{"ind1":"12","subfields":[]}}]"#,
        r#"[{"245":{"subfields":[{"a":1.5}]}}]"#,
        r#"[{"2450":"x"}]"#,
        r#"[true]"#,
        "7",
    ] {
        let text = format!("{{{LEADER},\"fields\":{fields}}}");
        let read = from_json(&text).map_err(|error| error.to_string());
        let deserialized = serde_json::from_str::<MarcRecord>(&text);
        assert_eq!(
            deserialized.map_err(|error| error.to_string()),
            read,
            "{text}"
        );
    }
    let error = serde_json::from_value::<Vec<MarcRecord>>(json!([7])).expect_err("a number");
    assert_eq!(error.to_string(), "leader is not a string of 24 octets");
}

proptest! {
    #[test]
    fn every_field_comes_back(tag in "[0-9A-Z]{3}", body in "([\\PC\\x1F\\\\x]|\\\\x[0-9A-F]{2}){0,40}") {
        let tag: [u8; 3] = tag.as_bytes().try_into().expect("three");
        let record = MarcRecord { leader: Leader::default(), fields: vec![Field::control(&tag, body)] };
        prop_assert_eq!(from_json(&to_json(&record)).expect("ours"), record);
    }
}
