//! Processes and what they cost, told by a small C program that starts them; and the field's client, built for this run.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::peers::SERVER_CORE;

/// The C programs.
pub(crate) struct Programs {
    measure: PathBuf,
    /// Lookups by the ZOOM C API.
    pub(crate) zoom: PathBuf,
    /// The field's client for people.
    pub(crate) zoomsh: PathBuf,
    folder: TempDir,
}

/// What the runs of a program cost together.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Milliseconds on the clock, for each run.
    pub(crate) wall: f64,
    /// Milliseconds of CPU, the kernel's for it included, for each run.
    pub(crate) cpu: f64,
    /// The most memory that a run held, in MiB.
    pub(crate) peak: f64,
}

impl Programs {
    /// Builds the programs; `None`, and why, where something is missing.
    pub(crate) fn find() -> Option<Self> {
        let zoomsh = z3950_tests::peer::find("zoomsh")?;
        let folder = tempfile::tempdir().expect("a folder");
        let built = |name: &str, libraries: &[&str]| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("benches/client/zoom")
                .join(format!("{name}.c"));
            let program = folder.path().join(name);
            let mut compiler = Command::new("cc");
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

    /// A place for a file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program as an installation leaves it, a copy written in order. A file that a linker has just written lies in
    /// memory in small pieces, and takes longer to map than any program in use.
    pub(crate) fn installed(&self, program: &Path) -> PathBuf {
        let installed = self.file("installed");
        std::fs::copy(program, &installed).expect("a copy");
        installed
    }

    /// Runs a program so many times, one run after the other; `None`, said aloud, if one of them failed. It shares a core with
    /// the server: to wake another one for every request costs more than the request, and nothing of that is the client's.
    pub(crate) fn cost<S: AsRef<OsStr>>(&self, times: u32, command: &[S]) -> Option<Cost> {
        let output = Command::new("taskset")
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
