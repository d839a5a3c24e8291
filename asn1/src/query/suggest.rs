//! The known name most like a word: what a message suggests in place of an index, a qualifier or an
//! attribute set that nobody knows.

/// The longest word compared, in characters.
const MAX_LENGTH: usize = 64;

/// The candidate that `word` is most like, cases apart; `None` where none comes near.
///
/// Near is a third of the word's letters changed, left out, put in or swapped with their neighbour, at least
/// one; else the shortest candidate that goes on where a word of two letters or more ends.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = letters(word);
    if word.is_empty() || word.len() > MAX_LENGTH {
        return None;
    }
    let allowed = (word.len() / 3).max(1);
    let mut best: Option<((usize, usize), &str)> = None;
    for candidate in candidates {
        let other = letters(candidate);
        if other.len() > MAX_LENGTH || other.is_empty() {
            continue;
        }
        let distance = distance(&word, &other);
        let rank = if distance <= allowed && distance < word.len() {
            (distance, 0)
        } else if word.len() >= 2 && other.starts_with(&word) {
            (allowed + 1, other.len())
        } else {
            continue;
        };
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn letters(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// How many letters must be changed, left out, put in or swapped (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        let mut left = None;
        for (j, &y) in b.iter().enumerate() {
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let changed = at(&above, j) + usize::from(x != y);
            let mut least = changed.min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            if previous == Some(y) && left == Some(x) {
                least = least.min(at(&before, j.saturating_sub(1)).saturating_add(1));
            }
            row.push(least);
            left = Some(y);
        }
        before = std::mem::replace(&mut above, row);
        previous = Some(x);
    }
    above.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_found() {
        const NAMES: [&str; 6] = ["title", "author", "subject", "isbn", "au", "publisher"];
        for (word, expected) in [
            ("titel", Some("title")),
            ("Title", Some("title")),
            ("tilte", Some("title")),
            ("autor", Some("author")),
            ("ibsn", Some("isbn")),
            ("sub", Some("subject")),
            ("pub", Some("publisher")),
            ("at", Some("au")),
            ("x", None),
            ("", None),
            ("zebra", None),
        ] {
            assert_eq!(nearest(word, NAMES), expected, "{word}");
        }
        assert_eq!(nearest(&"t".repeat(1 << 20), NAMES), None);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "xbc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
        }
    }
}
