//! Databases in a search engine. Reads their settings, runs the commands that create and fill an index, and checks that an index
//! matches the settings.

mod bar;
mod create;
mod load;
mod records;
mod resume;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use z3950_files::input;
use z3950_front::engine::EngineLayout;
use z3950_front::engine::opensearch::{
    ClusterAccess, ClusterAddress, ClusterCredentials, ClusterDatabase, ClusterIndex,
    ClusterOptions, IndexError, IndexReport,
};
use z3950_front::z3950::Pem;

use crate::args::{EngineArguments, EngineCommand};
use crate::config::{ClusterSettings, Config};
use crate::failure::{Exit, Failure, complain, note};
use crate::words::counted;

/// The maximum size of a credentials file, in octets.
const MOST_CREDENTIALS: u64 = 64 << 10;

/// The first and the maximum delay before an index is checked again. Each delay is twice as long as the previous one.
const WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];

/// Runs a command for search engines.
///
/// # Errors
/// Invalid usage, or the reason why the command failed.
pub(crate) fn run(command: &EngineCommand, runtime: &Runtime) -> Result<Exit, Failure> {
    let place = match command {
        EngineCommand::EngineCreate(arguments) => &arguments.place,
        EngineCommand::Load(arguments) => &arguments.place,
    };
    let config = read_settings(place)?;
    let settings = selected(&config, place.engine.as_ref())?;
    let ClusterOptions {
        name, addresses, ..
    } = &settings.options;
    warn_of_exposure(name, addresses, settings.credentials.as_deref());
    let index = index(&config, &settings)?;
    match command {
        EngineCommand::EngineCreate(arguments) => {
            create::run(arguments, &index, &settings, runtime)
        }
        EngineCommand::Load(arguments) => {
            let docid = settings.docid.unwrap_or(config.docid);
            let layout = layout(&config, &settings)?.fingerprint();
            load::run(arguments, &index, &settings.options, docid, layout, runtime)
        }
    }
}

/// Reads the settings file, if the arguments name one.
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

/// Returns the options of a database, including the contents of files.
///
/// # Errors
/// A file cannot be read.
fn options(settings: &ClusterSettings) -> Result<ClusterOptions, Failure> {
    let mut options = settings.options.clone();
    options.access = access(settings.ca.as_deref(), settings.credentials.as_deref())?;
    Ok(options)
}

/// Reads the files with the certificates to trust and with the credentials.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn access(
    ca: Option<&Path>,
    credentials: Option<&Path>,
) -> Result<ClusterAccess, Failure> {
    let mut access = ClusterAccess::default();
    if let Some(ca) = ca {
        let text = input::read_text(ca, MOST_CREDENTIALS << 8);
        let what = || format!("cannot read {}", ca.display());
        let text = text.map_err(|error| Failure::cannot(&what(), error))?;
        access.ca = Some(Pem::text(text));
    }
    if let Some(file) = credentials {
        let text = input::read_text(file, MOST_CREDENTIALS);
        let what = || format!("cannot read the credentials in {}", file.display());
        let text = text.map_err(|error| Failure::cannot(&what(), error))?;
        let read = text.parse::<ClusterCredentials>();
        access.credentials = Some(read.map_err(|error| Failure::cannot(&what(), error))?);
    }
    Ok(access)
}

