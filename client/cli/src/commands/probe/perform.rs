//! How each thing is tried: the least that shows whether it works, and nothing that changes what others see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use z3950::error::{Error, Phase};
use z3950::service::ResultRecord;
use z3950::service::access::Challenge;
use z3950::service::delete::Delete;
use z3950::service::present::PresentOptions;
use z3950::service::resource::{Decision, ResourceQuestion};
use z3950::service::scan::ScanOptions;
use z3950::service::search::SearchOptions;
use z3950::service::sort::{SortOptions, SortResult, key_by_attributes};
use z3950::session::{Session, SessionOptions};
use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DeleteSetStatus, Operand, Query, RpnQuery, RpnStructure,
    SortRelation, Term,
};
use z3950_asn1::bib1::attributes::{USE, USE_TITLE};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::record::RetrievedRecord;

use super::trial::Trial;
use crate::args::Probe;
use crate::commands::target::{Place, Reach, Unanswered};
use crate::render::shown;

/// A second result set, beside the default one.
pub(super) const OTHER_SET: &str = "probe1";
/// What is tried, and where.
pub(super) struct Attempts<'a> {
    pub(super) arguments: &'a Probe,
    pub(super) reach: &'a Reach,
    pub(super) place: &'a Place,
    /// The first search that found something, and how much.
    pub(super) found: Option<(RpnQuery, u64)>,
    /// The most octets of a record that came.
    pub(super) record_size: usize,
    pub(super) noticed: Arc<Noticed>,
}

/// How often the server has asked something of its own.
#[derive(Default)]
pub(super) struct Noticed {
    pub(super) challenges: AtomicU64,
    pub(super) reports: AtomicU64,
}

