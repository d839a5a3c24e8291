//! The lookup of one input at one or more targets: what is asked, and which of the records found is taken.

mod answers;

use futures_util::future::join_all;
use z3950::Error;
use z3950::lookup::{
    Attempt, Identifier, Kind, LookupHits, LookupOptions, Preferences, anywhere, attempts,
    cataloguing_language, identifiers,
};
use z3950::plan::{Fallback, SearchCourse};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950_asn1::format::sources::SearchSources;

use super::Matches;
use crate::answer::{Answer, Ask, Recipient, SourceNotes, Work, Writing, refuse};
use crate::commands::fallback::again_as;
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::output::Words;
use crate::render::{Style, shown};

/// Looks up identifiers at targets.
pub(super) struct Desk {
    pub(super) reach: TargetClient,
    pub(super) spots: Vec<Spot>,
    /// Whether an ask is one for all targets, and not for each.
    pub(super) is_joint: bool,
    /// Whether an ask for all targets goes to each of them, and not to each until one has the record.
    pub(super) asks_all: bool,
    /// By what the best of several records is chosen; `None` if all are shown.
    pub(super) preferences: Option<Preferences>,
    /// The kind of identifiers without a prefix; `None` if their form decides.
    pub(super) kind: Option<Kind>,
    pub(super) fallback: Fallback,
    /// How many records of a target to fetch.
    pub(super) count: u64,
    /// Whether records go to a file, so that their number is not seen.
    pub(super) is_written: bool,
    pub(super) writing: Writing,
    pub(super) notes: SourceNotes,
}

/// A target, and how to ask it.
pub(super) struct Spot {
    place: NamedTarget,
    options: LookupOptions,
}

impl Spot {
    pub(super) fn new(wanted: &Matches, place: NamedTarget) -> Self {
        let (search, records) = place.options(&wanted.asked);
        let options = LookupOptions {
            search,
            records,
            count: wanted.count,
        };
        Self { place, options }
    }
}

/// What was found by an identifier at a target.
struct Find<'a> {
    ask: &'a Ask,
    spot: &'a Spot,
    identifier: &'a Identifier,
    /// The attributes of the search, the same in words, and the forms of the identifier that it was for.
    step: String,
    step_name: String,
    terms: Vec<String>,
    hits: u64,
    sources: SearchSources,
    records: Vec<ResultRecord>,
    /// The error after the last record, if any.
    failure: Option<Error>,
}

/// The answer of a target.
struct Searched<'a> {
    spot: &'a Spot,
    result: Result<Option<Find<'a>>, Unanswered>,
    notes: Vec<String>,
}

