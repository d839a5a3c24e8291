//! The display forms of complete entries in scans and facets (displayTerm of TermInfo, Z39.50-2003 §3.2.8.1). The display form is
//! the text in the first record that has the entry. The record is read again, because the indexes only have folded terms. Words
//! do not have a display form, because the capitals of a word depend on its place in the sentence.

use bytes::Bytes;
use z3950_asn1::apdu::Term;
use z3950_marc::iso2709;

use crate::backend::Scanned;
use crate::memory::fields::{Fields, IndexId, Kind, SUBFIELD_MARK};
use crate::memory::hits::HitSet;
use crate::memory::index::{Exhausted, Index, Terms, WorkBudget, shortened};
use crate::memory::words::words;

/// The maximum number of octets of a display form. Longer texts are not headings, so they are shown folded.
const MAX_DISPLAY: usize = 1_000;

/// The number of octets of a record that are read per unit of work.
const OCTETS_A_UNIT: usize = 8;

/// Adds display forms to complete entries. Codes, dates and numbers do not have a display form.
///
/// `within` are the records that were scanned; `None` for all.
///
/// # Errors
/// The work budget is exhausted. The remaining terms then do not have a display form.
pub(super) fn add(
    all: (&Index, &Fields),
    terms: Terms,
    within: Option<&HitSet<'_>>,
    scanned: &mut Scanned,
    work: &mut WorkBudget,
) -> Result<(), Exhausted> {
    let Some(mut printed) = PrintedEntries::new(all, terms, within) else {
        return Ok(());
    };
    for one in scanned.before.iter_mut().chain(&mut scanned.after) {
        if let Term::General(octets) = &one.term {
            one.display = printed.of(octets, work)?;
        }
    }
    Ok(())
}

/// A reader of the printed forms of an index's entries.
pub(super) struct PrintedEntries<'a> {
    index: &'a Index,
    fields: &'a Fields,
    terms: Terms,
    id: IndexId,
    within: Option<&'a HitSet<'a>>,
    /// The record that was read last, with its texts. It is kept because adjacent terms are often in the same record.
    last: Option<(&'a Bytes, Vec<String>)>,
}

impl<'a> PrintedEntries<'a> {
    /// Creates a reader of the printed forms in the given records; returns `None` for words, codes, dates and numbers.
    pub(super) fn new(
        (index, fields): (&'a Index, &'a Fields),
        terms: Terms,
        within: Option<&'a HitSet<'a>>,
    ) -> Option<Self> {
        let Terms::Keys(id) = terms else {
            return None;
        };
        (fields.kind(id) == Kind::Text).then_some(Self {
            index,
            fields,
            terms,
            id,
            within,
            last: None,
        })
    }

    /// Returns a term as printed in the first record that has it; `None` if the printed form equals the term, or is too long.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(super) fn of(
        &mut self,
        term: &[u8],
        work: &mut WorkBudget,
    ) -> Result<Option<String>, Exhausted> {
        let Ok(text) = std::str::from_utf8(term) else {
            return Ok(None);
        };
        let first = self.index.first_with(self.terms, term, self.within, work)?;
        let Some(record) = first else {
            return Ok(None);
        };
        let texts = match self.last.take() {
            Some((same, texts)) if std::ptr::eq(same, record) => texts,
            _ => {
                work.spend(record.len() / OCTETS_A_UNIT)?;
                texts_of(record, self.fields, self.id)
            }
        };
        let printed = texts.iter().find_map(|one| whole_of(one, text));
        self.last = Some((record, texts));
        let is_useful = |printed: &String| printed != text && printed.len() <= MAX_DISPLAY;
        Ok(printed.filter(is_useful))
    }
}

/// Returns the texts of a record in an index; empty if the record cannot be read.
fn texts_of(record: &Bytes, fields: &Fields, index: IndexId) -> Vec<String> {
    let mut texts = Vec::new();
    if let Ok(parsed) = iso2709::parse(record) {
        fields.texts(&parsed.record, index, &mut |text| {
            texts.push(text.to_owned())
        });
    }
    texts
}

/// Returns the text of a field, if its folded form is this complete entry; otherwise, `None`. Marks are removed from the text,
/// and so is the punctuation at its end, which precedes a further element.
fn whole_of(text: &str, term: &str) -> Option<String> {
    // Most texts already differ in the first letter, so it is compared before the whole text.
    let first = text.trim_start().chars().next();
    let is_other = |letter: char| !term.starts_with(letter.to_ascii_lowercase());
    if first.is_some_and(|first| first.is_ascii_alphanumeric() && is_other(first)) {
        return None;
    }
    if shortened(&words(text).join(" ")) != term {
        return None;
    }
    let mut printed = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            SUBFIELD_MARK => printed.push(' '),
            other if other.is_control() => {}
            other => printed.push(other),
        }
    }
    let end = printed
        .trim_end_matches(|c: char| c.is_whitespace() || "/:;=,".contains(c))
        .len();
    printed.truncate(end);
    Some(printed.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_shown_as_printed() {
        let long = "Ä".repeat(300);
        let folded = "a".repeat(200);
        for (text, term, expected) in [
            (
                "Tolstoy, Leo,\u{1f}graf,\u{1f}1828-1910.",
                "tolstoy leo graf 1828 1910",
                Some("Tolstoy, Leo, graf, 1828-1910."),
            ),
            (
                "\u{98}The \u{9c}war :\u{1f}a novel /",
                "the war a novel",
                Some("The war : a novel"),
            ),
            ("War and peace", "war", None),
            (&long, &folded, Some(&*long)),
        ] {
            assert_eq!(whole_of(text, term).as_deref(), expected, "{text}");
        }
    }
}
