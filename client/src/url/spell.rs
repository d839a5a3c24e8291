//! Spells a URL aloud. RFC 1736 §4.6 requires locators that people can copy, on paper and by telephone.

/// Returns the URL in words, such as `h t t p colon slash slash` and, for `%2F`, `percent two F`.
///
/// Upper-case letters are preceded by `capital`, except the digits of an escape, whose letter case does not matter. A
/// character that is not graphic US-ASCII is named by its code point.
pub fn spell(url: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut digits_of_escape = 0;
    for character in url.chars() {
        words.push(match name(character) {
            Some(name) => name.to_owned(),
            None if digits_of_escape > 0 => character.to_ascii_uppercase().to_string(),
            None if character.is_ascii_uppercase() => format!("capital {character}"),
            None if character.is_ascii_graphic() => character.to_string(),
            None => format!("U+{:04X}", u32::from(character)),
        });
        digits_of_escape = match character {
            '%' => 2,
            _ => digits_of_escape - i32::from(digits_of_escape > 0),
        };
    }
    words.join(" ")
}

#[rustfmt::skip]
fn name(character: char) -> Option<&'static str> {
    Some(match character {
        '0' => "zero", '1' => "one", '2' => "two", '3' => "three", '4' => "four",
        '5' => "five", '6' => "six", '7' => "seven", '8' => "eight", '9' => "nine",
        '!' => "exclamation-mark", '"' => "quotation-mark", '#' => "number-sign", '$' => "dollar",
        '%' => "percent", '&' => "ampersand", '\'' => "apostrophe", '(' => "opening-parenthesis",
        ')' => "closing-parenthesis", '*' => "asterisk", '+' => "plus", ',' => "comma", '-' => "hyphen",
        '.' => "dot", '/' => "slash", ':' => "colon", ';' => "semicolon", '<' => "less-than",
        '=' => "equals", '>' => "greater-than", '?' => "question-mark", '@' => "at",
        '[' => "opening-bracket", '\\' => "backslash", ']' => "closing-bracket", '^' => "circumflex",
        '_' => "underscore", '`' => "backtick", '{' => "opening-brace", '|' => "vertical-bar",
        '}' => "closing-brace", '~' => "tilde", ' ' => "blank",
        _ => return None,
    })
}
