//! Messages about the sources of a search that combines several sources: failed sources, and the server's remarks.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use z3950::find::Ending;
use z3950_asn1::format::sources::SearchSources;

use super::Answer;
use crate::console::output::Words;

/// Notes about sources. Each note is printed only once, even if it concerns many inputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceNotes(Arc<Mutex<HashSet<String>>>);

/// The maximum number of notes that are printed.
const MAX_NOTES: usize = 100;

impl SourceNotes {
    /// Returns the notes about the sources of a successful search, except those that have already been printed. With
    /// `--json`, only the remarks are returned, because the objects name the sources that failed.
    pub(crate) fn of(
        &self,
        subject: &impl Display,
        sources: &SearchSources,
        is_json: bool,
    ) -> Vec<Words> {
        let failures = sources
            .sources
            .iter()
            .filter_map(|source| source.failed())
            .filter(|_| !is_json)
            .map(|words| format!("{subject}: results are missing from {words}"));
        let remarks = sources
            .remarks
            .iter()
            .map(|words| format!("{subject}: {words}"));
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = |words: &String| said.len() < MAX_NOTES && said.insert(words.clone());
        let notes = failures.chain(remarks).filter(|words| is_new(words));
        notes.map(Words::Note).collect()
    }
}

impl From<Ending> for Answer {
    /// Creates an answer that names the sources that failed.
    fn from(ending: Ending) -> Self {
        let failed = ending.sources.sources.iter().filter_map(|source| {
            let words = source.failed()?;
            let reason = words.strip_prefix(&*source.name)?;
            let reason = reason.trim_start_matches(": ").to_owned();
            Some((source.name.clone(), reason))
        });
        Self {
            failed: failed.collect(),
            ending,
            ..Self::default()
        }
    }
}

impl Answer {
    /// Returns the answer with messages about the sources that failed, and with the server's remarks.
    pub(crate) fn with_source_messages(self, sources: &SearchSources) -> Self {
        let answer = if sources.has_failed() {
            self.adding(&format!("results are missing from {sources}"))
        } else {
            self
        };
        answer.with_remarks(sources)
    }

    /// Returns the answer with the server's remarks.
    pub(crate) fn with_remarks(self, sources: &SearchSources) -> Self {
        let remarks = sources.remarks.iter();
        remarks.fold(self, |answer, words| answer.adding(words))
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::DefaultDiagFormat;
    use z3950_asn1::format::sources::SearchSource;

    use super::*;

    fn sources(remark: &str) -> SearchSources {
        SearchSources {
            sources: vec![SearchSource {
                name: "u@a".into(),
                records: None,
                failure: Some(DefaultDiagFormat::bib1(109, "closed")),
            }],
            remarks: vec![remark.into()],
        }
    }

    #[test]
    fn a_note_is_printed_once() {
        let notes = SourceNotes::default();
        let said = |subject: &str, remark: &str| notes.of(&subject, &sources(remark), false).len();
        assert_eq!(said("lib", "x"), 2);
        assert_eq!(said("lib", "x"), 0);
        assert_eq!(said("lib", "y"), 1);
        assert_eq!(said("other", "y"), 2);
        for number in 5..MAX_NOTES {
            assert_eq!(said("lib", &number.to_string()), 1, "{number}");
        }
        assert_eq!(said("lib", "one too many"), 0);
        let with_json = SourceNotes::default().of(&"lib", &sources("x"), true);
        assert!(matches!(with_json.as_slice(), [Words::Note(words)] if words == "lib: x"));
    }

    #[test]
    fn answers_have_their_sources() {
        let mut ending = Ending::default();
        ending.sources = sources("x");
        let answer = Answer::from(ending).with_source_messages(&sources("x"));
        assert_eq!(answer.failed, [("u@a".to_owned(), "closed".to_owned())]);
        assert_eq!(
            answer.message.as_deref(),
            Some("results are missing from u@a: closed; x")
        );
    }
}
