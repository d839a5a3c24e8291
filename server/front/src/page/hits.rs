//! A search that the page makes in the server's databases, and the answer from each database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use z3950::find::{Event, Events, Found, SearchTarget, Subject, Wanted};
use z3950::lookup::Preferences;
use z3950::plan::Fallback;
use z3950::{Client, ClientOptions, Connection, Error, Phase, Query, Record, RecordForm};
use z3950_asn1::oid::XML;
use z3950_server::web::WebClient;

use super::asked::PageQuery;
use super::parameters::{Parameters, narrowed};
use crate::choices::Catalogues;
use crate::own::{OWN, own_client};
use crate::text::{clean, described, encoded};

/// The number of records from each database that are compared to choose the best one.
const COMPARED: u64 = 20;

/// A search that the page makes.
pub(super) struct PageSearch {
    pub(super) parameters: Parameters,
    pub(super) asked: PageQuery,
    /// The names of the databases to search.
    pub(super) targets: Vec<String>,
    pub(super) catalogues: Catalogues,
    pub(super) web: WebClient,
    client: Client,
    /// This server as a target.
    own: SearchTarget,
    wanted: Wanted,
}

impl PageSearch {
    /// Creates a search from the parameters.
    ///
    /// # Errors
    /// Fails if the URL of this server or the query for an identifier is malformed, which does not happen.
    pub(super) async fn new(
        parameters: Parameters,
        asked: PageQuery,
        targets: Vec<String>,
        web: WebClient,
    ) -> Result<Self, Error> {
        let mut options = ClientOptions::default();
        // A session that is no longer used is closed at once, because it would count towards the limits when this request opens
        // another session.
        options.idle_time = Some(Duration::ZERO);
        let client = own_client(&web, options);
        let own = client.target(OWN)?;
        let mut wanted = match &asked {
            PageQuery::Identifiers(identifiers) => {
                Wanted::new(Subject::Identifiers(identifiers.clone()))
            }
            PageQuery::Query(query, _) => {
                Wanted::query(narrowed((**query).clone(), &parameters.narrowings))
            }
        };
        wanted.all_targets = true;
        if let Some(order) = parameters.sort {
            wanted.sort = order.keys();
        }
        if parameters.has_fallback {
            wanted.fallback = Fallback::ALL;
        }
        let mut search = Self {
            catalogues: Catalogues::of(&web),
            parameters,
            asked,
            targets,
            web,
            client,
            own,
            wanted,
        };
        search.choose_records().await?;
        Ok(search)
    }

    /// Decides whether to retrieve the best record for an identifier or all its records. If the search is narrowed or sorted, or
    /// does not start with the first record, an identifier is replaced by the query that finds its records. Alternative searches
    /// are tried only for the original query, not for the narrowed one.
    async fn choose_records(&mut self) -> Result<(), Error> {
        let Parameters {
            narrowings,
            sort,
            start,
            at,
            has_fallback,
            has_best,
            ..
        } = &self.parameters;
        let is_first = at.or(*start).is_none_or(|first| first == 1);
        let mut wanted = self.wanted.clone().count(0);
        wanted.sort.clear();
        let is_whole = narrowings.is_empty() && sort.is_none();
        let query = match &self.asked {
            PageQuery::Identifiers(_) if *has_best && at.is_none() && narrowings.is_empty() => {
                self.wanted.best = Some(Preferences::default());
                return Ok(());
            }
            PageQuery::Identifiers(_) if is_first && is_whole => return Ok(()),
            PageQuery::Identifiers(_) => None,
            PageQuery::Query(..) if narrowings.is_empty() || !has_fallback => return Ok(()),
            PageQuery::Query(query, _) => {
                wanted.subject = Wanted::query((**query).clone()).subject;
                Some((**query).clone())
            }
        };
        let mut events = self.find(&self.targets, wanted);
        while let Some(event) = events.next().await {
            if let Event::Found(found) = event {
                let query = match query {
                    Some(query) if found.query.is_empty() => query,
                    _ => Query::pqf(&found.query)?,
                };
                self.wanted.subject = Wanted::query(narrowed(query, narrowings)).subject;
                self.wanted.fallback = Fallback::default();
                break;
            }
        }
        Ok(())
    }

    /// Returns whether only the best record from all databases is requested.
    pub(super) fn is_for_best(&self) -> bool {
        self.wanted.best.is_some()
    }

