//! What is said about the records found, and the records.

use serde_json::json;
use z3950::lookup::{Identifier, Match, Merit, Preferences, matched};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;

use super::{Desk, Find, Spot};
use crate::answer::{Answer, Ask, Envelope, OR, Piece, Recipient};
use crate::commands::target::{NamedTarget, Unanswered};
use crate::console::output::Words;
use crate::render::{counted, matching, numbered, shown};

/// The keys that `--json` adds.
const KEYS: [&str; 7] = [
    "input",
    "input_record",
    "identifier",
    "position",
    "terms",
    "matched",
    "choice",
];

impl Desk {
    fn envelope(&self, ask: &Ask, place: &NamedTarget, identifier: String) -> Envelope {
        let syntax = self.spots.first();
        let syntax = syntax.and_then(|spot| spot.options.search.record_syntax);
        Envelope::of(place, &KEYS)
            .with("input", ask.to_string())
            .with("input_record", ask.control_number())
            .with("identifier", identifier)
            .requested(syntax)
    }

    /// Sends an answer without records, of one target or several.
    pub(super) async fn end(
        &self,
        ask: &Ask,
        spots: &[Spot],
        identifiers: &[Identifier],
        answer: Answer,
        recipient: &mut Recipient,
    ) -> Answer {
        let Some(last) = spots.last() else {
            return answer;
        };
        let places: Vec<String> = spots.iter().map(|spot| spot.place.to_string()).collect();
        let names: Vec<&str> = spots.iter().map(|spot| spot.place.text.as_str()).collect();
        let identifiers: Vec<String> = identifiers.iter().map(ToString::to_string).collect();
        let identifiers = identifiers.join(" ");
        let subject = format!("{}: {identifiers}", places.join(OR));
        let envelope = || {
            let envelope = self.envelope(ask, &last.place, identifiers);
            envelope.with("target", names.join(OR))
        };
        recipient
            .last(self.writing.end(answer, envelope, &subject))
            .await
    }

    /// Shows the records of every target.
    pub(super) async fn show_all(&self, finds: Vec<Find<'_>>, recipient: &mut Recipient) -> Answer {
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

    /// Shows the records of a target.
    async fn show(&self, found: Find<'_>, recipient: &mut Recipient) -> Answer {
        let Find {
            spot: Spot { place, .. },
            identifier,
            hits,
            ..
        } = found;
        let count = self.count;
        let base = found.base();
        let envelope = || self.envelope_of(&found);
        let mut answer = base.clone();
        if hits != 1 {
            let words = format!("{}; --best takes the best one", matching(hits));
            answer = answer.ended(OutcomeName::Ambiguous).saying(words);
        }
        if count == 0 {
            answer.outcome = OutcomeName::Found;
        }
        if !self.writing.json {
            let words = found.in_words();
            // A batch shows only warnings.
            let words = match hits {
                1 => Words::Note(words),
                _ => Words::Warning(words),
            };
            recipient.send(words).await;
        } else if count == 0 {
            recipient.send(envelope().answered(&answer).piece()).await;
        }
        for (position, slot) in (1_u64..).zip(&found.records) {
            let (mut piece, one) = self.record(&found, base.clone(), position, slot);
            let part = place.part(slot);
            let is_only = hits == 1 && part.is_none();
            let is_of_several = self.spots.len() > 1 || part.is_some();
            let numbered = numbered(position, Some(hits));
            let numbered = match part {
                Some(part) => format!("{numbered}, {part}"),
                None => numbered,
            };
            piece.heading = match self.spots.len() > 1 {
                true => Some(format!("{place}: {numbered}")),
                false => (!is_only).then_some(numbered),
            };
            if let Some(heading) = piece.heading.clone().filter(|_| is_of_several) {
                self.writing.head(&mut piece, &heading, self.is_written);
            }
            recipient.send(piece).await;
            answer = answer.graver(one);
        }
        if let Some(failure) = &found.failure {
            let failed = Answer {
                hits: base.hits,
                step: base.step,
                step_name: base.step_name,
                target: base.target,
                ..Unanswered::from(failure.clone()).answer()
            };
            let subject = format!("{place}: {identifier}");
            let failed = self.writing.end(failed, envelope, &subject);
            return answer.graver(recipient.last(failed).await);
        }
        if self.is_written && count < hits {
            let words = format!("{count} of {hits} written (--count {count})");
            let warning = format!("{place}: {identifier}: {words}");
            recipient.send(Words::Warning(warning)).await;
            answer.message = Some(words);
        }
        answer
    }

    /// Shows the best record of all targets, and says why it is.
    pub(super) async fn show_best(
        &self,
        finds: Vec<Find<'_>>,
        preferences: &Preferences,
        recipient: &mut Recipient,
    ) -> Answer {
        let mut candidates = Vec::new();
        for found in &finds {
            for (position, slot) in (1_u64..).zip(&found.records) {
                if let ResultRecord::Record { external, .. } = slot {
                    let merit = Merit::of(external, found.identifier, preferences);
                    candidates.push((merit, found, position, slot));
                }
            }
        }
        let number = candidates.len();
        // Of equals, the first stays first.
        candidates.sort_by(|(one, ..), (other, ..)| one.compare(other));
        let mut candidates = candidates.into_iter();
        let Some((best, found, position, slot)) = candidates.next() else {
            // There are only diagnostics.
            let mut finds = finds.into_iter();
            return match finds.next() {
                Some(found) => self.show(found, recipient).await,
                None => Answer::default(),
            };
        };
        let hits = finds.iter().map(|found| found.hits).sum();
        let mut base = Answer {
            hits: Some(hits),
            ..found.base()
        };
        let has_others = finds.len() > 1;
        let name = |merit: &Merit, found: &Find<'_>, position: u64| {
            let own = match merit.control_number() {
                Some(number) => shown(number.trim().as_bytes()),
                None => format!("record {position}"),
            };
            match has_others {
                true => format!("{own} ({})", found.spot.place.text),
                false => own,
            }
        };
        let own = name(&best, found, position);
        let compared = u64::try_from(number).unwrap_or(u64::MAX);
        let choice = match candidates.next() {
            Some((next, other, at, _)) => {
                let of = match compared < hits {
                    true => format!("the first {number} of {hits}"),
                    false => number.to_string(),
                };
                let reason = best.reason(&next, &name(&next, other, at));
                format!("{own} is the best of {of} records: {reason}")
            }
            None if compared < hits => format!(
                "{own} is the only one of {} that was compared (--count {})",
                counted(hits, "record"),
                self.count
            ),
            None => format!("{own} is the only record"),
        };
        base.choice = Some(choice);
        if !self.writing.json {
            let words = found.in_words();
            recipient.send(Words::Note(words)).await;
        }
        if let Some(choice) = base.choice.as_ref().filter(|_| hits > 1) {
            let words = format!("{}: {}: {choice}", found.spot.place, found.identifier);
            recipient.send(Words::Note(words)).await;
        }
        for words in finds.iter().flat_map(Find::diagnostics) {
            recipient.send(words).await;
        }
        let failures = finds
            .iter()
            .filter_map(|found| Some((found, found.failure.as_ref()?)));
        for (found, failure) in failures {
            let words = format!("{}: {}: {failure}", found.spot.place, found.identifier);
            recipient.send(Words::Warning(words)).await;
        }
        recipient
            .last(self.record(found, base, position, slot))
            .await
    }

