//! Compares the database with brute force over the records, query by query: random combinations of all attributes, operators,
//! proximity, scans, sorts, facets and counts. If a query is refused, the diagnostic must be that of the memory backend, or must
//! be in the table of differences.

use std::collections::{BTreeMap, BTreeSet};

use z3950_asn1::query::parse_pqf;
use z3950_marc::MarcRecord;
use z3950_marc::standard_number::Isbn;
use z3950_server::MemoryBackend;
use z3950_server::backend::{Backend, DatabaseName, Search};
use z3950_tests::koha::{Edition, KohaIndex, NAMES, WORDS, made_up, of_libraries, shared_node};
use z3950_tests::random::Random;

use super::brute::{ACCESS, Asked, Brute, NOTE, Near, Numbers, Tree};
use super::{all_numbers, opened};

/// The answer to a query: the number of records, together with their numbers if there are few records, or the condition of the
/// diagnostic.
type Outcome = Result<(usize, Numbers), i64>;

/// The maximum number of records whose numbers are compared.
const FEW: usize = 40;

async fn outcome(backend: &dyn Backend, pqf: &str) -> Outcome {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let names = [DatabaseName::from("town")];
    let found = backend.search(Search::new(&names, &query)).await;
    let hits = found.map_err(|why| why.condition)?.hits;
    if hits.len() > FEW {
        return Ok((hits.len(), Numbers::new()));
    }
    let numbers = all_numbers(backend, &hits).await;
    Ok((hits.len(), numbers.into_iter().collect()))
}

/// Returns the outcome for these records.
fn expected(numbers: Numbers) -> Outcome {
    let count = numbers.len();
    let few = if count > FEW { Numbers::new() } else { numbers };
    Ok((count, few))
}

/// Returns the number of records that a query finds, or the condition of its diagnostic.
async fn count(backend: &dyn Backend, pqf: &str) -> Result<usize, i64> {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let names = [DatabaseName::from("town")];
    let found = backend.search(Search::new(&names, &query)).await;
    found
        .map(|found| found.hits.len())
        .map_err(|why| why.condition)
}

/// Returns random terms with random attributes. Each attribute type occurs in about half of the terms.
fn combinations(
    random: &mut Random,
    values: &BTreeMap<i64, Vec<String>>,
    number: usize,
) -> Vec<Asked> {
    let mut asked = Vec::new();
    for _ in 0..number {
        let (access, _) = *random.pick(ACCESS);
        let mut next = Asked::new(access, term(random, &values[&access]));
        let mut given = |values: &[i64]| {
            if random.below(2) == 0 {
                *random.pick(values)
            } else {
                0
            }
        };
        next.relation = given(&[1, 2, 3, 4, 5, 6, 100, 101, 102, 103]);
        next.position = given(&[1, 2, 3]);
        next.structure = given(&[1, 2, 3, 4, 5, 6, 101, 102, 104, 105, 106, 107, 108, 109]);
        next.truncation = given(&[1, 2, 3, 100, 101, 104]);
        next.completeness = given(&[1, 2, 3]);
        if matches!(next.truncation, 101 | 104) {
            next.term = masked(random);
        }
        asked.push(next);
    }
    asked
}

/// Returns a term that consists of a part of a value of the access point or of other words. It may be truncated, and is written
/// as in the value or in capitals.
fn term(random: &mut Random, values: &[String]) -> String {
    let value = match random.below(6) {
        0 => random.pick(&WORDS).to_owned().to_owned(),
        1 => random.pick(&NAMES).to_owned().to_owned(),
        2 => "zzz".to_owned(),
        _ => random.pick(values).clone(),
    };
    let words: Vec<&str> = value.split(' ').collect();
    let start = random.below(words.len());
    let length = random.below(words.len() - start) + 1;
    let mut text = match random.below(3) {
        0 => value.clone(),
        _ => words[start..start + length].join(" "),
    };
    match random.below(6) {
        0 => text = text.to_uppercase(),
        1 => {
            let kept = random.below(text.chars().count()) + 1;
            text = text.chars().take(kept).collect();
        }
        _ => {}
    }
    text
}

