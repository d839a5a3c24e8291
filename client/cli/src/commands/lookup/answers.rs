//! Looks up one input at one or more targets: sends the searches, and evaluates the answers.

use std::sync::Arc;

use z3950::Error;
use z3950::find::{Best, Ending, Event, Found, Wanted};
use z3950::lookup::{Identifier, Kind, cataloguing_language};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950_marc::edit::LocalTags;

use super::MatchOptions;
use super::sought::{InputSettings, LookupSubject, Subject};
use crate::answer::{Answer, Ask, Recipient, SourceNotes, Writing, refuse};
use crate::commands::fallback::again_as;
use crate::commands::target::{NamedTarget, TargetClient};
use crate::console::output::{Failure, Words};
use crate::render::{LocalFields, Style, counted, matching};

/// The implementation of `lookup`, which looks up identifiers at targets.
pub(super) struct LookupAnswers {
    pub(super) reach: TargetClient,
    pub(super) places: Vec<NamedTarget>,
    /// Whether each `Ask` is sent to all targets together. If not, there is a separate `Ask` for each target.
    pub(super) is_joint: bool,
    /// The search options that are the same for all identifiers.
    pub(super) wanted: Wanted,
    pub(super) input_settings: InputSettings,
    /// Whether records are written to a file, in which case the user does not see how many there are.
    pub(super) is_written: bool,
    /// Whether to leave out notes on records that were found as expected. On a terminal, the records themselves are
    /// sufficient, and a batch shows no notes; `-v` shows them.
    pub(super) is_terse: bool,
    pub(super) writing: Writing,
    /// The tags of the fields that are copied from the input record to the records found for it.
    pub(super) keep: Option<LocalTags>,
    pub(super) notes: SourceNotes,
}

/// The state of a lookup at one target.
#[derive(Default)]
struct LookupAt<'a> {
    notes: Vec<String>,
    found: Option<(Arc<Found>, Subject<'a>)>,
    /// The largest number of records that a search by title found, if none of them describes the publication.
    unlike: Option<u64>,
    /// The records and diagnostics, with their positions.
    records: Vec<(u64, ResultRecord)>,
    /// The number of matching records at the target, and the error that prevented some of them from being returned;
    /// `None` if the target was not searched.
    done: Option<(u64, Option<Error>)>,
}

/// The records found by an identifier, or by title, at one target.
pub(super) struct FoundAt<'a> {
    pub(super) ask: &'a Ask,
    pub(super) place: &'a NamedTarget,
    pub(super) subject: Subject<'a>,
    pub(super) found: Arc<Found>,
    /// The records and diagnostics, with their positions. If the best of several records is chosen, this is only that
    /// record.
    pub(super) records: Vec<(u64, ResultRecord)>,
    /// Whether there is a diagnostic in place of every record.
    is_undelivered: bool,
    /// The error after the last record, if there is one.
    pub(super) failure: Option<Error>,
}

/// The targets of an `Ask` that returned no record, with the reasons.
#[derive(Default)]
struct TargetsWithout {
    /// The answer that applies if no target returns a record.
    worst: Option<Answer>,
    /// The targets that did not answer, if there are several targets.
    failed: Vec<(String, String)>,
    /// The sources within targets that did not answer.
    sources: Vec<(String, String)>,
    /// The messages about targets that have no record.
    without: Vec<String>,
}

