//! `z3950 targets`: target profiles, and the user's file of them.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::{Args, Subcommand};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use z3950::Query;
use z3950::error::{Diagnostics, Error};
use z3950::profile::{Origin, ProfileEntry, ProfileError, Profiles};
use z3950::retrieve::OutcomeName;
use z3950::service::init::ServerInfo;
use z3950::service::search::SearchOptions;
use z3950::session::Session;
use z3950::target::{Endpoint, Target, redacted};
use z3950_asn1::file::{Draft, Existing, Lock};

use crate::answer::Envelope;
use crate::batch::Tally;
use crate::commands::connection::{self, ConnectionOptions, Identity, TargetsFile, may_prompt};
use crate::commands::options::{Wait, seconds};
use crate::commands::target::{NamedTarget, TARGET, TargetClient, Unanswered, did_you_mean};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::console::report::chain;
use crate::render::{syntax, text_of};
use tokio::time::sleep;
use z3950_asn1::apdu::{self, InitializeResponse};

/// Commands on target profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum Targets {
    /// List all profiles and their servers.
    List(List),
    /// Show the profiles of targets.
    Show(EachTarget<TargetsFile>),
    /// Add a profile to your file of targets. Credentials can be given too; of the password, only its source is
    /// stored.
    Add(Box<Add>),
    /// Check that each target can be searched: opens a session and searches for a title that no record has.
    Check(Box<EachTarget<ConnectionOptions>>),
    /// Print the path of your file of targets.
    Path(TargetsFile),
}

#[derive(Debug, Args)]
pub(crate) struct List {
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
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) options: A,
}

/// A new profile; serialized, the options as in its file.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Add {
    /// The name of the profile: letters, digits, - and _.
    #[arg(value_name = "NAME", value_parser = name)]
    #[serde(skip)]
    pub(crate) name: String,

    /// The address of the server: host[:port][/database[+database]], preceded by ssl: for TLS.
    #[arg(value_name = "PLACE")]
    #[serde(skip)]
    pub(crate) place: String,

    /// A title to display.
    #[arg(long)]
    pub(crate) title: Option<String>,

    /// The record syntax to request, by name.
    #[arg(long, value_name = "NAME")]
    #[serde(rename = "record_syntax")]
    pub(crate) syntax: Option<String>,

    /// The element set to request.
    #[arg(long, value_name = "NAME")]
    pub(crate) element_set: Option<String>,

    /// The character set of its records.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) record_charset: Option<String>,

    /// The character set to send queries in.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) query_charset: Option<String>,

    /// An attribute to add to operands without one of its type, such as 4=2; may be repeated.
    #[arg(long = "attribute", value_name = "TYPE=VALUE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<String>,

    /// Attributes to search for a docid with, such as 1=12; may be repeated, best first.
    #[arg(long = "docid", value_name = "ATTRIBUTES")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) docid: Vec<String>,

    /// How many records to request in one Present.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) chunk: Option<u32>,

    /// The minimum time between requests.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) pause: Option<Wait>,

    /// How many sessions may be open at once.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) sessions: Option<u16>,

    /// How many requests to send in a session before they are answered, if the server does not carry out operations side by
    /// side. Most servers answer them in turn; some lose all but the first.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) pipelined: Option<u16>,

    /// A note to display, such as restrictions on use.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) known: TargetsFile,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) identity: Identity,
}

pub(crate) async fn run(command: &Targets, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Targets::List(arguments) => {
            let profiles = connection::profiles(&arguments.known)?;
            for (name, entry) in profiles.iter() {
                match arguments.json {
                    true => Envelope::from(object(name, entry)).write(output)?,
                    false => output.line(&summary(name, entry))?,
                }
            }
            Ok(Exit::Delivered)
        }
        Targets::Show(arguments) => show(arguments, output),
        Targets::Add(arguments) => add(arguments, output),
        Targets::Check(arguments) => check(arguments, output).await,
        Targets::Path(known) => {
            output.line(&own_file(known)?.display().to_string())?;
            Ok(Exit::Delivered)
        }
    }
}

/// The file of `--targets`, else the user's.
fn own_file(known: &TargetsFile) -> Result<PathBuf, Failure> {
    let named = known.targets_file.clone();
    named.or_else(Profiles::user_file).ok_or_else(|| {
        Failure::Usage("cannot find your home folder to store targets in; use --targets".into())
    })
}

