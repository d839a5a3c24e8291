//! `z3950 update`: inserts, replaces or deletes records in a database (Z39.50-2003 Appendix EXT.5). A request is never
//! repeated: if there is no answer, a message says that the state of the records is unknown.

mod arguments;
mod dry_run;
mod supply;

use std::fmt::Write as _;

use z3950::error::{Diagnostics, Error, ProtocolFault};
use z3950::retrieve::OutcomeName;
use z3950::service::extended::{self, TaskResult, update_task};
use z3950::session::Session;
use z3950_asn1::apdu::{DatabaseName, DiagRec, ExtendedServicesRequest, External, OperationStatus};
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::update::{
    EsRequest, RecordOrSurDiag, RecordStatus, SuppliedRecord, TaskPackageRecordStructure,
    UpdateStatus,
};
use z3950_asn1::oid;

pub(crate) use self::arguments::Arguments;
use self::arguments::Variant;
use self::supply::{UpdateRecord, UpdateSource};
use crate::answer::{Answer, Envelope, Printed, Writing};
use crate::commands::options::RecordOutput;
use crate::commands::target::{AtTarget, NamedTarget, Service, TargetClient, Unanswered};
use crate::commands::task;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::{Format, render, shown};

pub(crate) async fn run(
    arguments: &AtTarget<Arguments>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asked = &arguments.asked;
    let supply = UpdateSource::new(asked)?;
    let (reach, place) = arguments.reach(output).await?;
    let waiting = output.waiting();
    let mut updater = Updater::new(asked, &place, output)?;
    let all = Interrupt.or(updater.all(&reach, supply));
    let mut ended = waiting.during(all).await;
    // A signal also makes reads of the input fail; such a failure is reported as the signal.
    if let (Ok(Err(_)), Some(stopped)) = (&ended, Interrupt.arrived()) {
        ended = Err(stopped);
    }
    updater.end()?;
    match ended {
        Ok(exit) => exit,
        Err(Stopped(exit)) => {
            output.error(INTERRUPTED);
            Ok(exit)
        }
    }
}

const INTERRUPTED: &str = "interrupted; the last request may have been carried out";

impl Service for Arguments {
    const NAME: &'static str = "update";
    const SUMMARY: &'static str = "update the database with a record: \"text\", a word, <FILE, or by default the last record shown. With options, the arguments are those of z3950 update";
    const INTERRUPTED: Option<&'static str> = Some(INTERRUPTED);

    fn databases(&self) -> &[String] {
        &self.databases
    }

    fn records(&mut self) -> Option<&mut RecordOutput> {
        Some(&mut self.records)
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let supply = UpdateSource::new(self)?;
        let mut updater = Updater::new(self, place, output)?;
        let exit = updater.all(reach, supply).await;
        updater.end()?;
        exit
    }
}

struct Updater<'a> {
    arguments: &'a Arguments,
    place: &'a NamedTarget,
    database: &'a DatabaseName,
    /// The options for writing records that the server returns after the update.
    writing: Writing,
    printed: Printed,
    tally: UpdateCounts,
    /// Whether the input was read to its end.
    has_ended: bool,
    output: &'a mut Output,
}

/// The numbers of records by result.
#[derive(Default, PartialEq, Eq)]
struct UpdateCounts {
    done: usize,
    accepted: usize,
    refused: usize,
    /// The number of records that would have been sent without `--dry-run`.
    tried: usize,
    damaged: usize,
    /// The number of records that were sent but not answered.
    unknown: usize,
    /// The number of records that were not sent, because the update ended early.
    unsent: usize,
}

/// The result for one record.
struct UpdateOutcome {
    status: RecordStatus,
    diagnostics: Diagnostics,
    /// The record after the update; `None` if it was not requested or not returned.
    record: Option<External>,
}