/// Returns words that consist of letters. One of the words contains a mask.
fn masked(random: &mut Random) -> String {
    const LETTERS: [&str; 10] = [
        "war",
        "peace",
        "history",
        "Müller",
        "война",
        "naïve",
        "Łódź",
        "redaktør",
        "press",
        "world",
    ];
    let word = *random.pick(&LETTERS);
    let at = random.below(word.chars().count());
    let mask = *random.pick(&["#", "?", "?2"]);
    let (before, after): (String, String) = (
        word.chars().take(at).collect(),
        word.chars().skip(at + 1).collect(),
    );
    let masked = format!("{before}{mask}{after}");
    if random.below(3) == 0 {
        format!("{masked} {}", random.pick(&LETTERS))
    } else {
        masked
    }
}

/// The catalogue, the memory backend and the brute-force search, which have the same documents.
pub(super) struct Compared<'i, 'c> {
    pub(super) engine: Box<dyn Backend>,
    pub(super) memory: MemoryBackend,
    brute: Brute<'i, 'c>,
}

impl<'i, 'c> Compared<'i, 'c> {
    pub(super) async fn new(index: &'i KohaIndex<'c>) -> Self {
        let records = index
            .documents
            .iter()
            .map(|document| document.record.clone());
        let memory = MemoryBackend::builder().add_records("town", records);
        Self {
            engine: Box::new(opened(index)),
            memory: memory.expect("records").build(),
            brute: Brute::new(index),
        }
    }

    /// Compares the answers to a term. Returns a description of the difference, if there is one, and whether the query was
    /// answered.
    async fn compare(&self, asked: &Asked) -> (Option<String>, bool) {
        let pqf = asked.pqf();
        let engine = outcome(&*self.engine, &pqf).await;
        let right = match (&engine, count(&self.memory, &pqf).await) {
            (Err(condition), _) if is_known(asked, *condition) => Err(*condition),
            (_, Err(condition)) => Err(condition),
            _ => expected(self.brute.find(asked)),
        };
        let wrong = (engine != right).then(|| format!("{pqf}: {engine:?} instead of {right:?}"));
        (wrong, engine.is_ok())
    }
}

/// Returns a random term of a kind that is never refused.
fn plain(random: &mut Random) -> Asked {
    // C++ is left out, because truncation could leave only its punctuation.
    let words: Vec<&str> = WORDS.into_iter().filter(|word| *word != "C++").collect();
    let word = *random.pick(&words);
    let mut asked = Asked::new(*random.pick(&[4, 21, NOTE]), word);
    match random.below(6) {
        0 => (asked.structure, asked.term) = (1, format!("{word} {}", random.pick(&WORDS))),
        1 => (asked.truncation, asked.term) = (1, word.chars().take(2).collect()),
        2 => (asked.truncation, asked.term) = (2, word.chars().skip(1).collect()),
        3 => (asked.access, asked.position) = (4, 1),
        4 => (asked.access, asked.term) = (1003, (*random.pick(&NAMES)).to_owned()),
        _ => {}
    }
    asked
}

/// Returns random terms combined with operators.
fn joined(random: &mut Random, levels: usize) -> Tree {
    if levels == 0 {
        return Tree::Term(plain(random));
    }
    let (left, right) = (random.below(levels), random.below(levels));
    let (left, right) = (
        Box::new(joined(random, left)),
        Box::new(joined(random, right)),
    );
    match random.below(3) {
        0 => Tree::And(left, right),
        1 => Tree::Or(left, right),
        _ => Tree::Not(left, right),
    }
}

/// Returns two different words near each other, one of which may be truncated.
fn near(random: &mut Random) -> Near {
    const SINGLE: [&str; 10] = [
        "war",
        "peace",
        "and",
        "of",
        "history",
        "Łódź",
        "O'Neill",
        "naïve",
        "мир",
        "redaktør",
    ];
    let access = *random.pick(&[4, 21, NOTE]);
    let at = random.below(SINGLE.len());
    let other = (at + 1 + random.below(SINGLE.len() - 1)) % SINGLE.len();
    let mut right = Asked::new(access, SINGLE[other]);
    if random.below(4) == 0 {
        (right.truncation, right.term) = (1, SINGLE[other].chars().take(3).collect());
    }
    Near {
        left: Asked::new(access, SINGLE[at]),
        right,
        distance: random.below(8) + 2,
        is_ordered: random.below(2) == 0,
        relation: *random.pick(&[1, 2, 3]),
    }
}

