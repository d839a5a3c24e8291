//! Text arguments of a program, tags among them, and terms as text.

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

/// An argument that is text. For another type, the exception names the type, as Python does.
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

/// Returns the text of a string; for another value, an exception whose message begins with the expected type.
pub(crate) fn text_of<'a>(value: &'a Bound<'_, PyAny>, expected: &str) -> PyResult<Cow<'a, str>> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_cow(),
        Err(_) => {
            let given = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("{expected}, not {given}")))
        }
    }
}

/// The tags by which the leader is known elsewhere.
const LEADER: [&[u8]; 2] = [b"LDR", b"000"];

/// Reads a tag.
///
/// # Errors
/// A `TypeError` for what is no text, and a `ValueError` for other text than three letters and digits, and for the names of the leader.
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

/// Reads a tag to look for, in which an `X`, in either case, stands for any character.
///
/// # Errors
/// Those of [`tag_of`].
pub(crate) fn pattern_of(tag: &Bound<'_, PyAny>) -> PyResult<TagPattern> {
    Ok(tag_of(tag)?.into())
}

/// Reads tags to look for.
///
/// # Errors
/// Those of [`tag_of`].
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
