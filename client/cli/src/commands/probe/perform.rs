//! Tries each feature with the smallest request that shows whether it works. The trials change nothing that other
//! users can see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use z3950::error::{Error, Phase};
use z3950::service::access::Challenge;
use z3950::service::delete::Delete;
use z3950::service::present::PresentOptions;
use z3950::service::resource::{Decision, ResourceQuestion};
use z3950::service::scan::ScanOptions;
use z3950::service::search::SearchOptions;
use z3950::service::sort::key_by_attributes;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::{Session, SessionOptions};
use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DeleteSetStatus, Operand, Options, Query, RpnQuery,
    RpnStructure, SortRelation, SortRequest, SortResponse, Term,
};
use z3950_asn1::bib1::attributes::{
    STRUCTURE, STRUCTURE_PHRASE, STRUCTURE_URX, STRUCTURE_WORD, STRUCTURE_WORD_LIST, TRUNCATION,
    TRUNCATION_NONE, TRUNCATION_RIGHT, USE, USE_ANY, USE_AUTHOR, USE_DOC_ID, USE_ISBN, USE_ISSN,
    USE_LOCAL_NUMBER, USE_STANDARD_IDENTIFIER, USE_SUBJECT, USE_TITLE, name,
};
use z3950_asn1::oid::{
    BIB_1, GRS_1, HTML, OPAC, Oid, SUMMARY, SUTRS, UKMARC, UNIMARC, USMARC, XML,
};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::types::Bits;

use super::Probe;
use crate::batch::Tally;
use crate::commands::options::Wait;
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
use crate::console::output::Output;
use crate::render::counted;

/// The pause between requests to another machine.
const PAUSE: Duration = Duration::from_millis(500);

impl Probe {
    /// Returns the word to search for: the word that the user gave, or the default.
    pub(super) fn word(&self) -> &str {
        self.term.as_deref().unwrap_or(TERM)
    }

    /// Returns the pause between requests to a target.
    pub(super) fn pause_at(&self, place: &NamedTarget) -> Duration {
        let pause = match self.pause {
            Some(Wait(pause)) => pause,
            None if place.is_demo || place.resolved.endpoint.host().is_loopback() => None,
            None => Some(PAUSE),
        };
        pause.unwrap_or_default()
    }
}

/// The word to search for if the user gives none.
const TERM: &str = "a";
/// The name of a result set in addition to the default one.
pub(super) const OTHER_SET: &str = "probe1";

/// The trials of the features of one target.
pub(super) struct Attempts<'a> {
    pub(super) arguments: &'a Probe,
    pub(super) reach: &'a TargetClient,
    pub(super) place: &'a NamedTarget,
    pub(super) output: &'a mut Output,
    /// The first query that had hits, and the number of its hits.
    pub(super) found: Option<(RpnQuery, u64)>,
    /// The numbers of trials by result.
    pub(super) tally: Tally,
    /// The size in octets of the largest record received so far.
    pub(super) record_size: usize,
    pub(super) server_requests: Arc<ServerRequests>,
}

/// The numbers of access challenges and resource reports that the server has sent.
#[derive(Default)]
pub(super) struct ServerRequests {
    pub(super) challenges: AtomicU64,
    pub(super) reports: AtomicU64,
}

