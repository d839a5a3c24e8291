//! Where the records of a batch go: one file, which is cut back to the last complete answer when a run was broken off,
//! or a folder with a file for each input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use z3950_asn1::record::Form;

use super::inputs::Ask;

/// How many octets are collected before they are written, at most.
const BUFFER: usize = 64 * 1024;
/// The most characters of an input in the name of its file.
const MAX_SLUG: usize = 64;
/// Digits of an input's position in the name of its file, at least.
const DIGITS: usize = 6;
/// The file of the folder that is being written.
const PART: &str = ".z3950-part";

/// A place for records that come one after the other, those of one ask together.
pub trait Sink {
    /// Adds a record, in the octets of its form; what belongs between two of them is added here.
    ///
    /// # Errors
    /// What came in the way of writing.
    fn record(&mut self, octets: &[u8]) -> io::Result<()>;

    /// Completes the records of an ask, whose input may be shown so: from now on they are there, whatever happens to this
    /// program. Gives the octets of the file that they are in.
    ///
    /// # Errors
    /// What came in the way of writing.
    fn complete(&mut self, ask: &Ask, input: &str) -> io::Result<u64>;

    /// Ends the run. Records that were not completed are taken out again.
    ///
    /// # Errors
    /// What came in the way of writing.
    fn finish(&mut self) -> io::Result<()>;
}

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

/// One file for all.
#[derive(Debug)]
pub struct FileSink<F = File> {
    file: F,
    frame: Frame,
    held: Vec<u8>,
    /// Octets in the file.
    written: u64,
    /// Octets of it that are complete.
    complete: u64,
}

/// What a sink cuts back: a file.
pub trait Cut: Write {
    /// Cuts it to this length in octets, to be written on from there.
    ///
    /// # Errors
    /// What came in the way.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Cut for File {
    /// A pipe or device stays as it is.
    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.metadata()?.is_file() {
            self.set_len(length)?;
            self.seek(SeekFrom::Start(length))?;
        }
        Ok(())
    }
}

impl FileSink {
    /// Goes on with the file of that name, which is made if it is not there; see [`FileSink::after`].
    ///
    /// # Errors
    /// A file that is shorter than `length`, which is then not touched; what came in the way of writing.
    pub fn open(path: &Path, length: u64, form: Option<Form>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let found = file.metadata()?.len();
        if found < length {
            let words =
                format!("it has {found} octets, fewer than the {length} that are said to be in it");
            return Err(io::Error::other(words));
        }
        Self::after(file, length, form)
    }
}

impl<F: Cut> FileSink<F> {
    /// Goes on with a file whose first `length` octets are complete records in a form; the rest is cut off.
    ///
    /// # Errors
    /// What came in the way of writing.
    pub fn after(mut file: F, length: u64, form: Option<Form>) -> io::Result<Self> {
        file.cut(length)?;
        Ok(Self {
            file,
            frame: Frame(form),
            held: Vec::new(),
            written: length,
            complete: length,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.held)?;
        self.written += octets(&self.held);
        self.held.clear();
        Ok(())
    }
}

fn octets(held: &[u8]) -> u64 {
    u64::try_from(held.len()).unwrap_or(u64::MAX)
}

impl<F: Cut> Sink for FileSink<F> {
    fn record(&mut self, octets: &[u8]) -> io::Result<()> {
        let is_first = self.written == 0 && self.held.is_empty();
        self.held.extend_from_slice(self.frame.before(is_first));
        self.held.extend_from_slice(octets);
        match self.held.len() < BUFFER {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn complete(&mut self, _: &Ask, _: &str) -> io::Result<u64> {
        self.flush()?;
        self.complete = self.written;
        Ok(self.complete)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.held.clear();
        self.file.cut(self.complete)?;
        if self.complete == 0 {
            self.held.extend_from_slice(self.frame.before(true));
        }
        self.held.extend_from_slice(self.frame.end());
        self.file.write_all(&self.held)?;
        self.held.clear();
        self.written = self.complete;
        Ok(())
    }
}

/// A file for each ask that has records: `000007-isbn-0306406152.mrc`, or `000007.2-…` for the second of several targets.
#[derive(Debug)]
pub struct FolderSink {
    folder: PathBuf,
    extension: &'static str,
    frame: Frame,
    targets: usize,
    /// The file under way, once it has a record.
    part: Option<FileSink>,
}

impl FolderSink {
    /// Writes into a folder, which is made if it is not there, files with that extension.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(
        folder: &Path,
        extension: &'static str,
        form: Option<Form>,
        targets: usize,
    ) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            extension,
            frame: Frame(form),
            targets,
            part: None,
        })
    }

    fn path(&self, ask: &Ask, input: &str) -> PathBuf {
        let Ask {
            position, target, ..
        } = ask;
        let number = match self.targets {
            0 | 1 => format!("{position:0DIGITS$}"),
            _ => format!("{position:0DIGITS$}.{}", target + 1),
        };
        let name = format!("{number}{}.{}", slug(input), self.extension);
        self.folder.join(name)
    }

    fn part(&mut self) -> io::Result<&mut FileSink> {
        let part = match self.part.take() {
            Some(part) => part,
            None => {
                let file = File::create(self.folder.join(PART))?;
                FileSink::after(file, 0, self.frame.0)?
            }
        };
        Ok(self.part.insert(part))
    }
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