impl<'a> Updater<'a> {
    /// Prepares an update at a target.
    ///
    /// # Errors
    /// Fails if the target has several databases.
    fn new(
        arguments: &'a Arguments,
        place: &'a NamedTarget,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let [database] = place.resolved.databases.as_slice() else {
            let words = "an update changes one database; choose it with --database";
            return Err(Failure::Usage(words.into()));
        };
        let records = &arguments.records;
        let style = records.style()?;
        Ok(Self {
            arguments,
            place,
            database,
            printed: Printed::new(style.clone()),
            writing: Writing {
                json: false,
                style,
                charset: place.charset(records.charset),
            },
            tally: UpdateCounts::default(),
            has_ended: false,
            output,
        })
    }

    /// Ends the document of records, and reports the number of records for each result.
    fn end(self) -> Result<(), Failure> {
        self.printed.end(false, self.output)?;
        if self.tally == UpdateCounts::default() {
            if self.has_ended {
                self.output.note("there is no record in the input");
            }
        } else if !self.arguments.json || self.tally.unsent > 0 {
            let words = format!("{}: {}", self.place, self.tally);
            self.output.note(&words);
        }
        Ok(())
    }

    async fn all(
        &mut self,
        reach: &TargetClient,
        mut supply: UpdateSource<'_>,
    ) -> Result<Exit, Failure> {
        let session = match reach.session(self.place).await {
            Ok(session) => session,
            Err(failure) => {
                let json = self.arguments.json;
                let answer = failure.answer();
                return answer.report(json, self.envelope(), self.place, self.output);
            }
        };
        let mut exit = Exit::Delivered;
        if self.arguments.dry_run
            && let Some(refused) = self.refused(&session)?
        {
            return Ok(self.stop(reach, session, supply, refused).await);
        }
        let mut waiting = Vec::new();
        loop {
            let next = supply.next()?;
            let is_last = next.is_none();
            match next {
                Some(Ok(record)) => waiting.push(*record),
                Some(Err(words)) => {
                    self.tally.damaged += 1;
                    self.output.error(&words);
                    exit = exit.and(Exit::FaultsFound);
                    if self.arguments.stop_on_error {
                        self.tally.unsent += waiting.len();
                        return Ok(self.stop(reach, session, supply, exit).await);
                    }
                }
                None => {}
            }
            let is_full = waiting.len() >= usize::from(self.arguments.per_request);
            if (is_full || is_last) && !waiting.is_empty() {
                let records = std::mem::take(&mut waiting);
                let (one, goes_on) = self.send(&session, &records).await?;
                exit = exit.and(one);
                if !goes_on {
                    return Ok(self.stop(reach, session, supply, exit).await);
                }
            }
            if is_last {
                self.has_ended = true;
                break;
            }
        }
        reach.leave(session).await;
        Ok(exit)
    }

    /// Ends the update early, and counts the remaining records.
    async fn stop(
        &mut self,
        reach: &TargetClient,
        session: Session,
        mut supply: UpdateSource<'_>,
        exit: Exit,
    ) -> Exit {
        reach.leave(session).await;
        // The update has already failed, so errors from the input are not reported.
        while let Ok(Some(_)) = supply.next() {
            self.tally.unsent += 1;
        }
        exit
    }

    /// Sends records in one request, and writes the result for each of them. Returns the exit code, and whether to
    /// continue.
    async fn send(
        &mut self,
        session: &Session,
        records: &[UpdateRecord],
    ) -> Result<(Exit, bool), Failure> {
        let task = match self.task(records) {
            Ok(task) => task,
            Err(error) => {
                self.tally.damaged += records.len();
                self.output.error(&z3950::error::chain(&error));
                return Ok((Exit::FaultsFound, true));
            }
        };
        let task = self.arguments.task.applied_to(task);
        if self.arguments.dry_run {
            return Ok((self.report_trial(records)?, true));
        }
        let result = match session.task_outcome(task).await {
            Ok(result) => result,
            Err(error) => return Ok((self.unanswered(records, error)?, false)),
        };
        let mut exit = Exit::Delivered;
        for (record, record_outcome) in records.iter().zip(record_outcomes(&result, records.len()))
        {
            exit = exit.and(self.report(record, &result, record_outcome)?);
        }
        let goes_on = exit == Exit::Delivered || !self.arguments.stop_on_error;
        Ok((exit, goes_on))
    }

    fn task(&self, records: &[UpdateRecord]) -> Result<ExtendedServicesRequest, EncodeError> {
        let version = match (self.arguments.service, records) {
            (Variant::Xml, [document, ..]) => {
                let octets = z3950_asn1::record::RetrievedRecord::octets_of(&document.record);
                return extended::task(TaskParameters::Xml(octets.into()));
            }
            (Variant::First, _) => oid::DATABASE_UPDATE_1,
            _ => oid::DATABASE_UPDATE,
        };
        let supplied = (0_i64..).zip(records).map(|(number, supplied)| {
            let id = supplied.id.clone();
            SuppliedRecord::new(supplied.record.clone(), id, Some(number))
        });
        let action = self.arguments.action;
        let mut update = EsRequest::new(action, self.database.0.clone(), supplied.collect());
        let element_set = self.arguments.element_set.as_deref();
        update.to_keep.schema = self.arguments.schema;
        update.to_keep.element_set_name = element_set.map(Into::into);
        update_task(version, update)
    }

    /// Handles a request that was not answered, because the session has ended or the server does not offer the service.
    fn unanswered(&mut self, records: &[UpdateRecord], error: Error) -> Result<Exit, Failure> {
        let is_unsent = matches!(
            &error,
            Error::Ended { .. }
                | Error::ProtocolError {
                    fault: ProtocolFault::NotGranted(_),
                    ..
                }
        );
        let mut answer = Unanswered::from(error).answer();
        let mut words = answer.message.unwrap_or_default();
        if is_unsent {
            self.tally.unsent += records.len();
            words.push_str("; nothing was sent");
        } else {
            self.tally.unknown += records.len();
            words.push_str("; check whether it was done before you send it again");
        }
        answer.message = Some(words.clone());
        for record in records {
            let words = format!("{}: {record}: {words}", self.place);
            let envelope = self.of(record).answered(&answer);
            envelope.or_error(self.arguments.json, &words, self.output)?;
        }
        Ok(answer.exit)
    }

    /// Writes the result for a record.
    fn report(
        &mut self,
        record: &UpdateRecord,
        result: &TaskResult,
        record_outcome: UpdateOutcome,
    ) -> Result<Exit, Failure> {
        let (outcome, word) = match record_outcome.status {
            RecordStatus::SUCCESS => (OutcomeName::Done, "done"),
            RecordStatus::FAILURE => (OutcomeName::TaskFailed, "refused"),
            _ => (OutcomeName::Accepted, "accepted"),
        };
        *match outcome {
            OutcomeName::Done => &mut self.tally.done,
            OutcomeName::Accepted => &mut self.tally.accepted,
            _ => &mut self.tally.refused,
        } += 1;
        let exit = Exit::from(outcome);
        let words = (exit == Exit::Refused).then(|| task::refusal(&record_outcome.diagnostics));
        if self.arguments.json {
            let envelope = self
                .of(record)
                .with("status", record_outcome.status.to_string())
                .with("task", task::json(result));
            let envelope = match &record_outcome.record {
                Some(external) => {
                    let charset = self.place.charset(self.arguments.records.charset);
                    let source = self.place.to_string();
                    let rendered = render(
                        external,
                        &Format::Json.into(),
                        charset,
                        Some(&*source).into(),
                    );
                    envelope.record(external, &rendered.octets)
                }
                None => envelope,
            };
            envelope
                .with("outcome", outcome.as_str())
                .with("message", words)
                .diagnosed(&record_outcome.diagnostics.0)
                .write(self.output)?;
            return Ok(exit);
        }
        if let Some(words) = words {
            self.output
                .error(&format!("{}: {record}: {words}", self.place));
            return Ok(exit);
        }
        if !record_outcome.diagnostics.is_empty() {
            self.output.note(&format!(
                "{}: {record}: {}",
                self.place, record_outcome.diagnostics
            ));
        }
        if let Some(external) = &record_outcome.record {
            self.output.note(&format!("{record}: {word}"));
            let envelope = || self.envelope().with("target", self.place.to_string());
            let subject = record.to_string();
            let written = self
                .writing
                .record(Answer::default(), envelope, external, &subject);
            let (piece, answer) = written;
            self.printed.write(&piece, self.output)?;
            self.output.say(&piece.words);
            return Ok(exit.and(answer.exit));
        }
        let UpdateRecord { number, name, .. } = record;
        let name = name.as_deref().unwrap_or_default();
        let line = format!("{number:>8}  {word:<9} {name}");
        self.output.line(line.trim_end())?;
        if let Some(TaskParameters::Xml(document)) = result.parameters() {
            self.output.line(&shown(document.as_bytes()))?;
        }
        Ok(exit)
    }

    fn of(&self, record: &UpdateRecord) -> Envelope {
        self.envelope()
            .with("position", record.number)
            .with("input", record.origin.as_str())
            .with("identifier", record.name.as_deref())
            .requested(record.record.direct_reference)
    }

    fn envelope(&self) -> Envelope {
        let own = [
            "action",
            "input",
            "position",
            "identifier",
            "status",
            "task",
        ];
        Envelope::of(self.place, &own).with("action", self.arguments.action.to_string())
    }
}

