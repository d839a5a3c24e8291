//! Words and keys as the engine keeps them. A token has letters, digits and private characters only, so that no term of a client
//! can be taken for a part of the query language, and no engine splits or folds it.
//!
//! | characters | meaning |
//! |---|---|
//! | U+E000 to U+E0FF | an octet of a key that is neither a small letter nor a digit |
//! | U+E100 + index | the record has an entry in the index |
//! | U+E200 + index, key | a key of the index |
//! | U+E300, U+E380 + index | a word, a whole entry of the index, among the terms that can be scanned |
//! | U+E400 | the fingerprint of a layout, among these terms |
//! | U+F700, U+F701, U+F702 | the hash of a long token; no record; a character beyond U+1FFFF |
//! | U+F710 + digit | a digit of such a hash or character, in hexadecimal: no truncated word or mask finds it |
//! | U+F800, U+F801, three times | before the first, after the last word of a subfield |
//! | U+F802 | between the fields of a record; `_` stands at the edges of each |

use std::borrow::Cow;

use twox_hash::XxHash3_64;
use z3950_server::memory::index_map::{IndexId, Terms};

/// Stands before and after each field of a record in a text.
pub(super) const FIELD_EDGE: &str = "_";
/// Before the first word of a subfield: longer than the single characters of a mask, which must not match it.
pub(super) const SUBFIELD_BEGIN: &str = "\u{f800}\u{f800}\u{f800}";
/// After the last word of a subfield.
pub(super) const SUBFIELD_END: &str = "\u{f801}\u{f801}\u{f801}";
/// The number of characters of these.
pub(super) const EDGE_CHARACTERS: usize = 3;
/// Between the fields of a record: the engine puts them further apart than any proximity reaches.
pub(super) const FIELD_GAP: &str = " \u{f802} ";
/// A token that no record has.
pub(super) const NEVER: &str = "\u{f701}";

/// Characters of each kind in one token, which an engine with another configuration takes for several, or for none.
pub(super) const OF_EACH_KIND: &str = "\u{f800}\u{f800}\u{f800}az09\u{a1}\u{d7ff}\u{e000}\u{f7ff}\u{f900}\u{1ffff}\u{f801}\u{f801}\u{f801}";

/// The engine keeps 42 characters of a token; up to six are edges of subfields.
pub(super) const MOST_CHARACTERS: usize = 36;
/// What is left of a longer one before its hash. Longer beginnings cannot be searched.
pub(super) const MOST_OPEN_CHARACTERS: usize = 20;

/// Whether a character is a part of the edges of subfields.
pub(super) fn is_subfield_edge(character: char) -> bool {
    SUBFIELD_BEGIN.contains(character) || SUBFIELD_END.contains(character)
}

/// A word of a text.
pub(super) fn of_word(word: &str) -> Cow<'_, str> {
    if word.chars().all(|c| c < '\u{20000}') {
        shortened(word)
    } else {
        let mut token = String::new();
        for character in word.chars() {
            push_far(&mut token, character);
        }
        Cow::Owned(shortened(&token).into_owned())
    }
}

/// A key of an index.
pub(super) fn of_key(index: IndexId, key: &[u8]) -> String {
    format!("{}{}", key_mark(index), shortened(&of_octets(key)))
}

/// A part of a key, without the mark of its index.
pub(super) fn of_key_part(part: &str) -> String {
    of_octets(part.as_bytes())
}

/// What all keys of an index begin with.
pub(super) fn key_mark(index: IndexId) -> char {
    private(0xe200, index.number())
}

/// The mark of the words of an index, or of its whole entries, among the terms that can be scanned.
pub(super) fn scanned(terms: Terms) -> char {
    match terms {
        Terms::Words(index) => private(0xe300, index.number()),
        Terms::Keys(index) => private(0xe380, index.number()),
    }
}

/// The mark of the layouts that documents were made with, among the terms that can be scanned.
pub(super) const LAYOUT: char = '\u{e400}';

/// The token of the records that have an entry in the index.
pub(super) fn having(index: IndexId) -> char {
    private(0xe100, index.number())
}

fn private(base: u32, number: u8) -> char {
    char::from_u32(base + u32::from(number)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Letters and digits stay, as far as folding would not change them; all else becomes private characters, octet for octet.
fn of_octets(octets: &[u8]) -> String {
    let mut token = String::new();
    for chunk in octets.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                'a'..='z' | '0'..='9' => token.push(character),
                '\u{c0}'.. if character.is_alphanumeric() => push_far(&mut token, character),
                _ => {
                    let octets = character.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
                    token.extend(octets.into_iter().map(|octet| private(0xe000, octet)));
                }
            }
        }
        let invalid = chunk.invalid().iter();
        token.extend(invalid.map(|octet| private(0xe000, *octet)));
    }
    token
}

