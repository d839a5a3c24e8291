//! Tests of lookups in an index of several segments, compared with a scan of the records.

use std::collections::BTreeMap;
use std::ops::Bound;

use regex::Regex;
use z3950_asn1::apdu::Term;
use z3950_marc::{Field, MarcRecord, iso2709};

use super::*;
use crate::backend::ScanTerm;
use crate::memory::fields::Fields;

/// Creates an index in which each record has one of these texts, with `a_segment` records per segment.
fn index(texts: &[&str], a_segment: usize) -> Index {
    let segments = texts.chunks(a_segment).zip(0..).map(|(texts, chunk)| {
        let mut builder = SegmentBuilder::new(Arc::default());
        for (text, number) in texts.iter().zip(chunk * a_segment..) {
            let fields = text.split('|').map(|field| {
                let subfields = field.split('$').map(|data| ("a", data));
                Field::data(b"500", "  ", subfields)
            });
            let control = Field::control(b"001", format!("id{number}"));
            let record = MarcRecord {
                fields: std::iter::once(control).chain(fields).collect(),
                ..MarcRecord::default()
            };
            let database = u16::from(number % 2 == 1);
            let octets = format!("{number}").into_bytes();
            builder.add(database, octets.into(), &record).expect("room");
        }
        (Arc::new(builder.finish()), Arc::new(Part::first(0)))
    });
    Index::new(segments)
}

const TEXTS: &[&str] = &[
    "war and peace",
    "the war of the worlds",
    "peace$and war|warfare",
    "emma",
    "war",
    "the worlds|of war",
    "and peace and peace",
];

/// Returns, for each record found, the position of its text in [`TEXTS`].
fn numbers(index: &Index, hits: &HitSet<'_>) -> Vec<usize> {
    let number = |record| {
        let (segment, number) = index.segment(record).expect("a record");
        let (octets, _) = segment.record(number).expect("a record");
        String::from_utf8_lossy(octets).parse().expect("a number")
    };
    hits.iter().map(number).collect()
}

/// Returns a budget that allows more work than any query needs. The budget is large because a regular expression is charged by
/// elapsed time, and other tests run at the same time.
fn work() -> WorkBudget {
    WorkBudget::new(1_000_000_000)
}

#[test]
fn terms_are_found_by_patterns() {
    let regex = Regex::new("^(?:w.r.*)$").expect("valid");
    for a_segment in [1, 3, 100] {
        let index = index(TEXTS, a_segment);
        assert_eq!(index.records(), TEXTS.len());
        for (pattern, expected) in [
            (Pattern::Exact("war".into()), &[0, 1, 2, 4, 5][..]),
            (Pattern::Exact("wa".into()), &[]),
            (Pattern::Starts("wa".into()), &[0, 1, 2, 4, 5]),
            (Pattern::Ends("ar".into()), &[0, 1, 2, 4, 5]),
            (Pattern::Ends("are".into()), &[2]),
            (Pattern::Contains("orl".into()), &[1, 5]),
            (Pattern::Contains("a".into()), &[0, 1, 2, 3, 4, 5, 6]),
            (
                Pattern::Matches {
                    prefix: "w".into(),
                    regex: regex.clone(),
                    compiled_in: Duration::ZERO,
                },
                &[0, 1, 2, 4, 5],
            ),
            (
                Pattern::Matches {
                    prefix: String::new(),
                    regex: regex.clone(),
                    compiled_in: Duration::ZERO,
                },
                &[0, 1, 2, 4, 5],
            ),
            (
                Pattern::Range {
                    from: Bound::Included("war".into()),
                    to: Bound::Excluded("warfare".into()),
                },
                &[0, 1, 2, 4, 5],
            ),
            (
                Pattern::Range {
                    from: Bound::Unbounded,
                    to: Bound::Excluded("emma".into()),
                },
                &[0, 2, 6],
            ),
            (
                Pattern::Range {
                    from: Bound::Excluded("war".into()),
                    to: Bound::Unbounded,
                },
                &[1, 2, 5],
            ),
            (Pattern::Any, &[0, 1, 2, 3, 4, 5, 6]),
            (Pattern::Starts("".into()), &[0, 1, 2, 3, 4, 5, 6]),
        ] {
            let found = index
                .find(Terms::Words(IndexId::ANY), &pattern, &mut work())
                .expect("little work");
            assert_eq!(numbers(&index, &found), expected, "{pattern:?}");
        }
        assert_eq!(numbers(&index, &index.docid(b"id4")), [4]);
        assert!(index.docid(b"ID4").is_empty() && index.docid(b"").is_empty());
        let having = |of| index.having(of, &mut work()).expect("little work").len();
        assert_eq!(having(IndexId::ANY), TEXTS.len());
        assert_eq!(having(IndexId(77)), 0);
    }
}