/// Returns the results for `count` records. They are taken from the task package, in which the numbers sent with the
/// records, or the order of the results, show to which record each result belongs. If the package contains no results
/// for records, the result of the task applies to all records.
fn record_outcomes(result: &TaskResult, count: usize) -> Vec<UpdateOutcome> {
    let part = task::updated(result);
    let of_all = match (result.status, part.as_ref().map(|part| part.update_status)) {
        (OperationStatus::FAILURE, _) | (_, Some(UpdateStatus::FAILURE)) => RecordStatus::FAILURE,
        (OperationStatus::DONE, _) => RecordStatus::SUCCESS,
        _ => RecordStatus::QUEUED,
    };
    let (global, structures) = part.map_or_else(Default::default, |part| {
        let global = part.global_diagnostics.unwrap_or_default();
        (global, part.task_package_records.unwrap_or_default())
    });
    let general: Vec<DiagRec> = result.diagnostics.0.iter().cloned().chain(global).collect();
    (0..count)
        .map(|index| match structure(&structures, index) {
            Some(structure) => record_outcome(structure, &general),
            None => UpdateOutcome {
                status: of_all,
                diagnostics: Diagnostics(general.clone()),
                record: None,
            },
        })
        .collect()
}

fn structure(
    structures: &[TaskPackageRecordStructure],
    index: usize,
) -> Option<&TaskPackageRecordStructure> {
    let number = |structure: &TaskPackageRecordStructure| {
        structure.correlation_info.as_ref().and_then(|info| info.id)
    };
    let numbered = structures
        .iter()
        .find(|structure| number(structure) == i64::try_from(index).ok());
    // If the package has no numbers, its entries are in the order in which the records were sent.
    numbered.or_else(|| structures.get(index).filter(|one| number(one).is_none()))
}

