//! `z3950 probe --conformance`: judges a server by Z39.50-2003 or by SRU, and writes the findings as text, JSON and JUnit XML.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::time::timeout_at;
use z3950_asn1::query::parse_pqf;
use z3950_files::{Existing, Whole, is_named_pipe};
use z3950_judge::server::{Finding, Judge, JudgeOptions, MissingPrerequisite, Report, Verdict};
use z3950_judge::{HIDDEN, Level, digits};

use super::Probe;
use crate::answer::Envelope;
use crate::commands::target::{NamedTarget, TargetClient};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::counted;

/// The options for a judgement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for judging by the standard")]
pub(crate) struct Conformance {
    /// Judge the server by Z39.50-2003 instead, or by SRU 1.1, 1.2 and 2.0 if the target is an http URL: every check names its source, what
    /// was wanted and what came. It searches and presents only; nothing is changed. The exit code is 8 if the standard is violated, 6 if
    /// the server stops answering. It takes at most 30 minutes plus its pauses, or the --deadline time.
    #[arg(long)]
    conformance: bool,

    /// A query that finds records, at best 3 to 20, in PQF, or in CQL for an SRU server; without it, common words are tried. If it finds
    /// nothing, the checks that need records are not judged.
    #[arg(long, value_name = "QUERY", requires = "conformance")]
    query: Option<String>,

    /// Only checks whose names begin like this, such as scan. or search.database; may be repeated.
    #[arg(
        long,
        value_name = "NAME",
        requires = "conformance",
        hide_short_help = true
    )]
    only: Vec<String>,

    /// Also send octets that the standard forbids. Some servers crash on them: ask before you do this to others' servers.
    #[arg(long, requires = "conformance", hide_short_help = true)]
    hostile: bool,

    /// Also store and delete records of its own in this database.
    #[arg(
        long,
        value_name = "DATABASE",
        requires = "conformance",
        hide_short_help = true
    )]
    may_update: Option<String>,

    /// Write a report to this file: JUnit XML if its name ends in .xml, else JSON; may be repeated.
    #[arg(long, value_name = "FILE", requires = "conformance")]
    report: Vec<PathBuf>,

    /// Overwrite existing reports.
    #[arg(long, requires = "report", alias = "force", hide_short_help = true)]
    overwrite: bool,

    /// Show the octets of each check that does not pass.
    #[arg(long, requires = "conformance", hide_short_help = true)]
    octets: bool,
}

impl Conformance {
    /// Returns whether `--conformance` is given.
    pub(super) fn is_asked(&self) -> bool {
        self.conformance
    }
}

/// Judges a server. The reports are always written, even if the server hangs or fails, or the user presses Ctrl-C.
pub(super) async fn run(
    arguments: &Probe,
    reach: &TargetClient,
    place: &NamedTarget,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asked = &arguments.conformance;
    let endpoint = &place.resolved.endpoint;
    let is_sru = endpoint.is_sru();
    if is_sru && asked.may_update.is_some() {
        let words = "--may-update is for servers of Z39.50, and the target is one of SRU";
        return Err(Failure::Usage(words.to_owned()));
    }
    let query = match &asked.query {
        Some(text) if !is_sru => Some(
            parse_pqf(text)
                .map_err(|error| Failure::Usage(format!("--query {text:?}: {error}")))?,
        ),
        _ => None,
    };
    let mut files = Vec::new();
    for path in &asked.report {
        if is_named_pipe(path) {
            let words = format!(
                "--report writes files, and {} is a named pipe",
                path.display()
            );
            return Err(Failure::Usage(words));
        }
        let file = Whole::create(path, Existing::forced(asked.overwrite))
            .map_err(|error| Failure::unopened(&error, "--overwrite replaces it"))?;
        files.push((path, file));
    }
    let (connector, session) = match reach.connector(place).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            let (exit, words) = failure.explain();
            output.error(&words);
            return Ok(exit);
        }
    };
    let mut options = JudgeOptions::default();
    if is_sru || place.names_databases {
        options.databases = place.resolved.databases.clone();
    }
    options.query = query;
    options.cql = asked.query.clone().filter(|_| is_sru);
    options.sru = session.sru;
    options.terms = arguments.term.iter().cloned().collect();
    options.init = session.init;
    options.timeouts = session.timeouts;
    options.pause = arguments.pause_at(place);
    options.is_hostile = asked.hostile;
    options.may_update = asked.may_update.as_deref().map(Into::into);
    options.only.clone_from(&asked.only);
    if session.timeouts.deadline.is_some() {
        options.limits.time = Duration::MAX;
    }
    let (host, port) = (endpoint.host(), endpoint.port());
    let judge = if is_sru {
        Judge::of_sru(connector, host, port, options)
    } else {
        Judge::new(connector, host, port, options)
    };
    if judge.remaining() == 0 {
        return Err(Failure::Usage(
            "no check has a name like that of --only".to_owned(),
        ));
    }
    let mut judgement = Judgement {
        judge,
        arguments,
        place,
        deadline: session.timeouts.deadline,
        has_reports: !files.is_empty(),
        unprinted: None,
    };
    let exit = judgement.all(output).await;
    let report = judgement.judge.report(&place.to_string());
    let mut written = Exit::Delivered;
    for (path, file) in files {
        if let Err(failure) = write(&report, path, file) {
            output.error(&failure.to_string());
            written = Exit::Unexpected;
        }
    }
    output.note(&summary(&report));
    match exit.and_then(|exit| judgement.printed().map(|()| exit)) {
        Ok(exit) => Ok(exit.and(written)),
        Err(Failure::BrokenPipe) if written != Exit::Delivered => Ok(written),
        Err(failure) => Err(failure),
    }
}

