//! The output of a batch: one file, which is truncated to the last complete answer after an interruption, or a folder
//! with a file for each input.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use z3950_files::{Draft, Existing, Growing, Lock, Whole};

use crate::answer::Ask;
use crate::console::output::Failure;
use crate::render::Style;

/// The maximum number of octets in the buffer of a file.
const BUFFER: usize = 64 * 1024;
/// The maximum number of characters of an input that are used in the name of its file.
const MAX_SLUG: usize = 64;
/// The minimum number of digits of an input's position in the name of its file.
const DIGITS: usize = 6;
/// The base name of the lock and the draft in a folder.
const NAME: &str = "z3950";
/// The name of the file for the records of an incomplete answer, when a run without a report is interrupted.
const UNFINISHED: &str = "unfinished";

/// A file that can be truncated.
pub(crate) trait Cut: Write {
    /// Truncates the file to this length in octets, after which writing continues. A pipe or device is left unchanged.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Cut for Growing {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        Growing::cut(self, length)
    }
}

impl Cut for Whole {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        Whole::cut(self, length)
    }
}

/// The records that remain in a file at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remains {
    /// Only the records of complete answers.
    Answers,
    /// All complete records, including the records of an incomplete answer.
    Records,
}

/// A single file for all `Ask`s.
#[derive(Debug)]
pub(crate) struct FileSink<F> {
    pub(super) file: F,
    pub(super) style: Style,
    held: Vec<u8>,
    /// The number of octets written to the file.
    written: u64,
    /// The number of octets in the file that belong to complete answers.
    complete: u64,
    /// The offsets at which records after the complete answers end. They may be needed if the answer is interrupted.
    ends: Vec<u64>,
    /// The number of records added. Some of them may still be in the buffer.
    added: u64,
    flushed: u64,
    remained: u64,
    /// Whether this run has changed the file.
    is_changed: bool,
}

impl<F: Cut> FileSink<F> {
    /// Creates a sink for a file, which is not changed before its first record.
    pub(crate) fn new(file: F, style: impl Into<Style>) -> Self {
        Self {
            file,
            style: style.into(),
            held: Vec::new(),
            written: 0,
            complete: 0,
            ends: Vec::new(),
            added: 0,
            flushed: 0,
            remained: 0,
            is_changed: false,
        }
    }

    /// Continues a file whose first `length` octets are complete answers. All octets after these are removed.
    pub(crate) fn go_on(&mut self, length: u64) -> io::Result<()> {
        self.file.cut(length)?;
        self.is_changed = true;
        self.written = length;
        self.complete = length;
        Ok(())
    }

