//! The complete server, with its listening sockets, a task for each connection, and its shutdown.

mod acceptor;
mod socket;

use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, interval, timeout};
use tracing::{Instrument, error, info, info_span, warn};

use self::acceptor::{Acceptor, Admitted};
pub use self::socket::Endpoint;
use self::socket::{Accepted, Arrival, Listening, Socket, listen};
#[cfg(unix)]
pub use self::socket::{SocketFile, listen_unix};
use crate::backend::Backend;
use crate::budget::KeptOctets;
use crate::caught;
#[cfg(feature = "tls")]
use crate::connection::slots::gives_way;
use crate::connection::stream::Transport;
use crate::connection::tally::Tally;
use crate::connection::{self, Client, Context};
use crate::fault::Faults;
#[cfg(feature = "sru")]
use crate::http;
use crate::limits::Limits;
use crate::lock::lock;
#[cfg(feature = "tls")]
use crate::metrics::SessionEnd;
use crate::metrics::{Metrics, PERIOD};
use crate::observer::Observer;
use crate::recorded::RecordedServer;
use crate::relay;
use crate::target::Target;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::transcript::Replay;
#[cfg(feature = "sru")]
use crate::web::Web;

/// A server with its sockets bound.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use std::sync::Arc;
/// use z3950_server::{Limits, MemoryBackend, Server};
///
/// let backend = Arc::new(MemoryBackend::demo());
/// let server = Server::bind("127.0.0.1:0", backend, Limits::default()).await?;
/// println!("listening on {:?}", server.local_addrs());
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let running = tokio::spawn(server.run(async { drop(stopped.await) }));
/// drop(stop);
/// running.await?;
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(example())?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Server {
    sockets: Vec<Listening>,
    handle: ServerHandle,
}

/// A handle for changing a running server and reading its counters. Clones are handles to the same server.
#[derive(Clone)]
pub struct ServerHandle(Arc<Mutex<Arc<Context>>>);

impl ServerHandle {
    /// Sets the handler of HTTP requests other than SRU for new connections; with `None`, such requests are refused. Existing
    /// connections are not affected.
    #[cfg(feature = "sru")]
    pub fn replace_web(&self, web: Option<Arc<dyn Web>>) {
        self.change(|context| context.web = web);
    }

    /// Replaces the target, the observer and, unless `faults` is `None`, the faults for new sessions. Open sessions are not
    /// affected, and tasks are kept. Limits for all sessions together, such as [`Limits::sessions`], cannot be changed after the
    /// start of the server.
    pub fn replace(&self, mut target: Target, faults: Option<Faults>, observer: Arc<dyn Observer>) {
        self.change(|context| {
            target.succeed(&context.target);
            context.target = Arc::new(target);
            if let Some(faults) = faults {
                context.faults = Arc::new(faults);
            }
            context.observer = observer;
        });
    }

    /// Returns the scripted faults.
    pub(crate) fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.context().faults)
    }

    /// Returns the counters of the server.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.context().metrics)
    }

    /// Returns the memory that the server uses for its clients.
    pub fn kept_octets(&self) -> KeptOctets {
        self.context().target.budget.octets()
    }

    fn change(&self, change: impl FnOnce(&mut Context)) {
        change(Arc::make_mut(&mut lock(&self.0)));
    }

    /// Returns the context for a new session.
    fn context(&self) -> Arc<Context> {
        Arc::clone(&lock(&self.0))
    }
}

/// The totals of a server that has stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of accepted connections.
    pub sessions: u64,
    /// The number of connections whose task panicked, plus the number of requests that failed because their backend panicked.
    /// Neither kind of panic stops the server.
    pub panics: u64,
    /// The message of the first panic; `None` if there was none.
    pub first_panic: Option<String>,
}

impl Server {
    /// Creates a server without sockets.
    pub fn new(target: Target) -> Self {
        let context = Context::new(target);
        Self {
            sockets: Vec::new(),
            handle: ServerHandle(Arc::new(Mutex::new(Arc::new(context)))),
        }
    }

    /// Creates a server that listens on an address; port 0 selects a free port.
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub async fn bind(
        address: impl ToSocketAddrs,
        backend: Arc<dyn Backend>,
        limits: Limits,
    ) -> io::Result<Self> {
        let server = Self::new(Target::new(backend, limits));
        server.and_bind(address).await
    }

    /// Also listens on another address.
    ///
    /// # Errors
    /// Fails like [`Server::bind`].
    pub async fn and_bind(mut self, address: impl ToSocketAddrs) -> io::Result<Self> {
        self.sockets
            .push(Socket::Tcp(listen(address).await?).into());
        Ok(self)
    }

