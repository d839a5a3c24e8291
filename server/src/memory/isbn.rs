//! Normalizes International Standard Book Numbers, so that they are found in any spelling (ISO 2108).

use z3950_marc::standard_number::Isbn;

/// The number at the beginning of a text: 13 digits for a valid ISBN; hyphens and anything after it are dropped.
///
/// A number of 10 digits, the last of which may be X, and its form of 13 digits beginning with 978 give the same text. An
/// invalid ISBN keeps its digits. `None` for a text that begins otherwise.
pub(super) fn normalized(text: &str) -> Option<String> {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(|c| {
            c.is_ascii_digit() || matches!(c, 'X' | 'x' | '-' | ' ' | '\u{2010}'..='\u{2013}')
        })
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    match Isbn::parse(&digits) {
        Some(isbn) => Some(isbn.to_string()),
        None => (!digits.is_empty()).then_some(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn numbers_are_brought_to_one_form() {
        for (text, expected) in [
            ("0-306-40615-2", Some("9780306406157")),
            ("0306406152 (hardback) :", Some("9780306406157")),
            ("978-0-306-40615-7", Some("9780306406157")),
            ("080442957X", Some("9780804429573")),
            ("0‐8044‐2957‐x", Some("9780804429573")),
            // A wrong check digit is somebody's mistake, but not another book.
            ("0306406153", Some("0306406153")),
            ("X", Some("X")),
            ("123X567890", Some("123X567890")),
            ("", None),
            ("none", None),
            ("é", None),
        ] {
            assert_eq!(normalized(text).as_deref(), expected, "{text}");
        }
    }
}
