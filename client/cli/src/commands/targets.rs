//! `z3950 targets`: shows target profiles, and manages the user's targets file.

mod add;
mod check;
mod file;
mod remove;
mod show;

use std::ffi::OsString;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use z3950::error::chain;
use z3950::profile::{Origin, ProfileEntry, SruOptions};
use z3950::target::redacted;

use self::add::{Add, add};
use self::check::check;
use self::file::own_file;
use self::remove::{Remove, remove};
use self::show::lines;
use crate::answer::Envelope;
use crate::commands::complete;
use crate::commands::connection::{self, ConnectionOptions, TargetsFile};
use crate::commands::deferred::Deferred;
use crate::commands::target::{TARGET, did_you_mean};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::syntax;

/// Commands on target profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum Targets {
    /// List profiles and their servers.
    List(Deferred<List>),
    /// Show the profiles of targets.
    Show(Deferred<EachTarget<TargetsFile>>),
    /// Add a profile to your targets file. Credentials can be given too; for the password, only its source is stored.
    Add(Deferred<Add>),
    /// Remove profiles from your targets file. Its comments and the other profiles stay as they are.
    Remove(Deferred<Remove>),
    /// Check that each target can be searched: opens a session and searches for a title that no record has.
    Check(Deferred<EachTarget<ConnectionOptions>>),
    /// Print the path of your targets file.
    Path(Deferred<TargetsFile>),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List only profiles that have this in their name, host, databases, title or note, in any case; with several words, all of
    /// them.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: TargetsFile,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct EachTarget<A: Args> {
    /// Names of profiles, or hosts.
    #[arg(required = true, value_name = "TARGET", add = complete::target())]
    pub(crate) targets: Vec<OsString>,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) options: A,
}

pub(crate) async fn run(command: &Targets, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Targets::List(arguments) => list(arguments, output),
        Targets::Show(arguments) => show(arguments, output),
        Targets::Add(arguments) => add(arguments, output).await,
        Targets::Remove(arguments) => remove(arguments, output),
        Targets::Check(arguments) => check(arguments, output).await,
        Targets::Path(known) => {
            output.line(&own_file(known)?.display().to_string())?;
            Ok(Exit::Delivered)
        }
    }
}

fn list(arguments: &List, output: &mut Output) -> Result<Exit, Failure> {
    let profiles = connection::profiles(&arguments.known)?;
    let words: Vec<String> = arguments
        .words
        .iter()
        .map(|word| word.to_lowercase())
        .collect();
    let mut exit = Exit::NoMatch;
    for (name, entry) in profiles
        .iter()
        .filter(|(name, entry)| has_all(&words, name, entry))
    {
        exit = Exit::Delivered;
        if arguments.json {
            Envelope::from(object(name, entry)).write(output)?
        } else {
            output.line(&summary(name, entry))?
        }
    }
    if exit == Exit::NoMatch {
        let given = arguments.words.join(" ");
        let nearest = profiles
            .nearest(&given)
            .map(|(name, _)| format!("; did you mean {name}?"));
        output.error(&format!(
            "no target has {given:?}{}",
            nearest.unwrap_or_default()
        ));
    }
    Ok(exit)
}

