//! The options of `connect` and of the functions without a connection: time limits, credentials, and the requested form
//! of records.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use z3950::asn1::apdu::{IdAuthentication, IdPass};
use z3950::asn1::oid::Oid;
use z3950::target::Target;
use z3950::{Client, ClientOptions, RecordForm, Timeouts};

use crate::error::BadUrl;
use crate::process::shared;

/// The time for which sessions are kept for the next connection to the same server.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// Options of a connection.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Options {
    client: ClientOptions,
    pub(crate) form: RecordForm,
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (timeout=Some(30.0), user=None, password=None, group=None, syntax=None, elements=None, holdings=false))]
    fn new(
        timeout: Option<f64>,
        user: Option<&str>,
        password: Option<&str>,
        group: Option<&str>,
        syntax: Option<&str>,
        elements: Option<String>,
        holdings: bool,
    ) -> PyResult<Self> {
        if holdings && syntax.is_some() {
            let words = "holdings=True has a syntax of its own: leave out syntax";
            return Err(PyValueError::new_err(words));
        }
        let limit = timeout.map(Duration::try_from_secs_f64).transpose();
        let limit = limit.ok().filter(|limit| *limit != Some(Duration::ZERO));
        let limit = limit.ok_or_else(|| {
            PyValueError::new_err("timeout is a number of seconds above 0, or None for no limit")
        })?;
        let mut timeouts = Timeouts::default().with_answer(limit);
        timeouts.session = limit;
        timeouts.connect = limit;
        let mut client = ClientOptions::default().with_timeouts(timeouts);
        client.cancels_dropped = true;
        client.idle_time = Some(IDLE_TIME);
        if user.or(password).or(group).is_some() {
            client.plan.init.id_authentication = Some(IdAuthentication::IdPass(IdPass {
                user_id: user.map(Into::into),
                password: password.map(Into::into),
                group_id: group.map(Into::into),
            }));
        }
        let syntax = syntax.map(|name| {
            Oid::record_syntax_by_name(name.as_bytes()).ok_or_else(|| {
                PyValueError::new_err(format!("{name:?} is not the name of a record syntax, such as usmarc, unimarc, xml, opac or sutrs"))
            })
        });
        let mut form = RecordForm::new(syntax.transpose()?, elements);
        form.holdings = holdings;
        Ok(Self { client, form })
    }
}

impl Options {
    /// Returns the client of this process with these options, for a target or a URL.
    ///
    /// # Errors
    /// Raises an exception if the target contains a user name or a password, because then neither these nor the
    /// credentials of the target's profile would be sent.
    pub(crate) fn client(&self, py: Python<'_>, target: &str) -> PyResult<Client> {
        // Errors: an invalid target is refused when it is connected to.
        let target = target.parse::<Target>();
        if target.is_ok_and(|target| target.userinfo.is_some()) {
            let words =
                "a user and a password in a URL are not sent: give them as user= and password=";
            return Err(BadUrl::new_err(words));
        }
        let options = self.client.clone();
        Ok(shared(py)?.client(py)?.with_options(options))
    }
}
