//! Answers queries by examining each value of each document. Of the engine's functions, only the one that divides text into words
//! is used. Combinations of attributes have the same meaning as in the memory backend, except that values take the place of
//! fields and subfields.

mod pattern;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use z3950_tests::koha::{KohaDocument, KohaIndex};

use self::pattern::{Pattern, has_phrase};

/// The numbers of the documents found.
pub(super) type Numbers = BTreeSet<usize>;

/// A term with its attributes. Zero means that the attribute is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) access: i64,
    pub(super) relation: i64,
    pub(super) position: i64,
    pub(super) structure: i64,
    pub(super) truncation: i64,
    pub(super) completeness: i64,
    pub(super) term: String,
}

impl Asked {
    pub(super) fn new(access: i64, term: impl Into<String>) -> Self {
        Self {
            access,
            term: term.into(),
            ..Self::default()
        }
    }

    /// Returns the query in PQF.
    pub(super) fn pqf(&self) -> String {
        let types = [
            self.access,
            self.relation,
            self.position,
            self.structure,
            self.truncation,
            self.completeness,
        ];
        let mut pqf = String::new();
        for (number, value) in (1..).zip(types).filter(|(_, value)| *value != 0) {
            let _ = write!(pqf, "@attr {number}={value} ");
        }
        let term = self.term.replace('\\', "\\\\").replace('"', "\\\"");
        pqf + "\"" + &term + "\""
    }
}

/// The access points that are searched as text, each with its Use attribute and Koha's fields.
pub(super) const ACCESS: &[(i64, &[&str])] = &[
    (1, &["personal-name"]),
    (4, &["title", "title-no-punctuation"]),
    (5, &["title-series"]),
    (13, &["dewey-classification"]),
    (16, &["lc-call-number"]),
    (21, &["subject"]),
    (53, &["local-classification"]),
    (1003, &["author"]),
    (1018, &["publisher"]),
];

/// The Use attribute of notes, which are only searched for words.
pub(super) const NOTE: i64 = 63;

/// Returns Koha's fields for an access point.
pub(super) fn fields(access: i64) -> &'static [&'static str] {
    if access == NOTE {
        return &["note"];
    }
    let mut points = ACCESS.iter();
    let point = points.find(|(known, _)| *known == access);
    point.map(|(_, fields)| *fields).expect("an access point")
}

/// Returns the documents that are not suppressed.
pub(super) fn shown<'i>(index: &'i KohaIndex<'_>) -> impl Iterator<Item = &'i KohaDocument> {
    index
        .documents
        .iter()
        .filter(|document| document.values("suppress") != ["true"])
}

/// A query as a tree of terms and operators.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Term(Asked),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
    Not(Box<Tree>, Box<Tree>),
    Near(Near),
}

/// Two words that must occur at a certain distance in the same access point.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) left: Asked,
    pub(super) right: Asked,
    pub(super) distance: usize,
    pub(super) is_ordered: bool,
    /// The relation between the actual and the given distance: 1 for less than, 2 for less than or equal, 3 for equal.
    pub(super) relation: i64,
}

impl Tree {
    /// Returns the query in PQF.
    pub(super) fn pqf(&self) -> String {
        let joined = |operator: &str, left: &Self, right: &Self| {
            format!("{operator} {} {}", left.pqf(), right.pqf())
        };
        match self {
            Self::Term(asked) => asked.pqf(),
            Self::And(left, right) => joined("@and", left, right),
            Self::Or(left, right) => joined("@or", left, right),
            Self::Not(left, right) => joined("@not", left, right),
            Self::Near(near) => {
                let Near {
                    left,
                    right,
                    distance,
                    is_ordered,
                    relation,
                } = near;
                let ordered = u8::from(*is_ordered);
                format!(
                    "@prox 0 {distance} {ordered} {relation} k 2 {} {}",
                    left.pqf(),
                    right.pqf()
                )
            }
        }
    }
}

/// A way in which the index divides text. Each way is represented by a field that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alphabet {
    Words,
    /// The complete value without punctuation.
    Whole,
    /// The complete value with punctuation.
    Key,
}

impl Alphabet {
    fn field(self) -> &'static str {
        match self {
            Self::Words => "title",
            Self::Whole => "title.phrase",
            Self::Key => "title.ci_raw",
        }
    }
}

/// Answers queries by brute force over the documents of an index.
pub(super) struct Brute<'i, 'c> {
    index: &'i KohaIndex<'c>,
    /// The words of all texts that have been divided so far.
    known: RefCell<BTreeMap<(Alphabet, String), Vec<String>>>,
}

