//! `z3950 targets add`: a profile is added to the user's file.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;
use serde::Serialize;
use z3950::profile::{ProfileError, Profiles};
use z3950::target::{Endpoint, Target};
use z3950_asn1::file::{Draft, Existing, Lock};

use super::own_file;
use crate::commands::connection::{self, Identity, TargetsFile};
use crate::commands::options::{Wait, seconds};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

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

/// Adds a profile to the user's file, which is rewritten completely or not at all.
pub(super) fn add(arguments: &Add, output: &mut Output) -> Result<Exit, Failure> {
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

/// A name that TOML accepts without quotes.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("a name can only contain letters, digits, - and _".to_owned()),
    }
}
