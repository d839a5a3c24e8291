//! The tags of fields.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use z3950::marc::record::Tag;
use z3950::marc::select::TagPattern;

use crate::error::quoted;
use crate::text::text_of;

/// Other names of the leader.
const LEADER: [&[u8]; 2] = [b"LDR", b"000"];

/// Parses a tag.
///
/// # Errors
/// A `TypeError` for a value that is not text, and a `ValueError` for text other than three letters and digits, and
/// for the names of the leader.
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

/// Parses a tag to search for, in which an `X`, in either case, stands for any character.
///
/// # Errors
/// The errors of [`tag_of`].
pub(crate) fn pattern_of(tag: &Bound<'_, PyAny>) -> PyResult<TagPattern> {
    Ok(tag_of(tag)?.into())
}

/// Parses tags to search for.
///
/// # Errors
/// The errors of [`tag_of`].
pub(crate) fn patterns_of(tags: &[Bound<'_, PyAny>]) -> PyResult<Vec<TagPattern>> {
    tags.iter().map(pattern_of).collect()
}