/// Returns whether the table of differences contains the refusal of this term with this condition.
fn is_known(asked: &Asked, condition: i64) -> bool {
    // Words do not have an order, so relations such as "less than" are refused for them.
    condition == 117 && matches!(asked.relation, 1 | 2 | 4 | 5) && asked.structure == 2
}

/// Returns the values of each access point.
fn values(index: &KohaIndex<'_>) -> BTreeMap<i64, Vec<String>> {
    let of = |fields: &[&str]| {
        let documents = index.documents.iter();
        let values = documents
            .flat_map(|document| fields.iter().flat_map(move |field| document.values(field)));
        let values: BTreeSet<&String> = values.collect();
        values.into_iter().cloned().collect()
    };
    ACCESS
        .iter()
        .map(|(access, fields)| (*access, of(fields)))
        .collect()
}

fn records() -> Vec<MarcRecord> {
    [made_up(300), of_libraries()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn terms_find_records_according_to_their_attributes() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "compared", Edition::Current, &records());
    let compared = Compared::new(&index).await;
    let mut random = Random::new("terms of Koha");
    let (mut wrong, mut answered) = (Vec::new(), 0);
    for asked in combinations(&mut random, &values(&index), 1_500) {
        let (difference, is_answered) = compared.compare(&asked).await;
        wrong.extend(difference);
        answered += usize::from(is_answered);
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert!(answered > 300, "{answered} queries are answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_and_distances_find_the_correct_records() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "joined", Edition::Current, &made_up(400));
    let (engine, brute) = (opened(&index), Brute::new(&index));
    let mut random = Random::new("operators of Koha");
    let mut trees: Vec<Tree> = (0..300).map(|_| joined(&mut random, 6)).collect();
    trees.extend((0..400).map(|_| Tree::Near(near(&mut random))));
    let (mut wrong, mut finding) = (Vec::new(), 0);
    for tree in &trees {
        let pqf = tree.pqf();
        let numbers = brute.answer(tree);
        finding += usize::from(!numbers.is_empty());
        let (found, right) = (outcome(&engine, &pqf).await, expected(numbers));
        if found != right {
            wrong.push(format!("{pqf}: {found:?} instead of {right:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert!(finding > 300, "{finding} queries find records");
}

/// A record can be found by each form of its numbers.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_found_in_each_form() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "numbers", Edition::Current, &made_up(150));
    let engine = opened(&index);
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for document in super::brute::shown(&index) {
        let text = |tag: &str| {
            document
                .record
                .field(tag)
                .and_then(|field| field.text("a"))
                .map(|text| text.into_owned())
        };
        let mut queries = Vec::new();
        if let Some(isbn) = text("020").and_then(|text| Isbn::parse(text.split(" (").next()?)) {
            let thirteen = isbn.to_string();
            queries.extend([
                (7, thirteen.clone()),
                (7, format!("{}-{}", &thirteen[..3], &thirteen[3..])),
            ]);
            let ten = isbn.ten().expect("an ISBN of ten digits");
            queries.extend([
                (7, ten.to_lowercase()),
                (7, format!("{} {}", &ten[..1], &ten[1..])),
                (7, ten),
            ]);
        }
        if let Some(issn) = text("022") {
            queries.extend([
                (8, issn.replace('-', "")),
                (8, issn.to_lowercase()),
                (8, issn),
            ]);
        }
        if let Some(lccn) = text("010") {
            queries.extend([(9, lccn.trim().to_owned()), (9, lccn)]);
        }
        queries.push((12, document.number.to_string()));
        queries.push((1032, document.number.to_string()));
        for (access, term) in queries {
            asked += 1;
            let found = outcome(&engine, &format!("@attr 1={access} \"{term}\"")).await;
            if found != expected(Numbers::from([document.number])) {
                wrong.push(format!(
                    "{access} {term}: {found:?} instead of {}",
                    document.number
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong of {asked}: {wrong:#?}",
        wrong.len()
    );
    assert!(asked > 500, "{asked}");
}
