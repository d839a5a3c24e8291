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
        T::augment_args_for_update(command)
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

#[cfg(test)]
mod tests {
    use clap::builder::StyledStr;
    use clap::{CommandFactory, Parser};

    use super::*;

    /// A program.
    #[derive(Parser)]
    enum Program {
        /// Finds words.
        ///
        /// In any order.
        Find(Deferred<Words>),
        /// Counts words.
        Count(Deferred<Words>),
    }

    /// Words, described for programmers.
    #[derive(Args)]
    struct Words {
        #[arg(required = true)]
        words: Vec<String>,
    }

    #[test]
    fn arguments_are_defined_when_a_command_is_called_and_keep_its_documentation() {
        let mut program = Program::command();
        let arguments = |program: &Command| {
            let commands = program.get_subcommands();
            let counts = commands.map(|command| command.get_positionals().count());
            counts.sum::<usize>()
        };
        assert_eq!(arguments(&program), 0);
        program.build();
        assert_eq!(arguments(&program), 2);
        let long = "Finds words.\n\nIn any order.";
        for (name, about, long) in [
            ("find", "Finds words", Some(long)),
            ("count", "Counts words", None),
        ] {
            let command = program.find_subcommand(name).expect(name);
            let text = |text: Option<&StyledStr>| text.map(ToString::to_string);
            assert_eq!(text(command.get_about()).as_deref(), Some(about));
            assert_eq!(text(command.get_long_about()).as_deref(), long);
        }
    }

    #[test]
    fn deferred_arguments_are_parsed_and_required() {
        let Ok(Program::Find(mut words)) = Program::try_parse_from(["program", "find", "a", "b"])
        else {
            panic!("not parsed");
        };
        assert_eq!(words.words, ["a", "b"]);
        assert!(Program::try_parse_from(["program", "find"]).is_err());
        let definition = <Deferred<Words>>::augment_args_for_update(Command::new("find"));
        let given = ["find", "c"];
        for (line, updated) in [(&given[..1], ["a", "b"].as_slice()), (&given, &["c"])] {
            let matches = definition.clone().get_matches_from(line);
            words.update_from_arg_matches(&matches).expect("updated");
            assert_eq!(words.words, updated);
        }
    }
}