/// Returns whether all words, which are in lower case, occur in the name, host, databases, title or note of a
/// profile.
fn has_all(words: &[String], name: &str, entry: &ProfileEntry) -> bool {
    let profile = &entry.profile;
    let texts = [profile.title.as_deref(), profile.note.as_deref()];
    let databases = profile.databases.iter().map(String::as_str);
    let texts: Vec<String> = [name, &profile.host.to_string()]
        .into_iter()
        .chain(texts.into_iter().flatten())
        .chain(databases)
        .map(str::to_lowercase)
        .collect();
    words
        .iter()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

/// Returns the line for a profile, such as `loc  lx2.loc.gov:210/LCDB  Library of Congress`.
fn summary(name: &str, entry: &ProfileEntry) -> String {
    let mark = match entry.origin {
        Origin::File(_) => " *",
        _ => "",
    };
    let place = format!(
        "{}/{}",
        entry.profile.endpoint(),
        entry.profile.databases.join("+")
    );
    let title = entry.profile.title.as_deref().unwrap_or_default();
    format!("{:<20} {place:<44} {title}", format!("{name}{mark}"))
        .trim_end()
        .to_owned()
}

fn show(arguments: &EachTarget<TargetsFile>, output: &mut Output) -> Result<Exit, Failure> {
    let profiles = connection::profiles(&arguments.options)?;
    let mut exit = Exit::Delivered;
    for text in &arguments.targets {
        let text = text.to_string_lossy();
        let resolved = match profiles.resolve(&text) {
            Ok(resolved) => resolved,
            Err(error) => {
                output.error(&chain(&error));
                exit = exit.and(Exit::Usage);
                continue;
            }
        };
        let entry = resolved
            .name
            .as_deref()
            .and_then(|name| profiles.named(name));
        let Some((name, entry)) = entry else {
            let hint = resolved.endpoint.host();
            let hint = did_you_mean(&profiles, &hint).unwrap_or_default();
            let words = format!("{} has no profile; {hint}", redacted(&text));
            output.error(words.trim_end_matches("; "));
            exit = exit.and(Exit::NoMatch);
            continue;
        };
        let value = object(name, entry);
        match value.as_object() {
            Some(profile) if !arguments.json => lines(profile)
                .iter()
                .try_for_each(|line| output.line(line))?,
            _ => Envelope::from(value).write(output)?,
        }
    }
    Ok(exit)
}

/// Returns an object with the SRU options of a profile.
fn sru(options: &SruOptions) -> Value {
    let indexes = options
        .indexes
        .iter()
        .map(|(value, index)| (value.to_string(), index.as_str().into()));
    json!({
        "version": options.version.as_str(),
        "method": options.method.name(),
        "schema": options.schema,
        "indexes": indexes.collect::<serde_json::Map<String, Value>>(),
        "pqf": options.pqf,
        "sort_keys": options.sort_keys,
        "login_in_url": options.login_in_url,
        "parameters": options.parameters.keys().collect::<Vec<_>>(),
    })
}

/// Returns the object for a profile. It states whether the profile has credentials, but does not contain them.
fn object(name: &str, entry: &ProfileEntry) -> Value {
    let profile = &entry.profile;
    let origin = match &entry.origin {
        Origin::BuiltIn => "built in, unverified".to_owned(),
        Origin::File(path) => path.display().to_string(),
        _ => "given by the program".to_owned(),
    };
    let docid = profile.docid.iter().map(ToString::to_string);
    let indexes = profile.indexes.iter();
    let indexes =
        indexes.map(|(value, attributes)| (value.to_string(), attributes.to_string().into()));
    let indexes: serde_json::Map<String, Value> = indexes.collect();
    json!({
        "name": name,
        "title": profile.title,
        "host": profile.host.to_string(),
        "port": profile.port,
        "tls": profile.tls,
        "databases": profile.databases,
        "record_syntax": syntax(profile.record_syntax),
        "element_set": profile.element_set,
        "record_charset": profile.record_charset.map(|charset| charset.name()),
        "query_charset": profile.query_charset.map(|charset| charset.name()),
        "attributes": profile.attributes.to_strings(),
        "indexes": Some(indexes).filter(|indexes| !indexes.is_empty()),
        "docid": docid.collect::<Vec<_>>(),
        "credentials": profile.credentials.is_some(),
        "chunk": profile.chunk,
        "pause": profile.pause.map(|pause| pause.as_secs_f64()),
        "sessions": profile.sessions,
        "pipelined": profile.pipelined,
        "sru": profile.sru.as_ref().map(sru),
        "source": profile.source,
        "note": profile.note,
        "origin": origin,
    })
}
