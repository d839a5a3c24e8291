//! Ranges of keys as beginnings of keys: a dictionary can look these up, and they combine with other terms by and, or, not.

use std::ops::Bound;

use z3950_server::memory::Kind;

/// A key, or the beginning of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyPart {
    Exact(String),
    Starts(String),
}

/// The characters of keys of a kind, ascending; `None` for keys without an order that queries can use.
pub(super) fn alphabet(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Date => Some("0123456789"),
        Kind::Isbn | Kind::Issn => Some("0123456789Xx"),
        Kind::Lccn => Some("-0123456789abcdefghijklmnopqrstuvwxyz"),
        _ => None,
    }
}

/// What covers exactly the keys in a range, which is open on at least one side. `alphabet` has the characters of keys, ascending.
pub(super) fn cover(from: &Bound<String>, to: &Bound<String>, alphabet: &str) -> Vec<KeyPart> {
    let mut parts = Vec::new();
    match (from, to) {
        (Bound::Included(key), Bound::Unbounded) => {
            parts.push(KeyPart::Starts(key.clone()));
            above(key, alphabet, &mut parts);
        }
        (Bound::Excluded(key), Bound::Unbounded) => {
            parts.extend(longer(key, alphabet));
            above(key, alphabet, &mut parts);
        }
        (Bound::Unbounded, Bound::Included(key)) => {
            below(key, alphabet, &mut parts);
            parts.push(KeyPart::Exact(key.clone()));
        }
        (Bound::Unbounded, Bound::Excluded(key)) => below(key, alphabet, &mut parts),
        _ => {}
    }
    parts
}

/// Each key that continues this one.
fn longer<'a>(key: &'a str, alphabet: &'a str) -> impl Iterator<Item = KeyPart> + 'a {
    alphabet
        .chars()
        .map(move |next| KeyPart::Starts(format!("{key}{next}")))
}

/// The keys after this one that do not begin with it.
fn above(key: &str, alphabet: &str, parts: &mut Vec<KeyPart>) {
    for (at, own) in key.char_indices().rev() {
        let start = key.get(..at).unwrap_or_default();
        let greater = alphabet.chars().filter(|next| *next > own);
        parts.extend(greater.map(|next| KeyPart::Starts(format!("{start}{next}"))));
    }
}

/// The keys before this one.
fn below(key: &str, alphabet: &str, parts: &mut Vec<KeyPart>) {
    for (at, own) in key.char_indices() {
        let start = key.get(..at).unwrap_or_default();
        if at > 0 {
            parts.push(KeyPart::Exact(start.to_owned()));
        }
        let less = alphabet.chars().filter(|next| *next < own);
        parts.extend(less.map(|next| KeyPart::Starts(format!("{start}{next}"))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_covered_exactly() {
        let alphabet = "012";
        let mut keys = vec![String::new()];
        for _ in 0..3 {
            let longer = keys
                .iter()
                .flat_map(|key| alphabet.chars().map(move |next| format!("{key}{next}")));
            keys = longer.chain(keys.clone()).collect();
        }
        keys.retain(|key| !key.is_empty());
        for bound in ["0", "1", "2", "10", "12", "201", "222", "1:", "3"].map(str::to_owned) {
            let cases = [
                (Bound::Included(bound.clone()), Bound::Unbounded),
                (Bound::Excluded(bound.clone()), Bound::Unbounded),
                (Bound::Unbounded, Bound::Included(bound.clone())),
                (Bound::Unbounded, Bound::Excluded(bound.clone())),
            ];
            for (from, to) in cases {
                let parts = cover(&from, &to, alphabet);
                for key in &keys {
                    let covered = parts.iter().any(|part| match part {
                        KeyPart::Exact(exact) => exact == key,
                        KeyPart::Starts(start) => key.starts_with(start),
                    });
                    let is_within =
                        std::ops::RangeBounds::contains(&(from.clone(), to.clone()), key);
                    assert_eq!(covered, is_within, "{key} in {from:?} to {to:?}");
                }
            }
        }
    }
}
