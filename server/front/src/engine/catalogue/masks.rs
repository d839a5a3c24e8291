//! Converts truncated and masked terms to words that are not folded.

use z3950_server::memory::index_map::{ANY_NUMBER, AT_MOST_ONE, EXACTLY_ONE};

use super::leaf::{Word, WordPart};

/// Splits text at spaces. The flags `left` and `right` say which ends are truncated: the ends of the whole string if
/// `in_order` is true, and otherwise the ends of every word.
pub(super) fn open_words(text: &str, (left, right): (bool, bool), in_order: bool) -> Vec<Word> {
    let has_text = |word: &&str| word.chars().any(char::is_alphanumeric);
    let is_open = left || right;
    // A word that consists only of punctuation would become a mask that matches every word, so it is left out of a
    // truncated term.
    let words = text
        .split_whitespace()
        .filter(|word| !is_open || has_text(word));
    let words: Vec<&str> = words.collect();
    let last = words.len().saturating_sub(1);
    let words = words.into_iter().enumerate().map(|(place, word)| {
        let left = left && (!in_order || place == 0);
        let right = right && (!in_order || place == last);
        open_word(word.to_owned(), left, right)
    });
    words.collect()
}

/// Creates a word. The flags `left` and `right` say which ends are truncated.
pub(super) fn open_word(text: String, left: bool, right: bool) -> Word {
    let any = |is_there: bool| is_there.then_some(WordPart::Any);
    let parts = [any(left), Some(WordPart::Text(text)), any(right)];
    Word(parts.into_iter().flatten().collect())
}

/// Splits text with placeholders into words; `None` if one of the words consists only of masks.
///
/// Unlike text without masks, it is also split at punctuation, because the engine never sees the whole text.
/// Characters that the engine treats as parts of words (UAX #29) are kept: apostrophes and full stops between
/// letters, and commas between digits.
pub(super) fn split_masked(text: &str) -> Option<Vec<Word>> {
    let characters: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (place, &character) in characters.iter().enumerate() {
        let at = |place: Option<usize>| place.and_then(|place| characters.get(place)).copied();
        let (before, after) = (at(place.checked_sub(1)), at(place.checked_add(1)));
        if belongs(character, before, after) {
            word.push(character);
        } else {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    let words = words.iter().filter(|word| !word.is_empty());
    words.map(|word| one_word(word)).collect()
}

fn is_mask(character: char) -> bool {
    matches!(character, ANY_NUMBER | EXACTLY_ONE | AT_MOST_ONE)
}

/// Returns whether a character is a part of a word.
fn belongs(character: char, before: Option<char>, after: Option<char>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || is_mask(c));
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_numeric());
    match character {
        '\'' | '\u{2019}' | '.' | '\u{b7}' => is_letter(before) && is_letter(after),
        ',' => is_digit(before) && is_digit(after),
        '_' => true,
        // Combining marks belong to the letters before them.
        other => other.is_alphanumeric() || is_mask(other) || !other.is_ascii() && is_mark(other),
    }
}

fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
}

/// Parses text with masks as a single word; returns `None` if it consists only of masks.
pub(super) fn one_word(word: &str) -> Option<Word> {
    let mut parts: Vec<WordPart> = Vec::new();
    for character in word.chars() {
        let mask = match character {
            ANY_NUMBER => WordPart::Any,
            EXACTLY_ONE => WordPart::One,
            AT_MOST_ONE => WordPart::AtMostOne,
            other => {
                match parts.last_mut() {
                    Some(WordPart::Text(text)) => text.push(other),
                    _ => parts.push(WordPart::Text(other.to_string())),
                }
                continue;
            }
        };
        // Two adjacent masks for any text are the same as one.
        if mask != WordPart::Any || parts.last() != Some(&WordPart::Any) {
            parts.push(mask);
        }
    }
    let has_text = parts.iter().any(|part| matches!(part, WordPart::Text(_)));
    has_text.then_some(Word(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: Option<Vec<Word>>) -> Option<Vec<String>> {
        let shown = |word: &Word| {
            let parts = word.0.iter().map(|part| match part {
                WordPart::Text(text) => text.as_str(),
                WordPart::Any => "*",
                WordPart::One => ".",
                WordPart::AtMostOne => "?",
            });
            parts.collect::<String>()
        };
        words.map(|words| words.iter().map(shown).collect())
    }

    #[test]
    fn masked_words_are_not_folded() {
        for (text, expected) in [
            ("War#", Some(&["War*"][..])),
            ("#ŁÓD# (v. 2)", Some(&["*ŁÓD*", "v", "2"])),
            ("O'Ne#l, e-m#l", Some(&["O'Ne*l", "e", "m*l"])),
            ("l\u{2019}#t\u{e9}", Some(&["l\u{2019}*t\u{e9}"])),
            ("qa76.7# 1,0#", Some(&["qa76.7*", "1,0*"])),
            ("a,b# 1,", Some(&["a", "b*", "1"])),
            ("e\u{301}t#", Some(&["e\u{301}t*"])),
            ("a## #", None),
            ("a##", Some(&["a*"])),
            (" / ", Some(&[])),
        ] {
            let text = text.replace('#', &ANY_NUMBER.to_string());
            let expected =
                expected.map(|words| { words.iter() }.map(|word| (*word).to_owned()).collect());
            assert_eq!(shown(split_masked(&text)), expected, "{text}");
        }
        let text = format!("wom{EXACTLY_ONE}n col{AT_MOST_ONE}r");
        let expected = vec!["wom.n".to_owned(), "col?r".to_owned()];
        assert_eq!(shown(split_masked(&text)), Some(expected));
    }

    #[test]
    fn ends_are_open_for_each_word_or_for_the_phrase() {
        for (ends, in_order, expected) in [
            ((false, true), false, &["War*", "peace*"][..]),
            ((false, true), true, &["War", "peace*"]),
            ((true, true), true, &["*War", "peace*"]),
            ((true, false), false, &["*War", "*peace"]),
        ] {
            let words = open_words(" War /  peace ", ends, in_order);
            let expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shown(Some(words)), Some(expected));
        }
        let words = open_words("C++ / D", (false, false), false);
        assert_eq!(shown(Some(words)).map(|words| words.len()), Some(3));
    }
}
