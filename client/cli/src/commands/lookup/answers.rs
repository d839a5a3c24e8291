//! The lookup of one input at one or more targets: what is asked, and what the answers say.

use std::sync::Arc;

use z3950::Error;
use z3950::find::{Best, Event, Found, Sought, Wanted};
use z3950::lookup::{Identifier, Kind, cataloguing_language, identifiers};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;

use super::Matches;
use crate::answer::{Answer, Ask, Recipient, SourceNotes, Work, Writing, refuse};
use crate::commands::fallback::again_as;
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Words};
use crate::render::{Style, shown};

/// Looks up identifiers at targets.
pub(super) struct LookupAnswers {
    pub(super) reach: TargetClient,
    pub(super) places: Vec<NamedTarget>,
    /// Whether an ask is one for all targets, and not for each.
    pub(super) is_joint: bool,
    /// What is wanted, whatever the identifier.
    pub(super) wanted: Wanted,
    /// The kind of identifiers without a prefix; `None` if their form decides.
    pub(super) kind: Option<Kind>,
    /// Whether records go to a file, so that their number is not seen.
    pub(super) is_written: bool,
    pub(super) writing: Writing,
    pub(super) notes: SourceNotes,
}

/// What was found by an identifier at a target.
pub(super) struct FoundAt<'a> {
    pub(super) ask: &'a Ask,
    pub(super) place: &'a NamedTarget,
    pub(super) identifier: &'a Identifier,
    pub(super) found: Arc<Found>,
    /// Records and diagnostics, with their positions; of several records of which one is the best, only that.
    pub(super) records: Vec<(u64, ResultRecord)>,
    /// Whether there are only diagnostics in the place of its records.
    is_undelivered: bool,
    /// The error after the last record, if any.
    pub(super) failure: Option<Error>,
}

/// The answer of a target.
struct AnswerAt<'a> {
    place: &'a NamedTarget,
    result: Result<Option<FoundAt<'a>>, Unanswered>,
    notes: Vec<String>,
}

