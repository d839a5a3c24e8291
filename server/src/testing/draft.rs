//! A recording that a test makes: it replaces the one before when the test has passed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::observer::Observer;
use crate::transcript::JsonLog;

/// A recording that is being written to `FILE.part`.
pub(super) struct RecordingDraft {
    path: PathBuf,
    part: PathBuf,
    log: Arc<JsonLog<File>>,
}

impl RecordingDraft {
    /// Begins a recording for this file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub(super) fn begin(path: &Path) -> Self {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", part.display()));
        Self {
            path: path.to_owned(),
            part,
            log: Arc::new(JsonLog::new(file)),
        }
    }

    /// What writes it.
    pub(super) fn log(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.log) as Arc<dyn Observer>
    }
}

impl Drop for RecordingDraft {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        if let Err(error) = fs::rename(&self.part, &self.path) {
            panic!("{}: {error}", self.path.display());
        }
    }
}
