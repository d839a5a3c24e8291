//! Answers queries by examining each value of each document. Of the engine's functions, only the one that divides text into words
//! is used. Combinations of attributes have the same meaning as in the memory backend, except that values take the place of
//! fields and subfields.

mod pattern;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use z3950_tests::koha::{KohaDocument, KohaIndex};

use self::pattern::{Pattern, has_phrase};

/// The numbers of the documents found.
pub(super) type Numbers = BTreeSet<usize>;

/// A term with its attributes. Zero means that the term does not have the attribute.
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
    /// The values of each field that has been examined so far.
    fields: RefCell<BTreeMap<String, Rc<FieldValues>>>,
    /// The words of the terms that have been divided so far.
    terms: RefCell<BTreeMap<(Alphabet, String), Vec<String>>>,
}

/// The documents that are not suppressed and have a field, each with its number and the values of the field.
type FieldValues = Vec<(usize, Vec<Divided>)>;

/// A value of a field, divided in each way.
struct Divided {
    words: Vec<String>,
    whole: Vec<String>,
    key: String,
}

/// The maximum number of texts that are divided in one request to the index.
const MOST_TEXTS: usize = 100;
/// A word that separates texts that are divided together.
const BETWEEN: &str = "zqxj";

impl<'i, 'c> Brute<'i, 'c> {
    pub(super) fn new(index: &'i KohaIndex<'c>) -> Self {
        Self {
            index,
            fields: RefCell::default(),
            terms: RefCell::default(),
        }
    }

    /// Has the index divide texts, and returns the words of each text.
    fn divide(&self, alphabet: Alphabet, texts: &[&str]) -> Vec<Vec<String>> {
        let chunks = texts.chunks(MOST_TEXTS).flat_map(|texts| {
            let separated: Vec<_> = texts.iter().flat_map(|text| [BETWEEN, *text]).collect();
            let words = self.index.analyze(alphabet.field(), &separated);
            let divided = words.split(|word| word == BETWEEN).skip(1);
            let divided: Vec<_> = divided.map(<[String]>::to_vec).collect();
            assert_eq!(divided.len(), texts.len(), "the words of each text");
            divided
        });
        chunks.collect()
    }

    /// Returns the words of a term.
    fn words(&self, alphabet: Alphabet, term: &str) -> Vec<String> {
        let mut terms = self.terms.borrow_mut();
        let divide = || self.divide(alphabet, &[term]).swap_remove(0);
        terms
            .entry((alphabet, term.to_owned()))
            .or_insert_with(divide)
            .clone()
    }

    fn whole(&self, alphabet: Alphabet, term: &str) -> String {
        self.words(alphabet, term).concat()
    }

    /// Returns the values of a field.
    fn values(&self, field: &str) -> Rc<FieldValues> {
        let mut fields = self.fields.borrow_mut();
        let divided = fields
            .entry(field.to_owned())
            .or_insert_with(|| Rc::new(self.divided(field)));
        Rc::clone(divided)
    }

    fn divided(&self, field: &str) -> FieldValues {
        let documents = || shown(self.index).filter(|document| !document.values(field).is_empty());
        let texts: Vec<&str> = documents()
            .flat_map(|document| document.values(field))
            .map(String::as_str)
            .collect();
        let [words, whole, key] = [Alphabet::Words, Alphabet::Whole, Alphabet::Key]
            .map(|alphabet| self.divide(alphabet, &texts).into_iter());
        let mut values = words.zip(whole).zip(key).map(|((words, whole), key)| {
            let whole = whole.concat();
            Divided {
                words,
                whole: whole.split_whitespace().map(str::to_owned).collect(),
                key: key.concat(),
            }
        });
        let documents = documents().map(|document| {
            let count = document.values(field).len();
            (document.number, values.by_ref().take(count).collect())
        });
        documents.collect()
    }

    /// Returns the documents in which at least one value of the fields is accepted.
    fn having(&self, fields: &[&str], accepts: impl Fn(&Divided) -> bool) -> Numbers {
        let mut numbers = Numbers::new();
        for field in fields {
            let values = self.values(field);
            let accepted = values
                .iter()
                .filter(|(_, values)| values.iter().any(&accepts));
            numbers.extend(accepted.map(|(number, _)| *number));
        }
        numbers
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
            let places = |pattern: &Pattern| {
                let numbered = value.words.iter().enumerate();
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
        for field in fields {
            for (number, values) in self.values(field).iter() {
                if within.is_none_or(|within| within.contains(number)) {
                    for value in values {
                        let key = value.key.clone();
                        counts.entry(key).or_default().insert(*number);
                    }
                }
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
                self.having(fields, |value| match asked.relation {
                    1 => value.key < bound,
                    2 => value.key <= bound,
                    4 => value.key >= bound,
                    _ => value.key > bound,
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
                has_phrase(&value.whole, &words, is_first, is_last)
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
            has_phrase(&value.words, words, false, false)
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
