//! What is wrong with a record that could be read: beyond repairs, what other programs will stumble over.

use z3950_marc::Field;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Converted, Reason};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::iso2709;

/// The faults of a record, in words. `found` is the record as it stands in the input, `converted` the same in UTF-8.
pub(super) fn faults(found: &MarcRecord, converted: &Converted) -> Vec<String> {
    let mut faults: Vec<String> = converted.problems.iter().map(ToString::to_string).collect();
    let coding = found.leader.character_coding();
    if converted.choice.reason == Reason::ValidUtf8 && coding != b'a' && !is_unimarc(found) {
        faults.push("text in UTF-8, but leader position 9 is not a".to_owned());
    }
    if let Err(error) = iso2709::encode(&converted.record) {
        faults.push(error.to_string());
    }
    for field in &converted.record.fields {
        faults.extend(faults_of(field).map(|fault| format!("field {}: {fault}", field.tag)));
    }
    faults
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

/// A control character that is neither a delimiter nor a mark around words that filing leaves out.
fn is_stray(character: char) -> bool {
    character.is_control()
        && !matches!(
            character,
            '\u{1F}' | '\u{88}' | '\u{89}' | '\u{98}' | '\u{9C}'
        )
}
