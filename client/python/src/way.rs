//! The settings that determine how servers are reached, such as certificates and the proxy.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use z3950::transport::{ClientCertificate, NoProxy, Proxy, Routes, TlsOptions};

use crate::pem::{Pem, unusable};

/// The settings that determine how servers are reached. Connections with equal settings share sessions.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    pub(crate) ca_file: Option<Pem>,
    pub(crate) certificate: Option<Pem>,
    pub(crate) key: Option<Pem>,
    pub(crate) insecure: bool,
    pub(crate) proxy: Option<String>,
}

impl Way {
    /// Returns whether none of the settings is given, so that servers are reached as configured in the user's
    /// environment.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the routes to servers, after reading the certificates.
    ///
    /// # Errors
    /// Fails if a file cannot be read or does not contain PEM, or if the proxy is malformed.
    pub(crate) fn routes(&self, py: Python<'_>) -> PyResult<Routes> {
        let routes = match self.proxy.as_deref() {
            Some("none") => Routes::default(),
            Some(text) => Routes::default().proxy(text.parse().map_err(refused)?, NoProxy::none()),
            None => {
                let variable = |name: &str| std::env::var(name).ok();
                match Proxy::from_environment(variable).map_err(refused)? {
                    (Some(proxy), exempt) => Routes::default().proxy(proxy, exempt),
                    (None, _) => Routes::default(),
                }
            }
        };
        let mut tls = TlsOptions::default();
        tls.roots = self.ca_file.clone().map(Into::into);
        tls.insecure = self.insecure;
        tls.certificate = self.certificate.clone().map(|chain| ClientCertificate {
            key: self.key.clone().unwrap_or_else(|| chain.clone()).into(),
            chain: chain.into(),
        });
        let routes = routes.tls(tls);
        let read = routes.read_certificates();
        read.map_err(|error| unusable(py, error))?;
        Ok(routes)
    }

    /// Returns the name of the first given option that has an effect only with TLS; `None` if there is none.
    pub(crate) fn for_tls(&self) -> Option<&'static str> {
        let given = [
            ("ca_file", self.ca_file.is_some()),
            ("certificate", self.certificate.is_some()),
            ("insecure", self.insecure),
        ];
        let mut given = given.into_iter().filter(|(_, is_given)| *is_given);
        given.next().map(|(name, _)| name)
    }
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}
