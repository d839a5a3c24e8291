//! The arguments of the commands for a search engine.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use z3950_front::engine::EngineAddress;

/// What is done for a search engine.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Write the configuration files of a search engine for a database with `engine`.
    EngineConfig(SetupArguments),
    /// Load records into a search engine, spread over its nodes.
    Load(LoadArguments),
}

/// Which engine: the one of the settings, or the one of the other arguments.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineArguments {
    /// The settings of the server: the database with an engine, and the indexes
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The server that distributes searches, and the index, if the settings have several databases with an engine, or none
    /// [default: sphinxql://127.0.0.1:9306/books]
    #[arg(long, value_name = "URL")]
    pub(crate) engine: Option<EngineAddress>,

    /// The nodes in their order, which decides where a record is; the next port of each is that of the engine's own protocol
    /// [default: those of the settings]
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,
}

/// Arguments of `z3950d engine-config`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetupArguments {
    #[command(flatten)]
    pub(crate) place: EngineArguments,

    /// The folder to write to: distributor.conf, node-1.conf and so on
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    pub(crate) output: PathBuf,

    /// The folder where the engine keeps its data: a folder below it for each server [default: that of --output]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long, alias = "force")]
    pub(crate) overwrite: bool,
}

/// Arguments of `z3950d load`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArguments {
    /// The files with records: ISO 2709, MARCXML, MARC-in-JSON or MARCMaker text
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: EngineArguments,

    /// Replace records of the same identifiers, and leave out records without an identifier. Without this option, records of the
    /// same identifiers are replaced too, since a load that was interrupted begins again
    #[arg(long, conflicts_with = "delete")]
    pub(crate) update: bool,

    /// Delete the records of the same identifiers instead
    #[arg(long)]
    pub(crate) delete: bool,

    /// Note in a file how far the load has come, also when a signal or a node stops it, and continue from there if the file exists
    #[arg(long, alias = "resume", value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}
