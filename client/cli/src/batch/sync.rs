//! Syncs the output and the report to disk every second and at the end. The output is synced first, so that after a
//! power cut, the report is rarely ahead of the output.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// The thread that syncs files, so that a slow disk does not delay requests.
#[derive(Debug)]
pub(crate) struct Syncer {
    written: Arc<Mutex<Written>>,
    end: mpsc::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

/// The files that must be synced.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// The output file, if the output is a single file.
    pub(crate) output: Option<Arc<File>>,
    /// The files written since the last sync, if the output is a folder.
    pub(crate) files: Vec<PathBuf>,
    /// The report, if it must be synced.
    pub(crate) report: Option<Arc<File>>,
}

impl Syncer {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails if the thread cannot be started.
    pub(crate) fn start() -> io::Result<Self> {
        Self::every(INTERVAL)
    }

    fn every(interval: Duration) -> io::Result<Self> {
        let written = Arc::new(Mutex::new(Written::default()));
        let (end, ended) = mpsc::channel();
        let shared = Arc::clone(&written);
        let thread = std::thread::Builder::new().spawn(move || {
            loop {
                let is_last = ended.recv_timeout(interval) != Err(RecvTimeoutError::Timeout);
                let written = lock(&shared).due();
                written.sync()?;
                if is_last {
                    return Ok(());
                }
            }
        })?;
        Ok(Self {
            written,
            end,
            thread,
        })
    }

    /// Adds files that must be synced.
    pub(crate) fn note(&self, more: Written) {
        let mut written = lock(&self.written);
        written.output = more.output.or(written.output.take());
        written.report = more.report.or(written.report.take());
        written.files.extend(more.files);
    }

    /// Returns whether a sync has failed, in which case the run should end.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Syncs all files that have not been synced yet.
    ///
    /// # Errors
    /// Fails if this sync or an earlier sync has failed.
    pub(crate) fn finish(self) -> io::Result<()> {
        // Sending fails if the thread has already ended because of a failure, which `join` returns.
        let _ = self.end.send(());
        let failed = |_| Err(io::Error::other("the thread that syncs has ended"));
        self.thread.join().unwrap_or_else(failed)
    }
}

impl Written {
    /// Takes the files for the next sync. Open files may be written to again afterwards, and are then synced again.
    fn due(&mut self) -> Self {
        let due = self.clone();
        self.files.clear();
        due
    }

    fn sync(&self) -> io::Result<()> {
        if let Some(output) = &self.output {
            sync(output)?;
        }
        for path in &self.files {
            match File::open(path) {
                Ok(file) => sync(&file)?,
                // A file that has been replaced or removed does not need a sync.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(folder) = self.files.first().and_then(|path| path.parent())
            && let Ok(folder) = File::open(folder)
        {
            sync(&folder)?;
        }
        match &self.report {
            Some(report) => sync(report),
            None => Ok(()),
        }
    }
}

fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        // A pipe cannot be synced, which is not an error.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

fn lock(written: &Mutex<Written>) -> std::sync::MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_a6_everything_is_synced_at_the_end_and_failures_are_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let file = Arc::new(File::create(&path).expect("created"));
        let syncer = Syncer::start().expect("a thread");
        syncer.note(Written {
            output: Some(Arc::clone(&file)),
            ..Written::default()
        });
        syncer.note(Written {
            report: Some(file),
            files: vec![path.clone(), folder.path().join("gone")],
            ..Written::default()
        });
        let waiting = lock(&syncer.written);
        // The thread syncs once a second, so the files are usually still waiting here.
        assert!(matches!(waiting.files.len(), 0 | 2));
        drop(waiting);
        syncer.finish().expect("synced");
        let syncer = Syncer::start().expect("a thread");
        syncer.note(Written {
            files: vec![path.join("in-a-file")],
            ..Written::default()
        });
        syncer.finish().expect_err("no folder");
    }

    /// Yields to the other thread until the condition holds.
    fn until(holds: impl Fn() -> bool) {
        const MOST: usize = 20_000_000;
        let mut tries = (0..MOST).inspect(|_| std::thread::yield_now());
        assert!(tries.any(|_| holds()), "the thread does nothing");
    }

    #[test]
    fn audit_a6_files_are_synced_before_the_end() {
        assert_eq!(INTERVAL.as_secs(), 1);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        File::create(&path).expect("created");
        let syncer = Syncer::every(Duration::from_millis(1)).expect("a thread");
        for _ in 0..2 {
            syncer.note(Written {
                files: vec![path.clone()],
                ..Written::default()
            });
            // The thread takes the files while it is running, and not only when it is told to end.
            until(|| lock(&syncer.written).files.is_empty());
        }
        syncer.note(Written {
            files: vec![path.join("in-a-file")],
            ..Written::default()
        });
        until(|| syncer.has_failed());
        syncer.finish().expect_err("no folder");
    }

    #[test]
    fn open_files_are_synced_every_time_and_complete_ones_once() {
        let output = Arc::new(tempfile::tempfile().expect("a file"));
        let mut written = Written {
            output: Some(output),
            files: vec!["complete.mrc".into()],
            report: None,
        };
        for complete in [1, 0] {
            let due = written.due();
            assert!(due.output.is_some());
            assert_eq!(due.files.len(), complete);
        }
    }
}