/// The maximum number of texts that are divided in one request to the index.
const MOST_TEXTS: usize = 100;
/// A word that separates texts that are divided together.
const BETWEEN: &str = "zqxj";

impl<'i, 'c> Brute<'i, 'c> {
    pub(super) fn new(index: &'i KohaIndex<'c>) -> Self {
        let brute = Self {
            index,
            known: RefCell::default(),
        };
        for (_, fields) in ACCESS {
            let documents = index.documents.iter();
            let values = documents
                .flat_map(|document| fields.iter().flat_map(move |field| document.values(field)));
            let values: BTreeSet<&str> = values.map(String::as_str).collect();
            for alphabet in [Alphabet::Words, Alphabet::Whole, Alphabet::Key] {
                brute.divide(alphabet, &values.iter().copied().collect::<Vec<_>>());
            }
        }
        brute
    }

    /// Requests the division of texts into words from the index, and stores the words.
    fn divide(&self, alphabet: Alphabet, texts: &[&str]) {
        let mut known = self.known.borrow_mut();
        for texts in texts.chunks(MOST_TEXTS) {
            let divided = texts
                .iter()
                .flat_map(|text| [BETWEEN, *text])
                .collect::<Vec<_>>();
            let words = self.index.analyze(alphabet.field(), &divided);
            let mut divided = words.split(|word| word == BETWEEN).skip(1);
            for text in texts {
                let words = divided.next().expect("the words of each text");
                known.insert((alphabet, (*text).to_owned()), words.to_vec());
            }
        }
    }

    fn words(&self, alphabet: Alphabet, text: &str) -> Vec<String> {
        let key = (alphabet, text.to_owned());
        if !self.known.borrow().contains_key(&key) {
            self.divide(alphabet, &[text]);
        }
        self.known.borrow()[&key].clone()
    }

    fn whole(&self, alphabet: Alphabet, text: &str) -> String {
        self.words(alphabet, text).concat()
    }

    /// Returns the documents in which at least one value of the fields is accepted.
    fn having(&self, fields: &[&str], accepts: impl Fn(&str) -> bool) -> Numbers {
        let documents = shown(self.index).filter(|document| {
            let mut values = fields.iter().flat_map(|field| document.values(field));
            values.any(|value| accepts(value))
        });
        documents.map(|document| document.number).collect()
    }

    /// Returns the documents that a query finds.
    pub(super) fn answer(&self, tree: &Tree) -> Numbers {
        match tree {
            Tree::Term(asked) => self.find(asked),
            Tree::And(left, right) => &self.answer(left) & &self.answer(right),
            Tree::Or(left, right) => &self.answer(left) | &self.answer(right),
            Tree::Not(left, right) => &self.answer(left) - &self.answer(right),
            Tree::Near(near) => self.near(near),
        }
    }

    /// Returns the documents in which two words occur at a certain distance in one value.
    fn near(&self, near: &Near) -> Numbers {
        let [left, right] = [&near.left, &near.right].map(|asked| {
            let words = self.patterns(Alphabet::Words, asked);
            let [word] = &*words else {
                panic!("{asked:?} is not one word");
            };
            word.clone()
        });
        let fields = fields(near.left.access);
        self.having(fields, |value| {
            let words = self.words(Alphabet::Words, value);
            let places = |pattern: &Pattern| {
                let numbered = words.iter().enumerate();
                let found = numbered.filter(|(_, word)| pattern.fits(word));
                found.map(|(place, _)| place).collect::<Vec<_>>()
            };
            let rights = places(&right);
            let is_near = |left: usize, right: usize| {
                let is_reached = |distance: usize| match near.relation {
                    1 => distance < near.distance,
                    2 => distance <= near.distance,
                    _ => distance == near.distance,
                };
                left != right
                    && (left < right || !near.is_ordered)
                    && is_reached(left.abs_diff(right))
            };
            places(&left)
                .iter()
                .any(|left| rights.iter().any(|right| is_near(*left, *right)))
        })
    }

