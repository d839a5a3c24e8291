//! Creates the databases in a search engine from their settings, writes the engine's configuration files, and loads records.

mod bar;
pub(crate) mod cluster;
mod load;
mod resume;
mod setup;
mod watch;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use z3950_front::engine::{
    EngineAddress, EngineCheckError, EngineDatabase, EngineLayout, EngineOptions, read_addresses,
};

pub(crate) use self::watch::watch;
use crate::args::{EngineArguments, EngineCommand, EnginePlace};
use crate::config::{Config, EngineSettings};
use crate::failure::{Exit, Failure, complain, note};

/// Runs a command for search engines.
///
/// # Errors
/// Invalid usage, or the reason why the command failed.
pub(crate) fn run(command: &EngineCommand, runtime: &Runtime) -> Result<Exit, Failure> {
    let place = match command {
        EngineCommand::EngineCreate(arguments) => &arguments.place,
        EngineCommand::EngineConfig(arguments) => &arguments.place,
        EngineCommand::Load(arguments) => &arguments.place,
    };
    let config = read_settings(place)?;
    let in_cluster = match &place.engine {
        Some(EnginePlace::Sphinx(_)) => None,
        Some(EnginePlace::OpenSearch(address)) => cluster::selected(&config, Some(address))?,
        None => cluster::selected(&config, None)?,
    };
    match (command, in_cluster) {
        (EngineCommand::EngineCreate(arguments), Some(settings)) => {
            cluster::create(arguments, &config, &settings, runtime)
        }
        (EngineCommand::EngineCreate(_), None) => Err(Failure::usage(
            "name an index of OpenSearch: --engine http://HOST:PORT/INDEX, or engine in the settings of --config",
        )),
        (EngineCommand::EngineConfig(_), Some(_)) => Err(Failure::usage(
            "OpenSearch needs no files: z3950d engine-create creates the index",
        )),
        (EngineCommand::Load(arguments), Some(settings)) => {
            cluster::load(arguments, &config, &settings, runtime)
        }
        (EngineCommand::EngineConfig(arguments), None) => setup::write(arguments),
        (EngineCommand::Load(arguments), None) if arguments.reload => Err(Failure::usage(
            "Sphinx Search has no reload: empty the folders of its nodes, and load everything again",
        )),
        (EngineCommand::Load(arguments), None) => load::run(arguments, runtime),
    }
}

/// Reads the settings file, if one is given.
fn read_settings(arguments: &EngineArguments) -> Result<Config, Failure> {
    let Some(path) = &arguments.config else {
        return Ok(Config::default());
    };
    let (read, wrong) = Config::read(path);
    wrong.iter().for_each(|words| complain(words));
    match read {
        Some(read) if wrong.is_empty() => Ok(read),
        _ => Err(Failure::usage("the settings cannot be used")),
    }
}

/// Opens the databases without connecting to the engines. A database that is already open with the same settings stays open, with
/// its connections and result sets.
///
/// # Errors
/// Wrong nodes or names of indexes, which cannot occur after a check of the settings file.
pub(crate) fn open(
    config: &Config,
    running: &[Arc<EngineDatabase>],
) -> Result<Vec<Arc<EngineDatabase>>, Failure> {
    let engines = config.engines.iter().map(|settings| {
        let layout = layout(config, settings)?;
        let mut known = running.iter();
        if let Some(same) = known.find(|known| known.is_same(&settings.options, &layout)) {
            return Ok(Arc::clone(same));
        }
        let database = EngineDatabase::new(settings.options.clone(), layout);
        let name = &settings.options.name;
        let database =
            database.map_err(|error| Failure::cannot(&format!("database {name}"), error));
        database.map(Arc::new)
    });
    engines.collect()
}

