//! `z3950d engine-config`: the engine's configuration files.

use std::fs;
use std::path::{Path, PathBuf};

use z3950_front::engine::{EngineOptions, EngineSetup};

use super::settings_of;
use crate::args::SetupArguments;
use crate::failure::{Exit, Failure, note};

/// Writes the files.
pub(super) fn write(arguments: &SetupArguments) -> Result<Exit, Failure> {
    let (config, settings) = settings_of(&arguments.place)?;
    let layout = super::layout(&config, &settings)?;
    let EngineOptions {
        replicas,
        nodes,
        answer_time,
        ..
    } = &settings.options;
    let index = replicas.first().map_or("", |first| &first.index);
    let setup = EngineSetup {
        layout: &layout,
        index,
        replicas,
        nodes,
        answer_time: *answer_time,
    };
    let output = folder(&arguments.output)?;
    let data = match &arguments.data {
        Some(data) => std::path::absolute(data).map_err(Failure::unexpected)?,
        None => output.clone(),
    };
    let of = |name: &str| data.join(name);
    let mut files = Vec::new();
    for (number, node) in (1..).zip(nodes) {
        let name = format!("node-{number}");
        files.push((setup.node(node, &of(&name)), name));
    }
    for (number, address) in (1..).zip(replicas) {
        let name = match replicas.len() {
            1 => "distributor".to_owned(),
            _ => format!("distributor-{number}"),
        };
        let text = setup.distributor(&address.to_string(), &of(&name));
        files.push((text, name));
    }
    for (text, name) in files {
        let text = text.map_err(Failure::usage)?;
        let path = output.join(format!("{name}.conf"));
        if path.exists() && !arguments.overwrite {
            let words = format!("{} exists; --overwrite replaces it", path.display());
            return Err(Failure::usage(words));
        }
        if arguments.data.is_none() {
            folder(&of(&name))?;
        }
        let written = fs::write(&path, text);
        written.map_err(|error| cannot_write(&path, error))?;
        note(&format_args!("written: {}", path.display()));
    }
    Ok(Exit::Stopped)
}

/// Creates a folder, unless it exists; returns its absolute path.
fn folder(path: &Path) -> Result<PathBuf, Failure> {
    let made = fs::create_dir_all(path).and_then(|()| std::path::absolute(path));
    made.map_err(|error| cannot_write(path, error))
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::cannot(&format!("cannot write {}", path.display()), error)
}
