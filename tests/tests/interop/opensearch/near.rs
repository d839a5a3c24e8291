//! Compares proximity searches with a brute-force search that does not use any of the server's code. It examines every pair of
//! words in every field (Z39.50-2003 §3.7.2).

use std::fmt::Write as _;

use z3950_tests::opensearch::Cluster;
use z3950_tests::random::Random;

use super::served::{found, opened};
use super::{Home, assert_ran};

const WORDS: [&str; 7] = ["war", "warm", "ware", "peace", "and", "the", "art"];
const RECORDS: usize = 400;
const QUERIES: usize = 1_000;

/// The positions of the first and the last word of a match in a field.
type Place = (usize, usize);

/// The words in each field of a record.
type Fields = Vec<Vec<&'static str>>;

/// An operand of a proximity operator.
enum Operand {
    /// Adjacent words.
    Phrase(Vec<&'static str>),
    /// A word that begins with this text.
    Beginning(&'static str),
    Near(Box<Near>),
}

struct Near {
    excludes: bool,
    distance: usize,
    is_ordered: bool,
    relation: usize,
    unit: usize,
    left: Operand,
    right: Operand,
}

/// The code for words as the unit of a distance.
const WORD: usize = 2;

impl Operand {
    fn random(random: &mut Random, levels: usize) -> Self {
        match random.below(8) {
            0 if levels > 0 => Self::Near(Box::new(Near::random(random, levels - 1))),
            1 => Self::Beginning(random.pick::<&str>(&["wa", "war", "a", "th"])),
            2 => Self::Phrase((0..2).map(|_| *random.pick(&WORDS)).collect()),
            _ => Self::Phrase(vec![*random.pick(&WORDS)]),
        }
    }

    fn pqf(&self) -> String {
        match self {
            Self::Phrase(words) => format!("@attr 1=21 @attr 4=1 {{{}}}", words.join(" ")),
            Self::Beginning(start) => format!("@attr 1=21 @attr 5=1 {start}"),
            Self::Near(near) => near.pqf(),
        }
    }

    /// Returns the positions of the first and the last word of each match in a field.
    fn places(&self, field: &[&str]) -> Vec<Place> {
        match self {
            Self::Phrase(words) => {
                let starts = field.windows(words.len()).enumerate();
                let starts = starts.filter(|(_, part)| part == words);
                starts
                    .map(|(start, _)| (start, start + words.len() - 1))
                    .collect()
            }
            Self::Beginning(start) => {
                let words = field.iter().enumerate();
                let words = words.filter(|(_, word)| word.starts_with(start));
                words.map(|(at, _)| (at, at)).collect()
            }
            Self::Near(near) => near.places(field),
        }
    }

    fn has_phrases(&self) -> bool {
        match self {
            Self::Near(near) => near.has_phrases(),
            _ => false,
        }
    }
}

impl Near {
    fn random(random: &mut Random, levels: usize) -> Self {
        // Queries with the relations 4 to 6 are refused, so only a few queries use them.
        let relations = if levels == 1 && random.below(8) == 0 {
            6
        } else {
            3
        };
        Self {
            excludes: levels == 1 && random.below(5) == 0,
            distance: random.below(8),
            is_ordered: random.below(2) == 0,
            relation: random.below(relations) + 1,
            unit: if levels == 1 && random.below(12) == 0 {
                random.below(9) + 1
            } else {
                WORD
            },
            left: Operand::random(random, levels),
            right: Operand::random(random, levels),
        }
    }

    fn pqf(&self) -> String {
        let Self {
            distance,
            relation,
            unit,
            ..
        } = self;
        let [excludes, ordered] = [self.excludes, self.is_ordered].map(usize::from);
        let (left, right) = (self.left.pqf(), self.right.pqf());
        format!("@prox {excludes} {distance} {ordered} {relation} k {unit} {left} {right}")
    }

    /// Returns the positions of the first and the last word of each matching pair.
    fn places(&self, field: &[&str]) -> Vec<Place> {
        let mut found = Vec::new();
        for one in self.left.places(field) {
            for other in self.right.places(field) {
                let is_far = |distance: usize| match self.relation {
                    1 => distance < self.distance,
                    2 => distance <= self.distance,
                    _ => distance == self.distance,
                };
                let is_before = one.1 < other.0 && is_far(other.0 - one.1);
                let is_after = !self.is_ordered && other.1 < one.0 && is_far(one.0 - other.1);
                if is_before || is_after {
                    found.push((one.0.min(other.0), one.1.max(other.1)));
                }
            }
        }
        found
    }

    fn finds(&self, record: &Fields) -> bool {
        let has = |places: &dyn Fn(&[&str]) -> Vec<Place>| {
            record.iter().any(|field| !places(field).is_empty())
        };
        let is_near = has(&|field| self.places(field));
        if !self.excludes {
            return is_near;
        }
        has(&|field| self.left.places(field)) && has(&|field| self.right.places(field)) && !is_near
    }

    /// Returns the condition with which the operator is refused, or `None` if it is not refused.
    fn refusal(&self) -> Option<i64> {
        if self.unit != WORD {
            Some(132)
        } else if self.relation > 3 {
            Some(131)
        } else {
            None
        }
    }

    /// Returns whether the phrases that the operands match must be listed. The query is refused if there are too many phrases.
    fn has_phrases(&self) -> bool {
        let is_nest = |operand: &Operand| matches!(operand, Operand::Near(_));
        let is_own = self.relation == 3 || is_nest(&self.left) || is_nest(&self.right);
        is_own || self.left.has_phrases() || self.right.has_phrases()
    }
}

/// Returns the words of each field of each record, and the records as MARCMaker text. A field has one or two subfields.
fn records(random: &mut Random) -> (Vec<Fields>, String) {
    let mut text = String::new();
    let records = (0..RECORDS).map(|at| {
        let _ = write!(
            text,
            "=LDR  00000nam a2200000 a 4500\n=001  {at}\n=245  10$aRecord\n"
        );
        let fields = (0..random.below(4)).map(|_| {
            let mut words = |most| {
                (0..random.below(most) + 1)
                    .map(|_| *random.pick(&WORDS))
                    .collect()
            };
            let [one, other]: [Vec<&str>; 2] = [words(8), words(5)];
            let _ = writeln!(text, "=650  \\0$a{}$x{}", one.join(" "), other.join(" "));
            [one, other].concat()
        });
        let fields = fields.collect();
        text.push('\n');
        fields
    });
    (records.collect(), text)
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_r_l1_proximity_is_that_of_a_brute_force() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let mut random = Random::new("proximity by brute force");
    let (records, text) = records(&mut random);
    let home = Home::new(cluster, "near");
    home.write_mrk("all.mrc", &text);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["400 records loaded"]);
    let database = opened(&home, false);
    let (mut wrong, mut finding, mut refused, mut too_many) = (Vec::new(), 0, 0, 0);
    for _ in 0..QUERIES {
        let near = Near::random(&mut random, 1);
        let expected = match near.refusal() {
            Some(condition) => Err(condition),
            None => Ok(records.iter().filter(|record| near.finds(record)).count()),
        };
        let pqf = near.pqf();
        let answer = found(&database, &pqf).await.map(|(records, _)| records);
        if matches!(answer, Err(31 | 202)) && near.has_phrases() {
            too_many += 1;
        } else if answer != expected {
            wrong.push(format!("{pqf}: {answer:?} instead of {expected:?}"));
        }
        finding += usize::from(expected.is_ok_and(|found| found > 0));
        refused += usize::from(expected.is_err());
    }
    println!(
        "{QUERIES} proximities: {finding} find records, {refused} are refused, {too_many} have too many phrases"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        finding > QUERIES / 4 && too_many < QUERIES / 20,
        "{finding} {too_many}"
    );
}
