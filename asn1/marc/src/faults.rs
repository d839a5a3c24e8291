//! Finds structural faults in the characters, leader positions, lengths, indicators and subfields of a record. The contents of fields are
//! not checked.

use crate::charset::{Converted, Reason};
use crate::crosswalk::is_unimarc;
use crate::iso2709;
use crate::record::{Field, MarcRecord};

/// Returns a message about each fault in a record. `found` is the record as it was read, and `converted` is the same
/// record in UTF-8.
pub fn faults(found: &MarcRecord, converted: &Converted) -> Vec<String> {
    let mut faults: Vec<String> = converted.problems.iter().map(ToString::to_string).collect();
    let coding = found.leader.character_coding();
    if converted.choice.reason == Reason::ValidUtf8 && coding != b'a' && !is_unimarc(found) {
        faults.push("text in UTF-8, but leader position 9 is not a".to_owned());
    }
    faults.extend(layout(found));
    if let Err(error) = iso2709::encode(&converted.record) {
        faults.push(error.to_string());
    }
    for field in &converted.record.fields {
        faults.extend(faults_of(field).map(|fault| format!("field {}: {fault}", field.tag)));
    }
    faults
}

/// Returns a message about leader position 10 (the number of indicators) and position 11 (the length of subfield
/// codes), if its value does not fit any field (ISO 2709 §4.3).
fn layout(record: &MarcRecord) -> impl Iterator<Item = String> {
    let data = || {
        let fields = record.fields.iter();
        fields.filter(|field| field.value().is_none() && field.subfields().next().is_some())
    };
    let digit = |position| char::from(record.leader.octet(position)).to_digit(10);
    let fits = |field: &Field| {
        let count = String::from_utf8_lossy(field.indicators()).chars().count();
        digit(10).is_none_or(|stated| usize::try_from(stated) == Ok(count))
    };
    let indicators = data().next().is_some() && !data().any(fits);
    let codes = data().next().is_some() && matches!(digit(11), Some(0 | 1));
    [(indicators, 10), (codes, 11)]
        .into_iter()
        .filter_map(move |(is_so, position)| {
            let stated = digit(position)?;
            is_so.then(|| format!("leader position {position} is {stated}, which fits no field"))
        })
}

fn faults_of(field: &Field) -> impl Iterator<Item = &'static str> {
    let is_data = field.value().is_none();
    let indicators = String::from_utf8_lossy(field.indicators());
    let subfields = || field.subfields();
    let controls = std::str::from_utf8(&field.body).is_ok_and(|text| text.chars().any(is_stray));
    [
        (controls, "a control character"),
        (
            is_data && indicators.chars().count() != 2,
            "not two indicators",
        ),
        (is_data && subfields().next().is_none(), "no subfield"),
        (
            is_data && subfields().any(|subfield| subfield.code.is_empty()),
            "text or a delimiter without a subfield code",
        ),
        (
            is_data && subfields().any(|subfield| subfield.data.is_empty()),
            "an empty subfield",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, fault)| is_so.then_some(fault))
}

/// Returns whether a character is a control character other than a delimiter or a non-filing mark.
fn is_stray(character: char) -> bool {
    character.is_control()
        && !matches!(
            character,
            '\u{1F}' | '\u{88}' | '\u{89}' | '\u{98}' | '\u{9C}'
        )
}