impl LookupAnswers {
    pub(super) async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let sought = match self.input_settings.read(ask) {
            Ok(sought) => sought,
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
        let (lookups, best) = self.look_up(ask, places, &sought).await;
        let mut found = lookups.iter().filter_map(|(_, one)| one.found.as_ref());
        let found_by = found.next().map(|(_, subject)| *subject);
        let doubt = found_by.or(sought.first()).and_then(Subject::doubt);
        let unlike = lookups.iter().filter_map(|(_, lookup)| lookup.unlike).max();
        if let Some(words) = &doubt
            && !lookups.iter().all(|(_, lookup)| lookup.has_no_match())
        {
            recipient.send(Words::Warning(words.clone())).await;
        }
        let mut missing = TargetsWithout::default();
        let mut finds: Vec<FoundAt<'_>> = Vec::new();
        for (place, lookup) in lookups {
            let found = self.take(ask, place, lookup, &mut missing, recipient);
            finds.extend(found.await);
        }
        let mut answer = if finds.is_empty() {
            let answer = match missing.worst {
                Some(answer) if places.len() > 1 => answer.saying(missing.without.join("; ")),
                Some(answer) => answer,
                None => {
                    let hint = || hint(ask, sought.first()?.identifier()?);
                    let unlike = || unlike.map(in_words_unlike);
                    let words = match doubt.or_else(hint).or_else(unlike) {
                        Some(doubt) => format!("{NO_MATCH}; {doubt}"),
                        None => NO_MATCH.to_owned(),
                    };
                    let answer = Answer::default().ended(OutcomeName::NoMatch);
                    answer.saying(words).with_hits(Some(0))
                }
            };
            self.end(ask, places, &sought, answer, recipient).await
        } else {
            let failed = missing
                .failed
                .iter()
                .map(|(target, words)| format!("{target}: {words}"));
            let sources = missing
                .sources
                .iter()
                .map(|(source, words)| format!("results are missing from {source}: {words}"));
            let is_one_of_several = sought.is_several() && ask.record.is_none();
            let hit = found_by
                .filter(|_| is_one_of_several)
                .map(|subject| format!("found by {subject}"));
            let kept = self.kept(ask, &finds);
            let remarks: Vec<String> = hit
                .into_iter()
                .chain(doubt)
                .chain(kept)
                .chain(failed)
                .chain(sources)
                .collect();
            let answer = self.show_found(finds, best, recipient).await;
            match remarks.as_slice() {
                [] => answer,
                remarks => answer.adding(&remarks.join("; ")),
            }
        };
        missing.failed.append(&mut missing.sources);
        if !missing.failed.is_empty() {
            answer.failed = missing.failed;
        }
        answer
    }

    /// Returns the note on the fields that are copied from the input record to the records found for it.
    fn kept(&self, ask: &Ask, finds: &[FoundAt<'_>]) -> Option<String> {
        let (tags, record) = (self.keep.as_ref()?, ask.record.as_deref()?);
        let words = LocalFields::of(record, tags).in_words();
        let has_marc = finds.iter().any(FoundAt::has_marc);
        Some(match (has_marc, words.as_str()) {
            (false, _) => "the record is not MARC, so it keeps no field of the input".to_owned(),
            (true, "") => "the input has no field to keep".to_owned(),
            (true, words) => format!("kept of the input: {words}"),
        })
    }

    /// Processes the result of a lookup at a target, and returns the records found there; `None` if there are none.
    async fn take<'a>(
        &self,
        ask: &'a Ask,
        place: &'a NamedTarget,
        lookup: LookupAt<'a>,
        missing: &mut TargetsWithout,
        recipient: &mut Recipient,
    ) -> Option<FoundAt<'a>> {
        for words in lookup.notes {
            recipient.send(Words::Note(words)).await;
        }
        let (delivered, error) = lookup.done.unwrap_or_default();
        let words = match (lookup.found, error) {
            (Some((found, subject)), failure) => {
                for words in self.notes.of(place, &found.sources, self.writing.json) {
                    recipient.send(words).await;
                }
                let sources = Answer::from(Ending::from(&*found)).failed;
                missing.sources.extend(sources);
                return Some(FoundAt {
                    ask,
                    place,
                    subject,
                    found,
                    is_undelivered: delivered == 0 && !lookup.records.is_empty(),
                    records: lookup.records,
                    failure,
                });
            }
            (None, None | Some(Error::NoMatch)) => match lookup.unlike {
                Some(hits) => format!("{NO_MATCH}; {}", in_words_unlike(hits)),
                None => NO_MATCH.to_owned(),
            },
            (None, Some(error)) => {
                let answer = self.reach.unanswered(place, error).answer();
                let message = answer.message.clone().unwrap_or_default();
                if self.is_joint {
                    let words = format!("{place}: {ask}: {message}");
                    recipient.send(Words::Warning(words)).await;
                    missing.failed.push((place.text.clone(), message.clone()));
                }
                missing.worst = Some(match missing.worst.take() {
                    Some(other) => other.graver(answer),
                    None => answer,
                });
                message
            }
        };
        missing.without.push(format!("{}: {words}", place.text));
        None
    }

    /// Shows the best record, or the records from every target.
    async fn show_found(
        &self,
        mut finds: Vec<FoundAt<'_>>,
        best: Option<Box<Best>>,
        recipient: &mut Recipient,
    ) -> Answer {
        // If any target delivered a record, the targets that did not are only mentioned in messages.
        if !finds.iter().all(|found| found.is_undelivered) {
            let (undelivered, delivered): (Vec<_>, Vec<_>) =
                finds.into_iter().partition(|found| found.is_undelivered);
            finds = delivered;
            for words in undelivered.iter().flat_map(FoundAt::diagnostics) {
                recipient.send(words).await;
            }
        }
        match best {
            Some(best) => self.show_best(finds, &best, recipient).await,
            None => self.show_all(finds, recipient).await,
        }
    }
}

