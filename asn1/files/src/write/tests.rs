//! Tests for complete and growing files, written by one run or by two.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use super::*;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("it is there");
    (folder, path)
}

/// Returns the name and contents of each file in a folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            (name, text)
        })
        .collect();
    files.sort();
    files
}

fn has(folder: &Path, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(files(folder), expected);
}

#[test]
fn audit_a1_a_whole_file_appears_when_it_is_finished() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let begin = |existing| {
        let mut whole = Whole::create(&path, existing).expect("begins");
        whole.write_all(b"new").expect("written");
        whole
    };
    drop(begin(Existing::Refuse));
    has(&folder, &[]);
    begin(Existing::Refuse).finish().expect("finished");
    has(&folder, &[("y.mrc", "new")]);
    fs::write(&path, "old").expect("written");
    let error = Whole::create(&path, Existing::Refuse).expect_err("it is there");
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    // Until the new file is finished, the old file stays, and the octets written so far can be kept.
    let kept = begin(Existing::Replace).keep().expect("kept");
    assert_eq!(kept, Some(folder.join("y.mrc.part")));
    begin(Existing::Replace).keep().expect("kept");
    has(
        &folder,
        &[
            ("y.mrc", "old"),
            ("y.mrc.part", "new"),
            ("y.mrc.part.2", "new"),
        ],
    );
    begin(Existing::Replace).finish().expect("finished");
    assert_eq!(fs::read_to_string(&path).expect("read"), "new");
    fs::write(&path, "").expect("written");
    begin(Existing::Refuse)
        .finish()
        .expect("an empty file has nothing to lose");
    assert_eq!(fs::read_to_string(&path).expect("read"), "new");
}

#[test]
fn audit_a1_a_file_created_meanwhile_is_not_replaced() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let mut whole = Whole::create(&path, Existing::Refuse).expect("begins");
    whole.write_all(b"new").expect("written");
    fs::write(&path, "of another program").expect("written");
    let error = whole.finish().expect_err("it is there").to_string();
    assert!(
        error.contains("already exists; what was written is in ") && error.ends_with("y.mrc.part"),
        "{error}"
    );
    has(
        &folder,
        &[("y.mrc", "of another program"), ("y.mrc.part", "new")],
    );
}

#[test]
fn audit_a1_a_growing_file_changes_with_its_first_octet() {
    let (_guard, folder) = folder();
    let path = folder.join("report.tsv");
    drop(Growing::create(&path, Existing::Refuse).expect("opens"));
    has(&folder, &[]);
    let mut growing = Growing::create(&path, Existing::Refuse).expect("opens");
    growing.write_all(b"one").expect("written");
    drop(growing);
    has(&folder, &[("report.tsv", "one")]);
    let error = Growing::create(&path, Existing::Refuse).expect_err("it is there");
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    drop(Growing::create(&path, Existing::Replace).expect("opens"));
    has(&folder, &[("report.tsv", "one")]);
    let mut growing = Growing::resume(&path).expect("opens");
    growing.write_all(b"two").expect("written");
    growing.cut(4).expect("cut");
    growing.write_all(b"T").expect("written");
    growing.sync().expect("synced");
    drop(growing);
    has(&folder, &[("report.tsv", "onetT")]);
    let mut growing = Growing::create(&path, Existing::Replace).expect("opens");
    growing.write_all(b"3").expect("written");
    drop(growing);
    has(&folder, &[("report.tsv", "3")]);
}

/// Imitates programs that rotate logs: they move the file away, and some of them create an empty file in its place.
#[test]
fn a_growing_file_follows_its_path() {
    let (_guard, folder) = folder();
    let path = folder.join("apdus.log");
    let mut growing = Growing::resume(&path).expect("opens");
    growing.follow().expect("there is nothing to follow");
    growing.write_all(b"one").expect("written");
    growing.follow().expect("it is still there");
    growing.write_all(b" more").expect("written");
    for (moved, text) in [("apdus.1", ""), ("apdus.2", "found ")] {
        std::fs::rename(&path, folder.join(moved)).expect("moved");
        if !text.is_empty() {
            std::fs::write(&path, text).expect("written");
        }
        growing.follow().expect("opens");
        growing.write_all(b"two").expect("written");
    }
    let busy = Growing::resume(&path).expect_err("it is locked");
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
    let folder_in_its_place = folder.join("apdus.3");
    std::fs::rename(&path, &folder_in_its_place).expect("moved");
    std::fs::create_dir(&path).expect("created");
    growing.follow().expect_err("it is a folder");
    growing.write_all(b"!").expect("the old file is continued");
    std::fs::remove_dir(&path).expect("removed");
    drop(growing);
    has(
        &folder,
        &[
            ("apdus.1", "one more"),
            ("apdus.2", "two"),
            ("apdus.3", "found two!"),
        ],
    );
}

