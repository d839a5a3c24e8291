//! Commands for one target, which work in the same way on the command line and at the prompt.

use std::ffi::OsString;

use clap::Args;

use super::{NamedTarget, TARGET, TargetClient};
use crate::commands::complete;
use crate::commands::connection::ConnectionOptions;
use crate::commands::options::RecordOutput;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};

/// A command for one target, which works in the same way on the command line and at the prompt.
pub(crate) trait Service: Args {
    /// The name of the command at the prompt.
    const NAME: &'static str;

    /// The summary of the command in the prompt's help.
    const SUMMARY: &'static str;

    /// Whether the command creates a result set that remains current at the prompt.
    const MAKES_SET: bool = false;

    /// The message to print after an interruption; `None` if no message is needed besides the reason for the
    /// interruption.
    const INTERRUPTED: Option<&'static str> = None;

    /// Returns the databases that the user gave in place of the target's databases.
    fn databases(&self) -> &[String];

    /// Returns the options for writing records, if the command writes records.
    fn records(&mut self) -> Option<&mut RecordOutput> {
        None
    }

    /// Checks the arguments that can be checked without the target and credentials. This is done before a password
    /// command runs.
    ///
    /// # Errors
    /// Fails if the arguments are invalid.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs the command and writes its answer. Files that the arguments name are read before the command connects.
    ///
    /// # Errors
    /// Fails if an error occurs on this machine, or if arguments are invalid or conflict.
    fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> impl Future<Output = Result<Exit, Failure>>;
}

/// A command given on the command line.
#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct AtTarget<S: Args> {
    /// The target: the name of a profile, an address or a URL.
    #[arg(value_name = "TARGET", add = complete::target())]
    pub(crate) target: OsString,

    #[command(flatten)]
    pub(crate) asked: S,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

impl<S: Service> AtTarget<S> {
    /// Evaluates the options and resolves the target.
    pub(crate) async fn reach(
        &self,
        output: &Output,
    ) -> Result<(TargetClient, NamedTarget), Failure> {
        let databases = self.asked.databases();
        TargetClient::to(&self.target, databases, &self.connection, output).await
    }
}

/// Runs a command that was given on the command line.
pub(crate) async fn run<S: Service>(
    arguments: &AtTarget<S>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asked = &arguments.asked;
    asked.check()?;
    let (reach, place) = arguments.reach(output).await?;
    let waiting = output.waiting();
    let performed = Interrupt.or(asked.perform(&reach, &place, output));
    match waiting.during(performed).await {
        Ok(exit) => exit,
        Err(Stopped(exit)) => {
            if let Some(words) = S::INTERRUPTED {
                output.error(words);
            }
            Ok(exit)
        }
    }
}
