//! `z3950 lookup`: finds records by identifier, and reports which form of the identifier was found, and where.

use std::ffi::OsString;

use clap::Args;
use serde_json::json;
use z3950::lookup::{
    Attempt, Identifier, Kind, LookupHits, LookupOptions, Match, attempts, lookup, matched,
};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;

use crate::answer::{Answer, Ask, Envelope, Job, Piece, Recipient, Work, Writing, refuse};
use crate::batch::{Batch, run_all};
use crate::commands::connection::ConnectionOptions;
use crate::commands::options::RecordRequest;
use crate::commands::target::{NamedTarget, Service, TARGET, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Style, matching, shown};

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Lookup {
    /// The target to search.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// isbn:…, issn:…, lccn:…, oclc:…, local:… or docid:…; without a prefix, the type is guessed. Hyphens and spaces
    /// do not matter.
    #[arg(required_unless_present = "inputs", value_name = "ID")]
    pub(crate) identifiers: Vec<String>,

    #[command(flatten)]
    pub(crate) wanted: Matches,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

/// The options of a lookup.
#[derive(Debug, Args)]
pub(crate) struct Matches {
    #[command(flatten)]
    pub(crate) asked: RecordRequest,

    /// How many records to show if several match.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) count: u64,
}

/// The keys that `--json` adds.
const KEYS: [&str; 4] = ["identifier", "position", "terms", "matched"];

pub(crate) async fn run(arguments: &Lookup, output: &mut Output) -> Result<Exit, Failure> {
    let (wanted, batch) = (&arguments.wanted, &arguments.batch);
    let (target, connection) = (&arguments.target, &arguments.connection);
    let reached = TargetClient::to(target, &wanted.asked.databases, connection, output);
    let (reach, place) = reached.await?;
    let records = &wanted.asked.records;
    let style = records.style_in(batch.format(records.format)?)?;
    let mut job = job(&arguments.identifiers, wanted, &reach, &place, style);
    job.jobs = batch.jobs(1);
    job.work.is_written = batch.file().is_some();
    let exit = run_all(batch, job, output).await;
    // A signal cuts the closing short.
    Interrupt.or_end(reach.close()).await;
    exit
}

/// A lookup in the session of the prompt.
#[derive(Debug, Args)]
pub(crate) struct LookupHere {
    /// isbn:…, issn:…, lccn:…, oclc:…, local:… or docid:…; without a prefix, the type is guessed. Hyphens and spaces
    /// do not matter.
    #[arg(required = true, value_name = "ID")]
    identifiers: Vec<String>,

    #[command(flatten)]
    wanted: Matches,
}

impl Service for LookupHere {
    const NAME: &'static str = "lookup";
    const SUMMARY: &'static str = "find records by ISBN, ISSN, LCCN, OCLC number, control number or docid, as z3950 lookup does";

    fn databases(&self) -> &[String] {
        &self.wanted.asked.databases
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let style = self.wanted.asked.records.style()?;
        let job = job(&self.identifiers, &self.wanted, reach, place, style);
        job.write(output).await
    }
}

fn job(
    identifiers: &[String],
    wanted: &Matches,
    reach: &TargetClient,
    place: &NamedTarget,
    style: Style,
) -> Job<Desk> {
    let given = identifiers.iter();
    let mut writing = wanted.asked.writing(style.clone());
    writing.charset = place.charset(writing.charset);
    let (search, records) = place.options(&wanted.asked);
    let options = LookupOptions {
        search,
        records,
        count: wanted.count,
    };
    Job {
        given: given.map(|text| text.clone().into_bytes()).collect(),
        targets: vec![place.text.clone()],
        style,
        jobs: 1,
        work: Desk {
            options,
            place: place.clone(),
            reach: reach.clone(),
            is_written: false,
            writing,
        },
    }
}

/// Looks up identifiers at one target.
struct Desk {
    reach: TargetClient,
    place: NamedTarget,
    options: LookupOptions,
    /// Whether records go to a file, so that their number is not seen.
    is_written: bool,
    writing: Writing,
}

impl Work for Desk {
    async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let identifier: Identifier = match shown(&ask.input).parse() {
            Ok(identifier) => identifier,
            Err(error) => return refuse(ask, error.to_string(), recipient).await,
        };
        let doubt = identifier.doubt();
        let attempts = match self.attempts(&identifier) {
            Ok(attempts) => attempts,
            Err(failure) => return self.end(&identifier, failure.answer(), recipient).await,
        };
        recipient.ready_for(self.options.count).await;
        let found = self.ask(&attempts).await;
        if let (Some(words), false) = (&doubt, matches!(found, Ok(None))) {
            recipient.send(Words::Warning(words.clone())).await;
        }
        match found {
            Err(failure) => self.end(&identifier, failure.answer(), recipient).await,
            Ok(None) => {
                let words = match doubt.or_else(|| identifier.hint()) {
                    Some(doubt) => format!("no record matches; {doubt}"),
                    None => "no record matches".to_owned(),
                };
                let mut answer = Answer::default().ended(OutcomeName::NoMatch).saying(words);
                answer.hits = Some(0);
                self.end(&identifier, answer, recipient).await
            }
            Ok(Some(found)) => self.show(&identifier, found, recipient).await,
        }
    }
}

