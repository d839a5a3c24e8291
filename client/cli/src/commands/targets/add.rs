//! `z3950 targets add`: adds a profile to the user's file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use z3950::profile::{Profile, Profiles, SruOptions};
use z3950::target::{Endpoint, Target};
use z3950_asn1::sru::Version;
use z3950_files::Lock;

use super::check::try_out;
use super::file::{TARGETS, own_file, replace};
use super::show::index_name;
use crate::commands::complete;
use crate::commands::connection::{self, ConnectionOptions};
use crate::commands::explain;
use crate::commands::options::{Wait, seconds};
use crate::commands::target::{NamedTarget, TargetClient};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};

/// A new profile. Its serialized form has the same keys as a profile in the targets file.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Add {
    /// The name of the profile: letters, digits, - and _.
    #[arg(value_name = "NAME", value_parser = name)]
    #[serde(skip)]
    pub(crate) name: String,

    /// The address of the server: host[:port][/database[+database]], preceded by ssl: for TLS; or http://host/database for SRU.
    #[arg(value_name = "PLACE", required_unless_present = "from")]
    #[serde(skip)]
    pub(crate) place: Option<String>,

    /// The address of an SRU server, which is asked for its title, indexes, schemas and limits.
    #[arg(long, value_name = "URL", conflicts_with = "place")]
    #[serde(skip)]
    pub(crate) from: Option<String>,

    /// A title to display.
    #[arg(long)]
    pub(crate) title: Option<String>,

    /// The record syntax to request, by name.
    #[arg(long, value_name = "NAME", add = complete::syntax())]
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

    /// An attribute, such as 4=2, to add to operands that have no attribute of the same type; may be repeated.
    #[arg(long = "attribute", value_name = "TYPE=VALUE", hide_short_help = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<String>,

    /// The attributes for searches in an index, such as isbn='1=7 5=1', or the index at an SRU server, such as
    /// isbn=num.isbn; may be repeated.
    #[arg(long = "index", value_name = "NAME=ATTRIBUTES", value_parser = index)]
    #[serde(skip)]
    pub(crate) indexes: Vec<(String, String)>,

    /// Attributes to search for a docid with, such as 1=12; may be repeated, best first.
    #[arg(long = "docid", value_name = "ATTRIBUTES", hide_short_help = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) docid: Vec<String>,

    /// How many records to request in one Present.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) chunk: Option<u32>,

    /// The minimum time between requests.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub(crate) pause: Option<Wait>,

    /// How many sessions may be open at once.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) sessions: Option<u16>,

    /// How many requests to send in a session before they are answered, if the server does not carry out operations concurrently. Most
    /// servers answer them in turn; some lose all but the first.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) pipelined: Option<u16>,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) sru: SruArguments,

    /// Open a session and search before the profile is written, and write it only if both succeed.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) check: bool,

    /// A note to display, such as restrictions on use.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) connection: ConnectionOptions,
}

/// How to send requests to an SRU server; serialized as in the table `sru`.
#[derive(Debug, Args, Serialize)]
pub(crate) struct SruArguments {
    /// Send SRU requests in this version, instead of the one that --from finds.
    #[arg(long = "sru-version", value_name = "VERSION", value_parser = ["1.1", "1.2", "2.0"])]
    pub(crate) version: Option<String>,

    /// Send SRU requests by this method.
    #[arg(long = "sru-method", hide_short_help = true, value_name = "METHOD", value_parser = ["get", "post", "soap"])]
    pub(crate) method: Option<String>,

    /// Request MARC over SRU in this schema.
    #[arg(long = "sru-schema", hide_short_help = true, value_name = "NAME")]
    pub(crate) schema: Option<String>,

    /// Send queries that are not in CQL to an SRU server in PQF.
    #[arg(long = "sru-pqf", hide_short_help = true)]
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) pqf: bool,

    /// Sort at an SRU server with the parameter sortKeys.
    #[arg(long = "sru-sort-keys", hide_short_help = true)]
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) sort_keys: bool,
}

fn is_off(flag: &bool) -> bool {
    !flag
}

