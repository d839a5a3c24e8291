//! Feeds documents with hundreds of thousands of damaged records to the readers of MARCXML, MARC-in-JSON, MARCMaker
//! text and lines. None of them may panic, and the sound records at the beginning and end of each document must be
//! found. The mutations are seeded; `Z3950_MUTATIONS=N` multiplies their number.

use super::*;
use crate::Field;
use crate::Form;
use crate::Leader;
use crate::random::{Random, rounds};

/// The number of documents for each form. Each document has [`RECORDS`] records to damage.
const DOCUMENTS: usize = 10_000;
const RECORDS: usize = 8;

#[test]
fn no_mutated_document_panics_or_loses_a_valid_record() {
    let mut random = Random(0x5A39_5020_2018_0401);
    for (input, output) in [
        (InputForm::MarcXml, Form::MarcXml),
        (InputForm::Json, Form::Json),
        (InputForm::Mrk, Form::Mrk),
        (InputForm::Line, Form::Line),
    ] {
        let samples: Vec<Vec<u8>> = records()
            .iter()
            .map(|record| written(output, record))
            .collect();
        for _ in 0..rounds(DOCUMENTS) {
            survives(input, output, &samples, &mut random);
        }
    }
}

fn survives(input: InputForm, output: Form, samples: &[Vec<u8>], random: &mut Random) {
    let guard = written(output, &guard());
    let between = output.between().as_bytes();
    let mut document = [output.begin().as_bytes(), &guard, between].concat();
    for _ in 0..RECORDS {
        let mut sample = random.pick(samples).clone();
        mutate(&mut sample, random);
        document.extend(sample);
        document.extend(between);
    }
    // This ends the line, so that a cut-off line does not swallow the next record.
    document.extend(b"\n\n");
    document.extend(&guard);
    document.extend(output.end().as_bytes());
    let found: Vec<InputRecord> = RecordReader::new(&document[..], input)
        .map(|found| found.expect("in memory"))
        .collect();
    for found in &found {
        assert!(found.offset <= document.len() as u64 && found.notes.len() <= MAX_NOTES + 1);
        if let Ok(record) = &found.record {
            for form in Form::ALL {
                let _ = form.write(record, &mut Vec::new());
            }
        }
    }
    assert!(
        found.first().is_some_and(is_guard),
        "{}",
        document.escape_ascii()
    );
    // A mutation that opens a comment or CDATA may hide the records up to where something closes it; no other mutation may hide a record.
    let swallowing = [&b"<!--"[..], b"<![CDATA[", b"<?", b"<!DOCTYPE"];
    let mutated = document.get(output.begin().len()..).unwrap_or_default();
    if !swallowing
        .iter()
        .any(|opening| super::window::find(mutated, opening).is_some())
    {
        // The guard is the last record found, or the last but one if an unclosed record is reported at the end of the
        // document.
        assert!(
            found.iter().rev().take(2).any(is_guard),
            "{}",
            document.escape_ascii()
        );
    }
}

fn is_guard(found: &InputRecord) -> bool {
    found.record.as_ref().is_ok_and(|record| *record == guard())
}

fn guard() -> MarcRecord {
    MarcRecord {
        leader: Leader(*b"00052nam a2200037   4500"),
        fields: vec![Field::control(b"001", "guard")],
    }
}

fn records() -> Vec<MarcRecord> {
    let mut other = guard();
    other.fields = vec![
        Field::control(b"001", "pg1342"),
        Field::control(b"008", "971201s1813    enk           000 1 eng  "),
        Field::data(b"245", "10", [("a", "Гордость & <x> :"), ("b", "")]),
        Field::data(b"500", "  ", [("a", b"caf\xE2e {dollar} $5 \\")]),
        Field::data(b"880", "10", [("6", "245-01"), ("a", "紅樓夢 \"q\"")]),
        Field::control(b"FMT", "BK"),
    ];
    vec![guard(), other]
}

fn written(form: Form, record: &MarcRecord) -> Vec<u8> {
    let mut out = Vec::new();
    form.write(record, &mut out).expect("short");
    out
}

/// Octets with a special meaning in one of the forms, for use in mutations.
const SPECIAL: &[u8] = b"<>/&;\"'={}[],:\\$#! \n\r\0\x1B\x1F\x80\xC3\xFFax0-?";

pub(super) fn mutate(octets: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let place = random.below(octets.len());
        let octet = *random.pick(SPECIAL);
        match random.below(5) {
            0 | 1 if place < octets.len() => octets[place] = octet,
            2 => octets.insert(place, octet),
            3 if place < octets.len() => drop(octets.remove(place)),
            4 if random.below(3) == 0 => octets.truncate(place),
            _ => {}
        }
    }
}
