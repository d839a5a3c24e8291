//! Made-up records and queries from a small set of words, so that different queries find many records.

use std::fmt::Write;

use z3950_marc::{MarcRecord, mrk};
use z3950_tests::random::Random;

use super::EVERYTHING;

/// The words of titles, the most common ones first.
const WORDS: [&str; 24] = [
    "war",
    "peace",
    "and",
    "the",
    "history",
    "of",
    "warfare",
    "world",
    "worlds",
    "soldier",
    "good",
    "art",
    "water",
    "river",
    "müller",
    "война",
    "мир",
    "naïve",
    "color",
    "colour",
    "letters",
    "north",
    "south",
    "poems",
];
const NAMES: [&str; 8] = [
    "Tolstoy, Leo",
    "Wells, H. G.",
    "Hašek, Jaroslav",
    "Woolf, Virginia",
    "Čapek, Karel",
    "Austen, Jane",
    "Müller, Herta",
    "Толстой, Лев",
];

/// Returns the number of records, which is limited by the time available in CI.
pub(super) fn number() -> usize {
    match std::env::var("Z3950_PEERS").as_deref() {
        Ok("required") => 20_000,
        _ => 1000,
    }
}

/// Returns records whose titles, names, subjects and years repeat.
pub(super) fn records(number: usize) -> Vec<MarcRecord> {
    records_of("engine", 1..=number)
}

/// Returns the records for a seed and these numbers.
pub(super) fn records_of(seed: &str, numbers: impl IntoIterator<Item = usize>) -> Vec<MarcRecord> {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for at in numbers {
        let words = |random: &mut Random, count: usize| {
            let words: Vec<&str> = (0..count)
                .map(|_| {
                    // Half of the list is ten times as common as the other half.
                    let common = random.below(10) > 0;
                    let range = if common { WORDS.len() / 2 } else { WORDS.len() };
                    WORDS[random.below(range)]
                })
                .collect();
            words.join(" ")
        };
        let (title, rest) = (random.below(4) + 1, random.below(3) + 1);
        let (title, rest) = (words(&mut random, title), words(&mut random, rest));
        let subject = words(&mut random, 2);
        let name = random.pick(&NAMES);
        let year = 1900 + random.below(120);
        let language = random.pick(&["eng", "rus", "ger"]);
        let _ = write!(
            text,
            "=LDR  00000nam a2200000 a 4500\n=001  id{at}\n\
             =008  990101s{year}\\\\\\\\xx\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\000\\0\\{language}\\\\\n\
             =020  \\\\$a978{at:09}X\n=100  1\\$a{name}\n=245  10$a{title} :$b{rest}\n=650  \\0$a{subject}\n\n"
        );
    }
    mrk::parse_all(&text).expect("records")
}

/// The terms of a record for queries.
pub(super) struct Terms {
    /// A word of at least three letters. Without its first letter, it still has the two letters that the engine requires.
    pub(super) one: String,
    /// Another word of at least three letters.
    pub(super) two: String,
    /// A word of a name.
    pub(super) name: String,
    /// An identifier.
    pub(super) id: String,
    /// An ISBN.
    pub(super) isbn: String,
}

/// Returns queries for the words, names and numbers of the records.
pub(super) fn queries(number: usize) -> Vec<String> {
    let long = WORDS.iter().filter(|word| word.chars().count() > 2);
    let long: Vec<&str> = long.copied().collect();
    let mut random = Random::new("engine terms");
    let ids: Vec<String> = (1..=40).map(|id| format!("id{id}")).collect();
    queries_of(&ids, || {
        let id = random.below(number) + 1;
        Terms {
            one: (*random.pick(&long)).to_owned(),
            two: (*random.pick(&long)).to_owned(),
            name: (*random.pick(&["tolstoy", "woolf", "Müller", "karel", "лев"])).to_owned(),
            id: format!("id{id}"),
            isbn: format!("978{id:09}X"),
        }
    })
}

/// Returns 400 queries of each kind. If a query is refused, both the engine and memory must refuse it.
pub(super) fn queries_of(ids: &[String], mut terms: impl FnMut() -> Terms) -> Vec<String> {
    let mut random = Random::new("engine queries");
    // This query has more terms than the engine counts at once.
    let some: Vec<String> = ids.iter().map(|id| format!("@attr 1=1032 {id}")).collect();
    let mut queries = vec![
        EVERYTHING.to_owned(),
        "@or ".repeat(ids.len().saturating_sub(1)) + &some.join(" "),
    ];
    while queries.len() < 400 {
        let Terms {
            one,
            two,
            name,
            id,
            isbn,
        } = terms();
        let year = 1900 + random.below(120);
        let relation = random.pick(&[1, 2, 4, 5]);
        let (distance, ordered) = (random.below(4) + 1, random.below(2));
        // The beginning of the word has two or three letters.
        let part: String = one.chars().take(2 + queries.len() / 29 % 2).collect();
        let end: String = one.chars().skip(1).collect();
        queries.extend([
            format!("@attr 1=4 {one}"),
            format!("@attr 1=4 @attr 4=1 \"{one} {two}\""),
            format!("@attr 1=4 @attr 4=6 \"{one} {two}\""),
            format!("@attr 1=4 @attr 4=106 \"{one} {two}\""),
            format!("@attr 1=4 @attr 5=1 {part}"),
            format!("@attr 1=4 @attr 5=2 {end}"),
            format!("@attr 1=4 @attr 5=3 {end}"),
            format!("@attr 1=4 @attr 5=104 {part}#"),
            format!("@attr 1=4 @attr 5=101 {part}#"),
            format!("@attr 1=4 @attr 3=1 {one}"),
            format!("@attr 1=4 @attr 3=1 @attr 5=2 {end}"),
            format!("@attr 1=1003 @attr 3=1 @attr 5=3 {name}"),
            format!("@attr 1=4 @attr 3=1 @attr 4=1 @attr 5=101 \"#{end} {two}\""),
            format!("@attr 1=4 @attr 3=2 {one}"),
            format!("@attr 1=4 @attr 6=2 {one}"),
            format!("@attr 1=21 @attr 6=3 \"{one} {two}\""),
            format!("@attr 1=4 @attr 2=6 {one}"),
            format!("@attr 1=1003 {name}"),
            format!("@attr 1=1016 {one}"),
            format!("@attr 1=1032 {id}"),
            format!("@attr 1=7 {isbn}"),
            format!("@attr 1=31 @attr 2={relation} {year}"),
            format!("@attr 1=31 {year}"),
            "@attr 1=54 rus".to_owned(),
            format!("@and @attr 1=4 {one} @attr 1=1003 {name}"),
            format!("@or @attr 1=4 {one} @attr 1=21 {two}"),
            format!("@not @attr 1=4 {one} @attr 1=21 {two}"),
            format!("@prox 0 {distance} {ordered} 2 k 2 @attr 1=4 {one} @attr 1=4 {two}"),
            format!("@attr 1=9999 {one}"),
        ]);
    }
    queries.truncate(400);
    queries
}
