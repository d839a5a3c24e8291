//! URLs as values, and URLs found in text.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use z3950::url::extract::{self as found_in, FoundUrl as Place};
use z3950::url::{Locator, Mode, Octets, Url as Scheme};
use z3950_marc::text_lossless;

use crate::error::{BadUrl, guarded, made};
use crate::pickled::{OwnState, Pickled, Reduced, reduced};
use crate::text::Text;

/// A URL of any scheme. `str()` returns its canonical form, in which a password is shown as `***`.
#[pyclass(frozen, eq, hash, module = "z3950.url")]
#[derive(PartialEq, Hash)]
pub(crate) struct Url(Locator);

/// Parses a URL.
#[pyfunction]
pub(crate) fn parse(text: Text<'_>, strict: bool) -> PyResult<Url> {
    let mode = if strict { Mode::Strict } else { Mode::Lenient };
    guarded(|| match Locator::parse(&*text, mode) {
        Ok(locator) => Ok(Url(locator)),
        Err(error) => Err(made(BadUrl::new_err((error.to_string(), error.offset())))),
    })
}

impl Url {
    fn z3950(&self) -> Option<&z3950::url::Z3950Url> {
        match self.0.url() {
            Scheme::Z3950(url) => Some(url),
            _ => None,
        }
    }
}

fn text(octets: &Octets) -> String {
    text_lossless(octets.as_bytes()).into_owned()
}

impl Pickled for Url {
    fn restored(state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        parse(state.extract()?, false)?.into_py_any(state.py())
    }
}

#[pymethods]
impl Url {
    /// The scheme, in lower case.
    #[getter]
    fn scheme(&self) -> &str {
        self.0.scheme()
    }

    /// The host; `None` if the URL has none.
    #[getter]
    fn host(&self) -> Option<String> {
        self.0.host().map(ToString::to_string)
    }

    /// The port to connect to. By default, it is the scheme's port.
    #[getter]
    fn port(&self) -> Option<u16> {
        self.0.port()
    }

    /// The databases of a Z39.50 URL.
    #[getter]
    fn databases(&self) -> Vec<String> {
        let url = self.z3950();
        url.map_or_else(Vec::new, |url| url.databases().iter().map(text).collect())
    }

    /// The docid of a Z39.50 URL, as bytes that need not be text.
    #[getter]
    fn docid(&self) -> Option<&[u8]> {
        Some(self.z3950()?.docid()?.as_bytes())
    }

    /// The element set of a Z39.50 URL.
    #[getter]
    fn element_set(&self) -> Option<String> {
        self.z3950()?.element_set().map(text)
    }

    /// The record syntaxes of a Z39.50 URL, most preferred first.
    #[getter]
    fn record_syntaxes(&self) -> Vec<String> {
        let url = self.z3950();
        url.map_or_else(Vec::new, |url| {
            url.record_syntaxes().iter().map(text).collect()
        })
    }

    /// The decoded fragment, which is never sent to a server.
    #[getter]
    fn fragment(&self) -> Option<String> {
        self.0.fragment().map(text)
    }

    /// Descriptions of the risks of following the URL.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        self.0.cautions().iter().map(ToString::to_string).collect()
    }

    fn __str__(&self) -> String {
        self.0.canonical()
    }

    fn __repr__(&self) -> String {
        format!("<Url {}>", self.0.canonical())
    }

    /// Returns the state for `pickle`, including the URL's password, if there is one.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, &self.0.to_string_with_secrets())
    }
}

/// A URL found in text, with its position.
#[pyclass(frozen, get_all, eq, hash, module = "z3950.url")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct FoundUrl {
    /// The URL to follow, which may differ from the text in which it was found, for instance in its escapes.
    url: String,
    /// The index of the URL's first character in the text.
    start: usize,
    /// The index of the character after the URL.
    end: usize,
    /// Whether the URL was not enclosed in `<URL:` and `>`, so that its start and end are guesses.
    is_guess: bool,
    /// Other readings of the text, if it can be read as several URLs.
    alternates: Vec<String>,
}

impl OwnState for FoundUrl {}

#[pymethods]
impl FoundUrl {
    fn __str__(&self) -> &str {
        &self.url
    }

    fn __repr__(&self) -> String {
        format!("<FoundUrl {} at {}>", self.url, self.start)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }
}

/// Returns the URLs found in text, in order.
#[pyfunction]
pub(crate) fn extract(text: Text<'_>, bare: bool) -> PyResult<Vec<FoundUrl>> {
    let extraction = guarded(|| {
        Ok(if bare {
            found_in::scan(text.as_bytes())
        } else {
            found_in::extract(text.as_bytes())
        })
    })?;
    // Python counts characters, not octets.
    let (mut octets, mut characters) = (0, 0);
    let mut at = |offset: usize| {
        let between = text.get(octets..offset).unwrap_or_default();
        characters += between.chars().count();
        octets = offset;
        characters
    };
    let found = extraction.urls.into_iter().map(|place: Place| FoundUrl {
        start: at(place.range.start),
        end: at(place.range.end),
        url: place.url,
        is_guess: place.heuristic,
        alternates: place.alternates,
    });
    Ok(found.collect())
}
