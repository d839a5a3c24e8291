//! The results of a search at each of its sources, as sent in additionalSearchInfo (Z39.50-2003 §3.2.2.1.12). Counts
//! are in SearchResult-1 (Appendix USR.1); failures are in diag-1 (Appendix DIAG.2), with messages that begin with the
//! name of the source.

use std::fmt;

use super::diag1::{Diagnostic, DiagnosticFormat, DiagnosticUnit};
use super::search_result1::{Databases, ResultsByDb, SearchInfoReport, SubqueryReport};
use crate::apdu::{DatabaseName, DefaultDiagFormat, OtherInformation};
use crate::bib1::diagnostics::Condition;
use crate::error::EncodeError;

/// The maximum number of sources and of remarks that are read; any beyond this number are ignored.
pub const MAX_SOURCES: usize = 1000;

/// A source of the records of a search, such as one of the servers to which the search was forwarded.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSource {
    /// The name of the source, which is also the database name of its records.
    pub name: String,
    /// The number of records found by the source, if it is known.
    pub records: Option<u64>,
    /// The reason why the source did not answer; `None` if it did.
    pub failure: Option<DefaultDiagFormat>,
}

/// The sources of a search, and the other remarks in its response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSources {
    /// The sources; empty if all records come from a single source.
    pub sources: Vec<SearchSource>,
    /// Remarks on the search, for people.
    pub remarks: Vec<String>,
}

impl SearchSource {
    /// Returns a message that says why the source did not answer: `union@closed: cannot connect: connection refused`,
    /// `union@town: the server has no such search field (Use attribute) (114) 9999`. Returns `None` if the source
    /// answered.
    pub fn failed(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        Some(format!("{}: {}", self.name, reason(failure)))
    }
}

/// Returns the message for a failure. For an unavailable database, the message is only the addinfo, unless that is
/// empty.
pub fn reason(failure: &DefaultDiagFormat) -> String {
    let addinfo = failure.addinfo.to_string_lossy();
    if failure.condition == Condition::DATABASE_UNAVAILABLE.0 && !addinfo.is_empty() {
        return addinfo.into_owned();
    }
    let condition = failure.condition;
    let words = match failure.message() {
        Some(message) => format!("{message} ({condition})"),
        None => format!("diagnostic {condition}"),
    };
    match &*addinfo {
        "" => words,
        addinfo => format!("{words} {addinfo}"),
    }
}

impl SearchSources {
    /// Returns the sources named in additional information about a search.
    pub fn of(information: &OtherInformation) -> Self {
        let report: Option<SearchInfoReport> = information.value();
        let parts = report.into_iter().flat_map(|report| report.0);
        let whole = parts.filter(|part| part.full_query);
        let results = whole.flat_map(|whole| whole.results_by_db.unwrap_or_default());
        let mut found = Self {
            sources: results.take(MAX_SOURCES).filter_map(source).collect(),
            remarks: Vec::new(),
        };
        let units: Option<DiagnosticFormat> = information.value();
        let units = units.into_iter().flat_map(|units| units.0);
        for unit in units.take(MAX_SOURCES) {
            found.take(unit);
        }
        found
    }

    /// Adds the failure of a source, or a remark, from a diagnostic.
    fn take(&mut self, unit: DiagnosticUnit) {
        let message = unit
            .message
            .map(|text| text.to_string_lossy().into_owned())
            .unwrap_or_default();
        let diagnostic = match unit.diagnostic {
            Some(Diagnostic::DefaultDiagRec(diagnostic)) => Some(diagnostic),
            _ => None,
        };
        let sources = self.sources.iter_mut();
        let is_about = |source: &&mut SearchSource| {
            let rest = message.strip_prefix(&*source.name);
            rest.is_some_and(|rest| rest.starts_with(": "))
        };
        // A source with a count has answered, so a message about it does not report a failure.
        let mut failed = sources.filter(|source| source.records.is_none());
        match (diagnostic, failed.find(is_about)) {
            (Some(diagnostic), Some(source)) => source.failure = Some(diagnostic),
            (Some(diagnostic), None) if message.is_empty() => {
                self.remarks.push(diagnostic.to_string());
            }
            _ if message.is_empty() => {}
            _ => self.remarks.push(message),
        }
    }

    /// Returns the entry of SearchResult-1 for the complete query, which found `total` records; `None` if there are no
    /// sources.
    pub fn report(&self, total: i64) -> Option<SubqueryReport> {
        let results = self.sources.iter().map(|source| ResultsByDb {
            databases: Databases::List(vec![DatabaseName::from(source.name.as_str())]),
            count: source.records.and_then(|count| i64::try_from(count).ok()),
            result_set_name: None,
        });
        (!self.sources.is_empty()).then(|| SubqueryReport {
            full_query: true,
            subquery_count: Some(total),
            results_by_db: Some(results.collect()),
            ..SubqueryReport::default()
        })
    }

    /// Returns the failures and remarks as diag-1; `None` if there are none.
    pub fn diagnostics(&self) -> Option<DiagnosticFormat> {
        let failures = self.failures().map(|(name, failure)| {
            let words = failure.addinfo.to_string_lossy();
            DiagnosticUnit {
                message: Some(format!("{name}: {words}").as_str().into()),
                diagnostic: Some(Diagnostic::DefaultDiagRec(failure.clone())),
            }
        });
        let remarks = self.remarks.iter().map(|remark| DiagnosticUnit {
            message: Some(remark.as_str().into()),
            diagnostic: None,
        });
        let units: Vec<_> = failures.chain(remarks).collect();
        (!units.is_empty()).then_some(DiagnosticFormat(units))
    }