    /// Returns the folded values of fields in the order in which the index lists them, each with the number of documents.
    pub(super) fn list(&self, fields: &[&str], within: Option<&Numbers>) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<String, Numbers> = BTreeMap::new();
        let documents = shown(self.index)
            .filter(|document| within.is_none_or(|within| within.contains(&document.number)));
        for document in documents {
            for value in fields.iter().flat_map(|field| document.values(field)) {
                let key = self.whole(Alphabet::Key, value);
                counts.entry(key).or_default().insert(document.number);
            }
        }
        counts
            .into_iter()
            .map(|(key, numbers)| (key, numbers.len()))
            .collect()
    }

    /// Returns the text in the form in which the index lists it.
    pub(super) fn key(&self, text: &str) -> String {
        self.whole(Alphabet::Key, text)
    }

    /// Returns the documents that a term finds.
    pub(super) fn find(&self, asked: &Asked) -> Numbers {
        let fields = fields(asked.access);
        let all = || self.having(fields, |_| true);
        match asked.relation {
            103 => all(),
            6 => &all() - &self.equal(fields, asked),
            1 | 2 | 4 | 5 => {
                let bound = self.whole(Alphabet::Key, asked.term.trim());
                self.having(fields, |value| {
                    let value = self.whole(Alphabet::Key, value);
                    match asked.relation {
                        1 => value < bound,
                        2 => value <= bound,
                        4 => value >= bound,
                        _ => value > bound,
                    }
                })
            }
            _ => self.equal(fields, asked),
        }
    }

    fn equal(&self, fields: &[&str], asked: &Asked) -> Numbers {
        let is_whole = matches!(asked.structure, 3 | 108) || asked.completeness > 1;
        let is_at_start = matches!(asked.position, 1 | 2);
        let (left, right) = open_ends(asked.truncation);
        let (is_first, is_last) = (is_at_start || is_whole && !left, is_whole && !right);
        if is_first || is_last {
            let words = self.patterns(Alphabet::Whole, asked);
            return self.having(fields, |value| {
                let whole = self.whole(Alphabet::Whole, value);
                let found: Vec<&str> = whole.split_whitespace().collect();
                has_phrase(&found, &words, is_first, is_last)
            });
        }
        let words = asked.term.split_whitespace();
        let words: Vec<&str> = words
            .filter(|word| word.chars().any(char::is_alphanumeric) || !(left || right))
            .collect();
        if is_whole || matches!(asked.structure, 1 | 101) || words.len() == 1 {
            return self.phrase(fields, &self.patterns(Alphabet::Words, asked));
        }
        let sets = words
            .into_iter()
            .filter_map(|word| self.word(fields, asked, word));
        let joined = if asked.structure == 106 {
            sets.reduce(|one, other| &one | &other)
        } else {
            sets.reduce(|one, other| &one & &other)
        };
        joined.unwrap_or_default()
    }

    fn phrase(&self, fields: &[&str], words: &[Pattern]) -> Numbers {
        self.having(fields, |value| {
            let found = self.words(Alphabet::Words, value);
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            has_phrase(&found, words, false, false)
        })
    }

    /// Returns the documents that one word in a list of words finds, or `None` if nothing remains of the word after analysis. The
    /// index may divide the word into several words. These must be adjacent if the word is truncated; otherwise, they may be
    /// anywhere in a field.
    fn word(&self, fields: &[&str], asked: &Asked, word: &str) -> Option<Numbers> {
        let asked = Asked {
            term: word.to_owned(),
            ..asked.clone()
        };
        let words = self.patterns(Alphabet::Words, &asked);
        if asked.truncation != 0 && asked.truncation != 100 {
            return Some(self.phrase(fields, &words));
        }
        let of_field = |field: &str| {
            let sets = words
                .iter()
                .map(|word| self.phrase(&[field], std::slice::from_ref(word)));
            if asked.structure == 106 {
                sets.reduce(|one, other| &one | &other)
            } else {
                sets.reduce(|one, other| &one & &other)
            }
        };
        let sets = fields.iter().filter_map(|field| of_field(field));
        sets.reduce(|one, other| &one | &other)
    }

    /// Returns the words of a term. Truncation applies only to the beginning of the first word and the end of the last one.
    fn patterns(&self, alphabet: Alphabet, asked: &Asked) -> Vec<Pattern> {
        if matches!(asked.truncation, 101 | 104) {
            let words = asked.term.split_whitespace();
            let words = words.map(|word| {
                Pattern::masked(word, asked.truncation, |literal| {
                    self.whole(Alphabet::Key, literal)
                })
            });
            return words.collect();
        }
        let words: Vec<String> = match alphabet {
            Alphabet::Whole => {
                let whole = self.whole(Alphabet::Whole, &asked.term);
                whole.split_whitespace().map(str::to_owned).collect()
            }
            _ => self.words(alphabet, &asked.term),
        };
        let last = words.len().saturating_sub(1);
        let (left, right) = open_ends(asked.truncation);
        let words = words.iter().enumerate();
        let words = words
            .map(|(place, word)| Pattern::new(word, left && place == 0, right && place == last));
        words.collect()
    }
}

/// Returns whether the left and the right end of a term are truncated.
fn open_ends(truncation: i64) -> (bool, bool) {
    (matches!(truncation, 2 | 3), matches!(truncation, 1 | 3))
}
