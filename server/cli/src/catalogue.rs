//! Opens databases in indexes that belong to other programs, compares their maps with the indexes, and runs the command that examines
//! an index.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use z3950_files::input;
use z3950_front::engine::catalogue::{self, CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_marc::text::escape_unprintable;

use crate::args::LookArguments;
use crate::config::{CatalogueSettings, Config, MapSource};
use crate::engine::{access, warn_of_exposure};
use crate::failure::{Exit, Failure, complain, note};
use crate::print;

/// The maximum size of a map file, in octets.
const MOST_MAP: u64 = 1 << 20;

/// Reads the map of a database.
///
/// # Errors
/// The file cannot be read, or does not contain a map.
fn map(source: &MapSource) -> Result<CatalogueMap, Failure> {
    let text = match source {
        MapSource::Shipped(name) => shipped(name)?.to_owned(),
        MapSource::File(path) => {
            let what = || format!("cannot read the map {}", path.display());
            input::read_text(path, MOST_MAP).map_err(|error| Failure::cannot(&what(), error))?
        }
    };
    CatalogueMap::parse(&text).map_err(|error| {
        let (line, words) = (error.line, &error.words);
        Failure::usage(match source {
            MapSource::Shipped(name) => format!("the map {name}: {error}"),
            MapSource::File(path) => format!("{}:{line}: {words}", path.display()),
        })
    })
}

/// Returns the text of a built-in map.
///
/// # Errors
/// There is no map with this name.
pub(crate) fn shipped(name: &str) -> Result<&'static str, Failure> {
    CatalogueMap::shipped(name).ok_or_else(|| {
        let names: Vec<&str> = CatalogueMap::names().collect();
        let names = names.join(", ");
        Failure::usage(format!("there is no map {name}; there are {names}"))
    })
}

/// Returns the options of a database, including the contents of files.
///
/// # Errors
/// A file cannot be read.
fn options(settings: &CatalogueSettings) -> Result<CatalogueOptions, Failure> {
    let mut options = settings.options.clone();
    options.access = access(settings.ca.as_deref(), settings.credentials.as_deref())?;
    Ok(options)
}

/// Opens the databases without connecting to their engines. A database that is already open with the same settings and map stays open, with
/// its connections and result sets.
///
/// # Errors
/// A file in the settings cannot be read, or does not contain certificates or a map.
pub(crate) fn open(
    config: &Config,
    running: &[Arc<CatalogueDatabase>],
) -> Result<Vec<Arc<CatalogueDatabase>>, Failure> {
    let opened = config.catalogues.iter().map(|settings| {
        let (options, map) = (options(settings)?, map(&settings.map)?);
        let mut known = running.iter();
        if let Some(same) = known.find(|known| known.is_same(&options, &map)) {
            return Ok(Arc::clone(same));
        }
        let what = format!("database {}", options.name);
        let database = CatalogueDatabase::new(options, Arc::new(map))
            .map_err(|error| Failure::cannot(&what, error));
        database.map(Arc::new)
    });
    opened.collect()
}

/// Compares the map of each database with its index, and tries one search in each index. All databases are checked at the same time,
/// except those that were already running. Fields that do not exist in an index are reported, and are not offered to clients. If an
/// engine does not answer, this is reported, and its index is compared at the first search instead. Returns whether all engines answered.
///
/// # Errors
/// At least one index does not fit its map. The message lists these indexes, each with the line of its setting.
pub(crate) async fn check(
    file: Option<&Path>,
    config: &Config,
    opened: &[Arc<CatalogueDatabase>],
    running: &[Arc<CatalogueDatabase>],
) -> Result<bool, Failure> {
    let settings = config.catalogues.iter().zip(opened);
    let new = settings
        .filter(|(_, own)| !running.iter().any(|known| Arc::ptr_eq(known, own)))
        .inspect(|(settings, _)| {
            let CatalogueOptions {
                name, addresses, ..
            } = &settings.options;
            warn_of_exposure(name, addresses, settings.credentials.as_deref());
        });
    let checks = new.map(async |(settings, own)| {
        let missing = match own.check().await {
            Ok(missing) => own.try_search().await.map(|()| missing),
            Err(error) => Err(error),
        };
        (settings, missing)
    });
    let mut wrong = Vec::new();
    let mut is_complete = true;
    for (settings, outcome) in join_all(checks).await {
        let name = &settings.options.name;
        match outcome {
            Ok(missing) => missing.iter().for_each(|field| {
                note(&format_args!("database {name}: {}: {field}", settings.map))
            }),
            Err(error) if error.is_mismatch() => {
                let file = file.map_or_else(String::new, |file| file.display().to_string());
                let line = settings.line;
                wrong.push(format!("{file}:{line}: database {name}: {error}"));
            }
            Err(error) => {
                complain(&format_args!("database {name}: {error}"));
                is_complete = false;
            }
        }
    }
    if wrong.is_empty() {
        Ok(is_complete)
    } else {
        Err(Failure::usage(wrong.join("\n")))
    }
}

/// Prints the engine's addresses and the map for each database.
pub(crate) fn tell(config: &Config) {
    for CatalogueSettings { options, map, .. } in &config.catalogues {
        let places: Vec<String> = options.addresses.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        note(&format_args!(
            "database {}: read from the search engine at {places}, by {map}",
            options.name
        ));
    }
}

/// Examines an index, and prints a description of it and of the searches that would be answered. The exit code says
/// whether a map fits.
///
/// # Errors
/// The engine does not answer, or refuses the request.
pub(crate) fn look(arguments: &LookArguments, runtime: &Runtime) -> Result<Exit, Failure> {
    let access = access(arguments.ca.as_deref(), arguments.credentials.as_deref())?;
    let addresses = [arguments.address.clone()];
    let time = CatalogueOptions::new("", Vec::new()).answer_time;
    let seen = runtime
        .block_on(catalogue::look(&addresses, &access, time))
        .map_err(|error| {
            let what = format!("cannot look at {}", arguments.address);
            Failure::cannot(&what, error)
        })?;
    // The names of fields come from the index, so they may contain unprintable characters.
    let text = escape_unprintable(&seen.to_string(), |one| one == '\n').into_owned();
    let printed = print(format!("{}\n", text.trim_end()).as_bytes());
    let fits = seen.fitting.is_some();
    Ok(printed.and(if fits {
        Exit::Stopped
    } else {
        Exit::Unexpected
    }))
}
