//! Runs the server: its sockets and logs, until a signal.

use std::io::{self, Write};
use std::sync::Arc;

use z3950_asn1::file::{self, Growing};
use z3950_server::extended::Tasks;
use z3950_server::transcript::{ApduLog, JsonLog};
use z3950_server::{MemoryBackend, Observer, Server, Summary, Target};

use crate::config::{Config, ListenAddress, ListenerConfig};
use crate::failure::Failure;
use crate::{load, settings, signals};

/// Serves until a signal comes.
pub(crate) async fn serve(
    config: Config,
    backend: Option<MemoryBackend>,
) -> Result<Summary, Failure> {
    let stop = signals::stop().map_err(Failure::unexpected)?;
    let mut reload = signals::Reload::new().map_err(Failure::unexpected)?;
    let mut server = Server::new(target(&config, backend.clone()));
    for listener in &config.listeners {
        server = bind(server, listener).await?;
    }
    let mut faults = config.faults.clone();
    if let Some(imitated) = config.imitate {
        faults = imitated.faults().and(faults);
    }
    if let Some(path) = &config.replay {
        let recording = settings::recording(path)?;
        server = match config.replay_in_order {
            true => server.with_replay_in_order(recording),
            false => server.with_replay(recording),
        };
    }
    let server = server
        .with_faults(faults)
        .with_observer(Arc::new(logs(&config)?));
    for endpoint in server.endpoints() {
        let mut stdout = io::stdout().lock();
        // Standard output may be closed.
        let _ = writeln!(stdout, "listening on {endpoint}").and_then(|()| stdout.flush());
    }
    tokio::spawn(async move {
        let aside = async |work: fn(&MemoryBackend)| {
            if let Some(backend) = backend.clone() {
                // The failure was reported by the work itself.
                let _ = tokio::task::spawn_blocking(move || work(&backend)).await;
            }
        };
        loop {
            aside(MemoryBackend::prepare).await;
            reload.next().await;
            aside(load::again).await;
        }
    });
    Ok(server.run(async { drop(stop.await) }).await)
}

/// What all sessions share.
fn target(config: &Config, backend: Option<MemoryBackend>) -> Target {
    let limits = config.limits.clone();
    let target = match (config.imitate, backend) {
        (Some(imitated), _) => imitated.target(limits),
        (None, Some(backend)) => Target::new(Arc::new(backend), limits),
        (None, None) => Target::new(Arc::new(MemoryBackend::builder().build()), limits),
    };
    target
        .with_offer(config.offer.clone())
        .with_access(config.access.clone())
        .with_tasks(Arc::new(Tasks::new(config.tasks)))
}

async fn bind(server: Server, listener: &ListenerConfig) -> Result<Server, Failure> {
    let bound = match (&listener.place, &listener.tls) {
        (ListenAddress::Address(address), None) => server.and_bind(address).await,
        (ListenAddress::Address(address), Some(files)) => {
            let tls = settings::tls(files).map_err(Failure::usage)?;
            server.and_bind_tls(address, tls).await
        }
        #[cfg(unix)]
        (ListenAddress::Unix(path), _) => server.and_bind_unix(path).await,
        #[cfg(not(unix))]
        (ListenAddress::Unix(_), _) => Err(io::ErrorKind::Unsupported.into()),
    };
    bound.map_err(|error| {
        let what = format!(
            "cannot listen on {} (--listen names another address)",
            listener.place
        );
        Failure::cannot(&what, error)
    })
}

/// The configured logs, written as events happen.
fn logs(config: &Config) -> Result<Vec<Arc<dyn Observer>>, Failure> {
    let mut logs: Vec<Arc<dyn Observer>> = Vec::new();
    if let Some(log) = settings::apdu_log(config) {
        logs.push(Arc::new(ApduLog::new(begun("--apdu-log", log)?)));
    }
    if let Some(log) = settings::transcript(config) {
        logs.push(Arc::new(JsonLog::new(begun("--transcript", log)?)));
    }
    Ok(logs)
}

/// Creates the log of an option at once, so that other programs can follow it.
fn begun(option: &str, log: Result<Growing, file::Error>) -> Result<Growing, Failure> {
    let begun = log.and_then(|mut log| {
        let path = log.path().to_owned();
        log.begin().map_err(file::Error::unwritable(&path))?;
        Ok(log)
    });
    begun.map_err(|error| settings::unwritten(option, error))
}
