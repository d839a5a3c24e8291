//! MARC records whose fields are numbered, and functions that check the contents of new fields.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use z3950_marc::edit::is_code;
use z3950_marc::record::{FIELD_TERMINATOR, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Tag};
use z3950_marc::select::TagPattern;
use z3950_marc::{Field as MarcField, MarcRecord};

use crate::error::quoted;
use crate::exit::calling;

/// The number of indicators in a new field.
pub(crate) const INDICATORS: usize = 2;

/// A MARC record in which each field has a permanent number. With this number, a `Field` finds its field in the record
/// even after other fields have been added or removed.
#[derive(Clone)]
pub(crate) struct Numbered {
    pub(crate) record: Arc<MarcRecord>,
    numbers: Vec<usize>,
    next: usize,
    pub(crate) is_changed: bool,
}

impl From<MarcRecord> for Numbered {
    fn from(record: MarcRecord) -> Self {
        Self {
            record: Arc::new(record),
            numbers: Vec::new(),
            next: 0,
            is_changed: false,
        }
    }
}

impl Numbered {
    /// Returns the numbers of the fields, in the order of the fields.
    fn numbers(&mut self) -> &mut Vec<usize> {
        if self.next == 0 {
            self.next = self.record.fields.len();
            self.numbers = (0..self.next).collect();
        }
        &mut self.numbers
    }

    /// Returns the record so that it can be changed, and marks it as changed.
    pub(crate) fn record_mut(&mut self) -> &mut MarcRecord {
        self.is_changed = true;
        Arc::make_mut(&mut self.record)
    }

    pub(crate) fn place(&mut self, number: usize) -> Option<usize> {
        self.numbers().iter().position(|other| *other == number)
    }

    /// Returns the numbers of the fields with one of the tags, or of all fields if no tags are given.
    pub(crate) fn tagged(&mut self, tags: &[TagPattern], all: bool) -> Vec<usize> {
        let numbers = self.numbers().clone();
        let fields = numbers.into_iter().zip(&self.record.fields);
        fields
            .filter(|(_, field)| all || tags.iter().any(|tag| tag.matches(field.tag)))
            .map(|(number, _)| number)
            .collect()
    }

    pub(crate) fn insert(&mut self, field: MarcField) -> PyResult<usize> {
        self.numbers();
        let tag = field.tag;
        let number = self.next;
        self.next += 1;
        let inserted = self.record_mut().insert_ordered(field);
        inserted.map_err(|error| PyValueError::new_err(error.to_string()))?;
        // `insert_ordered` has put the new field after all other fields with its tag.
        let fields = self.record.fields.iter();
        let place = fields.rev().position(|other| other.tag == tag);
        let place = self.numbers.len() - place.unwrap_or(0);
        self.numbers.insert(place, number);
        Ok(number)
    }

    pub(crate) fn remove(&mut self, numbers: &[usize]) {
        for number in numbers {
            if let Some(place) = self.place(*number) {
                self.record_mut().fields.remove(place);
                self.numbers.remove(place);
            }
        }
    }
}

/// Creates a field from subfields, which are pairs of a code and its text. Text without a code is written without a
/// subfield delimiter.
pub(crate) fn field_of(tag: Tag, indicators: &[u8], subfields: &[(String, String)]) -> MarcField {
    let mut body = BytesMut::from(indicators);
    for (code, text) in subfields {
        if !code.is_empty() || text.is_empty() {
            body.put_u8(SUBFIELD_DELIMITER);
        }
        body.put_slice(code.as_bytes());
        body.put_slice(text.as_bytes());
    }
    MarcField {
        tag,
        body: body.freeze(),
    }
}

/// Checks that subfields contain no ISO 2709 separators, and that their codes have the length stated in the leader.
pub(crate) fn check_subfields(subfields: &[(String, String)], code_length: usize) -> PyResult<()> {
    for (index, (code, text)) in subfields.iter().enumerate() {
        // Text before the first subfield is allowed to have no code.
        let is_before = index == 0 && code.is_empty();
        if !is_before && (code.chars().count() != code_length || !is_plain(code)) {
            let words = format!(
                "{} is not the code of a subfield, such as 'a'",
                quoted(code)
            );
            return Err(PyValueError::new_err(words));
        }
        check_text(text)?;
    }
    Ok(())
}

pub(crate) fn check_text(text: &str) -> PyResult<()> {
    let separators = [RECORD_TERMINATOR, FIELD_TERMINATOR, SUBFIELD_DELIMITER];
    if text.bytes().any(|octet| separators.contains(&octet)) {
        return Err(PyValueError::new_err(
            "the text has a separator of ISO 2709 (U+001D to U+001F)",
        ));
    }
    Ok(())
}

pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// Checks the code of a new subfield.
pub(crate) fn check_new_code(code: &str) -> PyResult<()> {
    if !is_code(code) {
        return Err(PyValueError::new_err(format!(
            "{} is not the code of a subfield, such as 'a'",
            quoted(code)
        )));
    }
    Ok(())
}

/// Converts the subfields of a field from Python, where they are given as pairs of a code and its text, or as a dict.
pub(crate) fn subfields_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    let pairs = match given.cast::<PyDict>() {
        Ok(dict) => dict.items().into_any(),
        Err(_) => given.clone(),
    };
    let wanted = |_| {
        PyTypeError::new_err(
            "subfields are pairs of a code and a text, such as [('a', 'Emma'), ('c', 'Austen')]",
        )
    };
    calling(given.py(), || {
        let pairs = pairs.try_iter().map_err(wanted)?;
        pairs.map(|pair| pair?.extract().map_err(wanted)).collect()
    })
}

pub(crate) fn indicators_of(text: &str, count: usize) -> PyResult<()> {
    let is_printable = text.bytes().all(|octet| matches!(octet, b' '..=b'~'));
    if text.len() == count && is_printable {
        return Ok(());
    }
    let words = format!(
        "{} is not {count} indicators, such as '10' or '  '",
        quoted(text)
    );
    Err(PyValueError::new_err(words))
}
