//! A record prepared for a page, with labelled values, holdings and URL, and with the record as MARC or as the server sent it.

mod rows;

use z3950::{Record, RecordSource};
use z3950_asn1::record::holdings::Holding;
use z3950_marc::Form;

use self::rows::{ShownRow, rows};
use crate::text::{VALUE, clean, cut, encoded};

/// A record prepared for a page.
pub(crate) struct ShownRecord {
    pub(crate) title: String,
    pub(crate) rows: Vec<ShownRow>,
    pub(crate) holdings: Vec<ShownCopies>,
    /// The record's `z39.50r` URL; empty if the record does not have such a URL.
    pub(crate) url: String,
    /// The part of the database to which the URL leads; empty for a database without parts.
    pub(crate) url_source: String,
    /// Whether this server can follow the URL, so that it is shown as a link.
    pub(crate) has_link: bool,
    /// The heading above [`Self::text`].
    pub(crate) text_title: &'static str,
    /// The record as MARC, or as the server sent it, in lines.
    pub(crate) text: String,
    /// The download formats with their links.
    pub(crate) downloads: Vec<(&'static str, String)>,
}

/// The copies that one database has.
pub(crate) struct ShownCopies {
    /// The part of the database that has the copies; empty for a database without parts.
    pub(crate) source: String,
    pub(crate) copies: Vec<ShownCopy>,
}

/// A copy prepared for a page.
pub(crate) struct ShownCopy {
    pub(crate) place: String,
    pub(crate) call_number: String,
    pub(crate) status: String,
}

impl ShownRecord {
    /// Prepares a record with its URL and download links. `title` returns the displayed name of a database. `search` returns the
    /// link to the search for a query; it is `None` if there is no search page.
    pub(crate) fn of(
        record: &Record,
        url: String,
        downloads: Vec<(&'static str, String)>,
        title: &impl Fn(&str) -> String,
        search: Option<&dyn Fn(&str) -> String>,
    ) -> Self {
        let marc = record.marc();
        let lines = marc.as_ref().and_then(|marc| {
            let mut lines = Vec::new();
            Form::Line.write(marc, &mut lines).ok()?;
            String::from_utf8(lines).ok()
        });
        let (text_title, text) = match lines {
            Some(lines) => ("MARC", lines),
            None => ("As the server sent it", record.text()),
        };
        Self {
            title: clean(record.title().as_deref().unwrap_or("[no title]")),
            rows: marc.map(|marc| rows(&marc, search)).unwrap_or_default(),
            holdings: copies(record, title),
            url,
            url_source: String::new(),
            has_link: false,
            text_title,
            text: cut(&text, 10 * VALUE),
            downloads,
        }
    }

    /// Adds the part of the database to which the URL leads, and shows the URL as a link if this server can follow it.
    pub(crate) fn with_url(self, source: String, has_link: bool) -> Self {
        Self {
            url_source: source,
            has_link,
            ..self
        }
    }

    /// Returns the gateway's path for the record's URL.
    pub(crate) fn link(&self) -> String {
        format!("/get?url={}", encoded(&self.url))
    }
}

/// Returns the copies of a record, grouped by database.
fn copies(record: &Record, title: &impl Fn(&str) -> String) -> Vec<ShownCopies> {
    let mut all: Vec<ShownCopies> = Vec::new();
    for mut holding in record.holdings() {
        let source = take_source(&mut holding, record.sources())
            .map(|name| title(&name))
            .unwrap_or_default();
        let copy = ShownCopy::of(&holding);
        match all.last_mut().filter(|last| last.source == source) {
            Some(last) => last.copies.push(copy),
            None => all.push(ShownCopies {
                source,
                copies: vec![copy],
            }),
        }
    }
    all
}

/// If a copy's note ends with the name of one of these databases, removes the name from the note and returns it.
fn take_source(holding: &mut Holding, sources: &[RecordSource]) -> Option<String> {
    let note = holding.note.as_ref()?;
    let (rest, last) = note.rsplit_once("; ").unwrap_or(("", note));
    if !sources.iter().any(|one| one.database == last) {
        return None;
    }
    let source = last.to_owned();
    holding.note = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    Some(source)
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
        // Many servers repeat the due date or the availability in the status, so such repetitions are left out.
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
    fn repeated_messages_are_shown_once() {
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

    #[test]
    fn the_source_of_a_copy_is_the_end_of_its_note() {
        let sources = [RecordSource::new("u@a:210/b")];
        for (note, source, status) in [
            ("Fragile; u@a:210/b", Some("u@a:210/b"), "Fragile"),
            ("u@a:210/b", Some("u@a:210/b"), ""),
            ("u@c:210/b", None, "u@c:210/b"),
        ] {
            let mut holding = Holding::default();
            holding.note = Some(note.to_owned());
            let found = take_source(&mut holding, &sources);
            let copy = ShownCopy::of(&holding);
            assert_eq!(
                (found.as_deref(), &*copy.status),
                (source, status),
                "{note}"
            );
        }
    }
}
