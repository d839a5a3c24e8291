//! The options of `connect` and of the functions without a connection: routes to servers, timeouts, credentials,
//! properties of the target, and the form of records. This module converts them to options of the library's client.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::depythonize;
use z3950::profile::{Profile, Resolved};
use z3950::target::{Endpoint, Target};
use z3950::{Client, ClientOptions, RecordForm, Timeouts};
use z3950_asn1::apdu::{IdAuthentication, IdPass};
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

use crate::error::{BadUrl, made, quoted};
use crate::pem::Pem;
use crate::process::shared;
use crate::way::Way;

/// How long unused sessions are kept for the next connection to the same server.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// The options of a connection.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Options {
    client: ClientOptions,
    pub(crate) form: RecordForm,
    way: Way,
    habits: Habits,
}

/// The options that add to the profile of a target, or replace parts of it.
#[derive(Default)]
struct Habits {
    charset: Option<Charset>,
    query_charset: Option<Charset>,
    chunk: Option<u32>,
    /// The name of a profile, or a dict with the same keys as a profile in `targets.toml`.
    profile: Option<Py<PyAny>>,
}

impl Habits {
    fn is_empty(&self) -> bool {
        let Self {
            charset,
            query_charset,
            chunk,
            profile,
        } = self;
        charset.or(*query_charset).is_none() && chunk.is_none() && profile.is_none()
    }

    /// Returns the profile of a target with these options applied.
    fn apply(&self, py: Python<'_>, client: &Client, resolved: &Resolved) -> PyResult<Profile> {
        let known = &resolved.profile;
        let mut profile = match &self.profile {
            None => known.clone(),
            Some(given) => match given.bind(py).cast::<PyDict>() {
                Ok(keys) => of_keys(keys, known)?,
                Err(_) => named(given.bind(py), client, known)?,
            },
        };
        profile.record_charset = self.charset.or(profile.record_charset);
        profile.query_charset = self.query_charset.or(profile.query_charset);
        profile.chunk = self.chunk.or(profile.chunk);
        Ok(profile)
    }
}

/// Creates a profile from a dict, which has the same keys as a profile in `targets.toml`. The address is taken from
/// `known`.
fn of_keys(keys: &Bound<'_, PyDict>, known: &Profile) -> PyResult<Profile> {
    let all = keys.copy()?;
    for (name, value) in [
        ("host", known.host.to_string()),
        ("port", known.port.to_string()),
        ("tls", known.tls.to_string()),
    ] {
        if all.contains(name)? {
            let words = format!("{name} of a profile is {value}, as the target says: leave it out");
            return Err(PyTypeError::new_err(words));
        }
    }
    all.set_item("host", known.host.to_string())?;
    all.set_item("port", known.port)?;
    all.set_item("tls", known.tls)?;
    let mut profile: Profile =
        depythonize(&all).map_err(|error| PyValueError::new_err(format!("profile: {error}")))?;
    profile.sru = profile.sru.or_else(|| known.sru.clone());
    Ok(profile)
}

/// Returns the profile with this name, with its address replaced with the one in `known`. If `known` is a different
/// server, the credentials are removed.
fn named(name: &Bound<'_, PyAny>, client: &Client, known: &Profile) -> PyResult<Profile> {
    let name: String = name.extract()?;
    let profiles = client.profiles();
    let (_, entry) = profiles.named(&name).ok_or_else(|| {
        let nearest = profiles.nearest(&name).map(|(nearest, _)| nearest);
        let hint = nearest.map_or_else(String::new, |nearest| {
            format!("; did you mean {}?", quoted(nearest))
        });
        PyValueError::new_err(format!("no profile is called {}{hint}", quoted(&name)))
    })?;
    let mut profile = entry.profile.clone();
    if profile.endpoint() != known.endpoint() {
        profile.credentials = None;
    }
    if known.sru.is_none() || profile.sru.is_none() {
        profile.sru = known.sru.clone();
    }
    (profile.host, profile.port, profile.tls) = (known.host.clone(), known.port, known.tls);
    Ok(profile)
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (timeout=Some(30.0), user=None, password=None, group=None, syntax=None, elements=None, holdings=false,
        charset=None, query_charset=None, chunk=None, profile=None, ca_file=None, certificate=None, key=None, insecure=false, proxy=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        timeout: Option<f64>,
        user: Option<&str>,
        password: Option<&str>,
        group: Option<&str>,
        syntax: Option<&str>,
        elements: Option<String>,
        holdings: bool,
        charset: Option<&str>,
        query_charset: Option<&str>,
        chunk: Option<u32>,
        profile: Option<Py<PyAny>>,
        ca_file: Option<Pem>,
        certificate: Option<Pem>,
        key: Option<Pem>,
        insecure: bool,
        proxy: Option<String>,
    ) -> PyResult<Self> {
        if holdings && syntax.is_some() {
            let words = "holdings=True has a syntax of its own: leave out syntax";
            return Err(PyValueError::new_err(words));
        }
        if key.is_some() && certificate.is_none() {
            let words = "key belongs to a certificate: give certificate, too";
            return Err(PyValueError::new_err(words));
        }
        if insecure && ca_file.is_some() {
            let words = "insecure=True accepts any certificate: leave out ca_file";
            return Err(PyValueError::new_err(words));
        }
        if chunk == Some(0) {
            return Err(PyValueError::new_err("chunk is at least 1"));
        }
        let mut form = RecordForm::new(syntax.map(syntax_of).transpose()?, elements);
        form.holdings = holdings;
        let mut client = client_options(timeout)?;
        if user.or(password).or(group).is_some() {
            client.plan.init.id_authentication = Some(IdAuthentication::IdPass(IdPass {
                user_id: user.map(Into::into),
                password: password.map(Into::into),
                group_id: group.map(Into::into),
            }));
        }
        Ok(Self {
            client,
            form,
            way: Way {
                ca_file,
                certificate,
                key,
                insecure,
                proxy,
            },
            habits: Habits {
                charset: charset.map(charset_of).transpose()?,
                query_charset: query_charset.map(charset_of).transpose()?,
                chunk,
                profile,
            },
        })
    }
}

