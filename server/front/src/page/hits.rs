//! A search of the page at databases of the server: what is wanted of them, and what each of them has answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use z3950::asn1::oid::XML;
use z3950::find::{Event, Events, Found, SearchTarget, Sought, Wanted};
use z3950::lookup::Preferences;
use z3950::plan::Fallback;
use z3950::{Client, ClientOptions, Error, Query, Record, RecordForm};
use z3950_server::web::WebClient;

use super::asked::PageQuery;
use super::facets::narrowed;
use super::parameters::Parameters;
use crate::choices::Catalogues;
use crate::own::{OWN, own_client};
use crate::text::{clean, described};

/// Records of which the best is chosen, of each database.
const COMPARED: u64 = 20;

/// A search of the page.
pub(super) struct PageSearch {
    pub(super) parameters: Parameters,
    pub(super) asked: PageQuery,
    /// The databases that are searched.
    pub(super) targets: Vec<String>,
    pub(super) catalogues: Catalogues,
    pub(super) web: WebClient,
    client: Client,
    /// The server itself.
    own: SearchTarget,
    wanted: Wanted,
}

impl PageSearch {
    /// Reads what is wanted from the parameters.
    ///
    /// # Errors
    /// The server or its query for an identifier cannot be named, which does not happen.
    pub(super) async fn new(
        parameters: Parameters,
        asked: PageQuery,
        targets: Vec<String>,
        web: WebClient,
    ) -> Result<Self, Error> {
        let mut options = ClientOptions::default();
        // A session that nobody uses any more makes room for another one of the request.
        options.idle_time = Some(Duration::ZERO);
        let client = own_client(&web, options);
        let own = client.target(OWN)?;
        let mut wanted = match &asked {
            PageQuery::Identifiers(identifiers) => {
                Wanted::new(Sought::Identifiers(identifiers.clone()))
            }
            PageQuery::Query(query, _) => {
                Wanted::query(narrowed((**query).clone(), &parameters.narrowings))
            }
        };
        wanted.all_targets = true;
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

    /// Chooses between the best record of an identifier and all. Beyond the first ones, and if they are narrowed, the records of an
    /// identifier are those of the query that finds them; and only what was asked for is searched in other ways, not what it is narrowed
    /// to.
    async fn choose_records(&mut self) -> Result<(), Error> {
        let Parameters {
            narrowings,
            start,
            at,
            has_fallback,
            has_best,
            ..
        } = &self.parameters;
        let is_first = at.or(*start).is_none_or(|first| first == 1);
        let mut wanted = self.wanted.clone().count(0);
        let query = match &self.asked {
            PageQuery::Identifiers(_) if *has_best && at.is_none() && narrowings.is_empty() => {
                self.wanted.best = Some(Preferences::default());
                return Ok(());
            }
            PageQuery::Identifiers(_) if is_first && narrowings.is_empty() => return Ok(()),
            PageQuery::Identifiers(_) => None,
            PageQuery::Query(..) if narrowings.is_empty() || !has_fallback => return Ok(()),
            PageQuery::Query(query, _) => {
                wanted.sought = Wanted::query((**query).clone()).sought;
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
                self.wanted.sought = Wanted::query(narrowed(query, narrowings)).sought;
                self.wanted.fallback = Fallback::default();
                break;
            }
        }
        Ok(())
    }

    /// Whether only the best record of all databases is wanted.
    pub(super) fn is_for_best(&self) -> bool {
        self.wanted.best.is_some()
    }

    /// What is wanted: this many records of each database, from a position on, or those of which the best is chosen.
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

    /// Searches databases.
    pub(super) fn find(&self, databases: &[String], wanted: Wanted) -> Events {
        self.client.find(self.search_targets(databases), wanted)
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

    /// What each database has, as soon as it has answered, with its place among [`targets`](Self::targets): records with the holdings
    /// that it has. If the best record of all is wanted, those that found something come when it is known.
    pub(super) fn answers(
        &self,
        start: u64,
        count: u64,
    ) -> impl Stream<Item = (usize, DatabaseAnswer)> + Send + use<> {
        self.answers_in(&self.targets, (start, count), RecordForm::with_holdings())
    }

    /// The same of some databases, with records in a form. Those that do not come in it are asked for as XML, which holds what is too
    /// long for MARC (ISO 2709).
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
        // Side by side, so that a database that is asked again does not hold up the others.
        let at_once = databases.len().max(1);
        let answers = answers.flatten().map(move |(place, mut answer)| {
            // An identifier is searched for in several indexes in any case; with other ways, the last of them is any index.
            let found = answer
                .found
                .as_ref()
                .filter(|found| found.identifier.is_some());
            let name = found.and_then(|found| found.step_name.as_ref());
            if let Some(name) = name.filter(|_| wanted.fallback != Fallback::default()) {
                let note = clean(&format!("found by {name}"));
                answer.notes.push(note);
            }
            let missing = answer.missing(&wanted).filter(|_| !waits);
            let target = targets.get(place).cloned();
            let events = missing.map(|missing| client.find(target, missing));
            let wanted = wanted.clone();
            async move {
                if let Some(events) = events {
                    answer.fill(events, &wanted).await;
                }
                (place, answer)
            }
        });
        answers.buffer_unordered(at_once)
    }
}

/// What a database has answered.
#[derive(Default)]
pub(super) struct DatabaseAnswer {
    pub(super) found: Option<Arc<Found>>,
    /// With their positions; a failure is in the place of its record.
    pub(super) records: Vec<(u64, Result<Record, Error>)>,
    /// In which other ways it was searched, and why its record is the best.
    pub(super) notes: Vec<String>,
    /// Why it has no answer, or not all of it.
    pub(super) failure: Option<Error>,
}

impl DatabaseAnswer {
    /// How many records it has found.
    pub(super) fn hits(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.result.hits)
    }

    /// What is still wanted, as XML: the records from the first one on that did not come.
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
            missing.sought = Wanted::query(Query::pqf(&found.query).ok()?).sought;
        }
        Some(missing)
    }

    /// Takes the records that came in place of those that failed.
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

/// Adds an event to what databases have said; returns the answers that are complete.
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

/// The error, unless it says that nothing was found.
fn failure(error: Option<Error>) -> Option<Error> {
    error.filter(|error| !matches!(error, Error::NoMatch))
}
