//! Tests with hand-written MARC-8: each set and escape sequence, marks, faults, and every entry of the tables in both
//! directions.

use super::marc8_table::SETS;
use super::{ANSEL, Working, eacc};
use crate::charset::{Charset, Options, ProblemKind, Unencodable};

/// Checks that octets are decoded to this text, and that the text is encoded to these octets.
fn check(octets: &[u8], text: &str) {
    read(octets, text);
    let written = Charset::Marc8.encode(text);
    assert_eq!(
        written.as_deref(),
        Ok(octets),
        "{text}: {}",
        octets.escape_ascii()
    );
}

/// Checks that octets are decoded to this text, although the text is encoded differently.
fn read(octets: &[u8], text: &str) {
    let decoded = Charset::Marc8.decode(octets);
    assert_eq!(decoded.text, text, "{}", octets.escape_ascii());
    assert_eq!(decoded.problems, vec![], "{}", octets.escape_ascii());
}

#[test]
fn latin() {
    check(b"", "");
    check(b"plain", "plain");
    check(b"caf\xE2e M\xE8uller \xB5gean", "café Müller ægean");
    check(b"\xA1od\xB2z, \xA3okovi\xE2c", "Łodøz, Đoković");
    // The encoder writes marks in the canonical order of Unicode: marks below the letter come before marks above it.
    check(b"\xF2\xE3a \xE2\xBC", "ậ ớ");
    read(b"\xE3\xF2a", "ậ");
    check(b"\xAC\xBC\xAD\xBD", "ƠơƯư");
    check(b"\xF1a \xC7 \xC8 \xA9 \xC4", "ą ß € ♭ ♯");
    check(b"\x88The \x89elements", "\u{98}The \u{9C}elements");
}

#[test]
fn double_marks() {
    check(b"\xEBt\xECsar", "t\u{361}sar");
    check(b"\xFAn\xFBg", "n\u{360}g");
    check(b"\xEBi\xEC\xE6u", "i\u{361}ŭ");
    check(b"(\xEBo)", "(o\u{FE20})");
    check(b"(\xECo \xFAo \xFBo)", "(o\u{FE21} o\u{FE22} o\u{FE23})");
}

#[test]
fn other_scripts() {
    check(b"\x1B(NwOJNA I MIR (\x1B(BMoskva)", "Война и мир (Moskva)");
    check(b"\x1B(Nj\x1B)Q\xE6\x1B(B\x1B)!E", "ЙІ");
    check(b"\x1B(SABD \x22ab\x1B(B", "ΑΒΓ άβ");
    check(b"\x1B(2yldm\x1B(B", "\u{5E9}\u{5DC}\u{5D4}\u{5DD}");
    check(b"\x1B(3cdGe\x1B(B", "\u{643}\u{644}\u{627}\u{645}");
    check(b"\x1B(3G\x1B)4\xA9\x1B(B\x1B)!E", "\u{627}\u{67E}");
    check(b"\x1B(2Aa\x1B(B", "\u{5D1}\u{5B8}");
}

#[test]
fn symbols() {
    check(b"H\x1Bb2\x1BsO", "H₂O");
    check(b"m\x1Bp2\x1Bs, \x1Bp10\x1Bs m", "m², ¹⁰ m");
    check(b"the \x1Bga\x1Bs, \x1Bgb\x1Bs", "the α, β");
}

#[test]
fn east_asian() {
    check(b"\x1B$1!0!\x1B(B (1) \x1B$1!0!\x1B(B", "一 (1) 一");
    read(b"\x1B$1!0! !0!\x1B(B", "一 一");
    read(b"\x1B$,1!0!\x1B,Bx", "一x");
    read(b"\x1B$)1\xA1\xB0\xA1x\x1B)!E\xB5", "一xæ");
    read(b"\x1B$1!# \x1B(B", "\u{3000}");
    check(b"\x1B$1!#!\x1B(B", "\u{3000}");
}