    /// Adds a record, preceded by the text that the format requires before it.
    pub(crate) fn record(&mut self, octets: &[u8]) -> io::Result<()> {
        let is_first = self.written == 0 && self.held.is_empty();
        let before = self.style.before(is_first);
        self.held.extend_from_slice(before.as_bytes());
        self.held.extend_from_slice(octets);
        self.ends.push(self.written + length(&self.held));
        self.added += 1;
        if self.held.len() < BUFFER {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Completes the records for an `Ask` by writing the buffer. Returns the length of the file.
    pub(crate) fn complete(&mut self) -> io::Result<u64> {
        self.flush()?;
        self.complete = self.written;
        self.ends.clear();
        Ok(self.complete)
    }

    /// Drops the records for an `Ask` that is not complete.
    pub(crate) fn drop_incomplete(&mut self) -> io::Result<()> {
        self.held.clear();
        self.ends.clear();
        if self.written > self.complete {
            self.go_on(self.complete)
        } else {
            Ok(())
        }
    }

    /// Completes an `Ask` with the records that an earlier run had written for it. Returns the length of the file.
    pub(crate) fn put_back(
        &mut self,
        records: &mut impl Read,
        place: Range<u64>,
    ) -> io::Result<u64> {
        let mut records = records.take(place.end.saturating_sub(place.start));
        let had = self.style.before(place.start == 0);
        let mut before = vec![0; had.len()];
        if records.limit() > 0 {
            records.read_exact(&mut before)?;
            if before != had.as_bytes() {
                return Err(ErrorKind::InvalidData.into());
            }
            let is_first = self.written == 0 && self.held.is_empty();
            let before = self.style.before(is_first);
            self.held.extend_from_slice(before.as_bytes());
        }
        loop {
            let part = u64::try_from(BUFFER).unwrap_or(u64::MAX);
            match records.by_ref().take(part).read_to_end(&mut self.held)? {
                0 => return self.complete(),
                _ => self.flush()?,
            }
        }
    }

    /// Removes incomplete records, and ends the document. Returns whether there are records. A file without records is
    /// left unchanged unless this run has changed it.
    pub(crate) fn finish(&mut self, remains: Remains) -> io::Result<bool> {
        let mut end = self.complete;
        if remains == Remains::Records {
            // Flushing may fail because the disk is full; only records that are completely in the file are kept then.
            let _ = self.flush();
            let ends = self.ends.iter().copied();
            end = ends.filter(|end| *end <= self.written).max().unwrap_or(end);
            let unsure = usize::try_from(self.added - self.flushed).unwrap_or(usize::MAX);
            let begun = self.ends.iter().rev().take(unsure);
            let more = begun.filter(|end| **end <= self.written).count();
            self.remained = self.flushed + u64::try_from(more).unwrap_or(0);
        }
        self.held.clear();
        self.ends.clear();
        if end == 0 && !self.is_changed {
            return Ok(false);
        }
        self.file.cut(end)?;
        self.written = end;
        if end == 0 {
            let begin = self.style.before(true);
            self.held.extend_from_slice(begin.as_bytes());
        }
        self.held.extend_from_slice(self.style.end().as_bytes());
        self.flush()?;
        self.written = end;
        Ok(end > 0)
    }

    /// Writes the buffer to the file. If only a part of it can be written, that part is included in the length.
    fn flush(&mut self) -> io::Result<()> {
        let mut begin = 0;
        let result = loop {
            match self.held.get(begin..) {
                None | Some([]) => break Ok(()),
                Some(rest) => match self.file.write(rest) {
                    Ok(0) => break Err(ErrorKind::WriteZero.into()),
                    Ok(count) => begin += count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                },
            }
        };
        self.is_changed |= begin > 0;
        self.written += u64::try_from(begin).unwrap_or(u64::MAX);
        self.held.drain(..begin);
        if result.is_ok() {
            self.flushed = self.added;
            // Everything up to the last record end is in the file, so the earlier ends are not needed to truncate it.
            let last = self.ends.pop();
            self.ends.clear();
            self.ends.extend(last);
        }
        result
    }
}

impl FileSink<Whole> {
    /// Completes the file at `path`, unless there are no records. Returns whether there are any. If the file cannot be
    /// completed, the records are saved in another file.
    pub(crate) fn end(mut self, path: &Path) -> Result<bool, Failure> {
        match self.complete().and_then(|_| self.finish(Remains::Answers)) {
            Ok(has_records) => {
                if has_records {
                    self.file.finish()?;
                }
                Ok(has_records)
            }
            Err(error) => {
                let part = self.keep().ok().flatten();
                let kept =
                    part.map(|(part, _)| format!("; what was written is in {}", part.display()));
                let (path, kept) = (path.display(), kept.unwrap_or_default());
                Err(Failure::Unwritten(format!(
                    "cannot write {path}: {error}{kept}"
                )))
            }
        }
    }

    /// Saves the records of an interrupted run in another file. Returns the path of that file and the number of
    /// records.
    pub(crate) fn keep(mut self) -> Result<Option<(PathBuf, u64)>, z3950_files::Error> {
        if !self.finish(Remains::Records).unwrap_or(true) {
            return Ok(None);
        }
        Ok(self.file.keep()?.map(|part| (part, self.remained)))
    }
}

pub(super) fn length(held: &[u8]) -> u64 {
    u64::try_from(held.len()).unwrap_or(u64::MAX)
}

impl Cut for Draft {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file().set_len(length)?;
        io::Seek::seek(self.file(), io::SeekFrom::Start(length)).map(drop)
    }
}

/// A folder with a file for each `Ask` that has records, such as `000007-isbn-0306406152.mrc`, or `000007.2-…` for the
/// second of several targets.
#[derive(Debug)]
pub(crate) struct FolderSink {
    folder: PathBuf,
    extension: &'static str,
    style: Style,
    targets: usize,
    /// The file for the current `Ask`; `None` before its first record.
    part: Option<FileSink<Draft>>,
    /// The completed files that have not been synced yet.
    pub(super) new: Vec<PathBuf>,
    _lock: Lock,
}

impl FolderSink {
    /// Creates a sink that writes files with an extension into a folder, which is created if necessary.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, another run is writing to it, or it contains files from another run and
    /// `existing` is [`Existing::Refuse`].
    pub(crate) fn new(
        folder: &Path,
        extension: &'static str,
        style: impl Into<Style>,
        targets: usize,
        existing: Existing,
    ) -> Result<Self, z3950_files::Error> {
        fs::create_dir_all(folder).map_err(z3950_files::Error::unwritable(folder))?;
        let lock = Lock::take(&folder.join(NAME)).map_err(|error| match error {
            z3950_files::Error::Busy { .. } => z3950_files::Error::Busy {
                path: folder.to_owned(),
            },
            error => error,
        })?;
        if existing == Existing::Refuse
            && let Some(path) = of_another_run(folder)
        {
            return Err(z3950_files::Error::Exists { path });
        }
        Ok(Self {
            folder: folder.to_owned(),
            extension,
            style: style.into(),
            targets,
            part: None,
            new: Vec::new(),
            _lock: lock,
        })
    }

