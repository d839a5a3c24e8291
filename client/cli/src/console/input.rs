//! Reads input files, whole or line by line. The length of a line is limited, and a signal can interrupt reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use z3950_files::{hex, input};

use crate::console::interrupt::Interrupt;
use crate::console::output::Failure;

/// The file name for standard input.
pub(crate) const STANDARD: &str = "-";

/// Checks that the files can be opened. Pipes are not opened, because opening one may block.
pub(crate) fn readable(paths: &[PathBuf]) -> Result<(), Failure> {
    let paths = paths.iter().filter(|path| *path != Path::new(STANDARD));
    paths
        .map(|path| (path, openable(path)))
        .try_for_each(|(path, result)| {
            result.map_err(|error| Failure::input(&path.display().to_string(), &error))
        })
}

fn openable(path: &Path) -> io::Result<()> {
    let data = path.metadata()?;
    match (data.is_file(), data.is_dir()) {
        (true, _) => File::open(path).map(drop),
        (_, true) => Err(io::ErrorKind::IsADirectory.into()),
        _ => Ok(()),
    }
}

/// Reads a complete file of at most `most` octets, or standard input for `-`.
pub(crate) fn read_whole(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let octets = if path == Path::new(STANDARD) {
        input::read_all(io::stdin(), most)
    } else {
        input::read(path, most)
    };
    octets.map_err(|error| Failure::input(&path.display().to_string(), &error))
}

/// Decodes hexadecimal digits, which may be separated by white space and colons. Returns `None` for any other input.
/// Text in this form cannot be confused with binary APDUs, because no APDU begins with one of these characters.
pub(crate) fn hexadecimal(input: &[u8]) -> Option<Vec<u8>> {
    let is_digit = |octet: &&u8| !octet.is_ascii_whitespace() && **octet != b':';
    let digits = input.iter().filter(is_digit);
    hex::octets(&digits.map(|octet| char::from(*octet)).collect::<String>())
}

/// Opens a file, or standard input for `-`. Returns its name for messages, and a reader of its contents. If
/// `is_watched` is set, a signal makes reads fail.
pub(crate) fn open(path: &Path, is_watched: bool) -> Result<(String, Box<dyn Read>), Failure> {
    let is_standard = path == Path::new(STANDARD);
    let name = if is_standard {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let input = match (is_watched, is_standard) {
        (true, _) => watched(path),
        (false, true) => Ok(Box::new(io::stdin().lock()) as Box<dyn Read>),
        (false, false) => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let input = input.map_err(|error| Failure::input(&name, &error))?;
    Ok((name, input))
}

/// Opens a file, or standard input for `-`, so that reads fail once a signal has arrived. Anything other than a regular
/// file is read in a separate thread, because reading it may block indefinitely.
pub(crate) fn watched(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new(STANDARD) {
        return Watched::start(|| Ok(io::stdin()));
    }
    if path.metadata()?.is_file() {
        return Ok(Box::new(Stoppable(File::open(path)?)));
    }
    let path = path.to_owned();
    Watched::start(move || File::open(path))
}

/// The number of octets that the reading thread reads at a time.
const BLOCK: usize = 64 * 1024;
/// The maximum number of blocks that are read ahead.
const BLOCKS: usize = 4;
/// The interval between checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// An input that is opened and read in a separate thread.
struct Watched {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: io::Cursor<Vec<u8>>,
}

impl Watched {
    fn start<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> io::Result<Box<dyn Read>> {
        let (sender, blocks) = sync_channel(BLOCKS);
        let thread = std::thread::Builder::new().name("input".to_owned());
        thread.spawn(move || {
            if let Err(error) = open().and_then(|input| pass_on(input, &sender)) {
                // Sending fails if the reader has been dropped, in which case the error does not matter.
                let _ = sender.send(Err(error));
            }
        })?;
        let block = io::Cursor::default();
        Ok(Box::new(Self { blocks, block }))
    }
}

fn pass_on(mut input: impl Read, blocks: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        let length = match input.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            length => length?,
        };
        let read = block.get(..length).unwrap_or_default();
        if read.is_empty() || blocks.send(Ok(read.to_vec())).is_err() {
            return Ok(());
        }
    }
}

impl Read for Watched {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.block.read(to)?;
            if length > 0 || to.is_empty() {
                return Ok(length);
            }
            // Reading a device such as /dev/zero never blocks, so signals must be checked for here too.
            stopped()?;
            match self.blocks.recv_timeout(TICK) {
                Ok(block) => self.block = io::Cursor::new(block?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// An input whose reads fail after a signal has arrived.
struct Stoppable<R>(R);

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        stopped()?;
        self.0.read(to)
    }
}

fn stopped() -> io::Result<()> {
    match Interrupt.arrived() {
        Some(_) => Err(io::Error::other("interrupted")),
        None => Ok(()),
    }
}

/// The maximum length of a line in octets. The rest of a longer line is dropped.
const MAX_LINE: usize = 1 << 20;

/// An input that is read line by line.
pub(crate) struct Lines {
    name: String,
    input: Box<dyn BufRead>,
}

impl Lines {
    /// Opens a file, or standard input for `-`, to read its lines.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let (name, input) = open(path, false)?;
        let input = Box::new(BufReader::new(input));
        Ok(Self { name, input })
    }

    /// Creates a reader for the lines of standard input.
    pub(crate) fn stdin() -> Self {
        Self {
            name: "standard input".into(),
            input: Box::new(BufReader::new(io::stdin())),
        }
    }

    /// Returns the next line without its line end; `None` after the last line.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.read()
            .map_err(|error| Failure::input(&self.name, &error))
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(mut line) = bounded_line(&mut self.input, MAX_LINE)? else {
            return Ok(None);
        };
        line.pop_if(|last| *last == b'\n');
        line.pop_if(|last| *last == b'\r');
        line.truncate(MAX_LINE);
        Ok(Some(line))
    }
}

/// Returns the next line with its line end. The line is shortened to `most` octets, not counting the line end. Returns
/// `None` after the last line.
pub(crate) fn bounded_line(input: &mut dyn BufRead, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(2);
    let mut bounded = (&mut *input).take(limit);
    if bounded.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if bounded.limit() == 0 && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_read_from_hexadecimal_digits() {
        for (input, expected) in [
            (&b"b4 03\n0A01"[..], Some(&[0xb4, 3, 0x0a, 1][..])),
            (b"b4:03\n", Some(&[0xb4, 3])),
            (b"\xb4\x01\x00", None),
            (b"b4 0", None),
            (b"", Some(&[])),
        ] {
            assert_eq!(hexadecimal(input).as_deref(), expected);
        }
    }

    #[test]
    fn lines_are_bounded_and_may_hold_anything() {
        let long = vec![b'x'; MAX_LINE + 5];
        let text = [&b"a\r\n\n\xff\n"[..], &long, b"\nlast"].concat();
        let mut lines = Lines {
            name: "text".into(),
            input: Box::new(io::Cursor::new(text)),
        };
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("in memory") {
            found.push(line);
        }
        assert_eq!(
            found,
            [
                b"a".to_vec(),
                Vec::new(),
                vec![0xff],
                vec![b'x'; MAX_LINE],
                b"last".to_vec()
            ]
        );
    }
}
