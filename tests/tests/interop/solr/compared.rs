//! Compares the results of a catalogue in Solr with those of brute force over the same records.

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_tests::random::Random;
use z3950_tests::solr::SolrShape;

use super::catalogue::{Outcome, SolrCatalogue};
use super::naive::Naive;
use super::{Filled, WORDS};

/// An access point of the map, with the fields in which its words and its masked words are searched.
struct Access {
    use_value: i64,
    words: &'static [&'static str],
    masks: &'static [&'static str],
}

const OF_VUFIND: [Access; 5] = [
    Access {
        use_value: 4,
        words: &["title_full", "title_alt", "title_new", "title_old"],
        masks: &["title_full_unstemmed"],
    },
    Access {
        use_value: 1003,
        words: &["author", "author2", "author_corporate", "author_additional"],
        masks: &["author", "author2", "author_corporate", "author_additional"],
    },
    Access {
        use_value: 21,
        words: &["topic", "genre", "geographic", "era"],
        masks: &["topic_unstemmed"],
    },
    Access {
        use_value: 1016,
        words: &["allfields"],
        masks: &["allfields_unstemmed"],
    },
    Access {
        use_value: 1018,
        words: &["publisher"],
        masks: &["publisher"],
    },
];

const OF_BLACKLIGHT: [Access; 4] = [
    Access {
        use_value: 4,
        words: &["title_tsim", "title_addl_tsim"],
        masks: &["title_tsim", "title_addl_tsim"],
    },
    Access {
        use_value: 1003,
        words: &["author_tsim", "author_addl_tsim"],
        masks: &["author_tsim", "author_addl_tsim"],
    },
    Access {
        use_value: 21,
        words: &["subject_tsim", "subject_addl_tsim"],
        masks: &["subject_tsim", "subject_addl_tsim"],
    },
    Access {
        use_value: 1016,
        words: &["all_text_timv"],
        masks: &["all_text_timv"],
    },
];

fn accesses(shape: SolrShape) -> &'static [Access] {
    match shape {
        SolrShape::VuFind => &OF_VUFIND,
        SolrShape::Blacklight => &OF_BLACKLIGHT,
    }
}

/// Creates random queries, and determines their results by brute force.
struct Maker<'n> {
    naive: &'n Naive<'n>,
    random: Random,
}

