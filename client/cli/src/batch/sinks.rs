//! Where the records of a batch go: one file, which is cut back to the last complete answer when a run was broken off,
//! or a folder with a file for each input.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use z3950_asn1::file::{self, Draft, Existing, Growing, Lock, Whole};
use z3950_marc::Form;

use crate::answer::Ask;

/// How many octets are collected before they are written, at most.
const BUFFER: usize = 64 * 1024;
/// The most characters of an input in the name of its file.
const MAX_SLUG: usize = 64;
/// Digits of an input's position in the name of its file, at least.
const DIGITS: usize = 6;
/// What the lock and the draft of a folder are named after.
const NAME: &str = "z3950";
/// What an answer is called that was not complete when a run without a report was broken off.
const UNFINISHED: &str = "unfinished";

/// What stands around records of a form; nothing for octets as they came.
#[derive(Debug, Clone, Copy)]
struct Frame(Option<Form>);

impl Frame {
    fn before(self, is_first: bool) -> &'static [u8] {
        let text = match (self.0, is_first) {
            (Some(form), true) => form.begin(),
            (Some(form), false) => form.between(),
            (None, _) => "",
        };
        text.as_bytes()
    }

    fn end(self) -> &'static [u8] {
        self.0.map_or("", Form::end).as_bytes()
    }
}

/// What a sink writes, and cuts back: a file.
pub(crate) trait Cut: Write {
    /// Cuts it to this length in octets, to be written on from there. A pipe or device stays as it is.
    ///
    /// # Errors
    /// What the system has against it.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Cut for Growing {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        Growing::cut(self, length)
    }
}

/// A file for the records of all asks.
#[derive(Debug)]
pub(crate) enum OutputFile {
    /// One that is there when it is complete.
    Whole(Whole),
    /// One that a later run continues.
    Growing(Growing),
}

impl Write for OutputFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Whole(file) => file.write(octets),
            Self::Growing(file) => file.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Whole(file) => file.flush(),
            Self::Growing(file) => file.flush(),
        }
    }
}

impl Cut for OutputFile {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::Whole(file) => file.cut(length),
            Self::Growing(file) => Cut::cut(file, length),
        }
    }
}

/// What stays in a file when a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remains {
    /// Complete answers.
    Answers,
    /// Complete records, those of an answer that is not complete too.
    Records,
}

/// One file for all.
#[derive(Debug)]
pub(crate) struct FileSink<F = OutputFile> {
    file: F,
    frame: Frame,
    held: Vec<u8>,
    /// Octets in the file.
    written: u64,
    /// Octets of it that are complete answers.
    complete: u64,
    /// Where records end behind those, as far as they may still be needed.
    ends: Vec<u64>,
    /// How many records were added, how many of them are in the file for certain, and how many remained at the end.
    added: u64,
    flushed: u64,
    remained: u64,
    /// Whether this run has changed the file.
    is_changed: bool,
}

impl<F: Cut> FileSink<F> {
    /// A file that is not touched before its first record.
    pub(crate) fn new(file: F, form: Option<Form>) -> Self {
        Self {
            file,
            frame: Frame(form),
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

    /// Goes on with the file: its first `length` octets are complete answers, the rest is cut off.
    ///
    /// # Errors
    /// What the system has against it.
    pub(crate) fn go_on(&mut self, length: u64) -> io::Result<()> {
        self.file.cut(length)?;
        self.is_changed = true;
        self.written = length;
        self.complete = length;
        Ok(())
    }

    /// Adds a record, in the octets of its form; what belongs between two of them is added here.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn record(&mut self, octets: &[u8]) -> io::Result<()> {
        let is_first = self.written == 0 && self.held.is_empty();
        self.held.extend_from_slice(self.frame.before(is_first));
        self.held.extend_from_slice(octets);
        self.ends.push(self.written + length(&self.held));
        self.added += 1;
        match self.held.len() < BUFFER {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// Completes the records of an ask: from now on they are there, whatever happens to this program. Gives the octets of
    /// the file that they are in.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn complete(&mut self) -> io::Result<u64> {
        self.flush()?;
        self.complete = self.written;
        self.ends.clear();
        Ok(self.complete)
    }

    /// Ends the document, without what is not complete. Says whether there is one: a file that got no record stays as it
    /// was, unless it had been begun.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn finish(&mut self, remains: Remains) -> io::Result<bool> {
        let mut end = self.complete;
        if remains == Remains::Records {
            // As far as there is room for it.
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
            self.held.extend_from_slice(self.frame.before(true));
        }
        self.held.extend_from_slice(self.frame.end());
        self.flush()?;
        self.written = end;
        Ok(end > 0)
    }

    /// How many records remained in a file that ended with [`Remains::Records`].
    pub(crate) fn remained(&self) -> u64 {
        self.remained
    }

    /// The file.
    pub(crate) fn file(&self) -> &F {
        &self.file
    }

    /// The file, once the document has been ended.
    pub(crate) fn into_file(self) -> F {
        self.file
    }

    /// Writes what is held, and counts what has been written even where not all of it can be.
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
            // The others come before it.
            let last = self.ends.pop();
            self.ends.clear();
            self.ends.extend(last);
        }
        result
    }
}

