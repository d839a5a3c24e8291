//! Measures the costs of processes, which are started by a small C program, and builds the C programs for this run.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use z3950_tests::surroundings::command;

use crate::peers::SERVER_CORE;

/// The programs written in C: those that are built for this run, and zoomsh.
pub(crate) struct Programs {
    measure: PathBuf,
    /// The program for lookups with the ZOOM C API.
    pub(crate) zoom: PathBuf,
    /// YAZ's shell for ZOOM.
    pub(crate) zoomsh: PathBuf,
    folder: TempDir,
}

/// The costs of a program's runs.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Wall-clock milliseconds per run.
    pub(crate) wall: f64,
    /// Milliseconds of CPU time, user and system, per run.
    pub(crate) cpu: f64,
    /// The peak memory of a run, in MiB.
    pub(crate) peak: f64,
}

impl Programs {
    /// Builds the programs. If something is missing, prints a message and returns `None`.
    pub(crate) fn find() -> Option<Self> {
        let zoomsh = z3950_tests::peer::find("zoomsh")?;
        let folder = tempfile::tempdir().expect("a folder");
        let built = |name: &str, libraries: &[&str]| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("benches/client/zoom")
                .join(format!("{name}.c"));
            let program = folder.path().join(name);
            let mut compiler = command("cc");
            compiler.args(["-O2", "-Wall", "-o"]).arg(&program);
            let status = compiler.arg(source).args(libraries).status();
            let is_built = status.is_ok_and(|status| status.success());
            if !is_built {
                println!("skipped: {name}.c cannot be compiled; libyaz-dev is needed");
            }
            is_built.then_some(program)
        };
        Some(Self {
            measure: built("measure", &[])?,
            zoom: built("lookups", &["-lyaz"])?,
            zoomsh,
            folder,
        })
    }

    /// Returns the path of a file in the working folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a copy of the program that is written sequentially, like an installed program. A file written by the linker is
    /// fragmented in the page cache, so the program would be mapped more slowly.
    pub(crate) fn installed(&self, program: &Path) -> PathBuf {
        let installed = self.file("installed");
        std::fs::copy(program, &installed).expect("a copy");
        installed
    }

    /// Runs a program `times` times, and returns its costs. If a run fails, prints a message and returns `None`. The program
    /// shares a core with the server, because waking another core for every request would cost more than the request itself,
    /// and is not a cost of the client.
    pub(crate) fn cost<S: AsRef<OsStr>>(&self, times: u32, command: &[S]) -> Option<Cost> {
        let output = z3950_tests::surroundings::command("taskset")
            .args(["-c", SERVER_CORE])
            .arg(&self.measure)
            .arg(times.to_string())
            .args(command)
            .output()
            .expect("taskset starts");
        let line = String::from_utf8_lossy(&output.stdout);
        let figures: HashMap<&str, f64> = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        let figure = |name: &str| figures.get(name).copied();
        if figure("failed") != Some(0.0) {
            let program = command.first().map(AsRef::as_ref).map(Path::new);
            let errors = String::from_utf8_lossy(&output.stderr);
            println!("{program:?} failed, {}: {}", line.trim(), errors.trim());
            return None;
        }
        let each = 1e3 / f64::from(times);
        Some(Cost {
            wall: figure("wall")? * each,
            cpu: figure("cpu")? * each,
            peak: figure("peak")? / 1024.0,
        })
    }
}
