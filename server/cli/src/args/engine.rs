//! The arguments of the commands for a search engine.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use z3950_front::engine::opensearch::ClusterAddress;

/// A command for a search engine.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Create the index of a database with `engine`, without records.
    EngineCreate(CreateArguments),
    /// Load records into a search engine.
    Load(LoadArguments),
}

/// The arguments that select the search engine, in the settings or by its address.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineArguments {
    /// The server's settings file, which describes the database with an engine and the indexes
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The address of a node and the index, such as http://127.0.0.1:9200/books. It is needed if the settings contain several
    /// databases with an engine, or none
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

    /// Replace records that have the same identifiers, and leave out records without an identifier. Without this option, records
    /// with the same identifiers are replaced too, so that an interrupted load can be repeated
    #[arg(long, conflicts_with = "delete")]
    pub(crate) update: bool,

    /// Delete the records that have the same identifiers instead of loading records
    #[arg(long)]
    pub(crate) delete: bool,

    /// Fill a new index while the old one answers, and then replace the old one. Meanwhile, the old index accepts no changes
    #[arg(long, conflicts_with_all = ["update", "delete"])]
    pub(crate) reload: bool,

    /// With --reload, delete what an interrupted reload has left behind, and begin again
    #[arg(long, alias = "force", requires = "reload")]
    pub(crate) overwrite: bool,

    /// Save the progress of the load in a file, even if a signal or a node stops the load, and continue from there if the file
    /// exists
    #[arg(long, visible_alias = "resume", value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

/// Arguments of `z3950d try-catalogue`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LookArguments {
    /// The address of a node and the index, such as http://127.0.0.1:9200/koha_library_biblios or
    /// http://127.0.0.1:8983/solr/biblio
    #[arg(value_name = "URL", value_parser = ClusterAddress::of_catalogue)]
    pub(crate) address: ClusterAddress,

    /// Trust these certificates for https:// in addition to the system's, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// A file with one line, NAME:PASSWORD or ApiKey KEY, for an engine that requires credentials
    #[arg(long, value_name = "FILE")]
    pub(crate) credentials: Option<PathBuf>,
}
