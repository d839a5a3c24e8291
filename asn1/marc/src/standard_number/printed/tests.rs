//! Numbers in every shape that catalogues print them.

use super::*;
use crate::random::{Random, rounds};

/// A kind, a text, and the normal forms of the numbers in it, separated by blanks; those with a wrong check digit have `?`.
const SHAPES: &[(NumberKind, &str, &str)] = &include!("shapes.rs");

fn shown(kind: NumberKind, text: &str) -> String {
    let found = numbers(kind, text).into_iter();
    let found = found.map(|one| {
        let doubt = if one.is_valid { "" } else { "?" };
        format!("{}{doubt}", one.normal)
    });
    found.collect::<Vec<_>>().join(" ")
}

#[test]
fn audit_r_b2_numbers_are_read_in_every_shape() {
    for (kind, text, expected) in SHAPES {
        assert_eq!(shown(*kind, text), *expected, "{kind:?} {text:?}");
    }
}

#[test]
fn what_is_written_is_a_part_of_the_text() {
    for (kind, text, _) in SHAPES {
        for one in numbers(*kind, text) {
            assert!(text.contains(one.written), "{text:?}");
            let again = numbers(*kind, one.written);
            let again = again.first().map(|again| again.normal.clone());
            // The prefix of OCLC is not written.
            if *kind != NumberKind::Oclc {
                assert_eq!(again, Some(one.normal), "{text:?}");
            }
        }
    }
}

#[test]
fn audit_r_b2_no_mutation_panics_and_all_are_bounded() {
    let marks: Vec<char> = "0123456789Xx-‐ \u{a0};:,|()[]/\\\"'=.é紅\0\u{202a}ISBNocm"
        .chars()
        .collect();
    let mut random = Random(0x1_5B4E);
    for (kind, text, _) in SHAPES {
        for _ in 0..rounds(500) {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=random.below(5) {
                let at = random.below(letters.len() + 1);
                let mark = *random.pick(&marks);
                match random.below(3) {
                    0 => letters.insert(at, mark),
                    1 if at < letters.len() => letters[at] = mark,
                    _ if at < letters.len() => drop(letters.remove(at)),
                    _ => {}
                }
            }
            let mutated: String = letters.into_iter().collect();
            for kind in [*kind, NumberKind::Ean, NumberKind::Lccn, NumberKind::Oclc] {
                assert!(numbers(kind, &mutated).len() <= MAX_NUMBERS, "{mutated:?}");
            }
        }
    }
    let many = "9780306406157 0141439513 ".repeat(100_000);
    assert_eq!(
        shown(NumberKind::Isbn, &many),
        "9780306406157 9780141439518"
    );
    let distinct: String = (1..1000)
        .map(|number| format!("(OCoLC){number};"))
        .collect();
    assert_eq!(numbers(NumberKind::Oclc, &distinct).len(), MAX_NUMBERS);
    assert_eq!(shown(NumberKind::Isbn, &"é1 ".repeat(10_000)), "");
}