/// Checks that the engines match the settings, all at the same time. Engines of databases that are already running are skipped.
/// Engines that do not answer are reported and returned, so that they can be watched.
///
/// # Errors
/// The engines that do not match the settings, each with the line of the setting.
pub(crate) async fn check(
    file: Option<&Path>,
    config: &Config,
    engines: &[Arc<EngineDatabase>],
    running: &[Arc<EngineDatabase>],
) -> Result<Vec<Arc<EngineDatabase>>, Failure> {
    let is_running = |engine| running.iter().any(|known| Arc::ptr_eq(known, engine));
    let asked = config.engines.iter().zip(engines);
    let asked = asked.filter(|(_, engine)| !is_running(engine));
    let checks = asked.map(async |(settings, engine)| (settings, engine, engine.check().await));
    let (mut wrong, mut unchecked) = (Vec::new(), Vec::new());
    for (settings, engine, outcome) in join_all(checks).await {
        let name = &settings.options.name;
        match outcome {
            Ok(()) => {}
            Err(EngineCheckError::Unreachable(words)) => {
                complain(&format_args!(
                    "database {name}: the engine cannot be checked: {words}"
                ));
                unchecked.push(Arc::clone(engine));
            }
            Err(error) if !error.is_mismatch() => {
                complain(&format_args!("database {name}: {error}"));
            }
            Err(error) => {
                let file = file.map_or_else(String::new, |file| file.display().to_string());
                let line = match error {
                    EngineCheckError::Misplaced(_) | EngineCheckError::OtherNodes { .. } => {
                        settings.nodes_line
                    }
                    _ => settings.line,
                };
                let Failure { words, .. } = refused(&error);
                wrong.push(format!("{file}:{line}: database {name}: {words}"));
            }
        }
    }
    if wrong.is_empty() {
        Ok(unchecked)
    } else {
        Err(Failure::usage(wrong.join("\n")))
    }
}

/// Returns the failure for an engine that does not match the settings, with advice.
fn refused(error: &EngineCheckError) -> Failure {
    let advice = match error {
        EngineCheckError::Malformed(_) => ": is this the port for SphinxQL?",
        EngineCheckError::WithoutIndex(_) => {
            ": is the name right? z3950d engine-config writes the configuration"
        }
        EngineCheckError::Different(_) => {
            ": write its configuration with z3950d engine-config --overwrite, empty the folders of all nodes, start them again and load \
             everything again"
        }
        _ => "",
    };
    Failure::usage(format!("{error}{advice}"))
}

/// Prints the addresses of the engines of each database.
pub(crate) fn tell(config: &Config) {
    for EngineSettings { options, .. } in &config.engines {
        let places: Vec<String> = options.replicas.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        note(&format_args!(
            "database {}: in the search engine at {places}",
            options.name
        ));
    }
}

/// Returns the layout of a database in the engine: its fields and attributes.
fn layout(config: &Config, settings: &EngineSettings) -> Result<Arc<EngineLayout>, Failure> {
    let layout = EngineLayout::new(
        config.access_points.clone(),
        config.profile.clone(),
        settings.docid.unwrap_or(config.docid),
        &settings.uses,
    );
    let name = &settings.options.name;
    let layout = layout.map_err(|error| Failure::cannot(&format!("database {name}"), error));
    layout.map(Arc::new)
}

/// Reads the settings file, if one is given, and returns the settings and the database selected by the arguments, with its nodes.
///
/// # Errors
/// The file cannot be used, the arguments do not match a database of the file, or there are no nodes.
fn settings_of(arguments: &EngineArguments) -> Result<(Config, EngineSettings), Failure> {
    let config = read_settings(arguments)?;
    let address = match &arguments.engine {
        Some(EnginePlace::Sphinx(address)) => Some(address),
        _ => None,
    };
    let of = |address| EngineSettings::new(EngineOptions::new("books", vec![address]));
    let mut settings = match (address, config.engines.as_slice()) {
        (None, [only]) => only.clone(),
        (None, []) => of(default_address()),
        (None, _) => {
            let words = "several databases of the settings have an engine: name one by --engine";
            return Err(Failure::usage(words));
        }
        (Some(address), []) => of(address.clone()),
        (Some(address), known) => {
            let mut known = known.iter();
            let found = known.find(|known| known.options.replicas.contains(address));
            let missing = "no database of the settings has the engine of --engine";
            found.ok_or_else(|| Failure::usage(missing))?.clone()
        }
    };
    if !arguments.nodes.is_empty() {
        let read = read_addresses(&arguments.nodes).into_iter();
        let faults: Vec<String> = read
            .filter_map(Result::err)
            .map(|error| error.to_string())
            .collect();
        if !faults.is_empty() {
            return Err(Failure::usage(format!("--nodes: {}", faults.join("; "))));
        }
        settings.options.nodes = arguments.nodes.clone();
    }
    if settings.options.nodes.is_empty() {
        Err(Failure::usage(
            "give the nodes: --nodes HOST:PORT,…, or nodes in the settings of --config",
        ))
    } else {
        Ok((config, settings))
    }
}

/// Returns the address of the engine that is used if the arguments and settings do not name one.
fn default_address() -> EngineAddress {
    EngineAddress {
        host: "127.0.0.1".to_owned(),
        port: 9306,
        index: "books".to_owned(),
    }
}
