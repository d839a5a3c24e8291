//! Detects records in UTF-8 that do not declare it. Other programs would read such records as MARC-8 or ISO 5426 (MARC
//! 21 leader/09; UNIMARC 100 $a).

use super::choose::{Reason, choose, unimarc_sets};
use crate::MarcRecord;

/// Returns whether a record declares that it is in UTF-8.
pub(crate) fn declares_utf8(record: &MarcRecord) -> bool {
    match unimarc_sets(record) {
        Some(unimarc) => unimarc.sets.starts_with(b"50"),
        None => record.leader.character_coding() == b'a',
    }
}

/// Returns a message if fields are in UTF-8 but the record declares a different set. Text in any other set is hardly ever valid UTF-8. If
/// only some of the fields are valid UTF-8, a message is returned only if all others are valid in the declared set.
pub(crate) fn undeclared_utf8(record: &MarcRecord) -> Option<String> {
    if declares_utf8(record) {
        return None;
    }
    let mut foreign = record
        .fields
        .iter()
        .filter(|field| !field.body.is_ascii())
        .peekable();
    foreign.peek()?;
    let place = match unimarc_sets(record) {
        Some(_) => "100 $a",
        None => "leader position 9",
    };
    let choice = choose(record, None);
    if choice.reason == Reason::ValidUtf8 {
        return Some(format!("the text is in UTF-8, but {place} does not say so"));
    }
    let (utf8, others): (Vec<_>, Vec<_>) =
        foreign.partition(|field| std::str::from_utf8(&field.body).is_ok());
    let is_of_set = others
        .iter()
        .all(|field| choice.charset.decode(&field.body).problems.is_empty());
    let first = utf8.first().filter(|_| is_of_set)?;
    Some(format!(
        "{} is in UTF-8, but the record is in {}, as {place} says",
        first.tag, choice.charset
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Form};

    #[test]
    fn audit_r_l11_undeclared_utf8_is_reported() {
        let marc8 = &b"Gr\xE8un"[..];
        let utf8 = "Émile".as_bytes();
        let unimarc = &b"19840619a1874    m  y0frey0103    ba"[..];
        for (coding, values, told) in [
            (b'a', &[utf8][..], None),
            (b'a', &[utf8, marc8], None),
            (b' ', &[marc8], None),
            (b' ', &[b"plain"], None),
            (b' ', &[utf8], Some("leader position 9 does not say so")),
            (
                b' ',
                &[marc8, utf8],
                Some("501 is in UTF-8, but the record is in MARC-8"),
            ),
            // The first value is not valid in MARC-8 either, so the record is not reported as MARC-8 with one field in UTF-8.
            (b' ', &[b"\xFF\xFF", utf8], None),
            (b' ', &[unimarc, b"Gr\xC9un"], None),
            (b' ', &[unimarc, utf8], Some("100 $a does not say so")),
        ] {
            let mut record = MarcRecord::default();
            record.leader.0[9] = coding;
            for (index, value) in values.iter().enumerate() {
                let tag = if *value == unimarc {
                    "100".to_owned()
                } else {
                    format!("50{index}")
                };
                let tag: &[u8; 3] = tag.as_bytes().try_into().expect("three");
                record.fields.push(Field::data(tag, "  ", [("a", *value)]));
            }
            let remarks = Form::Marc
                .write(&record, &mut Vec::new())
                .expect("it is short");
            let said = remarks.notes.join("\n");
            assert_eq!(said.is_empty(), told.is_none(), "{values:?}: {said}");
            assert!(said.contains(told.unwrap_or_default()), "{said}");
        }
    }
}