#[test]
fn audit_a3_one_run_writes_and_the_other_is_refused() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let whole = || Whole::create(&path, Existing::Replace).map(drop);
    let growing = || Growing::resume(&path).map(drop);
    let lock = || Lock::take(&path).map(drop);
    let refused = |what: &str| {
        for (name, result) in [("whole", whole()), ("growing", growing()), ("lock", lock())] {
            let error = result.expect_err(name).to_string();
            let words = " is being written by another run; wait for it, or choose another file";
            assert!(error.ends_with(words), "{what}, {name}: {error}");
        }
    };
    let free = |what: &str| {
        for (name, result) in [("whole", whole()), ("growing", growing()), ("lock", lock())] {
            assert!(result.is_ok(), "{what}, {name}: {result:?}");
        }
    };
    let first = Whole::create(&path, Existing::Refuse).expect("begins");
    refused("a whole file");
    drop(first);
    free("after it");
    let mut first = Growing::resume(&path).expect("opens");
    refused("a growing file that is not there yet");
    first.write_all(b"x").expect("written");
    refused("one that is there");
    drop(first);
    free("after it");
    let mut first = Lock::take(&path).expect("locked");
    let mut draft = Draft::hidden(first.target()).expect("begins");
    draft.file().write_all(b"y").expect("written");
    first.renew(draft.persist(Existing::Replace, true).expect("replaced"));
    refused("a file that was replaced");
    drop(first);
    free("after it");
    has(&folder, &[("y.mrc", "y")]);
}

/// A second handle stands in for a process that is being started, which briefly shares its parent's open files.
#[test]
fn audit_a3_a_lock_ends_even_if_the_open_file_is_shared() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let mut growing = Growing::resume(&path).expect("opens");
    growing.write_all(b"x").expect("written");
    let _shared = growing.handle().expect("shared");
    drop(growing);
    let mut lock = Lock::take(&path).expect("the growing file released its lock");
    let mut draft = Draft::hidden(lock.target()).expect("begins");
    draft.file().write_all(b"y").expect("written");
    let file = draft.persist(Existing::Replace, true).expect("replaced");
    let _shared = file.try_clone().expect("shared");
    lock.renew(file);
    drop(lock);
    Lock::take(&path).expect("the lock was released");
}

#[cfg(unix)]
#[test]
fn audit_a3_two_paths_to_one_file_share_its_lock() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    fs::write(&path, "old").expect("written");
    fs::create_dir(folder.join("sub")).expect("made");
    fs::hard_link(&path, folder.join("sub/hard.mrc")).expect("linked");
    std::os::unix::fs::symlink("../y.mrc", folder.join("sub/soft.mrc")).expect("linked");
    let first = Growing::resume(&path).expect("opens");
    for other in ["./y.mrc", "sub/../y.mrc", "sub/hard.mrc", "sub/soft.mrc"] {
        let other = folder.join(other);
        assert!(same(&path, &other), "{other:?}");
        let error = Growing::resume(&other).expect_err("locked");
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        let error = Whole::create(&other, Existing::Replace).expect_err("locked");
        assert!(matches!(error, Error::Busy { .. }), "{error}");
    }
    drop(first);
    // Writing to a link keeps the link and writes the file that it points to.
    let mut whole = Whole::create(&folder.join("sub/soft.mrc"), Existing::Replace).expect("begins");
    whole.write_all(b"new").expect("written");
    whole.finish().expect("finished");
    assert_eq!(fs::read_to_string(&path).expect("read"), "new");
    let link = fs::symlink_metadata(folder.join("sub/soft.mrc")).expect("there");
    assert!(link.is_symlink());
}

