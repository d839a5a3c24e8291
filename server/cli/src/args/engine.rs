//! The arguments of the commands for a search engine.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use z3950_front::engine::opensearch::ClusterAddress;

/// What is done for a search engine.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Create the index of a database with `engine`, without records.
    EngineCreate(CreateArguments),
    /// Load records into a search engine.
    Load(LoadArguments),
}

/// Which engine: the one of the settings, or the one of the other arguments.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineArguments {
    /// The settings of the server: the database with an engine, and the indexes
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A node and the index, such as http://127.0.0.1:9200/books, if the settings have several databases with an engine, or none
    #[arg(long, value_name = "URL")]
    pub(crate) engine: Option<ClusterAddress>,
}

/// Arguments of `z3950d engine-create`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    pub(crate) place: EngineArguments,

    /// Print the settings and the mapping of the index, and create nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
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

    /// Fill a new index while the old one answers, and then put it in its place. Meanwhile the old one takes no changes
    #[arg(long, conflicts_with_all = ["update", "delete"])]
    pub(crate) reload: bool,

    /// With --reload, delete what a reload that was interrupted has left behind, and begin anew
    #[arg(long, alias = "force", requires = "reload")]
    pub(crate) overwrite: bool,

    /// Note in a file how far the load has come, also when a signal or a node stops it, and continue from there if the file exists
    #[arg(long, visible_alias = "resume", value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

/// Arguments of `z3950d try-catalogue`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LookArguments {
    /// A node and the index, such as http://127.0.0.1:9200/koha_library_biblios or http://127.0.0.1:8983/solr/biblio
    #[arg(value_name = "URL", value_parser = ClusterAddress::of_catalogue)]
    pub(crate) address: ClusterAddress,

    /// Trust these certificates of https:// beyond the system's, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// A file with one line, NAME:PASSWORD or ApiKey KEY, for an engine that asks for it
    #[arg(long, value_name = "FILE")]
    pub(crate) credentials: Option<PathBuf>,
}
