//! Tests of every value of the attributes other than Use.

use z3950_asn1::bib1::attributes::{STRUCTURE, TRUNCATION, USE};

use super::Catalogue;
use crate::memory::profile::Profile;

#[test]
fn relations() {
    Catalogue::small().check(&[
        // A year includes its days.
        ("@attr 1=31 @attr 2=1 1869", "f"),
        ("@attr 1=31 @attr 2=2 1869", "a f"),
        ("@attr 1=31 @attr 2=3 1869", "a"),
        ("@attr 1=31 1869", "a"),
        ("@attr 1=31 @attr 2=4 1983", "e g h"),
        ("@attr 1=31 @attr 2=5 1983", "g h"),
        ("@attr 1=31 @attr 2=6 1869", "b d e f g h"),
        ("@attr 1=31 @attr 2=103 \"\"", "a b d e f g h"),
        ("@attr 1=1012 @attr 2=2 2020", "a d"),
        ("@attr 1=1012 @attr 2=1 2020", "d"),
        ("@attr 1=1012 @attr 2=5 2020", "b"),
        ("@attr 1=1012 @attr 2=5 20200228", "a b"),
        ("@attr 1=1012 @attr 2=4 2020-03-01", "a b"),
        // Numbers and codes are compared in the order of their characters.
        ("@attr 1=54 @attr 2=4 fre", "a c d f"),
        ("@attr 1=54 @attr 2=1 fre", "a b e g h"),
        ("@attr 1=9 @attr 2=2 85-3", "a"),
        ("@attr 1=9 @attr 2=1 85-2", ""),
        // Text is compared as whole entries or as words.
        ("@attr 1=4 @attr 2=5 \"the war of the worlds\"", "a e g"),
        ("@attr 1=33 @attr 2=4 war", "e"),
        ("@attr 1=33 @attr 2=2 war", ""),
        ("@attr 1=4 @attr 2=5 @attr 4=2 warfare", "b g"),
        ("@attr 1=1016 @attr 2=5 worlds", ""),
        ("@attr 1=4 @attr 2=6 war", "c d f g"),
        ("@attr 1=1003 @attr 2=103 x", "a b c d f g h"),
        ("@attr 2=103 x", "a b c d e f g h"),
        ("@attr 1=1032 @attr 2=103 x", "a b c d e f g h"),
        ("@attr 1=1032 @attr 2=6 a", "b c d e f g h"),
    ]);
}

#[test]
fn positions() {
    Catalogue::small().check(&[
        ("@attr 1=4 @attr 3=1 war", "a e"),
        ("@attr 1=4 @attr 3=2 war", "a e"),
        ("@attr 1=4 @attr 3=3 war", "a b e h"),
        ("@attr 1=4 @attr 3=1 novel", ""),
        ("@attr 1=4 @attr 3=1 women", ""),
        ("@attr 1=4 @attr 3=2 women", "g"),
        ("@attr 1=4 @attr 3=3 women", "g"),
        ("@attr 1=63 @attr 3=1 peace", "c"),
        ("@attr 1=63 @attr 3=1 \"war is\"", "c"),
        ("@attr 1=63 @attr 3=1 @attr 5=1 \"war i\"", "c"),
        ("@attr 1=63 @attr 3=1 \"is war\"", ""),
        ("@attr 1=7 @attr 3=1 0306406152", "a"),
        ("@attr 1=7 @attr 3=2 0306406152", "a"),
    ]);
}

