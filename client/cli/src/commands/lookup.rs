//! `z3950 lookup`: records by the numbers people have for them; says which form of the number was found, and where.

use clap::Args;
use serde_json::json;
use z3950::lookup::{
    Attempt, Identifier, Kind, LookupHits, LookupOptions, Match, attempts, lookup, matched,
};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;

use crate::answer::{Answer, Ask, Job, Piece, Recipient, Words, Work, refuse};
use crate::args::{Lookup, Matches};
use crate::batch::run_all;
use crate::commands::target::{Place, Reach, Service, Unanswered};
use crate::commands::writing::Writing;
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::{Format, shown};

/// The keys that the envelope has beside those of every command.
const KEYS: [&str; 4] = ["identifier", "position", "terms", "matched"];

pub(crate) async fn run(arguments: &Lookup, output: &mut Output) -> Result<Exit, Failure> {
    let reach = Reach::new(&arguments.connection).await?;
    let wanted = &arguments.wanted;
    let Some(place) = reach.place(&arguments.target, &wanted.asked.databases, output) else {
        return Ok(Exit::Usage);
    };
    let format = arguments.batch.format(wanted.asked.records.format)?;
    let mut job = job(&arguments.identifiers, wanted, &reach, place, format);
    job.jobs = arguments.batch.jobs(1);
    job.work.is_written = arguments.batch.file().is_some();
    let exit = match arguments.batch.is_wanted() {
        true => run_all(&arguments.batch, job, output).await,
        false => job.print(output).await,
    };
    // Ctrl-C while the sessions are closed only ends them sooner.
    Interrupt.or_end(reach.close()).await;
    exit
}

/// A lookup at the session of the prompt.
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
    async fn perform(
        &self,
        reach: &Reach,
        place: &Place,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let format = self.wanted.asked.records.format;
        let job = job(
            &self.identifiers,
            &self.wanted,
            reach,
            place.clone(),
            format,
        );
        job.write(output).await
    }
}

fn job(
    identifiers: &[String],
    wanted: &Matches,
    reach: &Reach,
    place: Place,
    format: Format,
) -> Job<Desk> {
    let given = identifiers.iter();
    let writing = Writing {
        json: wanted.asked.json,
        format,
        charset: place.charset(wanted.asked.records.charset),
    };
    Job {
        given: given.map(|text| text.clone().into_bytes()).collect(),
        targets: vec![place.text.clone()],
        format,
        jobs: 1,
        work: Desk {
            options: options(wanted, &place),
            place,
            reach: reach.clone(),
            is_written: false,
            writing,
        },
    }
}

fn options(wanted: &Matches, place: &Place) -> LookupOptions {
    let (search, records) = place.options(&wanted.asked);
    let mut options = LookupOptions::default();
    options.search = search;
    options.records = records;
    options.count = wanted.count;
    options
}

/// Looks identifiers up at one target.
struct Desk {
    reach: Reach,
    place: Place,
    options: LookupOptions,
    /// Whether records go to a file, where one does not see how many they are.
    is_written: bool,
    writing: Writing,
}

impl Work for Desk {
    async fn answer(&self, ask: &Ask, recipient: &mut impl Recipient) -> Result<Answer, Failure> {
        let identifier: Identifier = match shown(&ask.input).parse() {
            Ok(identifier) => identifier,
            Err(error) => return refuse(ask, error.to_string(), recipient).await,
        };
        let doubt = identifier.doubt();
        let syntax = self.options.search.record_syntax;
        let envelope = Envelope::of(&self.place, &KEYS)
            .with("identifier", identifier.to_string())
            .requested(syntax);
        let subject = format!("{}: {identifier}", self.place);
        let (piece, answer) = match self.attempts(&identifier) {
            Err(failure) => self.writing.failed(envelope, &failure, &subject),
            Ok(attempts) => {
                recipient.ready_for(self.options.count).await;
                let asked = self.ask(&attempts).await;
                if let (Some(words), false) = (&doubt, matches!(asked, Ok(None))) {
                    recipient.send(Words::Warning(words.clone())).await?;
                }
                match asked {
                    Err(failure) => self.writing.failed(envelope, &failure, &subject),
                    Ok(None) => {
                        let words = match doubt.or_else(|| identifier.hint()) {
                            Some(doubt) => format!("no record matches; {doubt}"),
                            None => "no record matches".to_owned(),
                        };
                        let envelope = envelope.with("hits", 0);
                        self.writing.end(
                            envelope,
                            Exit::NoMatch,
                            OutcomeName::NoMatch,
                            &words,
                            &subject,
                        )
                    }
                    Ok(Some(found)) => {
                        return self.show(&identifier, envelope, found, recipient).await;
                    }
                }
            }
        };
        recipient.send(piece).await?;
        Ok(answer)
    }
}

impl Desk {
    /// The searches for an identifier, as this target wants them.
    fn attempts(&self, identifier: &Identifier) -> Result<Vec<Attempt>, Unanswered> {
        let habits = &self.place.resolved.profile.docid;
        let of_profile = habits.iter().filter(|_| identifier.kind == Kind::Docid);
        let of_profile = of_profile.map(|habit| {
            let elements = habit.0.iter().map(|attribute| attribute.0.clone());
            Attempt::by(elements.collect(), &habit.to_string(), identifier)
        });
        let mut all: Vec<Attempt> = of_profile.collect();
        all.extend(attempts(identifier));
        for attempt in &mut all {
            attempt.query = self.place.adapted(&attempt.query)?;
        }
        Ok(all)
    }

