//! Reads record files one record at a time, and converts them piece by piece, so that memory use does not depend on the
//! size of the file.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use pyo3::exceptions::{PyBlockingIOError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMemoryView};
use pyo3::{PyTraverseError, PyVisit};
#[cfg(unix)]
use rustix::fs::{Mode, OFlags};
#[cfg(unix)]
use rustix::io::Errno;
use z3950_marc::charset::{Charset, Options};
use z3950_marc::stream::{InputForm, RecordReader};

use crate::decoded::{in_utf8, options};
use crate::error::{Error, guarded, of_file, unknown};
use crate::exit::{attached, calling, detached};
use crate::process::Local;
use crate::record::Record;
use crate::text::Text;
use crate::written::Written;

/// The number of octets after which a reader checks for signals. This is needed because there may be very many octets
/// between two records.
const SIGNAL_OCTETS: usize = 16 << 20;

/// A reader of octets that checks for signals every [`SIGNAL_OCTETS`] octets.
struct Watched {
    octets: Octets,
    since: usize,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since >= SIGNAL_OCTETS {
            self.since = 0;
            attached(|py| py.check_signals())?;
        }
        let count = self.octets.read(buffer)?;
        self.since += count;
        Ok(count)
    }
}

/// The source of octets: a file, memory, or a Python object with `read`.
enum Octets {
    File(BufReader<File>),
    Memory(Cursor<Bytes>),
    Object(Arc<Py<PyAny>>),
}

impl Read for Octets {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => with_signals(|| file.read(buffer)),
            Self::Memory(octets) => octets.read(buffer),
            Self::Object(object) => attached(|py| {
                let read = object.call_method1(py, "read", (buffer.len(),))?;
                if read.is_none(py) {
                    let words =
                        "read() gave None: the file is non-blocking, and no octets are there yet";
                    return Err(PyBlockingIOError::new_err(words).into());
                }
                let octets = read.cast_bound::<PyBytes>(py).map_err(|_| {
                    PyTypeError::new_err("read() gave no bytes: open the file in binary mode")
                })?;
                let mut octets = octets.as_bytes();
                if octets.len() > buffer.len() {
                    return Err(PyValueError::new_err(
                        "read() gave more octets than it was asked for",
                    )
                    .into());
                }
                octets.read(buffer)
            }),
        }
    }
}

/// Runs a call and, if a signal interrupts it, repeats it after Python has handled the signal. This is needed for
/// pipes, because reading from them or opening them may block.
fn with_signals<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                attached(|py| py.check_signals())?;
            }
            ended => return ended,
        }
    }
}

/// Opens a file. Unlike `File::open`, this can be interrupted by a signal.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file: File = rustix::fs::open(path, flags, Mode::empty())?.into();
    // A folder can be opened but not read, so it is refused here.
    if file.metadata()?.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// How to treat damaged records. A record is damaged if any of its data was lost or had to be guessed, or if some of
/// its octets cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDamage {
    Raise,
    /// Return damaged records as far as they can be read. Records that cannot be read at all raise an exception.
    Repair,
    Skip,
}

/// A source of records.
enum Input {
    File {
        records: Box<RecordReader<Watched>>,
        /// The Python object whose method `read` provides the octets; `None` for other sources.
        object: Option<Arc<Py<PyAny>>>,
        charset: Option<Charset>,
        damage: OnDamage,
    },
    Objects(Py<PyIterator>),
    /// Nothing, because the garbage collector has cleared the input.
    Nothing,
}

impl Input {
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        form: Option<&str>,
        charset: Option<&str>,
        errors: &str,
    ) -> PyResult<Self> {
        let damage = match errors {
            "strict" => OnDamage::Raise,
            "repair" => OnDamage::Repair,
            "skip" => OnDamage::Skip,
            _ => return Err(unknown(errors, "strict, repair or skip")),
        };
        let charset = charset.map(|name| {
            Charset::by_name(name).ok_or_else(|| {
                unknown(
                    name,
                    "the name of a character set, such as utf-8, marc-8 or iso5426",
                )
            })
        });
        let charset = charset.transpose()?;
        let mut fallback = InputForm::Marc;
        let mut object = None;
        let octets = if let Ok(octets) = source.cast::<PyBytes>() {
            in_memory(octets)
        } else if source.is_instance_of::<PyByteArray>() || source.is_instance_of::<PyMemoryView>()
        {
            let octets = py.get_type::<PyBytes>().call1((source,))?;
            in_memory(octets.cast()?)
        } else if source.hasattr("read")? {
            let source = Arc::new(source.clone().unbind());
            object = Some(Arc::clone(&source));
            Octets::Object(source)
        } else if let Ok(path) = source.extract::<PathBuf>() {
            let extension = path.extension().and_then(|extension| extension.to_str());
            fallback = extension
                .and_then(InputForm::by_extension)
                .unwrap_or(fallback);
            let file = detached(py, || with_signals(|| open(&path)))
                .map_err(|error| of_file(py, &path, error))?;
            Octets::File(BufReader::new(file))
        } else if source.hasattr("as_marc")? || source.try_iter().is_ok() {
            // The source is one record, which may itself be iterable, or an iterable of records, perhaps from other packages.
            let each = py.import("z3950._common")?.getattr("each_record")?;
            return Ok(Self::Objects(each.call1((source,))?.try_iter()?.unbind()));
        } else {
            return Err(PyTypeError::new_err(
                "records come from a path, bytes, a file in binary mode, or an iterable of records",
            ));
        };
        let octets = Watched { octets, since: 0 };
        let form = form.map(|name| {
            InputForm::by_extension(name)
                .ok_or_else(|| unknown(name, "marc, marcxml, json, mrk or line"))
        });
        let records = match form.transpose()? {
            Some(form) => RecordReader::new(octets, form),
            None => detached(py, || RecordReader::guessing(octets, fallback))?,
        };
        Ok(Self::File {
            records: Box::new(records),
            object,
            charset,
            damage,
        })
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        match self {
            Self::Objects(records) => {
                let mut records = records.bind(py).clone();
                let Some(record) = calling(py, || records.next()).transpose()? else {
                    return Ok(None);
                };
                Ok(Some(record.cast_into()?.unbind()))
            }
            Self::Nothing => Ok(None),
            Self::File {
                records,
                charset,
                damage,
                ..
            } => {
                let options = options(*charset);
                loop {
                    let read = || next_of_file(records, &options, *damage == OnDamage::Repair);
                    match guarded(|| detached(py, read))? {
                        Next::Record(record) => return Ok(Some(Py::new(py, record)?)),
                        Next::End => return Ok(None),
                        // There may be many damaged records in succession, so check for signals.
                        Next::Damaged(_) if *damage == OnDamage::Skip => py.check_signals()?,
                        Next::Damaged(words) => return Err(Error::new_err(words)),
                    }
                }
            }
        }
    }
}

