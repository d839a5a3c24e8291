//! Feeds many thousands of damaged texts to every decoder and encoder. None of them may panic, and the offsets of
//! problems must be within the text. The mutations are seeded, so that a failure can be repeated; `Z3950_MUTATIONS=N`
//! multiplies their number.

use unicode_normalization::is_nfc;

use super::{
    Charset, Decoded, NonSorting, NormalForm, Options, Unencodable, choose, to_charset, to_utf8,
};
use crate::Field;
use crate::Leader;
use crate::MarcRecord;
use crate::random::{Random, rounds};

const MUTATIONS: usize = 150_000;

/// The texts to damage, in the library sets and in other sets.
const ORIGINALS: &[&[u8]] = &[
    b"Gr\xE8une H\xE8auser, caf\xE2e \xB5gean",
    b"\xEBt\xECsar, \xFAn\xFBg, \xE1\xF2a\xE2",
    b"\x1B(NnASTOQ]IJ\x1B)Q\xC0 \xD6\x1B(B and \x1B(S\x22aBG\x1B(B",
    b"\x1B(2`Aab\x1B(3GdeQ\x1B)4\xA1\xFD\xB2\x1B(B\x1B)!E",
    b"\x1B$1!0!!0!!y5o#v\x1B(B (\x1Bp2\x1Bs, \x1Bb3\x1Bs, \x1Bga\x1Bs) \x1B$)1\xA1\xB0\xA1",
    b"\x88Le \x89petit &#x2014; n\xCA  4, \xDDt\xDEs, \xC2\xC8U \xCE\xC2o",
    "Война и мир – 紅樓夢 – ἀγάπη – क्षि – 한국어 e\u{301}\u{323}".as_bytes(),
    b"\x8A\xBF\x8E\x9A \x81\x40 \xA4\xA2 \xB0\xA1 \x81\x30\x81\x30",
];

/// Octets with a special meaning in some set, for use in mutations.
const SPECIAL: &[u8] = &[
    0x1B, 0x1F, b'(', b')', b'$', b'!', b'1', b's', b'g', 0x20, 0x7F, 0x80, 0x88, 0xA0, 0xC2, 0xEB,
    0xEC, 0xFA, 0xFB, 0xDD, 0xDF, 0xFF, 0xF0, b'&',
];

#[test]
fn no_mutated_text_panics() {
    let charsets: Vec<_> = Charset::all().collect();
    let library = [Charset::Marc8, Charset::Iso5426, Charset::Utf8];
    let mut random = Random(0x5A39_5020_1900_0008);
    for round in 0..rounds(MUTATIONS) {
        let mut octets = random.pick(ORIGINALS).to_vec();
        for _ in 0..=random.below(5) {
            mutate(&mut random, &mut octets);
        }
        let charset = match round % 3 {
            0 => *random.pick(&charsets),
            _ => *random.pick(&library),
        };
        survives(charset, &octets);
        if round % 8 == 0 {
            survives_in_a_record(octets, charset);
        }
    }
}

fn survives(charset: Charset, octets: &[u8]) {
    let Decoded { text, problems } = charset.decode(octets);
    for problem in &problems {
        assert!(
            problem.offset <= octets.len(),
            "{problem}: {}",
            octets.escape_ascii()
        );
    }
    assert!(
        charset == Charset::Utf8 || is_nfc(&text),
        "{charset} {}",
        octets.escape_ascii()
    );
    let options = Options {
        form: Some(NormalForm::Nfd),
        non_sorting: NonSorting::Strip,
        character_references: true,
        ..Options::default()
    };
    let _ = charset.decode_with(octets, &options);
    let encoded = charset.encode_with(&text, Unencodable::Reference);
    // Text that was decoded without a problem must survive being encoded and decoded again, unless the encoder reports a problem.
    if problems.is_empty() && matches!(charset, Charset::Marc8 | Charset::Iso5426) {
        let again = charset.decode(&encoded.octets);
        let lossy = !encoded.problems.is_empty();
        assert!(
            lossy || again.text == text,
            "{charset} {} {text:?} {}",
            octets.escape_ascii(),
            encoded.octets.escape_ascii()
        );
    }
}

fn survives_in_a_record(octets: Vec<u8>, charset: Charset) {
    let leader = Leader::default();
    let fields = vec![
        Field::data(
            b"100",
            "  ",
            [("a", &b"19840619a1874    m  y0frey0103    ba"[..])],
        ),
        Field::control(b"200", octets),
    ];
    let record = MarcRecord { leader, fields };
    let _ = choose(&record, None).to_string();
    let converted = to_utf8(&record, &Options::default());
    assert!(
        converted
            .record
            .fields
            .iter()
            .all(|field| std::str::from_utf8(&field.body).is_ok())
    );
    for problem in &converted.problems {
        assert!(!problem.to_string().is_empty());
    }
    let _ = to_charset(&converted.record, charset, &Options::default());
}

fn mutate(random: &mut Random, octets: &mut Vec<u8>) {
    let place = random.below(octets.len());
    let octet = match random.below(2) {
        0 => *random.pick(SPECIAL),
        _ => u8::try_from(random.below(256)).expect("an octet"),
    };
    match random.below(5) {
        0 | 1 if !octets.is_empty() => octets[place] = octet,
        2 => octets.insert(place, octet),
        3 if !octets.is_empty() => drop(octets.remove(place)),
        4 => octets.truncate(place.max(4)),
        _ => {}
    }
}