/// `loc  lx2.loc.gov:210/LCDB  Library of Congress`
fn summary(name: &str, entry: &ProfileEntry) -> String {
    let mark = match entry.origin {
        Origin::BuiltIn => "",
        Origin::File(_) => " *",
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
        match (arguments.json, value.as_object()) {
            (false, Some(fields)) => {
                for (key, value) in fields {
                    let value = match value {
                        Value::Null => continue,
                        Value::Array(values) if values.is_empty() => continue,
                        Value::Array(values) => {
                            let texts = values.iter().map(Value::as_str);
                            texts
                                .map(Option::unwrap_or_default)
                                .collect::<Vec<_>>()
                                .join(", ")
                        }
                        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
                        Value::String(text) => text.clone(),
                        // A record syntax.
                        Value::Object(parts) => match (&parts["name"], &parts["oid"]) {
                            (Value::String(name), Value::String(oid)) => format!("{name} ({oid})"),
                            (_, oid) => oid.as_str().unwrap_or_default().to_owned(),
                        },
                        other => other.to_string(),
                    };
                    output.line(&format!("{key:<16}{value}"))?;
                }
            }
            _ => Envelope::from(value).write(output)?,
        }
    }
    Ok(exit)
}

/// The object of a profile; of its credentials it says only whether there are any.
fn object(name: &str, entry: &ProfileEntry) -> Value {
    let profile = &entry.profile;
    let origin = match &entry.origin {
        Origin::BuiltIn => "built in, unverified".to_owned(),
        Origin::File(path) => path.display().to_string(),
    };
    let docid = profile.docid.iter().map(ToString::to_string);
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
        "docid": docid.collect::<Vec<_>>(),
        "credentials": profile.credentials.is_some(),
        "chunk": profile.chunk,
        "pause": profile.pause.map(|pause| pause.as_secs_f64()),
        "sessions": profile.sessions,
        "pipelined": profile.pipelined,
        "source": profile.source,
        "note": profile.note,
        "origin": origin,
    })
}

