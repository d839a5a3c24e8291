//! Tests of saved databases and their journals: files and journals that belong together or do not, and the times at which
//! journals are folded.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use z3950_marc::{MarcRecord, iso2709};

use super::changes::{change, id, marc, titles};
use super::saved::files;
use crate::backend::UpdateAction;
use crate::lock::lock;
use crate::memory::journal::{Fingerprint, Journal, JournalContents, path_of};
use crate::memory::*;
use crate::testing::record;

/// The query that finds every record.
const ALL: &str = "@attr 1=1016 @attr 2=103 x";

/// A database `cat` saved to a file, with the records `a` and `b`.
struct SavedCat {
    folder: TempDir,
    path: PathBuf,
}

impl SavedCat {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cat.mrc");
        let records = [record("a", "War"), record("b", "Peace")];
        let octets = records.map(|record| iso2709::encode(&record).expect("valid"));
        fs::write(&path, octets.concat()).expect("written");
        Self { folder, path }
    }

    fn load(&self) -> Result<MemoryBackend, LoadError> {
        let files = files(&self.path, Some(&self.path));
        let loaded = MemoryBackend::builder().load([files], &|_| {});
        loaded.map(|(backend, _)| backend)
    }

    /// Loads the file. Waits until the previous backend, which has been dropped, has finished its last commit and released the
    /// file.
    fn open(&self) -> MemoryBackend {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match self.load() {
                Err(LoadError::Saved(z3950_files::Error::Busy { .. }))
                    if Instant::now() < deadline =>
                {
                    std::thread::yield_now();
                }
                loaded => return loaded.expect("records"),
            }
        }
    }

    fn refused(&self, words: &[&str]) {
        let told = self.load().map(drop).expect_err("refused").to_string();
        for words in words {
            assert!(told.contains(words), "{told}");
        }
    }

    fn journal(&self) -> PathBuf {
        path_of(&self.path)
    }

    /// Returns the titles of the records in the file.
    fn in_file(&self) -> Vec<String> {
        let copy = self.folder.path().join("copy.mrc");
        fs::copy(&self.path, &copy).expect("copied");
        let loaded = MemoryBackend::builder().load([files(&copy, None)], &|_| {});
        titles(&loaded.expect("records").0, ALL)
    }
}

