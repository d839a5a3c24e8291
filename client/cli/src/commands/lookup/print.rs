//! Shows the records that were found, and messages about them.

use std::sync::Arc;

use serde_json::json;
use z3950::Record;
use z3950::find::{Best, ByTitle, Ending};
use z3950::lookup::Match;
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;

use super::answers::{FoundAt, LookupAnswers};
use super::sought::{LookupSubject, Subject};
use crate::answer::{Answer, Ask, Envelope, OR, Piece, Recipient};
use crate::commands::target::{NamedTarget, Unanswered, heading};
use crate::console::output::Words;
use crate::render::{LocalFields, counted, matching, shown};

/// The keys that `lookup --json` adds to an object.
const KEYS: [&str; 7] = [
    "input",
    "input_record",
    "identifier",
    "position",
    "terms",
    "matched",
    "choice",
];

impl LookupAnswers {
    fn envelope(&self, ask: &Ask, place: &NamedTarget, identifier: Option<String>) -> Envelope {
        let syntax = self.places.first();
        let syntax = syntax.map(|place| place.resolved.syntax(&self.wanted.form));
        Envelope::of(place, &KEYS)
            .with("input", ask.to_string())
            .with("input_record", ask.control_number())
            .with("identifier", identifier)
            .requested(syntax)
    }

    /// Sends an answer without records, which applies to all these targets.
    pub(super) async fn end(
        &self,
        ask: &Ask,
        places: &[NamedTarget],
        sought: &LookupSubject,
        answer: Answer,
        recipient: &mut Recipient,
    ) -> Answer {
        let Some(last) = places.last() else {
            return answer;
        };
        let servers: Vec<String> = places.iter().map(ToString::to_string).collect();
        let names: Vec<&str> = places.iter().map(|place| place.text.as_str()).collect();
        let subject = format!("{}: {sought}", servers.join(OR));
        let envelope = || {
            let envelope = self.envelope(ask, last, sought.identifiers());
            envelope.with("target", names.join(OR))
        };
        recipient
            .last(self.writing.end(answer, envelope, &subject))
            .await
    }

