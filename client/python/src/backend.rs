//! A server backend that is written in Python. The class `Adapter` of `_serving.py` calls the methods of the program's
//! object and checks their return values; this module converts these values to the types of the server.
//!
//! The methods hold the GIL, and run on threads for blocking work so that they do not delay other sessions. An
//! exception is converted to a diagnostic for the client, and is reported in Python's log.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use z3950_asn1::apdu::{
    AttributesPlusTerm, DatabaseName, External, Operand, RpnQuery, RpnStructure, Schema, Term,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{Oid, SUTRS, USMARC, XML};
use z3950_asn1::record::sutrs_external;
use z3950_server::access::{Authenticate, Login, User};
use z3950_server::backend::{
    Answer, Backend, Caller, DatabaseInfo, Found, HitList, Hits, RecordId, Retrieve, Retrieved,
    Scan, ScanTerm, Scanned, Search, ready,
};
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

use crate::calls::Calls;
use crate::error::guarded;
use crate::query::Query;
use crate::text::text_of_term;

/// An adapter object in Python, and the calls to backends that are in progress.
struct Adapter {
    object: Py<PyAny>,
    calls: Arc<Calls>,
}

/// A backend that calls an adapter.
pub(crate) struct PythonBackend {
    adapter: Arc<Adapter>,
    databases: Vec<DatabaseInfo>,
    can_scan: bool,
}

/// Checks logins by means of an adapter.
struct PythonLogins {
    adapter: Arc<Adapter>,
}

/// The result of a search: a sequence of the program's keys.
struct Keys {
    keys: Arc<Py<PyAny>>,
    length: usize,
    database: DatabaseName,
    caller: Caller,
}

impl HitList for Keys {
    fn len(&self) -> usize {
        self.length
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let positions = positions.start..positions.end.min(self.length);
        let ids = positions.filter_map(|place| i64::try_from(place).ok());
        ids.map(RecordId).collect()
    }

    fn octets(&self) -> usize {
        self.length.saturating_mul(size_of::<usize>())
    }
}

/// A record as returned by the adapter.
enum Given {
    Marc(Vec<u8>),
    Xml(String),
    Text(String),
}

impl PythonBackend {
    /// Creates a backend that calls an adapter.
    pub(crate) fn new(adapter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let names: Vec<(String, Option<String>)> = adapter.getattr("databases")?.extract()?;
        let can_scan: bool = adapter.getattr("can_scan")?.extract()?;
        let databases = names.into_iter().map(|(name, title)| {
            let mut info = DatabaseInfo::default();
            info.name = name;
            info.title = title;
            info.syntaxes = [USMARC].into_iter().chain(forms::SYNTAXES).collect();
            info.scan = can_scan;
            info
        });
        Ok(Self {
            adapter: Arc::new(Adapter {
                object: adapter.clone().unbind(),
                calls: Calls::here(adapter.py()),
            }),
            databases: databases.collect(),
            can_scan,
        })
    }

    /// Returns the means to check logins, if the program's object provides it.
    pub(crate) fn logins(&self, py: Python<'_>) -> PyResult<Option<Arc<dyn Authenticate>>> {
        let adapter = Arc::clone(&self.adapter);
        let can_authenticate = adapter.object.getattr(py, "can_authenticate")?;
        let can_authenticate: bool = can_authenticate.extract(py)?;
        Ok(can_authenticate.then(|| Arc::new(PythonLogins { adapter }) as _))
    }

    /// Calls the adapter on a thread for blocking work; see [`call`].
    fn call<'a, T: Send + 'static>(
        &self,
        otherwise: Condition,
        work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Answer<'a, T> {
        call(&self.adapter, otherwise, work)
    }

    /// Returns the names of the requested databases as the adapter spells them; case is ignored in the comparison.
    ///
    /// # Errors
    /// Fails with condition 235 if a database does not exist.
    fn named(&self, databases: &[DatabaseName]) -> Result<Vec<String>, Diagnostic> {
        let names = databases.iter().map(|name| {
            let text = name.0.to_string_lossy();
            let mut known = self.databases.iter().map(|known| &known.name);
            let known = known.find(|known| known.to_lowercase() == text.to_lowercase());
            let unknown = || diagnostic(Condition::DATABASE_DOES_NOT_EXIST, text.as_bytes());
            known.cloned().ok_or_else(unknown)
        });
        names.collect()
    }
}