#[test]
fn other_ways_to_escape() {
    read(b"\x1B,NA\x1BsA", "аA");
    read(b"\x1B)N\xC1A", "аA");
    read(b"\x1B-N\xC1\x1B-!E\xB5", "аæ");
    read(b"\x1B(!E5", "æ");
    read(b"\x1B(NA", "а");
    read(b"a\nb\x7F", "a\nb\x7F");
}

#[test]
fn faults() {
    let check = |octets: &[u8], text: &str, offsets: &[usize]| {
        let decoded = Charset::Marc8.decode(octets);
        assert_eq!(decoded.text, text, "{}", octets.escape_ascii());
        let found: Vec<_> = decoded
            .problems
            .iter()
            .map(|problem| problem.offset)
            .collect();
        assert_eq!(found, offsets, "{}", octets.escape_ascii());
    };
    check(b"a\xFCb", "a\u{FFFD}b", &[1]);
    check(b"a\x80\xA0", "a\u{FFFD}\u{FFFD}", &[1, 2]);
    check(b"e\xE2", "e\u{A0}\u{301}", &[2]);
    check(b"a\x1BZb", "a\u{FFFD}Zb", &[1]);
    check(b"a\x1B", "a\u{FFFD}", &[1]);
    check(b"\x1B$1!0", "\u{FFFD}", &[3]);
    check(b"\x1B$1!0(!0!", "\u{FFFD}一", &[3]);
    check(b"\x1B$1!0\xE2!", "\u{FFFD}\u{FFFD}\u{301}", &[3, 6]);
}

#[test]
fn audit_c9_an_odd_eacc_code_is_one_fault_and_the_following_codes_stay_in_step() {
    let check = |octets: &[u8], text: &str, faults: &[&str]| {
        let decoded = Charset::Marc8.decode(octets);
        let found: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            (&*decoded.text, found),
            (text, faults.iter().map(ToString::to_string).collect()),
            "{}",
            octets.escape_ascii()
        );
    };
    check(
        b"\x1B$1! =\x1B(Bz",
        "\u{FFFD}z",
        &["no character 21 20 3D in EACC at octet 3"],
    );
    check(
        b"\x1B$1! =!0!\x1B(Bz",
        "\u{FFFD}一z",
        &["no character 21 20 3D in EACC at octet 3"],
    );
    check(
        b"\x1B$1! =!0! !0!\x1B(Bz",
        "\u{FFFD}一 一z",
        &["no character 21 20 3D in EACC at octet 3"],
    );
    check(
        b"\x1B$)1\xA1\xA0\xBD\xA1\xB0\xA1\x1B)!E",
        "\u{FFFD}一",
        &["no character A1 A0 BD in EACC at octet 4"],
    );
    // This text comes from pymarc's tests.
    check(
        b"a \x1B$1! =! @\x7F \x14\x7F \x19\x7F  \x7F!\"\x1B(B z",
        "a \u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD} z",
        &[
            "no character 21 20 3D in EACC at octet 5",
            "no character 21 20 40 in EACC at octet 8",
            "no character 7F 20 14 in EACC at octet 11",
            "no character 7F 20 19 in EACC at octet 14",
            "no character 7F 20 20 in EACC at octet 17",
            "no character 7F 21 22 in EACC at octet 20",
        ],
    );
    // In the first text, a code is cut short by a space; in the second, by the escape sequence at the end.
    check(
        b"\x1B$1! !0!\x1B(B",
        "\u{FFFD} 一",
        &["21 is not EACC at octet 3"],
    );
    check(
        b"\x1B$1!0! !0\x1B(B",
        "一 \u{FFFD}",
        &["21 30 is not EACC at octet 7"],
    );
    // A long run of invalid codes is decoded as quickly as valid text.
    let long = [b"\x1B$1".as_slice(), &b"! =".repeat(200_000)].concat();
    assert_eq!(Charset::Marc8.decode(&long).problems.len(), 200_000);
}