    /// Also listens for TLS on another address. The handshake counts towards [`Limits::init_time`].
    ///
    /// # Errors
    /// Fails like [`Server::bind`].
    #[cfg(feature = "tls")]
    pub async fn and_bind_tls(mut self, address: impl ToSocketAddrs, tls: Tls) -> io::Result<Self> {
        let socket = Socket::Tls(listen(address).await?, tls);
        self.sockets.push(socket.into());
        Ok(self)
    }

    /// Also listens on a Unix socket. Its file is removed when the server stops. A file left over from a previous server is
    /// replaced.
    ///
    /// # Errors
    /// Fails if the socket cannot be bound.
    #[cfg(unix)]
    pub async fn and_bind_unix(mut self, path: impl AsRef<Path>) -> io::Result<Self> {
        self.sockets.push(Socket::unix(path.as_ref()).await?.into());
        Ok(self)
    }

    /// Restricts the last added listener to Z39.50. Other listeners also answer SRU over HTTP on the same port.
    #[cfg(feature = "sru")]
    pub fn without_http(mut self) -> Self {
        if let Some(last) = self.sockets.last_mut() {
            last.speaks_http = false;
        }
        self
    }

    /// Sets the handler of HTTP requests other than SRU.
    #[cfg(feature = "sru")]
    pub fn with_web(self, web: Arc<dyn Web>) -> Self {
        self.handle.change(|context| context.web = Some(web));
        self
    }

    /// Sets the scripted faults of the server.
    pub fn with_faults(self, faults: Faults) -> Self {
        self.handle
            .change(|context| context.faults = Arc::new(faults));
        self
    }

    /// Replays recorded conversations instead of using the target. A request that was recorded gets its recorded answer, a
    /// Present gets the recorded records, and any other request gets a diagnostic. A [`Recording`](crate::transcript::Recording)
    /// is accepted as well.
    pub fn with_replay(self, replay: impl Into<Replay>) -> Self {
        let replay = Some(Arc::new(replay.into()));
        self.handle.change(|context| context.replayed = replay);
        self
    }

    /// Makes the server a proxy: requests are passed on to another server, and its answers are passed back to the client; the
    /// observer gets both the requests and the answers. Octets are passed unchanged, unless a fault applies.
    pub fn with_recorded(self, server: Arc<dyn RecordedServer>) -> Self {
        self.handle
            .change(|context| context.recorded = Some(server));
        self
    }

    /// Sets the observer of all sessions.
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        self.handle.change(|context| context.observer = observer);
        self
    }

    /// Returns a handle, which remains valid while the server runs.
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Returns the addresses that the server listens on, in the order of binding, without Unix sockets.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        let endpoints = self.endpoints();
        endpoints.iter().filter_map(Endpoint::address).collect()
    }

    /// Returns the endpoints of all listeners, in the order of binding.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let sockets = self.sockets.iter();
        sockets
            .filter_map(|listening| listening.socket.endpoint())
            .collect()
    }

    /// Returns the base URLs for SRU, such as `http://127.0.0.1:2100/`, in the order of binding, without Unix sockets. The name
    /// of a database is appended to them.
    #[cfg(feature = "sru")]
    pub fn http_urls(&self) -> Vec<String> {
        let listening = self
            .sockets
            .iter()
            .filter(|listening| listening.speaks_http);
        let endpoints = listening.filter_map(|listening| listening.socket.endpoint());
        let urls = endpoints.filter_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(format!("http://{address}/")),
            #[cfg(feature = "tls")]
            Endpoint::Tls(address) => Some(format!("https://{address}/")),
            #[cfg(unix)]
            Endpoint::Unix(_) => None,
        });
        urls.collect()
    }

    /// Serves until `stop` is ready. Then stops accepting connections, lets operations in progress finish within
    /// [`Limits::drain_time`], sends Close(shutdown) to sessions that can still receive it, and returns.
    ///
    /// Each connection is served by a separate task. This requires a Tokio runtime with I/O and time enabled.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Summary {
        let begun = self.handle.context();
        let limits = &begun.target.limits;
        let mut acceptor = Acceptor::new(self.sockets, limits, Arc::clone(&begun.metrics));
        let drain_time = limits.drain_time;
        let (stopping, stopping_seen) = watch::channel(false);
        let mut sessions = JoinSet::new();
        let mut summary = Summary::default();
        let mut pulse = interval(PULSE);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                _ = pulse.tick() => begun.metrics.log_refusals(PERIOD),
                Some(ended) = sessions.join_next() => summary.note(ended),
                Admitted { slot, arrival } = acceptor.accept() => {
                    summary.sessions += 1;
                    let Arrival { stream, peer, .. } = arrival;
                    let context = self.handle.context();
                    let number = context.next_number();
                    let span = info_span!("session", number, %peer);
                    let client = Client {
                        number,
                        peer,
                        begun: Instant::now(),
                        slot: Some(slot),
                        #[cfg(feature = "sru")]
                        speaks_http: arrival.speaks_http,
                    };
                    let session = session(stream, client, context, &stopping_seen);
                    sessions.spawn(session.instrument(span));
                }
            }
        }
        drop(acceptor);
        begun.metrics.log_refusals(Duration::ZERO);
        info!(sessions = sessions.len(), "stopping");
        stopping.send_replace(true);
        let drained = async {
            while let Some(ended) = sessions.join_next().await {
                summary.note(ended);
            }
        };
        if timeout(drain_time, drained).await.is_err() {
            warn!(sessions = sessions.len(), "sessions cut off");
        }
        sessions.abort_all();
        while let Some(ended) = sessions.join_next().await {
            summary.note(ended);
        }
        let (panics, first) = begun.target.panics.totals();
        summary.panics += panics;
        summary.first_panic = first.or(summary.first_panic);
        summary
    }
}

