//! The logs of a running server, which can be reopened after their files have been rotated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use z3950_files::Growing;
use z3950_server::Observer;
use z3950_server::transcript::{ApduLog, JsonLog, MissingLog};

use crate::access_log::{AccessLog, STDERR};
use crate::config::Config;
use crate::failure::Failure;
use crate::settings;

/// The configured logs.
#[derive(Clone)]
pub(crate) struct Logs {
    apdus: Option<Arc<ApduLog<Growing>>>,
    transcript: Option<Arc<JsonLog<Growing>>>,
    missing: Option<Arc<MissingLog<Growing>>>,
    access: Option<Arc<AccessLog>>,
}

impl Logs {
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let apdus = settings::apdu_log(config).map(|log| begun("--apdu-log", log));
        let option = format!("--{}", settings::transcript_key(config));
        let transcript = settings::transcript(config).map(|log| begun(&option, log));
        let missing = settings::missing(config).map(|log| begun("--report-missing", log));
        let access = settings::access_log(config);
        Ok(Self {
            apdus: apdus.transpose()?.map(|log| {
                let name = name_of(&log);
                Arc::new(ApduLog::new(log).named(name))
            }),
            transcript: transcript.transpose()?.map(|log| {
                let name = name_of(&log);
                Arc::new(JsonLog::new(log).named(name))
            }),
            missing: missing.transpose()?.map(|log| {
                let name = name_of(&log);
                Arc::new(MissingLog::new(log).named(name))
            }),
            access: access.transpose()?.map(Arc::new),
        })
    }

    /// Returns a message for each log that is incomplete because writing failed.
    pub(crate) fn failures(&self) -> Vec<String> {
        let apdus = self.apdus.as_ref().and_then(|log| log.failure());
        let transcript = self.transcript.as_ref().and_then(|log| log.failure());
        let missing = self.missing.as_ref().and_then(|log| log.failure());
        [apdus, transcript, missing].into_iter().flatten().collect()
    }

    /// Returns the observers that write the logs while sessions are in progress.
    pub(crate) fn observers(&self) -> Vec<Arc<dyn Observer>> {
        let mut all: Vec<Arc<dyn Observer>> = Vec::new();
        all.extend(self.apdus.clone().map(|log| log as Arc<dyn Observer>));
        all.extend(self.transcript.clone().map(|log| log as Arc<dyn Observer>));
        all.extend(self.missing.clone().map(|log| log as Arc<dyn Observer>));
        all.extend(self.access.clone().map(|log| log as Arc<dyn Observer>));
        all
    }

    /// Opens new files for the logs whose files have been moved. Returns the path of each log, or the reason why its old file
    /// stays in use.
    pub(crate) fn follow(&self, config: &Config) -> Vec<Result<PathBuf, Failure>> {
        let followed = |log: &mut Growing| match log.follow() {
            Ok(()) => Ok(log.path().to_owned()),
            Err(error) => Err(z3950_files::Error::unwritable(log.path())(error)),
        };
        let apdus = self.apdus.as_ref().map(|log| log.change(followed));
        let transcript = self.transcript.as_ref().map(|log| {
            let path = log.change(followed)?;
            log.continued();
            Ok(path)
        });
        let key = settings::transcript_key(config);
        let written =
            |key: &'static str| move |error| settings::unwritten(&format!("--{key}"), error);
        let is_file = |path: &&PathBuf| path.as_path() != Path::new(STDERR);
        let access = self
            .access
            .as_ref()
            .zip(config.access_log.as_ref().filter(is_file));
        let access = access.and_then(|(log, path)| {
            let opened = settings::access_log(config)?;
            Some(opened.map(|opened| {
                log.replace(opened);
                path.clone()
            }))
        });
        [
            access,
            apdus.map(|followed| followed.map_err(written("apdu-log"))),
            transcript.map(|followed| followed.map_err(written(key))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Replaces the access log, starts it if there was none, or stops it if `access` is `None`.
    pub(crate) fn replace_access(&mut self, access: Option<AccessLog>) {
        match (&self.access, access) {
            // Open sessions refer to the existing log, so only its file is replaced, and the sessions continue in the new file.
            (Some(known), Some(new)) => known.replace(new),
            (_, new) => self.access = new.map(Arc::new),
        }
    }
}

fn name_of(log: &Growing) -> String {
    log.path().display().to_string()
}

/// Creates a log file immediately, so that other programs can follow it.
fn begun(option: &str, log: Result<Growing, z3950_files::Error>) -> Result<Growing, Failure> {
    let begun = log.and_then(|mut log| {
        let path = log.path().to_owned();
        log.begin().map_err(z3950_files::Error::unwritable(&path))?;
        Ok(log)
    });
    begun.map_err(|error| settings::unwritten(option, error))
}
