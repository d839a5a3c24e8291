//! The error for a search that found nothing, while some sources of the database failed.

use std::fmt;

use z3950_asn1::apdu::{AddInfo, DefaultDiagFormat, DiagRec};
use z3950_asn1::format::sources::SearchSources;

use super::{Diagnostics, Error};

/// The sources that failed, with the reasons. `Display` lists them, as in `union@closed: cannot connect: connection
/// refused`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedSources {
    sources: SearchSources,
    diagnostics: Diagnostics,
}

impl FailedSources {
    /// Returns all sources of the database, including those that answered.
    pub fn sources(&self) -> &SearchSources {
        &self.sources
    }

    /// Returns the diagnostics from the failed sources. Their additional information begins with the name of the
    /// source.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns whether at least one source is temporarily unavailable. Otherwise, all failed sources have refused the
    /// search.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.diagnostics.is_temporary()
    }
}

impl Error {
    /// Returns the error for a search that found nothing: [`Error::Incomplete`] if sources have failed, and
    /// [`Error::NoMatch`] otherwise.
    pub fn of_nothing(sources: &SearchSources) -> Self {
        if !sources.has_failed() {
            return Self::NoMatch;
        }
        let failures = sources.failures().map(|(name, failure)| {
            let addinfo = format!("{name}: {}", failure.addinfo.to_string_lossy());
            DiagRec::DefaultFormat(DefaultDiagFormat {
                addinfo: AddInfo::V2Addinfo(addinfo.as_str().into()),
                ..failure.clone()
            })
        });
        Self::Incomplete(FailedSources {
            sources: sources.clone(),
            diagnostics: Diagnostics(failures.collect()),
        })
    }
}

impl fmt::Display for FailedSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sources.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::format::sources::SearchSource;

    use super::*;
    use crate::retrieve::{Outcome, OutcomeName};

    #[test]
    fn nothing_found_is_no_match_unless_sources_failed() {
        for (conditions, name, words) in [
            (&[][..], OutcomeName::NoMatch, "no record matches"),
            (
                &[109],
                OutcomeName::Unavailable,
                "no record matches, but not all sources answered: u@0: x",
            ),
            (
                &[3, 109],
                OutcomeName::Unavailable,
                "no record matches, but not all sources answered: u@0: the server does not offer this kind of search (3) x; u@1: x",
            ),
            (
                &[3],
                OutcomeName::SearchRefused,
                "no record matches, but not all sources answered: u@0: the server does not offer this kind of search (3) x",
            ),
        ] {
            let sources = conditions
                .iter()
                .enumerate()
                .map(|(number, condition)| SearchSource {
                    name: format!("u@{number}"),
                    records: None,
                    failure: Some(DefaultDiagFormat::bib1(*condition, "x")),
                });
            let sources = SearchSources {
                sources: sources.collect(),
                remarks: Vec::new(),
            };
            let error = Error::of_nothing(&sources);
            assert_eq!(error.to_string(), words);
            assert_eq!(error.diagnostics().len(), conditions.len());
            assert_eq!(Outcome::from(error).name(), name);
        }
    }
}
