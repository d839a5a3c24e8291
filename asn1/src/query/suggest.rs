//! Finds the known name most similar to a word, for suggestions about an unknown index, qualifier, attribute set or command.

#[cfg(feature = "suggest")]
use strsim::osa_distance;

/// The maximum length in characters of a word that is compared with the candidates.
const MAX_LENGTH: usize = 64;

/// Returns the candidate that is most similar to `word`, ignoring case; `None` if no candidate is similar.
///
/// A candidate is similar if at most a third of the word's letters (but at least one letter) have to be changed, removed, added
/// or swapped with their neighbour. If there is none, the shortest candidate that begins with the word is returned, for a word of
/// at least two letters. As a last resort, for a word of at least three letters, the shortest candidate that contains its letters
/// in order is returned, such as `title` for `ttl`. Without the feature `suggest`, only candidates of the last two kinds are
/// found.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().take(MAX_LENGTH + 1).count();
    if !(1..=MAX_LENGTH).contains(&length) {
        return None;
    }
    let word = word.to_lowercase();
    let allowed = (length / 3).max(1);
    let mut best: Option<((usize, usize), &str)> = None;
    for candidate in candidates {
        let other_length = candidate.chars().take(MAX_LENGTH + 1).count();
        if !(1..=MAX_LENGTH).contains(&other_length) {
            continue;
        }
        let other = candidate.to_lowercase();
        let distance = osa_distance(&word, &other);
        let rank = if distance <= allowed && distance < length {
            (distance, 0)
        } else if length >= 2 && other.starts_with(&word) {
            (allowed + 1, other_length)
        } else if length >= 3 && is_contraction(&word, &other) {
            (allowed + 2, other_length)
        } else {
            continue;
        };
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Without the feature `suggest`, no two words are similar.
#[cfg(not(feature = "suggest"))]
fn osa_distance(_: &str, _: &str) -> usize {
    usize::MAX
}

/// Returns whether `word` can be made from `other` by leaving out letters after the first letter.
fn is_contraction(word: &str, other: &str) -> bool {
    let mut letters = other.chars();
    word.chars().next() == other.chars().next()
        && word
            .chars()
            .all(|letter| letters.by_ref().any(|one| one == letter))
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
            ("ttl", Some("title")),
            ("athr", Some("author")),
            ("sbj", Some("subject")),
            ("at", Some("au")),
            ("x", None),
            ("", None),
            ("zebra", None),
        ] {
            assert_eq!(nearest(word, NAMES), expected, "{word}");
        }
        assert_eq!(nearest(&"t".repeat(1 << 20), NAMES), None);
    }
}
