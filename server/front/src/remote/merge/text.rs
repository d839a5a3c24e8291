//! Prepares text from records for comparison, by reducing it to letters and digits without diacritics, in lower case, with one
//! space between words.

use std::ops::RangeInclusive;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum number of characters in a string that are compared.
const MAX_CHARACTERS: usize = 300;

/// Returns the first [`MAX_CHARACTERS`] characters without diacritics, punctuation and case.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::new();
    let letters = text.nfkd().filter(|letter| !is_combining_mark(*letter));
    for letter in letters.take(MAX_CHARACTERS).flat_map(char::to_lowercase) {
        match letter {
            '&' => folded.push_str(" and "),
            '\'' | '’' | 'ʼ' => {}
            _ if letter.is_alphanumeric() => folded.push(letter),
            _ if folded.ends_with(' ') => {}
            _ => folded.push(' '),
        }
    }
    let words: Vec<&str> = folded.split_whitespace().collect();
    words.join(" ")
}

/// The trigrams of a folded string, sorted and without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextRuns(Vec<[char; 3]>);

impl TextRuns {
    pub(super) fn of(text: &str) -> Self {
        let padded: Vec<char> = [' '].into_iter().chain(text.chars()).chain([' ']).collect();
        let mut runs: Vec<[char; 3]> = padded
            .windows(3)
            .filter_map(|run| run.try_into().ok())
            .collect();
        runs.sort_unstable();
        runs.dedup();
        Self(runs)
    }

    /// Returns whether two strings share most of their trigrams, as is the case if they differ only by a typing error.
    pub(super) fn is_similar(&self, other: &Self) -> bool {
        let (one, two) = (&self.0, &other.0);
        let mut others = two.iter().peekable();
        let common = one.iter().filter(|run| {
            while others.next_if(|other| other < run).is_some() {}
            others.peek() == Some(run)
        });
        let common = common.count();
        common * 10 >= (one.len() + two.len()) * 3
    }
}

/// Returns whether two folded strings are equal, or differ by a typing error in one word: one letter, or two letters exchanged.
pub(super) fn are_equal_but_for_a_slip(one: &str, other: &str) -> bool {
    /// The range of lengths, in characters, of words in which an error is tolerated. Shorter words distinguish parts, such as
    /// *Henry IV* and *Henry V*; longer words take long to compare.
    const LETTERS: RangeInclusive<usize> = 4..=40;
    let is_long = |word: &str| {
        LETTERS.contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
    };
    let (mut words, mut others) = (one.split(' '), other.split(' '));
    let mut has_slip = false;
    loop {
        match (words.next(), others.next()) {
            (None, None) => return true,
            (Some(word), Some(other)) if word == other => {}
            (Some(word), Some(other))
                if !has_slip
                    && is_long(word)
                    && is_long(other)
                    && strsim::osa_distance(word, other) == 1 =>
            {
                has_slip = true;
            }
            _ => return false,
        }
    }
}

/// Returns whether each word of the shorter list abbreviates a word of the longer list, or is abbreviated by one, such as `j` and
/// `jane`, or `univ` and `university`.
pub(super) fn are_abbreviated(one: &[String], other: &[String]) -> bool {
    let (few, many) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    few.iter()
        .all(|word| many.iter().any(|long| is_begin(word, long)))
}

/// Returns whether one of the two words begins with the other.
pub(super) fn is_begin(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_one_letter_in_one_word_of_letters() {
        let long = "a".repeat(40);
        for (one, other, expected) in [
            ("tom sawyer", "tom sawyer", true),
            ("tom sawyer", "tom swayer", true),
            ("tom sawyer", "tom sawer", true),
            ("tom sawyer", "tom sawyers", true),
            ("tom sawyer", "tom", false),
            ("tom sawyer", "tmo swayer", false),
            ("anna karenina", "anan kraenina", false),
            ("henry iv", "henry v", false),
            ("poems 1815", "poems 1816", false),
            ("letters", "better", false),
            (&*long, &*format!("{}b", &long[1..]), true),
            (&*format!("{long}a"), &*format!("{long}b"), false),
        ] {
            assert_eq!(
                are_equal_but_for_a_slip(one, other),
                expected,
                "{one} | {other}"
            );
        }
    }
}
