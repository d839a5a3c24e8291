//! Records as Python reads them, from a result set or from a file.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use pythonize::pythonize;
use z3950::asn1::oid::{OPAC, Oid};
use z3950::asn1::record::{holdings, marc_syntax};
use z3950::marc::crosswalk::Citation;
use z3950::marc::{MarcRecord, iso2709, marcline, marcxml, text_lossless};

use crate::error::{DamagedRecord, Error, guarded};

/// A record.
///
/// Text is Unicode, whatever character set the record was written in; the `octets` of a server's record are as received.
/// Everything is read on demand. Parts that a record does not have are `None` or empty.
///
/// >>> import z3950
/// >>> [record] = z3950.read(b'{"leader": "00000nam a2200000 a 4500", "fields": [{"001": "id7"}, '
/// ...     b'{"245": {"ind1": "1", "ind2": "0", "subfields": [{"a": "Emma /"}, {"c": "Jane Austen."}]}}]}')
/// >>> record.title
/// 'Emma'
/// >>> record.fields("245"), record.fields("245", "c"), record.fields("001")
/// (['Emma / Jane Austen.'], ['Jane Austen.'], ['id7'])
/// >>> print(record)
/// 00000nam a2200000 a 4500
/// 001 id7
/// 245 10 $a Emma / $c Jane Austen.
/// <BLANKLINE>
#[pyclass(frozen, module = "z3950")]
pub(crate) struct Record {
    source: Source,
    /// The MARC record in UTF-8, once it has been requested.
    marc: OnceLock<Option<MarcRecord>>,
}

enum Source {
    Server(Box<z3950::Record>),
    /// A record of a file, with what is wrong with it if it was read in spite of that.
    File(Option<String>),
}

/// A record of a server, which becomes an exception if it is damaged.
pub(crate) struct Received(pub(crate) z3950::Record);

impl<'py> IntoPyObject<'py> for Received {
    type Target = Record;
    type Output = Bound<'py, Record>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let damage = guarded(|| Ok(self.0.damage()))?;
        let index = self.0.position().and_then(|place| place.checked_sub(1));
        let record = Bound::new(py, Record::from(self.0))?;
        let Some(damage) = damage else {
            return Ok(record);
        };
        let which = index.map_or_else(
            || "the record".to_owned(),
            |index| format!("the record at index {index}"),
        );
        let words = format!("{which} is damaged: {damage}");
        Err(DamagedRecord::new_err((words, record.unbind())))
    }
}

/// A copy that a library holds. Fields that the record does not give are `None`.
#[pyclass(frozen, get_all, module = "z3950")]
pub(crate) struct Holding {
    library: Option<String>,
    location: Option<String>,
    shelving_location: Option<String>,
    temporary_location: Option<String>,
    call_number: Option<String>,
    volume: Option<String>,
    copy: Option<String>,
    item_id: Option<String>,
    available: Option<bool>,
    due: Option<String>,
    on_hold: Option<bool>,
    holds: Option<u32>,
    status: Option<String>,
    restrictions: Option<String>,
    note: Option<String>,
}

impl From<z3950::Record> for Record {
    fn from(record: z3950::Record) -> Self {
        Self {
            source: Source::Server(Box::new(record)),
            marc: OnceLock::new(),
        }
    }
}

impl From<MarcRecord> for Record {
    /// Creates a record from a record of a file, which is in UTF-8.
    fn from(record: MarcRecord) -> Self {
        Self {
            source: Source::File(None),
            marc: OnceLock::from(Some(record)),
        }
    }
}

impl Record {
    /// Creates a record from a record of a file that is damaged.
    pub(crate) fn damaged(record: MarcRecord, damage: String) -> Self {
        Self {
            source: Source::File(Some(damage)),
            marc: OnceLock::from(Some(record)),
        }
    }

    /// Returns the MARC record, in UTF-8.
    pub(crate) fn as_marc(&self) -> Option<&MarcRecord> {
        let read = || match &self.source {
            Source::Server(record) => record.marc(),
            Source::File(_) => None,
        };
        self.marc.get_or_init(read).as_ref()
    }

    fn as_received(&self) -> Option<&z3950::Record> {
        match &self.source {
            Source::Server(record) => Some(record),
            Source::File(_) => None,
        }
    }

