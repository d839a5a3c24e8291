//! Parses the text arguments of a Python program, including tags, and converts terms to text.

use std::borrow::Cow;
use std::ops::Deref;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use z3950_asn1::apdu::Term;
use z3950_marc::charset::utf8_or_latin1;
use z3950_marc::record::Tag;
use z3950_marc::select::TagPattern;

use crate::error::quoted;

/// A text argument. If the argument is not text, the exception names the type of the argument, as Python's own
/// exceptions do.
pub(crate) struct Text<'a>(Cow<'a, str>);

impl<'a> FromPyObject<'a, '_> for Text<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, '_, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyString>() {
            return Ok(Self(given.extract()?));
        }
        let kind = given.get_type().name()?;
        Err(PyTypeError::new_err(format!("a str is wanted, not {kind}")))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.into())
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Returns the text of a Python string. For any other value, returns an exception whose message begins with `expected`.
pub(crate) fn text_of<'a>(value: &'a Bound<'_, PyAny>, expected: &str) -> PyResult<Cow<'a, str>> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_cow(),
        Err(_) => {
            let given = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("{expected}, not {given}")))
        }
    }
}

/// The tags that other programs use for the leader.
const LEADER: [&[u8]; 2] = [b"LDR", b"000"];

/// Parses a tag.
///
/// # Errors
/// Fails with a `TypeError` for a value that is not text, and with a `ValueError` for text other than three letters or
/// digits, and for the tags in [`LEADER`].
pub(crate) fn tag_of(tag: &Bound<'_, PyAny>) -> PyResult<Tag> {
    let text = text_of(tag, "a tag is a str such as '245'")?;
    if LEADER.contains(&text.as_bytes()) {
        let words = format!("{text} is no field: the leader is record.leader");
        return Err(PyValueError::new_err(words));
    }
    let octets: Option<[u8; 3]> = text.as_bytes().try_into().ok();
    let octets = octets.filter(|octets| octets.iter().all(u8::is_ascii_alphanumeric));
    octets.map(Tag).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{} is not a tag of three letters or digits, such as '245', or '6XX' for any subject",
            quoted(&text)
        ))
    })
}

/// Parses a pattern for tags, in which an `X` or `x` matches any character.
///
/// # Errors
/// The errors of [`tag_of`].
pub(crate) fn pattern_of(tag: &Bound<'_, PyAny>) -> PyResult<TagPattern> {
    Ok(tag_of(tag)?.into())
}

/// Parses patterns for tags.
///
/// # Errors
/// The errors of [`tag_of`].
pub(crate) fn patterns_of(tags: &[Bound<'_, PyAny>]) -> PyResult<Vec<TagPattern>> {
    tags.iter().map(pattern_of).collect()
}

/// Returns a term as text.
pub(crate) fn text_of_term(term: &Term) -> String {
    match term {
        Term::General(octets) => utf8_or_latin1(octets).into_owned(),
        Term::CharacterString(text) => text.to_string_lossy().into_owned(),
        Term::Numeric(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