#[test]
fn structures() {
    Catalogue::small().check(&[
        ("@attr 1=4 @attr 4=1 \"war and peace\"", "a"),
        ("@attr 1=4 @attr 4=1 \"peace and war\"", ""),
        ("@attr 1=4 @attr 4=1 \"peace a novel\"", "a"),
        ("@attr 1=4 @attr 4=2 war", "a b e h"),
        ("@attr 1=4 @attr 4=3 \"war society\"", "e"),
        ("@attr 1=4 @attr 4=3 war", ""),
        ("@attr 1=4 @attr 4=3 @attr 5=1 war", "a e g"),
        ("@attr 1=31 @attr 4=4 1898", "b"),
        ("@attr 1=1011 @attr 4=5 19990131", "a"),
        ("@attr 1=1011 @attr 4=5 1999-01-31", "a"),
        ("@attr 1=1011 @attr 4=5 1999", "a"),
        ("@attr 1=4 @attr 4=6 \"peace war\"", "a"),
        ("@attr 1=31 @attr 4=100 \"c1898.\"", "b"),
        ("@attr 1=1003 @attr 4=101 \"wells h g\"", "b"),
        ("@attr 1=1003 @attr 4=101 \"h g wells\"", ""),
        ("@attr 1=1003 @attr 4=102 \"h g wells\"", "b"),
        ("@attr 1=1032 @attr 4=104 a", "a"),
        ("@attr 1=4 @attr 4=105 \"worlds war\"", "b"),
        ("@attr 1=4 @attr 4=106 \"worlds miserables\"", "b f"),
        ("@attr 1=12 @attr 4=107 a", "a"),
        ("@attr 1=1211 @attr 4=107 00123", "a"),
        ("@attr 1=1032 @attr 4=108 a", "a"),
        ("@attr 1=1032 @attr 4=1 a", "a"),
        ("@attr 1=1032 @attr 4=2 a", "a"),
        ("@attr 1=12 @attr 4=3 a", "a"),
        ("@attr 1=4 @attr 4=108 \"war society\"", "e"),
        ("@attr 1=4 @attr 4=108 war", ""),
        ("@attr 1=54 @attr 4=108 fre", "a d f"),
        ("@attr 1=7 @attr 4=109 0306406152", "a"),
        ("@attr 1=31 @attr 4=109 1898", "b"),
        ("@attr 1=4 \"peace war\"", "a"),
    ]);
}

#[test]
fn truncations() {
    Catalogue::small().check(&[
        ("@attr 1=4 @attr 5=1 war", "a b e g h"),
        ("@attr 1=4 @attr 5=2 fare", "g"),
        ("@attr 1=4 @attr 5=2 ar", "a b e h"),
        ("@attr 1=4 @attr 5=3 arf", "g"),
        ("@attr 1=4 @attr 5=3 orl", "b"),
        ("@attr 1=4 @attr 5=100 wa", ""),
        ("@attr 1=4 @attr 5=101 wom#n", "g"),
        ("@attr 1=4 @attr 5=101 \"#or of w#\"", "h"),
        ("@attr 1=4 @attr 5=101 war", "a b e h"),
        ("@attr 1=4 @attr 5=102 \"col(o|ou)r\"", "g h"),
        ("@attr 1=4 @attr 5=102 \"WOM[ae]N\"", "g"),
        ("@attr 1=4 @attr 5=102 \"ar\"", ""),
        ("@attr 1=4 @attr 5=102 @attr 6=3 \"war (and|&) .*\"", "a"),
        ("@attr 1=4 @attr 5=104 wom#n", "g"),
        ("@attr 1=4 @attr 5=104 col?1r", "h"),
        ("@attr 1=4 @attr 5=104 colo?1r", "g h"),
        ("@attr 1=4 @attr 5=104 war?", "a b e g h"),
        // In a phrase, only the outer ends are truncated.
        ("@attr 1=4 @attr 4=1 @attr 5=1 \"war of the wor\"", "b"),
        ("@attr 1=4 @attr 4=1 @attr 5=1 \"wa of the worlds\"", ""),
        ("@attr 1=4 @attr 4=1 @attr 5=2 \"ar of the worlds\"", "b"),
        ("@attr 1=4 @attr 4=1 @attr 5=3 \"ar of the wor\"", "b"),
        ("@attr 1=4 @attr 4=6 @attr 5=1 \"wor wa\"", "b"),
        // Keys can be truncated too.
        ("@attr 1=7 @attr 5=1 0306", "a"),
        ("@attr 1=7 @attr 5=1 978030", "a"),
        ("@attr 1=7 @attr 5=2 6157", "a"),
        ("@attr 1=7 @attr 5=3 0640", "a"),
        ("@attr 1=7 @attr 5=101 978#57", "a"),
        ("@attr 1=31 @attr 5=1 186", "a f"),
        ("@attr 1=31 @attr 5=102 \"18[69].\"", "a b f"),
        ("@attr 1=55 @attr 5=1 u-", "e"),
    ]);
}