#[test]
fn characters_that_marc8_lacks() {
    let text = "एक – e\u{301}";
    let written = Charset::Marc8.encode_with(text, Unencodable::Reference);
    assert_eq!(&written.octets[..], b"&#x090F;&#x0915; &#x2013; \xE2e");
    let (character, set) = ('ए', "MARC-8");
    let kind = ProblemKind::Unencodable { character, set };
    assert_eq!(
        written.problems.first().map(|problem| &problem.kind),
        Some(&kind)
    );
    assert_eq!(written.problems.len(), 3);
    let options = Options {
        character_references: true,
        ..Options::default()
    };
    assert_eq!(
        Charset::Marc8.decode_with(&written.octets, &options).text,
        "एक – é"
    );
    let omitted = Charset::Marc8.encode_with(text, Unencodable::Omit);
    assert_eq!(&omitted.octets[..], b"  \xE2e");
    let error = Charset::Marc8.encode("–").expect_err("no dash");
    assert_eq!(error.to_string(), "no – (U+2013) in MARC-8 at octet 0");
}

#[test]
fn the_sets_are_whole() {
    let counts: Vec<_> = SETS
        .iter()
        .map(|set| {
            (
                set.final_octet,
                (0x21..=0x7E)
                    .filter(|octet| set.character(*octet).is_some())
                    .count(),
            )
        })
        .collect();
    let expected = [
        (b'B', 94),
        (b'E', 65),
        (b'N', 94),
        (b'Q', 42),
        (b'S', 73),
        (b'2', 78),
        (b'3', 83),
        (b'4', 90),
        (b'g', 3),
        (b'b', 14),
        (b'p', 14),
    ];
    assert_eq!(counts, expected);
}

/// Characters whose NFC form is a different character, so they do not round-trip.
const OTHER_IN_NFC: [char; 4] = ['\u{374}', '\u{37E}', '\u{387}', '\u{340}'];

#[test]
fn every_entry_comes_back() {
    for set in SETS {
        for octet in 0x21..=0x7E {
            let Some((character, mark)) = set.character(octet) else {
                continue;
            };
            if OTHER_IN_NFC.contains(&character) {
                continue;
            }
            let text = if mark {
                format!("x{character}")
            } else {
                character.to_string()
            };
            let octets = Charset::Marc8.encode(&text).expect("it is in the tables");
            let again = Charset::Marc8.decode(&octets);
            assert_eq!(
                again.text,
                Charset::Utf8.decode_with(text.as_bytes(), &nfc()).text,
                "{} {octet:02X}",
                set.name
            );
        }
        assert_eq!(
            Working::by_final(set.final_octet).map(Working::final_octet),
            Some(set.final_octet)
        );
    }
    for (character, code) in eacc::entries().filter(|(character, _)| *character != '\u{3013}') {
        let text = Charset::Utf8
            .decode_with(character.to_string().as_bytes(), &nfc())
            .text
            .into_owned();
        let Ok(octets) = Charset::Marc8.encode(&text) else {
            assert!(COMPATIBILITY.contains(&character), "{code:06X} {character}");
            continue;
        };
        assert_eq!(Charset::Marc8.decode(&octets).text, text, "{code:06X}");
    }
    assert_eq!(
        Working::by_final(ANSEL).map(Working::final_octet),
        Some(ANSEL)
    );
}

/// EACC characters whose NFC form is a unified ideograph that EACC does not have.
const COMPATIBILITY: [char; 0] = [];

fn nfc() -> Options {
    Options {
        form: Some(crate::charset::NormalForm::Nfc),
        ..Options::default()
    }
}

#[test]
fn audit_r_a5_marks_of_non_filing_words_in_seven_bits() {
    for (octets, text) in [
        (&b"\x1BHL'\x1BIAge d'or"[..], "\u{98}L'\u{9C}Age d'or"),
        (b"\x1BHThe \x1BI\x1B(NnA", "\u{98}The \u{9C}\u{41D}\u{430}"),
    ] {
        for charset in [Charset::Marc8, Charset::Iso5426] {
            if charset == Charset::Marc8 || !octets.contains(&b'(') {
                let decoded = charset.decode(octets);
                assert_eq!(decoded.text, text);
                assert_eq!(decoded.problems, vec![]);
            }
        }
    }
}
