//! URLs without a wrapper: a guess at where they begin and end in running text (RFC 1738 Appendix, RFC 1736 §4.4).
//! They end before blanks, `"`, `<`, `>`, controls, octets that are not ASCII, and before punctuation.

use std::ops::Range;

use super::super::MAX_URL_LENGTH;

/// Schemes that need no `//` behind the colon to be taken for one.
const WITHOUT_SLASHES: [&[u8]; 3] = [b"mailto", b"news", b"urn"];
/// Longest scheme looked for, in octets.
const MAX_SCHEME: usize = 32;
/// Longest mailbox before the `@` of an address, in octets (RFC 821 §4.5.3).
const MAX_MAILBOX: usize = 64;

/// The URL whose scheme ends with the colon at `colon`; nothing before `floor` is part of it.
pub(super) fn around(text: &[u8], floor: usize, colon: usize) -> Option<Range<usize>> {
    let behind = text.get(colon + 1..)?;
    let slashes = behind.strip_prefix(b"//");
    let start = scheme_start(text, floor, colon, slashes.is_some())?;
    let is_mail = text.get(start..colon)?.eq_ignore_ascii_case(b"mailto");
    // Looked at before the end is looked for, so that each octet of a text is looked at a few times only.
    let is_url = match slashes.unwrap_or(behind) {
        rest if is_mail => has_at(rest),
        [first, ..] => {
            first.is_ascii_alphanumeric() || slashes.is_some() && b"/[%_".contains(first)
        }
        [] => false,
    };
    if !is_url {
        return None;
    }
    let length = behind
        .iter()
        .take(MAX_URL_LENGTH)
        .take_while(|octet| belongs(**octet))
        .count();
    let rest = trimmed(behind.get(..length)?);
    Some(start..colon + 1 + rest.len())
}

/// Whether a mail address comes next.
fn has_at(rest: &[u8]) -> bool {
    let address = rest.iter().take(MAX_MAILBOX);
    let mailbox = address.take_while(|octet| belongs(**octet) && **octet != b'@');
    let length = mailbox.count();
    length > 0 && rest.get(length) == Some(&b'@')
}

/// Where the scheme before `colon` begins: at a letter, and before no letter or digit.
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

/// Without the punctuation of the sentence around it. A bracket that the URL itself opens stays.
fn trimmed(mut url: &[u8]) -> &[u8] {
    let count = |octet: u8| url.iter().filter(|&&each| each == octet).count();
    // How many more brackets close than open.
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