impl Maker<'_> {
    fn phrase(&mut self) -> String {
        let count = self.random.below(3) + 1;
        let words: Vec<&str> = (0..count).map(|_| *self.random.pick(&WORDS)).collect();
        words.join(" ")
    }

    /// Returns a random word in the form in which an index stores it.
    fn token(&mut self, fields: &[&str]) -> String {
        let terms = fields
            .iter()
            .flat_map(|field| self.naive.terms(field).into_keys());
        let terms: Vec<String> = terms.collect();
        self.random.pick(&terms).clone()
    }

    /// Returns a random query with a single term, and its result.
    fn term(&mut self, access: &Access) -> (String, Outcome) {
        let Access {
            use_value,
            words,
            masks,
        } = access;
        let with =
            |attributes: &str, text: &str| format!("@attr 1={use_value} {attributes} {{{text}}}");
        match self.random.below(9) {
            0..=2 => {
                let text = self.phrase();
                (
                    with("@attr 4=1", &text),
                    Ok(self.naive.phrase(words, &text)),
                )
            }
            3 => {
                let text = self.phrase();
                (
                    with("@attr 4=6", &text),
                    Ok(self.naive.words(words, &text, true)),
                )
            }
            4 => {
                let text = self.phrase();
                (
                    with("@attr 4=106", &text),
                    Ok(self.naive.words(words, &text, false)),
                )
            }
            5 => (
                with("@attr 2=103", "x"),
                Ok(if *use_value == 1016 {
                    self.naive.all()
                } else {
                    self.naive.filled(words)
                }),
            ),
            _ => self.masked(access, masks),
        }
    }

    fn masked(&mut self, access: &Access, masks: &[&str]) -> (String, Outcome) {
        // Tokens that contain punctuation are not used.
        let mut token = self.token(masks);
        while !token.chars().all(char::is_alphanumeric) {
            token = self.token(masks);
        }
        let characters: Vec<char> = token.chars().collect();
        let half = characters.len().div_ceil(2);
        let (begin, end): (String, String) = (
            characters[..half].iter().collect(),
            characters[half..].iter().collect(),
        );
        let (truncation, text, parts, found) = match self.random.below(4) {
            0 => {
                let found = self.naive.word(masks, |word| word.starts_with(&begin));
                (1, begin.clone(), vec![&begin], found)
            }
            1 if !end.is_empty() => {
                let found = self.naive.word(masks, |word| word.ends_with(&end));
                (2, end.clone(), vec![&end], found)
            }
            2 => {
                let found = self.naive.word(masks, |word| word.contains(&begin));
                (3, begin.clone(), vec![&begin], found)
            }
            _ => {
                let fits = |word: &str| {
                    let rest = word.strip_prefix(&*begin);
                    rest.is_some_and(|rest| rest.ends_with(&end))
                };
                let found = self.naive.word(masks, fits);
                (101, format!("{begin}#{end}"), vec![&begin, &end], found)
            }
        };
        let pqf = format!(
            "@attr 1={} @attr 5={truncation} {{{text}}}",
            access.use_value
        );
        // If the analysis of a field splits the text into several words, no single word can begin with the text, so the
        // truncation is refused.
        let is_split = |part: &&String| {
            let mut masks = masks.iter();
            let splits = |field: &&str| self.naive.query_words(field, part).len() > 1;
            masks.any(splits)
        };
        if parts.iter().any(is_split) {
            (pqf, Err(Condition::TRUNCATION.0))
        } else {
            (pqf, Ok(found))
        }
    }

    fn proximity(&mut self, access: &Access) -> (String, Outcome) {
        let one = *self.random.pick(&WORDS);
        let other = *self.random.pick(&WORDS);
        let (most, ordered) = (self.random.below(6) + 1, self.random.below(2) == 0);
        let (use_value, number) = (access.use_value, i64::from(ordered));
        let term = |word| format!("@attr 1={use_value} {{{word}}}");
        let pqf = format!(
            "@prox 0 {most} {number} 2 k 2 {} {}",
            term(one),
            term(other)
        );
        let is_word = |word: &&str| {
            let is_single = |field: &&str| self.naive.query_words(field, word).len() == 1;
            word.chars().all(char::is_alphanumeric) && access.words.iter().all(is_single)
        };
        if ![one, other].iter().all(is_word) {
            return (pqf, Err(Condition::PROXIMITY.0));
        }
        let most = i64::try_from(most).expect("small");
        let found = self.naive.near(access.words, (one, other), most, ordered);
        (pqf, Ok(found))
    }

    /// Returns a random query that combines terms with operators, and its result.
    fn joined(&mut self, accesses: &[Access], levels: usize) -> (String, Outcome) {
        if levels == 0 {
            // Terms that are refused are left out. An operand that does not affect the result is not evaluated, so its refusal
            // would go unnoticed.
            loop {
                let access = self.random.pick(accesses);
                let (pqf, found) = self.term(access);
                if found.is_ok() {
                    return (pqf, found);
                }
            }
        }
        let (left, right) = (self.random.below(levels), self.random.below(levels));
        let (one, found) = self.joined(accesses, left);
        let (other, others) = self.joined(accesses, right);
        let operator = *self.random.pick(&["@and", "@or", "@not"]);
        let found = found.and_then(|found| {
            let others = others?;
            Ok(match operator {
                "@and" => &found & &others,
                "@or" => &found | &others,
                _ => &found - &others,
            })
        });
        (format!("{operator} {one} {other}"), found)
    }
}

async fn queries_are_equal(shape: SolrShape, name: &str) {
    let Some(filled) = Filled::new(shape, name, 240) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let missing = catalogue.database.check().await.expect("a valid core");
    let mut maker = Maker {
        naive: &filled.naive,
        random: Random::new("queries of Solr"),
    };
    let mut cases = Vec::new();
    for access in accesses(shape) {
        cases.extend((0..60).map(|_| maker.term(access)));
        cases.extend((0..25).map(|_| maker.proximity(access)));
    }
    cases.extend((0..60).map(|_| maker.joined(accesses(shape), 5)));
    let (wrong, finding) = catalogue.compare(&cases).await;
    assert!(
        wrong.is_empty(),
        "{} of {}: {wrong:#?} {missing:?}",
        wrong.len(),
        cases.len()
    );
    assert!(
        finding > cases.len() / 3,
        "{finding} of {} queries find records",
        cases.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_vufind_find_the_same_as_brute_force() {
    queries_are_equal(SolrShape::VuFind, "words").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_blacklight_find_the_same_as_brute_force() {
    queries_are_equal(SolrShape::Blacklight, "words").await;
}
