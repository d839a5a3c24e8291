//! Records for Python, from a result set or from a file.

mod field;
mod fields;
mod state;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyImportError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMapping};
use pythonize::pythonize;
use z3950_asn1::oid::{OPAC, Oid};
use z3950_asn1::record::{RetrievedRecord, holdings, marc_syntax};
use z3950_marc::crosswalk::{Citation, described_in_xml, dublin_core};
use z3950_marc::table::CopyCells;
use z3950_marc::{MarcRecord, iso2709, marcline, marcxml, text_lossless};

pub(crate) use self::field::Field;
use self::fields::{BOOK, leader_of};
use crate::decoded::record_of_json;
use crate::error::{DamagedRecord, Error, guarded, made};
use crate::exit::calling;
use crate::marc::Numbered;
use crate::pickled::{Reduced, reduced};
use crate::text::{Text, pattern_of, text_of};
use crate::values::Holding;

/// A record.
///
/// Text is Unicode, whatever character set the record uses. The `octets` of a record from a server are as received. The
/// record is parsed when its parts are first read. Parts that a record does not have are `None` or empty.
///
/// The fields of a MARC record can be changed in place, which changes all forms of the record except `octets`. Equal
/// records have equal octets or, if they were changed, equal fields. Do not change a record that is in a set or is the
/// key of a dict.
///
/// `record["245"]` is the first field with a tag, and raises `KeyError` if there is none; `"245" in record` says
/// whether there is one, and a loop over the record gives all fields. An `X` in a tag matches any character:
/// `record.remove_fields("9XX")`.
///
/// `Record()` creates a MARC record without fields, which describes a book unless the given leader says otherwise.
/// `Record.from_dict`, `z3950.read` and searches also create records.
///
/// >>> import z3950
/// >>> record = z3950.Record()
/// >>> _ = record.add_field("001", "id7")
/// >>> _ = record.add_field("245", [("a", "Emma /"), ("c", "Jane Austen.")], "10")
/// >>> record.title
/// 'Emma'
/// >>> record.fields("245"), record.fields("245", "c"), record.fields("001")
/// (['Emma / Jane Austen.'], ['Jane Austen.'], ['id7'])
/// >>> record["245"]["a"] = "Emma : a novel /"
/// >>> _ = record.add_field("650", [("a", "Love")], " 0")
/// >>> record["245"]["a"], "650" in record, [field.tag for field in record]
/// ('Emma : a novel /', True, ['001', '245', '650'])
/// >>> print(record)
/// 00000nam a2200000 a 4500
/// 001 id7
/// 245 10 $a Emma : a novel / $c Jane Austen.
/// 650  0 $a Love
/// <BLANKLINE>
#[pyclass(frozen, module = "z3950")]
pub(crate) struct Record {
    source: Source,
    /// The MARC record in UTF-8, once it has been requested. It is locked only by threads that hold the GIL.
    marc: Mutex<Marc>,
}

#[derive(Clone)]
enum Marc {
    Unread,
    Missing,
    Read(Numbered),
}

enum Source {
    Server(Box<z3950::Record>),
    /// A record from a file, with a description of its faults if it is damaged.
    File(Option<String>),
}

/// A record from a server, which is converted to an exception if it is damaged.
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
        Err(made(DamagedRecord::new_err((words, record.unbind()))))
    }
}

impl From<z3950::Record> for Record {
    fn from(record: z3950::Record) -> Self {
        Self {
            source: Source::Server(Box::new(record)),
            marc: Mutex::new(Marc::Unread),
        }
    }
}

impl From<MarcRecord> for Record {
    /// Converts a record from a file. The record must be in UTF-8.
    fn from(record: MarcRecord) -> Self {
        Self {
            source: Source::File(None),
            marc: Mutex::new(Marc::Read(record.into())),
        }
    }
}

impl Record {
    /// Creates a record from a damaged record in a file, with a description of its faults.
    pub(crate) fn damaged(record: MarcRecord, damage: String) -> Self {
        Self {
            source: Source::File(Some(damage)),
            marc: Mutex::new(Marc::Read(record.into())),
        }
    }

    /// Returns the MARC record, in UTF-8, with the changes made so far.
    pub(crate) fn as_marc(&self) -> Option<Arc<MarcRecord>> {
        let record = self.numbered(|numbered| Arc::clone(&numbered.record));
        record.ok()
    }