    /// Adds the sources to the information about a search that found `total` records.
    ///
    /// # Errors
    /// Fails if BER cannot encode the values.
    pub fn put(&self, total: i64, information: &mut OtherInformation) -> Result<(), EncodeError> {
        if let Some(report) = self.report(total) {
            information.put_value(&SearchInfoReport(vec![report]))?;
        }
        if let Some(diagnostics) = self.diagnostics() {
            information.put_value(&diagnostics)?;
        }
        Ok(())
    }

    /// Returns the sources that failed, each with its diagnostic.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &DefaultDiagFormat)> {
        let sources = self.sources.iter();
        sources.filter_map(|source| Some((&*source.name, source.failure.as_ref()?)))
    }

    /// Returns whether any source failed.
    pub fn has_failed(&self) -> bool {
        self.failures().next().is_some()
    }

    /// Adds the sources from a second search, which searched for the same records in a different way. A source counts
    /// as failed only if it failed in both searches.
    pub fn join(&mut self, later: Self) {
        for source in later.sources {
            let mut known = self.sources.iter_mut();
            match known.find(|known| known.name == source.name) {
                Some(known) if known.failure.is_some() || source.failure.is_none() => {
                    *known = source;
                }
                Some(_) => {}
                None => self.sources.push(source),
            }
        }
        for remark in later.remarks {
            if !self.remarks.contains(&remark) && self.remarks.len() < MAX_SOURCES {
                self.remarks.push(remark);
            }
        }
    }
}

impl fmt::Display for SearchSources {
    /// Writes the failures: `union@closed: cannot connect: connection refused; union@x: no answer within 10 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.sources.iter().filter_map(SearchSource::failed);
        f.write_str(&words.collect::<Vec<_>>().join("; "))
    }
}

/// Converts the results for a database to a source; returns `None` if they do not belong to exactly one database.
fn source(found: ResultsByDb) -> Option<SearchSource> {
    let Databases::List(names) = &found.databases else {
        return None;
    };
    let [name] = names.as_slice() else {
        return None;
    };
    Some(SearchSource {
        name: name.0.to_string_lossy().into_owned(),
        records: found.count.and_then(|count| u64::try_from(count).ok()),
        failure: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, records: u64) -> SearchSource {
        SearchSource {
            name: name.into(),
            records: Some(records),
            failure: None,
        }
    }

    fn failed(name: &str, condition: i64, words: &str) -> SearchSource {
        SearchSource {
            name: name.into(),
            records: None,
            failure: Some(DefaultDiagFormat::bib1(condition, words)),
        }
    }

    #[test]
    fn sources_are_read_as_they_are_sent() {
        let sent = SearchSources {
            sources: vec![
                found("u@a", 3),
                failed("u@b", 109, "no answer within 1 s"),
                failed("u@b:1", 114, "9999"),
            ],
            remarks: vec!["the first 100 records are merged".into()],
        };
        let mut information = OtherInformation::default();
        sent.put(3, &mut information).expect("encodable");
        assert_eq!(SearchSources::of(&information), sent);
        assert_eq!(
            sent.to_string(),
            "u@b: no answer within 1 s; u@b:1: the server has no such search field (Use attribute) (114) 9999"
        );
        let mut nothing = OtherInformation::default();
        SearchSources::default()
            .put(0, &mut nothing)
            .expect("encodable");
        assert_eq!(nothing, OtherInformation::default());
    }

    #[test]
    fn messages_about_sources_that_answered_are_remarks() {
        let unit = |message: Option<&str>, condition| DiagnosticUnit {
            message: message.map(Into::into),
            diagnostic: Some(Diagnostic::DefaultDiagRec(DefaultDiagFormat::bib1(
                condition, "x",
            ))),
        };
        let mut information = OtherInformation::default();
        let answered = SearchSources {
            sources: vec![found("u@a", 3)],
            remarks: Vec::new(),
        };
        answered.put(3, &mut information).expect("encodable");
        let units = vec![unit(Some("u@a: no facets"), 1025), unit(None, 109)];
        let sent = information.put_value(&DiagnosticFormat(units));
        sent.expect("encodable");
        let found = SearchSources::of(&information);
        assert_eq!(found.sources, answered.sources);
        let shown = DefaultDiagFormat::bib1(109, "x").to_string();
        assert_eq!(found.remarks, ["u@a: no facets", &*shown]);
    }

    #[test]
    fn no_more_are_read_than_the_limit() {
        for (sent, read) in [(MAX_SOURCES, MAX_SOURCES), (MAX_SOURCES + 1, MAX_SOURCES)] {
            let sources = SearchSources {
                sources: (0..sent).map(|one| found(&one.to_string(), 1)).collect(),
                remarks: vec!["x".into(); sent],
            };
            let mut information = OtherInformation::default();
            sources.put(1, &mut information).expect("encodable");
            let found = SearchSources::of(&information);
            assert_eq!((found.sources.len(), found.remarks.len()), (read, read));
        }
    }

    #[test]
    fn a_source_that_answered_once_has_answered() {
        let mut all = SearchSources {
            sources: vec![failed("a", 114, ""), found("b", 0), failed("c", 109, "x")],
            remarks: Vec::new(),
        };
        all.join(SearchSources {
            sources: vec![found("a", 0), failed("b", 114, ""), failed("c", 109, "y")],
            remarks: Vec::new(),
        });
        let expected = vec![found("a", 0), found("b", 0), failed("c", 109, "y")];
        assert_eq!(all.sources, expected);
        assert!(all.has_failed());
    }
}