    /// Returns the request for `count` records from each database, starting at position `start`, or for the records among which
    /// the best is chosen.
    pub(super) fn wanted(&self, start: u64, count: u64) -> Wanted {
        let (start, count) = if self.is_for_best() {
            (1, COMPARED)
        } else {
            (start, count)
        };
        let mut wanted = self.wanted.clone().count(count);
        wanted.start = start;
        wanted
    }

    /// Searches the databases; returns a stream of their events.
    pub(super) fn find(&self, databases: &[String], wanted: Wanted) -> Events {
        self.client.find(self.search_targets(databases), wanted)
    }

    /// Opens a session with this server for one of its databases.
    ///
    /// # Errors
    /// Fails with the errors from [`Client::connect`].
    pub(super) async fn connection(&self, database: &str) -> Result<Connection, Error> {
        let url = format!("{OWN}/{}", encoded(database));
        self.client.connect(url).await
    }

    fn search_targets(&self, databases: &[String]) -> Vec<SearchTarget> {
        let targets = databases.iter().map(|name| {
            let mut target = self.own.clone();
            Arc::make_mut(&mut target.target).databases = vec![name.as_str().into()];
            target.name = self.catalogues.title(name);
            target
        });
        targets.collect()
    }

    /// Searches all databases. Yields the answer from each database as soon as it arrives, with its index in
    /// [`targets`](Self::targets) and its records as OPAC records. If only the best record of all is requested, the answers from
    /// databases that found records are yielded after it has been chosen.
    pub(super) fn answers(
        &self,
        start: u64,
        count: u64,
    ) -> impl Stream<Item = (usize, DatabaseAnswer)> + Send + use<> {
        self.answers_in(&self.targets, (start, count), RecordForm::with_holdings())
    }

    /// Searches some of the databases for records in this form, and yields their answers like [`answers`](Self::answers). Records
    /// that cannot be sent in this form are requested as XML, which does not limit the length of a record as ISO 2709 does.
    pub(super) fn answers_in(
        &self,
        databases: &[String],
        (start, count): (u64, u64),
        form: RecordForm,
    ) -> impl Stream<Item = (usize, DatabaseAnswer)> + Send + use<> {
        let mut wanted = self.wanted(start, count);
        let waits = self.is_for_best();
        wanted.form = form;
        let (client, targets) = (self.client.clone(), self.search_targets(databases));
        let events = client.find(targets.clone(), wanted.clone());
        let mut under_way = BTreeMap::new();
        let answers = events.map(move |event| stream::iter(gather(&mut under_way, event, waits)));
        // All answers are completed concurrently, so that repeating a search in one database does not delay the other databases.
        let at_once = databases.len().max(1);
        let answers = answers.flatten().map(move |(place, mut answer)| {
            // An identifier is always searched for in several indexes. A note names the index that found it only if alternative
            // searches were requested.
            let found = answer
                .found
                .as_ref()
                .filter(|found| found.identifier.is_some());
            let name = found.and_then(|found| found.step_name.as_ref());
            if let Some(name) = name.filter(|_| wanted.fallback != Fallback::default()) {
                let note = clean(&format!("found by {name}"));
                answer.notes.push(note);
            }
            let target = targets.get(place).cloned();
            let (client, mut wanted) = (client.clone(), wanted.clone());
            async move {
                if answer.is_unsorted(&wanted) {
                    wanted.sort.clear();
                    answer = answer.repeated(&client, target.clone(), &wanted).await;
                }
                let missing = answer.missing(&wanted).filter(|_| !waits);
                if let Some(missing) = missing {
                    answer.fill(client.find(target, missing), &wanted).await;
                }
                (place, answer)
            }
        });
        answers.buffer_unordered(at_once)
    }
}

/// The answer from a database.
#[derive(Default)]
pub(super) struct DatabaseAnswer {
    pub(super) found: Option<Arc<Found>>,
    /// The records with their positions; for a record that could not be retrieved, the error.
    pub(super) records: Vec<(u64, Result<Record, Error>)>,
    /// Remarks, such as which alternative searches were made, and why a record was chosen as the best one.
    pub(super) notes: Vec<String>,
    /// The reason why the answer is missing or incomplete.
    pub(super) failure: Option<Error>,
}