/// The message for a target that has no record.
const NO_MATCH: &str = "no record matches";

/// Returns the message for a search by title that found only records for other publications.
fn in_words_unlike(hits: u64) -> String {
    let has = if hits == 1 { "has" } else { "have" };
    format!(
        "{} found by title {has} another title or author",
        counted(hits, "record")
    )
}

/// Returns a hint for the user if no record is found.
fn hint(ask: &Ask, identifier: &Identifier) -> Option<String> {
    let is_row = identifier.kind == Kind::Docid
        && !identifier.is_certain
        && ask.record.is_none()
        && ask.origin.is_some()
        && identifier.text.contains([';', ',', '\t']);
    if is_row {
        Some("if this is the row of a table, --column names the column to look up".to_owned())
    } else {
        identifier.hint()
    }
}

impl LookupAnswers {
    pub(super) fn new(
        matches: &MatchOptions,
        reach: &TargetClient,
        places: Vec<NamedTarget>,
        style: &Style,
    ) -> Result<Self, Failure> {
        let mut wanted = Wanted::new(z3950::find::Subject::Identifiers(Vec::new()));
        wanted.form = matches.asked.form();
        wanted.fallback = matches.fallbacks.allowed();
        wanted.count = matches.count;
        wanted.best = matches.preferences()?;
        Ok(Self {
            reach: reach.clone(),
            places,
            is_joint: false,
            wanted,
            input_settings: InputSettings {
                kind: matches.kind,
                by_title: false,
            },
            is_written: false,
            is_terse: false,
            writing: matches.asked.writing(style.clone()),
            keep: None,
            notes: SourceNotes::default(),
        })
    }

    /// Returns the names of the targets as the user gave them.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.text.as_str())
    }

    /// Looks up an input at targets. Returns what was found at each target that was searched, and the best record if
    /// only that is wanted.
    async fn look_up<'a>(
        &self,
        ask: &Ask,
        places: &'a [NamedTarget],
        sought: &'a LookupSubject,
    ) -> (Vec<(&'a NamedTarget, LookupAt<'a>)>, Option<Box<Best>>) {
        let mut wanted = sought.wanted(&self.wanted);
        if let Some(preferences) = &mut wanted.best {
            let record = ask.record.as_deref();
            preferences.usual_language = record.and_then(cataloguing_language);
        }
        let mut lookups: Vec<_> = places.iter().map(|_| LookupAt::default()).collect();
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
                    if let Some(lookup) = lookups.get_mut(target)
                        && let Some(place) = places.get(target)
                        && let Some(subject) = sought.subject(identifier)
                    {
                        let subject = format!("{place}: {subject}");
                        lookup.notes.push(again_as(&subject, &reason, &step));
                    }
                }
                Event::Found(found) => {
                    let subject = sought.subject(found.identifier);
                    if let Some(lookup) = lookups.get_mut(found.target) {
                        lookup.found = subject.map(|subject| (found, subject));
                    }
                }
                Event::Unlike {
                    target,
                    hits,
                    step_name,
                } => {
                    if let Some(lookup) = lookups.get_mut(target)
                        && let Some(place) = places.get(target)
                    {
                        let found = format!("{} {step_name}", matching(hits));
                        let words = format!(
                            "{place}: {sought}: {found}, none of them with the same title and author"
                        );
                        lookup.notes.push(words);
                        lookup.unlike = lookup.unlike.max(Some(hits));
                    }
                }
                // If the best of all records is wanted, its event comes last.
                Event::Record {
                    target,
                    position,
                    record,
                } => {
                    if let Some(lookup) = lookups.get_mut(target) {
                        lookup.records.push((position, record));
                    }
                }
                Event::Done {
                    target,
                    delivered,
                    error,
                    ..
                } => {
                    if let Some(lookup) = lookups.get_mut(target) {
                        lookup.done = Some((delivered, error));
                    }
                }
                Event::Best(found) => best = Some(found),
                _ => {}
            }
        }
        let asked = places
            .iter()
            .zip(lookups)
            .filter(|(_, lookup)| lookup.done.is_some());
        (asked.collect(), best)
    }
}

impl LookupAt<'_> {
    fn has_no_match(&self) -> bool {
        let error = self.done.as_ref().and_then(|(_, error)| error.as_ref());
        self.found.is_none() && matches!(error, None | Some(Error::NoMatch))
    }
}