/// Why there is nothing to tell of a trial.
pub(super) enum Untold {
    /// The server did not agree to it, so that it was not tried.
    NotGranted(&'static str),
    /// It needs what is not there.
    NotTried(&'static str),
    Failed(Unanswered),
}

impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Unanswered> for Untold {
    fn from(unanswered: Unanswered) -> Self {
        Self::Failed(unanswered)
    }
}

/// What there is to tell of a trial.
pub(super) type Told = Result<String, Untold>;

impl<'a> Attempts<'a> {
    pub(super) fn new(arguments: &'a Probe, reach: &'a Reach, place: &'a Place) -> Self {
        Self {
            arguments,
            reach,
            place,
            found: None,
            record_size: 0,
            noticed: Arc::default(),
        }
    }

    /// Opens a session in which the server may ask what it likes; it is told to go on, but not who is there.
    pub(super) async fn session(&self) -> Result<Session, Unanswered> {
        self.reach
            .session_with(self.place, |options| self.listen(options))
            .await
    }

    fn listen(&self, options: &mut SessionOptions) {
        let noticed = Arc::clone(&self.noticed);
        options.access_control = Some(Arc::new(move |_: Challenge| {
            noticed.challenges.fetch_add(1, Ordering::Relaxed);
            None
        }));
        let noticed = Arc::clone(&self.noticed);
        options.resource_control = Some(Arc::new(move |_: ResourceQuestion| {
            noticed.reports.fetch_add(1, Ordering::Relaxed);
            Decision::GO_ON
        }));
    }

    /// Waits, so that the server has its rest.
    pub(super) async fn pause(&self) {
        sleep(self.arguments.pause.0.unwrap_or(Duration::ZERO)).await;
    }

    /// Tries something, and says what came of it.
    pub(super) async fn perform(&mut self, session: &Session, trial: &Trial) -> Told {
        match trial {
            Trial::Search(pairs) => {
                let query = self.query(pairs);
                let hits = self.search(session, &query, None).await?;
                if hits > 0 && self.found.is_none() {
                    self.found = Some((query, hits));
                }
                Ok(said(hits, "hit"))
            }
            Trial::Syntax(syntax) => {
                let mut options = PresentOptions::default();
                options.record_syntax = Some(*syntax);
                self.first_record(session, &options).await
            }
            Trial::ElementSet(name) => {
                let mut options = PresentOptions::default();
                options.element_set = Some((*name).into());
                self.first_record(session, &options).await
            }
            Trial::Scan => self.scan(session, 3).await,
            Trial::Sort => {
                let sorted = self.sort(session).await?;
                Ok(sorted.status.to_string())
            }
            Trial::TwoSets => {
                let one = self.search(session, &self.good(), None).await?;
                self.pause().await;
                let two = self.search(session, &self.good(), Some(OTHER_SET)).await?;
                self.pause().await;
                // The first one must have outlived the second.
                let again = session.present(1, 1, &PresentOptions::default()).await;
                match (one, again) {
                    (0, _) | (_, Ok(_)) => {
                        Ok(format!("{} and {}", said(one, "hit"), said(two, "hit")))
                    }
                    (_, Err(error)) => Err(error.into()),
                }
            }
            Trial::Delete => {
                self.search(session, &self.good(), None).await?;
                self.pause().await;
                let sets = Delete::Sets(vec!["default".into()]);
                deleted(session, sets).await
            }
            Trial::Use(option) => self.use_once(session, *option).await,
        }
    }

    pub(super) async fn scan(&self, session: &Session, number_of_terms: u64) -> Told {
        let mut options = ScanOptions::default();
        options.databases = self.place.resolved.databases.clone();
        options.number_of_terms = number_of_terms;
        let start = self.operand(&[(USE, USE_TITLE)]);
        let result = session.scan(start, &options).await?;
        let terms = u64::try_from(result.entries.len()).unwrap_or(u64::MAX);
        Ok(said(terms, "term"))
    }

    pub(super) async fn sort(&self, session: &Session) -> Result<SortResult, Untold> {
        self.search(session, &self.good(), None).await?;
        self.pause().await;
        let title = vec![AttributeElement::numeric(USE, USE_TITLE)];
        let keys = vec![key_by_attributes(title, SortRelation::ASCENDING)];
        Ok(session.sort(keys, &SortOptions::default()).await?)
    }

    pub(super) async fn search(
        &self,
        session: &Session,
        query: &RpnQuery,
        set: Option<&str>,
    ) -> Result<u64, Error> {
        let query = Query::Type1(query.clone());
        let found = session.search(query, &self.search_options(set)).await?;
        Ok(found.hits)
    }

    pub(super) fn search_options(&self, set: Option<&str>) -> SearchOptions {
        let mut options = SearchOptions::default();
        options.databases = self.place.resolved.databases.clone();
        if let Some(name) = set {
            options.result_set = name.into();
        }
        options
    }

    /// Searches for something that there is, and asks for the first record of it.
    pub(super) async fn first_record(
        &mut self,
        session: &Session,
        options: &PresentOptions,
    ) -> Told {
        if self.search(session, &self.good(), None).await? == 0 {
            return Err(Untold::NotTried(NO_RECORD));
        }
        self.pause().await;
        let presented = session.present(1, 1, options).await?;
        Ok(match presented.records.first() {
            Some(ResultRecord::Record { external, .. }) => {
                let octets = RetrievedRecord::octets_of(external).len();
                self.record_size = self.record_size.max(octets);
                match external.direct_reference {
                    Some(syntax) if options.record_syntax.is_none_or(|asked| asked == syntax) => {
                        format!("a record in {syntax:?}, {octets} octets")
                    }
                    Some(syntax) => format!("a record in {syntax:?} instead, {octets} octets"),
                    None => "a record in no syntax".to_owned(),
                }
            }
            Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                let refused = Error::Refused {
                    phase: Phase::Present,
                    diagnostics: diagnostic.clone().into(),
                };
                return Err(refused.into());
            }
            None => "no record came".to_owned(),
        })
    }

    /// The query that found something, else the word by itself.
    pub(super) fn good(&self) -> RpnQuery {
        let found = self.found.as_ref().map(|(query, _)| query.clone());
        found.unwrap_or_else(|| self.query(&[]))
    }

    fn query(&self, pairs: &[(i64, i64)]) -> RpnQuery {
        RpnQuery {
            attribute_set: BIB_1,
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(self.operand(pairs))),
        }
    }

    fn operand(&self, pairs: &[(i64, i64)]) -> AttributesPlusTerm {
        let attributes = pairs.iter();
        AttributesPlusTerm {
            attributes: attributes
                .map(|(kind, value)| AttributeElement::numeric(*kind, *value))
                .collect(),
            term: Term::General(self.arguments.term.as_str().into()),
        }
    }
}

/// Why there is nothing to try with.
pub(super) const NO_RECORD: &str = "not tried, for want of a record; try another --term";

/// Deletes result sets.
pub(super) async fn deleted(session: &Session, sets: Delete) -> Told {
    let result = session.delete(sets).await?;
    Ok(match result.status {
        DeleteSetStatus::SUCCESS => "success".to_owned(),
        status => format!("status {status}"),
    })
}

/// A number and what it counts.
pub(super) fn said(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    shown(format!("{count} {what}{plural}").as_bytes())
}
