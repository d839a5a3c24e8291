//! Reads records from a file or a pipe, one at a time and in constant memory, in any supported form, and writes them. A damaged
//! record never affects its neighbours: each form has its own way to find the beginning of the next record.

mod guess;
mod json;
mod lines;
mod marc;
mod octets;
pub mod rows;
mod window;
mod write;
mod xml;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod mutation;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

use self::guess::LONGEST_MAGIC;
pub use self::guess::refuse_compressed;
use self::json::JsonCutter;
use self::lines::LineCutter;
use self::marc::MarcCutter;
pub use self::window::{GUESS_OCTETS, MAX_RECORD};
use self::window::{RawRecord, Window};
pub use self::write::{RecordWriter, RecordWriterError};
use self::xml::XmlCutter;
use super::marcxml::{self, MarcXmlError};
use super::record::MarcRecord;
pub use super::remarks::MAX_NOTES;
use super::remarks::Remarks;
use super::{iso2709, marcjson, marcline, mrk};

/// A form in which records are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputForm {
    /// ISO 2709.
    Marc,
    /// MARCXML, with or without a collection. It may be within SRU responses (with either record packing) or OAI-PMH responses, whose
    /// notices of deleted records are skipped.
    MarcXml,
    /// MARC-in-JSON: an array of objects, or a sequence of objects with or without line ends between them.
    Json,
    /// MARCMaker text.
    Mrk,
    /// Lines as YAZ prints them.
    Line,
}

/// Reads the MARCXML record in a document that should have exactly one, such as an SRU record. If there are more, the record is incomplete,
/// and a note says how many were left out. Returns `None` for a document without a record.
pub fn marcxml_record(document: &[u8]) -> Option<InputRecord> {
    let mut records = RecordReader::new(document, InputForm::MarcXml).map_while(Result::ok);
    let mut first = records.next()?;
    let has_fields = |one: &InputRecord| {
        let record = one.record.as_ref();
        record.is_ok_and(|record| !record.fields.is_empty())
    };
    let others = records.filter(has_fields).count();
    if others > 0 {
        let words = if others == 1 {
            "another MARC record in the same XML is left out".to_owned()
        } else {
            format!("{others} more MARC records in the same XML are left out")
        };
        first.notes.push(words);
        first.incomplete = true;
    }
    Some(first)
}

/// A record from the input, or a report of damage in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputRecord {
    /// The number of the record in the input, counted from 1; damaged records are counted too.
    pub number: u64,
    /// The offset of the record in the input, in octets. For XML in an encoding other than UTF-8, it is an offset in the text converted to
    /// UTF-8.
    pub offset: u64,
    /// The record, or the reason why it cannot be read.
    pub record: Result<MarcRecord, String>,
    /// A message for each part of the record that was repaired or skipped.
    pub notes: Vec<String>,
    /// Whether the record is incomplete: octets are missing from it or were left out.
    pub incomplete: bool,
    /// Whether fields were guessed; see [`RepairKind::is_guess`](iso2709::RepairKind::is_guess).
    pub guessed: bool,
}

/// Reads records from any source of octets: an iterator over [`InputRecord`]s.
///
/// Memory use is bounded by [`MAX_RECORD`] and the size of one record. Compressed input is an error; see
/// [`refuse_compressed`]. The iterator ends after an error from the source.
#[derive(Debug)]
pub struct RecordReader<R> {
    window: Window<R>,
    form: InputForm,
    cut: Cut,
    number: u64,
    failed: bool,
}

impl<R: Read> RecordReader<R> {
    /// Creates a reader for one form.
    pub fn new(input: R, form: InputForm) -> Self {
        Self::over(Window::new(input), form)
    }

    /// Creates a reader that detects the form from the first [`GUESS_OCTETS`] octets. If the form cannot be detected,
    /// it is `fallback`.
    ///
    /// # Errors
    /// Errors from the source.
    pub fn guessing(input: R, fallback: InputForm) -> io::Result<Self> {
        let mut window = Window::new(input);
        window.fill(GUESS_OCTETS)?;
        let form = InputForm::guess(window.held()).unwrap_or(fallback);
        Ok(Self::over(window, form))
    }

    fn over(window: Window<R>, form: InputForm) -> Self {
        Self {
            window,
            form,
            cut: Cut::new(form),
            number: 0,
            failed: false,
        }
    }

    /// Returns the form of the input.
    pub fn form(&self) -> InputForm {
        self.form
    }

