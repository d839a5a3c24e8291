//! The records for Koha's index in tests: artificial records and records from real libraries, with the fields that Koha adds.

use std::fmt::Write as _;
use std::path::Path;

use bytes::Bytes;
use z3950_marc::standard_number::{Isbn, Issn};
use z3950_marc::{Field, MarcRecord, iso2709, mrk};

use crate::random::Random;

/// The words used in titles, subjects and notes. ICU folds some of them differently from simpler folding.
pub const WORDS: [&str; 26] = [
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
    "Müller",
    "война",
    "мир",
    "naïve",
    "color",
    "colour",
    "letters",
    "O'Neill",
    "C++",
    "Łódź",
    "e-mail",
    "U.S.A.",
    "redaktør",
    "l’été",
];
/// Author names.
pub const NAMES: [&str; 7] = [
    "Tolstoy, Leo,",
    "Wells, H. G.",
    "Hašek, Jaroslav",
    "Müller, Herta",
    "Толстой, Лев",
    "ʻAbd al-ʻAzīz",
    "O'Neill, Eugene,",
];

/// Returns `number` artificial records, some of which lack some fields. The records are the same in every run.
///
/// # Panics
/// Panics if the generated text is not valid MARCMaker text, which would be a bug in this function.
pub fn made_up(number: usize) -> Vec<MarcRecord> {
    let mut random = Random::new("records of Koha");
    let mut text = String::new();
    for at in 0..number {
        made_up_one(&mut random, at, &mut text);
    }
    mrk::parse_all(&text).expect("records")
}

fn made_up_one(random: &mut Random, at: usize, text: &mut String) {
    let words = |random: &mut Random, most: usize| {
        let count = random.below(most) + 1;
        let words: Vec<&str> = (0..count).map(|_| *random.pick(&WORDS)).collect();
        words.join(" ")
    };
    let year = *random.pick(&[
        "1899", "1905", "1912", "1950", "1987", "1999", "2001", "2015", "19uu", "uuuu",
    ]);
    let language = random.pick(&["eng", "rus", "ger", "fre"]);
    let _ = write!(
        text,
        "=LDR  00000nam a2200000 a 4500\n=001  id{at}\n=005  2004{:02}05165105.0\n\
         =008  990101s{year}\\\\\\\\xxu\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\000\\0\\{language}\\d\n",
        at % 12 + 1
    );
    let (title, rest) = (words(random, 4), words(random, 3));
    // The nonfiling indicator and the punctuation before `$c` vary between records, as in real catalogues.
    let end = random.pick(&[" /", ".", "", " ;"]);
    let article = random.below(3);
    let _ = writeln!(
        text,
        "=245  1{article}$a{title} :$b{rest} {at}{end}$cby {}",
        words(random, 2)
    );
    let mut line = |random: &mut Random, one_in: usize, make: &dyn Fn(&mut Random) -> String| {
        if random.below(one_in) > 0 {
            let _ = writeln!(text, "{}", make(random));
        }
    };
    line(random, 4, &|random| {
        format!("=020  \\\\$a{}", isbn(random, at))
    });
    line(random, 2, &|_| format!("=022  \\\\$a{}", issn(at)));
    line(random, 3, &|_| {
        format!("=010  \\\\$a   {:08} ", 65_000_000 + at)
    });
    line(random, 3, &|random| {
        format!(
            "=050  00$aQA{}.{}$b.A{at} {year}",
            random.below(90) + 10,
            random.below(9)
        )
    });
    line(random, 3, &|random| {
        format!("=082  00$a{}.{}", random.below(900) + 100, random.below(99))
    });
    line(random, 6, &|random| {
        format!("=100  1\\$a{}", random.pick(&NAMES))
    });
    line(random, 3, &|random| {
        format!(
            "=260  \\\\$aLondon :$b{} Press,$cc{year}.",
            random.pick(&["War", "Acme", "Müller"])
        )
    });
    line(random, 2, &|random| {
        format!("=490  0\\$a{} series", random.pick(&WORDS))
    });
    line(random, 2, &|random| {
        format!("=500  \\\\$a{}", words(random, 30))
    });
    for _ in 0..random.below(3) {
        line(random, 9, &|random| {
            let (topic, part) = (words(random, 3), words(random, 2));
            format!("=650  \\0$a{topic}$x{part}.")
        });
    }
    line(random, 2, &|random| {
        format!("=700  1\\$a{}", random.pick(&NAMES))
    });
    text.push('\n');
}

