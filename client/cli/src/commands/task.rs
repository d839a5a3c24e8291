//! The options and result of a task, which are the same for `update` and `order` (Z39.50-2003 §3.2.9.1).

use clap::Args;
use serde_json::{Value, json};
use z3950::error::{Diagnostics, Error, Phase};
use z3950::retrieve::OutcomeName;
use z3950::service::extended::TaskResult;
use z3950_asn1::apdu::{ExtendedServicesRequest, ExternalValue, OperationStatus, WaitAction};
use z3950_asn1::describe::Describe;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::update::{self as es, TargetPart, UpdateStatus};

use crate::answer::Envelope;
use crate::commands::options::choices;
use crate::commands::target::NamedTarget;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report;
use crate::render::shown;

/// How a task is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for the task")]
pub(crate) struct TaskOptions {
    /// The name of the task package, under which it can be found in the database IR-Extend-1.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    package: Option<String>,

    /// A description of the task.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    note: Option<String>,

    /// Whether the server should respond after the task or at once.
    #[arg(
        long,
        value_parser = choices(WAITS),
        value_name = "WHEN",
        default_value = "if-possible",
        hide_short_help = true
    )]
    wait: WaitAction,
}

/// When the server may respond: the values of `--wait`.
const WAITS: &[(&str, WaitAction, &str)] = &[
    (
        "yes",
        WaitAction::WAIT,
        "After the task; servers that cannot wait refuse it",
    ),
    (
        "if-possible",
        WaitAction::WAIT_IF_POSSIBLE,
        "After the task, or at once if the server cannot wait",
    ),
    (
        "no",
        WaitAction::DONT_WAIT,
        "At once, with the task package in its current state",
    ),
    (
        "no-package",
        WaitAction::DONT_RETURN_PACKAGE,
        "At once, without the task package",
    ),
];

impl TaskOptions {
    /// Returns the task with these options applied.
    pub(crate) fn applied_to(&self, task: ExtendedServicesRequest) -> ExtendedServicesRequest {
        ExtendedServicesRequest {
            package_name: self.package.as_deref().map(Into::into),
            description: self.note.as_deref().map(Into::into),
            wait_action: self.wait,
            ..task
        }
    }
}

/// Writes the result of a task: its status and its package, or an error if the server refused the task.
pub(crate) fn show(
    json: bool,
    place: &NamedTarget,
    envelope: Envelope,
    result: &TaskResult,
    output: &mut Output,
) -> Result<Exit, Failure> {
    // A task may have the status "done" although its update failed (Z39.50-2003 §3.2.9.1).
    let status = match updated(result).map(|part| part.update_status) {
        Some(UpdateStatus::FAILURE) => OperationStatus::FAILURE,
        _ => result.status,
    };
    let (name, words) = match status {
        OperationStatus::DONE => (OutcomeName::Done, None),
        OperationStatus::FAILURE => (OutcomeName::TaskFailed, Some(refusal(&result.diagnostics))),
        _ => (OutcomeName::Accepted, None),
    };
    if json {
        envelope
            .with("outcome", name.as_str())
            .with("message", words)
            .with("task", self::json(result))
            .diagnosed(&result.diagnostics.0)
            .write(output)?;
        return Ok(name.into());
    }
    match words {
        Some(words) => output.error(&format!("{place}: {words}")),
        None if !result.diagnostics.is_empty() => {
            output.note(&format!("{place}: {}", result.diagnostics));
        }
        None => {}
    }
    for line in lines(result) {
        output.line(&line)?;
    }
    Ok(name.into())
}

/// Returns the message for a task that the server refused.
pub(crate) fn refusal(diagnostics: &Diagnostics) -> String {
    let refused = Error::refused(Phase::ExtendedServices, diagnostics.clone());
    report::explain(&refused).1
}

/// Returns the server's part of the task package of an update.
pub(crate) fn updated(result: &TaskResult) -> Option<TargetPart> {
    match result.parameters()? {
        TaskParameters::Update(update) => match *update {
            es::Update::TaskPackage(package) => Some(package.target_part),
            es::Update::EsRequest(_) => None,
        },
        _ => None,
    }
}

/// Returns the result of a task for `--json`: its status, and its task package, whose keys are the names in the
/// standard.
pub(crate) fn json(result: &TaskResult) -> Value {
    let package = result.package().map(|package| package.describe().to_json());
    json!({
        "status": result.status.to_string(),
        "package": package,
    })
}

/// Returns human-readable lines that describe the result.
fn lines(result: &TaskResult) -> Vec<String> {
    let mut lines = vec![format!("task: {}", result.status)];
    match result.package() {
        Some(package) => {
            let text = package.describe().to_text();
            lines.extend(text.lines().map(|line| shown(line.as_bytes())));
        }
        None if result.task_package.is_some() => {
            lines.push(format!(
                "its package is not {:?}",
                z3950_asn1::es::TaskPackage::SYNTAX
            ));
        }
        None => {}
    }
    lines
}