/// The next item from a source of records.
enum Next {
    Record(Record),
    /// A message about a damaged record, which states its position and the fault.
    Damaged(String),
    End,
}

fn next_of_file(
    records: &mut RecordReader<Watched>,
    options: &Options,
    repairs: bool,
) -> PyResult<Next> {
    let Some(found) = records.next() else {
        return Ok(Next::End);
    };
    let found = found?;
    let (number, offset) = (found.number, found.offset);
    let damaged = |what: &str| {
        Next::Damaged(format!(
            "record {number} (octet {offset}) is damaged: {what}"
        ))
    };
    Ok(match in_utf8(found, options) {
        Ok((record, None)) => Next::Record(record.into()),
        Ok((record, Some(words))) if repairs => Next::Record(Record::damaged(record, words)),
        Ok((_, Some(words))) => damaged(&format!("{words}; errors=\"repair\" takes it as it is")),
        Err(words) => damaged(&words),
    })
}

fn in_memory(octets: &Bound<'_, PyBytes>) -> Octets {
    Octets::Memory(Cursor::new(Bytes::copy_from_slice(octets.as_bytes())))
}

/// A reader of the records in a file or another source. A child process must not use it, because it shares the file
/// position with its parent, which would then miss the records that the child has read.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Reader(Local<Mutex<Input>>);

#[pymethods]
impl Reader {
    #[new]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        form: Option<Text<'_>>,
        charset: Option<Text<'_>>,
        errors: Text<'_>,
    ) -> PyResult<Self> {
        let (form, charset) = (form.as_deref(), charset.as_deref());
        let input = calling(py, || Input::new(py, source, form, charset, &errors))?;
        Ok(Self(Local::new(Mutex::new(input))))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Returns the next record. After an exception for a damaged record, reading continues with the record after it.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        // `list` would read all records without checking for signals.
        py.check_signals()?;
        let input = self.0.here().ok_or_else(|| {
            Error::new_err("these records were opened before a fork and belong to the parent process: open them again in the child")
        })?;
        input.try_lock().map_err(|_| in_use())?.next(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.held().as_deref() {
            Some(Input::File { object, .. }) => visit.call(object.as_deref()),
            Some(Input::Objects(records)) => visit.call(records),
            Some(Input::Nothing) | None => Ok(()),
        }
    }

    fn __clear__(&self) {
        if let Some(mut input) = self.held() {
            *input = Input::Nothing;
        }
    }
}

impl Reader {
    /// Returns the input, unless another thread or process is using it.
    fn held(&self) -> Option<MutexGuard<'_, Input>> {
        self.0.here()?.try_lock().ok()
    }
}

/// Converts records to another form, piece by piece.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Converter {
    records: Py<Reader>,
    form: Written,
    progress: Mutex<Progress>,
}

/// How much of the document has been written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Begun,
    Ended,
}

#[pymethods]
impl Converter {
    #[new]
    #[pyo3(signature = (records, to, columns=None))]
    fn new(records: Py<Reader>, to: Text<'_>, columns: Option<Text<'_>>) -> PyResult<Self> {
        Ok(Self {
            records,
            form: Written::by_name(&to, columns.as_deref())?,
            progress: Mutex::new(Progress::Nothing),
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut progress = self.progress.try_lock().map_err(|_| in_use())?;
        let record = self.records.get().__next__(py)?;
        let mut piece = match *progress {
            Progress::Nothing => self.form.begin(),
            Progress::Begun if record.is_some() => self.form.between(),
            Progress::Begun => "",
            Progress::Ended => return Ok(None),
        }
        .as_bytes()
        .to_vec();
        match record {
            Some(record) => {
                let record = record.bind(py).get();
                let marc = record
                    .as_marc()
                    .ok_or_else(|| Error::new_err("only MARC records can be converted"))?;
                guarded(|| {
                    let copies = if self.form.has_copies() {
                        record.copies()
                    } else {
                        Vec::new()
                    };
                    self.form.write(&marc, &copies, &mut piece)
                })?;
                *progress = Progress::Begun;
            }
            None => {
                piece.extend_from_slice(self.form.end().as_bytes());
                *progress = Progress::Ended;
            }
        }
        Ok(Some(PyBytes::new(py, &piece)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.records)
    }
}

fn in_use() -> PyErr {
    Error::new_err("another thread is reading from this")
}