/// The reason why a trial has no result.
pub(super) enum NoResult {
    /// The server did not grant this option in Init, so the feature was not tried.
    NotGranted(&'static str),
    /// The trial could not be made, because a precondition is not fulfilled.
    NotTried(&'static str),
    Failed(Unanswered),
}

impl From<Error> for NoResult {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Unanswered> for NoResult {
    fn from(unanswered: Unanswered) -> Self {
        Self::Failed(unanswered)
    }
}

/// The result of a trial, as words.
pub(super) type TrialResult = Result<String, NoResult>;

impl Attempts<'_> {
    /// Opens a session that answers the server's requests for access control and resource control. Operations are
    /// continued, but no credentials are given.
    pub(super) async fn session(&self) -> Result<Session, Unanswered> {
        self.reach
            .session_with(self.place, |options| self.listen(options))
            .await
    }

    fn listen(&self, options: &mut SessionOptions) {
        let server_requests = Arc::clone(&self.server_requests);
        options.access_control = Some(Arc::new(move |_: Challenge| {
            server_requests.challenges.fetch_add(1, Ordering::Relaxed);
            None
        }));
        let server_requests = Arc::clone(&self.server_requests);
        options.resource_control = Some(Arc::new(move |_: ResourceQuestion| {
            server_requests.reports.fetch_add(1, Ordering::Relaxed);
            Decision::GO_ON
        }));
    }

    /// Pauses between requests, to limit the load on the server.
    pub(super) async fn pause(&self) {
        sleep(self.arguments.pause_at(self.place)).await;
    }

    /// Tries one feature, and returns the result.
    pub(super) async fn perform(&mut self, session: &Session, trial: &Trial) -> TrialResult {
        match trial {
            Trial::Search(pairs) => {
                let query = self.query(pairs);
                let hits = self.search(session, &query, None).await?;
                if hits > 0 && self.found.is_none() {
                    self.found = Some((query, hits));
                }
                Ok(counted(hits, "hit"))
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
                Ok(sorted.sort_status.to_string())
            }
            Trial::TwoSets => {
                let one = self.search(session, &self.good(), None).await?;
                self.pause().await;
                let two = self.search(session, &self.good(), Some(OTHER_SET)).await?;
                self.pause().await;
                // The first result set must survive the second search.
                let again = session.present(1, 1, &PresentOptions::default()).await;
                match (one, again) {
                    (0, _) | (_, Ok(_)) => Ok(format!(
                        "{} and {}",
                        counted(one, "hit"),
                        counted(two, "hit")
                    )),
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

    pub(super) async fn scan(&self, session: &Session, number_of_terms: u64) -> TrialResult {
        let mut options = ScanOptions::default();
        options.databases = self.place.resolved.databases.clone();
        options.number_of_terms = number_of_terms;
        let start = self.operand(&[(USE, USE_TITLE)]);
        let result = session.scan(start, &options).await?;
        let terms = u64::try_from(result.entries.len()).unwrap_or(u64::MAX);
        Ok(counted(terms, "term"))
    }

    pub(super) async fn sort(&self, session: &Session) -> Result<SortResponse, NoResult> {
        self.search(session, &self.good(), None).await?;
        self.pause().await;
        let title = vec![AttributeElement::numeric(USE, USE_TITLE)];
        let keys = vec![key_by_attributes(title, SortRelation::ASCENDING)];
        Ok(session
            .sort(SortRequest::in_place(DEFAULT_RESULT_SET, keys))
            .await?)
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

    /// Searches with a query that has hits, and presents the first record.
    pub(super) async fn first_record(
        &mut self,
        session: &Session,
        options: &PresentOptions,
    ) -> TrialResult {
        if self.search(session, &self.good(), None).await? == 0 {
            return Err(NoResult::NotTried(NO_RECORD));
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
                let refused = Error::refused(Phase::Present, diagnostic.clone());
                return Err(refused.into());
            }
            None => "no record came".to_owned(),
        })
    }

    /// Returns the query that had hits, or the term without attributes if no query had hits.
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
            term: Term::General(number_for(pairs).unwrap_or(self.arguments.word()).into()),
        }
    }
}

/// Returns a well-formed number for an index that contains numbers; `None` for other indexes. Servers refuse other
/// terms in such an index, and would therefore seem not to support the index.
fn number_for(pairs: &[(i64, i64)]) -> Option<&'static str> {
    let (_, index) = pairs.iter().find(|(kind, _)| *kind == USE)?;
    NUMBERS
        .iter()
        .find(|(known, _)| known == index)
        .map(|(_, number)| *number)
}

/// The indexes that contain numbers, each with a valid number.
const NUMBERS: [(i64, &str); 3] = [
    (USE_ISBN, "9780306406157"),
    (USE_ISSN, "0028-0836"),
    (USE_STANDARD_IDENTIFIER, "9780306406157"),
];

pub(super) const NO_RECORD: &str = "not tried: no record was found; try another --term";

/// Tries to delete result sets.
pub(super) async fn deleted(session: &Session, sets: Delete) -> TrialResult {
    let result = session.delete(sets).await?;
    if result.is_success() {
        return Ok("success".to_owned());
    }
    let own = result.sets.iter().map(|set| set.status);
    let mut failed = own.chain([result.status]);
    let failed = failed.find(|status| *status != DeleteSetStatus::SUCCESS);
    let mut words = format!("status {}", failed.unwrap_or(result.status));
    if !result.diagnostics.is_empty() {
        words = format!("{words}: {}", result.diagnostics);
    }
    Ok(words)
}

const USES: [i64; 9] = [
    USE_TITLE,
    USE_ISBN,
    USE_ISSN,
    USE_LOCAL_NUMBER,
    USE_SUBJECT,
    USE_AUTHOR,
    USE_STANDARD_IDENTIFIER,
    USE_ANY,
    USE_DOC_ID,
];
const STRUCTURES: [i64; 4] = [
    STRUCTURE_PHRASE,
    STRUCTURE_WORD,
    STRUCTURE_WORD_LIST,
    STRUCTURE_URX,
];

/// The common record syntaxes. Other national MARC formats are left out, because few servers support them.
const SYNTAXES: [Oid; 9] = [
    USMARC, UNIMARC, UKMARC, SUTRS, OPAC, SUMMARY, GRS_1, XML, HTML,
];

/// A trial of one feature of the server.
pub(super) enum Trial {
    /// A search with a Use attribute and one other attribute.
    Search([(i64, i64); 2]),
    /// The first record in a record syntax.
    Syntax(Oid),
    /// The first record with an element set.
    ElementSet(&'static str),
    Scan,
    Sort,
    TwoSets,
    Delete,
    /// A single use of an Init option.
    Use(Options),
}

impl Trial {
    pub(super) fn all() -> Vec<Self> {
        let structures = USES.iter().flat_map(|use_value| {
            let pair = |structure: &i64| [(USE, *use_value), (STRUCTURE, *structure)];
            STRUCTURES.iter().map(pair)
        });
        let truncations = [TRUNCATION_RIGHT, TRUNCATION_NONE];
        let truncations = truncations.map(|value| [(USE, USE_TITLE), (TRUNCATION, value)]);
        let searches = structures.chain(truncations).map(Self::Search);
        let syntaxes = SYNTAXES.into_iter().map(Self::Syntax);
        let others = [
            Self::ElementSet("F"),
            Self::ElementSet("B"),
            Self::Scan,
            Self::Sort,
            Self::TwoSets,
            Self::Delete,
        ];
        let options = options().map(Self::Use);
        searches
            .chain(syntaxes)
            .chain(others)
            .chain(options)
            .collect()
    }

    /// Returns whether the trial needs a separate session with a different Init.
    pub(super) fn is_apart(&self) -> bool {
        matches!(
            self,
            Self::Use(
                Options::SEGMENTATION_1 | Options::SEGMENTATION_2 | Options::NEGOTIATION_MODEL
            )
        )
    }

    /// Returns the title of the trial in text output, which names attributes in words.
    pub(super) fn title(&self) -> String {
        let use_title = || name(USE, USE_TITLE).unwrap_or_default();
        match self {
            Self::Search(pairs) => {
                let words = pairs.map(|(kind, value)| name(kind, value).unwrap_or_default());
                let numbers = pairs.map(|(kind, value)| format!("{kind}={value}"));
                format!("search {} ({})", words.join(", "), numbers.join(" "))
            }
            Self::Scan => format!("scan {} (1=4)", use_title()),
            Self::Sort => format!("sort {} (1=4)", use_title()),
            _ => self.name(),
        }
    }

    /// Returns the name of the trial in JSON.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Search(pairs) => {
                let pairs = pairs.map(|(kind, value)| format!("{kind}={value}"));
                format!("search {}", pairs.join(" "))
            }
            Self::Syntax(oid) => {
                format!("record syntax {}", oid.name().unwrap_or("without a name"))
            }
            Self::ElementSet(name) => format!("element set {name}"),
            Self::Scan => "scan 1=4".to_owned(),
            Self::Sort => "sort 1=4".to_owned(),
            Self::TwoSets => "two result sets".to_owned(),
            Self::Delete => "delete a result set".to_owned(),
            Self::Use(option) => {
                let name = option.names().next().unwrap_or("without a name");
                format!("option {name}")
            }
        }
    }
}

