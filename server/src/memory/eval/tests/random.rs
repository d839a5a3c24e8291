//! Tests that random queries on random records find the same records as a scan of all records.

use proptest::prelude::*;
use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, Operand, RpnQuery, RpnStructure, Term,
};
use z3950_asn1::oid::BIB_1;
use z3950_marc::{Field, MarcRecord};

use super::{Catalogue, pqf};
use crate::memory::fields::Fields;

/// A record as a list of fields, each a list of words.
type Record = Vec<Vec<u8>>;

/// A query for words in notes.
#[derive(Clone, Debug)]
enum Query {
    Word(u8),
    Phrase(u8, u8),
    First(u8),
    Whole(u8, u8),
    And(Box<Query>, Box<Query>),
    Or(Box<Query>, Box<Query>),
    Not(Box<Query>, Box<Query>),
    Near {
        exclusion: bool,
        distance: u32,
        ordered: bool,
        relation: u8,
        left: u8,
        right: u8,
    },
}

fn name(word: u8) -> char {
    char::from(b'a' + word)
}

impl Query {
    fn pqf(&self) -> String {
        match self {
            Self::Word(word) => format!("@attr 1=63 {}", name(*word)),
            Self::Phrase(one, two) => {
                format!("@attr 1=63 @attr 4=1 \"{} {}\"", name(*one), name(*two))
            }
            Self::First(word) => format!("@attr 1=63 @attr 3=1 {}", name(*word)),
            Self::Whole(one, two) => {
                format!("@attr 1=63 @attr 6=3 \"{} {}\"", name(*one), name(*two))
            }
            Self::And(left, right) => format!("@and {} {}", left.pqf(), right.pqf()),
            Self::Or(left, right) => format!("@or {} {}", left.pqf(), right.pqf()),
            Self::Not(left, right) => format!("@not {} {}", left.pqf(), right.pqf()),
            Self::Near {
                exclusion,
                distance,
                ordered,
                relation,
                left,
                right,
            } => format!(
                "@prox {} {distance} {} {relation} k 2 @attr 1=63 {} @attr 1=63 {}",
                u8::from(*exclusion),
                u8::from(*ordered),
                name(*left),
                name(*right)
            ),
        }
    }

    fn finds(&self, record: &Record) -> bool {
        let has = |word: &u8| record.iter().any(|field| field.contains(word));
        match self {
            Self::Word(word) => has(word),
            Self::Phrase(one, two) => record
                .iter()
                .any(|field| field.windows(2).any(|pair| pair == [*one, *two])),
            Self::First(word) => record.iter().any(|field| field.first() == Some(word)),
            Self::Whole(one, two) => record.iter().any(|field| *field == [*one, *two]),
            Self::And(left, right) => left.finds(record) && right.finds(record),
            Self::Or(left, right) => left.finds(record) || right.finds(record),
            Self::Not(left, right) => left.finds(record) && !right.finds(record),
            Self::Near {
                exclusion,
                distance,
                ordered,
                relation,
                left,
                right,
            } => {
                let near = |one: usize, two: usize| {
                    let found = one.abs_diff(two) as u32;
                    let holds = match relation {
                        1 => found < *distance,
                        2 => found <= *distance,
                        3 => found == *distance,
                        4 => found >= *distance,
                        5 => found > *distance,
                        _ => found != *distance,
                    };
                    one != two && (one < two || !ordered) && holds
                };
                let places = |field: &[u8], word: u8| -> Vec<usize> {
                    (0..field.len())
                        .filter(|place| field.get(*place) == Some(&word))
                        .collect()
                };
                let any = record.iter().any(|field| {
                    let rights = places(field, *right);
                    places(field, *left)
                        .iter()
                        .any(|one| rights.iter().any(|two| near(*one, *two)))
                });
                if *exclusion {
                    has(left) && has(right) && !any
                } else {
                    any
                }
            }
        }
    }
}