/// Adds a profile to the user's file. The file is rewritten completely or not at all.
pub(super) async fn add(arguments: &Add, output: &mut Output) -> Result<Exit, Failure> {
    let path = own_file(&arguments.connection.known)?;
    let place = arguments.from.as_ref().or(arguments.place.as_ref());
    let target: Target = place
        .map(String::as_str)
        .unwrap_or_default()
        .parse()
        .map_err(|error| connection::usage(&error))?;
    let has_credentials = connection::credentials(&arguments.connection.identity)?.is_some();
    let described = match &arguments.from {
        None => None,
        Some(_) if !target.endpoint.is_sru() => {
            let words = "--from takes an address of SRU: http://host/database";
            return Err(Failure::Usage(words.into()));
        }
        Some(_) => match described(arguments, output).await? {
            Ok(profile) => Some(profile),
            Err(exit) => return Ok(exit),
        },
    };
    let section = section(arguments, &target, described.as_ref(), has_credentials)?;
    if arguments.check {
        refuse_known(arguments, &path)?;
        let exit = checked(arguments, &section, output).await?;
        if exit != Exit::Delivered {
            output.note(&format!("{} is not added", arguments.name));
            return Ok(exit);
        }
    }
    let mut text = String::new();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    // The lock is held from reading to writing, so that another run cannot add a target in between.
    let lock = Lock::take(&path).map_err(|error| Failure::unopened(&error, ""))?;
    if path.exists() {
        refuse_known(arguments, &path)?;
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

/// Returns an error if the file already contains a profile with this name.
fn refuse_known(arguments: &Add, path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let known = Profiles::default().with_file(path);
    let known = known.map_err(|error| connection::usage(&error))?;
    match known.named(&arguments.name) {
        None => Ok(()),
        Some(_) => {
            let words = format!("{} is in {} already", arguments.name, path.display());
            Err(Failure::Usage(words))
        }
    }
}

/// Opens a session with the new target and searches, like `targets check`, and writes the result.
async fn checked(arguments: &Add, section: &str, output: &mut Output) -> Result<Exit, Failure> {
    type File = BTreeMap<String, BTreeMap<String, Profile>>;
    let file: File =
        toml::from_str(section).map_err(|error| Failure::Usage(error.message().to_owned()))?;
    let profile = file.into_values().flat_map(BTreeMap::into_values).next();
    let (reach, place) = reached(arguments, output).await?;
    let place = match profile {
        Some(profile) => {
            let mut resolved = (*place.resolved).clone();
            resolved.profile = profile;
            let resolved = Arc::new(resolved);
            NamedTarget { resolved, ..place }
        }
        None => place,
    };
    try_out(&reach, &place, output).await
}

/// Returns a client, and the target at the address in the arguments.
async fn reached(arguments: &Add, output: &Output) -> Result<(TargetClient, NamedTarget), Failure> {
    let mut connection = arguments.connection.clone();
    // The file may not exist yet, because it is about to be created.
    connection.known.targets_file.take_if(|path| !path.exists());
    let place = arguments.from.as_ref().or(arguments.place.as_ref());
    let place = OsStr::new(place.map(String::as_str).unwrap_or_default());
    TargetClient::to(place, &[], &connection, output).await
}

/// Returns the profile made from the server's description of itself, or the exit code if the server has no description.
async fn described(arguments: &Add, output: &mut Output) -> Result<Result<Profile, Exit>, Failure> {
    let (reach, place) = reached(arguments, output).await?;
    let waiting = output.waiting();
    let asked = Interrupt.or(explain::described(&reach, &place));
    let description = match waiting.during(asked).await {
        Ok(description) => description,
        Err(Stopped(exit)) => return Ok(Err(exit)),
    };
    Ok(match description {
        Ok(description) => {
            // An existing profile of the same server may define indexes that the description does not list, so they are removed
            // here.
            let mut profile = place.resolved.profile.clone();
            if let Some(sru) = &mut profile.sru {
                sru.indexes.clear();
            }
            description.complete(&mut profile);
            Ok(profile)
        }
        Err(failure) => {
            let (exit, words) = failure.explain();
            output.error(&format!("{place}: {words}"));
            Err(exit)
        }
    })
}

/// Returns the section for the new profile. Values that no option sets are taken from `described`.
fn section(
    arguments: &Add,
    target: &Target,
    described: Option<&Profile>,
    has_credentials: bool,
) -> Result<String, Failure> {
    if matches!(target.endpoint, Endpoint::Unix(_)) {
        return Err(Failure::Usage(
            "a profile describes a host, not a Unix socket".into(),
        ));
    }
    if target.proxy.is_some() {
        return Err(Failure::Usage(
            "a profile cannot contain a proxy; use --proxy".into(),
        ));
    }
    if target.userinfo.is_some() {
        return Err(Failure::Usage(
            "a profile cannot contain a password; use --user, and --password-env or --password-command".into(),
        ));
    }
    let names = target.databases.iter();
    let databases = names.map(|name| name.0.to_string_lossy().into_owned());
    let mut table = toml::Table::new();
    let endpoint = &target.endpoint;
    table.insert("host".into(), endpoint.host().to_string().into());
    table.insert("port".into(), i64::from(endpoint.port()).into());
    table.insert("databases".into(), databases.collect::<Vec<_>>().into());
    if matches!(endpoint, Endpoint::Tls(..) | Endpoint::Https(..)) {
        table.insert("tls".into(), true.into());
    }
    let given = toml::Table::try_from(&arguments.sru).map_err(unwritable)?;
    let indexes = arguments.indexes.iter();
    let indexes = indexes.map(|(name, how)| (name.clone(), how.as_str().into()));
    let indexes = toml::Table::from_iter(indexes);
    if endpoint.is_sru() {
        let of_bib1 = arguments.indexes.iter().find(|(_, how)| how.contains('='));
        if let Some((name, how)) = of_bib1 {
            return Err(Failure::Usage(format!(
                "--index {name}={how}: a server of SRU has names for its indexes, such as {name}=bath.{name}"
            )));
        }
        let sru = described.and_then(|profile| profile.sru.as_ref());
        let mut sru = sru_table(target, sru, indexes);
        sru.extend(given);
        table.insert("sru".into(), sru.into());
    } else if let Some(key) = given.keys().next() {
        let option = key.replace('_', "-");
        return Err(Failure::Usage(format!(
            "--sru-{option} is for a server of SRU: http://host/database"
        )));
    } else if !indexes.is_empty() {
        table.insert("indexes".into(), indexes.into());
    }
    if let Some(profile) = described {
        let title = profile
            .title
            .clone()
            .map(|title| ("title".to_owned(), title.into()));
        let chunk = profile
            .chunk
            .map(|chunk| ("chunk".to_owned(), i64::from(chunk).into()));
        table.extend(title.into_iter().chain(chunk));
    }
    let given = toml::Table::try_from(arguments).map_err(unwritable)?;
    table.extend(given);
    if has_credentials {
        let identity = &arguments.connection.identity;
        let identity = toml::Table::try_from(identity).map_err(unwritable)?;
        table.insert("credentials".into(), identity.into());
    }
    let named = toml::Table::from_iter([(arguments.name.clone(), table.into())]);
    let all = toml::Table::from_iter([(TARGETS.to_owned(), named.into())]);
    toml::to_string(&all).map_err(unwritable)
}

/// Returns the table for an SRU server. The method comes from the address; the version, the schema and the indexes come
/// from the server's description. The indexes in `given` replace the indexes from the description.
fn sru_table(target: &Target, described: Option<&SruOptions>, given: toml::Table) -> toml::Table {
    let mut table = toml::Table::new();
    if let Some(method) = target.sru_method {
        table.insert("method".into(), method.name().into());
    }
    let version = described.map(|sru| sru.version);
    if let Some(version) = version.filter(|version| *version != Version::default()) {
        table.insert("version".into(), version.as_str().into());
    }
    if let Some(schema) = described.and_then(|sru| sru.schema.clone()) {
        table.insert("schema".into(), schema.into());
    }
    let indexes = described.into_iter().flat_map(|sru| &sru.indexes);
    let indexes = indexes.map(|(value, index)| {
        let name = index_name(*value).map_or_else(|| value.to_string(), str::to_owned);
        (name, index.as_str().into())
    });
    let mut indexes = toml::Table::from_iter(indexes);
    indexes.extend(given);
    if !indexes.is_empty() {
        table.insert("indexes".into(), indexes.into());
    }
    table
}

fn unwritable(error: toml::ser::Error) -> Failure {
    Failure::machine("write a profile", &error)
}

/// Parses the name of a profile, which must be a bare TOML key, without quotes.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    if !text.is_empty() && text.bytes().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("a name can only contain letters, digits, - and _".to_owned())
    }
}

/// Parses the name of an index and its search attributes: `isbn=1=7 5=1`. The attributes are checked later, together
/// with the file.
fn index(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, how)) if !name.is_empty() && !how.is_empty() => {
            Ok((name.to_owned(), how.to_owned()))
        }
        _ => {
            Err("write the name of an index and its attributes, such as isbn='1=7 5=1'".to_owned())
        }
    }
}
