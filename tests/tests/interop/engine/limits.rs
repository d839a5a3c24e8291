//! Tests of queries at the limits of what the engine can express, which must give the same results as in memory: ranges of
//! numbers, words far apart, and words that are longer than the engine stores.

use std::fmt::Write;

use z3950_marc::{MarcRecord, mrk};
use z3950_tests::random::Random;

use super::{assert_same, found, records, served};

/// Returns one record for each of the fields.
fn records_with(fields: impl IntoIterator<Item = String>) -> Vec<MarcRecord> {
    let mut text = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "=LDR  00000nam a2200000 a 4500\n=001  id{at}\n{field}\n\n"
        );
    }
    mrk::parse_all(&text).expect("records")
}

/// Each number is compared with all others of its kind, and with numbers that do not occur in any record.
#[test]
fn ranges_of_numbers_are_those_of_memory() {
    let isbns = [
        "0306406152",
        "0306406153",
        "080442957X",
        "978-0-8044-2957-3",
        "9791234567896",
        "978",
        "12X4",
        "12",
        "1",
        "X",
    ];
    let issns = [
        "0046-225X",
        "0046-2254",
        "1234-5678",
        "0000-0000",
        "9999-9994",
    ];
    let lccns = [
        "   85000002 ",
        "85-3",
        "n78-890351",
        "n 78890352",
        "nb2001-000002",
        "2001-627090",
        "a-b-1",
        "z9",
        "1",
    ];
    let kinds = [
        (7, "020", &isbns[..], &["2", "X1", "97803064061571"][..]),
        (8, "022", &issns, &["0046-2255", "5555-555X"]),
        (9, "010", &lccns, &["85", "n", "a-1", "zz1"]),
    ];
    let fields = kinds.iter().flat_map(|(_, tag, numbers, _)| {
        let numbers = numbers.iter();
        numbers.map(move |number| format!("={tag}  \\\\$a{number}"))
    });
    let Some(served) = served(&records_with(fields), "") else {
        return;
    };
    let queries: Vec<String> = kinds
        .iter()
        .flat_map(|(index, _, numbers, others)| {
            let terms = numbers.iter().chain(*others);
            terms.flat_map(move |term| {
                let relations = [1, 2, 3, 4, 5, 6].into_iter();
                relations.map(move |relation| {
                    format!("@attr 1={index} @attr 2={relation} \"{}\"", term.trim())
                })
            })
        })
        .collect();
    assert_same(&served.daemon, &queries);
}

