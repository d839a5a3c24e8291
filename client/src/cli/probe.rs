//! `z3950 probe`: what a server is and does, found out by trying one thing at a time (Z39.50-2003 §3.2), slowly enough not
//! to be a burden to it.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DeleteSetStatus, Operand, Options, Query, RpnQuery,
    RpnStructure, SortRelation, Term,
};
use z3950_asn1::bib1::attributes::{
    STRUCTURE, STRUCTURE_PHRASE, STRUCTURE_URX, STRUCTURE_WORD, STRUCTURE_WORD_LIST, TRUNCATION,
    TRUNCATION_NONE, TRUNCATION_RIGHT, USE, USE_ANY, USE_AUTHOR, USE_DOC_ID, USE_ISBN, USE_ISSN,
    USE_LOCAL_NUMBER, USE_STANDARD_IDENTIFIER, USE_SUBJECT, USE_TITLE,
};
use z3950_asn1::oid::{BIB_1, Oid};

use super::Interrupt;
use super::args::{Global, Probe};
use super::envelope::Envelope;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::target::{Place, Reach, Unanswered};
use crate::error::{Error, ProtocolFault};
use crate::plan::record_syntaxes;
use crate::render::shown;
use crate::service::delete::Delete;
use crate::service::init::{IMPLEMENTED, ServerInfo};
use crate::service::present::PresentOptions;
use crate::service::records::ResultRecord;
use crate::service::resource::ResourceReportOptions;
use crate::service::scan::ScanOptions;
use crate::service::search::SearchOptions;
use crate::service::sort::{SortOptions, key_by_attributes};
use crate::session::Session;

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

/// Something to try.
enum Trial {
    /// A search by Use and one more attribute.
    Search([(i64, i64); 2]),
    /// The first record in a syntax.
    Syntax(Oid),
    /// The first record in an element set.
    ElementSet(&'static str),
    Scan,
    Sort,
    TwoSets,
    Delete,
    ResourceReport,
    /// Two searches at once.
    Concurrent,
}

impl Trial {
    /// All that is tried, searches first: the others need one that finds something.
    fn all() -> Vec<Self> {
        let structures = USES.iter().flat_map(|use_value| {
            let pair = |structure: &i64| [(USE, *use_value), (STRUCTURE, *structure)];
            STRUCTURES.iter().map(pair)
        });
        let truncations = [TRUNCATION_RIGHT, TRUNCATION_NONE];
        let truncations = truncations.map(|value| [(USE, USE_TITLE), (TRUNCATION, value)]);
        let searches = structures.chain(truncations).map(Self::Search);
        let syntaxes = record_syntaxes().into_iter().map(Self::Syntax);
        let others = [
            Self::ElementSet("F"),
            Self::ElementSet("B"),
            Self::Scan,
            Self::Sort,
            Self::TwoSets,
            Self::Delete,
            Self::ResourceReport,
            Self::Concurrent,
        ];
        searches.chain(syntaxes).chain(others).collect()
    }

    fn name(&self) -> String {
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
            Self::ResourceReport => "resource report".to_owned(),
            Self::Concurrent => "two searches at once".to_owned(),
        }
    }
}

pub(super) async fn run(
    arguments: &Probe,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reach = Reach::new(global).await?;
    let Some(place) = reach.place(&arguments.target, &arguments.databases, output) else {
        return Ok(Exit::Usage);
    };
    let mut probing = Probing {
        arguments,
        reach: &reach,
        place: &place,
        found: None,
        output,
    };
    match Interrupt.or(probing.all()).await {
        Ok(exit) => exit,
        Err(_) => Ok(Exit::Interrupted),
    }
}

struct Probing<'a> {
    arguments: &'a Probe,
    reach: &'a Reach,
    place: &'a Place,
    /// The first search that found something.
    found: Option<RpnQuery>,
    output: &'a mut Output,
}