/// Adds a profile to the user's file, which is rewritten completely or not at all.
fn add(arguments: &Add, output: &mut Output) -> Result<Exit, Failure> {
    let path = own_file(&arguments.known)?;
    let target: Target = arguments
        .place
        .parse()
        .map_err(|error| connection::usage(&error))?;
    let has_credentials = connection::credentials(&arguments.identity)?.is_some();
    let section = section(arguments, &target, has_credentials)?;
    let mut text = String::new();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    // Held from reading to writing, as another run may add a target meanwhile.
    let lock = Lock::take(&path).map_err(|error| Failure::unopened(&error, ""))?;
    if path.exists() {
        let known = Profiles::default().with_file(&path);
        let known = known.map_err(|error| connection::usage(&error))?;
        if known.named(&arguments.name).is_some() {
            let words = format!("{} is in {} already", arguments.name, path.display());
            return Err(Failure::Usage(words));
        }
        text = fs::read_to_string(&path)
            .map_err(|error| Failure::input(&path.display().to_string(), &error))?;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(&section);
    replace(&lock, text.trim_start())?;
    let built_in = Profiles::built_in();
    let replaced = match built_in.named(&arguments.name) {
        Some((name, entry)) => {
            let endpoint = entry.profile.endpoint();
            format!("; it replaces the built-in target {name} ({endpoint})")
        }
        None => String::new(),
    };
    output.note(&format!(
        "{} is now in {}{replaced}",
        arguments.name,
        path.display()
    ));
    Ok(Exit::Delivered)
}

/// The section of the new profile.
fn section(arguments: &Add, target: &Target, has_credentials: bool) -> Result<String, Failure> {
    let (Endpoint::Tcp(host, port) | Endpoint::Tls(host, port)) = &target.endpoint else {
        return Err(Failure::Usage(
            "a profile describes a host, not a Unix socket".into(),
        ));
    };
    if target.proxy.is_some() {
        return Err(Failure::Usage(
            "a profile cannot contain a proxy; use --proxy".into(),
        ));
    }
    let names = target.databases.iter();
    let databases = names.map(|name| name.0.to_string_lossy().into_owned());
    let mut table = toml::Table::new();
    table.insert("host".into(), host.to_string().into());
    table.insert("port".into(), i64::from(*port).into());
    table.insert("databases".into(), databases.collect::<Vec<_>>().into());
    if matches!(target.endpoint, Endpoint::Tls(..)) {
        table.insert("tls".into(), true.into());
    }
    let given = toml::Table::try_from(arguments).map_err(unwritable)?;
    table.extend(given);
    if has_credentials {
        let identity = toml::Table::try_from(&arguments.identity).map_err(unwritable)?;
        table.insert("credentials".into(), identity.into());
    }
    let named = toml::Table::from_iter([(arguments.name.clone(), table.into())]);
    let all = toml::Table::from_iter([("targets".to_owned(), named.into())]);
    toml::to_string(&all).map_err(unwritable)
}

fn unwritable(error: toml::ser::Error) -> Failure {
    Failure::machine("write a profile", &error)
}

/// Replaces the locked file of targets after checking that the new one can be read.
fn replace(lock: &Lock, text: &str) -> Result<(), Failure> {
    let mut draft = Draft::hidden(lock.target())?;
    let prepared = private(draft.file()).and_then(|()| draft.write_all(text.as_bytes()));
    prepared.map_err(|error| Failure::unwritten(lock.target(), &error))?;
    Profiles::default()
        .with_file(draft.path())
        .map_err(|error| match error {
            // The error is in the new section, whose line numbers mean nothing to the user.
            ProfileError::Malformed { error, .. } => Failure::Usage(match error.split_once(": ") {
                Some((place, words)) if place.starts_with("line ") => words.to_owned(),
                _ => error,
            }),
            other => connection::usage(&other),
        })?;
    draft.persist(Existing::Replace, true)?;
    Ok(())
}

/// Makes a new file private, as it holds credentials.
fn private(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

async fn check(
    arguments: &EachTarget<ConnectionOptions>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reach = TargetClient::new(&arguments.options).await?;
    let places = arguments.targets.iter();
    let places: Vec<_> = places.map(|text| reach.place(text, &[], output)).collect();
    let (count, waiting) = (places.len(), output.waiting());
    let done = Cell::new(0);
    let mut known = places.iter().flatten();
    // Only one password command may prompt at a time.
    let at_once = match known.any(|place| may_prompt(&place.resolved.profile)) {
        true => 1,
        false => CHECKS,
    };
    let checks = stream::iter(places).map(|place| {
        let (reach, done, waiting) = (&reach, &done, &waiting);
        async move {
            let place = place?;
            let answer = server(reach, &place).await;
            done.set(done.get() + 1);
            waiting.says(Some(format!("{} of {count} targets checked", done.get())));
            Ok::<_, Failure>((place, answer))
        }
    });
    let mut checks = pin!(checks.buffered(at_once));
    let mut tally = Tally::default();
    let checked = Interrupt.exit(async {
        while let Some(check) = checks.next().await {
            let (exit, outcome) = match check {
                Ok((place, found)) => answer(arguments.json, &place, &found, output)?,
                Err(failure) => {
                    output.error(&failure.to_string());
                    (Exit::Usage, OutcomeName::NotSent)
                }
            };
            tally.add(exit, outcome);
        }
        Ok::<_, Failure>(tally.exits().fold(Exit::Delivered, Exit::and))
    });
    let exit = waiting.during(checked).await?;
    if count > 1 {
        let done = match tally.total() == u64::try_from(count).unwrap_or(u64::MAX) {
            true => String::new(),
            false => format!("{} of ", tally.total()),
        };
        output.note(&format!("{done}{count} targets: {tally}"));
    }
    Ok(exit)
}

/// Opens a session, searches, and closes it; returns what the server said at Init.
async fn server(reach: &TargetClient, place: &NamedTarget) -> Result<ServerInfo, Unanswered> {
    let session = reach.session(place).await?;
    let server = session.server_info().clone();
    let searched = search(&session, place).await;
    // The session may have ended already.
    let _ = session.close().await;
    searched?;
    Ok(server)
}

/// A title that no record has.
const NO_TITLE: &str = "qzxjqv";

/// Searches the databases: Init does not name them, so a server says only now that one does not exist (Bib-1 diagnostics 109 and 235).
/// A refusal of the query does not matter.
async fn search(session: &Session, place: &NamedTarget) -> Result<(), Error> {
    sleep(place.resolved.profile.pause.unwrap_or_default()).await;
    let query = place.adapted(Query::title(NO_TITLE).as_rpn())?;
    let mut options = SearchOptions::default();
    options.databases.clone_from(&place.resolved.databases);
    options.takes_unknown_count = true;
    match session.search(apdu::Query::Type1(query), &options).await {
        Err(Error::Refused { diagnostics, .. }) if is_of_query(&diagnostics) => Ok(()),
        searched => searched.map(drop),
    }
}

/// Whether diagnostics concern the query.
fn is_of_query(diagnostics: &Diagnostics) -> bool {
    let condition = diagnostics.condition();
    condition.is_some_and(|code| matches!(code, 3 | 108 | 113..=126 | 247 | 1024 | 1056))
}

/// How many targets are checked at once.
const CHECKS: usize = 8;

/// Writes what a check has found; returns its exit code and outcome.
fn answer(
    json: bool,
    place: &NamedTarget,
    found: &Result<ServerInfo, Unanswered>,
    output: &mut Output,
) -> Result<(Exit, OutcomeName), Failure> {
    let envelope = Envelope::of(place, &["implementation"]);
    match found {
        Ok(server) => {
            let InitializeResponse {
                implementation_name: name,
                implementation_version: version,
                ..
            } = &server.response;
            let words: Vec<String> = [name, version].into_iter().flatten().map(text_of).collect();
            let name = words.join(" ");
            match json {
                true => envelope
                    .with("outcome", OutcomeName::Ok.as_str())
                    .with("implementation", name)
                    .write(output)?,
                false => {
                    output.line(&format!("{place}: ok, version {}, {name}", server.version))?
                }
            }
            Ok((Exit::Delivered, OutcomeName::Ok))
        }
        Err(failure) => {
            let answer = failure.answer();
            let outcome = answer.outcome;
            Ok((answer.report(json, envelope, place, output)?, outcome))
        }
    }
}

/// A name that TOML accepts without quotes.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("a name can only contain letters, digits, - and _".to_owned()),
    }
}