/// A judgement in progress.
struct Judgement<'a> {
    judge: Judge,
    arguments: &'a Probe,
    place: &'a NamedTarget,
    deadline: Option<tokio::time::Instant>,
    /// Whether reports will be written. If so, the judgement continues even if findings cannot be printed.
    has_reports: bool,
    /// The reason why findings could not be printed.
    unprinted: Option<Failure>,
}

/// The reason why a step was not completed.
enum Ended {
    Signal(Exit),
    Deadline,
}

impl Judgement<'_> {
    async fn all(&mut self, output: &mut Output) -> Result<Exit, Failure> {
        let waiting = output.waiting();
        waiting.says(Some("what the server offers".to_owned()));
        let deadline = self.deadline;
        let learned = waiting
            .during(until(deadline, self.judge.learn()))
            .await
            .map(drop);
        if let Err(ended) = learned {
            return Ok(self.stop(&ended, output));
        }
        let report = self.judge.report(&self.place.to_string());
        output.note(&used(&report));
        for note in report.offer.notes() {
            output.warning(note);
        }
        if report
            .offer
            .missing()
            .contains(&MissingPrerequisite::Database)
        {
            self.judge.stop("a database to judge is not available");
            return Ok(self.exit(output));
        }
        let count = self.judge.remaining();
        for number in 1..=count {
            waiting.says(Some(format!("{number} of {count}")));
            let step = waiting.during(until(deadline, self.judge.next())).await;
            match step {
                Ok(Some(finding)) if self.unprinted.is_none() => {
                    match print(self.arguments, self.place, finding, output) {
                        Err(failure) if self.has_reports => self.unprinted = Some(failure),
                        printed => printed?,
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(ended) => return Ok(self.stop(&ended, output)),
            }
        }
        Ok(self.exit(output))
    }

    /// Returns an error if the findings could not be printed, unless standard output was closed.
    fn printed(self) -> Result<(), Failure> {
        match self.unprinted {
            None | Some(Failure::BrokenPipe) => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Returns the exit code of a judgement that was not interrupted. If it is incomplete, prints the reason.
    fn exit(&self, output: &Output) -> Exit {
        let report = self.judge.report("");
        let count = report.count();
        let first = report.findings.iter().find(|finding| finding.is_error);
        if let Some(Verdict::NotJudged { reason }) = first.map(|finding| &finding.verdict) {
            output.warning(&format!("the judgement is not complete: {reason}"));
        }
        let missing = report.offer.missing();
        let lacks = |kinds: &[MissingPrerequisite]| missing.iter().any(|kind| kinds.contains(kind));
        match count.fail {
            _ if lacks(&[MissingPrerequisite::Session, MissingPrerequisite::Database]) => {
                Exit::Refused
            }
            _ if count.errors > 0 || lacks(&[MissingPrerequisite::Answer]) => Exit::Transport,
            1.. => Exit::FaultsFound,
            0 if lacks(&[MissingPrerequisite::Query, MissingPrerequisite::Updates]) => {
                Exit::Refused
            }
            0 if lacks(&[MissingPrerequisite::Hits]) => Exit::NoMatch,
            0 => Exit::Delivered,
        }
    }

    fn stop(&mut self, ended: &Ended, output: &Output) -> Exit {
        match ended {
            Ended::Signal(exit) => {
                self.judge.stop("interrupted");
                *exit
            }
            Ended::Deadline => {
                self.judge.stop("the deadline passed");
                output.warning("the judgement is not complete: the deadline passed");
                Exit::Transport
            }
        }
    }
}

/// Returns the result of a step, unless a signal arrives or the deadline passes first.
async fn until<T>(
    deadline: Option<tokio::time::Instant>,
    step: impl Future<Output = T>,
) -> Result<T, Ended> {
    let limited = async {
        match deadline {
            Some(deadline) => timeout_at(deadline, step)
                .await
                .map_err(|_| Ended::Deadline),
            None => Ok(step.await),
        }
    };
    match Interrupt.or(limited).await {
        Ok(result) => result,
        Err(Stopped(exit)) => Err(Ended::Signal(exit)),
    }
}

/// Returns the line that states the standard and the data on which the judgement is based.
fn used(report: &Report<'_>) -> String {
    let known = report.used().into_iter().filter_map(|(name, value)| {
        let text = match &value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            Value::Array(list) if list.is_empty() || name == "notes" => return None,
            Value::Array(list) => {
                let words = list.iter().filter_map(Value::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        Some(format!("{name}: {text}"))
    });
    known.collect::<Vec<_>>().join("; ")
}

fn summary(report: &Report<'_>) -> String {
    let count = report.count();
    let checks = u64::try_from(report.findings.len()).unwrap_or(u64::MAX);
    let advice = match count.advice {
        0 => String::new(),
        1 => "; 1 recommendation is not followed".to_owned(),
        more => format!("; {more} recommendations are not followed"),
    };
    format!(
        "{}: {} pass, {} fail, {} not offered, {} not judged{advice}",
        counted(checks, "check"),
        count.pass,
        count.fail,
        count.not_offered,
        count.not_judged,
    )
}

/// Prints a finding: one line and, unless the check passed, the reasons.
fn print(
    arguments: &Probe,
    place: &NamedTarget,
    finding: &Finding,
    output: &mut Output,
) -> Result<(), Failure> {
    let octets = arguments.conformance.octets;
    if arguments.json {
        let mut object = serde_json::Map::new();
        object.insert("target".to_owned(), place.text.as_str().into());
        object.append(&mut finding.to_json(octets));
        return Envelope::from(Value::Object(object)).write(output);
    }
    let check = finding.requirement;
    let verdict = match finding.verdict {
        Verdict::Fail { .. } if !finding.is_violation() => "advice",
        _ => finding.verdict.as_str(),
    };
    let (words, details) = match &finding.verdict {
        Verdict::Pass => (String::new(), Vec::new()),
        Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => {
            (reason.clone(), Vec::new())
        }
        Verdict::Fail { wanted, came } => {
            let words = match check.level {
                Level::Shall => check.section.to_owned(),
                level => format!("{} ({})", check.section, level.as_str()),
            };
            let sent = finding
                .exchanges
                .iter()
                .rev()
                .find(|exchange| exchange.is_sent);
            let sent = sent.map_or("", |exchange| exchange.summary.as_str());
            let details = vec![
                format!("required: {}", check.text),
                format!("sent:     {sent}"),
                format!("wanted:   {wanted}"),
                format!("came:     {came}"),
            ];
            (words, details)
        }
    };
    output.line(format!("{:<36} {verdict:<12} {words}", check.name).trim_end())?;
    for line in details {
        output.line(&format!("    {line}"))?;
    }
    if octets && finding.verdict != Verdict::Pass {
        for exchange in &finding.exchanges {
            let mark = if exchange.is_sent { '>' } else { '<' };
            let octets = digits(&exchange.octets).unwrap_or_else(|| HIDDEN.to_owned());
            output.line(&format!("    {mark} {octets}"))?;
        }
    }
    Ok(())
}

fn write(report: &Report<'_>, path: &Path, mut file: Whole) -> Result<(), Failure> {
    let is_xml = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("xml"));
    let text = if is_xml {
        report.to_junit()
    } else {
        format!("{:#}\n", report.to_json())
    };
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::unwritten(path, &error))?;
    Ok(file.finish()?)
}
