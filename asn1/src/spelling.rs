//! Converts names from Rust's spelling to the standard's spelling.

use std::borrow::Cow;

/// Returns the standard's spelling of a name: `callNumber` for `call_number` and for `CallNumber`.
pub(crate) fn standard_name(name: &'static str) -> Cow<'static, str> {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let lower = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    if name.chars().all(lower) {
        return Cow::Borrowed(name);
    }
    let mut standard = String::with_capacity(name.len());
    let mut upper = false;
    for character in name.chars() {
        match character {
            '_' => {}
            _ if standard.is_empty() => standard.push(character.to_ascii_lowercase()),
            _ if upper => standard.push(character.to_ascii_uppercase()),
            _ => standard.push(character),
        }
        upper = character == '_';
    }
    Cow::Owned(standard)
}
