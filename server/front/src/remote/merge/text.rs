//! Texts of records in the form in which they are compared: letters and digits without marks, in lower case, one blank between words.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most characters of a text that are compared.
const MAX_CHARACTERS: usize = 300;

/// The text without marks, punctuation and case, from its first characters.
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

/// Whether two folded texts have most of their runs of three characters in common, as texts with a slip have.
pub(super) fn is_similar(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (runs(one), runs(other));
    let common = one.intersection(&other).count();
    common * 10 >= (one.len() + other.len()) * 3
}

fn runs(text: &str) -> HashSet<[char; 3]> {
    let padded: Vec<char> = [' '].into_iter().chain(text.chars()).chain([' ']).collect();
    let runs = padded.windows(3).filter_map(|run| run.try_into().ok());
    runs.collect()
}

/// Whether each word of the shorter list begins a word of the longer one, or the other way round: `j` and `jane`, `univ` and
/// `university`.
pub(super) fn are_abbreviated(one: &[String], other: &[String]) -> bool {
    let (few, many) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    few.iter()
        .all(|word| many.iter().any(|long| is_begin(word, long)))
}

/// Whether one of the words begins the other.
pub(super) fn is_begin(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
