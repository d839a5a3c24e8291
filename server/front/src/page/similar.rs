//! Finds the terms similar to a word in a sorted list without reading the whole list. After each term, it computes the smallest
//! string, in the order of the list, that could be the next similar term, and continues there. This corresponds to intersecting a
//! dictionary with a Levenshtein automaton.
//!
//! The distance is the number of characters that are inserted, removed, replaced, or exchanged with their neighbour
//! (the Damerau-Levenshtein distance, in which no character is changed twice).

/// The word with which terms are compared, and the conditions for a similar term.
pub(super) struct SimilarTerms {
    word: Vec<char>,
    /// The maximum distance.
    most: usize,
    /// The number of characters at the beginning that a term must have in common with the word.
    fixed: usize,
}

/// A term in the list, compared with the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TermStep {
    /// The distance of the term; `None` if it is too far from the word.
    pub(super) distance: Option<usize>,
    /// The smallest string that the next similar term can be; `None` if there cannot be another similar term.
    pub(super) next: Option<String>,
}

impl SimilarTerms {
    pub(super) fn new(word: &str, most: usize, fixed: usize) -> Self {
        Self {
            word: word.chars().collect(),
            most,
            fixed,
        }
    }

    /// Returns the smallest string that a similar term can be.
    pub(super) fn start(&self) -> String {
        self.word.iter().take(self.fixed).collect()
    }

    /// Compares a term with the word.
    pub(super) fn step(&self, term: &str) -> TermStep {
        let term: Vec<char> = term.chars().collect();
        let mut rows = vec![(0..=self.word.len()).collect::<Vec<usize>>()];
        let mut before = None;
        for (place, one) in term.iter().enumerate() {
            let is_fixed = place >= self.fixed || self.word.get(place) == Some(one);
            let row = self.row(&rows, before, *one);
            if !is_fixed || least(&row) > self.most {
                let next = self.after(&term, &rows);
                return TermStep {
                    distance: None,
                    next,
                };
            }
            rows.push(row);
            before = Some(*one);
        }
        let distance = rows.last().and_then(|row| row.last()).copied();
        let is_whole = term.len() >= self.fixed;
        TermStep {
            distance: distance.filter(|distance| is_whole && *distance <= self.most),
            // This is the smallest string that is greater than the term, so no similar term is skipped.
            next: Some(term.into_iter().chain(['\0']).collect()),
        }
    }

    /// Returns the next row of the matrix of distances, for one more character of the term. It contains the distance between the
    /// characters of the term so far and each prefix of the word. `before` is the previous character.
    fn row(&self, rows: &[Vec<usize>], before: Option<char>, one: char) -> Vec<usize> {
        let above = rows.last().map(Vec::as_slice).unwrap_or_default();
        let two_above = rows.iter().rev().nth(1);
        let mut last = above.first().map_or(0, |distance| distance + 1);
        let mut row = vec![last];
        let mut left = None;
        for (place, (pair, letter)) in above.windows(2).zip(&self.word).enumerate() {
            let &[diagonal, up] = pair else { continue };
            let replaced = diagonal + usize::from(*letter != one);
            last = replaced.min(up + 1).min(last + 1);
            if before == Some(*letter)
                && left == Some(one)
                && let Some(exchanged) = two_above.and_then(|row| row.get(place.checked_sub(1)?))
            {
                last = last.min(exchanged + 1);
            }
            left = Some(*letter);
            row.push(last);
        }
        row
    }

    /// Returns the smallest string that could be similar and is greater than all strings that begin with the compared part of
    /// `term`.
    fn after(&self, term: &[char], rows: &[Vec<usize>]) -> Option<String> {
        let last = rows.len().checked_sub(1)?;
        let mut places = (self.fixed..=last).rev();
        places.find_map(|place| {
            let next = self.next_letter(term, rows, place)?;
            Some(term.iter().take(place).chain([&next]).collect())
        })
    }

