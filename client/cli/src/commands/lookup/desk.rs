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

use super::Matches;
use crate::answer::{Answer, Ask, Recipient, Work, Writing, refuse};
use crate::commands::fallback::again_as;
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
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
    pub(super) fallback: Fallback,
    /// How many records of a target to fetch.
    pub(super) count: u64,
    /// Whether records go to a file, so that their number is not seen.
    pub(super) is_written: bool,
    pub(super) writing: Writing,
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
    spot: &'a Spot,
    identifier: &'a Identifier,
    /// The attributes of the search, and the forms of the identifier that it was for.
    step: String,
    terms: Vec<String>,
    hits: u64,
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
        let identifiers = match identifiers_of(ask) {
            Ok(identifiers) => identifiers,
            Err(words) => return refuse(ask, words, recipient).await,
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
        let searched = self.search(spots, &identifiers).await;
        let has_no_match = searched.iter().all(|one| matches!(one.result, Ok(None)));
        let doubt = identifiers.first().filter(|_| identifiers.len() == 1);
        let doubt = doubt.and_then(Identifier::doubt);
        if let (Some(words), false) = (&doubt, has_no_match) {
            recipient.send(Words::Warning(words.clone())).await;
        }
        let mut finds: Vec<Find<'_>> = Vec::new();
        let mut failed: Option<Answer> = None;
        for one in searched {
            let Searched {
                spot,
                result,
                notes,
            } = one;
            for words in notes {
                recipient.send(Words::Note(words)).await;
            }
            match result {
                Ok(found) => finds.extend(found),
                Err(failure) => {
                    let answer = failure.answer();
                    if spots.len() > 1 {
                        let message = answer.message.as_deref().unwrap_or_default();
                        let words = format!("{}: {ask}: {message}", spot.place);
                        recipient.send(Words::Warning(words)).await;
                    }
                    failed = Some(match failed {
                        Some(other) => other.graver(answer),
                        None => answer,
                    });
                }
            }
        }
        if finds.is_empty() {
            let answer = failed.unwrap_or_else(|| {
                let hint = || identifiers.first().and_then(Identifier::hint);
                let words = match doubt.or_else(hint) {
                    Some(doubt) => format!("no record matches; {doubt}"),
                    None => "no record matches".to_owned(),
                };
                let mut answer = Answer::default().ended(OutcomeName::NoMatch).saying(words);
                answer.hits = Some(0);
                answer
            });
            return self.end(spots, &identifiers, answer, recipient).await;
        }
        // Targets that have a record are enough.
        if !finds.iter().all(Find::is_undelivered) {
            let (undelivered, delivered): (Vec<_>, Vec<_>) =
                finds.into_iter().partition(Find::is_undelivered);
            finds = delivered;
            for words in undelivered.iter().flat_map(Find::diagnostics) {
                recipient.send(words).await;
            }
        }
        match &self.preferences {
            Some(preferences) => {
                let mut preferences = preferences.clone();
                if let (None, Some(record)) = (&preferences.language, &ask.record) {
                    preferences.language = cataloguing_language(record);
                }
                self.show_best(finds, &preferences, recipient).await
            }
            None => {
                let mut answer: Option<Answer> = None;
                for found in finds {
                    let next = self.show(found, recipient).await;
                    answer = Some(match answer {
                        Some(answer) => answer.graver(next),
                        None => next,
                    });
                }
                answer.unwrap_or_default()
            }
        }
    }
}

/// The identifiers of an ask, or why there are none.
fn identifiers_of(ask: &Ask) -> Result<Vec<Identifier>, String> {
    let is_record = ask.origin.as_ref().is_some_and(|origin| origin.is_record);
    match &ask.record {
        Some(record) => {
            let found = identifiers(record);
            match found.is_empty() {
                true => Err(format!("{ask}: no identifier in 010, 020, 022 or 035 $a")),
                false => Ok(found),
            }
        }
        None if is_record => Err(ask.to_string()),
        None => {
            let identifier = shown(&ask.input).parse();
            let identifier: Identifier =
                identifier.map_err(|error: z3950::lookup::IdentifierError| error.to_string())?;
            Ok(vec![identifier])
        }
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
            fallback: wanted.fallbacks.allowed(),
            count: wanted.count,
            is_written: false,
            writing: wanted.asked.writing(style.clone()),
        }
    }

    /// The targets as given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.spots.iter().map(|spot| spot.place.text.as_str())
    }

    /// Asks targets in order until one has a record, or all at once.
    async fn search<'a>(
        &self,
        spots: &'a [Spot],
        identifiers: &'a [Identifier],
    ) -> Vec<Searched<'a>> {
        if self.asks_all {
            return join_all(spots.iter().map(|spot| self.search_at(spot, identifiers))).await;
        }
        let mut searched = Vec::new();
        for spot in spots {
            let one = self.search_at(spot, identifiers).await;
            let is_found = matches!(&one.result, Ok(Some(found)) if !found.is_undelivered());
            searched.push(one);
            if is_found {
                break;
            }
        }
        searched
    }

    /// Looks up identifiers at a target, in order until one finds something. If a target refuses one, another may do.
    async fn search_at<'a>(&self, spot: &'a Spot, identifiers: &'a [Identifier]) -> Searched<'a> {
        let mut refusal = None;
        let mut has_answered = false;
        let mut notes = Vec::new();
        for identifier in identifiers {
            match self.find(spot, identifier, &mut notes).await {
                Ok(None) => has_answered = true,
                Err(Unanswered {
                    error: error @ Error::Refused { .. },
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
                        spot,
                        identifier,
                        step: match course.form() {
                            Some(form) => format!("{attributes};{form}"),
                            None => attributes.clone(),
                        },
                        terms: found.attempt.terms.clone(),
                        hits: found.hits,
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
