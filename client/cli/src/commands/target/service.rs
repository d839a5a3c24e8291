//! Commands for one target, which work in the same way on the command line and at the prompt.

use std::ffi::OsString;

use clap::Args;

use super::{NamedTarget, TARGET, TargetClient};
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

    /// Whether the command makes a result set that the prompt continues to use.
    const MAKES_SET: bool = false;

    /// The message after an interruption, unless the reason for the interruption says enough.
    const INTERRUPTED: Option<&'static str> = None;

    /// Returns the databases that were given in place of the target's.
    fn databases(&self) -> &[String];

    /// Returns how the command writes records, if it does.
    fn records(&mut self) -> Option<&mut RecordOutput> {
        None
    }

    /// Checks the arguments that need neither target nor credentials, before a password command runs.
    ///
    /// # Errors
    /// The arguments are wrong.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Carries out the command and writes its answer. The arguments are read before the command connects.
    ///
    /// # Errors
    /// An error occurred on this machine, or arguments are wrong or conflict.
    fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> impl Future<Output = Result<Exit, Failure>>;
}

/// A command of the command line.
#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct AtTarget<S: Args> {
    /// The target: the name of a profile, an address or a URL.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    #[command(flatten)]
    pub(crate) asked: S,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

impl<S: Service> AtTarget<S> {
    /// Reads the options and resolves the target.
    pub(crate) async fn reach(
        &self,
        output: &Output,
    ) -> Result<(TargetClient, NamedTarget), Failure> {
        let databases = self.asked.databases();
        TargetClient::to(&self.target, databases, &self.connection, output).await
    }
}

/// Runs a command of the command line at its target.
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
