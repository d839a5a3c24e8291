//! Finds the start and end of URLs without a wrapper in running text, with heuristics (RFC 1738 Appendix, RFC 1736
//! §4.4). A URL ends before spaces, `"`, `<`, `>`, control characters and punctuation. Non-ASCII letters are included
//! and escaped, because people write them in URLs.

use std::ops::Range;

use super::super::MAX_URL_LENGTH;

/// Schemes that are recognized without `//`.
const WITHOUT_SLASHES: [&[u8]; 3] = [b"mailto", b"news", b"urn"];
/// The maximum length of a scheme that is recognized, in octets.
const MAX_SCHEME: usize = 32;
/// The maximum number of octets in a mail address before the `@` (RFC 821 §4.5.3).
const MAX_MAILBOX: usize = 64;

/// A URL in running text.
pub(super) struct Bare {
    pub(super) range: Range<usize>,
    /// Whether the URL ends at a punctuation mark that is followed by a letter or digit.
    pub(super) may_continue: bool,
}

/// Returns the URL whose scheme ends with the colon at `colon`. Returns `None` if there is none, or if it would begin
/// before the offset `floor`.
pub(super) fn around(text: &[u8], floor: usize, colon: usize) -> Option<Bare> {
    let after = text.get(colon + 1..)?;
    let slashes = after.strip_prefix(b"//");
    let start = scheme_start(text, floor, colon, slashes.is_some())?;
    let is_mail = text.get(start..colon)?.eq_ignore_ascii_case(b"mailto");
    // This is checked before the search for the end, so that each octet is examined a bounded number of times.
    let is_url = match slashes.unwrap_or(after) {
        rest if is_mail => has_at(rest),
        [first, ..] => {
            first.is_ascii_alphanumeric()
                || slashes.is_some() && (b"/[%_".contains(first) || !first.is_ascii())
        }
        [] => false,
    };
    if !is_url {
        return None;
    }
    let length = extent(after);
    let rest = trimmed(after.get(..length)?);
    // Trimming may have removed everything after `//`, because the first character there may be punctuation.
    let is_empty = rest.is_empty() || slashes.is_some() && rest.len() <= b"//".len();
    (!is_empty).then(|| Bare {
        range: start..colon + 1 + rest.len(),
        may_continue: rest.len() == length && goes_on(after.get(length..).unwrap_or_default()),
    })
}

/// Returns the length in octets of the URL at the beginning of the text.
fn extent(text: &[u8]) -> usize {
    let ascii = |octet: &u8| belongs(*octet) || !octet.is_ascii();
    let length = text
        .iter()
        .take(MAX_URL_LENGTH)
        .take_while(|octet| ascii(octet))
        .count();
    let mut extent = 0;
    for chunk in text.get(..length).unwrap_or_default().utf8_chunks() {
        for character in chunk.valid().chars() {
            if !character.is_ascii() && ends(character) {
                return extent;
            }
            extent += character.len_utf8();
        }
        for octet in chunk.invalid() {
            // Octets from 0xC0 on are letters in Latin-1 and similar sets, and lower octets are punctuation marks.
            if *octet < 0xC0 {
                return extent;
            }
            extent += 1;
        }
    }
    extent
}

/// Returns whether a non-ASCII character ends a URL, because it is a space, a control character, a quotation mark, a
/// bracket, or a punctuation mark of a script that does not separate words by spaces.
fn ends(character: char) -> bool {
    const MARKS: &str =
        "«»‘’‚‛“”„‟‹›…¡¿、。〈〉《》「」『』【】〔〕〖〗〝〞〟！（），：；？［］｛｝～｡｢｣､";
    let is_invisible = matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    is_invisible || character.is_whitespace() || character.is_control() || MARKS.contains(character)
}

/// Returns whether the text begins with a punctuation mark that is followed by a letter or digit.
fn goes_on(rest: &[u8]) -> bool {
    /// The maximum number of octets in two UTF-8 characters.
    const TWO: usize = 8;
    let rest = rest.get(..TWO).unwrap_or(rest);
    let text = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let mut characters = text.chars();
    match characters.next() {
        Some(mark) if mark.is_whitespace() || mark.is_control() || "\"<>".contains(mark) => false,
        Some(_) => characters.next().is_some_and(char::is_alphanumeric),
        // The octet is not UTF-8, but it may be a punctuation mark in Latin-1 or a similar set.
        None => {
            matches!(rest, [0x80..=0xBF, next, ..] if *next != 0xA0 && (next.is_ascii_alphanumeric() || *next >= 0xC0))
        }
    }
}

/// Returns whether the text begins with a mail address.
fn has_at(rest: &[u8]) -> bool {
    let address = rest.iter().take(MAX_MAILBOX);
    let mailbox = address.take_while(|octet| belongs(**octet) && **octet != b'@');
    let length = mailbox.count();
    length > 0 && rest.get(length) == Some(&b'@')
}

/// Returns the start of the scheme before `colon`, which is a letter that does not follow a letter or digit.
fn scheme_start(text: &[u8], floor: usize, colon: usize, has_slashes: bool) -> Option<usize> {
    let run = text.get(floor.max(colon.saturating_sub(MAX_SCHEME))..colon)?;
    let length = run
        .iter()
        .rev()
        .take_while(|octet| octet.is_ascii_alphanumeric() || b"+.-".contains(octet))
        .count();
    if length == MAX_SCHEME {
        return None;
    }
    let mut scheme = run.get(run.len() - length..)?;
    while scheme.first().is_some_and(|first| b"+.-".contains(first)) {
        scheme = scheme.get(1..)?;
    }
    let known = WITHOUT_SLASHES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.len() > 1
        && (has_slashes || known);
    is_scheme.then_some(colon - scheme.len())
}

fn belongs(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"\"<>`{}|\\^".contains(&octet)
}

/// Removes punctuation at the end of a URL, except a closing bracket whose opening bracket is in the URL.
fn trimmed(mut url: &[u8]) -> &[u8] {
    let count = |octet: u8| url.iter().filter(|&&each| each == octet).count();
    // For each pair of brackets, the number of closing brackets minus the number of opening brackets.
    let mut unopened = [(b'(', b')'), (b'[', b']')]
        .map(|(opening, closing)| (closing, count(closing).saturating_sub(count(opening))));
    while let Some((last, head)) = url.split_last() {
        match unopened.iter_mut().find(|(closing, _)| closing == last) {
            Some((_, 0)) => break,
            Some((_, more)) => *more -= 1,
            None if b".,;:!?}'\"".contains(last) => {}
            None => break,
        }
        url = head;
    }
    url
}