impl Probing<'_> {
    async fn all(&mut self) -> Result<Exit, Failure> {
        let mut session = match self.reach.session(self.place).await {
            Ok(session) => session,
            Err(failure) => return self.unreachable(&failure),
        };
        self.server(session.server_info())?;
        for trial in Trial::all() {
            self.pause().await;
            // A server that hangs up is called again once for the next thing.
            if !is_open(&session).await {
                session = match self.reach.session(self.place).await {
                    Ok(session) => session,
                    Err(failure) => return self.unreachable(&failure),
                };
            }
            let result = self.perform(&session, &trial).await;
            self.line(&trial.name(), result)?;
        }
        // What ended otherwise need not be closed.
        let _ = session.close().await;
        Ok(Exit::Delivered)
    }

    async fn pause(&self) {
        sleep(self.arguments.pause.0.unwrap_or(Duration::ZERO)).await;
    }

    fn unreachable(&mut self, failure: &Unanswered) -> Result<Exit, Failure> {
        let (exit, words) = failure.explain();
        match self.arguments.json {
            true => self.envelope("Init").failed(failure).write(self.output)?,
            false => self.output.error(&format!("{}: {words}", self.place)),
        }
        Ok(exit)
    }

    fn envelope(&self, tried: &str) -> Envelope {
        Envelope::of(self.place, &["tried", "detail"]).with("tried", tried)
    }

    /// What the server says of itself at Init, and each option we know.
    fn server(&mut self, server: &ServerInfo) -> Result<(), Failure> {
        let words = [
            &server.implementation_id,
            &server.implementation_name,
            &server.implementation_version,
        ];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        let echo = format!(
            "version {}, preferredMessageSize {}, exceptionalRecordSize {}, implementation {}",
            server.version,
            server.preferred_message_size,
            server.exceptional_record_size,
            shown(words.join(" ").as_bytes()),
        );
        self.say("Init", "Ok", &echo, None)?;
        for text in &server.text {
            self.say("Init text", "Ok", &shown(text.as_bytes()), None)?;
        }
        let granted: Vec<&str> = server.granted.names().collect();
        for name in (IMPLEMENTED | server.granted).names() {
            let (outcome, detail) = match granted.contains(&name) {
                true => ("Ok", "granted"),
                false => ("NotGranted", "not granted"),
            };
            self.say(&format!("option {name}"), outcome, detail, None)?;
        }
        Ok(())
    }

    /// The result of a trial in words.
    fn line(&mut self, name: &str, result: Result<String, Error>) -> Result<(), Failure> {
        match result {
            Ok(detail) => self.say(name, "Ok", &detail, None),
            Err(error) => {
                let outcome = match &error {
                    Error::Refused { .. } => "Diagnostic",
                    Error::ProtocolError {
                        fault: ProtocolFault::NotGranted(_),
                        ..
                    } => "NotGranted",
                    _ => "Dropped",
                };
                let detail = match &error {
                    Error::Refused { diagnostics, .. } => diagnostics.to_string(),
                    other => super::explain(other).1,
                };
                self.say(name, outcome, &detail, Some(&error))
            }
        }
    }

    fn say(
        &mut self,
        name: &str,
        outcome: &str,
        detail: &str,
        error: Option<&Error>,
    ) -> Result<(), Failure> {
        if self.arguments.json {
            let diagnostics = error.map_or(&[][..], Error::diagnostics);
            return self
                .envelope(name)
                .with("outcome", outcome)
                .with("detail", detail)
                .diagnosed(diagnostics)
                .write(self.output);
        }
        let verdict = match outcome {
            "Ok" => "ok",
            "Diagnostic" => "diagnostic",
            "NotGranted" => "not granted",
            _ => "dropped",
        };
        self.output.line(&format!(
            "{name:<28} {verdict:<12} {}",
            shown(detail.as_bytes())
        ))
    }

    async fn perform(&mut self, session: &Session, trial: &Trial) -> Result<String, Error> {
        match trial {
            Trial::Search(pairs) => {
                let query = self.query(pairs);
                let hits = self.search(session, &query, "default").await?;
                if hits > 0 && self.found.is_none() {
                    self.found = Some(query);
                }
                Ok(format!("{hits} hits"))
            }
            Trial::Syntax(syntax) => {
                let options = PresentOptions {
                    record_syntax: Some(*syntax),
                    ..PresentOptions::default()
                };
                self.first_record(session, &options).await
            }
            Trial::ElementSet(name) => {
                let options = PresentOptions {
                    element_set: Some((*name).into()),
                    ..PresentOptions::default()
                };
                self.first_record(session, &options).await
            }
            Trial::Scan => {
                let options = ScanOptions {
                    databases: self.place.resolved.databases.clone(),
                    number_of_terms: 3,
                    ..ScanOptions::default()
                };
                let result = session
                    .scan(self.operand(&[(USE, USE_TITLE)]), &options)
                    .await?;
                Ok(format!("{} terms", result.entries.len()))
            }
            Trial::Sort => {
                self.search(session, &self.good(), "default").await?;
                self.pause().await;
                let title = vec![AttributeElement::numeric(USE, USE_TITLE)];
                let keys = vec![key_by_attributes(title, SortRelation::ASCENDING)];
                let result = session.sort(keys, &SortOptions::default()).await?;
                Ok(result.status.to_string())
            }
            Trial::TwoSets => {
                let one = self.search(session, &self.good(), "probe1").await?;
                self.pause().await;
                let two = self.search(session, &self.good(), "probe2").await?;
                Ok(format!("{one} and {two} hits"))
            }
            Trial::Delete => {
                self.search(session, &self.good(), "default").await?;
                self.pause().await;
                let sets = Delete::Sets(vec!["default".into()]);
                let result = session.delete(sets).await?;
                Ok(match result.status {
                    DeleteSetStatus::SUCCESS => "success".to_owned(),
                    status => format!("status {status}"),
                })
            }
            Trial::ResourceReport => {
                let report = session
                    .resource_report(&ResourceReportOptions::default())
                    .await?;
                Ok(format!("status {}", report.status))
            }
            Trial::Concurrent => {
                let option = Options::CONCURRENT_OPERATIONS;
                if !session.server_info().options.contains(option) {
                    let fault = ProtocolFault::NotGranted("concurrentOperations");
                    return Err(Error::fault(crate::error::Phase::Search, fault));
                }
                let query = self.good();
                let one = self.search(session, &query, "probe1");
                let two = self.search(session, &query, "probe2");
                let (one, two) = futures_util::future::join(one, two).await;
                Ok(format!("{} and {} hits", one?, two?))
            }
        }
    }

    async fn search(&self, session: &Session, query: &RpnQuery, set: &str) -> Result<u64, Error> {
        let options = SearchOptions {
            databases: self.place.resolved.databases.clone(),
            result_set: set.into(),
            ..SearchOptions::default()
        };
        let found = session
            .search(Query::Type1(query.clone()), &options)
            .await?;
        Ok(found.hits)
    }

    /// Searches for something that there is, and asks for the first record of it.
    async fn first_record(
        &self,
        session: &Session,
        options: &PresentOptions,
    ) -> Result<String, Error> {
        if self.search(session, &self.good(), "default").await? == 0 {
            return Ok("not tried, for want of a record; try another --term".to_owned());
        }
        self.pause().await;
        let presented = session.present(1, 1, options).await?;
        Ok(match presented.records.first() {
            Some(ResultRecord::Record { external, .. }) => match external.direct_reference {
                Some(syntax) if options.record_syntax.is_none_or(|asked| asked == syntax) => {
                    format!("a record in {syntax:?}")
                }
                Some(syntax) => format!("a record in {syntax:?} instead"),
                None => "a record in no syntax".to_owned(),
            },
            Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                return Err(Error::Refused {
                    phase: crate::error::Phase::Present,
                    diagnostics: diagnostic.clone().into(),
                });
            }
            None => "no record came".to_owned(),
        })
    }

    /// The query that found something, else the word by itself.
    fn good(&self) -> RpnQuery {
        self.found.clone().unwrap_or_else(|| self.query(&[]))
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

/// Whether a session is still open, once what the server may have sent behind its last answer has been seen.
async fn is_open(session: &Session) -> bool {
    // The end of a connection is noticed by the task behind the session, which needs its turn.
    timeout(Duration::from_millis(1), session.ended())
        .await
        .is_err()
        && session.is_open()
}