const WORDS: std::ops::Range<u8> = 0..4;

fn query() -> impl Strategy<Value = Query> {
    let near = (any::<bool>(), 0..4u32, any::<bool>(), 1..=6u8, WORDS, WORDS);
    let leaf = prop_oneof![
        WORDS.prop_map(Query::Word),
        (WORDS, WORDS).prop_map(|(one, two)| Query::Phrase(one, two)),
        WORDS.prop_map(Query::First),
        (WORDS, WORDS).prop_map(|(one, two)| Query::Whole(one, two)),
        near.prop_map(
            |(exclusion, distance, ordered, relation, left, right)| Query::Near {
                exclusion,
                distance,
                ordered,
                relation,
                left,
                right
            }
        ),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let both =
            (inner.clone(), inner).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
        prop_oneof![
            both.clone()
                .prop_map(|(left, right)| Query::And(left, right)),
            both.clone()
                .prop_map(|(left, right)| Query::Or(left, right)),
            both.prop_map(|(left, right)| Query::Not(left, right)),
        ]
    })
}

/// Generates attributes of the six types of Bib-1 and of other types, with supported and unsupported values.
fn attributes() -> impl Strategy<Value = Vec<AttributeElement>> {
    let uses = prop::sample::select(vec![
        4, 7, 8, 9, 12, 31, 54, 55, 63, 1003, 1016, 1032, 1211, 9999,
    ]);
    let others = prop::sample::select(vec![
        -1, 0, 1, 2, 3, 4, 5, 6, 100, 101, 102, 103, 104, 106, 108, 109,
    ]);
    let access = uses.prop_map(|value| AttributeElement::numeric(1, value));
    let other = (2..8i64, others)
        .prop_map(|(attribute_type, value)| AttributeElement::numeric(attribute_type, value));
    (access, prop::collection::vec(other, 0..4)).prop_map(|(access, mut others)| {
        others.insert(0, access);
        others
    })
}

/// Generates terms of letters, digits, mask characters, characters of regular expressions, and octets that are not text.
fn term() -> impl Strategy<Value = Vec<u8>> {
    let text = "[a-d0-9#?*.()|{}\\[\\]^$+ /\u{301}\u{df}\u{130}\u{7d05}-]{0,12}";
    prop_oneof![
        text.prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..12)
    ]
}

proptest! {
    #[test]
    fn any_term_is_answered(operands in prop::collection::vec((attributes(), term()), 64)) {
        let catalogue = Catalogue::small();
        for (attributes, term) in operands {
            let operand = AttributesPlusTerm { attributes, term: Term::General(term.into()) };
            let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(operand));
            let _ = catalogue.answer(&RpnQuery { attribute_set: BIB_1, rpn });
        }
    }
}

proptest! {
    #[test]
    fn queries_find_the_correct_records(
        records in prop::collection::vec(prop::collection::vec(prop::collection::vec(WORDS, 1..6), 0..3), 1..8),
        queries in prop::collection::vec(query(), 1..12),
    ) {
        let marc = |(number, fields): (usize, &Record)| {
            let note = |words: &Vec<u8>| {
                let text: Vec<_> = words.iter().map(|word| name(*word).to_string()).collect();
                Field::data(b"500", "  ", [("a", text.join(" "))])
            };
            let docid = Field::control(b"001", number.to_string());
            MarcRecord { fields: std::iter::once(docid).chain(fields.iter().map(note)).collect(), ..MarcRecord::default() }
        };
        let marc: Vec<_> = records.iter().enumerate().map(marc).collect();
        let catalogue = Catalogue::of(&marc, Fields::default());
        for query in queries {
            let expected: Vec<_> = records.iter().enumerate().filter(|(_, record)| query.finds(record)).map(|(number, _)| number.to_string()).collect();
            let query = query.pqf();
            prop_assert_eq!(catalogue.answer(&pqf(&query)), Ok(expected.join(" ")), "{}", query);
        }
    }
}
