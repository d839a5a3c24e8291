//! Serves the status of the server over HTTP on a separate listener: `/metrics` for Prometheus, and `/healthz` (RFC 9110, 9112).

pub(crate) mod page;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
#[cfg(unix)]
use z3950_server::{SocketFile, listen_unix};

use self::page::Status;
use crate::config::ListenAddress;

/// The listening socket for the status.
pub(crate) enum StatusListener {
    Tcp(TcpListener),
    /// A Unix socket and its file, which is removed when the server stops.
    #[cfg(unix)]
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "it is dropped")] SocketFile,
    ),
}

/// The maximum number of connections at once. A further connection replaces the oldest one, which must be idle or slow to send
/// its request, because answers are sent immediately.
const CONNECTIONS: usize = 16;
/// The maximum time from the connection, or from the previous answer, to the end of a request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// The maximum duration of a connection, with all its requests.
const CONNECTION_TIME: Duration = Duration::from_secs(120);
/// The maximum number of octets in a request's head; longer heads get status 431.
const HEAD: usize = 8192;
/// The pause after an error from the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

impl StatusListener {
    pub(crate) async fn bind(place: &ListenAddress) -> io::Result<Self> {
        match place {
            ListenAddress::Address(address) => TcpListener::bind(address).await.map(Self::Tcp),
            #[cfg(unix)]
            ListenAddress::Unix(path) => {
                let (listener, file) = listen_unix(path).await?;
                Ok(Self::Unix(listener, file))
            }
            #[cfg(not(unix))]
            ListenAddress::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the address as a URL or `unix:PATH`, and whether it can be reached from other machines.
    pub(crate) fn address(&self) -> io::Result<(String, bool)> {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr()?;
                Ok((format!("http://{address}"), !address.ip().is_loopback()))
            }
            #[cfg(unix)]
            Self::Unix(listener, _) => {
                let address = listener.local_addr()?;
                let path = address.as_pathname().unwrap_or(std::path::Path::new(""));
                Ok((format!("unix:{}", path.display()), false))
            }
        }
    }

    /// Answers requests until the future is dropped.
    pub(crate) async fn serve(self, status: Arc<Status>) {
        let mut connections: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let accepted = match &self {
                Self::Tcp(listener) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| begin(stream, &status))
                }
                #[cfg(unix)]
                Self::Unix(listener, _) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| begin(stream, &status))
                }
            };
            let Ok(connection) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            connections.retain(|connection| !connection.is_finished());
            connections.push_back(connection);
            if connections.len() > CONNECTIONS
                && let Some(oldest) = connections.pop_front()
            {
                oldest.abort();
            }
        }
    }
}

/// Starts a task that serves a connection.
fn begin(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    status: &Arc<Status>,
) -> AbortHandle {
    let status = Arc::clone(status);
    let task = tokio::spawn(async move {
        let service = service_fn(|request: Request<Incoming>| {
            let status = Arc::clone(&status);
            async move {
                let response = answer(request.method(), request.uri().path(), &status).await;
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_TIME)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(stream), service);
        // An error or a timeout concerns only this client, so it is ignored.
        let _ = timeout(CONNECTION_TIME, connection).await;
    });
    task.abort_handle()
}

/// The media type of Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

async fn answer(method: &Method, path: &str, status: &Status) -> Response<String> {
    let is_read = [Method::GET, Method::HEAD].contains(method);
    if is_read && path == "/metrics" {
        status.count_records().await;
    }
    let (code, kind, body) = match path {
        _ if !is_read => (
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            "GET or HEAD\n".to_owned(),
        ),
        "/metrics" => (StatusCode::OK, METRICS, status.metrics()),
        "/healthz" if status.is_stopping() => (
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            "stopping\n".to_owned(),
        ),
        "/healthz" => (StatusCode::OK, TEXT, "serving\n".to_owned()),
        "/" => (StatusCode::OK, TEXT, "/metrics\n/healthz\n".to_owned()),
        _ => (
            StatusCode::NOT_FOUND,
            TEXT,
            "only /metrics and /healthz are here\n".to_owned(),
        ),
    };
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let mut header = |name: HeaderName, value: &'static str| {
        response.headers_mut().insert(name, value.parse().ok()?)
    };
    header(CONTENT_TYPE, kind);
    header(CACHE_CONTROL, "no-store");
    if !is_read {
        header(ALLOW, "GET, HEAD");
    }
    response
}
