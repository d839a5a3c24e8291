//! Reads text forms in character sets other than UTF-8. The parsers of XML, JSON and MARCMaker text require UTF-8, so each octet
//! that is not UTF-8 is converted to a private-use character for the parser, and back to the same octet in the record. The
//! character set is determined for the record as a whole, by the rules of [`crate::charset`].

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

use crate::record::MarcRecord;
use crate::remarks::Remarks;

/// The code point of the character that represents octet 0. An octet that is not valid UTF-8, which is always 0x80 or above, is represented
/// by the character at this code point plus the value of the octet.
const BASE: u32 = 0x10_FF00;
/// The octets with which each of these characters begins in UTF-8.
const BEGIN: [u8; 2] = [0xF4, 0x8F];

/// Returns the text of a record, and whether it has characters that represent octets.
pub(super) fn text<'a>(octets: &'a Bytes, remarks: &mut Remarks) -> (Cow<'a, str>, bool) {
    let error = match std::str::from_utf8(octets) {
        Ok(text) => return (text.into(), false),
        Err(error) => error,
    };
    remarks.note(|| format!("not UTF-8 (octet {})", error.valid_up_to()));
    let mut text = String::with_capacity(octets.len() + octets.len() / 8);
    for chunk in octets.utf8_chunks() {
        text.push_str(chunk.valid());
        let stand_in = |octet: &u8| char::from_u32(BASE + u32::from(*octet));
        text.extend(chunk.invalid().iter().filter_map(stand_in));
    }
    (text.into(), true)
}

/// Replaces each character that represents an octet with that octet.
pub(super) fn restored(mut record: MarcRecord, has_octets: bool) -> MarcRecord {
    if has_octets {
        for field in &mut record.fields {
            if let Some(body) = octets_of(&field.body) {
                field.body = body;
            }
        }
    }
    record
}

/// Returns the body with octets in place of the characters that represent them; `None` if there are no such
/// characters.
fn octets_of(body: &[u8]) -> Option<Bytes> {
    body.windows(BEGIN.len()).find(|pair| *pair == BEGIN)?;
    let mut octets = BytesMut::with_capacity(body.len());
    let mut rest = body;
    while let Some((&first, after)) = rest.split_first() {
        rest = match rest.split_first_chunk::<4>() {
            Some(([0xF4, 0x8F, third @ (0xBE | 0xBF), last], after)) => {
                octets.extend_from_slice(&[(third & 3) << 6 | (last & 0x3F)]);
                after
            }
            _ => {
                octets.extend_from_slice(&[first]);
                after
            }
        };
    }
    Some(octets.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::charset::{Charset, Options, to_utf8};
    use crate::stream::{InputForm, RecordReader};

    #[test]
    fn every_octet_comes_back() {
        let octets: Vec<u8> = (0x20..=0xFF).filter(|octet| *octet != 0x7F).collect();
        let input = octets.clone().into();
        let (text, has_octets) = text(&input, &mut Remarks::default());
        let record = MarcRecord {
            fields: vec![Field::control(b"001", text.into_owned())],
            ..MarcRecord::default()
        };
        assert_eq!(restored(record, has_octets).fields[0].body, octets);
    }

    fn check(form: InputForm, text: &[u8], coding: u8, named: Option<Charset>, title: &str) {
        let place = text
            .windows(8)
            .position(|part| part == b"00000nam")
            .expect("a leader");
        let mut text = text.to_vec();
        text[place + 9] = coding;
        let found = RecordReader::new(&text[..], form).next().expect("a record");
        let record = found.expect("in memory").record.expect("a record");
        let options = Options {
            charset: named,
            ..Options::default()
        };
        let converted = to_utf8(&record, &options);
        let field = &converted.record.fields[0];
        let shown = field.subfield("a").map(String::from_utf8_lossy);
        assert_eq!(shown.as_deref(), Some(title), "{form:?} {named:?}");
    }

    #[test]
    fn audit_r_a3_text_forms_in_other_character_sets() {
        let latin1 = b"caf\xE9";
        let marc8 = b"caf\xE2e";
        let forms: [(InputForm, &str); 4] = [
            (
                InputForm::Mrk,
                "=LDR  00000nam a2200000   4500\n=245  10$a@\n",
            ),
            (InputForm::Line, "00000nam a2200000   4500\n245 10 $a @\n"),
            (
                InputForm::MarcXml,
                "<record><leader>00000nam a2200000   4500</leader>\
                 <datafield tag='245' ind1='1' ind2='0'><subfield code='a'>@</subfield></datafield></record>",
            ),
            (
                InputForm::Json,
                "{\"leader\":\"00000nam a2200000   4500\",\"fields\":[\
                 {\"245\":{\"ind1\":\"1\",\"ind2\":\"0\",\"subfields\":[{\"a\":\"@\"}]}}]}",
            ),
        ];
        for (form, template) in forms {
            let with = |octets: &[u8]| -> Vec<u8> {
                let (before, after) = template.split_once('@').expect("a place");
                [before.as_bytes(), octets, after.as_bytes()].concat()
            };
            check(form, &with(latin1), b' ', Some(Charset::Latin1), "café");
            check(form, &with(latin1), b'a', Some(Charset::Latin1), "café");
            check(form, &with(marc8), b' ', None, "café");
            check(form, &with(marc8), b'a', Some(Charset::Marc8), "café");
            check(form, &with(latin1), b'a', None, "caf\u{FFFD}");
            check(form, &with("café".as_bytes()), b' ', None, "café");
        }
    }
}
