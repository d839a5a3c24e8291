//! Converts records to another character set. Each subfield is converted separately, as MARC-8 and ISO 5426 require,
//! and the declared set is updated (MARC 21 leader/09; UNIMARC 100 $a). Fields that are the same in both sets are
//! shared, not copied.

use std::fmt;

use bytes::{Bytes, BytesMut};

use super::choose::{Choice, Reason, choose, unimarc_sets};
use super::{Charset, NonSorting, Options, Problem, ProblemKind};
use crate::Field;
use crate::Leader;
use crate::MarcRecord;
use crate::SUBFIELD_DELIMITER;
use crate::Tag;

/// A record that was converted to another character set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The converted record; its leader and UNIMARC 100 $a name the new set. The lengths in the leader are unchanged.
    pub record: MarcRecord,
    /// The set from which the record was converted, and the reason for choosing it.
    pub choice: Choice,
    /// The problems in the conversion, in the order of the fields; empty if everything was converted.
    pub problems: Vec<FieldProblem>,
}

impl Converted {
    /// Returns whether octets could not be decoded, so that their text is lost.
    pub fn is_loss(&self) -> bool {
        let mut problems = self.problems.iter();
        problems.any(|problem| problem.problem.kind.is_undecoded())
    }
}

/// A problem in the conversion of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldProblem {
    /// The tag of the field.
    pub tag: Tag,
    /// The position of the field in the record, counted from 1. It is 0 for the leader, whose tag is `LDR`.
    pub field: usize,
    /// The problem in the field. Its offset is counted from the start of the field's original body, which begins with
    /// the indicators.
    pub problem: Problem,
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field == 0 {
            write!(f, "leader: {}", self.problem)
        } else {
            write!(f, "field {} ({}): {}", self.field, self.tag, self.problem)
        }
    }
}

/// Converts a record to UTF-8 from the set that [`choose()`](super::choose()) finds, or that the options name.
///
/// Leader position 9 becomes `a` (MARC 21), or positions 26–29 of UNIMARC 100 $a become `50` and blanks. Octets of the leader that are not
/// printable ASCII are replaced by blanks and reported. If the record is already in UTF-8, all other valid octets are kept, unless the
/// options request a change.
pub fn to_utf8(record: &MarcRecord, options: &Options) -> Converted {
    let choice = choose(record, options.charset);
    let charset = choice.charset;
    let references = options.character_references && charset == Charset::Marc8;
    // Valid UTF-8 is kept unless the options ask for a normal form or for a change to non-sorting marks.
    let untouched = charset == Charset::Utf8
        && options.form.is_none()
        && options.non_sorting == NonSorting::Keep;
    // `choose` has already validated every field, so the fields are not validated again.
    let valid = untouched && choice.reason == Reason::ValidUtf8;
    let same = |octets: &[u8]| {
        valid
            || charset.keeps(octets) && !(references && octets.contains(&b'&'))
            || untouched && std::str::from_utf8(octets).is_ok()
    };
    let (fields, problems) = convert(record, same, |data, out, problems| {
        let mut decoded = charset.decode_with(data, options);
        out.extend_from_slice(decoded.text.as_bytes());
        problems.append(&mut decoded.problems);
    });
    let mut problems = problems;
    let leader = record.leader.printable();
    if leader != record.leader {
        problems.splice(..0, leader_problems(&record.leader));
    }
    let mut record = MarcRecord { leader, fields };
    problems.extend(mend_tags(&mut record.fields));
    declare(&mut record, Charset::Utf8);
    Converted {
        record,
        choice,
        problems,
    }
}

/// Returns a problem for each octet of a leader that is not a character of ISO 646, as ISO 2709 §4.3 requires. The
/// caller replaces these octets with blanks.
fn leader_problems(leader: &Leader) -> impl Iterator<Item = FieldProblem> {
    let octets = leader.0.into_iter().enumerate();
    let odd = octets.filter(|(_, octet)| !matches!(octet, b' '..=b'~'));
    odd.map(|(offset, octet)| {
        let (octets, set) = (vec![octet], "printable ASCII");
        FieldProblem {
            tag: Tag(*b"LDR"),
            field: 0,
            problem: Problem {
                offset,
                kind: ProblemKind::Malformed { octets, set },
            },
        }
    })
}

