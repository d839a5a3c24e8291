//! Records for the measurements, and queries that find them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, Leader, MarcRecord, iso2709};
use z3950_tests::random::Random;

/// The number of queries of each kind, each with words of a different record. Half of the queries are measured; the other
/// half warm up the engine.
const QUERIES: usize = 600;

/// Returns the number in an environment variable, or this default.
pub(crate) fn number_of(variable: &str, otherwise: usize) -> usize {
    let given = std::env::var(variable).ok();
    given.map_or(otherwise, |number| number.parse().expect("a number"))
}

/// Writes a file of artificial records with titles, names, subjects, years and numbers: a few hundred octets each, with
/// word frequencies as in a natural language.
pub(crate) fn made_up(folder: &Path, number: usize) -> PathBuf {
    let mut random = Random::new("engine bench");
    let syllables = [
        "ba", "den", "ko", "li", "mar", "nu", "po", "rest", "si", "tan", "ul", "ver",
    ];
    let word = |random: &mut Random| {
        // The n-th word is about 1/n as frequent as the first word.
        let place = (20_000_f64.powf(random.below(1_000_000) as f64 / 1e6)) as usize;
        let (mut rest, mut word) = (place, String::new());
        while rest > 0 {
            word.push_str(syllables[rest % syllables.len()]);
            rest /= syllables.len();
        }
        word
    };
    let words = |random: &mut Random, count: usize| {
        let words: Vec<String> = (0..count).map(|_| word(random)).collect();
        words.join(" ")
    };
    let path = folder.join("records.mrc");
    let mut file = BufWriter::new(File::create(&path).expect("a file"));
    for at in 1..=number {
        let title = words(&mut random, 5);
        let rest = words(&mut random, 4);
        let name = format!("{}, {}", word(&mut random), word(&mut random));
        let subjects = [(); 3].map(|()| words(&mut random, 2));
        let year = 1900 + random.below(120);
        let mut fields = vec![
            Field::control(b"001", format!("rec{at:07}")),
            Field::control(
                b"008",
                format!("990101s{year}    xx            000 0 eng  "),
            ),
            Field::data(b"020", "  ", [("a", format!("978{at:09}X"))]),
            Field::data(b"100", "1 ", [("a", name)]),
            Field::data(b"245", "10", [("a", title), ("b", rest)]),
            Field::data(
                b"260",
                "  ",
                [("b", words(&mut random, 2)), ("c", year.to_string())],
            ),
        ];
        let subjects = subjects.map(|subject| Field::data(b"650", " 0", [("a", subject)]));
        fields.extend(subjects);
        let leader = Leader::padded(b"00000nam a2200000 a 4500");
        let record = MarcRecord { leader, fields };
        let octets = iso2709::encode(&record).expect("fits");
        file.write_all(&octets).expect("written");
    }
    file.flush().expect("written");
    path
}

pub(crate) fn read(file: &Path) -> impl Iterator<Item = MarcRecord> {
    let input = File::open(file).expect("the file");
    let records = RecordReader::new(input, InputForm::Marc);
    records.map(|record| record.expect("read").record.expect("valid"))
}

/// Words from a record, from which queries are made.
#[derive(Clone)]
pub(crate) struct QuerySample {
    pub(crate) id: String,
    /// Two consecutive words of the title.
    pub(crate) words: (String, String),
    /// A word from the author's name.
    name: String,
}

/// Returns the number of records in a file, and samples of words from all parts of it.
pub(crate) fn samples(file: &Path) -> (usize, Vec<QuerySample>) {
    let records = read(file).count();
    let every = (records / QUERIES).max(1);
    let samples = read(file)
        .step_by(every)
        .filter_map(|record| sample(&record));
    (records, samples.take(QUERIES).collect())
}

fn sample(record: &MarcRecord) -> Option<QuerySample> {
    let words = |tag: &[u8; 3]| {
        let field = record.fields_by_tag(tag).next()?;
        let text = String::from_utf8_lossy(field.subfield("a")?).into_owned();
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
        Some(words.collect::<Vec<_>>())
    };
    let id = String::from_utf8_lossy(record.control_number()?)
        .trim()
        .to_owned();
    let mut title = words(b"245")?.into_iter();
    let words_of_title = (title.next()?, title.next()?);
    let name = words(b"100")?.into_iter().next()?;
    Some(QuerySample {
        id,
        words: words_of_title,
        name,
    })
}

pub(crate) const KNOWN_ITEM: &str = "known item";

/// Returns the queries for a record with the names of their kinds.
pub(crate) fn queries(sample: &QuerySample) -> [(&'static str, String); 5] {
    let QuerySample {
        id,
        words: (one, two),
        name,
    } = sample;
    let start: String = one.chars().take(4).collect();
    [
        (KNOWN_ITEM, format!("@attr 1=1032 {id}")),
        ("word", format!("@attr 1=4 {one}")),
        ("phrase", format!("@attr 1=4 @attr 4=1 \"{one} {two}\"")),
        ("and", format!("@and @attr 1=4 {one} @attr 1=1003 {name}")),
        ("truncation", format!("@attr 1=4 @attr 5=1 {start}")),
    ]
}