impl Work for LookupAnswers {
    async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let identifiers = match self.identifiers_of(ask) {
            Ok(identifiers) => identifiers,
            Err((exit, words)) => {
                let mut answer = refuse(ask, words, recipient).await;
                answer.exit = exit;
                return answer;
            }
        };
        let places = if self.is_joint {
            self.places.as_slice()
        } else {
            let place = self.places.get(ask.target);
            place.map_or(&[][..], std::slice::from_ref)
        };
        let most = if self.wanted.all_targets {
            places.len()
        } else {
            1
        };
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let count = self.wanted.count.saturating_mul(most);
        recipient.ready_for(count).await;
        let (answers, best) = self.look_up(ask, places, &identifiers).await;
        let found_by = answers.iter().find_map(|one| match &one.result {
            Ok(Some(found)) => Some(found.identifier),
            _ => None,
        });
        let doubt = found_by.or(identifiers.first());
        let doubt = doubt.and_then(Identifier::doubt);
        let has_no_match = answers.iter().all(|one| matches!(one.result, Ok(None)));
        if let (Some(words), false) = (&doubt, has_no_match) {
            recipient.send(Words::Warning(words.clone())).await;
        }
        let mut finds: Vec<FoundAt<'_>> = Vec::new();
        let mut worst: Option<Answer> = None;
        let mut failed = Vec::new();
        let mut without_sources = Vec::new();
        // What each target says that has no record.
        let mut without = Vec::new();
        for one in answers {
            let AnswerAt {
                place,
                result,
                notes,
            } = one;
            for words in notes {
                recipient.send(Words::Note(words)).await;
            }
            let words = match result {
                Ok(Some(found)) => {
                    if !self.writing.json {
                        for words in self.notes.of(place, &found.found.sources) {
                            recipient.send(words).await;
                        }
                    }
                    let sources = Answer::default().with_sources(&found.found.sources);
                    without_sources.extend(sources.failed);
                    finds.push(found);
                    continue;
                }
                Ok(None) => NO_MATCH.to_owned(),
                Err(failure) => {
                    let answer = failure.answer();
                    let message = answer.message.clone().unwrap_or_default();
                    if places.len() > 1 {
                        let words = format!("{place}: {ask}: {message}");
                        recipient.send(Words::Warning(words)).await;
                        failed.push((place.text.clone(), message.clone()));
                    }
                    worst = Some(match worst {
                        Some(other) => other.graver(answer),
                        None => answer,
                    });
                    message
                }
            };
            without.push(format!("{}: {words}", place.text));
        }
        let mut answer = if finds.is_empty() {
            let answer = match worst {
                Some(answer) if places.len() > 1 => answer.saying(without.join("; ")),
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
            self.end(ask, places, &identifiers, answer, recipient).await
        } else {
            // Targets that have a record are enough.
            if !finds.iter().all(|found| found.is_undelivered) {
                let (undelivered, delivered): (Vec<_>, Vec<_>) =
                    finds.into_iter().partition(|found| found.is_undelivered);
                finds = delivered;
                for words in undelivered.iter().flat_map(FoundAt::diagnostics) {
                    recipient.send(words).await;
                }
            }
            let told = failed
                .iter()
                .map(|(target, words)| format!("{target}: {words}"));
            let sources = without_sources.iter();
            let sources = sources.map(|(source, words)| format!("without {source}: {words}"));
            let remarks: Vec<String> = doubt.into_iter().chain(told).chain(sources).collect();
            let answer = match best {
                Some(best) => self.show_best(finds, &best, recipient).await,
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

impl LookupAnswers {
    pub(super) fn new(
        matches: &Matches,
        reach: &TargetClient,
        places: Vec<NamedTarget>,
        style: &Style,
    ) -> Result<Self, Failure> {
        let mut wanted = Wanted::new(Sought::Identifiers(Vec::new()));
        wanted.form = matches.asked.form();
        wanted.fallback = matches.fallbacks.allowed();
        wanted.count = matches.count;
        wanted.best = matches.preferences()?;
        Ok(Self {
            reach: reach.clone(),
            places,
            is_joint: false,
            wanted,
            kind: matches.kind,
            is_written: false,
            writing: matches.asked.writing(style.clone()),
            notes: SourceNotes::default(),
        })
    }

    /// The targets as given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.text.as_str())
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

    /// Looks identifiers up at targets; returns what each has, and which record is the best, if one is wanted.
    async fn look_up<'a>(
        &self,
        ask: &'a Ask,
        places: &'a [NamedTarget],
        identifiers: &'a [Identifier],
    ) -> (Vec<AnswerAt<'a>>, Option<Box<Best>>) {
        let mut wanted = self.wanted.clone();
        wanted.sought = Sought::Identifiers(identifiers.to_vec());
        if let Some(preferences) = &mut wanted.best {
            let record = ask.record.as_deref();
            preferences.usual_language = record.and_then(cataloguing_language);
        }
        let mut answers: Vec<(usize, AnswerAt<'a>)> = Vec::new();
        let mut under_way: Vec<LookupAt> = places.iter().map(|_| LookupAt::default()).collect();
        let mut best = None;
        let mut events = self.reach.find(places, wanted, None);
        while let Some(event) = events.next().await {
            match event {
                Event::Asked { .. } => self.reach.note_search(),
                Event::Again {
                    target,
                    identifier,
                    reason,
                    step,
                } => {
                    let identifier = identifier.and_then(|index| identifiers.get(index));
                    if let (Some(place), Some(identifier)) = (places.get(target), identifier)
                        && let Some(lookup) = under_way.get_mut(target)
                    {
                        let subject = format!("{place}: {identifier}");
                        lookup.notes.push(again_as(&subject, &reason, &step));
                    }
                }
                Event::Found(found) => {
                    if let Some(lookup) = under_way.get_mut(found.target) {
                        lookup.found = Some(found);
                    }
                }
                Event::Record {
                    target,
                    position,
                    record,
                } => {
                    let answer = answers.iter_mut().find(|(index, _)| *index == target);
                    if let Some((_, answer)) = answer {
                        // The best record comes last.
                        if let Ok(Some(found)) = &mut answer.result {
                            found.records.push((position, record));
                        }
                    } else if let Some(lookup) = under_way.get_mut(target) {
                        lookup.records.push((position, record));
                    }
                }
                Event::Done {
                    target,
                    delivered,
                    error,
                    ..
                } => {
                    if let Some(place) = places.get(target)
                        && let Some(lookup) = under_way.get_mut(target)
                    {
                        let lookup = std::mem::take(lookup);
                        let answer = self.done(ask, place, identifiers, lookup, delivered, error);
                        answers.push((target, answer));
                    }
                }
                Event::Best(found) => best = Some(found),
                _ => {}
            }
        }
        // In the order of the targets, not of their answers.
        answers.sort_by_key(|(target, _)| *target);
        let answers = answers.into_iter().map(|(_, answer)| answer);
        (answers.collect(), best)
    }

    /// What a target has said.
    fn done<'a>(
        &self,
        ask: &'a Ask,
        place: &'a NamedTarget,
        identifiers: &'a [Identifier],
        lookup: LookupAt,
        delivered: u64,
        error: Option<Error>,
    ) -> AnswerAt<'a> {
        let LookupAt {
            notes,
            found,
            records,
        } = lookup;
        let identifier = found.as_ref().and_then(|found| found.identifier);
        let identifier = identifier.and_then(|index| identifiers.get(index));
        let result = match (found, identifier, error) {
            (Some(found), Some(identifier), failure) => Ok(Some(FoundAt {
                ask,
                place,
                identifier,
                found,
                is_undelivered: delivered == 0 && !records.is_empty(),
                records,
                failure,
            })),
            (_, _, None | Some(Error::NoMatch)) => Ok(None),
            (_, _, Some(error)) => Err(self.reach.unanswered(place, error)),
        };
        AnswerAt {
            place,
            result,
            notes,
        }
    }
}

/// A lookup at one target that has not ended.
#[derive(Default)]
struct LookupAt {
    notes: Vec<String>,
    found: Option<Arc<Found>>,
    records: Vec<(u64, ResultRecord)>,
}