#[test]
fn completenesses() {
    Catalogue::small().check(&[
        ("@attr 1=4 @attr 6=1 peace", "a c"),
        ("@attr 1=4 @attr 6=2 peace", "c"),
        ("@attr 1=4 @attr 6=2 \"war and peace\"", "a"),
        ("@attr 1=4 @attr 6=2 \"a novel\"", "a"),
        ("@attr 1=4 @attr 6=2 novel", ""),
        ("@attr 1=4 @attr 6=3 \"war and peace\"", ""),
        ("@attr 1=4 @attr 6=3 \"war and peace a novel\"", "a"),
        ("@attr 1=4 @attr 6=3 \"peace\"", "c"),
        ("@attr 1=4 @attr 6=3 @attr 5=1 \"war\"", "a e g"),
        ("@attr 1=4 @attr 6=3 @attr 5=2 \"of war\"", "h"),
        ("@attr 1=4 @attr 6=2 @attr 5=2 \"peace\"", "a c"),
        ("@attr 1=63 @attr 6=3 \"war is dead\"", "c"),
        ("@attr 1=63 @attr 6=3 @attr 4=6 \"dead is war\"", ""),
        ("@attr 1=7 @attr 6=3 0306406152", "a"),
        ("@attr 1=1032 @attr 6=2 a", "a"),
    ]);
}

#[test]
fn terms_are_normalized_like_their_index() {
    Catalogue::small().check(&[
        ("@attr 1=4 MISÉRABLES", "f"),
        ("@attr 1=4 miserables", "f"),
        ("@attr 1=4 \"mise\u{301}rables\"", "f"),
        ("@attr 1=1003 tolstoi", "d"),
        ("@attr 1=7 0-306-40615-2", "a"),
        ("@attr 1=7 978-0-306-40615-7", "a"),
        ("@attr 1=7 9780306406157", "a"),
        ("@attr 1=7 2070361645", "d"),
        ("@attr 1=8 0046-225x", "e"),
        ("@attr 1=8 0046225X", "e"),
        ("@attr 1=9 85000002", "a"),
        ("@attr 1=9 85-2", "a"),
        ("@attr 1=1211 (OCoLC)00123", "a"),
        ("@attr 1=1211 00123", "a"),
        ("@attr 1=1211 123", "a"),
        ("@attr 1=1211 ocm00000123", "a"),
        ("@attr 1=1211 TGPSM11-B2267", ""),
        ("@attr 1=51 ncr12-7", "h"),
        ("@attr 1=54 RUS", "a"),
        ("@attr 1=1053 xxu", "g h"),
        ("@attr 1=1032 A", ""),
        ("@attr 1=31 @term numeric 1869", "a"),
        ("@attr 1=1211 @term numeric 123", "a"),
        ("@attr 1=4 @term string war", "a b e h"),
        ("@attr 1=4 @term general war", "a b e h"),
    ]);
}

#[test]
fn attributes_may_be_repeated_and_named() {
    Catalogue::small().check(&[
        ("@attr 1=4 @attr 1=4 war", "a b e h"),
        ("@attr 4=2 @attr 1=4 @attr 4=2 war", "a b e h"),
        ("@attr Bib-1 1=4 war", "a b e h"),
        ("@attr 1=title war", "a b e h"),
        ("@attr 1=TI war", "a b e h"),
        ("@attr 1=spinetitle @attr 2=103 x", ""),
        ("@attrset gils @attr Bib-1 1=4 war", "a b e h"),
    ]);
}