impl Desk {
    fn envelope(&self, identifier: &Identifier) -> Envelope {
        Envelope::of(&self.place, &KEYS)
            .with("identifier", identifier.to_string())
            .requested(self.options.search.record_syntax)
    }

    /// Sends an answer without records.
    async fn end(
        &self,
        identifier: &Identifier,
        answer: Answer,
        recipient: &mut Recipient,
    ) -> Answer {
        let subject = format!("{}: {identifier}", self.place);
        let envelope = || self.envelope(identifier);
        let ended = self.writing.end(answer, envelope, &subject);
        recipient.last(ended).await
    }

    /// The searches for an identifier, as this target wants them.
    fn attempts(&self, identifier: &Identifier) -> Result<Vec<Attempt>, Unanswered> {
        let habits = &self.place.resolved.profile.docid;
        let of_profile = habits.iter().filter(|_| identifier.kind == Kind::Docid);
        let of_profile = of_profile.map(|habit| Attempt::by(habit, identifier));
        let mut all: Vec<Attempt> = of_profile.collect();
        all.extend(attempts(identifier));
        for attempt in &mut all {
            attempt.query = self.place.adapted(&attempt.query)?;
        }
        Ok(all)
    }

    async fn ask<'a>(&self, attempts: &'a [Attempt]) -> Result<Option<LookupHits<'a>>, Unanswered> {
        let mut lease = self.reach.borrow(&self.place).await?;
        // If the connection is lost between records, a new session continues after them.
        let mut options = self.options.clone();
        options.records.reconnect = lease.reconnect();
        options.search.result_set = lease.own_set();
        let options = &options;
        self.reach.note_search();
        let found = lease.read(|session| async move { lookup(&session, attempts, options).await });
        Ok(found.await?)
    }

    async fn show(
        &self,
        identifier: &Identifier,
        found: LookupHits<'_>,
        recipient: &mut Recipient,
    ) -> Answer {
        let (attempt, hits) = (found.attempt, found.hits);
        let count = self.options.count;
        let base = Answer {
            hits: Some(hits),
            step: Some(attempt.attributes.clone()),
            ..Answer::default()
        };
        let envelope = || {
            let terms = attempt.terms.clone();
            self.envelope(identifier).with("terms", terms)
        };
        let mut answer = base.clone();
        if hits != 1 {
            answer = answer.ended(OutcomeName::Ambiguous).saying(matching(hits));
        }
        if count == 0 {
            answer.outcome = OutcomeName::Found;
        }
        if !self.writing.json {
            let words = format!(
                "{}: {identifier}: {} {} {}",
                self.place,
                matching(hits),
                attempt.attributes,
                attempt.terms.join(" or ")
            );
            // A batch shows only warnings.
            let words = match hits {
                1 => Words::Note(words),
                _ => Words::Warning(words),
            };
            recipient.send(words).await;
        } else if count == 0 {
            recipient.send(envelope().answered(&answer).piece()).await;
        }
        for (position, slot) in (1_u64..).zip(found.records) {
            let envelope = || envelope().with("position", position);
            let (piece, one) = self.record(identifier, base.clone(), envelope, position, &slot);
            recipient.send(piece).await;
            answer = answer.graver(one);
        }
        if let Some(failure) = found.failure {
            let failed = Answer {
                hits: base.hits,
                step: base.step,
                ..Unanswered::from(failure).answer()
            };
            let subject = format!("{}: {identifier}", self.place);
            let failed = self.writing.end(failed, envelope, &subject);
            return answer.graver(recipient.last(failed).await);
        }
        if self.is_written && count < hits {
            let words = format!("{count} of {hits} written (--count {count})");
            let warning = format!("{}: {identifier}: {words}", self.place);
            recipient.send(Words::Warning(warning)).await;
            answer.message = Some(words);
        }
        answer
    }

    fn record(
        &self,
        identifier: &Identifier,
        found: Answer,
        envelope: impl FnOnce() -> Envelope,
        position: u64,
        slot: &ResultRecord,
    ) -> (Piece, Answer) {
        let place = match slot {
            ResultRecord::Record { external, .. } => matched(identifier, external),
            ResultRecord::Diagnostic { .. } => None,
        };
        let envelope = || {
            let matched = place.as_ref().map(|place| {
                json!({
                    "field": place.tag,
                    "subfield": place.code,
                    "text": place.text,
                    "cancelled": place.is_cancelled,
                })
            });
            envelope().with("matched", matched)
        };
        let (writing, subject) = (&self.writing, self.place.to_string());
        let which = format!("{identifier}: record {position}");
        let (mut piece, answer) = self
            .reach
            .write(writing, found, envelope, slot, &subject, &which);
        if let Some(place) = place.filter(|_| !self.writing.json) {
            piece.words.insert(0, said(identifier, position, &place));
        }
        (piece, answer)
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