impl Sink for FolderSink {
    fn record(&mut self, octets: &[u8]) -> io::Result<()> {
        self.part()?.record(octets)
    }

    fn complete(&mut self, ask: &Ask, input: &str) -> io::Result<u64> {
        let path = self.path(ask, input);
        let Some(mut part) = self.part.take() else {
            // There may be a file of an earlier run.
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(0),
            };
        };
        let length = part.complete(ask, input)? + octets(self.frame.end());
        part.finish()?;
        fs::rename(self.folder.join(PART), path)?;
        Ok(length)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.part = None;
        match fs::remove_file(self.folder.join(PART)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(position: u64, target: usize) -> Ask {
        Ask {
            position,
            target,
            input: [].into(),
            is_cut: false,
        }
    }

    #[test]
    fn a_file_is_a_whole_document_whenever_a_run_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all.xml");
        let form = Some(Form::MarcXml);
        let (begin, end) = (Form::MarcXml.begin(), Form::MarcXml.end());
        let mut length = 0;
        // Each run completes its first record and breaks off in its second.
        for (first, second, expected) in [("<a/>", "<b/>", "<a/>"), ("<c/>", "<d/>", "<a/><c/>")] {
            let mut sink = FileSink::open(&path, length, form).expect("opens");
            sink.record(first.as_bytes()).expect("written");
            length = sink.complete(&ask(1, 0), "a").expect("written");
            sink.record(&second.repeat(BUFFER).into_bytes())
                .expect("written");
            sink.finish().expect("written");
            let found = fs::read_to_string(&path).expect("read");
            assert_eq!(found, format!("{begin}{expected}{end}"));
            assert_eq!(octets(found.as_bytes()), length + octets(end.as_bytes()));
        }
        let error = FileSink::open(&path, 1 << 20, form).expect_err("too short");
        assert!(error.to_string().contains("fewer than"), "{error}");
        let mut sink = FileSink::open(&path, 0, form).expect("opens");
        sink.finish().expect("written");
        assert_eq!(
            fs::read_to_string(&path).expect("read"),
            format!("{begin}{end}")
        );
    }

    #[test]
    fn a_folder_has_a_file_for_each_ask_with_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("records");
        let names = || {
            let entries = fs::read_dir(&folder).expect("a folder").flatten();
            let mut names: Vec<_> = entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let mut sink = FolderSink::new(&folder, "xml", Some(Form::MarcXml), 2).expect("made");
        sink.record(b"<a/>").expect("written");
        let length = sink
            .complete(&ask(7, 0), "isbn:0-306/..\u{e9}")
            .expect("written");
        assert_eq!(sink.complete(&ask(7, 1), "none").expect("written"), 0);
        sink.record(b"<b/>").expect("written");
        sink.complete(&ask(8, 1), &"x".repeat(500))
            .expect("written");
        sink.record(b"<c/>").expect("written");
        sink.finish().expect("written");
        let long = format!("000008.2-{}.xml", "x".repeat(MAX_SLUG - 1));
        assert_eq!(names(), ["000007.1-isbn-0-306.xml", &long]);
        let whole = fs::read(folder.join("000007.1-isbn-0-306.xml")).expect("read");
        assert_eq!(octets(&whole), length);
        // Another run that finds nothing leaves nothing of it.
        let mut again = FolderSink::new(&folder, "xml", Some(Form::MarcXml), 2).expect("made");
        again
            .complete(&ask(7, 0), "isbn:0-306/..\u{e9}")
            .expect("written");
        assert_eq!(names(), [long]);
    }
}
