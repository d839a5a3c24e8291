//! The upstream server for `--record`, created from its address.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use z3950_front::z3950::Timeouts;
use z3950_front::z3950::target::{Endpoint, Target};
use z3950_front::z3950::transport::{Connect, Routes, TlsOptions};
use z3950_server::recorded::{RecordedConnecting, RecordedServer, RecordedStream};

use crate::config::Config;
use crate::failure::{Failure, chain, note};
use crate::remotes::is_own;

/// Returns the upstream server to record; `None` without `--record`. The server is not contacted yet.
///
/// # Errors
/// The address is malformed or is this server's own, or the certificates cannot be read.
pub(crate) fn open(config: &Config) -> Result<Option<Arc<RecordedTarget>>, Failure> {
    let Some(text) = &config.upstream else {
        return Ok(None);
    };
    let what = format!("cannot record {text} (--upstream)");
    let target: Target = text
        .parse()
        .map_err(|error| Failure::cannot(&what, error))?;
    let endpoint = target.endpoint;
    if matches!(endpoint, Endpoint::Http(..) | Endpoint::Https(..)) {
        return Err(Failure::cannot(&what, "only Z39.50 is recorded, not SRU"));
    }
    if is_own(config, &endpoint) {
        return Err(Failure::cannot(&what, "it is this server itself"));
    }
    let mut options = TlsOptions::default();
    options.roots = config.upstream_ca.clone().map(Into::into);
    let routes = Routes::default().tls(options);
    let connector = routes.to(&endpoint, None);
    Ok(Some(Arc::new(RecordedTarget {
        connector: connector.map_err(|error| Failure::cannot(&what, error))?,
        endpoint,
    })))
}

/// Prints the upstream server and the file that the recording is written to.
pub(crate) fn tell(server: &RecordedTarget, file: &Path) {
    let file = file.display();
    note(&format_args!(
        "sessions with {server} are recorded in {file}"
    ));
}

/// An upstream server at an address in the notation of `z3950`.
pub(crate) struct RecordedTarget {
    connector: Arc<dyn Connect>,
    endpoint: Endpoint,
}

impl RecordedServer for RecordedTarget {
    fn connect(&self) -> RecordedConnecting<'_> {
        Box::pin(async {
            let (host, port) = (self.endpoint.host(), self.endpoint.port());
            let timeouts = Timeouts::default();
            let connected = self.connector.connect(&host, port, &timeouts).await;
            let stream = connected.map_err(|error| {
                let words = chain(&error);
                // The caller's message already says that the server cannot be reached, so the prefix is removed.
                let why = words.strip_prefix("cannot connect: ").unwrap_or(&words);
                io::Error::other(why.to_owned())
            })?;
            Ok(Box::new(stream) as Box<dyn RecordedStream>)
        })
    }
}

impl fmt::Display for RecordedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}