/// The period of a timer that is always running. It expires before the timers of sessions, so that starting one of these does not
/// wake the runtime.
const PULSE: Duration = Duration::from_secs(5);

impl Summary {
    fn note(&mut self, ended: Result<(), JoinError>) {
        let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) else {
            return;
        };
        let words = caught::words(&*panic);
        error!(panic = words, "a bug in the server ended a session");
        self.panics += 1;
        self.first_panic.get_or_insert(words);
    }
}

/// Starts the task for a connection.
fn session(
    stream: Accepted,
    client: Client,
    context: Arc<Context>,
    stopping: &watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send + use<> {
    let stopping = stopping.clone();
    async move {
        let mut tally = Tally::new(
            client.number,
            client.peer,
            Arc::clone(&context.metrics),
            Arc::clone(&context.observer),
            stopping.clone(),
        );
        match stream {
            Accepted::Tcp(mut stream) => {
                without_delay(&stream);
                converse(&mut stream, &client, &context, &stopping, &mut tally).await;
            }
            #[cfg(unix)]
            Accepted::Unix(mut stream) => {
                converse(&mut stream, &client, &context, &stopping, &mut tally).await;
            }
            // This future is boxed, because it is several times as large as the futures of other connections.
            #[cfg(feature = "tls")]
            Accepted::Tls(stream, tls) => {
                without_delay(&stream);
                Box::pin(encrypted(
                    stream, tls, client, context, stopping, &mut tally,
                ))
                .await;
            }
        }
    }
}

/// Serves a connection in the client's protocol.
async fn converse<S: Transport>(
    stream: &mut S,
    client: &Client,
    context: &Arc<Context>,
    stopping: &watch::Receiver<bool>,
    tally: &mut Tally,
) {
    let sent = match &context.recorded {
        Some(server) => {
            let server = &**server;
            Box::pin(relay::serve(
                stream, client, context, server, stopping, tally,
            ))
            .await
        }
        None => {
            connection::serve(stream, client, Arc::clone(context), stopping.clone(), tally).await
        }
    };
    #[cfg(feature = "sru")]
    if let Some(octets) = sent {
        // The box keeps the futures of Z39.50 sessions small.
        Box::pin(http::serve(
            stream, octets, client, context, stopping, tally,
        ))
        .await;
    }
    #[cfg(not(feature = "sru"))]
    drop(sent);
}

/// Serves a connection after the TLS handshake.
#[cfg(feature = "tls")]
async fn encrypted(
    stream: TcpStream,
    tls: Tls,
    client: Client,
    context: Arc<Context>,
    mut stopping: watch::Receiver<bool>,
    tally: &mut Tally,
) {
    let handshake = timeout(
        context.target.limits.init_time,
        tls.acceptor().accept(stream),
    );
    let stream = tokio::select! {
        handshake = handshake => handshake,
        _ = stopping.wait_for(|stopping| *stopping) => return,
        () = gives_way(client.slot.as_ref()) => {
            info!("gave way to a further connection");
            return tally.ends(SessionEnd::GaveWay, None);
        }
    };
    match stream {
        Ok(Ok(mut stream)) => converse(&mut stream, &client, &context, &stopping, tally).await,
        Ok(Err(error)) => {
            info!(%error, "no TLS");
            tally.ends(SessionEnd::NoTls, Some(&error));
        }
        Err(_) => {
            info!("no TLS in time");
            tally.ends(SessionEnd::NoTls, None);
        }
    }
}

fn without_delay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        warn!(%error, "small answers may be delayed");
    }
}