/// Calls an adapter on a thread for blocking work. For an exception that does not name a condition, the diagnostic has
/// the condition `otherwise`.
fn call<'a, T: Send + 'static>(
    adapter: &Arc<Adapter>,
    otherwise: Condition,
    work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
) -> Answer<'a, T> {
    let adapter = Arc::clone(adapter);
    Box::pin(async move {
        let called = tokio::task::spawn_blocking(move || {
            let call = adapter.calls.enter()?;
            let done = Python::try_attach(|py| {
                let adapter = adapter.object.bind(py);
                let done = guarded(|| work(py, adapter));
                done.map_err(|error| told(py, adapter, &error, otherwise))
            });
            drop(call);
            done
        });
        let ended = || diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "the server is stopping");
        called.await.ok().flatten().unwrap_or_else(|| Err(ended()))
    })
}

/// Returns the diagnostic for an exception. The adapter determines its condition and additional information.
fn told(
    py: Python<'_>,
    adapter: &Bound<'_, PyAny>,
    error: &PyErr,
    otherwise: Condition,
) -> Diagnostic {
    let told = adapter.call_method1("diagnostic", (error.value(py), otherwise.0));
    match told.and_then(|told| told.extract::<(i64, String)>()) {
        Ok((condition, addinfo)) => diagnostic(Condition(condition), addinfo),
        Err(again) => {
            again.write_unraisable(py, None);
            diagnostic(otherwise, "")
        }
    }
}

/// Returns the caller's address and user name, in the form that the adapter expects.
fn caller_of(caller: &Caller) -> (Option<String>, Option<String>) {
    let address = caller.address().map(|address| address.to_string());
    (address, caller.user().map(str::to_owned))
}

