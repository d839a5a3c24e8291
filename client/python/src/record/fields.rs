//! The methods of `Record` for its fields.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use z3950_marc::Field as MarcField;
use z3950_marc::record::Leader;
use z3950_marc::select::TagPattern;

use super::Record;
use super::field::Field;
use crate::error::quoted;
use crate::marc::{
    INDICATORS, check_new_code, check_subfields, check_text, field_of, indicators_of, subfields_of,
};
use crate::text::{pattern_of, patterns_of, tag_of};

/// The leader of a new record: a book, described according to AACR2, in UTF-8.
pub(super) const BOOK: &str = "00000nam a2200000 a 4500";

/// Parses a leader.
pub(super) fn leader_of(text: &str) -> PyResult<Leader> {
    Leader::try_from(text).map_err(|_| {
        PyValueError::new_err(format!(
            "a leader is 24 characters of ASCII, not {}",
            quoted(text)
        ))
    })
}

impl Record {
    pub(super) fn first_field(
        this: &Bound<'_, Self>,
        tag: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Field>> {
        let tag = pattern_of(tag)?;
        let numbers = this
            .get()
            .numbered(|numbered| numbered.tagged(&[tag], false));
        let number = numbers.ok().and_then(|numbers| numbers.first().copied());
        Ok(number.map(|number| Field::new(this, number)))
    }

    pub(super) fn fields_with(
        this: &Bound<'_, Self>,
        tags: &[Bound<'_, PyAny>],
    ) -> PyResult<Vec<Field>> {
        let tags = patterns_of(tags)?;
        let all = tags.is_empty();
        let numbers = this.get().numbered(|numbered| numbered.tagged(&tags, all));
        let fields = numbers.unwrap_or_default().into_iter();
        Ok(fields.map(|number| Field::new(this, number)).collect())
    }

    pub(super) fn insert_field(
        this: &Bound<'_, Self>,
        tag: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        indicators: Option<&str>,
    ) -> PyResult<Field> {
        let tag = tag_of(tag)?;
        let number = if let Ok(value) = content.extract::<String>() {
            check_text(&value)?;
            let field = MarcField::control(tag, value);
            if !field.is_control() || indicators.is_some() {
                let words = format!("{tag} has subfields: give pairs of a code and a text");
                return Err(PyTypeError::new_err(words));
            }
            this.get().numbered(|numbered| numbered.insert(field))??
        } else {
            if tag.is_control() {
                let words = format!("{tag} has no subfields: give its text");
                return Err(PyTypeError::new_err(words));
            }
            let indicators = indicators.unwrap_or("  ");
            indicators_of(indicators, INDICATORS)?;
            let subfields = subfields_of(content)?;
            for (code, _) in &subfields {
                check_new_code(code)?;
            }
            this.get().numbered(|numbered| {
                check_subfields(&subfields, numbered.record.leader.code_length())?;
                let field = field_of(tag, indicators.as_bytes(), &subfields);
                numbered.insert(field)
            })??
        };
        Ok(Field::new(this, number))
    }

    /// Returns the texts of the fields with a matching tag or, if `code` is given, of their subfields with this code.
    pub(super) fn texts(&self, tag: TagPattern, code: Option<&str>) -> Vec<String> {
        let mut found = Vec::new();
        let Some(record) = self.as_marc() else {
            return found;
        };
        let code_length = record.leader.code_length();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let fields = record.fields.iter();
        for field in fields.filter(|field| tag.matches(field.tag)) {
            let subfields = field.subfields_with(code_length);
            match (field.value(), code) {
                (Some(value), None) => found.push(text(value)),
                (Some(_), Some(_)) => {}
                (None, Some(code)) => found.extend(
                    subfields
                        .filter(|subfield| subfield.code == code.as_bytes())
                        .map(|subfield| text(subfield.data)),
                ),
                (None, None) => {
                    let texts = subfields.map(|subfield| String::from_utf8_lossy(subfield.data));
                    found.push(texts.collect::<Vec<_>>().join(" "));
                }
            }
        }
        found
    }

    pub(super) fn drop_fields(&self, tags: &[Bound<'_, PyAny>]) -> PyResult<usize> {
        let tags = patterns_of(tags)?;
        self.numbered(|numbered| {
            let numbers = numbered.tagged(&tags, false);
            numbered.remove(&numbers);
            numbers.len()
        })
    }
}
