//! Runs the server with its sockets and logs until a signal stops it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use z3950_server::metrics::{Metrics, OperationKind, OperationOutcome};
use z3950_server::tls::Tls;
use z3950_server::{MemoryBackend, Server, Summary};

use crate::args::Arguments;
use crate::config::{Config, ListenAddress, ListenerConfig};
use crate::failure::{Failure, complain, note};
use crate::files::search_command;
use crate::judge::ClientReports;
use crate::logs::Logs;
use crate::notify::ServiceManager;
use crate::reload::Service;
use crate::status::StatusListener;
use crate::status::page::Status;
use crate::web::{Listening, web};
use crate::words::{counted, span};
use crate::{catalogue, engine, recorder, reload, remotes, settings, signals};

/// Serves until a signal to stop arrives.
pub(crate) async fn serve(
    arguments: Arguments,
    config: Config,
    backend: Option<MemoryBackend>,
) -> Result<Summary, Failure> {
    let begun = Instant::now();
    let manager = Arc::new(ServiceManager::of_environment());
    let reports = ClientReports::open(&config)?.map(Arc::new);
    let last = reports.clone();
    let report = move || {
        if let Some(Err(failure)) = last.map(|reports| reports.write()) {
            complain(&failure.words);
        }
    };
    let stop = signals::stop(|| (), report).map_err(Failure::unexpected)?;
    let signals = signals::Reload::new().map_err(Failure::unexpected)?;
    let remotes = remotes::open(&config, &[])?;
    remotes::tell(&config);
    engine::tell(&config);
    let clusters = engine::open(&config, &[])?;
    let unchecked = engine::check(arguments.config.as_deref(), &config, None).await?;
    engine::watch(unchecked, &clusters);
    catalogue::tell(&config);
    let catalogues = catalogue::open(&config, &[])?;
    catalogue::check(arguments.config.as_deref(), &config, &catalogues, &[]).await?;
    let target = reload::target(&config, backend.clone(), &remotes, &clusters, &catalogues);
    let mut server = Server::new(target);
    let mut tls = Vec::new();
    for listener in &config.listeners {
        let own = listener
            .tls
            .as_ref()
            .map(settings::tls)
            .transpose()
            .map_err(Failure::usage)?;
        server = bind(server, listener, own.clone()).await?;
        tls.push(own);
    }
    if let Some(path) = &config.replay {
        let mut replay = settings::recording(path)?;
        settings::tell_remarks(path, replay.remarks());
        settings::tell_remarks(path, replay.doubts());
        if config.replay_in_order {
            replay = replay.in_order();
        }
        server = server.with_replay(replay);
    }
    if let Some((recorded, file)) = recorder::open(&config)?.zip(config.record.as_ref()) {
        recorder::tell(&recorded, file);
        server = server.with_recorded(recorded);
    }
    let answers_http = config.replay.is_none() && config.record.is_none();
    let logs = Logs::of(&config)?;
    let written = logs.clone();
    let mut observers = logs.observers();
    observers.extend(reports.as_ref().map(|reports| reports.observer()));
    let server = server
        .with_faults(reload::faults(&config))
        .with_observer(Arc::new(observers));
    let listening = Listening::at(&server.endpoints());
    let server = match web(&config, &listening) {
        Some(web) => server.with_web(web),
        None => server,
    };
    let metrics = server.handle().metrics();
    let status = Arc::new(Status::new(
        server.handle(),
        backend.clone(),
        config.limits.sessions,
        certificates(&config, &tls),
    ));
    status.serves(&remotes, &clusters, &catalogues);
    if let Some(place) = &config.status {
        show_status(place, &status).await?;
    }
    for (listener, tls) in config.listeners.iter().zip(&tls) {
        if let (Some(files), Some(tls)) = (&listener.tls, tls) {
            let expiry = reload::expiry(files, tls);
            note(&format_args!("certificate {expiry}"));
        }
    }
    let urls = server.http_urls();
    if !urls.is_empty() && answers_http {
        let urls = urls.join(", ");
        if config.page {
            note(&format_args!("page at {urls}"));
        }
        note(&format_args!("SRU at {urls}"));
    }
    if let Some(named) = arguments.first_file()
        && let Some(command) = search_command(&server.endpoints(), &named.name)
    {
        note(&format_args!("search it with {command}"));
    }
    for endpoint in server.endpoints() {
        let mut stdout = io::stdout().lock();
        // Standard output may be closed, which does not stop the server.
        let _ = writeln!(stdout, "listening on {endpoint}").and_then(|()| stdout.flush());
    }
    let service = Service {
        arguments,
        config,
        backend,
        remotes,
        clusters,
        catalogues,
        handle: server.handle(),
        listening,
        tls,
        logs,
        status: Arc::clone(&status),
    };
    manager.ready(&service.summary());
    tokio::spawn(maintain(service, signals, Arc::clone(&manager)));
    let stop = async {
        drop(stop.await);
        manager.stopping();
        status.stop();
    };
    let summary = server.run(stop).await;
    note(&stopped(&metrics, begun.elapsed()));
    let mut failures = written.failures();
    let judged = reports.map_or(Ok(()), |reports| reports.write());
    failures.extend(judged.err().map(|failure| failure.words));
    match failures.pop() {
        None => Ok(summary),
        Some(last) => {
            failures.iter().for_each(|words| complain(words));
            Err(Failure::unexpected(io::Error::other(last)))
        }
    }
}

