//! The prompt's open session, the changes that a command makes in it, and the records that the prompt has shown. The
//! last record is kept for `update`, and all records are written to the file that `set_marcdump` names.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use z3950::service::ResultRecord;
use z3950::session::Session;
use z3950_asn1::apdu::External;
use z3950_asn1::record::RetrievedRecord;
use z3950_files::Growing;

use crate::answer::{Answer, Piece};
use crate::console::exit::Exit;
use crate::console::output::Words;
use crate::console::pages::PageReader;

/// The prompt's open session, for use by a command.
#[derive(Clone)]
pub(crate) struct OpenSession {
    pub(super) session: Session,
    /// The name to give to the result set of a command's search.
    pub(crate) set: String,
    pub(super) left: Arc<Mutex<SessionChanges>>,
    pub(super) seen: Seen,
    /// The user who reads records page by page; `None` if there is no such user.
    pub(super) reader: Option<Arc<dyn PageReader>>,
}

/// The changes that a command has made in a session. They are kept even if the command is interrupted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionChanges {
    /// Whether the command has sent a search. The search has replaced the result set with the name
    /// [`OpenSession::set`].
    pub(crate) has_searched: bool,
    pub(crate) new_set: Option<NewResultSet>,
}

/// The result set that a search has created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewResultSet {
    /// The number of hits; `None` if the server does not know it.
    pub(crate) hits: Option<u64>,
    /// The position after the last record that was shown.
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

    /// Returns the changes that the command has made so far.
    pub(crate) fn left(&self) -> SessionChanges {
        *self.lock()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SessionChanges> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives every record that is shown. All clones share the same state.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<SeenRecords>>);

#[derive(Default)]
struct SeenRecords {
    last: Option<External>,
    /// The file to which records are appended, with its path.
    file: Option<(String, Growing)>,
}

impl Seen {
    /// If a piece contains a record, stores the record and appends it to the file. If this fails, the error is added to
    /// the answer.
    pub(crate) fn note(
        &self,
        slot: &ResultRecord,
        (mut piece, mut answer): (Piece, Answer),
    ) -> (Piece, Answer) {
        if let ResultRecord::Record { external, .. } = slot
            && let Err(words) = self.take(external)
        {
            piece.words.push(Words::Error(words));
            answer.exit = answer.exit.and(Exit::Unexpected);
        }
        (piece, answer)
    }

    fn kept(&self) -> MutexGuard<'_, SeenRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a record as the last one, and appends it to the file.
    ///
    /// # Errors
    /// Fails with a message if the file cannot be written.
    pub(crate) fn take(&self, record: &External) -> Result<(), String> {
        let mut kept = self.kept();
        kept.last = Some(record.clone());
        let Some((path, file)) = &mut kept.file else {
            return Ok(());
        };
        let written = file.write_all(&RetrievedRecord::octets_of(record));
        written.map_err(|error| format!("{path}: {error}"))
    }

    /// Returns the record that was shown last; `None` if no record has been shown.
    pub(crate) fn last(&self) -> Option<External> {
        self.kept().last.clone()
    }

    /// Sets the file to which records are appended from now on; `None` for no file.
    pub(crate) fn dump_to(&self, file: Option<(String, Growing)>) {
        self.kept().file = file;
    }

    /// Returns the path of the file to which records are appended, if there is one.
    pub(crate) fn dump(&self) -> Option<String> {
        self.kept().file.as_ref().map(|(path, _)| path.clone())
    }
}