fn length(held: &[u8]) -> u64 {
    u64::try_from(held.len()).unwrap_or(u64::MAX)
}

impl Cut for Draft {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file().set_len(length)?;
        io::Seek::seek(self.file(), io::SeekFrom::Start(length)).map(drop)
    }
}

/// A file for each ask that has records: `000007-isbn-0306406152.mrc`, or `000007.2-…` for the second of several targets.
#[derive(Debug)]
pub(crate) struct FolderSink {
    folder: PathBuf,
    extension: &'static str,
    form: Option<Form>,
    targets: usize,
    /// The file under way, once it has a record.
    part: Option<FileSink<Draft>>,
    /// Files that were completed since they were last asked for.
    new: Vec<PathBuf>,
    _lock: Lock,
}

impl FolderSink {
    /// Writes into a folder, which is made if it is not there, files with that extension.
    ///
    /// # Errors
    /// The folder cannot be made, or another run writes to it; with [`Existing::Refuse`], it has files of another run.
    pub(crate) fn new(
        folder: &Path,
        extension: &'static str,
        form: Option<Form>,
        targets: usize,
        existing: Existing,
    ) -> Result<Self, file::Error> {
        fs::create_dir_all(folder).map_err(file::Error::unwritable(folder))?;
        let lock = Lock::take(&folder.join(NAME)).map_err(|error| match error {
            file::Error::Busy { .. } => file::Error::Busy {
                path: folder.to_owned(),
            },
            error => error,
        })?;
        if existing == Existing::Refuse
            && let Some(path) = of_another_run(folder)
        {
            return Err(file::Error::Exists { path });
        }
        Ok(Self {
            folder: folder.to_owned(),
            extension,
            form,
            targets,
            part: None,
            new: Vec::new(),
            _lock: lock,
        })
    }

    /// The file for an ask, whose input may be shown so.
    fn path(&self, position: u64, target: usize, input: &str) -> PathBuf {
        let number = match self.targets {
            0 | 1 => format!("{position:0DIGITS$}"),
            _ => format!("{position:0DIGITS$}.{}", target + 1),
        };
        let name = format!("{number}{}.{}", slug(input), self.extension);
        self.folder.join(name)
    }

    /// Whether the file for an ask is there with all its octets.
    pub(crate) fn has(&self, ask: &Ask, input: &str, length: u64) -> bool {
        let path = self.path(ask.position, ask.target, input);
        length == 0 || path.metadata().is_ok_and(|data| data.len() == length)
    }

    /// Adds a record, in the octets of its form.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn record(&mut self, octets: &[u8]) -> Result<(), file::Error> {
        let target = self.folder.join(NAME);
        let part = match &mut self.part {
            Some(part) => part,
            None => self
                .part
                .insert(FileSink::new(Draft::hidden(&target)?, self.form)),
        };
        part.record(octets)
            .map_err(file::Error::unwritable(&self.folder))
    }

    /// Completes the records of an ask, and gives the octets of their file.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, file::Error> {
        let path = self.path(ask.position, ask.target, input);
        let unwritable = file::Error::unwritable(&path);
        let Some(mut part) = self.part.take() else {
            // There may be a file of the run that is replaced or gone on with.
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(error)),
                _ => Ok(0),
            };
        };
        let complete = part.complete().map_err(&unwritable)?;
        part.finish(Remains::Answers).map_err(&unwritable)?;
        let draft = part.into_file().of_file(path.clone());
        draft.persist(Existing::Replace, false)?;
        self.new.push(path);
        Ok(complete + length(Frame(self.form).end()))
    }

    /// Ends the run. Gives the file with the records of an answer that was not complete, if they are to remain, and how many they are.
    ///
    /// # Errors
    /// What the system has against writing.
    pub(crate) fn finish(
        &mut self,
        remains: Remains,
    ) -> Result<Option<(PathBuf, u64)>, file::Error> {
        let Some(mut part) = self.part.take() else {
            return Ok(None);
        };
        let path = self.folder.join(format!("{UNFINISHED}.{}", self.extension));
        let unwritable = file::Error::unwritable(&path);
        if remains == Remains::Answers || !part.finish(remains).map_err(unwritable)? {
            return Ok(None);
        }
        let remained = part.remained();
        let draft = part.into_file().of_file(path.clone());
        draft.persist(Existing::Refuse, true)?;
        Ok(Some((path, remained)))
    }

    /// Files that were completed since this was last called.
    pub(crate) fn take_new(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.new)
    }
}

/// A file in a folder whose name begins like one that a run gives.
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

/// What of an input can stand in the name of a file anywhere, with a hyphen in front.
fn slug(input: &str) -> String {
    let mut slug = String::new();
    for character in input.chars() {
        if slug.len() >= MAX_SLUG {
            break;
        }
        match character.is_ascii_alphanumeric() {
            true if slug.is_empty() => slug.extend(['-', character]),
            true => slug.push(character),
            false if slug.ends_with('-') => {}
            false => slug.push('-'),
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