/// The engine knows no characters beyond U+1FFFF.
fn push_far(token: &mut String, character: char) {
    match u32::from(character) {
        far @ 0x2_0000.. => {
            token.push('\u{f702}');
            token.extend(digits(far.into()));
        }
        _ => token.push(character),
    }
}

fn shortened(token: &str) -> Cow<'_, str> {
    if token.chars().count() <= MOST_CHARACTERS {
        return Cow::Borrowed(token);
    }
    let hash = XxHash3_64::oneshot(token.as_bytes()) >> 4;
    let start = token.chars().take(MOST_OPEN_CHARACTERS);
    Cow::Owned(start.chain(['\u{f700}']).chain(digits(hash)).collect())
}

/// A number in digits that are no letters of words.
fn digits(number: u64) -> impl Iterator<Item = char> {
    let octets = number.to_be_bytes().into_iter();
    let digits = octets.flat_map(|octet| [octet >> 4, octet & 0xf]);
    let digits = digits.skip_while(|digit| *digit == 0);
    digits.map(|digit| private(0xf710, digit))
}

/// Text as the contents of a literal between single quotes.
pub(super) fn literal(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len() + text.len() / 16);
    for octet in text {
        if matches!(octet, b'\'' | b'\\') {
            escaped.push(b'\\');
        }
        escaped.push(*octet);
    }
    escaped
}

/// Octets as the engine can keep them: its texts end at NUL.
pub(super) fn stored(octets: &[u8]) -> Cow<'_, [u8]> {
    if !octets.iter().any(|octet| matches!(*octet, 0 | ESCAPE)) {
        return Cow::Borrowed(octets);
    }
    let mut stored = Vec::with_capacity(octets.len() + 8);
    for octet in octets {
        match octet {
            0 => stored.extend([ESCAPE, b'0']),
            &ESCAPE => stored.extend([ESCAPE, b'1']),
            octet => stored.push(*octet),
        }
    }
    Cow::Owned(stored)
}

/// The octets that were [`stored`].
pub(super) fn restored(stored: Vec<u8>) -> Vec<u8> {
    if !stored.contains(&ESCAPE) {
        return stored;
    }
    let mut octets = Vec::with_capacity(stored.len());
    let mut rest = stored.into_iter();
    while let Some(octet) = rest.next() {
        match octet {
            ESCAPE => octets.extend(match rest.next() {
                Some(b'0') => Some(0),
                Some(b'1') => Some(ESCAPE),
                other => other,
            }),
            octet => octets.push(octet),
        }
    }
    octets
}

/// Begins an escaped octet.
const ESCAPE: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_end_where_they_should() {
        for (text, escaped) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"'; DROP", b"\\'; DROP"),
            (b"\\'", b"\\\\\\'"),
            (b"/* -- # ` \"", b"/* -- # ` \""),
            (b"\xff\x1e\x1f\x1d", b"\xff\x1e\x1f\x1d"),
        ] {
            assert_eq!(literal(text), escaped);
        }
    }

    #[test]
    fn octets_are_restored() {
        let all: Vec<u8> = (0..=255).chain([0, 1, 1, 0]).collect();
        assert!(!stored(&all).contains(&0));
        assert_eq!(restored(stored(&all).into_owned()), all);
        assert_eq!(stored(b"plain"), &b"plain"[..]);
    }

    #[test]
    fn long_tokens_keep_their_beginning_and_differ() {
        let word = |count: usize, last: &str| "a".repeat(count) + last;
        assert_eq!(
            of_word(&word(MOST_CHARACTERS - 1, "b")),
            word(MOST_CHARACTERS - 1, "b")
        );
        let (one, other) = (word(MOST_CHARACTERS, "b"), word(MOST_CHARACTERS, "c"));
        let (one, other) = (of_word(&one), of_word(&other));
        assert_ne!(one, other);
        for token in [one, other] {
            assert!(token.starts_with(&word(MOST_OPEN_CHARACTERS, "")));
            assert!(token.chars().count() <= MOST_CHARACTERS, "{token}");
        }
    }

    /// Truncated words and masks find the letters and digits of words only.
    #[test]
    fn hashes_and_far_characters_have_no_letters() {
        for word in ["\u{20000}", "\u{10ffff}", &"\u{10ffff}".repeat(40)] {
            let token = of_word(word);
            let of_words = token.chars().filter(|c| c.is_alphanumeric());
            assert_eq!(of_words.count(), 0, "{token}");
        }
        let long = of_word(&"z".repeat(60)).into_owned();
        let (start, hash) = long.split_at(MOST_OPEN_CHARACTERS);
        assert!(start.chars().all(|c| c == 'z') && !hash.contains(char::is_alphanumeric));
        assert_ne!(of_word("\u{20000}"), of_word("\u{20001}"));
    }
}