    async fn ask<'a>(&self, attempts: &'a [Attempt]) -> Result<Option<LookupHits<'a>>, Unanswered> {
        let mut lease = self.reach.borrow(&self.place).await?;
        // Records that are broken off go on where they were.
        let mut options = self.options.clone();
        options.records.reconnect = lease.reconnect();
        let options = &options;
        self.reach.note_search();
        let found = lease.read(|session| async move { lookup(&session, attempts, options).await });
        Ok(found.await?)
    }

    async fn show(
        &self,
        identifier: &Identifier,
        envelope: Envelope,
        found: LookupHits<'_>,
        recipient: &mut impl Recipient,
    ) -> Result<Answer, Failure> {
        let LookupHits {
            attempt,
            hits,
            records: slots,
            failure,
            ..
        } = found;
        let envelope = envelope
            .with("hits", hits)
            .with("step", attempt.attributes.as_str())
            .with("terms", attempt.terms.clone());
        let is_counted = self.options.count == 0;
        let of_all = match (hits, is_counted) {
            (1, false) => envelope
                .clone()
                .with("outcome", OutcomeName::Delivered.as_str()),
            (1, true) => envelope
                .clone()
                .with("outcome", OutcomeName::Found.as_str()),
            (_, is_counted) => {
                let name = match is_counted {
                    true => OutcomeName::Found,
                    false => OutcomeName::Ambiguous,
                };
                envelope
                    .clone()
                    .outcome(name, &format!("{hits} records match"))
            }
        };
        let exit = match hits {
            1 => Exit::Delivered,
            _ => Exit::Ambiguous,
        };
        let mut answer = Answer::of(&of_all, exit);
        if !self.writing.json {
            let verb = if hits == 1 {
                "record matches"
            } else {
                "records match"
            };
            let words = format!(
                "{}: {identifier}: {hits} {verb} {} {}",
                self.place,
                attempt.attributes,
                attempt.terms.join(" or ")
            );
            // In a batch, only warnings are shown.
            let words = match hits {
                1 => Words::Note(words),
                _ => Words::Warning(words),
            };
            recipient.send(words).await?;
        } else if is_counted {
            let piece = Piece {
                octets: of_all.octets(),
                ..Piece::default()
            };
            recipient.send(piece).await?;
        }
        for (position, slot) in (1_u64..).zip(slots) {
            let envelope = envelope.clone().with("position", position);
            let (piece, one) = self.record(identifier, envelope, position, slot);
            recipient.send(piece).await?;
            answer = answer.graver(one);
        }
        if let Some(failure) = failure {
            let subject = format!("{}: {identifier}", self.place);
            let (piece, one) = self.writing.failed(envelope, &failure.into(), &subject);
            recipient.send(piece).await?;
            return Ok(answer.graver(one));
        }
        let count = self.options.count;
        if self.is_written && count < hits {
            let words = format!("{count} of {hits} written (--count {count})");
            let said = format!("{}: {identifier}: {words}", self.place);
            recipient.send(Words::Warning(said)).await?;
            answer.message = Some(words);
        }
        Ok(answer)
    }

    fn record(
        &self,
        identifier: &Identifier,
        envelope: Envelope,
        position: u64,
        slot: ResultRecord,
    ) -> (Piece, Answer) {
        let external = match slot {
            ResultRecord::Record { external, .. } => external,
            ResultRecord::Diagnostic { diagnostic, .. } => {
                let words = format!("{identifier}: record {position}: {diagnostic}");
                let envelope = envelope.diagnosed(std::slice::from_ref(&diagnostic));
                let subject = self.place.to_string();
                let name = OutcomeName::RecordRefused;
                return self
                    .writing
                    .end(envelope, Exit::Refused, name, &words, &subject);
            }
        };
        let place = matched(identifier, &external);
        let envelope = envelope.with(
            "matched",
            place.as_ref().map(|place| {
                json!({
                    "field": place.tag,
                    "subfield": place.code,
                    "text": place.text,
                    "cancelled": place.is_cancelled,
                })
            }),
        );
        let charset = self.writing.charset;
        let subject = format!("{identifier}: record {position}");
        let (mut piece, answer) = self.writing.record(envelope, &external, charset, &subject);
        if let Err(words) = self.reach.show(&external) {
            piece.words.push(Words::Error(words));
        }
        if let Some(place) = place.filter(|_| !self.writing.json) {
            piece.words.insert(0, said(identifier, position, &place));
        }
        (piece, answer)
    }
}

/// Where the identifier stands; a place for cancelled numbers is worth a warning.
fn said(identifier: &Identifier, position: u64, place: &Match) -> Words {
    let text = place.text.trim();
    let words = format!("{identifier}: record {position} has {text} in {place}");
    match place.is_cancelled {
        true => Words::Warning(format!("{words}, where cancelled and wrong numbers stand")),
        false => Words::Note(words),
    }
}
