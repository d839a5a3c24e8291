//! ZOOM's ScanSet: a section of an index (Z39.50-2003 §3.2.8).

use z3950_asn1::apdu::{Entry, Term};
use z3950_marc::charset::utf8_or_latin1;

use crate::error::{Error, Phase};
use crate::protocol::service::scan::ScanResult;

/// A list of terms from an index, in order.
#[derive(Clone, Debug)]
pub struct ScanSet {
    terms: Vec<ScanTerm>,
    result: ScanResult,
}

/// A term in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanTerm {
    /// The term in the form used for searching.
    pub term: String,
    /// The term in the form used for display, if it differs from `term`.
    pub display: Option<String>,
    /// The number of records that contain the term, if the server reports it.
    pub count: Option<u64>,
}

impl ScanSet {
    /// Creates a set of the terms in a result. Diagnostics in place of entries are left out.
    pub(crate) fn new(result: ScanResult) -> Self {
        let terms = result.entries.iter();
        Self {
            terms: terms.filter_map(ScanTerm::of).collect(),
            result,
        }
    }

    /// Returns the terms in the order of the index.
    pub fn terms(&self) -> &[ScanTerm] {
        &self.terms
    }

    /// Returns the 1-based position, among these terms, of the requested term or of the term after it. Returns `None`
    /// if the server does not report it.
    pub fn position(&self) -> Option<usize> {
        let position = usize::try_from(self.result.position_of_term?).ok()?;
        (1..=self.terms.len())
            .contains(&position)
            .then_some(position)
    }

    /// Returns the complete response.
    pub fn result(&self) -> &ScanResult {
        &self.result
    }

    /// Returns the diagnostics in place of terms, followed by the other diagnostics, as errors.
    pub fn errors(&self) -> impl Iterator<Item = Error> {
        let entries = self.result.entries.iter();
        let in_place = entries.filter_map(|entry| match entry {
            Entry::SurrogateDiagnostic(diagnostic) => Some(diagnostic),
            Entry::TermInfo(_) => None,
        });
        let all = in_place.chain(&self.result.diagnostics.0);
        all.map(|diagnostic| Error::Refused {
            phase: Phase::Scan,
            diagnostics: diagnostic.clone().into(),
        })
    }
}

impl ScanTerm {
    fn of(entry: &Entry) -> Option<Self> {
        let Entry::TermInfo(info) = entry else {
            return None;
        };
        let text = |octets: &[u8]| utf8_or_latin1(octets).into_owned();
        let term = match &info.term {
            Term::General(octets) => text(octets.as_bytes()),
            Term::CharacterString(string) => text(string.as_bytes()),
            Term::Numeric(number) => number.to_string(),
            _ => text(info.display_term.as_ref()?.as_bytes()),
        };
        let display = info.display_term.as_ref();
        let display = display.map(|display| text(display.as_bytes()));
        Some(Self {
            display: display.filter(|display| *display != term),
            count: info
                .global_occurrences
                .and_then(|count| count.try_into().ok()),
            term,
        })
    }
}

impl<'a> IntoIterator for &'a ScanSet {
    type Item = &'a ScanTerm;
    type IntoIter = std::slice::Iter<'a, ScanTerm>;

    fn into_iter(self) -> Self::IntoIter {
        self.terms.iter()
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec, ScanStatus, TermInfo};

    use super::*;

    fn entry(term: Term, display: Option<&str>, count: Option<i64>) -> Entry {
        Entry::TermInfo(Box::new(TermInfo {
            term,
            display_term: display.map(Into::into),
            suggested_attributes: None,
            alternative_term: None,
            global_occurrences: count,
            by_attributes: None,
            other_term_info: None,
        }))
    }

    #[test]
    fn terms_of_every_type_become_text() {
        let general = |text: &[u8]| Term::General(text.to_vec().into());
        let diagnostic = DiagRec::DefaultFormat(DefaultDiagFormat::bib1(228, ""));
        let set = |position_of_term| {
            ScanSet::new(ScanResult {
                entries: vec![
                    entry(general(b"emma"), Some("Emma"), Some(3)),
                    entry(general(b"war"), Some("war"), Some(-1)),
                    entry(Term::Numeric(1900), None, None),
                    entry(general(b"\xE9"), None, Some(0)),
                    Entry::SurrogateDiagnostic(diagnostic.clone()),
                ],
                status: ScanStatus::SUCCESS,
                position_of_term,
                step_size: None,
                diagnostics: diagnostic.clone().into(),
                attribute_set: None,
                other_info: None,
            })
        };
        let terms = set(None);
        let shown: Vec<_> = terms
            .into_iter()
            .map(|term| (term.term.as_str(), term.display.as_deref(), term.count))
            .collect();
        assert_eq!(
            shown,
            [
                ("emma", Some("Emma"), Some(3)),
                ("war", None, None),
                ("1900", None, None),
                ("é", None, Some(0)),
            ]
        );
        assert_eq!(set(None).errors().count(), 2);
        for (said, position) in [(1, Some(1)), (4, Some(4)), (5, None), (0, None), (-1, None)] {
            assert_eq!(set(Some(said)).position(), position, "{said}");
        }
    }
}