/// Returns the layout of a database in the engine, which determines the fields of its index.
///
/// # Errors
/// The names of indexes are invalid. This cannot occur once the settings file has been checked.
fn layout(config: &Config, settings: &ClusterSettings) -> Result<Arc<EngineLayout>, Failure> {
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

/// Opens the databases without connecting to the clusters. A database that is already open with the same settings stays open, with its
/// connections and result sets.
///
/// # Errors
/// A file in the settings cannot be read, or does not contain certificates.
pub(crate) fn open(
    config: &Config,
    running: &[Arc<ClusterDatabase>],
) -> Result<Vec<Arc<ClusterDatabase>>, Failure> {
    let clusters = config.clusters.iter().map(|settings| {
        let (options, layout) = (options(settings)?, layout(config, settings)?);
        let mut known = running.iter();
        if let Some(same) = known.find(|known| known.is_same(&options, &layout)) {
            return Ok(Arc::clone(same));
        }
        let what = format!("database {}", options.name);
        let database =
            ClusterDatabase::new(options, layout).map_err(|error| Failure::cannot(&what, error));
        database.map(Arc::new)
    });
    clusters.collect()
}

/// Returns the index of a database.
fn index(config: &Config, settings: &ClusterSettings) -> Result<ClusterIndex, Failure> {
    let index = ClusterIndex::new(&options(settings)?, layout(config, settings)?);
    let what = format!("database {}", settings.options.name);
    index.map_err(|error| Failure::cannot(&what, error))
}

/// Warns if credentials would be sent over a connection that others can read.
pub(crate) fn warn_of_exposure(
    database: &str,
    addresses: &[ClusterAddress],
    credentials: Option<&Path>,
) {
    let exposed = addresses.iter().filter(|address| address.is_exposed());
    for server in exposed.filter(|_| credentials.is_some()) {
        tracing::warn!(%database, %server, "the credentials are sent without encryption: use https://");
    }
}

/// An index that cannot be checked now, and the reason.
pub(crate) struct UncheckedIndex {
    database: String,
    index: ClusterIndex,
    error: IndexError,
}

impl UncheckedIndex {
    /// Returns whether searches fail or miss records for this reason.
    pub(crate) fn is_outage(&self) -> bool {
        self.error.is_outage()
    }
}

/// Checks concurrently that all clusters and their indexes match the settings, and prints a description of each. Indexes whose
/// settings have not changed are not checked. Indexes that cannot be checked now are reported and returned, so that they can be
/// checked again later.
///
/// # Errors
/// At least one index does not match the settings. The message lists these indexes, each with the line of its setting.
pub(crate) async fn check(
    file: Option<&Path>,
    config: &Config,
    running: Option<&Config>,
) -> Result<Vec<UncheckedIndex>, Failure> {
    let is_running = |settings: &&ClusterSettings| {
        running.is_none_or(|running| !running.clusters.contains(settings))
    };
    let mut asked = Vec::new();
    for settings in config.clusters.iter().filter(is_running) {
        let ClusterOptions {
            name, addresses, ..
        } = &settings.options;
        warn_of_exposure(name, addresses, settings.credentials.as_deref());
        asked.push((settings, index(config, settings)?));
    }
    let checks = asked
        .into_iter()
        .map(async |(settings, index)| (settings, index.check().await, index));
    let (mut wrong, mut unchecked) = (Vec::new(), Vec::new());
    for (settings, outcome, index) in join_all(checks).await {
        let database = settings.options.name.clone();
        match outcome {
            Ok(report) => note(&format_args!("database {database}: {}", described(&report))),
            Err(error) if error.is_mismatch() => {
                let file = file.map_or_else(String::new, |file| file.display().to_string());
                let (line, words) = (settings.line, advised(&error));
                wrong.push(format!("{file}:{line}: database {database}: {words}"));
            }
            Err(error) => {
                complain(&format_args!("database {database}: {}", advised(&error)));
                unchecked.push(UncheckedIndex {
                    database,
                    index,
                    error,
                });
            }
        }
    }
    if wrong.is_empty() {
        Ok(unchecked)
    } else {
        Err(Failure::usage(wrong.join("\n")))
    }
}

/// Describes an index that matches the settings.
fn described(report: &IndexReport) -> String {
    let health = match report.missing {
        Some(0) => "green: every shard has all its copies".to_owned(),
        Some(missing) => format!(
            "yellow: all records are found, but copies of shards are missing ({missing}), as when a node is gone or there are fewer nodes than copies"
        ),
        None => "these credentials do not allow to ask for its health".to_owned(),
    };
    format!(
        "{}, index {}: {}, {}, {}; {health}",
        report.engine,
        report.index,
        counted(report.records, "record"),
        counted(report.shards, "shard"),
        counted(report.replicas, "replica"),
    )
}

/// Checks indexes again until the check succeeds, and logs the results. An index that does not match the settings is not used
/// until it matches them.
pub(crate) fn watch(unchecked: Vec<UncheckedIndex>, served: &[Arc<ClusterDatabase>]) {
    for UncheckedIndex {
        database, index, ..
    } in unchecked
    {
        let mut served = served.iter();
        let Some(own) = served.find(|own| own.options().name == database) else {
            continue;
        };
        let own = Arc::downgrade(own);
        tokio::spawn(async move {
            let [mut wait, longest] = WAITS;
            let mut told = String::new();
            loop {
                sleep(wait).await;
                wait = longest.min(2 * wait);
                let outcome = index.check().await;
                // If a reload has dropped the database, its checks end.
                let Some(own) = own.upgrade() else {
                    return;
                };
                match outcome {
                    Ok(_) => {
                        own.set_refused(false);
                        tracing::warn!(%database, "the index was checked: it matches the settings");
                        return;
                    }
                    Err(error) if error.is_mismatch() => {
                        own.set_refused(true);
                        let words = advised(&error);
                        if words != told {
                            tracing::error!(%database, "the index does not match the settings: {words}");
                            told = words;
                        }
                    }
                    Err(_) => {}
                }
            }
        });
    }
}

/// Prints the addresses of each database's cluster.
pub(crate) fn tell(config: &Config) {
    for ClusterSettings { options, .. } in &config.clusters {
        let places: Vec<String> = options.addresses.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        note(&format_args!(
            "database {}: in the search engine at {places}",
            options.name
        ));
    }
}

/// Describes an error, with advice on how to correct it.
fn advised(error: &IndexError) -> String {
    let advice = match error {
        IndexError::Malformed(_) => ": is this the HTTP port of a node?",
        IndexError::Denied(_) => {
            ": credentials in the settings names a file with NAME:PASSWORD or ApiKey KEY"
        }
        IndexError::Absent(_) => ": z3950d engine-create creates it, and z3950d load fills it",
        IndexError::Foreign(_) => {
            ": name another index, or set catalogue to serve that of another program"
        }
        IndexError::Several(..) => ": name one of them",
        IndexError::Irreplaceable { .. } => {
            ": name the alias that z3950d engine-create made, and not an index"
        }
        IndexError::Outdated(_) => {
            "; if the settings are as they should be, load everything again with z3950d load --reload"
        }
        IndexError::Changed { .. } => ": load everything again with z3950d load --reload",
        IndexError::Blocked {
            setting: "index.blocks.write",
            ..
        } => {
            ": set it to null, or load everything again with z3950d load --reload, which may have left it when it was killed"
        }
        IndexError::Blocked { .. } => {
            ": free space on the disks of the nodes, or set it to null if it was set by hand"
        }
        IndexError::Closed(_) => {
            ": free space on the disks of the nodes, or remove the block if it was set by hand"
        }
        IndexError::Astray { .. } => ": remove it from anything else",
        IndexError::Incomplete(_) => ", because the nodes that have them do not answer (red)",
        IndexError::Left(_) => ": the next load deletes it",
        IndexError::Reloading { .. } => {
            "; if the reload was interrupted, run it again first: its --state FILE goes on where it was, and --overwrite begins anew"
        }
        _ => "",
    };
    format!("{error}{advice}")
}

/// Returns the failure for an index that cannot be used.
fn failed(error: &IndexError) -> Failure {
    let words = advised(error);
    if error.is_mismatch() {
        Failure::usage(words)
    } else {
        Failure::unexpected(std::io::Error::other(words))
    }
}

/// Returns the database that the arguments and settings select.
///
/// # Errors
/// No database in the settings matches the address or, without an address, there is not exactly one database to choose from.
fn selected<'c>(
    config: &'c Config,
    address: Option<&ClusterAddress>,
) -> Result<Cow<'c, ClusterSettings>, Failure> {
    match (address, config.clusters.as_slice()) {
        (None, [only]) => Ok(Cow::Borrowed(only)),
        (None, []) => Err(Failure::usage(
            "name an index: --engine http://HOST:PORT/INDEX, or engine in the settings of --config",
        )),
        (None, _) => Err(Failure::usage(
            "several databases of the settings have an engine: name one by --engine",
        )),
        (Some(address), []) => {
            let options = ClusterOptions::new("books", vec![address.clone()]);
            Ok(Cow::Owned(ClusterSettings::new(options)))
        }
        (Some(address), known) => {
            let mut known = known.iter();
            let found = known.find(|known| known.options.addresses.contains(address));
            let missing = "no database of the settings has the engine of --engine";
            found
                .map(Cow::Borrowed)
                .ok_or_else(|| Failure::usage(missing))
        }
    }
}