    fn envelope_of(&self, found: &Find<'_>) -> Envelope {
        let identifier = found.identifier.to_string();
        self.envelope(found.ask, &found.spot.place, identifier)
            .with("terms", found.terms.clone())
    }

    fn record(
        &self,
        found: &Find<'_>,
        answer: Answer,
        position: u64,
        slot: &ResultRecord,
    ) -> (Piece, Answer) {
        let (place, identifier) = (&found.spot.place, found.identifier);
        let field = match slot {
            ResultRecord::Record { external, .. } => matched(identifier, external),
            ResultRecord::Diagnostic { .. } => None,
        };
        let choice = answer.choice.clone();
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
        let which = format!("{identifier}: record {position}");
        let (mut piece, answer) =
            self.reach
                .write(&writing, answer, envelope, slot, &place.to_string(), &which);
        if let Some(field) = field.filter(|_| !self.writing.json) {
            piece.words.insert(0, said(identifier, position, &field));
        }
        (piece, answer)
    }
}

impl Find<'_> {
    /// Whether there are only diagnostics in place of its records.
    pub(super) fn is_undelivered(&self) -> bool {
        let is_diagnostic = |slot| matches!(slot, &ResultRecord::Diagnostic { .. });
        !self.records.is_empty() && self.records.iter().all(is_diagnostic)
    }

    /// Warnings of the records that did not come.
    pub(super) fn diagnostics(&self) -> Vec<Words> {
        let slots = (1_u64..).zip(&self.records);
        let diagnostics = slots.filter_map(|(position, slot)| match slot {
            ResultRecord::Diagnostic { diagnostic, .. } => Some((position, diagnostic)),
            ResultRecord::Record { .. } => None,
        });
        let words = diagnostics.map(|(position, diagnostic)| {
            Words::Warning(format!(
                "{}: {}: record {position}: {diagnostic}",
                self.spot.place, self.identifier
            ))
        });
        words.collect()
    }

    /// The answer with what is known before any record.
    fn base(&self) -> Answer {
        Answer {
            hits: Some(self.hits),
            step: Some(self.step.clone()),
            step_name: Some(self.step_name.clone()),
            target: Some(self.spot.place.text.clone()),
            ..Answer::default()
        }
        .with_sources(&self.sources)
    }

    /// `lib.example: isbn:0306406152: 1 record matches ISBN 9780306406157 or 0306406152`
    fn in_words(&self) -> String {
        format!(
            "{}: {}: {} {} {}",
            self.spot.place,
            self.identifier,
            matching(self.hits),
            self.step_name,
            self.terms.join(OR)
        )
    }
}

/// Where the identifier is found; a field of cancelled numbers is worth a warning.
fn said(identifier: &Identifier, position: u64, place: &Match) -> Words {
    let text = place.text.trim();
    let words = format!("{identifier}: record {position} has {text} in {place}");
    match place.is_cancelled {
        true => Words::Warning(format!(
            "{words}, a field for cancelled and invalid numbers"
        )),
        false => Words::Note(words),
    }
}