impl Backend for PythonBackend {
    fn databases(&self) -> Vec<DatabaseInfo> {
        self.databases.clone()
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let names = match self.named(search.databases) {
            Ok(names) => names,
            Err(unknown) => return ready(Err(unknown)),
        };
        if let Some(set) = search.query.rpn.result_sets().next() {
            let set = set.0.as_bytes();
            return ready(Err(diagnostic(Condition::RESULT_SET_AS_TERM, set)));
        }
        let query = Query::from(z3950::Query::from(search.query.clone()));
        let caller = search.caller.clone();
        let of_call = caller.clone();
        let database = DatabaseName::from(names.first().map_or("", String::as_str));
        let keys = self.call(Condition::PERMANENT_SYSTEM_ERROR, move |_, adapter| {
            let (address, user) = caller_of(&of_call);
            let found = adapter.call_method1("search", (query, names, address, user))?;
            let (keys, length): (Py<PyAny>, u32) = found.extract()?;
            Ok((keys, length))
        });
        Box::pin(async move {
            let (keys, length) = keys.await?;
            Ok(Hits::new(Keys {
                keys: Arc::new(keys),
                length: usize::try_from(length).unwrap_or(usize::MAX),
                database,
                caller,
            })
            .into())
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::has_syntax(syntax)
    }

    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        forms::has_element_set(name, syntax)
    }

    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        forms::element_set_of_schema(schema, syntax)
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let Some(found) = wanted.hits.downcast::<Keys>() else {
            return ready(Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")));
        };
        let (keys, caller) = (Arc::clone(&found.keys), found.caller.clone());
        let database = found.database.clone();
        let name = database.0.to_string_lossy().into_owned();
        let place = wanted.record.0;
        let syntax = wanted.composition.syntax;
        let element_set = wanted.composition.element_set(&name).to_owned();
        let syntax_name = syntax.map(|syntax| match syntax.name() {
            Some(name) => name.to_owned(),
            None => syntax.to_string(),
        });
        let elements = element_set.clone();
        let given = self.call(Condition::SYSTEM_ERROR_PRESENTING, move |py, adapter| {
            let (address, user) = caller_of(&caller);
            let keys = keys.bind(py);
            let arguments = (keys, place, name, address, user, syntax_name, elements);
            let given = adapter.call_method1("record", arguments)?;
            let (kind, content): (String, Bound<'_, PyAny>) = given.extract()?;
            Ok(match kind.as_str() {
                "marc" => Given::Marc(content.cast::<PyBytes>()?.as_bytes().to_vec()),
                "xml" => Given::Xml(content.extract()?),
                _ => Given::Text(content.extract()?),
            })
        });
        Box::pin(async move {
            let record = match given.await {
                Ok(given) => in_syntax(given, syntax, &element_set),
                // An exception concerns only this record, so it is returned in place of the record.
                Err(error) => Err(error),
            };
            Ok(Retrieved::new(database, record))
        })
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        let names = match self.named(scan.databases) {
            Ok(names) => names,
            Err(unknown) => return ready(Err(unknown)),
        };
        if !self.can_scan {
            let condition = Condition::SERVICE_NOT_FOR_DATABASE;
            return ready(Err(diagnostic(condition, "scan")));
        }
        if scan.step > 0 || scan.within.is_some() {
            return ready(Err(diagnostic(Condition::SCAN_STEP_SIZE_ZERO_ONLY, "")));
        }
        let start: AttributesPlusTerm = scan.start.clone();
        let text = text_of_term(&start.term);
        let query = RpnQuery {
            attribute_set: scan.attribute_set,
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(start)),
        };
        let query = Query::from(z3950::Query::from(query));
        let (caller, before, after) = (scan.caller, scan.before, scan.after);
        self.call(Condition::PERMANENT_SYSTEM_ERROR, move |_, adapter| {
            let (address, user) = caller_of(&caller);
            let arguments = (query, text, names, address, user, before, after);
            let found = adapter.call_method1("scan", arguments)?;
            let (before, after, exact): (Vec<Listed>, Vec<Listed>, bool) = found.extract()?;
            let mut scanned = Scanned::default();
            scanned.before = before.into_iter().map(term_of).collect();
            scanned.after = after.into_iter().map(term_of).collect();
            scanned.exact = exact;
            Ok(scanned)
        })
    }
}

impl Authenticate for PythonLogins {
    fn authenticate<'a>(&'a self, login: Login<'a>) -> Answer<'a, User> {
        let (user, password) = (login.user.to_owned(), login.password.to_vec());
        let group = login.group.map(str::to_owned);
        let address = login.address.map(|address| address.to_string());
        let admitted = call(
            &self.adapter,
            Condition::AUTHENTICATION_SYSTEM,
            move |py, adapter| {
                let password = PyBytes::new(py, &password);
                let arguments = (user, password, group, address);
                adapter.call_method1("authenticate", arguments)?.extract()
            },
        );
        Box::pin(async move {
            if admitted.await? {
                Ok(User::new(login.user))
            } else {
                Err(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, login.user))
            }
        })
    }
}

/// A term of an index, and the number of records that contain it; the number is `None` if it is unknown.
type Listed = (String, Option<usize>);

fn term_of((term, count): Listed) -> ScanTerm {
    let mut listed = ScanTerm::new(Term::General(term.into_bytes().into()));
    listed.records = count;
    listed
}

/// Returns a record in the requested syntax.
///
/// # Errors
/// Fails with condition 238 if the record cannot be converted to that syntax.
fn in_syntax(given: Given, syntax: Option<Oid>, element_set: &str) -> Result<External, Diagnostic> {
    let other = |available: Oid| {
        Err(diagnostic(
            Condition::NOT_AVAILABLE_IN_SYNTAX,
            available.to_string(),
        ))
    };
    match given {
        Given::Marc(octets) => {
            let octets = octets.into();
            let stored = forms_syntax(&octets);
            let syntax = syntax.unwrap_or(stored);
            forms::record(&octets, stored, &syntax, element_set)
        }
        Given::Xml(text) => match syntax {
            Some(syntax) if syntax != XML => other(XML),
            _ => Ok(External::octet_aligned(XML, text.into_bytes())),
        },
        Given::Text(text) => match syntax {
            Some(syntax) if syntax != SUTRS => other(SUTRS),
            _ => sutrs_external(&text)
                .ok_or_else(|| diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")),
        },
    }
}

/// Guesses the record syntax of a MARC record (UNIMARC or MARC 21) from its contents.
fn forms_syntax(octets: &bytes::Bytes) -> Oid {
    let parsed = z3950_marc::iso2709::parse(octets);
    parsed.map_or(USMARC, |parsed| {
        z3950_asn1::record::marc_syntax(&parsed.record)
    })
}