impl Work for Desk {
    async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let identifiers = match self.identifiers_of(ask) {
            Ok(identifiers) => identifiers,
            Err((exit, words)) => {
                let mut answer = refuse(ask, words, recipient).await;
                answer.exit = exit;
                return answer;
            }
        };
        let spots = match self.is_joint {
            true => self.spots.as_slice(),
            false => self
                .spots
                .get(ask.target)
                .map_or(&[][..], std::slice::from_ref),
        };
        let most = if self.asks_all { spots.len() } else { 1 };
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        recipient.ready_for(self.count.saturating_mul(most)).await;
        let searched = self.search(ask, spots, &identifiers).await;
        let found_by = searched.iter().find_map(|one| match &one.result {
            Ok(Some(found)) => Some(found.identifier),
            _ => None,
        });
        let doubt = found_by.or(identifiers.first());
        let doubt = doubt.and_then(Identifier::doubt);
        let has_no_match = searched.iter().all(|one| matches!(one.result, Ok(None)));
        if let (Some(words), false) = (&doubt, has_no_match) {
            recipient.send(Words::Warning(words.clone())).await;
        }
        let mut finds: Vec<Find<'_>> = Vec::new();
        let mut worst: Option<Answer> = None;
        let mut failed = Vec::new();
        let mut without_sources = Vec::new();
        // What each target says that has no record.
        let mut without = Vec::new();
        for one in searched {
            let Searched {
                spot,
                result,
                notes,
            } = one;
            for words in notes {
                recipient.send(Words::Note(words)).await;
            }
            let words = match result {
                Ok(Some(found)) => {
                    if !self.writing.json {
                        for words in self.notes.of(&spot.place, &found.sources) {
                            recipient.send(words).await;
                        }
                    }
                    let sources = Answer::default().with_sources(&found.sources);
                    without_sources.extend(sources.failed);
                    finds.push(found);
                    continue;
                }
                Ok(None) => NO_MATCH.to_owned(),
                Err(failure) => {
                    let answer = failure.answer();
                    let message = answer.message.clone().unwrap_or_default();
                    if spots.len() > 1 {
                        let words = format!("{}: {ask}: {message}", spot.place);
                        recipient.send(Words::Warning(words)).await;
                        failed.push((spot.place.text.clone(), message.clone()));
                    }
                    worst = Some(match worst {
                        Some(other) => other.graver(answer),
                        None => answer,
                    });
                    message
                }
            };
            without.push(format!("{}: {words}", spot.place.text));
        }
        let mut answer = if finds.is_empty() {
            let answer = match worst {
                Some(answer) if spots.len() > 1 => answer.saying(without.join("; ")),
                Some(answer) => answer,
                None => {
                    let hint = || hint(ask, identifiers.first()?);
                    let words = match doubt.or_else(hint) {
                        Some(doubt) => format!("{NO_MATCH}; {doubt}"),
                        None => NO_MATCH.to_owned(),
                    };
                    let mut answer = Answer::default().ended(OutcomeName::NoMatch).saying(words);
                    answer.hits = Some(0);
                    answer
                }
            };
            self.end(ask, spots, &identifiers, answer, recipient).await
        } else {
            // Targets that have a record are enough.
            if !finds.iter().all(Find::is_undelivered) {
                let (undelivered, delivered): (Vec<_>, Vec<_>) =
                    finds.into_iter().partition(Find::is_undelivered);
                finds = delivered;
                for words in undelivered.iter().flat_map(Find::diagnostics) {
                    recipient.send(words).await;
                }
            }
            let told = failed
                .iter()
                .map(|(target, words)| format!("{target}: {words}"));
            let sources = without_sources.iter();
            let sources = sources.map(|(source, words)| format!("without {source}: {words}"));
            let remarks: Vec<String> = doubt.into_iter().chain(told).chain(sources).collect();
            let answer = match &self.preferences {
                Some(preferences) => {
                    let mut preferences = preferences.clone();
                    let record = ask.record.as_deref();
                    preferences.usual_language = record.and_then(cataloguing_language);
                    self.show_best(finds, &preferences, recipient).await
                }
                None => self.show_all(finds, recipient).await,
            };
            match remarks.as_slice() {
                [] => answer,
                remarks => answer.adding(&remarks.join("; ")),
            }
        };
        failed.extend(without_sources);
        if !failed.is_empty() {
            answer.failed = failed;
        }
        answer
    }
}

/// The message of a target that has no record.
const NO_MATCH: &str = "no record matches";

/// A hint if no record is found.
fn hint(ask: &Ask, identifier: &Identifier) -> Option<String> {
    let is_row = identifier.kind == Kind::Docid
        && !identifier.is_certain
        && ask.record.is_none()
        && ask.origin.is_some()
        && identifier.text.contains([';', ',', '\t']);
    match is_row {
        true => {
            Some("if this is the row of a table, --column names the column to look up".to_owned())
        }
        false => identifier.hint(),
    }
}

impl Desk {
    pub(super) fn new(
        wanted: &Matches,
        reach: &TargetClient,
        spots: Vec<Spot>,
        style: &Style,
    ) -> Self {
        Self {
            reach: reach.clone(),
            spots,
            is_joint: false,
            asks_all: false,
            preferences: None,
            kind: wanted.kind,
            fallback: wanted.fallbacks.allowed(),
            count: wanted.count,
            is_written: false,
            writing: wanted.asked.writing(style.clone()),
            notes: SourceNotes::default(),
        }
    }