fn client_options(timeout: Option<f64>) -> PyResult<ClientOptions> {
    let limit = timeout.map(Duration::try_from_secs_f64).transpose();
    let limit = limit
        .ok()
        .filter(|limit| *limit != Some(Duration::ZERO))
        .ok_or_else(|| {
            PyValueError::new_err("timeout is a number of seconds above 0, or None for no limit")
        })?;
    let mut timeouts = Timeouts::default().with_answer(limit);
    timeouts.session = limit;
    timeouts.connect = limit;
    let mut client = ClientOptions::default().with_timeouts(timeouts);
    client.cancels_dropped = true;
    client.idle_time = Some(IDLE_TIME);
    Ok(client)
}

fn syntax_of(name: &str) -> PyResult<Oid> {
    Oid::record_syntax_by_name(name.as_bytes()).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{} is not the name of a record syntax, such as usmarc, unimarc, xml, opac or sutrs",
            quoted(name)
        ))
    })
}

fn charset_of(name: &str) -> PyResult<Charset> {
    Charset::by_name(name).ok_or_else(|| {
        let words = "is not the name of a character set, such as utf-8, marc-8 or iso5426";
        PyValueError::new_err(format!("{} {words}", quoted(name)))
    })
}

impl Options {
    /// Returns this process's client for a target or a URL, with these options.
    ///
    /// # Errors
    /// Fails if the target contains a user name or a password, because neither these nor the credentials of the
    /// target's profile would be sent, or if an option cannot be applied.
    pub(crate) fn client(&self, py: Python<'_>, target: &str) -> PyResult<Client> {
        // An invalid target is refused later, when the connection is opened.
        let parsed = target.parse::<Target>();
        if parsed.is_ok_and(|parsed| parsed.userinfo.is_some()) {
            let words =
                "a user and a password in a URL are not sent: give them as user= and password=";
            return Err(made(BadUrl::new_err(words)));
        }
        let client = shared(py)?.client(py, &self.way)?;
        let client = client.with_options(self.client.clone());
        if self.habits.is_empty() {
            return Ok(client);
        }
        let Ok(resolved) = client.profiles().resolve(target) else {
            return Ok(client);
        };
        if let Endpoint::Unix(_) = resolved.endpoint {
            let words = "charset, query_charset, chunk and profile need a target with a host";
            return Err(PyValueError::new_err(words));
        }
        let profile = self.habits.apply(py, &client, &resolved)?;
        let name = resolved.name.as_deref().unwrap_or(GIVEN);
        let profiles = client.profiles().clone();
        Ok(client.with_profiles(profiles.with_profile(name, profile)))
    }
}

impl Options {
    /// Raises an exception if an option is only for TLS but none of the targets uses TLS. Otherwise, a password that is
    /// intended for a server with a verified certificate would be sent in plain text.
    pub(crate) fn check_tls(&self, py: Python<'_>, targets: &[&str]) -> PyResult<()> {
        let Some(option) = self.way.for_tls() else {
            return Ok(());
        };
        let shared = shared(py)?;
        let profiles = shared.usual_client(py)?.profiles();
        // An invalid target is refused later, when the connection is opened.
        let endpoints = targets.iter().map(|target| profiles.resolve(target));
        let has_tls =
            |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tls(..) | Endpoint::Https(..));
        let mut endpoints = endpoints.map(|found| found.map(|found| found.endpoint));
        if endpoints.any(|found| found.as_ref().map_or(true, has_tls)) {
            return Ok(());
        }
        let named = targets.join(" and ");
        Err(PyValueError::new_err(format!(
            "{option} is for TLS, without which {named} would be reached: write ssl:HOST, or https: for SRU"
        )))
    }
}

/// The name of the profile that options create for a target without a named profile. Users cannot request this name.
const GIVEN: &str = "\0";