    /// Returns the octets that are the same in equal records.
    fn identity(&self) -> Vec<u8> {
        match &self.source {
            Source::Server(record) => record.octets().to_vec(),
            Source::File(_) => match (self.iso2709(), self.as_marc()) {
                (Ok(octets), _) => octets.unwrap_or_default(),
                // The record is too long for ISO 2709.
                (Err(_), record) => record.map(marcline::to_lines).unwrap_or_default(),
            },
        }
    }

    fn iso2709(&self) -> PyResult<Option<Vec<u8>>> {
        let octets = self.as_marc().map(iso2709::encode).transpose();
        octets.map_err(|error| {
            Error::new_err(format!("{error}; marcxml and json have no such limit"))
        })
    }
}

#[pymethods]
impl Record {
    /// The title on one line, from a MARC, XML, GRS-1 or Summary record.
    #[getter]
    fn title(&self) -> PyResult<Option<String>> {
        guarded(|| {
            Ok(match (self.as_marc(), self.as_received()) {
                (Some(record), _) => Citation::of(record).title,
                (None, Some(record)) => record.title(),
                (None, None) => None,
            })
        })
    }

    /// What is wrong with a damaged record, of which something is missing or cannot be read. `None` if it is sound. A damaged record of a
    /// result set is the `record` of a `DamagedRecord`; one of a file is read with `errors="repair"`.
    #[getter]
    fn damage(&self) -> PyResult<Option<String>> {
        guarded(|| {
            Ok(match &self.source {
                Source::Server(record) => record.damage(),
                Source::File(damage) => damage.clone(),
            })
        })
    }

    /// The name of the record syntax, such as `usmarc` or `xml`, or its object identifier.
    #[getter]
    fn syntax(&self) -> Option<String> {
        let name = |oid: Oid| oid.name().map_or_else(|| oid.to_string(), str::to_owned);
        match &self.source {
            Source::Server(record) => record.syntax().map(name),
            Source::File(_) => self.as_marc().map(marc_syntax).map(name),
        }
    }

    /// The copies that the record describes, with their availability. To get more of them, connect with `holdings=True`.
    #[getter]
    fn holdings(&self) -> PyResult<Vec<Holding>> {
        guarded(|| {
            let found = match (&self.source, self.as_marc()) {
                (Source::Server(record), _) => record.holdings(),
                (Source::File(_), Some(record)) => holdings::of_marc(record),
                (Source::File(_), None) => Vec::new(),
            };
            Ok(found.into_iter().map(Holding::from).collect())
        })
    }

