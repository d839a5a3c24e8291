//! A field of a record, which can be read and changed in place: `record["245"]["a"] = "Emma"`.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use z3950_marc::Field as MarcField;

use super::Record;
use crate::error::Error;
use crate::marc::{
    INDICATORS, check_new_code, check_subfields, check_text, field_of, indicators_of, subfields_of,
};
use crate::text::{Text, text_of};

/// A field of a MARC record: `record["245"]`. Changing the field changes the record.
///
/// >>> import z3950
/// >>> [record] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=245  10$aEma /$cJane Austen.\n")
/// >>> field = record["245"]
/// >>> field["a"] = "Emma /"
/// >>> field.tag, field.indicators, field["a"], list(field)
/// ('245', '10', 'Emma /', [('a', 'Emma /'), ('c', 'Jane Austen.')])
/// >>> str(record["245"]), "b" in field, field.get("b")
/// ('Emma / Jane Austen.', False, None)
///
/// `field["a"]` is the text of the first subfield with a code, and raises `KeyError` if there is none; `field["a"] = text` replaces it, or
/// adds a subfield at the end. `del field["a"]` removes all subfields with the code, `"a" in field` says whether there is one, and a loop
/// over the field gives pairs of a code and its text.
#[pyclass(frozen, module = "z3950")]
pub(crate) struct Field {
    record: Py<Record>,
    number: usize,
}

impl Field {
    pub(crate) fn new(record: &Bound<'_, Record>, number: usize) -> Self {
        Self {
            record: record.clone().unbind(),
            number,
        }
    }

    /// Calls `read` with the field and the length of its subfield codes, and returns the result.
    fn read<T>(&self, read: impl FnOnce(&MarcField, usize) -> T) -> PyResult<T> {
        let record = self.record.get();
        record.numbered(|numbered| {
            let place = numbered.place(self.number);
            let record = &numbered.record;
            let field = place
                .and_then(|place| record.fields.get(place))
                .ok_or_else(removed)?;
            Ok(read(field, record.leader.code_length()))
        })?
    }

    /// Replaces the field with the result of `change`, which is called with the field and the length of its subfield
    /// codes.
    fn change(
        &self,
        change: impl FnOnce(&MarcField, usize) -> PyResult<MarcField>,
    ) -> PyResult<()> {
        let changed = self.read(change)??;
        self.record.get().numbered(|numbered| {
            let place = numbered.place(self.number).ok_or_else(removed)?;
            match numbered.record_mut().fields.get_mut(place) {
                Some(field) => *field = changed,
                None => return Err(removed()),
            }
            Ok(())
        })?
    }

    fn pairs(&self) -> PyResult<Vec<(String, String)>> {
        self.read(pairs)
    }

    /// Replaces all subfields of the field.
    fn put(&self, subfields: &[(String, String)]) -> PyResult<()> {
        self.change(|field, code_length| {
            if field.is_control() {
                let words = format!("{} has no subfields: set its value", field.tag);
                return Err(PyTypeError::new_err(words));
            }
            check_subfields(subfields, code_length)?;
            Ok(field_of(field.tag, field.indicators(), subfields))
        })
    }
}

fn removed() -> PyErr {
    Error::new_err("the field was removed from its record")
}

fn pairs(field: &MarcField, code_length: usize) -> Vec<(String, String)> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let subfields = field.subfields_with(code_length);
    subfields
        .map(|subfield| (text(subfield.code), text(subfield.data)))
        .collect()
}

fn code_of(code: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(text_of(code, "a code is a str such as 'a'")?.into_owned())
}

/// Parses the code of a subfield that is to be written.
fn new_code(code: &Bound<'_, PyAny>) -> PyResult<String> {
    let code = code_of(code)?;
    check_new_code(&code)?;
    Ok(code)
}

#[pymethods]
impl Field {
    /// The tag, such as `245`.
    #[getter]
    fn tag(&self) -> PyResult<String> {
        self.read(|field, _| field.tag.to_string())
    }

    /// The indicators, such as `10`. They can be set.
    #[getter]
    fn indicators(&self) -> PyResult<String> {
        self.read(|field, _| String::from_utf8_lossy(field.indicators()).into_owned())
    }

