//! What `update` and `order` have in common: how a task is to be done, and what its package says
//! (Z39.50-2003 §3.2.9.1).

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use z3950::service::extended::{TaskOptions, TaskResult};
use z3950_asn1::apdu::{ExternalValue, WaitAction};
use z3950_asn1::record::tree::Describe;

use crate::render::shown;

/// How a task is to be done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for the task")]
pub(crate) struct Tasking {
    /// The name of the task package, under which it can be found in the database IR-Extend-1.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    package: Option<String>,

    /// A description of the task.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    note: Option<String>,

    /// Whether the server should respond after the task or at once.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_short_help = true
    )]
    wait: Wait,
}

/// When the server is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Wait {
    /// After the task; servers that cannot wait refuse it.
    Yes,
    /// After the task, or at once if the server cannot wait.
    #[default]
    IfPossible,
    /// At once, with the task package in its current state.
    No,
    /// At once, without the task package.
    NoPackage,
}

impl Tasking {
    /// The same as the library has it.
    pub(crate) fn options(&self) -> TaskOptions {
        let mut options = TaskOptions::default();
        options.package_name = self.package.as_deref().map(Into::into);
        options.description = self.note.as_deref().map(Into::into);
        options.wait_action = match self.wait {
            Wait::Yes => WaitAction::WAIT,
            Wait::IfPossible => WaitAction::WAIT_IF_POSSIBLE,
            Wait::No => WaitAction::DONT_WAIT,
            Wait::NoPackage => WaitAction::DONT_RETURN_PACKAGE,
        };
        options
    }
}

/// What became of a task, for `--json`: its status, and its package as a tree of the standard's names, where it came.
pub(crate) fn json(result: &TaskResult) -> Value {
    let package = result.package().map(|package| package.describe().to_json());
    json!({
        "status": result.status.to_string(),
        "package": package,
    })
}

/// The same in lines: the status, and the package if there is one.
pub(crate) fn lines(result: &TaskResult) -> Vec<String> {
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