/// Returns a title of this many words, some of them common but most not.
fn title(random: &mut Random, words: usize) -> String {
    let words = (0..words).map(|_| match random.below(12) {
        0 => "war".to_owned(),
        1 => "peace".to_owned(),
        2 => "wars".to_owned(),
        _ => format!("w{:02}", random.below(60)),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The operands find the same words, overlap, or are at edges.
#[test]
fn words_far_apart_are_those_of_memory() {
    let mut random = Random::new("distances");
    let fields = (0..400).map(|_| {
        let length = *random.pick(&[4, 30, 70, 140]);
        let (one, other) = (title(&mut random, length), title(&mut random, 3));
        format!(
            "=245  10$a{one} :$b{other}\n=740  0\\$a{}",
            title(&mut random, 9)
        )
    });
    let fields: Vec<String> = fields.collect();
    let Some(served) = served(&records_with(fields), "") else {
        return;
    };
    let operands = [
        "war",
        "peace",
        "w01",
        "@attr 5=1 wa",
        "@attr 5=2 rs",
        "@attr 3=1 war",
        "@attr 3=2 peace",
        "@attr 4=1 \"war peace\"",
        "@attr 4=1 \"peace war\"",
        "@attr 4=1 \"war war\"",
        "@attr 4=1 @attr 5=101 \"peace #rs\"",
    ];
    let mut queries = vec!["@prox 0 50 0 2 k 2 @attr 1=4 war @attr 1=4 war".to_owned()];
    queries.extend(operands.map(|operand| format!("@attr 1=4 {operand}")));
    queries.extend((0..240).map(|_| {
        let distance = *random.pick(&[0, 1, 2, 3, 20, 21, 50, 98, 99]);
        let (ordered, excluded) = (random.below(2), random.below(8) / 7);
        let relation = 1 + random.below(3);
        let (one, other) = (random.pick(&operands), random.pick(&operands));
        format!(
            "@prox {excluded} {distance} {ordered} {relation} k 2 @attr 1=4 {one} @attr 1=4 {other}"
        )
    }));
    assert_same(&served.daemon, &queries);
}

/// A word or phrase with a wildcard must be found at the edge that the query requires.
#[test]
fn truncated_words_are_at_the_edges_of_memory() {
    let Some(served) = served(&records(1000), "") else {
        return;
    };
    let edges = [
        "",
        "@attr 3=1 ",
        "@attr 3=2 ",
        "@attr 3=3 ",
        "@attr 6=2 ",
        "@attr 6=3 ",
        "@attr 3=1 @attr 6=2 ",
        "@attr 3=1 @attr 6=3 ",
    ];
    let mut queries = Vec::new();
    for (index, one, other) in [
        (4, "war", "peace"),
        (4, "art", "of"),
        (4, "color", "the"),
        (4, "воина", "война"),
        (21, "and", "history"),
        (1003, "tolstoy", "leo"),
        (1003, "толстои", "лев"),
        (1016, "world", "of"),
    ] {
        let end: String = one.chars().skip(1).collect();
        let other_begin: String = other.chars().take(2).collect();
        let terms = [
            format!("@attr 5=1 {one}"),
            format!("@attr 5=2 {end}"),
            format!("@attr 5=2 {one}"),
            format!("@attr 5=3 {end}"),
            format!("@attr 5=3 {one}"),
            format!("@attr 5=101 #{end}"),
            format!("@attr 5=104 #{end}"),
            format!("@attr 5=104 \"?1{end}\""),
            format!("@attr 5=104 \"?{end}\""),
            format!("@attr 4=1 @attr 5=2 \"{end} {other}\""),
            format!("@attr 4=1 @attr 5=3 \"{end} {other_begin}\""),
            format!("@attr 4=1 @attr 5=101 \"#{end} {other}\""),
            format!("@attr 4=1 @attr 5=104 \"#{end} {other_begin}?\""),
            format!("@attr 4=1 @attr 5=104 \"?1{end} {other_begin}?\""),
            format!("@attr 4=1 @attr 5=104 \"?{end} ?{other}\""),
            format!("@attr 4=6 @attr 5=3 \"{end} {other}\""),
        ];
        for edge in edges {
            queries.extend(
                terms
                    .iter()
                    .map(|term| format!("@attr 1={index} {edge}{term}")),
            );
        }
    }
    for queries in queries.chunks(500) {
        assert_same(&served.daemon, queries);
    }
}

/// A two-letter ending must not match the mark for the end of a long word, or for a letter that is unknown to the engine.
#[test]
fn truncation_finds_letters_of_words_only() {
    let long = |number: usize| "xyz".repeat(14) + &"uvw".repeat(number);
    let mut fields: Vec<String> = (0..60)
        .map(|number| format!("=245  10$a{}", long(number)))
        .collect();
    fields.push("=245  10$a𠀀 war".to_owned());
    let Some(served) = served(&records_with(fields), "") else {
        return;
    };
    let mut queries: Vec<String> = (0..=255)
        .map(|octet| format!("@attr 1=4 @attr 5=2 {octet:02x}"))
        .collect();
    queries.extend(
        [
            "@attr 5=3 20",
            "@attr 5=3 𠀀",
            "@attr 5=101 xy#20",
            "@attr 5=1 xyzxyz",
            "𠀀",
        ]
        .map(|term| format!("@attr 1=4 {term}")),
    );
    queries.push(format!("@attr 1=4 {}", long(7)));
    assert_same(&served.daemon, &queries);
    assert_eq!(
        found(&served.place("books"), &queries[queries.len() - 3..]),
        ["60", "1", "1"]
    );
}