    /// Shows the records from every target.
    pub(super) async fn show_all(
        &self,
        finds: Vec<FoundAt<'_>>,
        recipient: &mut Recipient,
    ) -> Answer {
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

    /// Shows the records from a target.
    async fn show(&self, found: FoundAt<'_>, recipient: &mut Recipient) -> Answer {
        let FoundAt { place, subject, .. } = found;
        let hits = found.found.matching();
        let count = self.wanted.count;
        let base = found.base();
        let envelope = || self.envelope_of(&found);
        let mut answer = base.clone();
        if hits != 1 {
            let words = format!("{}; --best takes the best one", found.matching());
            answer = answer.ended(OutcomeName::Ambiguous).saying(words);
        }
        if count == 0 {
            answer.ending.outcome = OutcomeName::Found;
        }
        if !self.writing.json {
            let words = found.in_words();
            // A batch shows warnings but not notes, so several hits are reported as a warning.
            match hits {
                1 if self.is_terse && count > 0 && found.by_title().is_none() => {}
                1 => recipient.send(Words::Note(words)).await,
                _ => recipient.send(Words::Warning(words)).await,
            }
        } else if count == 0 {
            recipient.send(envelope().answered(&answer).piece()).await;
        }
        for (position, slot) in &found.records {
            let (mut piece, one) = self.record(&found, base.clone(), *position, slot);
            let part = place.part(slot);
            let named = (self.places.len() > 1).then(|| place.to_string());
            piece.heading = heading(named.as_deref(), *position, Some(hits), part.as_deref());
            if named.is_some() || part.is_some() {
                self.writing.head(&mut piece, self.is_written);
            }
            recipient.send(piece).await;
            answer = answer.graver(one);
        }
        if let Some(failure) = &found.failure {
            let failed = Unanswered::from(failure.clone()).of(base);
            let subject = format!("{place}: {subject}");
            let failed = self.writing.end(failed, envelope, &subject);
            return answer.graver(recipient.last(failed).await);
        }
        if self.is_written && count < hits {
            let words = format!("{count} of {hits} written (--count {count})");
            let warning = format!("{place}: {subject}: {words}");
            recipient.send(Words::Warning(warning)).await;
            answer.message = Some(words);
        }
        answer
    }

    /// Shows the best record of all targets, with the reason why it was chosen.
    pub(super) async fn show_best(
        &self,
        finds: Vec<FoundAt<'_>>,
        best: &Best,
        recipient: &mut Recipient,
    ) -> Answer {
        let is_it = |found: &&FoundAt<'_>| found.found.target == best.target;
        let chosen = finds.iter().find(is_it).and_then(|found| {
            let mut records = found.records.iter();
            let (_, slot) = records.find(|(position, _)| *position == best.position)?;
            Some((found, slot))
        });
        let Some((found, slot)) = chosen else {
            return self.show_all(finds, recipient).await;
        };
        let choice = shown(best.choice.as_bytes());
        let mut base = found.base().with_hits(Some(best.hits));
        base.ending.choice = Some(choice.clone());
        if !self.writing.json && !self.is_terse && found.by_title().is_none() {
            let words = found.in_words();
            recipient.send(Words::Note(words)).await;
        }
        if best.hits > 1 || found.by_title().is_some() {
            let words = format!("{}: {}: {choice}", found.place, found.subject);
            recipient.send(Words::Note(words)).await;
        }
        for words in finds.iter().flat_map(FoundAt::diagnostics) {
            recipient.send(words).await;
        }
        let failures = finds
            .iter()
            .filter_map(|found| Some((found, found.failure.as_ref()?)));
        for (found, failure) in failures {
            let words = format!("{}: {}: {failure}", found.place, found.subject);
            recipient.send(Words::Warning(words)).await;
        }
        recipient
            .last(self.record(found, base, best.position, slot))
            .await
    }

    fn envelope_of(&self, found: &FoundAt<'_>) -> Envelope {
        let identifier = found.subject.identifier().map(ToString::to_string);
        self.envelope(found.ask, found.place, identifier)
            .with("terms", found.found.terms.clone())
    }

    fn record(
        &self,
        found: &FoundAt<'_>,
        answer: Answer,
        position: u64,
        slot: &ResultRecord,
    ) -> (Piece, Answer) {
        let (place, subject) = (found.place, found.subject);
        let field = match slot {
            ResultRecord::Record { external, .. } => subject.matched(external),
            ResultRecord::Diagnostic { .. } => None,
        };
        let lacks = match slot {
            ResultRecord::Record { external, .. } => {
                field.is_none() && subject.is_lacking(external)
            }
            ResultRecord::Diagnostic { .. } => false,
        };
        let answer = if lacks {
            answer.adding(&format!("record {position} does not hold {subject}"))
        } else {
            answer
        };
        let answer = match field.as_ref().filter(|field| field.is_cancelled) {
            Some(field) => answer.adding(&format!("record {position} has {}", cancelled(field))),
            None => answer,
        };
        let doubt = found
            .by_title()
            .and_then(|by_title| by_title.doubt.as_deref());
        let answer = match doubt {
            Some(doubt) => answer.adding(&format!("record {position}: {doubt}")),
            None => answer,
        };
        let choice = answer.ending.choice.clone();
        let envelope = || {
            let matched = field.as_ref().map(|field| {
                json!({
                    "field": field.tag,
                    "subfield": field.code,
                    "text": field.text,
                    "cancelled": field.is_cancelled,
                })
            });
            self.envelope_of(found)
                .with("position", position)
                .with("matched", matched)
                .with("choice", choice)
        };
        let mut writing = self.writing.clone();
        writing.charset = place.charset(writing.charset);
        if let (Some(tags), Some(record)) = (&self.keep, found.ask.record.as_deref()) {
            let local = Arc::new(LocalFields::of(record, tags));
            writing.style = writing.style.with_local(local);
        }
        let which = format!("{subject}: record {position}");
        let (mut piece, answer) =
            self.reach
                .write(&writing, answer, envelope, slot, &place.to_string(), &which);
        if let Some(field) = field.filter(|_| !self.writing.json) {
            let words = said(subject, position, &field);
            if !self.is_terse || !matches!(words, Words::Note(_)) {
                piece.words.insert(0, words);
            }
        } else if lacks && !self.writing.json {
            let words = format!("{place}: {subject}: record {position} does not hold this number");
            piece.words.insert(0, Words::Warning(words));
        }
        if let Some(doubt) = doubt.filter(|_| !self.writing.json) {
            let words = format!("{place}: {subject}: record {position}: {doubt}");
            piece.words.insert(0, Words::Warning(words));
        }
        (piece, answer)
    }
}

impl FoundAt<'_> {
    /// Returns whether any of the records is MARC, by itself or in an OPAC record.
    pub(super) fn has_marc(&self) -> bool {
        self.records.iter().any(|(_, slot)| match slot {
            ResultRecord::Record { external, .. } => {
                Record::new(external.clone(), None).marc().is_some()
            }
            ResultRecord::Diagnostic { .. } => false,
        })
    }

