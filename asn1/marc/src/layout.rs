//! Adapts the leader to the form in which a record is written. Some positions describe the form, not the record (ISO
//! 2709 §4.3; the MARC 21 slim schema).

use crate::record::{Field, Leader, MarcRecord, SUBFIELD_DELIMITER, position};

/// The usual number of indicators, and the usual length of a subfield identifier.
const USUAL: u8 = b'2';

/// Returns the leader for ISO 2709 and MarcXchange: positions 10 and 11 match the fields, and positions 20 to 23 are the usual entry map.
/// Lengths are not changed.
pub(crate) fn of_exchange(record: &MarcRecord) -> Leader {
    let mut leader = record.leader;
    leader.0[10] = indicators(record);
    if record.contradicts_code_length() || leader.code_length() == 1 {
        leader.0[11] = USUAL;
    }
    // Position 23 may also be a space, as in UNIMARC.
    if !matches!(leader.0, [.., b'4', b'5', b'0', b'0' | b' ']) {
        map(&mut leader);
    }
    leader
}

/// Returns the leader for MarcXchange (ISO 25577): like the leader for ISO 2709, but with printable characters only, and with
/// numbers for lengths.
pub(crate) fn of_marcxchange(record: &MarcRecord) -> Leader {
    let mut leader = of_exchange(record).printable();
    lengths(&mut leader);
    leader
}

/// Returns the leader for MARCXML, whose schema restricts the characters in each position.
pub(crate) fn of_slim(record: &MarcRecord) -> Leader {
    let mut leader = record.leader;
    lengths(&mut leader);
    for octet in &mut leader.0 {
        if !octet.is_ascii_alphanumeric() {
            *octet = b' ';
        }
    }
    if leader.0[6] == b' ' {
        leader.0[6] = Leader::default().0[6];
    }
    leader.0[10] = USUAL;
    if leader.code_length() == 1 || record.contradicts_code_length() {
        leader.0[11] = USUAL;
    }
    map(&mut leader);
    leader
}

/// Replaces each indicator that is not ASCII with a blank, because its octets would count as several indicators (ISO 2709 §4.5.2). Returns
/// the record, and a message for each field with such an indicator. Returns `None` if there is no such field.
pub(crate) fn with_ascii_indicators(record: &MarcRecord) -> Option<(MarcRecord, Vec<String>)> {
    let is_odd = |field: &Field| {
        // Nearly every field has two ASCII indicators, so this quick check is usually enough.
        if let [first, second, SUBFIELD_DELIMITER, ..] = *field.body
            && (first | second).is_ascii()
        {
            return false;
        }
        let indicators = field.indicators();
        let has_subfields = field.body.get(indicators.len()) == Some(&SUBFIELD_DELIMITER);
        has_subfields && !indicators.is_ascii()
    };
    if !record.fields.iter().any(is_odd) {
        return None;
    }
    let mut record = record.clone();
    let mut changed = Vec::new();
    for field in record.fields.iter_mut().filter(|field| is_odd(field)) {
        let indicators = field.indicators();
        let rest = field.body.slice(indicators.len()..);
        let plain = String::from_utf8_lossy(indicators);
        let plain = plain.replace(|letter: char| !letter.is_ascii(), " ");
        changed.push(format!(
            "an indicator of {} replaced by a blank, it is not ASCII",
            field.tag
        ));
        field.body = [plain.as_bytes(), &rest].concat().into();
    }
    Some((record, changed))
}

/// Returns a message about the leader positions whose values differ because the form requires it; `None` if there are no such
/// positions. A blank in position 23, which has no meaning, is not reported.
pub(crate) fn restructured(found: &Leader, written: &Leader) -> Option<String> {
    let is_changed = |position: usize| {
        let octet = found.octet(position);
        octet != written.octet(position) && !(position == 23 && matches!(octet, b' ' | b'0'))
    };
    let positions = [10, 11, 20, 21, 22, 23];
    positions.into_iter().any(is_changed).then(|| {
        format!(
            "leader positions 10-11 and 20-23 are \"{}\" and \"{}\", written as \"{}\" and \"{}\"",
            part(found, 10, 12),
            part(found, 20, 24),
            part(written, 10, 12),
            part(written, 20, 24)
        )
    })
}