    #[setter]
    fn set_indicators(&self, indicators: Text<'_>) -> PyResult<()> {
        self.change(|field, code_length| {
            if field.is_control() {
                let words = format!("{} has no indicators", field.tag);
                return Err(PyTypeError::new_err(words));
            }
            indicators_of(&indicators, INDICATORS.max(field.indicators().len()))?;
            let subfields = pairs(field, code_length);
            Ok(field_of(field.tag, indicators.as_bytes(), &subfields))
        })
    }

    /// The text of a control field, such as 001; `None` for a field with subfields. It can be set.
    #[getter]
    fn value(&self) -> PyResult<Option<String>> {
        self.read(|field, _| {
            let value = field.value()?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    }

    #[setter]
    fn set_value(&self, value: Text<'_>) -> PyResult<()> {
        check_text(&value)?;
        self.change(|field, _| {
            if !field.is_control() {
                let words = format!("{} has subfields: set those", field.tag);
                return Err(PyTypeError::new_err(words));
            }
            Ok(MarcField::control(field.tag, value.to_owned()))
        })
    }

    /// The codes and texts of the subfields, in order. They can be set, from pairs or from a dict.
    #[getter]
    fn subfields(&self) -> PyResult<Vec<(String, String)>> {
        self.pairs()
    }

    #[setter]
    fn set_subfields(&self, subfields: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(&subfields_of(subfields)?)
    }

    /// Returns the text of the first subfield with a code, or `default` if there is none.
    #[pyo3(signature = (code, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        code: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.first(&code_of(code)?)? {
            Some(text) => Some(text.into_pyobject(py)?.into_any()),
            None => default,
        })
    }

    /// Adds a subfield at the end.
    fn add(&self, code: &Bound<'_, PyAny>, text: Text<'_>) -> PyResult<()> {
        let mut subfields = self.pairs()?;
        subfields.push((new_code(code)?, text.to_owned()));
        self.put(&subfields)
    }

    /// Removes the field from its record.
    fn remove(&self) -> PyResult<()> {
        self.record
            .get()
            .numbered(|numbered| numbered.remove(&[self.number]))
    }

    fn __getitem__(&self, code: &Bound<'_, PyAny>) -> PyResult<String> {
        let found = self.first(&code_of(code)?)?;
        found.ok_or_else(|| PyKeyError::new_err(code.clone().unbind()))
    }

    /// Replaces the text of the first subfield with a code, or adds a subfield at the end.
    fn __setitem__(&self, code: &Bound<'_, PyAny>, text: Text<'_>) -> PyResult<()> {
        let code = new_code(code)?;
        let mut subfields = self.pairs()?;
        match subfields.iter_mut().find(|(other, _)| *other == code) {
            Some((_, old)) => *old = text.to_owned(),
            None => subfields.push((code, text.to_owned())),
        }
        self.put(&subfields)
    }

    /// Removes all subfields with a code.
    fn __delitem__(&self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        let wanted = code_of(code)?;
        let mut subfields = self.pairs()?;
        let count = subfields.len();
        subfields.retain(|(other, _)| *other != wanted);
        if subfields.len() == count {
            return Err(PyKeyError::new_err(code.clone().unbind()));
        }
        self.put(&subfields)
    }

    fn __contains__(&self, code: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.first(&code_of(code)?)?.is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.pairs()?)?.try_iter()
    }

    fn __str__(&self) -> PyResult<String> {
        if let Some(value) = self.value()? {
            return Ok(value);
        }
        let texts = self.pairs()?.into_iter().map(|(_, text)| text);
        Ok(texts.collect::<Vec<_>>().join(" "))
    }

    fn __repr__(&self) -> PyResult<String> {
        if let Some(value) = self.value()? {
            return Ok(format!("<Field {} {value}>", self.tag()?));
        }
        let subfields = self
            .pairs()?
            .into_iter()
            .map(|(code, text)| format!(" ${code} {text}"));
        let (tag, indicators) = (self.tag()?, self.indicators()?);
        Ok(format!(
            "<Field {tag} {indicators}{}>",
            subfields.collect::<String>()
        ))
    }
}

impl Field {
    fn first(&self, code: &str) -> PyResult<Option<String>> {
        self.read(|field, code_length| {
            let mut subfields = field.subfields_with(code_length);
            let found = subfields.find(|subfield| subfield.code == code.as_bytes())?;
            Some(String::from_utf8_lossy(found.data).into_owned())
        })
    }
}