/// Replaces octets of tags that are not printable ASCII with question marks, and returns a problem for each such tag.
fn mend_tags(fields: &mut [Field]) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    for (index, field) in fields.iter_mut().enumerate() {
        if field.tag.0.iter().all(|octet| matches!(octet, b' '..=b'~')) {
            continue;
        }
        let found = field.tag;
        let octets = found.0.to_vec();
        field.tag.0 = found.0.map(|octet| {
            if matches!(octet, b' '..=b'~') {
                octet
            } else {
                b'?'
            }
        });
        let set = "a tag in printable ASCII";
        problems.push(FieldProblem {
            tag: found,
            field: index + 1,
            problem: Problem {
                offset: 0,
                kind: ProblemKind::Malformed { octets, set },
            },
        });
    }
    problems
}

/// Converts a record to any set. Characters that the set lacks are reported, and replaced according to the options.
///
/// A record that is not in UTF-8 is first converted to UTF-8. Problems in both conversions are reported; the offsets of
/// the second conversion are offsets in UTF-8. Leader position 9 becomes blank for any set except UTF-8. UNIMARC 100 $a
/// becomes `0103` for ISO 5426 and blank for every other set, because UNIMARC has no codes for these sets, so readers
/// of such a record have to know its set.
pub fn to_charset(record: &MarcRecord, charset: Charset, options: &Options) -> Converted {
    let mut converted = to_utf8(record, options);
    if charset == Charset::Utf8 {
        return converted;
    }
    let same = |octets: &[u8]| charset.keeps(octets);
    let (fields, mut problems) = convert(&converted.record, same, |data, out, problems| {
        let text = String::from_utf8_lossy(data);
        let mut encoded = charset.encode_with(&text, options.unencodable);
        out.extend_from_slice(&encoded.octets);
        problems.append(&mut encoded.problems);
    });
    converted.record.fields = fields;
    converted.problems.append(&mut problems);
    declare(&mut converted.record, charset);
    converted
}

/// Calls `element` to convert each data element of the fields, except fields for which `same` returns true. Fields
/// whose whole body is the same in both sets are shared, not copied.
fn convert(
    record: &MarcRecord,
    same: impl Fn(&[u8]) -> bool,
    mut element: impl FnMut(&[u8], &mut BytesMut, &mut Vec<Problem>),
) -> (Vec<Field>, Vec<FieldProblem>) {
    let code_length = record.leader.code_length();
    // All converted fields share one buffer, which saves allocations.
    let mut buffer = BytesMut::new();
    let mut of_element = Vec::new();
    let mut problems = Vec::new();
    let mut fields = Vec::with_capacity(record.fields.len());
    for (index, field) in record.fields.iter().enumerate() {
        if same(&field.body) {
            fields.push(field.clone());
            continue;
        }
        if buffer.capacity() < field.body.len() * 2 {
            buffer.reserve(record_octets(record.fields.get(index..).unwrap_or_default()) * 3 / 2);
        }
        let mut offset = 0;
        for (number, piece) in field
            .body
            .split(|octet| *octet == SUBFIELD_DELIMITER)
            .enumerate()
        {
            if number > 0 {
                buffer.extend_from_slice(&[SUBFIELD_DELIMITER]);
            }
            let code = code_of(piece, if number > 0 { code_length } else { 0 });
            buffer.extend_from_slice(code);
            let data = piece.get(code.len()..).unwrap_or_default();
            if same(data) {
                buffer.extend_from_slice(data);
            } else {
                element(data, &mut buffer, &mut of_element);
            }
            for mut problem in of_element.drain(..) {
                problem.offset += offset + code.len();
                let (tag, field) = (field.tag, index + 1);
                problems.push(FieldProblem {
                    tag,
                    field,
                    problem,
                });
            }
            offset += piece.len() + 1;
        }
        let (tag, body) = (field.tag, buffer.split().freeze());
        fields.push(Field { tag, body });
    }
    (fields, problems)
}

fn record_octets(fields: &[Field]) -> usize {
    fields.iter().map(|field| field.body.len()).sum()
}

/// Returns the subfield code before a data element, or nothing if the code is not ASCII. Such a code is converted with
/// the data.
fn code_of(piece: &[u8], code_length: usize) -> &[u8] {
    let code = piece.get(..code_length).unwrap_or_default();
    if code.is_ascii() { code } else { &[] }
}