fn record_outcome(structure: &TaskPackageRecordStructure, general: &[DiagRec]) -> UpdateOutcome {
    let mut diagnostics = Vec::new();
    let mut record = None;
    match &structure.record_or_sur_diag {
        Some(RecordOrSurDiag::Record(external)) => record = Some((**external).clone()),
        Some(RecordOrSurDiag::SurrogateDiagnostics(own)) => diagnostics.extend(own.iter().cloned()),
        None => {}
    }
    let supplemental = structure.supplemental_diagnostics.iter().flatten();
    diagnostics.extend(supplemental.cloned());
    if diagnostics.is_empty() {
        diagnostics.extend(general.iter().cloned());
    }
    UpdateOutcome {
        status: structure.record_status,
        diagnostics: Diagnostics(diagnostics),
        record,
    }
}

impl std::fmt::Display for UpdateRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin)?;
        match &self.name {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for UpdateCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = match self.tried {
            0 => format!("{} done", self.done),
            tried => format!("{tried} would be sent"),
        };
        for (count, word) in [
            (self.accepted, "accepted"),
            (self.refused, "refused"),
            (self.damaged, "unreadable"),
            (self.unknown, "without an answer"),
            (self.unsent, "not sent"),
        ] {
            if count > 0 {
                let _ = write!(words, ", {count} {word}");
            }
        }
        f.write_str(&words)
    }
}

#[cfg(test)]
mod tests;
