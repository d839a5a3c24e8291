//! `z3950 targets remove`: removes profiles from the user's file.

use std::fs;

use clap::Args;
use z3950::profile::{ProfileEntry, Profiles};
use z3950_files::Lock;

use super::file::{own_file, replace, without};
use crate::commands::connection::{self, TargetsFile};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Names of profiles in your targets file.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    known: TargetsFile,
}

/// Removes all named profiles from the user's file. If an error occurs, none of them is removed.
pub(super) fn remove(arguments: &Remove, output: &mut Output) -> Result<Exit, Failure> {
    let path = own_file(&arguments.known)?;
    let built_in = Profiles::built_in();
    if !path.exists() {
        return Ok(refuse(
            &arguments.names,
            &Profiles::default(),
            &built_in,
            &path.display().to_string(),
            output,
        ));
    }
    // The lock is held from reading to writing, so that another run cannot change the file in between.
    let lock = Lock::take(&path).map_err(|error| Failure::unopened(&error, ""))?;
    let own = Profiles::default().with_file(&path);
    let own = own.map_err(|error| connection::usage(&error))?;
    let file = path.display().to_string();
    let exit = refuse(&arguments.names, &own, &built_in, &file, output);
    if exit != Exit::Delivered {
        return Ok(exit);
    }
    let mut text = fs::read_to_string(&path).map_err(|error| Failure::input(&file, &error))?;
    let mut names: Vec<&str> = own.iter().map(|(name, _)| name).collect();
    names.retain(|name| {
        arguments
            .names
            .iter()
            .any(|given| given.eq_ignore_ascii_case(name))
    });
    for name in &names {
        text = without(&text, name).ok_or_else(|| {
            Failure::Usage(format!(
                "{name} is not in a section [targets.{name}] of its own, so it is not removed; take it out of {file} in an editor"
            ))
        })?;
    }
    replace(&lock, &text)?;
    for name in names {
        let again = built_in.named(name).map(again);
        output.note(&format!(
            "{name} is no longer in {file}{}",
            again.unwrap_or_default()
        ));
    }
    Ok(Exit::Delivered)
}

/// Reports names that cannot be removed, and returns the exit code.
fn refuse(
    names: &[String],
    own: &Profiles,
    built_in: &Profiles,
    file: &str,
    output: &Output,
) -> Exit {
    let missing = names.iter().filter(|name| own.named(name).is_none());
    missing.fold(Exit::Delivered, |exit, name| {
        if let Some((name, _)) = built_in.named(name) {
            output.error(&format!(
                "{name} is built in and cannot be removed; a profile of the same name in {file} takes its place"
            ));
            return exit.and(Exit::Usage);
        }
        let hint = own.nearest(name).map(|(nearest, _)| format!("; did you mean {nearest}?"));
        output.error(&format!("{name} is not in {file}{}", hint.unwrap_or_default()));
        exit.and(Exit::NoMatch)
    })
}

/// Returns the note that the built-in profile with this name applies again.
fn again((name, entry): (&str, &ProfileEntry)) -> String {
    format!(
        "; the built-in target {name} ({}) is used again",
        entry.profile.endpoint()
    )
}
