//! The server as a whole: listening sockets, a task for each connection, and an orderly end.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{Instrument, error, info, info_span, warn};

use crate::backend::Backend;
use crate::connection::{self, Shared};
use crate::fault::Faults;
use crate::limits::Limits;
use crate::observer::{Observer, Unobserved};

/// A server with its sockets bound, about to run.
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
    listeners: Vec<TcpListener>,
    backend: Arc<dyn Backend>,
    limits: Limits,
    faults: Faults,
    observer: Arc<dyn Observer>,
}

/// What became of a server that has stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections accepted.
    pub sessions: u64,
    /// Connections whose handler panicked; the server went on.
    pub panics: u64,
    /// What the first of them said.
    pub first_panic: Option<String>,
}

impl Server {
    /// A server that listens on an address; port 0 picks a free one.
    ///
    /// # Errors
    /// Of the system, where it cannot bind to the address.
    pub async fn bind(
        address: impl ToSocketAddrs,
        backend: Arc<dyn Backend>,
        limits: Limits,
    ) -> io::Result<Self> {
        let server = Self {
            listeners: Vec::new(),
            backend,
            limits,
            faults: Faults::default(),
            observer: Arc::new(Unobserved),
        };
        server.and_bind(address).await
    }

    /// The same, listening on another address as well.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn and_bind(mut self, address: impl ToSocketAddrs) -> io::Result<Self> {
        self.listeners.push(TcpListener::bind(address).await?);
        Ok(self)
    }

    /// The same with scripted misbehaviour.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The same with somebody who watches.
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// The addresses it listens on, in the order of binding.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }

    /// Serves until `stop` is ready; then accepts no more, lets answers in progress finish within
    /// [`Limits::drain_time`], sends Close(shutdown) where it can, and ends.
    ///
    /// Every connection is a task. The future needs a Tokio runtime with I/O and time.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Summary {
        let drain_time = self.limits.drain_time;
        let permits = Arc::new(Semaphore::new(
            self.limits.sessions.min(Semaphore::MAX_PERMITS),
        ));
        let shared = Arc::new(Shared {
            backend: self.backend,
            limits: Arc::new(self.limits),
            faults: Arc::new(self.faults),
            observer: self.observer,
        });
        let mut acceptor = Acceptor::new(self.listeners, permits);
        let (stopping, stopping_seen) = watch::channel(false);
        let mut sessions = JoinSet::new();
        let mut summary = Summary::default();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(ended) = sessions.join_next() => summary.note(ended),
                (permit, stream, peer) = acceptor.accept() => {
                    summary.sessions += 1;
                    let number = summary.sessions;
                    let session = session(permit, stream, peer, number, &shared, &stopping_seen);
                    sessions.spawn(session.instrument(info_span!("session", number, %peer)));
                }
            }
        }
        drop(acceptor);
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
        summary
    }
}

impl Summary {
    fn note(&mut self, ended: Result<(), JoinError>) {
        let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) else {
            return;
        };
        let words = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(words), _) => (*words).to_owned(),
            (_, Some(words)) => words.clone(),
            _ => "no words".to_owned(),
        };
        error!(panic = words, "a session ended by a fault of the server");
        self.panics += 1;
        self.first_panic.get_or_insert(words);
    }
}

/// Serves one connection; what is told of its end is told also when the handler panics or is aborted.
fn session(
    permit: OwnedSemaphorePermit,
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    shared: &Arc<Shared>,
    stopping: &watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send + use<> {
    let (shared, stopping) = (Arc::clone(shared), stopping.clone());
    async move {
        let observer = Arc::clone(&shared.observer);
        observer.opened(number, peer);
        let _open = Open {
            number,
            observer,
            _permit: permit,
        };
        info!("connected");
        if let Err(error) = stream.set_nodelay(true) {
            warn!(%error, "small answers may be delayed");
        }
        connection::serve(stream, number, shared, stopping).await;
    }
}

/// A connection, for as long as it is there.
struct Open {
    number: u64,
    observer: Arc<dyn Observer>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Open {
    fn drop(&mut self) {
        info!("disconnected");
        self.observer.closed(self.number);
    }
}

/// Accepts connections from all sockets in turn, while there is room for a session.
struct Acceptor {
    listeners: Vec<TcpListener>,
    permits: Arc<Semaphore>,
    /// The socket asked first next time, so that none is left waiting for another.
    first: usize,
    /// When to try again after the system refused, as it does without free descriptors.
    retry: Option<Instant>,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Acceptor {
    fn new(listeners: Vec<TcpListener>, permits: Arc<Semaphore>) -> Self {
        Self {
            listeners,
            permits,
            first: 0,
            retry: None,
            pause: FIRST_PAUSE,
        }
    }

    /// The next connection. Nothing is lost when the future is dropped.
    async fn accept(&mut self) -> (OwnedSemaphorePermit, TcpStream, SocketAddr) {
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            // Nobody closes the semaphore.
            return std::future::pending().await;
        };
        loop {
            if let Some(retry) = self.retry {
                sleep_until(retry).await;
                self.retry = None;
            }
            match self.poll_listeners().await {
                Ok((stream, peer)) => {
                    self.pause = FIRST_PAUSE;
                    return (permit, stream, peer);
                }
                Err(error) => {
                    warn!(%error, "cannot accept a connection");
                    self.retry = Some(Instant::now() + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn poll_listeners(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        let count = self.listeners.len();
        self.first = (self.first + 1) % count.max(1);
        let in_turn = self.listeners.iter().cycle().skip(self.first).take(count);
        poll_fn(|context| {
            for listener in in_turn.clone() {
                if let Poll::Ready(accepted) = listener.poll_accept(context) {
                    return Poll::Ready(accepted);
                }
            }
            Poll::Pending
        })
        .await
    }
}