/// Returns a message about the first leader position that is written differently because the MARCXML schema does not
/// allow its value; `None` if there is none.
pub(crate) fn recoded(found: &Leader, written: &Leader) -> Option<String> {
    let positions = [5, 6, 7, 8, 9, 17, 18, 19];
    let is_changed = |position: &usize| found.octet(*position) != written.octet(*position);
    let position = positions.into_iter().find(is_changed)?;
    let [found, written] = [found, written].map(|leader| part(leader, position, position + 1));
    Some(format!(
        "leader position {position} is \"{found}\", which XML cannot hold; \"{written}\" is written"
    ))
}

fn part(leader: &Leader, from: usize, to: usize) -> String {
    let octets = leader.0.get(from..to).unwrap_or_default();
    octets.escape_ascii().to_string()
}

/// Replaces a record length or a base address that is not a number with zeros.
fn lengths(leader: &mut Leader) {
    for range in [0..5, 12..17] {
        let number = leader.0.get_mut(range).unwrap_or_default();
        if !number
            .iter()
            .all(|octet| matches!(octet, b'0'..=b'9' | b' '))
        {
            number.fill(b'0');
        }
    }
}

fn map(leader: &mut Leader) {
    if let Some(map) = leader.0.last_chunk_mut() {
        *map = *b"4500";
    }
}

/// Returns the number of indicators in the data fields as a digit, or the usual number if the fields differ.
fn indicators(record: &MarcRecord) -> u8 {
    let mut fields = record.fields.iter();
    // Nearly every record has a field with two indicators, so this quick check is usually enough.
    if fields.any(|field| field.body.get(2) == Some(&SUBFIELD_DELIMITER)) {
        return USUAL;
    }
    let data = record.fields.iter().filter(|field| !field.is_control());
    let mut counts = data.filter_map(|field| position(&field.body, SUBFIELD_DELIMITER));
    let Some(count) = counts.next().filter(|count| *count <= 9) else {
        return USUAL;
    };
    let digit = u8::try_from(count).map_or(USUAL, |count| b'0' + count);
    if counts.all(|other| other == count) {
        digit
    } else {
        USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn check(leader: &[u8; 24], fields: &[&'static str], exchange: &str, slim: &str) {
        let fields = fields.iter().map(|body| Field::control(b"245", *body));
        let record = MarcRecord {
            leader: Leader(*leader),
            fields: fields.collect(),
        };
        assert_eq!(of_exchange(&record).0.escape_ascii().to_string(), exchange);
        assert_eq!(of_slim(&record).0.escape_ascii().to_string(), slim);
    }

    #[test]
    fn audit_r_a1_leaders_of_forms() {
        let two = "10\u{1F}aA";
        for (leader, exchange, slim) in [
            (
                b"00000nam a2200000   4500",
                "00000nam a2200000   4500",
                "00000nam a2200000   4500",
            ),
            (
                b"00000nam a2200000   450 ",
                "00000nam a2200000   450 ",
                "00000nam a2200000   4500",
            ),
            (
                b"                        ",
                "          22        4500",
                "      a   22        4500",
            ),
            (
                b"00000nam axy00000   abcd",
                "00000nam a2200000   4500",
                "00000nam a2200000   4500",
            ),
            (
                b"0x000n#m a30y0000|  4501",
                "0x000n#m a22y0000|  4500",
                "00000nam a2200000   4500",
            ),
        ] {
            check(leader, &[two], exchange, slim);
        }
        let usual = b"00000nam a2200000   4500";
        check(
            usual,
            &["1\u{1F}aA", "2\u{1F}aB"],
            "00000nam a1200000   4500",
            "00000nam a2200000   4500",
        );
        check(
            usual,
            &["\u{1F}aA"],
            "00000nam a0200000   4500",
            "00000nam a2200000   4500",
        );
        check(
            usual,
            &["1\u{1F}aA", "234\u{1F}aB"],
            "00000nam a2200000   4500",
            "00000nam a2200000   4500",
        );
        check(
            usual,
            &["1234567890\u{1F}aA"],
            "00000nam a2200000   4500",
            "00000nam a2200000   4500",
        );
        let long = b"00000nam a2400000   4500";
        check(
            long,
            &["10\u{1F}abcText"],
            "00000nam a2400000   4500",
            "00000nam a2400000   4500",
        );
        check(
            long,
            &["10\u{1F}aText"],
            "00000nam a2200000   4500",
            "00000nam a2200000   4500",
        );
    }
}