fn put(backend: &MemoryBackend, new: &MarcRecord) {
    let outcomes = change(backend, UpdateAction::Special, &[marc(new)]);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

fn delete(backend: &MemoryBackend, docid: &'static str) {
    let outcomes = change(backend, UpdateAction::Delete, &[id(docid)]);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

/// Returns a backend with changes in its journal: `b` is replaced, `c` and `d` are added, and `c` is deleted again.
fn changed(cat: &SavedCat) -> MemoryBackend {
    let backend = cat.open();
    put(&backend, &record("c", "Emma"));
    put(&backend, &record("b", "Peace!"));
    put(&backend, &record("d", "Walden"));
    delete(&backend, "c");
    backend
}

const CHANGED: [&str; 3] = ["War", "Peace!", "Walden"];

#[test]
fn changes_are_in_the_journal_until_it_is_folded() {
    let cat = SavedCat::new();
    let backend = changed(&cat);
    assert_eq!(titles(&backend, ALL), CHANGED);
    assert_eq!(cat.in_file(), ["War", "Peace"], "the file is as it was");
    drop(backend);
    let backend = cat.open();
    assert_eq!(titles(&backend, ALL), CHANGED);
    let folded = backend.fold();
    let [Ok(folded)] = &*folded else {
        panic!("{folded:?}")
    };
    assert_eq!((folded.changes, folded.records), (4, 3));
    assert_eq!((&*folded.database, &folded.path), ("cat", &cat.path));
    assert!(!cat.journal().exists());
    assert_eq!(cat.in_file(), CHANGED);
    assert!(backend.fold().is_empty(), "nothing is left to fold");
    put(&backend, &record("e", "Ulysses"));
    assert!(cat.journal().exists(), "a new one begins");
    backend.reload(&|_| {}).expect("folds and reads");
    assert!(!cat.journal().exists());
    assert_eq!(titles(&backend, "ulysses"), ["Ulysses"]);
    assert_eq!(cat.in_file().len(), 4);
}

/// Interrupts folding at each step. After the next start, all changes must have been made exactly once and in order.
#[test]
fn interrupted_folding_does_no_harm() {
    let cat = SavedCat::new();
    let backend = changed(&cat);
    let keep = |path: &Path| fs::read(path).expect("present");
    let (old, journal) = (keep(&cat.path), keep(&cat.journal()));
    assert!(backend.fold().iter().all(Result::is_ok));
    drop(backend);
    let new = keep(&cat.path);
    let put_back = |file: &[u8], journal: &[u8]| {
        fs::write(&cat.path, file).expect("written");
        fs::write(cat.journal(), journal).expect("written");
    };
    let check = || {
        let backend = cat.open();
        assert_eq!(titles(&backend, ALL), CHANGED);
        put(&backend, &record("e", "Ulysses"));
        drop(backend);
        let backend = cat.open();
        assert_eq!(titles(&backend, ALL).len(), 4);
        assert!(backend.fold().iter().all(Result::is_ok));
        assert_eq!(cat.in_file().len(), 4);
    };
    // Folding is interrupted before it begins or while it writes the draft.
    put_back(&old, &journal);
    fs::write(cat.folder.path().join(".cat.mrc.draft"), "half").expect("written");
    check();
    // Folding is interrupted after it has announced the new file.
    put_back(&new, &journal);
    let folded = Fingerprint::of(&cat.path).expect("read").expect("a file");
    fs::write(&cat.path, &old).expect("written");
    let base = Fingerprint::of(&cat.path).expect("read").expect("a file");
    let open = Journal::open(&cat.path).expect("opens");
    open.announce(&base, &folded).expect("written");
    open.close();
    let announced = keep(&cat.journal());
    check();
    // Folding is interrupted after it has replaced the file.
    put_back(&new, &announced);
    check();
    // The new file without its announcement counts as a different file.
    put_back(&new, &journal);
    cat.refused(&["was changed by another program"]);
    assert_eq!(keep(&cat.path), new, "and stays as it is");
}

#[test]
fn a_file_and_a_journal_of_another_are_not_mixed() {
    let cat = SavedCat::new();
    drop(changed(&cat));
    let old = fs::read(&cat.path).expect("present");
    let other = iso2709::encode(&record("z", "By hand")).expect("valid");
    fs::write(&cat.path, &other).expect("written");
    cat.refused(&[
        "cat.mrc was changed by another program",
        "4 changes",
        "move the journal away",
    ]);
    assert_eq!(fs::read(&cat.path).expect("present"), other);
    fs::remove_file(&cat.path).expect("removed");
    cat.refused(&["there is no file", "4 changes", "put the file back"]);
    fs::write(&cat.path, &old).expect("written");
    let by_other_field = MemoryBackend::builder()
        .docid("035$a".parse().expect("a field"))
        .load([files(&cat.path, Some(&cat.path))], &|_| {});
    let told = by_other_field.map(drop).expect_err("refused").to_string();
    assert!(told.contains("001, not 035$a"), "{told}");
    assert_eq!(titles(&cat.open(), ALL), CHANGED);
    // The file and its journal can also be copied together to another place.
    let away = cat.folder.path().join("away");
    fs::create_dir(&away).expect("made");
    for path in [&cat.path, &cat.journal()] {
        fs::copy(path, away.join(path.file_name().expect("a name"))).expect("copied");
    }
    let path = away.join("cat.mrc");
    let moved = MemoryBackend::builder().load([files(&path, Some(&path))], &|_| {});
    assert_eq!(titles(&moved.expect("records").0, ALL), CHANGED);
    fs::write(cat.journal(), "rubbish").expect("written");
    cat.refused(&["cat.mrc.journal is damaged", "move it away"]);
}

#[test]
fn operations_on_a_journal_are_counted() {
    let cat = SavedCat::new();
    let backend = cat.open();
    let totals = |backend: &MemoryBackend| {
        let [totals] = &*backend.journals() else {
            panic!("one saved database")
        };
        assert_eq!((&*totals.database, totals.limit), ("cat", JOURNAL_OCTETS));
        let counts = (totals.commits, totals.folds, totals.failures);
        (totals.octets, counts, totals.last_failure.is_some())
    };
    assert_eq!(totals(&backend), (0, (0, 0, 0), false));
    put(&backend, &record("c", "Emma"));
    let (octets, counts, _) = totals(&backend);
    assert_eq!(counts, (1, 0, 0));
    delete(&backend, "b");
    // The deletion of a record whose docid has one octet takes 33 octets.
    assert_eq!(totals(&backend), (octets + 33, (2, 0, 0), false));
    drop(backend);
    let backend = cat.open();
    assert_eq!(totals(&backend), (octets + 33, (0, 0, 0), false));
    backend.reload(&|_| {}).expect("folds and reads");
    assert_eq!(totals(&backend), (0, (0, 1, 0), false));
    delete(&backend, "c");
    let saved = fs::read(&cat.path).expect("present");
    fs::write(&cat.path, [&saved[..], b"\n"].concat()).expect("written");
    assert!(backend.fold().iter().all(Result::is_err));
    assert_eq!(totals(&backend), (33, (1, 1, 1), true));
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action: UpdateAction::Delete,
        records: &[id("a")],
    };
    assert!(crate::requests::now(backend.update(update)).is_err());
    assert_eq!(totals(&backend), (33, (1, 1, 2), true));
}

/// The changes have docids from the old field, so they must be folded into the file before its records are read with the new
/// field.
#[test]
fn a_reload_with_another_docid_field_keeps_the_changes() {
    let cat = SavedCat::new();
    let backend = changed(&cat);
    let builder = || MemoryBackend::builder().docid("245$a".parse().expect("a field"));
    let files = || [files(&cat.path, Some(&cat.path))];
    let reloaded = backend.reload_as(builder(), files(), &|_| {});
    reloaded.expect("folds and reads").finish();
    assert!(!cat.journal().exists());
    assert_eq!(titles(&backend, ALL), CHANGED);
    assert_eq!(titles(&backend, "@attr 1=1032 d"), [""; 0]);
    assert_eq!(titles(&backend, "@attr 1=1032 Walden"), ["Walden"]);
    delete(&backend, "War");
    drop(backend);
    cat.refused(&["245$a, not 001"]);
    let (backend, _) = builder().load(files(), &|_| {}).expect("its field");
    assert_eq!(titles(&backend, ALL), CHANGED[1..]);
}

/// An edited file must not be read, written or combined with changes, as long as its journal contains any.
#[test]
fn a_hand_edit_beside_a_journal_is_refused() {
    let cat = SavedCat::new();
    let backend = changed(&cat);
    let old = fs::read(&cat.path).expect("present");
    let by_hand = iso2709::encode(&record("z", "By hand")).expect("valid");
    fs::write(&cat.path, &by_hand).expect("written");
    let update = Update {
        caller: crate::backend::Caller::new(),
        database: &DatabaseName::from("cat"),
        action: UpdateAction::Delete,
        records: &[id("a")],
    };
    let refused = crate::requests::now(backend.update(update)).expect_err("changed");
    assert_eq!(refused.condition, 1);
    for told in [
        backend.reload(&|_| {}).expect_err("changed").to_string(),
        backend.fold().remove(0).expect_err("changed").to_string(),
    ] {
        assert!(
            told.contains("cat.mrc was changed by another program"),
            "{told}"
        );
        assert!(told.contains("4 changes"), "{told}");
    }
    assert_eq!(fs::read(&cat.path).expect("present"), by_hand);
    assert_eq!(titles(&backend, ALL), CHANGED);
    // The old contents are put back with a new time, so the file must be read again before it can be changed.
    fs::write(&cat.path, old).expect("written");
    backend.reload(&|_| {}).expect("the file of the journal");
    delete(&backend, "d");
    assert!(backend.fold().iter().all(Result::is_ok));
    assert_eq!(cat.in_file(), ["War", "Peace!"]);
}

#[test]
fn a_journal_is_folded_at_its_limit() {
    let cat = SavedCat::new();
    let backend = cat.open();
    put(&backend, &record("c", "Emma"));
    let octets = {
        let contents = JournalContents::read(&cat.journal()).expect("valid");
        let changes = contents.expect("a journal").changes;
        let change = &changes[0];
        32 + change.id.len() + change.record.as_ref().map_or(0, |record| record.len())
    };
    drop(backend);
    let limit = u64::try_from(octets).expect("small");
    for (limit, is_folded) in [(limit, true), (limit + 1, false)] {
        let cat = SavedCat::new();
        let builder = MemoryBackend::builder().journal_octets(limit);
        let loaded = builder.load([files(&cat.path, Some(&cat.path))], &|_| {});
        let (backend, _) = loaded.expect("records");
        put(&backend, &record("c", "Emma"));
        assert_eq!(!cat.journal().exists(), is_folded, "{limit}");
        assert_eq!(cat.in_file().len(), if is_folded { 3 } else { 2 });
        assert_eq!(titles(&backend, ALL).len(), 3);
    }
}

/// Inserts records concurrently, and returns the number of insertions that succeeded. The changes wait until `meanwhile` is done,
/// and are then committed together.
async fn together(backend: &MemoryBackend, title: &str, meanwhile: impl FnOnce()) -> usize {
    const UPDATES: usize = 40;
    let insert = |number| {
        let (backend, title) = (backend.clone(), title.to_owned());
        tokio::spawn(async move {
            let new = marc(&record(&format!("{title}{number}"), &title));
            let update = Update {
                caller: crate::backend::Caller::new(),
                database: &DatabaseName::from("cat"),
                action: UpdateAction::Insert,
                records: &[new],
            };
            let outcomes = backend.update(update).await;
            outcomes.is_ok_and(|outcomes| outcomes.iter().all(Result::is_ok))
        })
    };
    let tasks: Vec<_> = {
        let _files = lock(&backend.0.files);
        let tasks = (0..UPDATES).map(insert).collect();
        while lock(&backend.0.queue).len() < UPDATES {
            std::thread::yield_now();
        }
        assert!(titles(backend, title).is_empty(), "none is visible yet");
        meanwhile();
        tasks
    };
    let mut done = 0;
    for task in tasks {
        done += usize::from(task.await.expect("it ends"));
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_side_by_side_share_a_commit() {
    let cat = SavedCat::new();
    let backend = cat.open();
    assert_eq!(together(&backend, "Many", || {}).await, 40);
    assert_eq!(titles(&backend, "many").len(), 40);
    // If the changes cannot be saved, none of them is made, and later changes are not built on them.
    let octets = fs::read(&cat.path).expect("present");
    let edit = || fs::write(&cat.path, [&octets[..], b"\n"].concat()).expect("written");
    assert_eq!(together(&backend, "Refused", edit).await, 0);
    assert_eq!(titles(&backend, "refused"), [""; 0]);
    fs::write(&cat.path, &octets).expect("written");
    backend.reload(&|_| {}).expect("the file of the journal");
    assert_eq!(together(&backend, "More", || {}).await, 40);
    drop(backend);
    let backend = cat.open();
    assert_eq!(titles(&backend, ALL).len(), 2 + 80);
}

#[cfg(unix)]
#[test]
fn a_link_and_its_file_share_one_journal() {
    let cat = SavedCat::new();
    let link = cat.folder.path().join("link.mrc");
    std::os::unix::fs::symlink(&cat.path, &link).expect("linked");
    let loaded = MemoryBackend::builder().load([files(&link, Some(&link))], &|_| {});
    let (backend, _) = loaded.expect("records");
    put(&backend, &record("c", "Emma"));
    assert!(cat.journal().exists());
    drop(backend);
    assert_eq!(titles(&cat.open(), ALL).len(), 3);
}
