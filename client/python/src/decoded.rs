//! Converts MARC records to UTF-8, and describes their faults.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Charset, Options, to_utf8};
use z3950_marc::stream::{InputForm, InputRecord, RecordReader};

/// The maximum number of faults in a record that an exception lists.
const SHOWN: usize = 3;

/// Returns a record in UTF-8, with a description of its faults if any data was lost or had to be guessed.
///
/// # Errors
/// Fails if the record cannot be read at all.
pub(crate) fn in_utf8(
    found: InputRecord,
    options: &Options,
) -> Result<(MarcRecord, Option<String>), String> {
    let InputRecord {
        record,
        notes,
        incomplete,
        guessed,
        ..
    } = found;
    let converted = to_utf8(&record?, options);
    if !(incomplete || guessed || converted.is_loss()) {
        return Ok((converted.record, None));
    }
    // Notes about a complete and unambiguous record are left out.
    let notes = notes.into_iter().filter(|_| incomplete || guessed);
    let problems = converted
        .problems
        .iter()
        .filter(|found| found.problem.kind.is_undecoded());
    let words: Vec<String> = notes
        .chain(problems.map(ToString::to_string))
        .take(SHOWN)
        .collect();
    Ok((converted.record, Some(words.join("; "))))
}

/// Parses a record in MARC-in-JSON.
///
/// # Errors
/// Fails with a `ValueError` if the octets are not a record, or if data would be lost.
pub(crate) fn record_of_json(octets: &Bound<'_, PyBytes>) -> PyResult<MarcRecord> {
    let mut records = RecordReader::new(octets.as_bytes(), InputForm::Json);
    let found = records
        .next()
        .transpose()?
        .ok_or_else(|| PyValueError::new_err("there is no record"))?;
    match in_utf8(found, &options(None)) {
        Ok((record, None)) => Ok(record),
        Ok((_, Some(words))) | Err(words) => Err(PyValueError::new_err(format!(
            "this is no MARC-in-JSON: {words}"
        ))),
    }
}

/// Returns the options for decoding the text of records.
pub(crate) fn options(charset: Option<Charset>) -> Options {
    let mut options = Options::default();
    options.charset = charset;
    options.character_references = true;
    options
}
