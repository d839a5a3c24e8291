//! `z3950 targets`: the servers known by name, and a user's own file of them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use z3950::profile::{
    Attribute, Credentials, Origin, Profile, ProfileEntry, ProfileError, Profiles,
};
use z3950::retrieve::OutcomeName;
use z3950::session::Session;
use z3950::target::{Endpoint, Target, redacted};
use z3950_asn1::file::{Draft, Existing, Lock};

use crate::args::{Add, Check, Known, Show, Targets};
use crate::commands::connection;
use crate::commands::target::{Place, Reach, Unanswered, did_you_mean};
use crate::console::envelope::{Envelope, VERSION};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::syntax;

pub(crate) async fn run(command: &Targets, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Targets::List(arguments) => {
            let profiles = connection::profiles(&arguments.known)?;
            for (name, entry) in profiles.iter() {
                let line = match arguments.json {
                    true => object(Some(name), &entry.profile, Some(&entry.origin)).to_string(),
                    false => summary(name, entry),
                };
                output.line(&line)?;
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

/// The file of the option, else the user's.
fn own_file(known: &Known) -> Result<PathBuf, Failure> {
    let named = known.targets_file.clone();
    named.or_else(Profiles::user_file).ok_or_else(|| {
        Failure::Usage("cannot find your home folder to store targets in; use --targets".into())
    })
}

/// `loc  lx2.loc.gov:210/LCDB  Library of Congress`
fn summary(name: &str, entry: &ProfileEntry) -> String {
    let Profile {
        databases, title, ..
    } = &entry.profile;
    let mark = match entry.origin {
        Origin::BuiltIn => "",
        Origin::File(_) => " *",
    };
    let place = format!("{}/{}", entry.profile.endpoint(), databases.join("+"));
    let title = title.as_deref().unwrap_or_default();
    format!("{:<20} {place:<44} {title}", format!("{name}{mark}"))
        .trim_end()
        .to_owned()
}

fn show(arguments: &Show, output: &mut Output) -> Result<Exit, Failure> {
    let profiles = connection::profiles(&arguments.known)?;
    let mut exit = Exit::Delivered;
    for text in &arguments.targets {
        let text = text.to_string_lossy();
        let resolved = match profiles.resolve(&text) {
            Ok(resolved) => resolved,
            Err(error) => {
                output.error(&crate::console::report::chain(&error));
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
        let value = object(Some(name), &entry.profile, Some(&entry.origin));
        match (arguments.json, value.as_object()) {
            (false, Some(fields)) => {
                for (key, value) in fields.iter().filter(|(key, _)| *key != "v") {
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
                        // A syntax.
                        Value::Object(parts) => match (&parts["name"], &parts["oid"]) {
                            (Value::String(name), Value::String(oid)) => format!("{name} ({oid})"),
                            (_, oid) => oid.as_str().unwrap_or_default().to_owned(),
                        },
                        other => other.to_string(),
                    };
                    output.line(&format!("{key:<16}{value}"))?;
                }
            }
            _ => output.line(&value.to_string())?,
        }
    }
    Ok(exit)
}

/// All that a profile says; of its credentials only that there are some.
fn object(name: Option<&str>, profile: &Profile, origin: Option<&Origin>) -> Value {
    let origin = origin.map(|origin| match origin {
        Origin::BuiltIn => "built in, unverified".to_owned(),
        Origin::File(path) => path.display().to_string(),
    });
    let attributes = profile.attributes.0.iter().map(Attribute::to_string);
    let docid = profile.docid.iter().map(ToString::to_string);
    json!({
        "v": VERSION,
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
        "attributes": attributes.collect::<Vec<_>>(),
        "docid": docid.collect::<Vec<_>>(),
        "credentials": profile.credentials.is_some(),
        "chunk": profile.chunk,
        "pause": profile.pause.map(|pause| pause.as_secs_f64()),
        "sessions": profile.sessions,
        "source": profile.source,
        "note": profile.note,
        "origin": origin,
    })
}

/// Adds a profile to the user's file, which is written anew as a whole or not at all.
fn add(arguments: &Add, output: &mut Output) -> Result<Exit, Failure> {
    let path = own_file(&arguments.known)?;
    let target: Target = arguments
        .place
        .parse()
        .map_err(|error| connection::usage(&error))?;
    let credentials = connection::credentials(&arguments.identity)?;
    let section = section(arguments, &target, credentials.as_ref())?;
    let mut text = String::new();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    // From reading to writing: another run may add a target at the same time.
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
    output.note(&format!("{} is now in {}", arguments.name, path.display()));
    Ok(Exit::Delivered)
}

/// The lines of a file of targets that say so.
fn section(
    arguments: &Add,
    target: &Target,
    credentials: Option<&Credentials>,
) -> Result<String, Failure> {
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
    for (key, value) in [
        ("title", &arguments.title),
        ("record_syntax", &arguments.syntax),
        ("element_set", &arguments.element_set),
        ("record_charset", &arguments.record_charset),
        ("query_charset", &arguments.query_charset),
        ("note", &arguments.note),
    ] {
        if let Some(value) = value {
            table.insert(key.into(), value.as_str().into());
        }
    }
    for (key, values) in [
        ("attributes", &arguments.attributes),
        ("docid", &arguments.docid),
    ] {
        if !values.is_empty() {
            table.insert(key.into(), values.clone().into());
        }
    }
    for (key, number) in [
        ("chunk", arguments.chunk.map(i64::from)),
        ("sessions", arguments.sessions.map(i64::from)),
    ] {
        if let Some(number) = number {
            table.insert(key.into(), number.into());
        }
    }
    if let Some(pause) = arguments.pause.and_then(|pause| pause.0) {
        table.insert("pause".into(), pause.as_secs_f64().into());
    }
    if let Some(credentials) = credentials {
        table.insert("credentials".into(), identity(credentials).into());
    }
    let named = toml::Table::from_iter([(arguments.name.clone(), table.into())]);
    let all = toml::Table::from_iter([("targets".to_owned(), named.into())]);
    toml::to_string(&all).map_err(|error| Failure::machine("write a profile", &error))
}

/// Credentials as a file of targets has them.
fn identity(credentials: &Credentials) -> toml::Table {
    let texts = [
        ("user", &credentials.user),
        ("group", &credentials.group),
        ("password_env", &credentials.password_env),
        ("password_command", &credentials.password_command),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| {
        let text = text.as_deref()?;
        Some((key.to_owned(), toml::Value::from(text)))
    });
    let flags = [
        ("open", credentials.open),
        ("anonymous", credentials.anonymous),
    ];
    let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
    texts
        .chain(flags.map(|(key, _)| (key.to_owned(), true.into())))
        .collect()
}

/// Puts a file of targets in the place of the locked one, once it has been read without a fault.
fn replace(lock: &Lock, text: &str) -> Result<(), Failure> {
    let mut draft = Draft::hidden(lock.target())?;
    let prepared = private(draft.file()).and_then(|()| draft.write_all(text.as_bytes()));
    prepared.map_err(|error| Failure::unwritten(lock.target(), &error))?;
    Profiles::default()
        .with_file(draft.path())
        .map_err(|error| match error {
            // The file was right before, and its lines are not what the user wrote.
            ProfileError::Malformed { error, .. } => Failure::Usage(match error.split_once(": ") {
                Some((place, words)) if place.starts_with("line ") => words.to_owned(),
                _ => error,
            }),
            other => connection::usage(&other),
        })?;
    draft.persist(Existing::Replace, true)?;
    Ok(())
}

/// Lets nobody else read a new file: it says who one is at which server.
fn private(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

async fn check(arguments: &Check, output: &mut Output) -> Result<Exit, Failure> {
    let reach = Reach::new(&arguments.connection).await?;
    let mut exit = Exit::Delivered;
    for text in &arguments.targets {
        let Some(place) = reach.place(text, &[], output) else {
            exit = exit.and(Exit::Usage);
            continue;
        };
        let session = match Interrupt.or(reach.session(&place)).await {
            Ok(session) => session,
            Err(Stopped(exit)) => return Ok(exit),
        };
        exit = exit.and(answer(arguments, &place, &session, output)?);
        if let Ok(session) = session {
            // What ended otherwise need not be closed.
            let _ = session.close().await;
        }
    }
    Ok(exit)
}

fn answer(
    arguments: &Check,
    place: &Place,
    session: &Result<Session, Unanswered>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let envelope = Envelope::of(place, &["implementation"]);
    match session {
        Ok(session) => {
            let server = session.server_info();
            let words = [&server.implementation_name, &server.implementation_version];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            let name = crate::render::shown(words.join(" ").as_bytes());
            match arguments.json {
                true => envelope
                    .with("outcome", OutcomeName::Ok.as_str())
                    .with("implementation", name)
                    .write(output)?,
                false => {
                    output.line(&format!("{place}: ok, version {}, {name}", server.version))?
                }
            }
            Ok(Exit::Delivered)
        }
        Err(failure) => {
            let (exit, words) = failure.explain();
            match arguments.json {
                true => envelope.failed(failure).write(output)?,
                false => output.error(&format!("{place}: {words}")),
            }
            Ok(exit)
        }
    }
}