    /// Returns the number of octets consumed so far.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Converts text in UTF-16, or with CR as its line ends, to the form that the readers of lines and of JSON
    /// expect. XML has its own rules.
    fn normalise_text(&mut self) -> io::Result<()> {
        let is_lines = matches!(self.form, InputForm::Mrk | InputForm::Line);
        let is_text = is_lines || self.form == InputForm::Json;
        if is_text && let Some(encoding) = guess::utf16(self.window.held()) {
            self.window.decode_from(encoding);
        }
        if is_lines {
            self.window.fill(GUESS_OCTETS)?;
            let held = self.window.held();
            if held.contains(&b'\r') && !held.contains(&b'\n') {
                self.window.replace_carriage_returns();
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<Option<InputRecord>> {
        if self.number == 0 && self.window.offset() == 0 {
            self.window.fill(LONGEST_MAGIC)?;
            refuse_compressed(self.window.held())?;
            self.normalise_text()?;
        }
        let (raw, mut record, mut remarks) = loop {
            let Some(raw) = self.cut.next(&mut self.window)? else {
                return Ok(None);
            };
            let mut remarks = Remarks::default();
            if raw.cut_off {
                remarks.loss(|| "cut off: another record begins on its last line".to_owned());
            }
            let record = match &raw.damage {
                Some(damage) => Err(damage.clone()),
                None => parse(self.form, &raw, &mut remarks).map_err(|error| error.to_string()),
            };
            if record.is_ok() || !is_deletion(self.form, &raw) {
                break (raw, record, remarks);
            }
        };
        self.number += 1;
        if let Ok(record) = &mut record
            && record.mend_code_length()
        {
            remarks.note(|| "leader position 11 is not usable".to_owned());
        }
        Ok(Some(InputRecord {
            number: self.number,
            offset: raw.offset,
            incomplete: remarks.is_loss || record.is_err(),
            guessed: remarks.is_guess,
            record,
            notes: remarks.notes,
        }))
    }
}

impl<R: Read> Iterator for RecordReader<R> {
    type Item = io::Result<InputRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let found = self.read().transpose();
        self.failed = matches!(found, Some(Err(_)));
        found
    }
}

/// The splitter for the form of the input.
#[derive(Debug)]
enum Cut {
    Marc(MarcCutter),
    Xml(XmlCutter),
    Json(JsonCutter),
    Lines(LineCutter),
}

impl Cut {
    fn new(form: InputForm) -> Self {
        match form {
            InputForm::Marc => Self::Marc(MarcCutter),
            InputForm::MarcXml => Self::Xml(XmlCutter::default()),
            InputForm::Json => Self::Json(JsonCutter::default()),
            InputForm::Mrk => Self::Lines(LineCutter::mrk()),
            InputForm::Line => Self::Lines(LineCutter::line()),
        }
    }

    fn next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Option<RawRecord>> {
        match self {
            Self::Marc(cutter) => cutter.next(window),
            Self::Xml(cutter) => cutter.next(window),
            Self::Json(cutter) => cutter.next(window),
            Self::Lines(cutter) => cutter.next(window),
        }
    }
}

/// Returns whether the octets are a notice that a record was deleted (OAI-PMH), and not a record.
fn is_deletion(form: InputForm, raw: &RawRecord) -> bool {
    form == InputForm::MarcXml
        && raw.damage.is_none()
        && std::str::from_utf8(&raw.octets).is_ok_and(marcxml::is_deleted)
}

fn parse(
    form: InputForm,
    raw: &RawRecord,
    remarks: &mut Remarks,
) -> Result<MarcRecord, Box<dyn std::error::Error>> {
    match form {
        InputForm::Marc => {
            let parsed = iso2709::parse(&raw.octets)?;
            for repair in &parsed.repairs {
                remarks.note(|| repair.to_string());
                remarks.is_loss |= repair.kind.is_loss();
                remarks.is_guess |= repair.kind.is_guess();
            }
            Ok(parsed.record)
        }
        InputForm::MarcXml => {
            let (text, has_octets) = octets::text(&raw.octets, remarks);
            let read = marcxml::from_xml(&text).or_else(|error| {
                let packed =
                    matches!(error, MarcXmlError::NoRecord).then(|| marcxml::packed(&text));
                packed
                    .flatten()
                    .map_or(Err(error), |packed| marcxml::from_xml(&packed))
            })?;
            for note in read.remarks.notes {
                remarks.note(|| note);
            }
            remarks.is_loss |= read.remarks.is_loss;
            Ok(octets::restored(read.record, has_octets))
        }
        InputForm::Json => {
            let (text, has_octets) = octets::text(&raw.octets, remarks);
            match marcjson::from_json_lenient(&text, remarks) {
                Ok(record) => Ok(octets::restored(record, has_octets)),
                Err(marcjson::MarcJsonError::Json(error)) => {
                    Err(format!("not JSON: {error}").into())
                }
                Err(error) => Err(error.into()),
            }
        }
        InputForm::Mrk => {
            let (text, has_octets) = octets::text(&raw.octets, remarks);
            let record = mrk::parse_lenient(&text, raw.line, remarks)?;
            Ok(octets::restored(record, has_octets))
        }
        InputForm::Line => Ok(marcline::from_lines(&raw.octets, raw.line, remarks)?),
    }
}