/// Updates the record's declaration of its character set.
fn declare(record: &mut MarcRecord, charset: Charset) {
    let Some(unimarc) = unimarc_sets(record) else {
        let coding = if charset == Charset::Utf8 { b'a' } else { b' ' };
        if let Some(octet) = record.leader.0.get_mut(9) {
            *octet = coding;
        }
        return;
    };
    let is_declared = match charset {
        Charset::Utf8 => unimarc.sets.starts_with(b"50"),
        Charset::Iso5426 => unimarc.sets == *b"0103",
        _ => unimarc.sets == *b"    ",
    };
    let Some((place, room)) = unimarc.place.filter(|_| !is_declared) else {
        return;
    };
    let declared = match charset {
        Charset::Utf8 => b"50  ",
        Charset::Iso5426 if room >= 4 => b"0103",
        _ => b"    ",
    };
    if let Some(field) = record.fields.get_mut(unimarc.field) {
        let mut body = field.body.to_vec();
        let mut octets = body.iter_mut().skip(place).take(room);
        for (new, octet) in declared.iter().zip(octets.by_ref()) {
            *octet = *new;
        }
        // The following four octets may name additional sets, which no longer apply.
        for octet in octets.take(4).filter(|octet| octet.is_ascii_digit()) {
            *octet = b' ';
        }
        field.body = Bytes::from(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(coding: u8, fields: Vec<Field>) -> MarcRecord {
        let mut leader = Leader::default();
        leader.0[9] = coding;
        MarcRecord { leader, fields }
    }

    #[test]
    fn marc8_to_utf8_and_back() {
        let title: &[u8] = b"10\x1F6880-01\x1FaGr\xE8un /\x1Fc\x1B(NnA";
        let source = record(
            b' ',
            vec![Field::control(b"001", "7"), Field::control(b"245", title)],
        );
        let converted = to_utf8(&source, &Options::default());
        assert_eq!(converted.record.leader.character_coding(), b'a');
        assert_eq!(converted.choice.charset, Charset::Marc8);
        assert_eq!(
            converted.record.fields[1].body,
            "10\x1F6880-01\x1FaGrün /\x1FcНа"
        );
        assert_eq!(converted.problems, vec![]);
        let back = to_charset(&converted.record, Charset::Marc8, &Options::default());
        assert_eq!(back.record.leader.character_coding(), b' ');
        assert_eq!(back.record.fields[1].body, [title, b"\x1B(B"].concat());
        assert_eq!(back.choice.reason, Reason::ValidUtf8);
    }

    #[test]
    fn unimarc_declares_its_sets() {
        let processing = "19840619a1874    m  y0frey0103    ba";
        let title: &[u8] = b"1 \x1Fa\x88La \x89Litt\xC2erature";
        let source = record(
            b' ',
            vec![
                Field::data(b"100", "  ", [("a", processing)]),
                Field::control(b"200", title),
            ],
        );
        let options = Options {
            non_sorting: NonSorting::Strip,
            ..Options::default()
        };
        let converted = to_utf8(&source, &options);
        assert_eq!(converted.record.leader.character_coding(), b' ');
        assert_eq!(
            converted.record.fields[0].subfield("a"),
            Some(&b"19840619a1874    m  y0frey50      ba"[..])
        );
        assert_eq!(converted.record.fields[1].body, "1 \x1FaLa Littérature");
        let kept = to_utf8(&source, &Options::default()).record;
        let back = to_charset(&kept, Charset::Iso5426, &Options::default());
        assert_eq!(back.record, source);
    }

    #[test]
    fn unimarc_never_declares_a_wrong_set() {
        let latin2 = Charset::by_name("iso-8859-2").expect("a known name");
        for (before, target, after) in [
            ("y0frey50      ba", Charset::Marc8, "y0frey        ba"),
            ("y0frey50      ba", Charset::Latin1, "y0frey        ba"),
            ("y0frey50      ba", latin2, "y0frey        ba"),
            ("y0frey50      ba", Charset::Iso5426, "y0frey0103    ba"),
            ("y0frey50      ba", Charset::Utf8, "y0frey50      ba"),
            // The first three of these records declare additional sets; the fourth has only spaces in place of its sets.
            ("y0frey01030205ba", Charset::Utf8, "y0frey50      ba"),
            ("y0frey01030205ba", Charset::Iso5426, "y0frey0103    ba"),
            ("y0frey01030205ba", Charset::Latin1, "y0frey        ba"),
            ("y0frey        ba", Charset::Marc8, "y0frey        ba"),
            // The field is too short for additional sets.
            ("y0frey0103", Charset::Utf8, "y0frey50  "),
        ] {
            let date = "19840619a1874    m  ";
            let source = record(
                b' ',
                vec![Field::data(
                    b"100",
                    "  ",
                    [("a", format!("{date}{before}")), ("b", "0103".to_owned())],
                )],
            );
            let converted = to_charset(&source, target, &Options::default()).record;
            let expected = Field::data(
                b"100",
                "  ",
                [("a", format!("{date}{after}")), ("b", "0103".to_owned())],
            );
            assert_eq!(converted.fields, [expected], "{before} in {target}");
        }
        // An authority record declares its sets in positions 13-16.
        let mut source = record(
            b' ',
            vec![Field::data(
                b"100",
                "  ",
                [("a", "19990101afrey50      ba0")],
            )],
        );
        source.leader.0[6] = b'x';
        let converted = to_charset(&source, Charset::Latin1, &Options::default()).record;
        let expected = Field::data(b"100", "  ", [("a", "19990101afrey        ba0")]);
        assert_eq!(converted.fields, [expected]);
    }

    #[test]
    fn audit_r_y1_correct_values_are_not_overwritten() {
        let title = Field::data(b"200", "1 ", [("a", "Littérature")]);
        for (kind, before, after) in [
            // The data ends before or within the positions for character sets, and must not become longer.
            (b'a', "19840619a18741875", "19840619a18741875"),
            (b'a', "19840619d18741875km y0fr", "19840619d18741875km y0fr"),
            (
                b'a',
                "19840619d18741875km y0frey0",
                "19840619d18741875km y0frey0",
            ),
            (
                b'a',
                "19840619d18741875km y0frey01",
                "19840619d18741875km y0frey50",
            ),
            (
                b'a',
                "19840619d18741875km y0frey010",
                "19840619d18741875km y0frey50 ",
            ),
            (
                b'a',
                "19840619d18741875km y0frey0103",
                "19840619d18741875km y0frey50  ",
            ),
            // After the first two sets, octets such as `----` do not name additional sets, so they are kept. Digits do, so
            // they are removed.
            (
                b'a',
                "19840619d18741875km y0frey50  ----ba",
                "19840619d18741875km y0frey50  ----ba",
            ),
            (
                b'a',
                "19840619d18741875km y0frey0103----ba",
                "19840619d18741875km y0frey50  ----ba",
            ),
            (
                b'a',
                "19840619d18741875km y0frey50||||||ba",
                "19840619d18741875km y0frey50||||||ba",
            ),
            (
                b'a',
                "19840619d18741875km y0frey01030205ba",
                "19840619d18741875km y0frey50      ba",
            ),
            (b'x', "19990101afrey50  ----ba0", "19990101afrey50  ----ba0"),
            (b'x', "19990101afrey0103----ba0", "19990101afrey50  ----ba0"),
            (b'x', "19990101afrey01", "19990101afrey50"),
        ] {
            let of = |data: &str| {
                let processing = Field::data(b"100", "  ", [("a", data)]);
                let mut record = record(b' ', vec![processing, title.clone()]);
                record.leader.0[6] = kind;
                record
            };
            let converted = to_utf8(&of(before), &Options::default());
            assert_eq!(converted.record, of(after), "{before}");
        }
    }

    #[test]
    fn problems_name_field_and_offset() {
        let source = record(
            b'a',
            vec![
                Field::control(b"001", "7"),
                Field::data(b"500", "  ", [("a", &b"fine"[..]), ("b", b"caf\xE9")]),
            ],
        );
        let converted = to_utf8(&source, &Options::default());
        let [problem] = &converted.problems[..] else {
            panic!("{:?}", converted.problems)
        };
        assert_eq!(
            problem.to_string(),
            "field 2 (500): E9 is not UTF-8 at octet 13"
        );
        assert_eq!(source.fields[1].body[13], 0xE9);
        assert_eq!(
            converted.record.fields[1].body,
            "  \x1Fafine\x1Fbcaf\u{FFFD}"
        );
    }

    #[test]
    fn characters_a_set_lacks_are_replaced_and_reported() {
        let source = record(
            b'a',
            vec![Field::data(b"245", "10", [("a", "žluťoučký – kůň")])],
        );
        let latin2 = Charset::by_name("iso-8859-2").expect("a known name");
        let converted = to_charset(&source, latin2, &Options::default());
        assert_eq!(
            &converted.record.fields[0].body[..],
            b"10\x1Fa\xBElu\xBBou\xE8k\xFD ? k\xF9\xF2"
        );
        let kinds: Vec<_> = converted
            .problems
            .iter()
            .map(|problem| &problem.problem.kind)
            .collect();
        let (character, set) = ('–', "ISO-8859-2");
        assert_eq!(kinds, [&ProblemKind::Unencodable { character, set }]);
    }
}