    /// Returns whether the fields have been changed.
    fn is_changed(&self) -> bool {
        let marc = self.marc.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*marc, Marc::Read(numbered) if numbered.is_changed)
    }

    /// Calls `work` with the MARC record.
    ///
    /// # Errors
    /// Fails if the record is not a MARC record.
    pub(crate) fn numbered<T>(&self, work: impl FnOnce(&mut Numbered) -> T) -> PyResult<T> {
        let mut marc = self.marc.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Marc::Unread, Source::Server(record)) = (&*marc, &self.source) {
            let read = record.marc();
            *marc = read.map_or(Marc::Missing, |record| Marc::Read(record.into()));
        }
        match &mut *marc {
            Marc::Read(numbered) => Ok(work(numbered)),
            Marc::Unread | Marc::Missing => Err(Error::new_err(
                "this is no MARC record, so it has no fields",
            )),
        }
    }

    fn held(&self) -> Vec<z3950::Holding> {
        match (&self.source, self.as_marc()) {
            (Source::Server(record), _) if !self.is_changed() => record.holdings(),
            (_, Some(record)) => holdings::of_marc(&record),
            (_, None) => Vec::new(),
        }
    }

    /// Returns the data about the record's copies, for the cells of a table.
    pub(crate) fn copies(&self) -> Vec<CopyCells> {
        self.held().iter().map(z3950::Holding::cells).collect()
    }

    fn citation(&self) -> PyResult<Citation> {
        guarded(|| {
            Ok(match (self.as_marc(), self.as_received()) {
                (Some(record), _) => Citation::of(&record),
                (None, Some(record)) => record.citation(),
                (None, None) => Citation::default(),
            })
        })
    }

    fn as_received(&self) -> Option<&z3950::Record> {
        match &self.source {
            Source::Server(record) => Some(record),
            Source::File(_) => None,
        }
    }

    /// Returns octets that are the same for equal records.
    fn identity(&self) -> Vec<u8> {
        match &self.source {
            Source::Server(record) if !self.is_changed() => record.octets().to_vec(),
            _ => match (self.iso2709(), self.as_marc()) {
                (Ok(octets), _) => octets.unwrap_or_default(),
                // The record is too long for ISO 2709, so its representation as lines is compared instead.
                (Err(_), record) => {
                    record.map_or_else(Vec::new, |record| marcline::to_lines(&record))
                }
            },
        }
    }

    fn iso2709(&self) -> PyResult<Option<Vec<u8>>> {
        let octets = self
            .as_marc()
            .map(|record| iso2709::encode(&record))
            .transpose();
        octets.map_err(|error| {
            Error::new_err(format!("{error}; marcxml and json have no such limit"))
        })
    }
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (leader=None))]
    fn new(leader: Option<Text<'_>>) -> PyResult<Self> {
        let leader = leader_of(leader.as_deref().unwrap_or(BOOK))?;
        let record = MarcRecord {
            leader,
            ..MarcRecord::default()
        };
        Ok(record.into())
    }

    /// Creates a record from MARC-in-JSON, the form that `json` returns: a dict with a `leader` and a list of `fields`.
    ///
    /// >>> import z3950
    /// >>> field = {"ind1": "0", "ind2": "0", "subfields": [{"a": "Emma"}]}
    /// >>> z3950.Record.from_dict({"leader": "00000nam a2200000 a 4500", "fields": [{"001": "id7"}, {"245": field}]}).title
    /// 'Emma'
    #[staticmethod]
    fn from_dict(py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<Self> {
        if record.cast::<PyMapping>().is_err() {
            let given = record.get_type().name()?;
            let words = format!("from_dict takes a dict of MARC-in-JSON, not {given}");
            return Err(PyTypeError::new_err(words));
        }
        let as_octets = py.import("z3950._common")?.getattr("as_octets")?;
        let octets = calling(py, || as_octets.call1((record,)))?;
        guarded(|| Ok(record_of_json(octets.cast::<PyBytes>()?)?.into()))
    }

    /// The title on one line, from a MARC, XML, GRS-1 or Summary record.
    #[getter]
    fn title(&self) -> PyResult<Option<String>> {
        Ok(self.citation()?.title)
    }

    /// The author of a MARC, MODS or Dublin Core record, from its main entry.
    #[getter]
    fn author(&self) -> PyResult<Option<String>> {
        Ok(self.citation()?.author)
    }

    /// The first year of publication of a MARC, MODS or Dublin Core record.
    #[getter]
    fn year(&self) -> PyResult<Option<u16>> {
        Ok(self.citation()?.year)
    }

    /// The publisher of a MARC, MODS or Dublin Core record. If there are several, it is the first one.
    #[getter]
    fn publisher(&self) -> PyResult<Option<String>> {
        guarded(|| {
            let described = match (self.as_marc(), self.as_received()) {
                (Some(record), _) => Some(record),
                (None, Some(record)) => match record.retrieved() {
                    RetrievedRecord::Xml(octets) => described_in_xml(&octets).map(Arc::new),
                    _ => None,
                },
                (None, None) => None,
            };
            let mut elements = described
                .map(|record| dublin_core::elements(&record))
                .unwrap_or_default()
                .into_iter();
            let publisher = elements.find(|(name, _)| *name == "publisher");
            Ok(publisher.map(|(_, text)| text))
        })
    }

    /// The ISBNs of a MARC, MODS or Dublin Core record, with 13 digits if they are valid.
    #[getter]
    fn isbn(&self) -> PyResult<Vec<String>> {
        Ok(self.citation()?.identifiers.isbn)
    }

    /// The ISSNs of a MARC, MODS or Dublin Core record.
    #[getter]
    fn issn(&self) -> PyResult<Vec<String>> {
        Ok(self.citation()?.identifiers.issn)
    }

    /// The leader of a MARC record: 24 characters. It can be set. The lengths in it are computed when the record is
    /// written.
    #[getter]
    fn leader(&self) -> Option<String> {
        let record = self.as_marc()?;
        Some(String::from_utf8_lossy(&record.leader.0).into_owned())
    }

    #[setter]
    fn set_leader(&self, leader: Text<'_>) -> PyResult<()> {
        let leader = leader_of(&leader)?;
        self.numbered(|numbered| numbered.record_mut().set_leader(leader))
    }

    /// The faults of a damaged record, of which a part is missing or cannot be read; `None` if the record is undamaged.
    /// A damaged record in a result set is the `record` of the exception `DamagedRecord`. Damaged records in a file are
    /// read with `errors="repair"`.
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
            Source::File(_) => self.as_marc().map(|record| name(marc_syntax(&record))),
        }
    }

    /// The copies that the record describes, with their availability. To request records with holdings, connect with
    /// `holdings=True`.
    #[getter]
    fn holdings(&self) -> PyResult<Vec<Holding>> {
        guarded(|| {
            let found = self.held().into_iter();
            Ok(found.map(Holding::from).collect())
        })
    }

    /// The record in ISO 2709 and UTF-8; `None` if it is not a MARC record.
    #[getter]
    fn marc<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let octets = guarded(|| self.iso2709())?;
        Ok(octets.map(|octets| PyBytes::new(py, &octets)))
    }

    /// The octets of the record as the server sent them. For a record from a file, these are the octets of `marc`.
    #[getter]
    fn octets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(match &self.source {
            Source::Server(record) => PyBytes::new(py, &guarded(|| Ok(record.octets()))?),
            Source::File(_) => PyBytes::new(py, &guarded(|| self.iso2709())?.unwrap_or_default()),
        })
    }

    /// The record as a MARCXML document; `None` if it is not a MARC record.
    #[getter]
    fn marcxml(&self) -> PyResult<Option<String>> {
        guarded(|| {
            let record = self.as_marc();
            Ok(record.map(|record| marcxml::to_xml(&record).text))
        })
    }

    /// The record as dicts, lists and strings: MARC-in-JSON, the elements of an OPAC, GRS-1, Summary or Explain record,
    /// or a string for other text. `None` for any other record.
    #[getter]
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(|| {
            let received = self.as_received();
            // An OPAC record contains more than its MARC record, so the whole OPAC record is returned.
            let is_opac = received.and_then(z3950::Record::syntax) == Some(OPAC);
            match (self.as_marc(), received) {
                (Some(record), _) if !is_opac => Ok(Some(pythonize(py, &*record)?)),
                (_, Some(record)) => {
                    let value = record.json();
                    Ok(value.map(|value| pythonize(py, &value)).transpose()?)
                }
                (_, None) => Ok(None),
            }
        })
    }

    /// The record as readable text: MARC as lines, other records as text.
    #[getter]
    fn text(&self) -> PyResult<String> {
        guarded(|| {
            Ok(match (&self.source, self.as_marc()) {
                (Source::Server(record), _) if !self.is_changed() => record.text(),
                (_, Some(record)) => text_lossless(&marcline::to_lines(&record)).into_owned(),
                (_, None) => String::new(),
            })
        })
    }

    /// The 0-based position of the record in its result set; `None` for a record from a file.
    #[getter]
    fn position(&self) -> Option<u64> {
        self.as_received()?.position()?.checked_sub(1)
    }

    /// The name of the record's database; `None` if the server does not report it.
    #[getter]
    fn database(&self) -> Option<&str> {
        self.as_received()?.database()
    }

    /// The databases that contain the record, if it was merged from several records.
    #[getter]
    fn sources(&self) -> Vec<&str> {
        let sources = self.as_received().map_or(&[][..], z3950::Record::sources);
        sources.iter().map(|source| &*source.database).collect()
    }

    /// Returns the texts of the fields with a tag, or with several tags, as in `6XX`. If a code is given, returns the
    /// texts of the subfields with that code.
    #[pyo3(signature = (tag, code=None))]
    fn fields(
        &self,
        tag: &Bound<'_, PyAny>,
        code: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let tag = pattern_of(tag)?;
        let code = code
            .map(|code| text_of(code, "a code is a str such as 'a'"))
            .transpose()?;
        guarded(|| Ok(self.texts(tag, code.as_deref())))
    }

    /// Returns the fields with one of these tags, such as `245` or `6XX`, or all fields if no tags are given.
    #[pyo3(signature = (*tags))]
    fn get_fields(this: &Bound<'_, Self>, tags: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Field>> {
        guarded(|| Self::fields_with(this, &tags))
    }

    /// Adds a field to a MARC record, after those with the same or a lower tag: `add_field("650", [("a", "Love")], "
    /// 0")`, or `add_field("001", "id7")`. `content` consists of pairs of a code and its text, or is a dict, or the
    /// text of a control field.
    #[pyo3(signature = (tag, content, indicators=None))]
    fn add_field(
        this: &Bound<'_, Self>,
        tag: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        indicators: Option<Text<'_>>,
    ) -> PyResult<Field> {
        guarded(|| Self::insert_field(this, tag, content, indicators.as_deref()))
    }

    /// Removes the fields with one of these tags, such as `852` or `9XX`, from a MARC record, and returns the number of
    /// removed fields.
    #[pyo3(signature = (*tags))]
    fn remove_fields(&self, tags: Vec<Bound<'_, PyAny>>) -> PyResult<usize> {
        guarded(|| self.drop_fields(&tags))
    }

    /// Returns the first field with a tag.
    fn __getitem__(this: &Bound<'_, Self>, tag: &Bound<'_, PyAny>) -> PyResult<Field> {
        let found = guarded(|| Self::first_field(this, tag))?;
        found.ok_or_else(|| PyKeyError::new_err(tag.clone().unbind()))
    }

    fn __contains__(this: &Bound<'_, Self>, tag: &Bound<'_, PyAny>) -> PyResult<bool> {
        let found = guarded(|| Self::first_field(this, tag))?;
        Ok(found.is_some())
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let fields = guarded(|| Self::fields_with(this, &[]))?;
        PyList::new(this.py(), fields)?.try_iter()
    }

    /// Returns the record as a `pymarc.Record`. This requires the package pymarc.
    fn pymarc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let octets = guarded(|| self.iso2709())?
            .ok_or_else(|| Error::new_err("this is no MARC record, so pymarc cannot hold it"))?;
        let pymarc = calling(py, || py.import("pymarc")).map_err(|error| {
            let words = "pymarc is not installed: pip install pymarc";
            let missing = PyImportError::new_err(words);
            missing.set_cause(py, Some(error));
            missing
        })?;
        let options = PyDict::new(py);
        options.set_item("data", PyBytes::new(py, &octets))?;
        options.set_item("force_utf8", true)?;
        calling(py, || pymarc.call_method("Record", (), Some(&options))).map_err(|error| {
            let refused = Error::new_err(format!("pymarc refuses this record: {error}"));
            refused.set_cause(py, Some(error));
            refused
        })
    }

    /// Returns whether both records have the same octets or, if they were changed, the same fields.
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let state = guarded(|| self.state())?;
        reduced::<Self>(py, &state)
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

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