#[test]
fn profiles_change_the_supported_attributes() {
    let bib_1 = Profile::default;
    for (profile, rows, refused) in [
        (
            bib_1()
                .only(USE, [4, 1003])
                .all_but(TRUNCATION, [1, 2])
                .only(STRUCTURE, [1]),
            &[
                ("@attr 1=4 war", "a b e h"),
                ("@attr 1=4 @attr 5=3 orl", "b"),
                ("@attr 1=title war", "a b e h"),
                ("hugo", "f"),
            ][..],
            &[
                ("@attr 1=31 1869", "114 31"),
                ("@attr 1=date 1869", "114 date"),
                ("@attr 1=4 @attr 5=1 war", "120 1"),
                ("@attr 1=4 @attr 4=2 war", "118 2"),
            ][..],
        ),
        (
            bib_1().suppose_phrases(),
            &[
                ("@attr 1=4 \"peace war\"", ""),
                ("@attr 1=4 \"and peace\"", "a"),
                ("@attr 1=7 0306406152", "a"),
                ("@attr 1=1032 a", "a"),
            ],
            &[],
        ),
        (
            bib_1().suppose(USE, 4),
            &[("hugo", ""), ("miserables", "f")],
            &[],
        ),
        (
            Profile {
                use_required: true,
                proximity: false,
                result_sets: false,
                shortest_truncated: 3,
                ..bib_1()
            },
            &[
                ("@attr 1=4 @attr 5=1 war", "a b e g h"),
                ("@attr 1=7 @attr 5=1 030", "a"),
            ],
            &[
                ("war", "116"),
                ("@attr 4=2 war", "116"),
                (
                    "@prox 0 1 1 2 k 2 @attr 1=4 war @attr 1=4 peace",
                    "110 proximity",
                ),
                ("@set s", "18 s"),
                ("@attr 1=4 @attr 5=1 wa", "9 3"),
                ("@attr 1=4 @attr 5=101 w#r", "9 3"),
                ("@attr 1=7 @attr 5=1 03", "9 3"),
            ],
        ),
        (
            Profile::zebra(),
            &[
                ("@attr 1=4 @attr 4=999 war", "a b e h"),
                ("@attr 1=4 @attr 6=9 war", "a b e h"),
                ("@attr 7=1 @attr 1=4 war", "a b e h"),
            ],
            &[
                ("@attr 2=999 war", "117"),
                ("@attr 3=9 war", "119 9"),
                ("@attr 1=9999 war", "114 9999"),
                ("@term numeric 7", "124 numeric"),
            ],
        ),
        (
            Profile::yaz_ztest(),
            &[
                (
                    "@attr 1=9999 @attr 2=9 @attr 3=9 @attr 4=9 @attr 5=9 @attr 6=9 @attr 99=9 hugo",
                    "f",
                ),
                ("@attrset gils @attr 1=4 hugo", "f"),
                ("@attr 1=31 1862", "f"),
            ],
            &[],
        ),
    ] {
        let catalogue = Catalogue::with(profile);
        catalogue.check(rows);
        catalogue.check_refused(refused);
    }
}

#[test]
fn audit_r_y2_identifiers_are_found_by_their_beginnings() {
    Catalogue::small().check(&[
        ("@attr 1=12 @attr 5=1 a", "a"),
        ("@attr 1=1032 @attr 5=1 a", "a"),
        ("@attr 1=12 @attr 5=1 aa", ""),
        ("@attr 1=12 @attr 5=1 A", ""),
        ("@and war @attr 1=12 @attr 5=1 a", "a"),
    ]);
    Catalogue::small().check_refused(&[("@attr 1=12 @attr 5=1 \"\"", "125")]);
}

#[test]
fn audit_r_y7_a_term_that_is_not_a_number_finds_nothing_in_an_index_of_numbers() {
    Catalogue::small().check(&[
        ("@attr 1=7 none", ""),
        ("@attr 1=8 1234", ""),
        ("@attr 1=9 war", ""),
        ("@or @attr 1=12 a @attr 1=9 war", "a"),
    ]);
}
