//! The logs of a running server, and how they are opened again.

use std::sync::Arc;

use z3950_asn1::file::{self, Growing};
use z3950_server::Observer;
use z3950_server::transcript::{ApduLog, JsonLog};

use crate::access_log::AccessLog;
use crate::config::Config;
use crate::failure::Failure;
use crate::settings;

/// The configured logs.
pub(crate) struct Logs {
    apdus: Option<Arc<ApduLog<Growing>>>,
    transcript: Option<Arc<JsonLog<Growing>>>,
    access: Option<Arc<AccessLog>>,
}

impl Logs {
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let apdus = settings::apdu_log(config).map(|log| begun("--apdu-log", log));
        let transcript = settings::transcript(config).map(|log| begun("--transcript", log));
        let access = settings::access_log(config);
        Ok(Self {
            apdus: apdus.transpose()?.map(|log| Arc::new(ApduLog::new(log))),
            transcript: transcript
                .transpose()?
                .map(|log| Arc::new(JsonLog::new(log))),
            access: access.transpose()?.map(Arc::new),
        })
    }

    /// What writes the logs as events happen.
    pub(crate) fn observers(&self) -> Vec<Arc<dyn Observer>> {
        let mut all: Vec<Arc<dyn Observer>> = Vec::new();
        all.extend(self.apdus.clone().map(|log| log as Arc<dyn Observer>));
        all.extend(self.transcript.clone().map(|log| log as Arc<dyn Observer>));
        all.extend(self.access.clone().map(|log| log as Arc<dyn Observer>));
        all
    }

    /// Continues logs whose files were moved away in new files.
    pub(crate) fn follow(&self) -> Result<(), Failure> {
        let apdus = self.apdus.as_ref();
        let transcript = self.transcript.as_ref();
        let followed = |log: &mut Growing| {
            let unwritable = file::Error::unwritable(log.path());
            log.follow().map_err(unwritable)
        };
        let written = |option: &'static str| move |error| settings::unwritten(option, error);
        let followed_apdus = apdus.map_or(Ok(()), |log| log.change(followed));
        followed_apdus.map_err(written("--apdu-log"))?;
        let followed_transcript = transcript.map_or(Ok(()), |log| log.change(followed));
        followed_transcript.map_err(written("--transcript"))
    }

    /// Continues the access log in another file, or begins or ends it.
    pub(crate) fn replace_access(&mut self, access: Option<AccessLog>) {
        match (&self.access, access) {
            // Sessions that are open continue there too.
            (Some(known), Some(new)) => known.replace(new),
            (_, new) => self.access = new.map(Arc::new),
        }
    }
}

/// Creates the log of an option at once, so that other programs can follow it.
fn begun(option: &str, log: Result<Growing, file::Error>) -> Result<Growing, Failure> {
    let begun = log.and_then(|mut log| {
        let path = log.path().to_owned();
        log.begin().map_err(file::Error::unwritable(&path))?;
        Ok(log)
    });
    begun.map_err(|error| settings::unwritten(option, error))
}