#[cfg(unix)]
#[test]
fn audit_a4_drafts_and_locks_follow_no_link() {
    let (_guard, folder) = folder();
    let precious = folder.join("precious");
    let path = folder.join("y.mrc");
    for name in ["y.mrc.part", ".y.mrc.draft", ".y.mrc.lock"] {
        fs::write(&precious, "precious").expect("written");
        std::os::unix::fs::symlink("precious", folder.join(name)).expect("linked");
    }
    let error = Whole::create(&path, Existing::Refuse).expect_err("not a lock file");
    let error = std::error::Error::source(&error).map(ToString::to_string);
    assert!(
        error.is_some_and(|error| error.ends_with(".y.mrc.lock is not a lock file; remove it"))
    );
    fs::remove_file(folder.join(".y.mrc.lock")).expect("removed");
    let mut whole = Whole::create(&path, Existing::Refuse).expect("begins");
    whole.write_all(b"new").expect("written");
    assert_eq!(
        whole.keep().expect("kept"),
        Some(folder.join("y.mrc.part.2"))
    );
    let mut draft = Draft::hidden(&path).expect("begins");
    draft.file().write_all(b"newer").expect("written");
    draft.persist(Existing::Refuse, false).expect("persisted");
    assert_eq!(fs::read_to_string(&precious).expect("read"), "precious");
    assert_eq!(fs::read_to_string(&path).expect("read"), "newer");
}

#[cfg(unix)]
#[test]
fn a_dangling_link_leads_to_a_new_file() {
    let (_guard, folder) = folder();
    fs::create_dir(folder.join("sub")).expect("made");
    std::os::unix::fs::symlink("sub/y.mrc", folder.join("link.mrc")).expect("linked");
    std::os::unix::fs::symlink("circle", folder.join("circle")).expect("linked");
    let mut whole = Whole::create(&folder.join("link.mrc"), Existing::Refuse).expect("begins");
    whole.write_all(b"new").expect("written");
    whole.finish().expect("finished");
    has(&folder.join("sub"), &[("y.mrc", "new")]);
    let error = Whole::create(&folder.join("circle"), Existing::Refuse).expect_err("a circle");
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn devices_and_streams_are_written_directly() {
    use std::os::fd::AsRawFd;

    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let pipe = format!("/dev/fd/{}", writer.as_raw_fd());
    let mut paths = vec!["/dev/null", &pipe];
    // Another user may own standard error, so opening it may fail.
    if fs::File::options().write(true).open("/dev/stderr").is_ok() {
        paths.extend(["/dev/stderr", "/dev/fd/2"]);
    }
    for path in paths {
        let path = Path::new(path);
        // Devices and streams are not locked, so the path can be opened twice.
        let mut first = Whole::create(path, Existing::Refuse).expect("opens");
        let mut second = Growing::create(path, Existing::Refuse).expect("opens");
        first.write_all(b"").expect("written");
        second.write_all(b"").expect("written");
        assert!(!second.is_file() && second.is_empty());
        second.cut(0).expect("nothing happens");
        assert_eq!(first.keep().expect("nothing to keep"), None);
    }
    let full = Path::new("/dev/full");
    if full.exists() {
        let mut whole = Whole::create(full, Existing::Refuse).expect("opens");
        let error = whole.write_all(b"x").expect_err("full");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        let mut growing = Growing::resume(full).expect("opens");
        growing.write_all(b"x").expect_err("full");
    }
}

#[test]
fn audit_d11_paths_that_lead_nowhere_are_reported_at_once() {
    let (_guard, folder) = folder();
    for (path, words) in [
        (folder.clone(), "is a folder, not a file".to_owned()),
        (folder.join(".."), "is a folder, not a file".to_owned()),
        (
            folder.join("nodir/x"),
            format!(
                "cannot write {}: there is no folder {}",
                folder.join("nodir/x").display(),
                folder.join("nodir").display()
            ),
        ),
    ] {
        for error in [
            Whole::create(&path, Existing::Replace).expect_err("refused"),
            Growing::resume(&path).expect_err("refused"),
            Lock::take(&path).expect_err("refused"),
        ] {
            assert!(error.to_string().ends_with(&words), "{error}");
        }
    }
    has(&folder, &[]);
}

#[test]
fn leftovers_of_a_killed_run_do_no_harm() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    fs::write(folder.join(".y.mrc.lock"), "").expect("written");
    fs::write(folder.join(".y.mrc.draft"), "half").expect("written");
    let lock = Lock::take(&path).expect("nobody has it");
    let mut draft = Draft::hidden(lock.target()).expect("begins");
    draft.file().write_all(b"new").expect("written");
    draft.persist(Existing::Refuse, true).expect("persisted");
    drop(lock);
    has(&folder, &[("y.mrc", "new")]);
}

