//! The `--judge` reports on what clients sent. They are written once, when the program ends, even if it has to end quickly.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use z3950_files::{Existing, Reserved};
use z3950_judge::client::{ClientJudge, ClientReport};
use z3950_server::Observer;

use crate::config::Config;
use crate::failure::{Exit, Failure, chain, complain, note};
use crate::settings;
use crate::words::counted;

/// The reports that will be written at the end.
pub(crate) struct ClientReports {
    judge: Arc<ClientJudge>,
    files: Mutex<Vec<(PathBuf, Reserved)>>,
}

impl ClientReports {
    /// Reserves the files of the reports; returns `None` if no report is configured.
    ///
    /// # Errors
    /// A file exists, or cannot be written.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, Failure> {
        let files = config.judge.iter().map(|path| {
            let existing = Existing::forced(config.overwrite);
            let file = settings::no_pipe(path)
                .and_then(|()| Reserved::take(path, existing))
                .map_err(|error| settings::unwritten("--judge", error))?;
            Ok((path.clone(), file))
        });
        let files: Vec<_> = files.collect::<Result<_, Failure>>()?;
        Ok((!files.is_empty()).then(|| Self {
            judge: Arc::default(),
            files: Mutex::new(files),
        }))
    }

    /// Returns the observer that judges sessions while they are in progress.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.judge) as Arc<dyn Observer>
    }

    /// Writes the reports and prints a message; does nothing if they have already been written.
    ///
    /// # Errors
    /// Returns the error for the first file that cannot be written. The remaining files are still written.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        // The lock is held until all reports are written, so that a second signal waits for them.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.is_empty() {
            return Ok(());
        }
        let report = self.judge.report();
        let total = report.total();
        note(&format_args!(
            "judged {}: {} of the standard, {}",
            counted(report.judged, "session"),
            counted(total.fail, "violation"),
            counted(total.hint, "hint"),
        ));
        let mut outcome = Ok(());
        for (path, file) in files.drain(..) {
            match put(&report, &path, file) {
                Ok(()) => note(&format_args!(
                    "report on clients written to {}",
                    path.display()
                )),
                Err(error) if outcome.is_ok() => {
                    let words = format!("cannot write {} (--judge): {error}", path.display());
                    let exit = Exit::Unexpected;
                    outcome = Err(Failure { exit, words });
                }
                Err(error) => complain(&format_args!(
                    "cannot write {} (--judge): {error}",
                    path.display()
                )),
            }
        }
        outcome
    }
}

/// Writes a report in the format that the file extension determines.
fn put(report: &ClientReport, path: &Path, file: Reserved) -> Result<(), String> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let text = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("json") => format!("{:#}\n", report.to_json()),
        Some("xml") => report.to_junit(),
        _ => report.to_text(),
    };
    let mut file = file.begin().map_err(|error| chain(&error))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
    written.map_err(|error: io::Error| error.to_string())?;
    file.finish()
        .map_err(|error: z3950_files::Error| chain(&error))
}