    /// Returns the path of the file for an `Ask`. `input` is the form of the input used in the report.
    fn path(&self, position: u64, target: usize, input: &str) -> PathBuf {
        let number = match self.targets {
            0 | 1 => format!("{position:0DIGITS$}"),
            _ => format!("{position:0DIGITS$}.{}", target + 1),
        };
        let name = format!("{number}{}.{}", slug(input), self.extension);
        self.folder.join(name)
    }

    /// Drops the records for an `Ask` that is not complete.
    pub(crate) fn drop_incomplete(&mut self) {
        self.part = None;
    }

    /// Returns whether the file for an `Ask` has the given length.
    pub(crate) fn has(&self, ask: &Ask, input: &str, length: u64) -> bool {
        let path = self.path(ask.position, ask.target, input);
        length == 0 || path.metadata().is_ok_and(|data| data.len() == length)
    }

    /// Adds a record to the file for the current `Ask`.
    pub(crate) fn record(&mut self, octets: &[u8]) -> Result<(), z3950_files::Error> {
        let target = self.folder.join(NAME);
        let part = match &mut self.part {
            Some(part) => part,
            None => self
                .part
                .insert(FileSink::new(Draft::hidden(&target)?, self.style.clone())),
        };
        part.record(octets)
            .map_err(z3950_files::Error::unwritable(&self.folder))
    }

    /// Completes the records for an `Ask`, and returns the length of their file.
    pub(crate) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, z3950_files::Error> {
        let path = self.path(ask.position, ask.target, input);
        let unwritable = z3950_files::Error::unwritable(&path);
        let Some(mut part) = self.part.take() else {
            // An earlier run may have left a file for this `Ask`; it is removed, because the `Ask` has no records now.
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(error)),
                _ => Ok(0),
            };
        };
        let complete = part.complete().map_err(&unwritable)?;
        part.finish(Remains::Answers).map_err(&unwritable)?;
        let draft = part.file.of_file(path.clone());
        draft.persist(Existing::Replace, false)?;
        self.new.push(path);
        Ok(complete + length(self.style.end().as_bytes()))
    }

    /// Ends the run. If records of an incomplete answer are saved, returns the path of their file and their number.
    pub(crate) fn finish(
        &mut self,
        remains: Remains,
    ) -> Result<Option<(PathBuf, u64)>, z3950_files::Error> {
        let Some(mut part) = self.part.take() else {
            return Ok(None);
        };
        let path = self.folder.join(format!("{UNFINISHED}.{}", self.extension));
        let unwritable = z3950_files::Error::unwritable(&path);
        if remains == Remains::Answers || !part.finish(remains).map_err(unwritable)? {
            return Ok(None);
        }
        let remained = part.remained;
        let draft = part.file.of_file(path.clone());
        draft.persist(Existing::Refuse, true)?;
        Ok(Some((path, remained)))
    }
}

/// Returns a file in the folder that another run seems to have written, judging by its name.
fn of_another_run(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.trim_start_matches(|character: char| character.is_ascii_digit());
        name.len() - rest.len() >= DIGITS && rest.starts_with(['-', '.'])
    })
}

/// Returns a hyphen and the beginning of the input, in which characters that are not safe in file names are replaced
/// with hyphens.
fn slug(input: &str) -> String {
    let mut slug = String::new();
    for character in input.chars() {
        if slug.len() >= MAX_SLUG {
            break;
        }
        if character.is_ascii_alphanumeric() {
            if slug.is_empty() {
                slug.extend(['-', character])
            } else {
                slug.push(character)
            }
        } else if !slug.ends_with('-') {
            slug.push('-')
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
