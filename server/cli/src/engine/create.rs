//! `z3950d engine-create`: creates the index of a database, without records.

use std::io::{self, Write};

use tokio::runtime::Runtime;
use z3950_front::engine::opensearch::{ClusterIndex, IndexError};

use super::failed;
use crate::args::CreateArguments;
use crate::config::ClusterSettings;
use crate::failure::{Exit, Failure, note};

/// Creates the index, or prints the description of the index to be created.
pub(super) fn run(
    arguments: &CreateArguments,
    index: &ClusterIndex,
    settings: &ClusterSettings,
    runtime: &Runtime,
) -> Result<Exit, Failure> {
    if arguments.dry_run {
        let description = index.description();
        let written = writeln!(io::stdout(), "{description:#}");
        return match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::unexpected(error))
            }
            _ => Ok(Exit::Stopped),
        };
    }
    let created = runtime.block_on(async {
        let (name, is_new) = index.create().await?;
        match index.check().await {
            // The shards of a new index may need a moment to start. Nothing has been loaded yet, so an incomplete index does no
            // harm.
            Ok(_) | Err(IndexError::Incomplete(_)) => Ok((name, is_new)),
            Err(error) => Err(error),
        }
    });
    let (name, is_new) = created.map_err(|error| failed(&error))?;
    let alias = settings.options.index();
    if is_new {
        note(&format_args!("created: {name}, with the alias {alias}"));
    } else {
        note(&format_args!(
            "nothing to do: {alias} exists, and matches the settings"
        ));
    }
    Ok(Exit::Stopped)
}
