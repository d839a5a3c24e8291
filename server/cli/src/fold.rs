//! Folds journals into the files of their databases, when the server stops and with `--fold`.

use std::path::Path;

use z3950_server::MemoryBackend;
use z3950_server::memory::{DatabaseFiles, FoldedFile, Note, check_journal};

use crate::available;
use crate::failure::{Exit, Failure, chain, complain, note};
use crate::load;
use crate::words::counted;

/// Folds the journals of all databases. A journal that cannot be folded keeps its changes until the next start.
pub(crate) fn at_the_end(backend: &MemoryBackend) -> Exit {
    let mut exit = Exit::Stopped;
    for folded in backend.fold() {
        if let Err(error) = folded {
            exit = Exit::Unexpected;
            let cause = chain(&error);
            complain(&format_args!(
                "a journal is not folded, and keeps its changes: {cause}"
            ));
        }
    }
    exit
}

/// Folds the journal of a file, and prints the result.
pub(crate) fn file(file: &Path) -> Result<Exit, Failure> {
    let shown = file.display();
    let what = format!("cannot fold the journal of {shown}");
    let journal = check_journal(file, None).map_err(|error| Failure::cannot(&what, error))?;
    let Some(journal) = journal else {
        if !file.exists() {
            return Err(Failure::usage(format!("there is no file {shown}")));
        }
        note(&format_args!(
            "{shown} has no journal: there is nothing to fold"
        ));
        return Ok(Exit::Stopped);
    };
    let mut database = DatabaseFiles::default();
    database.name = shown.to_string();
    database.save = Some(file.to_owned());
    let builder = MemoryBackend::builder()
        .docid(journal.docid)
        .headroom(available::headroom);
    let loaded = builder.load([database], &|_| {});
    let (backend, notes) = loaded.map_err(|error| Failure::cannot(&what, error))?;
    load::tell(&notes);
    let mut all = notes.iter().flat_map(|file| &file.notes);
    if all.any(Note::is_loss) || notes.iter().any(|file| file.more > 0) {
        complain(&format_args!(
            "{shown} is not written, because these records would be lost: repair it first (z3950 convert)"
        ));
        return Ok(Exit::FaultsFound);
    }
    if journal.changes == 0 {
        let journal = journal.path.display();
        note(&format_args!(
            "{journal} holds no changes: there is nothing to fold"
        ));
    }
    for folded in backend.fold() {
        let FoldedFile {
            changes, records, ..
        } = folded.map_err(|error| Failure::cannot(&what, error))?;
        let journal = journal.path.display();
        let changes = counted(changes, "change");
        let records = counted(records as u64, "record");
        note(&format_args!(
            "folded {changes} of {journal} into {shown}, which has {records}"
        ));
    }
    Ok(Exit::Stopped)
}
