//! Drafts of recordings made by tests. A complete draft replaces the previous recording.

use std::collections::HashSet;
use std::error::Error as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use z3950_asn1::apdu::Apdu;
use z3950_files::{Draft, Existing, Lock};

use crate::lock::lock;
use crate::metrics::SessionEnd;
use crate::observer::{Observer, SessionTotals};
use crate::transcript::JsonLog;

/// A recording that is being written to `FILE.part`, which is removed on drop.
pub(super) struct RecordingDraft {
    path: PathBuf,
    /// The name of the recorded server.
    server: String,
    draft: Draft,
    pub(super) log: Arc<JsonLog<File>>,
    answered: Arc<RecordedAnswers>,
    // This field is dropped last, so that the draft is renamed or removed while the file is locked.
    _lock: Lock,
}

impl RecordingDraft {
    /// Begins a recording of this server.
    ///
    /// # Errors
    /// The path is not a regular file, or the file cannot be written or is already being written.
    pub(super) fn begin(path: &Path, server: &str) -> io::Result<Self> {
        let lock = Lock::take(path).map_err(unwritten)?;
        let mut draft = Draft::visible(lock.target()).map_err(unwritten)?;
        let log = JsonLog::new(draft.file().try_clone()?);
        Ok(Self {
            path: path.to_owned(),
            server: server.to_owned(),
            draft,
            log: Arc::new(log.named(path.display().to_string())),
            answered: Arc::default(),
            _lock: lock,
        })
    }

    /// Returns the observer that writes the recording, and the observer that records whether the server answers.
    pub(super) fn observers(&self) -> [Arc<dyn Observer>; 2] {
        [Arc::clone(&self.log) as _, Arc::clone(&self.answered) as _]
    }

    /// Replaces the file with the draft.
    ///
    /// # Errors
    /// The recording is incomplete or has no sessions, or the file cannot be replaced.
    pub(super) fn finish(self) -> io::Result<()> {
        let path = self.path.display();
        let failure = self.log.failure().or_else(|| {
            let server = &self.server;
            let state = lock(&self.answered.0);
            let failure = match (&state.failure, state.sessions.is_empty()) {
                (Some(failure), _) => failure.clone(),
                (None, true) => format!("no session with {server}"),
                (None, false) => return None,
            };
            Some(format!("{path} is not recorded: {failure}"))
        });
        match failure {
            Some(failure) => Err(io::Error::other(failure)),
            None => {
                let persisted = self.draft.persist(Existing::Replace, true);
                persisted.map(drop).map_err(unwritten)
            }
        }
    }
}

/// Converts an error to an `io::Error` with the message and the kind of its cause.
fn unwritten(error: z3950_files::Error) -> io::Error {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    match cause {
        Some::<&io::Error>(cause) => io::Error::new(cause.kind(), format!("{error}: {cause}")),
        None => io::Error::other(error.to_string()),
    }
}

/// An observer that records whether the recorded server answers.
#[derive(Default)]
struct RecordedAnswers(Mutex<RecordedAnswersState>);

#[derive(Default)]
struct RecordedAnswersState {
    /// The sessions in which the server has sent something other than Close.
    sessions: HashSet<u64>,
    /// The reason for the end of the first session in which the recorded server did not answer.
    failure: Option<String>,
}

impl Observer for RecordedAnswers {
    fn sent(&self, session: u64, _: &[u8], apdu: Option<&Apdu>) {
        if apdu.is_some_and(|apdu| !matches!(apdu, Apdu::Close(_))) {
            lock(&self.0).sessions.insert(session);
        }
    }

    fn wants_totals(&self) -> bool {
        true
    }

    fn ended(&self, totals: &SessionTotals) {
        let state = &mut *lock(&self.0);
        if totals.end == SessionEnd::Upstream && !state.sessions.contains(&totals.session) {
            let why = totals
                .last_error
                .as_deref()
                .unwrap_or("the server ended a session without an answer");
            state.failure.get_or_insert_with(|| why.to_owned());
        }
    }
}
