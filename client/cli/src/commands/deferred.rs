//! Defers the definition of a command's arguments until the command is called. Defining the arguments of all commands
//! takes longer than a lookup does.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of a command. Clap is told about them only if the command is called, or if a definition is built as a
/// whole with [`Command::build`].
///
/// `#[command(defer = true)]` does nearly the same, but puts the documentation of the arguments' type in place of the
/// command's.
#[derive(Debug)]
pub(crate) struct Deferred<T>(Box<T>);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(define::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(define::<T>)
    }
}

/// Adds the arguments to the definition of their command, whose documentation stays as it is.
fn define<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    T::augment_args(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long_about))
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|arguments| Self(Box::new(arguments)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(|arguments| Self(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
