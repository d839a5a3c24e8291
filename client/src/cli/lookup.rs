//! `z3950 lookup`: records by the numbers people have for them; says which form of the number was found, and where.

use serde_json::json;
use z3950_asn1::oid::Oid;

use super::Interrupt;
use super::args::{Global, Lookup};
use super::envelope::Envelope;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::target::{Place, Reach, Unanswered};
use crate::lookup::{
    Attempt, Found, Identifier, Kind, LookupOptions, Match, attempts, lookup, matched,
};
use crate::render::Document;
use crate::result_set::ResultSetOptions;
use crate::service::present::PresentOptions;
use crate::service::records::ResultRecord;
use crate::service::search::SearchOptions;
use crate::session::Session;

/// The keys that the envelope has beside those of every command.
const KEYS: [&str; 4] = ["identifier", "position", "terms", "matched"];

pub(super) async fn run(
    arguments: &Lookup,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reach = Reach::new(global).await?;
    let Some(place) = reach.place(&arguments.target, &arguments.asked.databases, output) else {
        return Ok(Exit::Usage);
    };
    let records = &arguments.asked.records;
    let mut command = Command {
        arguments,
        reach: &reach,
        options: options(arguments, &place),
        syntax: place.syntax(arguments.asked.syntax),
        document: Document::new(records.format, place.charset(records.charset)),
        place: &place,
        session: None,
        output,
    };
    let exit = Interrupt.or(command.all()).await;
    command.output.end(&mut command.document)?;
    match exit {
        Ok(exit) => exit,
        Err(_) => Ok(Exit::Interrupted),
    }
}

fn options(arguments: &Lookup, place: &Place) -> LookupOptions {
    let asked = &arguments.asked;
    let profile = &place.resolved.profile;
    let element_set = asked.element_set.as_ref().or(profile.element_set.as_ref());
    let present = PresentOptions {
        element_set: element_set.map(|name| name.as_str().into()),
        record_syntax: Some(place.syntax(asked.syntax)),
        ..PresentOptions::default()
    };
    LookupOptions {
        search: SearchOptions {
            databases: place.resolved.databases.clone(),
            element_set: present.element_set.clone(),
            record_syntax: present.record_syntax,
            ..SearchOptions::default()
        },
        records: ResultSetOptions {
            present,
            ..ResultSetOptions::default()
        },
        count: arguments.count,
    }
}

struct Command<'a> {
    arguments: &'a Lookup,
    reach: &'a Reach,
    place: &'a Place,
    options: LookupOptions,
    syntax: Oid,
    /// The session in use, opened with the first identifier.
    session: Option<Session>,
    /// What the records written make together.
    document: Document,
    output: &'a mut Output,
}

