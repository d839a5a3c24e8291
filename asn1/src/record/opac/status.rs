//! Interprets the status of an item, which catalogues write in public notes and in 876 $j: whether the item is
//! available, when it is due back, and how many readers are waiting for it. Neither Z39.50-2003 nor MARC 21 defines the
//! wording of a status.

/// The interpretation of a status. A value that the status does not state is `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::record) struct CircStatus {
    pub(in crate::record) available: Option<bool>,
    /// The due date, as written in the status.
    pub(in crate::record) due: Option<String>,
    pub(in crate::record) holds: Option<u32>,
}

const AVAILABLE: &[&str] = &[
    "available",
    "available now",
    "checked in",
    "in",
    "in library",
    "not charged",
    "not checked out",
    "on shelf",
    "on the shelf",
];

const UNAVAILABLE: &[&str] = &[
    "at bindery",
    "being transited to library",
    "billed",
    "charged",
    "checked out",
    "claims returned",
    "damaged",
    "held",
    "in process",
    "in processing",
    "in repair",
    "in transit",
    "loaned",
    "lost",
    "lost and paid",
    "missing",
    "not available",
    "on hold",
    "on hold shelf",
    "on holdshelf",
    "on holds shelf",
    "on loan",
    "on order",
    "on search",
    "out",
    "overdue",
    "recalled",
    "unavailable",
    "withdrawn",
];

/// Words that precede the date on which an item is due back.
const UNTIL: [&str; 2] = ["due", "until"];
const FILLERS: [&str; 4] = ["back", "by", "date", "on"];

impl CircStatus {
    /// Interprets a status such as `Available`, `DUE 01-11-23 +1 HOLD` or `Checked out: due 2026-12-01`.
    pub(in crate::record) fn of(text: &str) -> Self {
        let (text, holds) = match text.rsplit_once('+') {
            Some((before, after)) if holds(after).is_some() => (before, holds(after)),
            _ => (text, None),
        };
        let words: Vec<&str> = text.split_whitespace().map(bare).collect();
        let until = words.iter().position(|word| is_any(word, &UNTIL));
        let (before, after) = match until.and_then(|at| words.split_at_checked(at)) {
            Some((before, after)) => (before, after.get(1..).unwrap_or_default()),
            None => (&*words, &[][..]),
        };
        let status = before.join(" ").to_ascii_lowercase();
        let is_known = |known: &[&str]| known.contains(&status.trim());
        let available = match (is_known(AVAILABLE), until) {
            (true, None) => Some(true),
            (_, Some(0)) => Some(false),
            _ => is_known(UNAVAILABLE).then_some(false),
        };
        let mut date = after
            .iter()
            .skip_while(|word| word.is_empty() || is_any(word, &FILLERS));
        let date: Vec<&str> = date.by_ref().copied().collect();
        let is_date = available == Some(false) && date.iter().any(|word| has_digit(word));
        Self {
            available,
            due: is_date.then(|| date.join(" ")),
            holds,
        }
    }
}

/// Returns the number of holds in text such as ` 2 HOLDS`.
fn holds(text: &str) -> Option<u32> {
    let (number, word) = text.trim().split_once(' ')?;
    let is_holds = is_any(word.trim(), &["hold", "holds"]);
    number.parse().ok().filter(|_| is_holds)
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|character| matches!(character, ',' | '.' | ':' | ';' | '-' | '(' | ')'))
}

fn is_any(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn has_digit(word: &str) -> bool {
    word.contains(|character: char| character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_catalogues_write() {
        let (yes, no) = (Some(true), Some(false));
        for (text, available, due, holds) in [
            ("AVAILABLE", yes, None, None),
            (" Checked In ", yes, None, None),
            ("Not Charged.", yes, None, None),
            ("In", yes, None, None),
            ("DUE 01-11-23", no, Some("01-11-23"), None),
            ("DUE 01-11-23 +1 HOLD", no, Some("01-11-23"), Some(1)),
            ("Due: 2026-12-01", no, Some("2026-12-01"), None),
            ("Due back on Dec 15, 2023", no, Some("Dec 15 2023"), None),
            ("Checked out - due 15.12.2026", no, Some("15.12.2026"), None),
            ("On loan (until 2026-12-01)", no, Some("2026-12-01"), None),
            ("CHECKED OUT", no, None, None),
            ("Due soon", no, None, None),
            ("Out", no, None, None),
            ("ON HOLDSHELF +12 HOLDS", no, None, Some(12)),
            ("AVAILABLE +1 HOLD", yes, None, Some(1)),
            ("CHECK SHELVES", None, None, None),
            ("LIB USE ONLY", None, None, None),
            ("Available until 2026-12-01", None, None, None),
            (
                "Gift of the author, due to whom we give thanks",
                None,
                None,
                None,
            ),
            ("Fragile", None, None, None),
            ("C++ holds", None, None, None),
            ("+99999999999 HOLDS", None, None, None),
            ("", None, None, None),
        ] {
            let due = due.map(str::to_owned);
            let expected = CircStatus {
                available,
                due,
                holds,
            };
            assert_eq!(CircStatus::of(text), expected, "{text:?}");
        }
    }
}