    /// The targets as given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.spots.iter().map(|spot| spot.place.text.as_str())
    }

    /// The identifiers of an ask, or why there are none, and the exit code for that.
    fn identifiers_of(&self, ask: &Ask) -> Result<Vec<Identifier>, (Exit, String)> {
        let is_record = ask.origin.as_ref().is_some_and(|origin| origin.is_record);
        match &ask.record {
            Some(record) => {
                let found = identifiers(record);
                match found.is_empty() {
                    // Nothing can match it.
                    true => Err((
                        Exit::NoMatch,
                        format!("{ask}: no identifier in 010, 020, 022 or 035"),
                    )),
                    false => Ok(found),
                }
            }
            None if is_record => Err((Exit::FaultsFound, ask.to_string())),
            None => {
                let identifier = Identifier::read(&shown(&ask.input), self.kind);
                let identifier = identifier.map_err(|error| (Exit::Usage, error.to_string()));
                Ok(vec![identifier?])
            }
        }
    }

    /// Asks targets in order until one has a record, or all at once.
    async fn search<'a>(
        &self,
        ask: &'a Ask,
        spots: &'a [Spot],
        identifiers: &'a [Identifier],
    ) -> Vec<Searched<'a>> {
        if self.asks_all {
            let spots = spots.iter();
            return join_all(spots.map(|spot| self.search_at(ask, spot, identifiers))).await;
        }
        let mut searched = Vec::new();
        for spot in spots {
            let one = self.search_at(ask, spot, identifiers).await;
            let is_found = matches!(&one.result, Ok(Some(found)) if !found.is_undelivered());
            searched.push(one);
            if is_found {
                break;
            }
        }
        searched
    }

    /// Looks up identifiers at a target, in order until one finds something. If a target refuses one, another may do.
    async fn search_at<'a>(
        &self,
        ask: &'a Ask,
        spot: &'a Spot,
        identifiers: &'a [Identifier],
    ) -> Searched<'a> {
        let mut refusal = None;
        let mut has_answered = false;
        let mut notes = Vec::new();
        for identifier in identifiers {
            match self.find(ask, spot, identifier, &mut notes).await {
                Ok(None) => has_answered = true,
                Err(Unanswered {
                    error: error @ (Error::Refused { .. } | Error::Incomplete(_)),
                    hint,
                }) => refusal = Some(Unanswered { error, hint }),
                result => {
                    return Searched {
                        spot,
                        result,
                        notes,
                    };
                }
            }
        }
        let result = match refusal {
            Some(refusal) if !has_answered => Err(refusal),
            _ => Ok(None),
        };
        Searched {
            spot,
            result,
            notes,
        }
    }

    /// Looks up an identifier, with fallbacks, whose attempts are noted.
    async fn find<'a>(
        &self,
        ask: &'a Ask,
        spot: &'a Spot,
        identifier: &'a Identifier,
        notes: &mut Vec<String>,
    ) -> Result<Option<Find<'a>>, Unanswered> {
        let attempts = self.attempts(spot, identifier)?;
        let LookupOptions {
            search,
            records,
            count,
        } = spot.options.clone();
        let mut course = SearchCourse::new(None, search, records, self.fallback);
        loop {
            let options = LookupOptions {
                search: course.search(),
                records: course.records(),
                count,
            };
            let result = self.ask(spot, identifier, &attempts, options).await;
            let (reason, has_next) = match &result {
                Ok(None) => ("no record matches".to_owned(), course.after_nothing()),
                Ok(Some(found)) => match found.records.first() {
                    Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                        let next = course.after_refusal(std::slice::from_ref(diagnostic));
                        (diagnostic.to_string(), next)
                    }
                    _ => (String::new(), false),
                },
                Err(Unanswered {
                    error: Error::Refused { diagnostics, .. },
                    ..
                }) => {
                    let next = course.after_refusal(&diagnostics.0);
                    (diagnostics.to_string(), next)
                }
                Err(Unanswered {
                    error: error @ Error::Incomplete(_),
                    ..
                }) => (error.to_string(), course.after_nothing()),
                Err(_) => (String::new(), false),
            };
            if has_next {
                let subject = format!("{}: {identifier}", spot.place);
                notes.push(again_as(&subject, &reason, &course));
                continue;
            }
            return result.map(|found| {
                found.map(|found| {
                    let attributes = &found.attempt.attributes;
                    Find {
                        ask,
                        spot,
                        identifier,
                        step: match course.form() {
                            Some(form) => format!("{attributes};{form}"),
                            None => attributes.clone(),
                        },
                        step_name: match course.form() {
                            Some(form) => format!("{};{form}", found.attempt.name),
                            None => found.attempt.name.clone(),
                        },
                        terms: found.attempt.terms.clone(),
                        hits: found.hits,
                        sources: found.sources,
                        records: found.records,
                        failure: found.failure,
                    }
                })
            });
        }
    }

    /// The searches for an identifier, as a target wants them.
    fn attempts(&self, spot: &Spot, identifier: &Identifier) -> Result<Vec<Attempt>, Unanswered> {
        let habits = &spot.place.resolved.profile.docid;
        let of_profile = habits.iter().filter(|_| identifier.kind == Kind::Docid);
        let of_profile = of_profile.map(|habit| Attempt::by(habit, identifier));
        let mut all: Vec<Attempt> = of_profile.collect();
        all.extend(attempts(identifier));
        if self.fallback.attributes {
            all.extend(anywhere(identifier));
        }
        for attempt in &mut all {
            attempt.query = spot.place.adapted(&attempt.query)?;
        }
        Ok(all)
    }

    async fn ask<'a>(
        &self,
        spot: &Spot,
        identifier: &Identifier,
        attempts: &'a [Attempt],
        mut options: LookupOptions,
    ) -> Result<Option<LookupHits<'a>>, Unanswered> {
        let lease = self.reach.borrow(&spot.place).await?;
        // If the connection is lost between records, a new session continues after them.
        options.records.reconnect = lease.reconnect();
        options.search.result_set = lease.own_set();
        self.reach.note_search();
        Ok(lease.lookup(identifier, attempts, &options).await?)
    }
}