    /// The record in ISO 2709 and UTF-8, if it is a MARC record.
    #[getter]
    fn marc<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let octets = guarded(|| self.iso2709())?;
        Ok(octets.map(|octets| PyBytes::new(py, &octets)))
    }

    /// The octets as the server sent them. For a record of a file, they are those of `marc`.
    #[getter]
    fn octets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(match &self.source {
            Source::Server(record) => PyBytes::new(py, &guarded(|| Ok(record.octets()))?),
            Source::File(_) => PyBytes::new(py, &guarded(|| self.iso2709())?.unwrap_or_default()),
        })
    }

    /// The record as a MARCXML document, if it is a MARC record.
    #[getter]
    fn marcxml(&self) -> PyResult<Option<String>> {
        guarded(|| Ok(self.as_marc().map(|record| marcxml::to_xml(record).text)))
    }

    /// The record as dicts, lists and strings: MARC-in-JSON, the elements of an OPAC, GRS-1, Summary or Explain record, or the
    /// text of another record. `None` if it is none of these.
    #[getter]
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(|| {
            let received = self.as_received();
            // An OPAC record contains more than its MARC record.
            let is_opac = received.and_then(z3950::Record::syntax) == Some(OPAC);
            match (self.as_marc(), received) {
                (Some(record), _) if !is_opac => Ok(Some(pythonize(py, record)?)),
                (_, Some(record)) => {
                    let value = record.json();
                    Ok(value.map(|value| pythonize(py, &value)).transpose()?)
                }
                (_, None) => Ok(None),
            }
        })
    }

    /// The record for people to read: MARC as lines, others as text.
    #[getter]
    fn text(&self) -> PyResult<String> {
        guarded(|| {
            Ok(match (&self.source, self.as_marc()) {
                (Source::Server(record), _) => record.text(),
                (Source::File(_), Some(record)) => {
                    text_lossless(&marcline::to_lines(record)).into_owned()
                }
                (Source::File(_), None) => String::new(),
            })
        })
    }

    /// The position of the record in its result set, 0-based, if it has one.
    #[getter]
    fn position(&self) -> Option<u64> {
        self.as_received()?.position()?.checked_sub(1)
    }

    /// The name of the record's database, if the server reports it.
    #[getter]
    fn database(&self) -> Option<&str> {
        self.as_received()?.database()
    }

    /// Returns the texts of the fields with a tag. If a code is given, returns the texts of the subfields with that code.
    #[pyo3(signature = (tag, code=None))]
    fn fields(
        &self,
        tag: &Bound<'_, PyAny>,
        code: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let tag = &*text_of(tag, "a tag is a str such as '245'")?;
        let code = code.map(|code| text_of(code, "a code is a str such as 'a'"));
        let code = code.transpose()?;
        guarded(|| {
            let mut found = Vec::new();
            let Some(record) = self.as_marc() else {
                return Ok(found);
            };
            let code_length = record.leader.code_length();
            for field in record.fields_by_tag(tag) {
                let subfields = field.subfields_with(code_length);
                match (field.value(), code.as_deref()) {
                    (Some(value), None) => found.push(String::from_utf8_lossy(value).into_owned()),
                    (Some(_), Some(_)) => {}
                    (None, Some(code)) => found.extend(
                        subfields
                            .filter(|subfield| subfield.code == code.as_bytes())
                            .map(|subfield| String::from_utf8_lossy(subfield.data).into_owned()),
                    ),
                    (None, None) => {
                        let texts =
                            subfields.map(|subfield| String::from_utf8_lossy(subfield.data));
                        found.push(texts.collect::<Vec<_>>().join(" "));
                    }
                }
            }
            Ok(found)
        })
    }

    /// Returns the record as a `pymarc.Record`. Requires the package pymarc.
    fn pymarc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let octets = guarded(|| self.iso2709())?
            .ok_or_else(|| Error::new_err("this is no MARC record, so pymarc cannot hold it"))?;
        let pymarc = py.import("pymarc").map_err(|error| {
            let words = "pymarc is not installed: pip install pymarc";
            let missing = PyImportError::new_err(words);
            missing.set_cause(py, Some(error));
            missing
        })?;
        let options = PyDict::new(py);
        options.set_item("data", PyBytes::new(py, &octets))?;
        options.set_item("force_utf8", true)?;
        pymarc
            .call_method("Record", (), Some(&options))
            .map_err(|error| {
                let refused = Error::new_err(format!("pymarc refuses this record: {error}"));
                refused.set_cause(py, Some(error));
                refused
            })
    }

    /// Returns whether both records have the same octets.
    fn __eq__(&self, other: &Self) -> PyResult<bool> {
        guarded(|| Ok(self.identity() == other.identity()))
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        guarded(|| Ok(self.identity()))?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __str__(&self) -> PyResult<String> {
        self.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let title = self.title()?.into_pyobject(py)?;
        let syntax = self.syntax().unwrap_or_else(|| "no syntax".to_owned());
        let damage = self.damage()?.map_or("", |_| ", damaged");
        Ok(format!("<Record {} ({syntax}{damage})>", title.repr()?))
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let title = escaped(&self.title()?.unwrap_or_default());
        let text = escaped(&self.text()?);
        Ok(format!("<strong>{title}</strong><pre>{text}</pre>"))
    }
}

/// Returns the text of a string; for another value, an exception whose message begins with what is expected.
fn text_of<'a>(value: &'a Bound<'_, PyAny>, expected: &str) -> PyResult<Cow<'a, str>> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_cow(),
        Err(_) => {
            let given = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("{expected}, not {given}")))
        }
    }
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl From<z3950::Holding> for Holding {
    fn from(holding: z3950::Holding) -> Self {
        Self {
            library: holding.library,
            location: holding.location,
            shelving_location: holding.shelving_location,
            temporary_location: holding.temporary_location,
            call_number: holding.call_number,
            volume: holding.volume,
            copy: holding.copy,
            item_id: holding.item_id,
            available: holding.available,
            due: holding.due,
            on_hold: holding.on_hold,
            holds: holding.holds,
            status: holding.status,
            restrictions: holding.restrictions,
            note: holding.note,
        }
    }
}

#[pymethods]
impl Holding {
    fn __repr__(&self) -> String {
        let available = match self.available {
            Some(true) => "available",
            Some(false) => "not available",
            None => "availability unknown",
        };
        let places = [&self.library, &self.location, &self.call_number];
        let places: Vec<&str> = places.into_iter().flatten().map(String::as_str).collect();
        format!("<Holding {} ({available})>", places.join(", "))
    }
}
