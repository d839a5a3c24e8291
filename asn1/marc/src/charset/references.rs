//! Character references in MARC-8, such as `&#xXXXX;`, for characters that MARC-8 lacks (MARC 21 Specifications,
//! Character Sets: Unicode to MARC-8, lossless conversion).

use std::borrow::Cow;

const START: &str = "&#x";
/// The maximum number of hexadecimal digits in a reference.
const MOST_DIGITS: usize = 6;

/// Replaces every reference with its character. References to control characters, and text that only looks like a
/// reference, stay unchanged.
pub(super) fn resolve(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(START) {
        return text;
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once(START) {
        resolved.push_str(before);
        match reference(after) {
            Some((character, tail)) => {
                resolved.push(character);
                rest = tail;
            }
            None => {
                resolved.push_str(START);
                rest = after;
            }
        }
    }
    resolved.push_str(rest);
    Cow::Owned(resolved)
}

/// Parses the part of a reference after `&#x`, and returns its character and the text after it.
fn reference(text: &str) -> Option<(char, &str)> {
    let digits = text
        .bytes()
        .take(MOST_DIGITS + 1)
        .position(|octet| octet == b';')?;
    let (digits, tail) = text.split_at_checked(digits)?;
    // `from_str_radix` accepts a plus sign, which a reference cannot have.
    let number = u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| !digits.starts_with('+'))?;
    let character = char::from_u32(number).filter(|character| !character.is_control())?;
    Some((character, tail.strip_prefix(';')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, resolved: &str) {
        assert_eq!(resolve(Cow::Borrowed(text)), resolved, "{text}");
    }

    #[test]
    fn references() {
        check("plain & simple", "plain & simple");
        check("a &#x2014; b&#x1F600;", "a — b😀");
        check("&#x2014;&#x2014;", "——");
        check(
            "&#x;&#xD800;&#x110000;&#x1234567;&#x+041;",
            "&#x;&#xD800;&#x110000;&#x1234567;&#x+041;",
        );
        check("&#x1F;&#x", "&#x1F;&#x");
        check("&#x&#x41;é&#xé", "&#xAé&#xé");
    }
}
