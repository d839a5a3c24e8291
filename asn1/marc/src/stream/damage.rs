//! Tests valid records between damaged records in every input form: damage must affect only the damaged record.

use super::*;
use crate::Field;
use crate::Form;
use crate::Leader;
use crate::random::Random;

const RECORDS: usize = 1200;
/// One in this many records is damaged.
const RATE: usize = 10;

#[test]
fn audit_a5_damage_does_not_affect_other_records_in_iso_2709() {
    healthy_come_through(InputForm::Marc, Form::Marc);
}

#[test]
fn audit_a5_damage_does_not_affect_other_records_in_marcxml() {
    healthy_come_through(InputForm::MarcXml, Form::MarcXml);
}

#[test]
fn audit_a5_damage_does_not_affect_other_records_in_json() {
    healthy_come_through(InputForm::Json, Form::Json);
}

#[test]
fn audit_a5_damage_does_not_affect_other_records_in_mrk() {
    healthy_come_through(InputForm::Mrk, Form::Mrk);
}

#[test]
fn audit_a5_damage_does_not_affect_other_records_in_lines() {
    healthy_come_through(InputForm::Line, Form::Line);
}

fn healthy_come_through(input: InputForm, output: Form) {
    for seed in 1..=5 {
        come_through(input, output, &mut Random(seed * 0x5A39_5020_2709));
    }
}

fn come_through(input: InputForm, output: Form, random: &mut Random) {
    let mut document = output.begin().as_bytes().to_vec();
    let (mut healthy, mut cut) = (Vec::new(), 0);
    for number in 0..RECORDS {
        let record = record(number, random);
        let mut written = Vec::new();
        output.write(&record, &mut written).expect("short");
        if number % RATE == RATE / 2 {
            cut += usize::from(damage(input, &mut written, random));
        } else {
            written.extend(output.between().as_bytes());
            healthy.push(record);
        }
        document.extend(written);
    }
    document.extend(output.end().as_bytes());
    assert_eq!(healthy.len(), 1080);

    let found: Vec<InputRecord> = RecordReader::new(&document[..], input)
        .map(|found| found.expect("in memory"))
        .collect();
    let mut expected = healthy.iter().peekable();
    for found in &found {
        expected.next_if(|expected| found.record.as_ref() == Ok(*expected));
    }
    assert_eq!(
        expected.count(),
        0,
        "healthy records are lost from {}",
        input.name()
    );
    let incomplete = found.iter().filter(|found| found.incomplete).count();
    assert!(
        incomplete >= cut,
        "{incomplete} of {cut} in {}",
        input.name()
    );
}

/// Damages the octets of a record in a form. Returns whether a reader can detect that the record is incomplete.
fn damage(form: InputForm, written: &mut Vec<u8>, random: &mut Random) -> bool {
    let line_ends = written
        .iter()
        .rev()
        .take_while(|octet| **octet == b'\n')
        .count();
    written.truncate(written.len() - line_ends);
    let length = written.len();
    let kind = random.below(6);
    match kind {
        0 => written.truncate(length - 1),
        1 => written.truncate(length / 3),
        2 => written.truncate(1 + random.below(length - 1)),
        3 => written[length - 1] = b'x',
        _ => {
            for _ in 0..=random.below(3) {
                let place = random.below(length);
                written[place] = *random.pick(b"0123456789 xyz:$");
            }
        }
    }
    let is_line_kept = random.below(2) == 0 && form != InputForm::Marc;
    if is_line_kept {
        written.extend(b"\n\n");
    }
    match form {
        InputForm::Marc => kind <= 3,
        // A record that is cut off within its first tag or name is not recognised as a record, so its damage is not reported.
        InputForm::MarcXml | InputForm::Json => kind <= 1,
        // In line-based forms, a reader can detect the truncation only if the line end is lost too, so that the next record follows on the
        // same line.
        _ => kind <= 1 && !is_line_kept,
    }
}

/// Returns a record of a random length, with text that looks like the beginning of another record.
fn record(number: usize, random: &mut Random) -> MarcRecord {
    const TITLES: [&str; 4] = ["Война и мир", "Emma", "紅樓夢", "Être & <temps> \"q\""];
    const NOTES: [&str; 4] = [
        "Leader: 00714cam a2200205 a 4500",
        "=LDR  00714cam\\a2200205\\a\\4500",
        "{\"leader\":\"00714cam a2200205 a 4500\"}",
        "00049nam a2200049   4500001000700000245002000007",
    ];
    let mut record = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", format!("id{number}")),
            Field::control(b"008", "971201s1813    enk           000 1 eng  "),
            Field::data(b"245", "10", [("a", *random.pick(&TITLES))]),
        ],
    };
    for _ in 0..random.below(4) {
        let note = *random.pick(&NOTES);
        record.fields.push(Field::data(b"500", "  ", [("a", note)]));
    }
    let subject = "War. ".repeat(random.below(40));
    record
        .fields
        .push(Field::data(b"650", " 0", [("a", format!("x{subject}y"))]));
    let octets = iso2709::encode(&record).expect("short");
    iso2709::parse(&octets.into())
        .expect("written by us")
        .record
}