/// Returns an ISBN in one of the forms that occur in records: with or without hyphens, and possibly followed by words.
fn isbn(random: &mut Random, at: usize) -> String {
    let number = format!("{:09}", 471_000_000 + at * 7);
    let check = Isbn::check_digit_of(&format!("{number}0")).expect("an ISBN");
    let ten = format!("{number}{check}");
    let isbn = Isbn::parse(&ten).expect("an ISBN");
    match random.below(5) {
        0 => ten,
        1 => format!(
            "{}-{}-{}-{check}",
            &number[..1],
            &number[1..4],
            &number[4..]
        ),
        2 => format!("{isbn} (alk. paper)"),
        3 => format!("{ten} (v. 1)"),
        _ => isbn.to_string(),
    }
}

fn issn(at: usize) -> String {
    let number = format!("{:07}", 1_234_000 + at);
    let check = Issn::check_digit_of(&format!("{number}0")).expect("an ISSN");
    format!("{}-{}{check}", &number[..4], &number[4..])
}

/// Returns the records with a title in `../shared/data/marc/loc-utf8.mrc`, or an empty vector if the file does not exist.
///
/// # Panics
/// Panics if a record cannot be read.
pub fn of_libraries() -> Vec<MarcRecord> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/marc/loc-utf8.mrc");
    let octets = std::fs::read(file).unwrap_or_default();
    let records = octets
        .split_inclusive(|octet| *octet == 0x1D)
        .map(|record| {
            let read = iso2709::parse(&Bytes::copy_from_slice(record));
            read.expect("a record").record
        });
    records
        .filter(|record| record.field("245").is_some())
        .collect()
}

/// Replaces the fields that Koha adds to the record with this number: the number, the item type, whether the record is
/// suppressed, and up to two items.
pub fn with_items(record: &MarcRecord, number: usize) -> MarcRecord {
    let mut record = record.clone();
    record
        .fields
        .retain(|field| ![b"999", b"942", b"952"].contains(&&field.tag.0));
    let add = |fields: &mut Vec<Field>, tag: &[u8; 3], subfields: &[(&str, String)]| {
        let subfields = subfields.iter().map(|(code, value)| (*code, value));
        fields.push(Field::data(tag, "  ", subfields));
    };
    add(
        &mut record.fields,
        b"999",
        &[("c", number.to_string()), ("d", number.to_string())],
    );
    let mut added = vec![("c", ["BK", "CR", "MU"][number % 3].to_owned())];
    if number % 40 < 2 {
        added.push(("n", (1 - number % 40).to_string()));
    }
    add(&mut record.fields, b"942", &added);
    for item in 0..number % 3 {
        let subfields = [
            ("0", "0".to_owned()),
            ("1", "0".to_owned()),
            ("6", format!("QA_{:04}{number}", number % 90 + 10)),
            ("7", (number % 2).to_string()),
            ("9", (number * 10 + item).to_string()),
            ("a", ["CPL", "MPL", "FFL"][(number + item) % 3].to_owned()),
            ("b", ["CPL", "MPL"][number % 2].to_owned()),
            ("c", ["GEN", "REF", "CHILD"][number % 3].to_owned()),
            (
                "d",
                format!(
                    "{}-{:02}-{:02}",
                    2000 + number % 24,
                    number % 12 + 1,
                    number % 28 + 1
                ),
            ),
            ("o", format!("QA{}.{number} .A{number}", number % 90 + 10)),
            ("p", format!("3999{number:06}{item}")),
            ("y", ["BK", "REF"][item % 2].to_owned()),
        ];
        add(&mut record.fields, b"952", &subfields);
    }
    record
}
