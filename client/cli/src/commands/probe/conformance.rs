//! `z3950 probe --conformance`: judges a server by Z39.50-2003, and writes what it found as text, JSON and XML of JUnit.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use tokio::time::timeout_at;
use z3950::conformance::{Finding, Judge, JudgeOptions, Level, Report, Verdict};
use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::file::{Existing, Whole};
use z3950_asn1::hex;
use z3950_asn1::query::parse_pqf;

use super::Probe;
use crate::answer::Envelope;
use crate::commands::target::{NamedTarget, TargetClient};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::counted;

/// The options of a judgement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for judging by the standard")]
pub(crate) struct Conformance {
    /// Judge the server by Z39.50-2003 instead: every check names its source, what was wanted and what came. It searches and
    /// presents only; nothing is changed. The exit code is 8 if the standard is violated.
    #[arg(long)]
    conformance: bool,

    /// A query in PQF that finds records, at best 3 to 20; without it, common words are tried.
    #[arg(long, value_name = "PQF", requires = "conformance", value_parser = query)]
    query: Option<RpnQuery>,

    /// Only checks whose names begin like this, such as scan. or search.database; may be repeated.
    #[arg(
        long,
        value_name = "NAME",
        requires = "conformance",
        hide_short_help = true
    )]
    only: Vec<String>,

    /// Also send octets that the standard forbids. Some servers end at such octets: ask before you do this to others.
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

    /// Write a report to this file: XML of JUnit if its name ends in .xml, else JSON; may be repeated.
    #[arg(long, value_name = "FILE", requires = "conformance")]
    report: Vec<PathBuf>,

    /// Overwrite existing reports.
    #[arg(long, requires = "report", hide_short_help = true)]
    force: bool,

    /// Show the octets of each check that does not pass.
    #[arg(long, requires = "conformance", hide_short_help = true)]
    octets: bool,
}

fn query(text: &str) -> Result<RpnQuery, String> {
    parse_pqf(text).map_err(|error| error.to_string())
}

impl Conformance {
    /// Whether the server is to be judged.
    pub(super) fn is_asked(&self) -> bool {
        self.conformance
    }
}

/// Judges a server. The reports are written whatever happens: if it hangs, if it is gone, and after Ctrl-C.
pub(super) async fn run(
    arguments: &Probe,
    reach: &TargetClient,
    place: &NamedTarget,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asked = &arguments.conformance;
    if place.resolved.endpoint.is_sru() {
        let words = "--conformance judges servers of Z39.50, and the target is one of SRU";
        return Err(Failure::Usage(words.to_owned()));
    }
    let mut files = Vec::new();
    for path in &asked.report {
        let file = Whole::create(path, Existing::forced(asked.force))
            .map_err(|error| Failure::unopened(&error, "--force replaces it"))?;
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
    options.databases = place.resolved.databases.clone();
    options.query.clone_from(&asked.query);
    // The default of the other tests is no word that most records have.
    let has_term = arguments.term != "a";
    options.terms = has_term
        .then(|| arguments.term.clone())
        .into_iter()
        .collect();
    options.init = session.init;
    options.timeouts = session.timeouts;
    options.pause = arguments.pause_at(place);
    options.is_hostile = asked.hostile;
    options.may_update = asked.may_update.as_deref().map(Into::into);
    options.only.clone_from(&asked.only);
    let endpoint = &place.resolved.endpoint;
    let judge = Judge::new(connector, endpoint.host(), endpoint.port(), options);
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
    };
    let exit = judgement.all(output).await;
    let report = judgement.judge.report(&place.to_string());
    for (path, file) in files {
        write(&report, path, file)?;
    }
    output.note(&summary(&report));
    exit
}

/// A judgement on its way.
struct Judgement<'a> {
    judge: Judge,
    arguments: &'a Probe,
    place: &'a NamedTarget,
    deadline: Option<tokio::time::Instant>,
}

/// Why a step was not done.
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
            return Ok(self.stop(&ended));
        }
        let report = self.judge.report(&self.place.to_string());
        output.note(&used(&report));
        for note in &report.offer.notes {
            output.warning(note);
        }
        let has_answered = report.offer.init.is_some();
        let count = self.judge.remaining();
        for number in 1..=count {
            waiting.says(Some(format!("{number} of {count}")));
            let step = waiting.during(until(deadline, self.judge.next())).await;
            match step {
                Ok(Some(finding)) => print(self.arguments, self.place, finding, output)?,
                Ok(None) => break,
                Err(ended) => return Ok(self.stop(&ended)),
            }
        }
        let count = self.judge.report("").count();
        Ok(match count.fail {
            1.. => Exit::FaultsFound,
            0 if !has_answered => Exit::Transport,
            0 => Exit::Delivered,
        })
    }

    fn stop(&mut self, ended: &Ended) -> Exit {
        match ended {
            Ended::Signal(exit) => {
                self.judge.stop("interrupted");
                *exit
            }
            Ended::Deadline => {
                self.judge.stop("the deadline passed");
                Exit::Transport
            }
        }
    }
}

/// The result of a step, unless a signal or the deadline comes first.
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

/// What the judgement is based on, in a line.
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
    format!(
        "{}: {} pass, {} fail, {} fail what is only advice, {} not offered, {} not judged",
        counted(
            u64::try_from(report.findings.len()).unwrap_or(u64::MAX),
            "check"
        ),
        count.pass,
        count.fail,
        count.advice,
        count.not_offered,
        count.not_judged,
    )
}

/// A finding on standard output: a line if it passes, else with the reasons.
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
    let check = finding.check;
    let verdict = finding.verdict.as_str();
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
                format!("required: {}", check.requirement),
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
            output.line(&format!("    {mark} {}", hex::digits(&exchange.octets)))?;
        }
    }
    Ok(())
}

fn write(report: &Report<'_>, path: &Path, mut file: Whole) -> Result<(), Failure> {
    let is_xml = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("xml"));
    let text = match is_xml {
        true => report.to_junit(),
        false => format!("{:#}\n", report.to_json()),
    };
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::unwritten(path, &error))?;
    Ok(file.finish()?)
}
