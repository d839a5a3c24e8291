//! A record as pages show it: with labels, its holdings, its URL, and as the server sent it.

use z3950::Record;
use z3950::asn1::record::holdings::Holding;
use z3950::marc::crosswalk::sutrs::sutrs_text;

use crate::text::{VALUE, clean, cut};

/// A record as it is shown.
pub(crate) struct ShownRecord {
    pub(crate) title: String,
    /// Labels and values.
    pub(crate) rows: Vec<(String, String)>,
    pub(crate) holdings: Vec<ShownCopy>,
    /// Its `z39.50r` URL; empty if there is none.
    pub(crate) url: String,
    /// The lines of the record itself.
    pub(crate) text: String,
    /// The forms in which it can be had, each with its link.
    pub(crate) downloads: Vec<(&'static str, String)>,
}

/// A copy as it is shown.
pub(crate) struct ShownCopy {
    pub(crate) place: String,
    pub(crate) call_number: String,
    pub(crate) status: String,
}

impl ShownRecord {
    pub(crate) fn of(record: &Record, url: String, downloads: Vec<(&'static str, String)>) -> Self {
        let marc = record.marc();
        let labelled = marc.as_ref().map(sutrs_text).unwrap_or_default();
        let rows = labelled.lines().filter_map(|line| line.split_once(": "));
        Self {
            title: clean(record.title().as_deref().unwrap_or("[no title]")),
            rows: rows
                .map(|(label, value)| (label.to_owned(), cut(value, VALUE)))
                .collect(),
            holdings: record.holdings().iter().map(ShownCopy::of).collect(),
            url,
            text: cut(&record.text(), 10 * VALUE),
            downloads,
        }
    }
}

impl ShownCopy {
    fn of(holding: &Holding) -> Self {
        let joined = |parts: &[&Option<String>]| {
            let parts = parts.iter().filter_map(|part| part.as_deref());
            clean(&parts.collect::<Vec<_>>().join(", "))
        };
        let available = match holding.available {
            Some(true) => Some("available".to_owned()),
            Some(false) => Some("not available".to_owned()),
            None => None,
        };
        let status = holding.status.as_deref().unwrap_or_default();
        // Many servers say in words what the other elements say.
        let due = holding.due.as_ref();
        let due = due.filter(|due| !status.contains(due.as_str()));
        let due = due.map(|due| format!("due {due}"));
        let is_said = available
            .as_ref()
            .is_some_and(|said| said.eq_ignore_ascii_case(status));
        let status = holding.status.clone().filter(|_| !is_said);
        Self {
            place: joined(&[
                &holding.library,
                &holding.location,
                &holding.shelving_location,
                &holding.temporary_location,
            ]),
            call_number: joined(&[&holding.call_number, &holding.volume, &holding.copy]),
            status: joined(&[
                &available,
                &due,
                &status,
                &holding.restrictions,
                &holding.note,
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_shown_once() {
        for (available, due, status, expected) in [
            (Some(true), None, Some("Available"), "available"),
            (
                Some(true),
                None,
                Some("On display"),
                "available, On display",
            ),
            (
                Some(false),
                Some("2026-12-01"),
                Some("Due 2026-12-01"),
                "not available, Due 2026-12-01",
            ),
            (
                Some(false),
                Some("2026-12-01"),
                Some("On loan"),
                "not available, due 2026-12-01, On loan",
            ),
            (None, None, None, ""),
        ] {
            let mut holding = Holding::default();
            holding.available = available;
            holding.due = due.map(str::to_owned);
            holding.status = status.map(str::to_owned);
            assert_eq!(ShownCopy::of(&holding).status, expected);
        }
    }
}