impl DatabaseAnswer {
    /// Returns the number of records that the database found.
    pub(super) fn hits(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.result.hits)
    }

    /// Returns whether the database found the records but could not sort them.
    fn is_unsorted(&self, wanted: &Wanted) -> bool {
        let is_refused = |error: &Error| {
            let phase = Phase::Sort;
            matches!(error, Error::Refused { phase: at, .. } if *at == phase)
        };
        !wanted.sort.is_empty() && self.failure.as_ref().is_some_and(is_refused)
    }

    /// Repeats the search without sorting. Returns the new answer, with a note that says why its records are not sorted.
    async fn repeated(
        self,
        client: &Client,
        target: Option<SearchTarget>,
        wanted: &Wanted,
    ) -> Self {
        let mut events = client.find(target, wanted.clone());
        let mut under_way = BTreeMap::new();
        let mut answer = Self::default();
        while let Some(event) = events.next().await {
            let answers = gather(&mut under_way, event, false);
            if let Some((_, unsorted)) = answers.into_iter().next() {
                answer = unsorted;
            }
        }
        let why = self.failure.map(|error| described(&error));
        let note = format!("not sorted: {}", why.unwrap_or_default());
        answer.notes.insert(0, note);
        answer
    }

    /// Returns a request for the missing records in XML: all records from the first one that was not received.
    fn missing(&self, wanted: &Wanted) -> Option<Wanted> {
        let found = self.found.as_deref()?;
        let came = self.records.iter().take_while(|(_, came)| came.is_ok());
        let start = wanted
            .start
            .saturating_add(u64::try_from(came.count()).ok()?);
        let end = wanted.start.saturating_add(wanted.count);
        let end = end.min(found.result.hits.saturating_add(1));
        let count = end.checked_sub(start).filter(|count| *count > 0)?;
        let mut missing = wanted.clone().count(count);
        missing.start = start;
        missing.form = RecordForm::new(Some(XML), None);
        if !found.query.is_empty() {
            missing.subject = Wanted::query(Query::pqf(&found.query).ok()?).subject;
        }
        Some(missing)
    }

    /// Adds the records received in response to the second request, in place of those that could not be retrieved by the first
    /// one.
    async fn fill(&mut self, mut events: Events, wanted: &Wanted) {
        while let Some(event) = events.next().await {
            let Event::Record {
                position, record, ..
            } = event
            else {
                continue;
            };
            let Ok(record) = Record::of(record, Some(position)) else {
                continue;
            };
            let known = self.records.iter_mut().find(|(at, _)| *at == position);
            match known {
                Some((_, known)) if known.is_err() => *known = Ok(record),
                Some(_) => {}
                None => self.records.push((position, Ok(record))),
            }
        }
        self.records.sort_by_key(|(position, _)| *position);
        if self.missing(wanted).is_none() {
            self.failure = None;
        }
    }
}

/// Adds an event to the incomplete answers; returns the answers that it completes.
fn gather(
    under_way: &mut BTreeMap<usize, DatabaseAnswer>,
    event: Event,
    waits: bool,
) -> Vec<(usize, DatabaseAnswer)> {
    match event {
        Event::Again {
            target,
            reason,
            step,
            ..
        } => {
            let note = format!("{reason}; searched again: {step}");
            answer_of(under_way, target).notes.push(clean(&note));
        }
        Event::Unsorted { target, error } => {
            answer_of(under_way, target).notes.push(described(&error));
        }
        Event::Found(found) => {
            let answer = answer_of(under_way, found.target);
            answer.found = Some(found);
        }
        Event::Record {
            target,
            position,
            record,
        } => {
            let record = Record::of(record, Some(position));
            answer_of(under_way, target)
                .records
                .push((position, record));
        }
        Event::Done { target, error, .. } => {
            let answer = answer_of(under_way, target);
            answer.failure = failure(error);
            if !waits || answer.found.is_none() {
                let answer = under_way.remove(&target).unwrap_or_default();
                return vec![(target, answer)];
            }
        }
        Event::Best(best) => {
            answer_of(under_way, best.target)
                .notes
                .push(clean(&best.choice));
        }
        Event::Ended(_) => return std::mem::take(under_way).into_iter().collect(),
        _ => {}
    }
    Vec::new()
}

fn answer_of(
    under_way: &mut BTreeMap<usize, DatabaseAnswer>,
    target: usize,
) -> &mut DatabaseAnswer {
    under_way.entry(target).or_default()
}

/// Returns the error; `None` if it only means that nothing was found.
fn failure(error: Option<Error>) -> Option<Error> {
    error.filter(|error| !matches!(error, Error::NoMatch))
}