#[test]
fn phrases_are_found_at_their_edges() {
    use Edge::{Any, Field, Subfield};
    let index = index(TEXTS, 3);
    for (words, first, last, expected) in [
        ("war and", Any, Any, &[0][..]),
        ("and war", Any, Any, &[2]),
        ("peace and war", Any, Any, &[2]),
        ("peace and war", Field, Field, &[2]),
        ("and war", Field, Any, &[]),
        ("and war", Subfield, Any, &[2]),
        ("and war", Subfield, Subfield, &[2]),
        ("peace", Field, Subfield, &[2]),
        ("peace", Any, Field, &[0, 6]),
        ("war warfare", Any, Any, &[]),
        ("worlds of", Any, Any, &[]),
        ("war", Field, Field, &[4]),
        ("war", Field, Any, &[0, 4]),
        ("and peace", Field, Field, &[]),
        ("and peace and peace", Field, Field, &[6]),
        ("nothing", Field, Field, &[]),
    ] {
        let patterns: Vec<_> = words
            .split(' ')
            .map(|word| Pattern::Exact(word.to_owned()))
            .collect();
        let edges = Edges { first, last };
        let found = index
            .phrase(IndexId::ANY, &patterns, edges, &mut work())
            .expect("little work");
        assert_eq!(numbers(&index, &found), expected, "{words} {edges:?}");
        let places = index.phrase_places(IndexId::ANY, &patterns, edges, None, &mut work());
        let places = places.expect("little work");
        assert_eq!(
            HitSet::of_sorted(places.by_record().map(|(record, _)| record)),
            found,
            "{words} {edges:?}"
        );
    }
    let truncated = [Pattern::Exact("the".into()), Pattern::Starts("w".into())];
    let found = index
        .phrase(IndexId::ANY, &truncated, Edges::default(), &mut work())
        .expect("little work");
    assert_eq!(numbers(&index, &found), [1, 5]);
}

#[test]
fn places_count_words_and_boundaries() {
    let index = index(TEXTS, 100);
    let positions = |places: WordPlaces| -> BTreeMap<u32, Vec<u32>> {
        let of = |(record, places): (RecordNumber, &[WordPlace])| {
            (
                record.0,
                places.iter().map(|place| place.position).collect(),
            )
        };
        places.by_record().map(of).collect()
    };
    let of = |pattern, mut work: WorkBudget| {
        let edges = Edges::default();
        index.phrase_places(IndexId::ANY, &[pattern], edges, None, &mut work)
    };
    let and = of(Pattern::Exact("and".into()), work()).expect("little work");
    // The index `any` also contains the control number, which is a text of its own at position 1. Position 2 is the boundary, so
    // the first word of the text is at position 3.
    let first = 3;
    assert_eq!(and.iter().count(), 4);
    assert_eq!(
        positions(and),
        BTreeMap::from([
            (0, vec![first + 1]),
            (2, vec![first + 1]),
            (6, vec![first, first + 2])
        ])
    );
    let boundaries = positions(
        index
            .boundaries(&index.docid(b"id2"), &mut work())
            .expect("little work"),
    );
    assert_eq!(
        boundaries,
        BTreeMap::from([(2, vec![0, 2, first + 3, first + 5])])
    );
    assert_eq!(of(Pattern::Any, WorkBudget::new(3)), Err(Exhausted));
}