impl Command<'_> {
    async fn all(&mut self) -> Result<Exit, Failure> {
        let mut exit = Exit::Delivered;
        for text in &self.arguments.identifiers {
            exit = exit.and(match text.parse() {
                Ok(identifier) => self.one(&identifier).await?,
                Err(error) => {
                    self.output.error(&error.to_string());
                    Exit::Usage
                }
            });
        }
        if let Some(session) = &self.session {
            // What ended otherwise need not be closed.
            let _ = session.close().await;
        }
        Ok(exit)
    }

    async fn one(&mut self, identifier: &Identifier) -> Result<Exit, Failure> {
        if has_wrong_check_digit(identifier) {
            self.output.warning(&format!(
                "the check digit of {identifier} is wrong; it is searched for as it is written"
            ));
        }
        let envelope = Envelope::of(self.place, &KEYS)
            .with("identifier", identifier.to_string())
            .with("requested_syntax", self.syntax.to_string());
        let attempts = match self.attempts(identifier) {
            Ok(attempts) => attempts,
            Err(failure) => return self.fail(identifier, envelope, &failure),
        };
        match self.ask(&attempts).await {
            Err(failure) => self.fail(identifier, envelope, &failure),
            Ok(None) => {
                let words = "no record matches";
                match self.arguments.asked.json {
                    true => envelope.outcome("NoMatch", words).write(self.output)?,
                    false => self
                        .output
                        .error(&format!("{}: {identifier}: {words}", self.place)),
                }
                Ok(Exit::NoMatch)
            }
            Ok(Some(found)) => self.show(identifier, envelope, found),
        }
    }

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

    /// Looks on the session in use; on another one if that has ended since.
    async fn ask<'a>(&mut self, attempts: &'a [Attempt]) -> Result<Option<Found<'a>>, Unanswered> {
        let session = match self.session.take().filter(Session::is_open) {
            Some(session) => session,
            None => self.reach.session(self.place).await?,
        };
        let found = lookup(&session, attempts, &self.options).await;
        self.session = Some(session);
        Ok(found?)
    }

    fn show(
        &mut self,
        identifier: &Identifier,
        envelope: Envelope,
        found: Found<'_>,
    ) -> Result<Exit, Failure> {
        let Found {
            attempt,
            hits,
            records,
        } = found;
        let envelope = envelope
            .with("hits", hits)
            .with("step", attempt.attributes.as_str())
            .with("terms", attempt.terms.clone());
        let mut exit = match hits {
            1 => Exit::Delivered,
            _ => Exit::Ambiguous,
        };
        if !self.arguments.asked.json {
            let verb = if hits == 1 {
                "record matches"
            } else {
                "records match"
            };
            self.output.note(&format!(
                "{}: {identifier}: {hits} {verb} {} {}",
                self.place,
                attempt.attributes,
                attempt.terms.join(" or ")
            ));
        } else if records.is_empty() {
            envelope
                .clone()
                .with("outcome", "Found")
                .write(self.output)?;
        }
        for (position, record) in (1_u64..).zip(records) {
            let envelope = envelope.clone().with("position", position);
            exit = exit.and(self.record(identifier, envelope, position, record)?);
        }
        Ok(exit)
    }

    fn record(
        &mut self,
        identifier: &Identifier,
        envelope: Envelope,
        position: u64,
        record: ResultRecord,
    ) -> Result<Exit, Failure> {
        let json = self.arguments.asked.json;
        let external = match record {
            ResultRecord::Record { external, .. } => external,
            ResultRecord::Diagnostic { diagnostic, .. } => {
                let words = format!("{identifier}: record {position}: {diagnostic}");
                match json {
                    true => envelope
                        .outcome("RecordDiagnostic", &words)
                        .diagnosed(std::slice::from_ref(&diagnostic))
                        .write(self.output)?,
                    false => self.output.error(&format!("{}: {words}", self.place)),
                }
                return Ok(Exit::Refused);
            }
        };
        let place = matched(identifier, &external);
        if json {
            let charset = self.place.charset(self.arguments.asked.records.charset);
            let place = place.map(|place| {
                json!({
                    "field": place.tag,
                    "subfield": place.code,
                    "text": place.text,
                    "cancelled": place.is_cancelled,
                })
            });
            let (envelope, notes) = envelope.with("matched", place).record(&external, charset);
            notes.iter().for_each(|note| self.output.note(note));
            envelope.write(self.output)?;
            return Ok(Exit::Delivered);
        }
        if let Some(place) = place {
            self.say(identifier, position, &place);
        }
        self.output.record(&external, &mut self.document)
    }

    /// Where the identifier stands; a place for cancelled numbers is worth a warning.
    fn say(&self, identifier: &Identifier, position: u64, place: &Match) {
        let text = place.text.trim();
        let words = format!("{identifier}: record {position} has {text} in {place}");
        match place.is_cancelled {
            true => self
                .output
                .warning(&format!("{words}, where cancelled and wrong numbers stand")),
            false => self.output.note(&words),
        }
    }

    fn fail(
        &mut self,
        identifier: &Identifier,
        envelope: Envelope,
        failure: &Unanswered,
    ) -> Result<Exit, Failure> {
        let (exit, words) = failure.explain();
        match self.arguments.asked.json {
            true => envelope.failed(failure).write(self.output)?,
            false => self
                .output
                .error(&format!("{}: {identifier}: {words}", self.place)),
        }
        Ok(exit)
    }
}

fn has_wrong_check_digit(identifier: &Identifier) -> bool {
    use z3950_asn1::record::standard_number::{Isbn, Issn};
    match identifier.kind {
        Kind::Isbn => Isbn::parse(&identifier.text).is_none(),
        Kind::Issn => Issn::parse(&identifier.text).is_none(),
        _ => false,
    }
}
