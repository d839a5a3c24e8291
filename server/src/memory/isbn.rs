//! International Standard Book Numbers in one form, so that they are found however they are written (ISO 2108).

/// The number that a text begins with, as 13 digits where it is a sound ISBN; hyphens and what follows it are dropped.
///
/// A number of 10 digits, the last of which may be X, and the same one of 13 digits beginning with 978 give the same text.
/// What is no sound ISBN keeps its digits. `None` for a text that begins otherwise.
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
    match sound_10(&digits) {
        Some(number) => Some(with_check_digit_13(&format!("978{number}"))),
        None => (!digits.is_empty()).then_some(digits),
    }
}

/// The nine digits in front of the check digit, if that is right.
fn sound_10(digits: &str) -> Option<&str> {
    let (number, check) = digits
        .split_at_checked(9)
        .filter(|(_, check)| check.len() == 1)?;
    let weighted = number.bytes().zip((2..=10).rev());
    let sum = weighted
        .map(|(digit, weight)| value(digit) * weight)
        .sum::<u32>();
    let check = if check == "X" {
        10
    } else {
        check.bytes().map(value).sum()
    };
    (number.bytes().all(|digit| digit.is_ascii_digit()) && (sum + check) % 11 == 0)
        .then_some(number)
}

fn with_check_digit_13(number: &str) -> String {
    let weighted = number.bytes().zip([1, 3].into_iter().cycle());
    let sum = weighted
        .map(|(digit, weight)| value(digit) * weight)
        .sum::<u32>();
    format!("{number}{}", (10 - sum % 10) % 10)
}

fn value(digit: u8) -> u32 {
    u32::from(digit.saturating_sub(b'0'))
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
