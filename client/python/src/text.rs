//! Text arguments of a program, and terms as text.

use std::borrow::Cow;
use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use z3950::asn1::apdu::Term;
use z3950::marc::charset::utf8_or_latin1;

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

/// Returns a term as text.
pub(crate) fn text_of_term(term: &Term) -> String {
    match term {
        Term::General(octets) => utf8_or_latin1(octets).into_owned(),
        Term::CharacterString(text) => text.to_string_lossy().into_owned(),
        Term::Numeric(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