    /// Returns warnings about records that were not sent.
    pub(super) fn diagnostics(&self) -> Vec<Words> {
        let diagnostics = self
            .records
            .iter()
            .filter_map(|(position, slot)| match slot {
                ResultRecord::Diagnostic { diagnostic, .. } => Some((position, diagnostic)),
                ResultRecord::Record { .. } => None,
            });
        let words = diagnostics.map(|(position, diagnostic)| {
            Words::Warning(format!(
                "{}: {}: record {position}: {diagnostic}",
                self.place, self.subject
            ))
        });
        words.collect()
    }

    /// Returns the answer as it is before any record is shown.
    fn base(&self) -> Answer {
        let mut ending = Ending::from(&*self.found);
        ending.target = Some(self.place.text.clone());
        Answer::from(ending).with_remarks(&self.found.sources)
    }

    /// Returns the choice among the records; `None` if they were not found by title.
    fn by_title(&self) -> Option<&ByTitle> {
        self.found.by_title.as_ref()
    }

    /// Returns the number of matching records as a message.
    fn matching(&self) -> String {
        match self.by_title() {
            Some(by_title) => format!("{} agree alike by title", counted(by_title.alike, "record")),
            None => matching(self.found.result.hits),
        }
    }

    /// Returns the message about the result, such as `lib.example: isbn:0306406152: 1 record matches ISBN 9780306406157
    /// or 0306406152`.
    fn in_words(&self) -> String {
        if let Some(by_title) = self.by_title() {
            let choice = shown(by_title.choice.as_bytes());
            return format!("{}: {}: {choice}", self.place, self.subject);
        }
        format!(
            "{}: {}: {} {} {}",
            self.place,
            self.subject,
            matching(self.found.result.hits),
            self.found.step_name.as_deref().unwrap_or_default(),
            self.found.terms.join(OR)
        )
    }
}

/// Returns the message about the field in which the identifier was found. If the field contains cancelled numbers, the
/// message is a warning.
fn said(subject: Subject<'_>, position: u64, place: &Match) -> Words {
    if place.is_cancelled {
        Words::Warning(format!(
            "{subject}: record {position} has {}",
            cancelled(place)
        ))
    } else {
        let text = place.text.trim();
        Words::Note(format!(
            "{subject}: record {position} has {text} in {place}"
        ))
    }
}

/// Returns the part of the message for a number in a field that does not hold the record's own valid numbers.
fn cancelled(place: &Match) -> String {
    let text = place.text.trim();
    let what = if matches!(place.tag, "010" | "011" | "020" | "022" | "035") {
        "cancelled and invalid numbers"
    } else {
        "numbers of other publications"
    };
    format!("{text} in {place}, a field for {what}")
}