/// Builds the indexes of the databases, and then reloads the server at each signal to reload.
async fn maintain(service: Service, mut signals: signals::Reload, manager: Arc<ServiceManager>) {
    let service = Arc::new(Mutex::new(service));
    // The work in other threads fails only if it panics, and the panic has already been reported.
    let prepare = async || {
        // This work must not keep the files of the databases locked, because it may last longer than the server.
        let preparation = locked(&service).preparation();
        if let Some(preparation) = preparation {
            let _ = spawn_blocking(preparation).await;
        }
    };
    prepare().await;
    loop {
        signals.next().await;
        manager.reloading();
        let reloaded = Arc::clone(&service);
        let _ = spawn_blocking(move || locked(&reloaded).reload()).await;
        let summary = locked(&service).summary();
        manager.ready(&summary);
        prepare().await;
    }
}

fn locked(service: &Mutex<Service>) -> MutexGuard<'_, Service> {
    service.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the status listener.
async fn show_status(place: &ListenAddress, status: &Arc<Status>) -> Result<(), Failure> {
    let failure = |error: io::Error| {
        let what = format!("cannot show the status on {place} (--status names another address)");
        Failure::cannot(&what, error)
    };
    let listener = StatusListener::bind(place).await.map_err(failure)?;
    let (address, is_reachable) = listener.address().map_err(failure)?;
    note(&format_args!("status on {address}"));
    if is_reachable {
        complain(&"other machines may read the status: 127.0.0.1 and unix: keep it to this one");
    }
    tokio::spawn(listener.serve(Arc::clone(status)));
    Ok(())
}

/// Returns the listeners with TLS: their addresses and configurations.
fn certificates(config: &Config, tls: &[Option<Tls>]) -> Vec<(String, Tls)> {
    let listeners = config.listeners.iter().zip(tls);
    let certificates = listeners.filter_map(|(listener, tls)| {
        let tls = tls.clone()?;
        Some((listener.place.to_string(), tls))
    });
    certificates.collect()
}

async fn bind(
    server: Server,
    listener: &ListenerConfig,
    tls: Option<Tls>,
) -> Result<Server, Failure> {
    let bound = match (&listener.place, tls) {
        (ListenAddress::Address(address), None) => server.and_bind(address).await,
        (ListenAddress::Address(address), Some(tls)) => server.and_bind_tls(address, tls).await,
        #[cfg(unix)]
        (ListenAddress::Unix(path), _) => server.and_bind_unix(path).await,
        #[cfg(not(unix))]
        (ListenAddress::Unix(_), _) => Err(io::ErrorKind::Unsupported.into()),
    };
    let bound = bound.map(|server| {
        if listener.http {
            server
        } else {
            server.without_http()
        }
    });
    bound.map_err(|error| {
        let what = format!(
            "cannot listen on {} (--listen names another address)",
            listener.place
        );
        Failure::cannot(&what, error)
    })
}

/// Returns a summary of what the server did, for its last message.
fn stopped(metrics: &Metrics, time: Duration) -> String {
    let kinds = OperationKind::ALL.iter();
    let of = |outcome| -> u64 {
        let counts = kinds.clone().map(|kind| metrics.operations(*kind, outcome));
        counts.sum()
    };
    let outcomes = OperationOutcome::ALL.iter();
    let operations = outcomes.map(|outcome| of(*outcome)).sum();
    format!(
        "stopped after {}: {}, {} ({} failed), {} sent",
        span(time),
        counted(metrics.sessions_begun(), "session"),
        counted(operations, "operation"),
        of(OperationOutcome::Failed),
        counted(metrics.records_sent(), "record"),
    )
}