    /// Returns the smallest character with which a similar term can continue at `place`, and which is greater than the
    /// term's own character there.
    fn next_letter(&self, term: &[char], rows: &[Vec<usize>], place: usize) -> Option<char> {
        let row = rows.get(place)?;
        let present = *term.get(place)?;
        if least(row) < self.most {
            let mut following = (u32::from(present)..).skip(1).take(0x1000);
            return following.find_map(char::from_u32);
        }
        // No further difference is allowed, so only letters of the word can follow.
        let letters = row
            .iter()
            .zip(&self.word)
            .filter(|(distance, _)| **distance <= self.most)
            .map(|(_, letter)| *letter);
        let before = place.checked_sub(1).and_then(|before| {
            let row = rows.get(before)?;
            Some((term.get(before)?, row))
        });
        let exchanged = before.into_iter().flat_map(|(before, row)| {
            let pairs = self.word.windows(2).zip(row);
            pairs.filter_map(move |(pair, distance)| match pair {
                [first, second] if second == before && *distance < self.most => Some(*first),
                _ => None,
            })
        });
        letters.chain(exchanged).filter(|one| *one > present).min()
    }
}

fn least(row: &[usize]) -> usize {
    row.iter().copied().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the terms in a sorted list that are similar to `word`, with their distances, and the number of look-ups in the list.
    fn similar<'a>(
        word: &str,
        (most, fixed): (usize, usize),
        terms: &[&'a str],
    ) -> (Vec<(&'a str, usize)>, usize) {
        let similar = SimilarTerms::new(word, most, fixed);
        let mut next = Some(similar.start());
        let mut found = Vec::new();
        let mut looks = 0;
        while let Some(start) = next {
            looks += 1;
            let Some(term) = terms.iter().find(|term| ***term >= *start) else {
                break;
            };
            let step = similar.step(term);
            found.extend(step.distance.map(|distance| (*term, distance)));
            assert!(
                step.next.as_ref().is_none_or(|next| **next > **term),
                "{term}: {step:?}"
            );
            next = step.next;
        }
        (found, looks)
    }

    const TERMS: [&str; 16] = [
        "aunt",
        "austen",
        "austenland",
        "austin",
        "emma",
        "emmas",
        "ems",
        "war",
        "warden",
        "wars",
        "warsaw",
        "wart",
        "ward",
        "wra",
        "ауст",
        "война",
    ];

    #[test]
    fn similar_terms_are_found() {
        let mut terms = TERMS;
        terms.sort_unstable();
        for (word, most, expected) in [
            ("austen", 1, &[("austen", 0), ("austin", 1)][..]),
            ("asuten", 1, &[("austen", 1)]),
            ("ausen", 1, &[("austen", 1)]),
            ("autsen", 1, &[("austen", 1)]),
            ("emmma", 1, &[("emma", 1)]),
            ("eemma", 1, &[("emma", 1)]),
            ("mema", 1, &[("emma", 1)]),
            ("waar", 1, &[("war", 1)]),
            ("arw", 1, &[("war", 2)][..0]),
            ("войан", 1, &[("война", 1)]),
            ("auzten", 2, &[("austen", 1), ("austin", 2)]),
            ("zzzz", 2, &[]),
        ] {
            assert_eq!(similar(word, (most, 0), &terms).0, expected, "{word}");
        }
        assert_eq!(
            similar("austens", (2, 1), &terms).0,
            [("austen", 1), ("austin", 2)]
        );
        assert_eq!(similar("eusten", (2, 1), &terms).0, []);
    }

    #[test]
    fn stepping_through_a_list_finds_the_same_as_comparing_all_terms() {
        // `words` becomes the list of all words of up to four letters over an alphabet of three letters.
        let mut words = vec![String::new()];
        for length in 0..4 {
            let longer: Vec<String> = words
                .iter()
                .filter(|word| word.len() == length)
                .flat_map(|word| ["a", "b", "c"].map(|one| format!("{word}{one}")))
                .collect();
            words.extend(longer);
        }
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        let terms: Vec<&str> = words.iter().map(String::as_str).collect();
        for word in ["abca", "bcab", "aacc", "abc"] {
            for most in 0..=2 {
                let (found, looks) = similar(word, (most, 0), &terms);
                let all = terms.iter().filter_map(|term| {
                    let distance = strsim::osa_distance(word, term);
                    (distance <= most).then_some((*term, distance))
                });
                assert_eq!(found, all.collect::<Vec<_>>(), "{word} {most}");
                assert!(most > 0 || looks <= 8, "{word}: {looks}");
            }
        }
    }
}
