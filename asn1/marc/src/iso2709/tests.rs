//! Tests with hand-written valid and damaged records, and tests that the reader reads what the writer wrote.

use proptest::prelude::*;

use super::*;
use crate::record::Field;

/// A record of 77 octets, with the fields 001 and 245. The base address is 49, and the fields are at 49 and 56.
const SOUND: &str = "00077nam a2200049   4500001000700000245002000007\x1E\
                     pg1342\x1E10\x1FaEmma /\x1FcAusten.\x1E\x1D";

fn octets(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let parsed = parse(&octets(text)).expect(text);
    let field = |field: &Field| format!("{} {}", field.tag, field.body.escape_ascii());
    let fields = parsed.record.fields.iter().map(field).collect();
    (
        fields,
        parsed.repairs.iter().map(Repair::to_string).collect(),
    )
}

const BOTH: [&str; 2] = ["001 pg1342", "245 10\\x1faEmma /\\x1fcAusten."];

fn check(text: &str, fields: &[&str], repairs: &[&str]) {
    assert_eq!(read(text), (owned(fields), owned(repairs)), "{text:?}");
    let strict = parse_strict(&octets(text))
        .map(|_| ())
        .map_err(|e| e.to_string());
    let refusal = repairs
        .first()
        .map(|repair| format!("damaged record: {repair}"));
    assert_eq!(strict, refusal.map_or(Ok(()), Err), "{text:?}");
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_record_explained_by_leader_and_directory_is_whole() {
    assert!(is_whole(SOUND.as_bytes()));
    for end in 0..SOUND.len() {
        assert!(!is_whole(&SOUND.as_bytes()[..end]), "{end}");
    }
    let one_more = format!("{SOUND}x");
    for text in [&one_more, "00026nam a2200025   4500\x1E\x1D"] {
        assert!(!is_whole(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn sound_records() {
    check(SOUND, &BOTH, &[]);
    check(&format!("{SOUND}\r\n"), &BOTH, &[]);
    check("00026nam a2200025   4500\x1E\x1D", &[], &[]);
    // The directory lists the fields in an order that differs from the order of their octets.
    check(
        "00057nam a2200049   4500002000300003001000300000\x1Eab\x1Ecd\x1E\x1D",
        &["002 cd", "001 ab"],
        &["record length 57 instead of 56 (octet 0)"],
    );
    // The entry map gives 3 digits to the length, 4 to the start, and 1 to the implementation.
    check(
        "00054nam a2200047   3410FMT0030000-CAT0030003-\x1EBK\x1Ecd\x1E\x1D",
        &["FMT BK", "CAT cd"],
        &[],
    );
}

#[test]
fn wrong_lengths_and_addresses() {
    let with = |from: &str, to: &str| SOUND.replacen(from, to, 1);
    check(
        &with("00077", "00076"),
        &BOTH,
        &["record length 76 instead of 77 (octet 0)"],
    );
    check(
        &with("00077", "99999"),
        &BOTH,
        &["record length 99999 instead of 77 (octet 0)"],
    );
    check(
        &with("00077", "abcde"),
        &BOTH,
        &["record length is not a number; it should be 77 (octet 0)"],
    );
    check(
        &with("00049", "00048"),
        &BOTH,
        &["base address 48 instead of 49 (octet 12)"],
    );
    check(
        &with("00049", "99999"),
        &BOTH,
        &["base address 99999 instead of 49 (octet 12)"],
    );
    check(
        &with("4500", "5400"),
        &BOTH,
        &["leader position 20 is not usable (octet 20)"],
    );
    check(
        &with("4500", "    "),
        &BOTH,
        &[
            "leader position 22 is not usable (octet 22)",
            "leader position 20 is not usable (octet 20)",
        ],
    );
    check(
        &with("4500", "45  "),
        &BOTH,
        &["leader position 22 is not usable (octet 22)"],
    );
    check(
        &with("a22", "a  "),
        &BOTH,
        &[
            "leader position 10 is not usable (octet 10)",
            "leader position 11 is not usable (octet 11)",
        ],
    );
    check(
        &format!("{SOUND}xyz"),
        &BOTH,
        &["3 octets after the record (octet 77)"],
    );
}

/// Reads a record that has these subfields and whose leader states this code length. Returns the codes of the second
/// field, and the repairs.
fn codes(position_11: &str, subfields: &str) -> (Vec<String>, Vec<String>) {
    let mut record = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "x"),
            Field::control(b"245", format!("10{}", subfields.replace('$', "\x1F"))),
        ],
    };
    record.leader.0[11] = position_11.as_bytes()[0];
    let mut octets = encode(&record).expect("short");
    // `encode` writes the actual length of the codes, so the stated length is put back.
    octets[11] = record.leader.0[11];
    let parsed = parse(&octets.into()).expect("a record");
    let record = parsed.record;
    let subfields = record.fields[1].subfields_with(record.leader.code_length());
    (
        subfields
            .map(|subfield| subfield.code.escape_ascii().to_string())
            .collect(),
        parsed.repairs.iter().map(Repair::to_string).collect(),
    )
}

#[test]
fn a_code_length_that_the_subfields_do_not_have() {
    let wrong = "leader position 11 is not usable (octet 11)";
    for (position_11, subfields, expected, repairs) in [
        (
            "3",
            "$aBotanical$b(history)$c 1800",
            &["a", "b", "c"][..],
            &[wrong][..],
        ),
        ("3", "$aWar and peace$cby Tolstoy", &["a", "c"], &[wrong]),
        ("9", "$aBotanical$bh", &["a", "b"], &[wrong]),
        // These code lengths are correct, or nothing in the subfields shows that they are wrong.
        ("3", "$aaBotanical$abHistory$a1x", &["aa", "ab", "a1"], &[]),
        ("3", "$AABotanical$AB", &["AA", "AB"], &[]),
        ("3", "", &[], &[]),
        ("2", "$aBotanical$b(", &["a", "b"], &[]),
        ("1", "$aBotanical", &["a"], &[]),
    ] {
        assert_eq!(
            codes(position_11, subfields),
            (owned(expected), owned(repairs)),
            "{position_11} {subfields}"
        );
    }
}

#[test]
fn directories_that_lie() {
    let with = |from: &str, to: &str| SOUND.replacen(from, to, 1);
    let lies_001 = "directory entry 001 does not point to a field (octet 24)";
    let lies_245 = "directory entry 245 does not point to a field (octet 36)";
    check(&with("002000007", "001900007"), &BOTH, &[lies_245]);
    check(&with("002000007", "002100009"), &BOTH, &[lies_245]);
    check(&with("002000007", "999999999"), &BOTH, &[lies_245]);
    check(&with("002000007", "000000007"), &BOTH, &[lies_245]);
    check(&with("002000007", "0021ABCDE"), &BOTH, &[lies_245]);
    check(&with("002000007", "000700000"), &BOTH, &[lies_245]);
    check(&with("000700000", "002700000"), &BOTH, &[lies_001]);
    // The lengths count characters instead of octets.
    check(
        "00060nam a2200049   4500001000300000245000400003\x1Eéé\x1E10éa\x1E\x1D",
        &["001 \\xc3\\xa9\\xc3\\xa9", "245 10\\xc3\\xa9a"],
        &[
            "record length 60 instead of 61 (octet 0)",
            lies_001,
            lies_245,
        ],
    );
    // In the first record a field has no entry; in the second record an entry has no field.
    check(
        "00060nam a2200037   4500001000300000\x1Eab\x1Estray\x1E\x1D",
        &["001 ab"],
        &[
            "record length 60 instead of 47 (octet 0)",
            "5 octets of a field that no directory entry names (octet 40)",
        ],
    );
    check(
        "00053nam a2200049   4500001000300000245000400003\x1Eab\x1E\x1D",
        &["001 ab"],
        &["no field for directory entry 245 (octet 36)"],
    );
    // The directory is cut off within its last entry.
    check(
        "00047nam a2200043   4500001000300000245000\x1Eab\x1E\x1D",
        &["001 ab"],
        &["6 octets at the end of the directory are not an entry (octet 36)"],
    );
}

#[test]
fn missing_terminators() {
    let with = |from: &str, to: &str| SOUND.replacen(from, to, 1);
    // The record terminator is cut off, or overwritten by another octet.
    check(&SOUND[..76], &BOTH, &["no record terminator (octet 76)"]);
    check(
        &with("\x1D", "x"),
        &BOTH,
        &[
            "no record terminator (octet 77)",
            "1 octets of a field that no directory entry names (octet 76)",
        ],
    );
    // The terminator of the last field or of an inner field is missing.
    check(
        &with("Austen.\x1E", "Austen."),
        &BOTH,
        &[
            "record length 77 instead of 76 (octet 0)",
            "directory entry 245 does not point to a field (octet 36)",
            "no field terminator after field 245 (octet 75)",
        ],
    );
    check(
        &with("1342\x1E", "1342 "),
        &BOTH,
        &["no field terminator after field 001 (octet 55)"],
    );
    // The terminator of the directory is overwritten or lost.
    check(
        &with("7\x1E", "7 "),
        &BOTH,
        &["no field terminator after the directory (octet 48)"],
    );
    check(
        &with("7\x1E", "7"),
        &BOTH,
        &[
            "record length 77 instead of 76 (octet 0)",
            "no field terminator after the directory (octet 48)",
            "base address 49 instead of 48 (octet 12)",
        ],
    );
    check(
        &with("7\x1E", "7").replacen("00049", "     ", 1),
        &BOTH,
        &[
            "record length 77 instead of 76 (octet 0)",
            "no field terminator after the directory (octet 48)",
            "base address is not a number; it should be 48 (octet 12)",
        ],
    );
}

#[test]
fn no_record_at_all() {
    let refused = |text: &str| parse(&octets(text)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused(""), "0 octets are too few for a leader of 24");
    assert_eq!(refused("00077"), "5 octets are too few for a leader of 24");
    assert_eq!(
        refused(&SOUND[..23]),
        "23 octets are too few for a leader of 24"
    );
    assert_eq!(
        refused(&SOUND[..24]),
        "no field terminator after the leader"
    );
    assert_eq!(
        refused(&SOUND[..40]),
        "no field terminator after the leader"
    );
    assert_eq!(
        refused(&"x".repeat(500)),
        "no field terminator after the leader"
    );
}

#[test]
fn writing() {
    let record = parse(&octets(&SOUND.replacen("00049", "99999", 1)))
        .expect("read")
        .record;
    assert_eq!(encode(&record).as_deref(), Ok(SOUND.as_bytes()));

    let refused = |record: MarcRecord| encode(&record).unwrap_err().to_string();
    let of = |fields: Vec<Field>| MarcRecord {
        leader: Leader::default(),
        fields,
    };
    let field = |length: usize| Field::control(b"500", vec![b'x'; length]);
    assert!(encode(&of(vec![field(9_998)])).is_ok());
    assert_eq!(
        refused(of(vec![field(9_999)])),
        "field 500 has 10000 octets, ISO 2709 allows 9999"
    );
    // Ten fields of the maximum length do not fit: 24 + 10 × 12 + 1 + 10 × 9,999 + 1 octets. After nine of them, the tenth field
    // may have 9,861 octets.
    let long = |last| (0..9).map(|_| field(9_998)).chain([field(last)]).collect();
    assert_eq!(
        encode(&of(long(9_861))).map(|octets| octets.len()),
        Ok(99_999)
    );
    assert_eq!(
        refused(of(long(9_862))),
        "the record has 100000 octets, ISO 2709 allows 99999"
    );
    let cut = |body: &'static str| refused(of(vec![Field::control(b"500", body)]));
    assert_eq!(cut("a\x1Eb"), "a separator octet inside field 500");
    assert_eq!(cut("a\x1Db"), "a separator octet inside field 500");
    let odd_tag = of(vec![Field::control(b"5\x1F0", "")]);
    assert_eq!(refused(odd_tag), "a separator octet inside field 5\x1F0");
    let leader = Leader(*b"00000nam \x1D2200000   4500");
    let odd_leader = MarcRecord {
        leader,
        fields: vec![],
    };
    assert_eq!(refused(odd_leader), "a separator octet inside the leader");
}

proptest! {
    #[test]
    fn written_records_are_read_back_without_repairs(
        fields in proptest::collection::vec((any::<[u8; 3]>(), proptest::collection::vec(prop_oneof![0u8..0x1D, 0x1Fu8..], 0..60)), 0..20)
    ) {
        let field = |(tag, body): (_, Vec<u8>)| Field::control(&tag, body);
        let record = MarcRecord {
            leader: Leader::default(),
            fields: fields.into_iter().map(field).collect(),
        };
        if let Ok(written) = encode(&record) {
            let written = Bytes::from(written);
            let read = parse(&written).expect("written by us");
            prop_assert_eq!(&read.repairs, &vec![]);
            prop_assert_eq!(&read.record.fields, &record.fields);
            prop_assert_eq!(encode(&read.record), Ok(written.to_vec()));
        }
    }
}

#[test]
fn omitted_octets_are_a_loss_and_others_a_guess() {
    let whole = "00077nam a2200049   4500001000700000245002000007\x1E\
                 pg1342\x1E10\x1FaEmma /\x1FcAusten.\x1E\x1D";
    for (octets, is_loss, is_guess) in [
        (whole.to_owned(), false, false),
        // If a length or a digit of the leader is wrong, the record is still read exactly.
        (whole.replacen("00077", "00066", 1), false, false),
        (whole.replacen("00049", "00094", 1), false, false),
        (whole.replacen("4500", "45x0", 1), false, false),
        // The fault is in an entry, in a terminator or in the octets of a field, so the content of the field is a guess.
        (whole.replacen("245002", "245009", 1), false, true),
        (whole.replacen("7\x1E", "7", 1), false, true),
        (whole.replacen("pg1342\x1E", "pg1342x", 1), false, true),
        (whole.replacen("Emma", "Ema", 1), false, true),
        (whole.replacen("Emma", "Emmma", 1), false, true),
        // Some octets are left out or missing, so data is lost.
        (
            whole.replacen("00007\x1E", "0000724500\x1E", 1),
            true,
            false,
        ),
        (whole.replacen("245002000007", "2450", 1), true, false),
        (whole.replacen("pg", "p\x1Eg", 1), true, false),
        (
            whole.replacen("4500001", "45000010007000010010", 1),
            true,
            false,
        ),
        (whole.replace('\x1D', ""), true, false),
        (format!("{whole}and more"), true, false),
    ] {
        let parsed = parse(&octets.clone().into()).expect("a record");
        let repairs = &parsed.repairs;
        assert_eq!(
            repairs.iter().any(|repair| repair.kind.is_loss()),
            is_loss,
            "{octets:?}: {repairs:?}"
        );
        assert!(
            is_loss || repairs.iter().any(|repair| repair.kind.is_guess()) == is_guess,
            "{octets:?}: {repairs:?}"
        );
    }
}

/// Returns a record as written by programs that do not check whether numbers fit.
fn unchecked(fields: &[(&str, usize)]) -> Vec<u8> {
    let (mut directory, mut body) = (String::new(), String::new());
    for (tag, length) in fields {
        let start = body.len();
        body.push_str(&format!("  \x1Fa{tag}{}\x1E", "x".repeat(length - 8)));
        directory.push_str(&format!("{tag}{length:04}{start:05}"));
    }
    let base = 24 + directory.len() + 1;
    let length = base + body.len() + 1;
    format!("{length:05}nam a22{base:05} a 4500{directory}\x1E{body}\x1D").into_bytes()
}

#[test]
fn audit_r_a8_numbers_without_room() {
    for (fields, is_long) in [
        (&[("245", 100), ("500", 9_999), ("650", 50)][..], false),
        (
            &[("245", 100), ("500", 10_000), ("520", 12_345), ("650", 50)],
            true,
        ),
        (
            &[("245", 100), ("500", 100_500), ("520", 12_345), ("650", 50)],
            true,
        ),
    ] {
        let octets = unchecked(fields);
        check_unchecked(&octets, fields, is_long);
        // Two of these unchecked records in succession must be split correctly.
        let two = [&octets[..], &octets].concat();
        let all: Vec<Bytes> = split(two.into()).collect();
        assert_eq!(all.len(), 2);
        all.iter()
            .for_each(|octets| check_unchecked(octets, fields, is_long));
    }
    let many: Vec<(&str, usize)> = [("500", 9_000); 30].into();
    check_unchecked(&unchecked(&many), &many, true);
    let octets = unchecked(&[("245", 100), ("500", 10_000), ("650", 50)]);
    let text = String::from_utf8(octets).expect("ASCII");
    let parsed = parse(&text.replacen("00100", "00101", 1).into()).expect("a record");
    let kinds = parsed.repairs.iter().map(|repair| repair.kind);
    assert!(
        kinds
            .into_iter()
            .all(|kind| kind != RepairKind::LongEntries)
    );
}

fn check_unchecked(octets: &[u8], fields: &[(&str, usize)], is_long: bool) {
    let parsed = parse(&octets.to_vec().into()).expect("a record");
    let found = parsed.record.fields.iter();
    let found: Vec<(String, usize)> = found
        .map(|field| (field.tag.to_string(), field.body.len() + 1))
        .collect();
    let expected = fields
        .iter()
        .map(|(tag, length)| ((*tag).to_owned(), *length));
    assert_eq!(found, expected.collect::<Vec<_>>());
    for field in &parsed.record.fields {
        let text = field.subfield("a").expect("a subfield");
        assert!(text.starts_with(&field.tag.0), "{}", field.tag);
    }
    let mut kinds = parsed.repairs.iter().map(|repair| repair.kind);
    assert!(!kinds.any(|kind| kind.is_loss()), "{:?}", parsed.repairs);
    let mut kinds = parsed.repairs.iter().map(|repair| repair.kind);
    assert_eq!(kinds.any(|kind| kind == RepairKind::LongEntries), is_long);
}
