//! Feeds hundreds of thousands of damaged records to every reader and writer. None of them may panic, and all data that
//! was read must be kept. The mutations are seeded, so that a failure can be repeated; `Z3950_MUTATIONS=N` multiplies
//! their number.

use std::thread;

use bytes::Bytes;

use super::charset::{Options, to_utf8};
use super::crosswalk::sutrs::sutrs_text;
use super::{
    Field, Leader, MarcRecord, RECORD_TERMINATOR, corpus, iso2709, marcjson, marcline, mrk,
};
use crate::random::{Random, rounds};

const MUTATIONS: usize = 100_000;
/// The seeds of the random numbers, one for each thread.
const SEEDS: [u64; 2] = [0x5A39_5020_2709_1968, 0x5A39_5020_2709_8619];

/// Damages the records in several threads, because one thread would take longer than all other tests of this crate.
#[test]
fn no_mutated_record_panics() {
    let originals = &originals();
    thread::scope(|scope| {
        for seed in SEEDS {
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..rounds(MUTATIONS) / SEEDS.len() {
                    let mut octets = random.pick(originals).to_vec();
                    for _ in 0..=random.below(6) {
                        mutate(&mut random, &mut octets);
                    }
                    survives(Bytes::from(octets));
                }
            });
        }
    });
}

/// Reads the octets as a record, writes it in every form, and checks that all data that the form can hold comes back.
fn survives(octets: Bytes) {
    for piece in iso2709::split(octets.clone()).chain([octets.clone()]) {
        let _ = iso2709::parse_strict(&piece);
        let is_whole = iso2709::is_whole(&piece);
        let Ok(parsed) = iso2709::parse(&piece) else {
            assert!(!is_whole, "{}", piece.escape_ascii());
            continue;
        };
        let mut repairs = parsed.repairs.iter();
        let is_damaged =
            parsed.record.fields.is_empty() || repairs.any(|repair| repair.kind.is_loss());
        assert!(!(is_whole && is_damaged), "{}", piece.escape_ascii());
        for repair in &parsed.repairs {
            assert!(
                repair.offset <= piece.len(),
                "{repair} {}",
                piece.escape_ascii()
            );
            assert!(!repair.to_string().is_empty());
        }
        let record = parsed.record;
        if let Ok(written) = iso2709::encode(&record) {
            let again = iso2709::parse(&written.into())
                .expect("written by us")
                .record;
            assert_eq!(again.fields, record.fields, "{}", piece.escape_ascii());
        }
        // JSON is in UTF-8, so the record is converted first. JSON cannot contain separators, so fields with separators are
        // not compared.
        let readable = to_utf8(&record, &Options::default()).record;
        let json = marcjson::to_json(&readable);
        let again = marcjson::from_json(&json).expect("written by us");
        let is_text = |field: &&Field| {
            let mut octets = field.body.iter();
            let in_value = field.is_control();
            !octets.any(|octet| matches!(octet, 0x1D | 0x1E) || in_value && *octet == 0x1F)
        };
        let kept = readable.fields.iter().zip(&again.fields);
        assert_eq!(readable.fields.len(), again.fields.len(), "{json}");
        for (field, again) in kept.filter(|(field, _)| is_text(field)) {
            assert_eq!(field, again, "{json}");
        }
        let text = mrk::to_mrk(&record);
        assert_eq!(mrk::parse_all(&text), Ok(vec![record.clone()]), "{text}");
        assert!(marcline::to_lines(&record).ends_with(b"\n"));
        assert!(sutrs_text(&record).ends_with('\n'));
    }
}

/// Returns the records to damage: our own record, and the records from the corpus (if present) that are short enough
/// for a quick test.
fn originals() -> Vec<Bytes> {
    let own = MarcRecord {
        leader: Leader::default(),
        fields: vec![
            Field::control(b"001", "pg1342"),
            Field::control(b"008", "971201s1813    enk           000 1 eng  "),
            Field::data(b"245", "10", [("a", "Гордость :"), ("b", "")]),
            Field::data(b"500", "  ", [("a", b"caf\xE2e")]),
            Field::data(b"650", " 0", [("a", "War"), ("a", "Peace")]),
            Field::data(b"880", "10", [("6", "245-01"), ("a", "紅樓夢")]),
            Field::control(b"FMT", "BK"),
        ],
    };
    let own = Bytes::from(iso2709::encode(&own).expect("short"));
    let files = corpus::files();
    let real = files.iter().flat_map(|file| corpus::records(file));
    let short = real.filter(|record| record.len() < 800);
    short.step_by(2).chain([own]).collect()
}

/// Octets with a special meaning in ISO 2709, for use in mutations.
const SPECIAL: &[u8] = &[
    0x1D, 0x1E, 0x1F, b'0', b'9', b' ', b'a', 0, 0x80, 0xC3, 0xFF, b'\n', b'\\', b'$', b'{',
];

/// Damages a record at one place. Half of the time, the place is in the leader or directory, where damage has the
/// greatest effect.
fn mutate(random: &mut Random, octets: &mut Vec<u8>) {
    let reach = if random.below(2) == 0 {
        24 + 12 * 8
    } else {
        usize::MAX
    };
    let place = random.below(octets.len().min(reach));
    let octet = match random.below(2) {
        0 => *random.pick(SPECIAL),
        _ => u8::try_from(random.below(256)).expect("an octet"),
    };
    match random.below(8) {
        0..4 if !octets.is_empty() => octets[place] = octet,
        4 => octets.insert(place, octet),
        5 if !octets.is_empty() => {
            octets.remove(place);
        }
        6 => octets.truncate(place.max(random.below(octets.len() + 1))),
        7 => {
            let copy = octets[place..octets.len().min(place + random.below(40))].to_vec();
            octets.extend(copy);
            octets.push(RECORD_TERMINATOR);
        }
        _ => {}
    }
}