/// Returns every option named by the standard, in bit order.
fn options() -> impl Iterator<Item = Options> {
    let all = (0..Bits::MAX).fold(Bits::default(), Bits::with);
    Options(all).names().filter_map(Options::by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f5_indexes_of_numbers_are_asked_for_numbers() {
        for (pairs, number) in [
            ([(USE, USE_ISBN), (STRUCTURE, STRUCTURE_WORD)], Some(13)),
            ([(USE, USE_ISSN), (STRUCTURE, STRUCTURE_WORD)], Some(9)),
            ([(USE, USE_TITLE), (STRUCTURE, STRUCTURE_WORD)], None),
        ] {
            assert_eq!(number_for(&pairs).map(str::len), number);
        }
        let titles: Vec<String> = Trial::all().iter().map(Trial::title).collect();
        for title in [
            "search Title, Phrase (1=4 4=1)",
            "search ISBN, Word (1=7 4=2)",
            "scan Title (1=4)",
            "record syntax usmarc",
        ] {
            assert!(titles.iter().any(|one| one == title), "{title}: {titles:?}");
        }
    }

    #[test]
    fn every_line_has_a_unique_name_and_every_option_a_line() {
        let mut names: Vec<String> = Trial::all().iter().map(Trial::name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(!names.iter().any(|name| name.ends_with("without a name")));
        for title in Trial::all().iter().map(Trial::title) {
            assert!(!title.contains(" (1=") || !title.contains(" ,"), "{title}");
        }
        assert_eq!(options().count(), 21);
        assert!(options().any(|option| option == Options::STRING_SCHEMA));
    }
}
