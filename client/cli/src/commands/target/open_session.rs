//! The open session of the prompt, and what a command leaves in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use z3950::session::Session;

use crate::commands::seen::Seen;
use crate::console::pages::PageReader;

/// The open session of the prompt, as a command uses it.
#[derive(Clone)]
pub(crate) struct OpenSession {
    pub(super) session: Session,
    /// The name for the result set of a search.
    pub(crate) set: String,
    pub(super) left: Arc<Mutex<Left>>,
    pub(super) seen: Seen,
    /// The user who reads pages.
    pub(super) reader: Option<Arc<dyn PageReader>>,
}

/// What a command has changed in a session, even if it was interrupted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Left {
    /// Whether it has sent a search, which replaces the result set of that name.
    pub(crate) has_searched: bool,
    pub(crate) made: Option<Made>,
}

/// The result set of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    /// `None` if unknown to the server.
    pub(crate) hits: Option<u64>,
    /// The position after the last record shown.
    pub(crate) next: u64,
}

impl OpenSession {
    pub(crate) fn new(
        session: Session,
        set: String,
        seen: Seen,
        reader: Option<Arc<dyn PageReader>>,
    ) -> Self {
        Self {
            reader,
            session,
            set,
            left: Arc::default(),
            seen,
        }
    }

    /// What the command has changed so far.
    pub(crate) fn left(&self) -> Left {
        *self.lock()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
