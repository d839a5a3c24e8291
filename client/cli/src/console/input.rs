//! Files that are read: lines of any octets and of bounded length, and octets whose wait a signal ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::console::interrupt::Interrupt;
use crate::console::output::Failure;

/// The name that stands for standard input.
const STANDARD: &str = "-";

/// Whether all of these can be opened, as far as that can be known without waiting: a pipe is not opened.
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

/// Octets of a file, or of standard input for `-`. Where it is no regular file, it may keep its reader waiting for ever; a
/// signal ends that with an error.
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

/// How many octets are read at once in another thread.
const BLOCK: usize = 64 * 1024;
/// How many blocks are read ahead.
const BLOCKS: usize = 4;
/// How long a signal may go unnoticed.
const TICK: Duration = Duration::from_millis(50);

/// Input that is opened and read in a thread of its own.
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
                // Where nobody waits for it any more, it is of no interest.
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
            // A device such as /dev/zero never keeps anybody waiting.
            stopped()?;
            match self.blocks.recv_timeout(TICK) {
                Ok(block) => self.block = io::Cursor::new(block?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Input in which a signal is an error.
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

/// The longest line kept, in octets; of a longer one, the rest is passed over.
const MAX_LINE: usize = 1 << 20;

/// Lines that come one by one.
pub(crate) struct Lines {
    name: String,
    input: Box<dyn BufRead>,
}

impl Lines {
    /// Those of a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new(STANDARD) {
            return Ok(Self::stdin());
        }
        let file = File::open(path)
            .map_err(|error| Failure::input(&path.display().to_string(), &error))?;
        Ok(Self {
            name: path.display().to_string(),
            input: Box::new(BufReader::new(file)),
        })
    }

    /// Those of standard input.
    pub(crate) fn stdin() -> Self {
        Self {
            name: "standard input".into(),
            input: Box::new(BufReader::new(io::stdin())),
        }
    }

    /// The next line without its end; `None` behind the last.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.read()
            .map_err(|error| Failure::input(&self.name, &error))
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut read_any = false;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(read_any.then_some(line));
            }
            read_any = true;
            let end = available.iter().position(|&octet| octet == b'\n');
            let taken = end.unwrap_or(available.len());
            let room = MAX_LINE - line.len();
            line.extend(available.iter().take(taken.min(room)));
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