#[test]
fn terms_are_browsed_and_tallied() {
    for a_segment in [1, 2, 100] {
        let index = index(TEXTS, a_segment);
        let browse = |start: &str, before, after, step, within: Option<&HitSet<'_>>| {
            let start = start.as_bytes();
            let terms = Terms::Words(IndexId::ANY);
            let browse = Browse {
                terms,
                start,
                before,
                after,
                step,
                within,
            };
            let found = index.browse(&browse, &mut work()).expect("little work");
            let shown = |terms: &[ScanTerm]| -> Vec<String> {
                let shown = terms.iter().map(|term| match &term.term {
                    Term::General(text) => {
                        format!(
                            "{}:{}",
                            String::from_utf8_lossy(text),
                            term.records.unwrap_or(0)
                        )
                    }
                    other => panic!("{other:?}"),
                });
                shown.collect()
            };
            (
                shown(&found.before).join(" "),
                shown(&found.after).join(" "),
                found.exact,
            )
        };
        // The terms are: and emma id0 … id6 of peace the war warfare worlds
        let check = |found: (String, String, bool), before: &str, after: &str, exact| {
            assert_eq!(found, (before.to_owned(), after.to_owned(), exact));
        };
        check(
            browse("peace", 2, 3, 0, None),
            "id6:1 of:2",
            "peace:3 the:2 war:5",
            true,
        );
        check(browse("pea", 1, 1, 0, None), "of:2", "peace:3", false);
        check(browse("", 5, 2, 0, None), "", "and:3 emma:1", false);
        check(browse("x", 2, 5, 0, None), "warfare:1 worlds:2", "", false);
        check(
            browse("peace", 2, 3, 1, None),
            "id4:1 id6:1",
            "peace:3 war:5 worlds:2",
            true,
        );
        let second = index.visible(index.all(), Some(&[1]));
        assert_eq!(numbers(&index, &second), [1, 3, 5]);
        check(
            browse("p", 1, 9, 0, Some(&second)),
            "of:2",
            "the:2 war:2 worlds:2",
            false,
        );
        let tally = index
            .tally(Terms::Words(IndexId::ANY), &second, &mut work())
            .expect("little work");
        let tally: Vec<_> = tally
            .iter()
            .map(|(term, count)| format!("{}:{count}", String::from_utf8_lossy(term)))
            .collect();
        assert_eq!(
            tally.join(" "),
            "emma:1 id1:1 id3:1 id5:1 of:2 the:2 war:2 worlds:2"
        );
    }
}

/// Checks several thousand texts of few distinct words, so that lists are long and many pairs of words are frequent.
#[test]
fn phrases_of_frequent_words_are_found() {
    let mut state = 1_u64;
    let mut number = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    // Each word is half as frequent as the word before it.
    let names = ["of", "the", "in", "war", "sea", "rare"];
    let mut text = || {
        let separators = [" ", " ", " ", " ", " ", "$", "|"];
        let mut text = String::new();
        for place in 0..2 + number(8) {
            if place > 0 {
                text.push_str(separators[number(7) as usize]);
            }
            text.push_str(names[(number(64) + 1).ilog2().abs_diff(6).min(5) as usize]);
        }
        text
    };
    let texts: Vec<String> = (0..9_000).map(|_| text()).collect();
    let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
    let fields: Vec<Vec<FieldWords<'_>>> = texts.iter().map(|text| entries(text)).collect();
    let index = index(&shown, 6_000);
    assert!(
        index
            .segments()
            .any(|(_, segment, _)| segment.is_frequent("the"))
    );
    let patterns = |phrase: &str| -> Vec<String> { phrase.split(' ').map(str::to_owned).collect() };
    for phrase in [
        "of",
        "rare",
        "of the",
        "the of",
        "of of",
        "in the of",
        "the war",
        "war of the",
        "of the sea of",
        "rare sea",
        "the rare the in",
        "no of",
        "of no",
    ] {
        let words = patterns(phrase);
        let exact: Vec<_> = words
            .iter()
            .map(|word| Pattern::Exact(word.clone()))
            .collect();
        for first in [Edge::Any, Edge::Subfield, Edge::Field] {
            for last in [Edge::Any, Edge::Subfield, Edge::Field] {
                let edges = Edges { first, last };
                let found = index.phrase(IndexId::ANY, &exact, edges, &mut work());
                let found = numbers(&index, &found.expect("little work"));
                let expected: Vec<usize> = (0..texts.len())
                    .filter(|place| has_phrase(&fields[*place], &words, edges))
                    .collect();
                assert_eq!(found, expected, "{phrase}, {edges:?}");
            }
        }
    }
}