#[cfg(unix)]
#[test]
fn the_permissions_of_a_file_stay() {
    use std::os::unix::fs::PermissionsExt;
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
    let whole = Whole::create(&path, Existing::Replace).expect("begins");
    whole.finish().expect("finished");
    let mode = path.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn audit_a8_a_change_by_others_is_seen() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let stamp = || Stamp::of(&path).expect("known");
    assert_eq!(stamp(), None);
    fs::write(&path, "one").expect("written");
    let first = stamp();
    assert!(first.is_some() && first == stamp());
    fs::write(&path, "longer").expect("written");
    let second = stamp();
    assert_ne!(first, second);
    // Many editors replace a file instead of writing to it. On Unix, this is detected even if the new file has the same
    // length and modification time.
    let modified = path.metadata().and_then(|data| data.modified());
    let new = folder.join("new");
    fs::write(&new, "LONGER").expect("written");
    let file = File::options().write(true).open(&new).expect("opens");
    file.set_modified(modified.expect("known")).expect("set");
    fs::rename(&new, &path).expect("renamed");
    if cfg!(unix) {
        assert_ne!(stamp(), second);
    }
}

/// Tests that a new link or different permissions do not count as a change, because no octet of the file changes.
#[cfg(unix)]
#[test]
fn a_link_or_other_permissions_are_no_change() {
    use std::os::unix::fs::PermissionsExt;
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    fs::write(&path, "one").expect("written");
    let stamp = || Stamp::of(&path).expect("known");
    let first = stamp();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
    assert_eq!(stamp(), first);
    fs::hard_link(&path, folder.join("link")).expect("linked");
    assert_eq!(stamp(), first);
    // Moving the file away and back does not count as a change either.
    fs::rename(&path, folder.join("away")).expect("renamed");
    assert_eq!(stamp(), None);
    fs::rename(folder.join("away"), &path).expect("renamed");
    assert_eq!(stamp(), first);
}

#[test]
fn one_of_many_concurrent_takers_holds_the_lock() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let (held, taken) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    match Lock::take(&path) {
                        Ok(lock) => {
                            assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            held.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                        Err(Error::Busy { .. }) => std::thread::yield_now(),
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    assert!(taken.into_inner() > 0);
    has(&folder, &[]);
}

#[test]
fn octets_after_a_position_are_kept_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.mrc");
    fs::write(&path, "0123456789").expect("written");
    let mut growing = Growing::resume(&path).expect("nobody else has it");
    for (position, octet) in [(0, None), (1, Some(b'0')), (10, Some(b'9')), (11, None)] {
        assert_eq!(
            growing.octet_before(position).expect("read"),
            octet,
            "{position}"
        );
    }
    let part = growing.keep_after(7).expect("kept").expect("a file");
    assert_eq!(part, folder.path().join("all.mrc.part"));
    assert_eq!(fs::read(&part).expect("there"), b"789");
    assert_eq!(growing.len(), 10, "nothing is cut yet");
    growing.cut(7).expect("cut");
    growing.write_all(b"x").expect("written");
    assert_eq!(fs::read(&path).expect("there"), b"0123456x");
    let none = Growing::resume(&folder.path().join("none")).expect("nobody has it");
    assert_eq!(none.octet_before(1).expect("no file"), None);
    assert!(none.keep_after(0).expect("no file").is_none());
}

#[cfg(unix)]
#[test]
fn at_most_forty_links_are_followed() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |number: usize| folder.path().join(format!("link{number}"));
    fs::write(at(0), "").expect("written");
    for number in 1..=41 {
        symlink(at(number - 1), at(number)).expect("linked");
    }
    assert_eq!(Lock::take(&at(40)).expect("led").target(), at(0));
    let error = Lock::take(&at(41)).expect_err("too many").to_string();
    assert!(error.contains("link41"), "{error}");
}

#[test]
fn the_oldest_of_too_many_drafts_is_replaced() {
    let (_guard, folder) = folder();
    let path = folder.join("y.mrc");
    let keep = |text: &str| {
        let mut whole = Whole::create(&path, Existing::Refuse).expect("begins");
        whole.write_all(text.as_bytes()).expect("written");
        whole.keep().expect("kept").expect("a file")
    };
    for number in 1..=100 {
        let part = keep(&number.to_string());
        if number == 7 {
            let file = fs::File::options().write(true).open(&part).expect("there");
            let long_ago = std::time::SystemTime::UNIX_EPOCH;
            file.set_modified(long_ago).expect("dated");
        }
    }
    assert_eq!(keep("new"), folder.join("y.mrc.part.7"));
    let all = files(&folder);
    assert_eq!(all.len(), 100);
    assert!(!all.iter().any(|(_, text)| text == "7"), "{all:?}");
}
