//! Commands for one target, the same on the command line and at the prompt.

use std::ffi::OsString;

use clap::Args;

use super::{NamedTarget, TARGET, TargetClient};
use crate::commands::connection::ConnectionOptions;
use crate::commands::options::RecordOutput;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};

/// A command for one target, the same on the command line and at the prompt.
pub(crate) trait Service: Args {
    /// Its name at the prompt.
    const NAME: &'static str;

    /// Its summary in the prompt's help.
    const SUMMARY: &'static str;

    /// Whether it makes a result set that the prompt continues to use.
    const MAKES_SET: bool = false;

    /// The message after an interruption, unless the reason for it is enough.
    const INTERRUPTED: Option<&'static str> = None;

    /// The databases given instead of the target's.
    fn databases(&self) -> &[String];

    /// How it writes records, if it does.
    fn records(&mut self) -> Option<&mut RecordOutput> {
        None
    }

    /// Checks what needs neither target nor credentials, before a password command runs.
    ///
    /// # Errors
    /// Arguments that are wrong.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Carries out the command and writes its answer. Arguments are read before it connects.
    ///
    /// # Errors
    /// Errors on this machine, and arguments that are wrong or conflict.
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