/// The words of a field, each with a flag that is true if the word begins a subfield.
type FieldWords<'t> = Vec<(&'t str, bool)>;

fn entries(text: &str) -> Vec<FieldWords<'_>> {
    fn words(data: &str) -> Vec<(&str, bool)> {
        let words = data.split(' ').enumerate();
        words.map(|(place, word)| (word, place == 0)).collect()
    }
    let fields = text.split('|');
    fields
        .map(|field| field.split('$').flat_map(words).collect())
        .collect()
}

fn has_phrase(fields: &[FieldWords<'_>], words: &[String], edges: Edges) -> bool {
    fields.iter().any(|entry| {
        let is_edge = |edge, place: usize, of_field: usize| match edge {
            Edge::Any => true,
            Edge::Subfield => entry.get(place).is_none_or(|(_, begins)| *begins),
            Edge::Field => place == of_field,
        };
        let starts = entry.windows(words.len()).enumerate();
        let mut alike = starts.filter(|(_, found)| found.iter().map(|(word, _)| word).eq(words));
        alike.any(|(start, _)| {
            is_edge(edges.first, start, 0) && is_edge(edges.last, start + words.len(), entry.len())
        })
    })
}

#[test]
fn deferred_texts_are_indexed_alike() {
    let segment = |new: fn(Arc<Fields>) -> SegmentBuilder| {
        let mut builder = new(Arc::default());
        for (text, number) in TEXTS.iter().zip(0..) {
            let fields = [
                Field::control(b"001", format!("id{number}")),
                Field::data(b"245", "14", [("a", *text)]),
            ];
            let record = MarcRecord {
                fields: fields.into(),
                ..MarcRecord::default()
            };
            let octets = iso2709::encode(&record).expect("short").into();
            builder.add(0, octets, &record).expect("room");
        }
        builder.finish()
    };
    let any = IndexId::ANY;
    let terms = |segment: &Segment, terms: Terms| -> Vec<(String, usize)> {
        let dictionary = segment.dictionary(terms);
        let all = dictionary.terms(0..dictionary.strings().len());
        let shown = |term| String::from_utf8_lossy(dictionary.string(term)).into_owned();
        all.map(|term| (shown(term), dictionary.part(term).len()))
            .collect()
    };
    let (at_once, put_off) = (
        segment(SegmentBuilder::new),
        segment(SegmentBuilder::deferred),
    );
    let docids = Terms::Keys(IndexId::DOCID);
    assert_eq!(terms(&at_once, docids), terms(&put_off, docids));
    assert!(put_off.texts.get().is_none(), "not requested yet");
    for index in (0..8).map(IndexId) {
        for of in [Terms::Words(index), Terms::Keys(index)] {
            assert_eq!(terms(&at_once, of), terms(&put_off, of), "{of:?}");
        }
    }
    assert!(!terms(&put_off, Terms::Words(any)).is_empty());
    let keys = |segment: &Segment| -> Vec<Option<Vec<u8>>> {
        let numbers = (0..=u16::MAX).take(segment.len());
        let keys = numbers.map(|number| segment.first_key(IndexId(4), number).map(<[u8]>::to_vec));
        keys.collect()
    };
    assert_eq!(keys(&at_once), keys(&put_off));
}
