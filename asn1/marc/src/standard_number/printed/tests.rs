//! Tests for numbers in every form in which catalogues print them.

use super::*;
use crate::random::{Random, rounds};

/// Each row has a kind of number, a text, and the normal forms of the numbers in the text, separated by spaces. A
/// number with a wrong check digit is marked with `?`.
const SHAPES: &[(NumberKind, &str, &str)] = &[
    // ISBN
    (NumberKind::Isbn, "0306406152", "9780306406157"),
    (NumberKind::Isbn, "0-306-40615-2", "9780306406157"),
    (NumberKind::Isbn, "0 306 40615 2", "9780306406157"),
    (NumberKind::Isbn, "978-0-306-40615-7", "9780306406157"),
    (NumberKind::Isbn, "978 0 306 40615 7", "9780306406157"),
    (NumberKind::Isbn, "978 0-306-40615-7", "9780306406157"),
    (
        NumberKind::Isbn,
        "978\u{2010}0\u{2011}306\u{2013}40615\u{2212}7",
        "9780306406157",
    ),
    (
        NumberKind::Isbn,
        "\u{202a}978-0-306-40615-7\u{202c}",
        "9780306406157",
    ),
    (NumberKind::Isbn, "\u{feff}0306406152", "9780306406157"),
    (NumberKind::Isbn, "978\u{a0}0306406157", "9780306406157"),
    (NumberKind::Isbn, "080442957X", "9780804429573"),
    (NumberKind::Isbn, "0-8044-2957-x", "9780804429573"),
    (NumberKind::Isbn, "9791090636071", "9791090636071"),
    (NumberKind::Isbn, "ISBN 0-306-40615-2", "9780306406157"),
    (NumberKind::Isbn, "ISBN0306406152", "9780306406157"),
    (NumberKind::Isbn, "isbn: 0306406152", "9780306406157"),
    (
        NumberKind::Isbn,
        "ISBN-13: 978-0-306-40615-7",
        "9780306406157",
    ),
    (NumberKind::Isbn, "ISBN-10 0306406152", "9780306406157"),
    (NumberKind::Isbn, "ISBN 13 9780306406157", "9780306406157"),
    (
        NumberKind::Isbn,
        "ISBN (print) 9780306406157",
        "9780306406157",
    ),
    (NumberKind::Isbn, "eISBN 9780306406157", "9780306406157"),
    (NumberKind::Isbn, "urn:isbn:0306406152", "9780306406157"),
    (
        NumberKind::Isbn,
        "URN:ISBN:978-0-306-40615-7",
        "9780306406157",
    ),
    (
        NumberKind::Isbn,
        "https://example.org/isbn/9780306406157",
        "9780306406157",
    ),
    (NumberKind::Isbn, "0306406152 (pbk.) :", "9780306406157"),
    (
        NumberKind::Isbn,
        "0306406152 (pbk.) : $9.95",
        "9780306406157",
    ),
    (NumberKind::Isbn, "0306406152 : 25.00 EUR", "9780306406157"),
    (NumberKind::Isbn, "0306406152hbk", "9780306406157"),
    (NumberKind::Isbn, "0 306 40615 2 hbk", "9780306406157"),
    (NumberKind::Isbn, "0306406152 xii, 12", "9780306406157"),
    (
        NumberKind::Isbn,
        "(electronic bk.) 9780306406157",
        "9780306406157",
    ),
    (NumberKind::Isbn, "(v. 1) 0306406152", "9780306406157"),
    (NumberKind::Isbn, "[0306406152]", "9780306406157"),
    (NumberKind::Isbn, "\"0306406152\"", "9780306406157"),
    (NumberKind::Isbn, "=\"0306406152\"", "9780306406157"),
    (NumberKind::Isbn, "#0306406152", "9780306406157"),
    (NumberKind::Isbn, "0306406152.", "9780306406157"),
    (
        NumberKind::Isbn,
        "0306406152 (hbk.) 0141439513 (pbk.)",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "0306406152; 9780141439518",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "0306406152 9780141439518",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "0306406152 | 9780141439518",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "0306406152,0141439513",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "0306406152/0141439513",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "isbn:0306406152 OR isbn:0141439513",
        "9780306406157 9780141439518",
    ),
    (
        NumberKind::Isbn,
        "9780306406157 = 0306406152",
        "9780306406157",
    ),
    (NumberKind::Isbn, "0306406153 ; 0141439513", "9780141439518"),
    (NumberKind::Isbn, "0306406153", "0306406153?"),
    (NumberKind::Isbn, "ISBN 0-306-40615-3 (pbk.)", "0306406153?"),
    (NumberKind::Isbn, "9780306406158", "9780306406158?"),
    (NumberKind::Isbn, "978-0306", ""),
    (NumberKind::Isbn, "b0306406152", ""),
    (NumberKind::Isbn, "pg1342", ""),
    (NumberKind::Isbn, "97803064061570", ""),
    (NumberKind::Isbn, "pbk.", ""),
    (NumberKind::Isbn, "", ""),
    // ISSN
    (NumberKind::Issn, "0378-5955", "0378-5955"),
    (NumberKind::Issn, "03785955", "0378-5955"),
    (NumberKind::Issn, "0378 5955", "0378-5955"),
    (NumberKind::Issn, "ISSN 0378-5955", "0378-5955"),
    (NumberKind::Issn, "ISSN0378-5955", "0378-5955"),
    (NumberKind::Issn, "ISSN-L: 2434-561x", "2434-561X"),
    (NumberKind::Issn, "urn:issn:0378-5955", "0378-5955"),
    (
        NumberKind::Issn,
        "0378-5955 (print) 2434-561X (online)",
        "0378-5955 2434-561X",
    ),
    (NumberKind::Issn, "0378-5955 = Title", "0378-5955"),
    (NumberKind::Issn, "0378-5955 ;", "0378-5955"),
    (NumberKind::Issn, "0378-5954", "03785954?"),
    (NumberKind::Issn, "0378-595", ""),
    (NumberKind::Issn, "none", ""),
    // LCCN
    (NumberKind::Lccn, "   85000002 ", "85000002"),
    (NumberKind::Lccn, "n  79021425 ", "n79021425"),
    (NumberKind::Lccn, "n78-890351", "n78890351"),
    (NumberKind::Lccn, "85-2", "85000002"),
    (NumberKind::Lccn, "2001-000002", "2001000002"),
    (NumberKind::Lccn, " 79139101 /AC/r932", "79139101"),
    (NumberKind::Lccn, "75-425165//r75", "75425165"),
    (NumberKind::Lccn, "(DLC)   85000002 ", "85000002"),
    (NumberKind::Lccn, "LCCN 85-2", "85000002"),
    (NumberKind::Lccn, "lccn:n78-890351", "n78890351"),
    (NumberKind::Lccn, "info:lccn/n78890351", "n78890351"),
    (
        NumberKind::Lccn,
        "https://lccn.loc.gov/2001000002",
        "2001000002",
    ),
    (NumberKind::Lccn, "85000002 (set)", "85000002"),
    (NumberKind::Lccn, "85000002 ; 86000003", "85000002 86000003"),
    (NumberKind::Lccn, "85000002 86000003", "85000002 86000003"),
    (NumberKind::Lccn, "pg1342", ""),
    // OCLC
    (NumberKind::Oclc, "(OCoLC)ocm19564183", "19564183"),
    (NumberKind::Oclc, "(OCoLC)00012345", "12345"),
    (NumberKind::Oclc, "(OCoLC)on1234567890", "1234567890"),
    (NumberKind::Oclc, "(OCoLC)ocn123456789 ", "123456789"),
    (NumberKind::Oclc, "(OCOLC) 12345", "12345"),
    (NumberKind::Oclc, "(ocolc)OCM00012345", "12345"),
    (NumberKind::Oclc, " ocm00012345 ", "12345"),
    (NumberKind::Oclc, "OCLC 12345", "12345"),
    (NumberKind::Oclc, "OCLC: 12345", "12345"),
    (NumberKind::Oclc, "OCLC#12345", "12345"),
    (NumberKind::Oclc, "OCLC:ocm00012345", "12345"),
    (
        NumberKind::Oclc,
        "http://www.worldcat.org/oclc/12345",
        "12345",
    ),
    (
        NumberKind::Oclc,
        "(OCoLC)12345;(OCoLC)ocm00012346",
        "12345 12346",
    ),
    (NumberKind::Oclc, "(OCoLC)12345 (OCoLC)12346", "12345 12346"),
    (NumberKind::Oclc, "(DE-599)12345", ""),
    (NumberKind::Oclc, "TGPSM11-B2267", ""),
    (NumberKind::Oclc, "(OCoLC)fst00012345", ""),
    (NumberKind::Oclc, "12345", ""),
    (NumberKind::Oclc, "onward 12345", ""),
    (NumberKind::Oclc, "(OCoLC)000", ""),
    // EAN and UPC
    (NumberKind::Ean, "9780306406157", "9780306406157"),
    (NumberKind::Ean, "978-0-306-40615-7", "9780306406157"),
    (NumberKind::Ean, "4006381333931", "4006381333931"),
    (NumberKind::Ean, "EAN 4006381333931 (CD)", "4006381333931"),
    (NumberKind::Ean, "036000291452", "0036000291452"),
    (NumberKind::Ean, "73513537", "73513537"),
    (NumberKind::Ean, "4006381333932", ""),
];

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
fn output_is_a_part_of_the_text() {
    for (kind, text, _) in SHAPES {
        for one in numbers(*kind, text) {
            assert!(text.contains(one.written), "{text:?}");
            let again = numbers(*kind, one.written);
            let again = again.first().map(|again| again.normal.clone());
            // OCLC numbers are written without their prefix, so they are not recognised again.
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
