//! A server for tests: on a free loopback port, in its own thread, with a transcript of its sessions.
//!
//! ```
//! use z3950_server::fault::{Fault, When};
//! use z3950_server::testing::{TestServer, record};
//!
//! let server = TestServer::builder()
//!     .database("cat", [record("id7", "Emma")])
//!     .fault(When::search(), Fault::NeverPiggyback)
//!     .start();
//! assert!(server.url("cat?id7").starts_with("z39.50r://127.0.0.1:"));
//! // … have a client talk to it …
//! assert!(server.names().is_empty());
//! ```
//!
//! Programs in other languages can use the program `z3950d`. It prints its address on standard output and writes the transcript
//! as lines of JSON, which [`crate::transcript`] describes:
//!
//! ```text
//! $ z3950d --demo --listen 127.0.0.1:0 --transcript said.jsonl --fault 'on search nth=2: fail 2'
//! listening on 127.0.0.1:41233
//! ```
//!
//! ```python
//! server = subprocess.Popen(["z3950d", "--demo", "--listen", "127.0.0.1:0", "--transcript", "said.jsonl"],
//!                           stdout=subprocess.PIPE, text=True)
//! port = int(server.stdout.readline().rsplit(":", 1)[1])
//! # … have a client talk to it …
//! server.terminate(); server.wait()
//! said = [json.loads(line) for line in open("said.jsonl")]
//! assert [line["value"]["query"] for line in said if line.get("apdu") == "searchRequest"] == ["@attr 1=4 war"]
//! ```
//!
//! Setup errors and failed expectations panic with a message.

#![expect(clippy::panic, reason = "a test that cannot go on ends with a panic")]

mod recorder;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use z3950_marc::{Field, MarcRecord};

use self::recorder::{Recorder, RecorderState};
use crate::access::Access;
use crate::backend::Backend;
use crate::fault::{Fault, Faults, When};
use crate::imitate::Imitated;
use crate::limits::Limits;
use crate::listener::{Endpoint, Server, Summary};
use crate::lock::lock;
use crate::memory::{DocidField, MemoryBackend, MemoryBackendBuilder, Profile};
use crate::offer::Offer;
use crate::recorded::RecordedServer;
use crate::target::Target;
#[cfg(feature = "tls")]
use crate::tls::Tls;
pub use crate::transcript::{Direction, HttpEntry, TranscriptEntry};
use crate::transcript::{Recording, Replay};
#[cfg(feature = "sru")]
use crate::web::Web;

/// How long a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server. Dropping it stops the server, and fails the test if one of its sessions panicked.
pub struct TestServer {
    endpoints: Vec<Endpoint>,
    recorder: Arc<Recorder>,
    stop: Option<oneshot::Sender<()>>,
    summary: mpsc::Receiver<Summary>,
}

impl TestServer {
    /// A server with the builder's settings.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder {
            databases: MemoryBackend::builder(),
            backend: None,
            offer: Offer::default(),
            access: Access::default(),
            imitated: None,
            replayed: None,
            recorded: None,
            limits: Limits {
                drain_time: Duration::from_millis(200),
                linger_time: Duration::from_millis(100),
                ..Limits::default()
            },
            faults: Faults::new(),
            #[cfg(feature = "sru")]
            web: None,
            ipv6: false,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(unix)]
            unix: None,
        }
    }

    /// A server with the demo catalogue.
    pub fn demo() -> Self {
        Self::builder().demo().start()
    }

    /// Its address on 127.0.0.1.
    pub fn addr(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tcp(address) if address.is_ipv4() => Some(*address),
            _ => None,
        })
    }

    /// Its address on `[::1]`.
    ///
    /// # Panics
    /// If it was not started with [`TestServerBuilder::ipv6`].
    pub fn addr_v6(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tcp(address) if address.is_ipv6() => Some(*address),
            _ => None,
        })
    }

    /// Its address on 127.0.0.1 for TLS.
    ///
    /// # Panics
    /// If it was not started with [`TestServerBuilder::tls`].
    #[cfg(feature = "tls")]
    pub fn addr_tls(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tls(address) => Some(*address),
            _ => None,
        })
    }

    /// A retrieval URL of the server: `url("books?pg1342")` is `z39.50r://127.0.0.1:PORT/books?pg1342`.
    pub fn url(&self, rest: &str) -> String {
        format!("z39.50r://{}/{}", self.addr(), rest.trim_start_matches('/'))
    }

    /// A session URL of the server: `session_url("books")` is `z39.50s://127.0.0.1:PORT/books`.
    pub fn session_url(&self, rest: &str) -> String {
        format!("z39.50s://{}/{}", self.addr(), rest.trim_start_matches('/'))
    }

    /// A URL of SRU: `http_url("books")` is `http://127.0.0.1:PORT/books`.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::net::TcpStream;
    ///
    /// use z3950_server::testing::{TestServer, record};
    ///
    /// let server = TestServer::builder().database("cat", [record("id7", "Emma")]).start();
    /// assert_eq!(server.http_url("cat"), format!("http://{}/cat", server.addr()));
    /// // … have a client of SRU talk to it; here, by hand …
    /// let mut stream = TcpStream::connect(server.addr())?;
    /// stream.write_all(b"GET /cat?query=emma HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    /// let mut answer = String::new();
    /// stream.read_to_string(&mut answer)?;
    /// assert!(answer.contains("<zs:numberOfRecords>1</zs:numberOfRecords>"), "{answer}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "sru")]
    pub fn http_url(&self, rest: &str) -> String {
        format!("http://{}/{}", self.addr(), rest.trim_start_matches('/'))
    }

    /// The APDUs of all sessions so far, in order for each session.
    pub fn transcript(&self) -> Vec<TranscriptEntry> {
        lock(&self.recorder.state).entries.clone()
    }

    /// The names of the APDUs so far: `["initRequest", "initResponse", …]`.
    pub fn names(&self) -> Vec<&'static str> {
        self.transcript()
            .iter()
            .map(TranscriptEntry::name)
            .collect()
    }

    /// The conversations so far, to write to a file or to replay with [`TestServerBuilder::replay`].
    pub fn recording(&self) -> Recording {
        let state = lock(&self.recorder.state);
        Recording {
            entries: state.entries.clone(),
            messages: state.messages.clone(),
        }
    }

    /// The messages of HTTP of all sessions so far, in order for each session.
    pub fn http_messages(&self) -> Vec<HttpEntry> {
        lock(&self.recorder.state).messages.clone()
    }

    /// The number of connections accepted so far.
    pub fn sessions(&self) -> u64 {
        lock(&self.recorder.state).opened
    }

    /// Waits until the condition holds for the transcript, and returns it.
    ///
    /// # Panics
    /// If it does not hold within 10 seconds.
    pub fn wait_until(
        &self,
        condition: impl Fn(&[TranscriptEntry]) -> bool,
    ) -> Vec<TranscriptEntry> {
        let holds = |state: &RecorderState| condition(&state.entries);
        let found = self.recorder.wait(PATIENCE, holds);
        found.unwrap_or_else(|| panic!("condition never held; so far: {:#?}", self.transcript()))
    }

    /// Waits until at least one connection was accepted and all have ended, and returns the transcript.
    ///
    /// # Panics
    /// If one is still open after 10 seconds.
    pub fn wait_for_end(&self) -> Vec<TranscriptEntry> {
        let is_over = |state: &RecorderState| state.opened > 0 && state.opened == state.closed;
        let found = self.recorder.wait(PATIENCE, is_over);
        found.unwrap_or_else(|| panic!("a session is still open: {:#?}", self.transcript()))
    }

    /// Stops the server and returns its totals. Panics of sessions are reported there, and do not fail the test.
    pub fn stop(mut self) -> Summary {
        self.stopped()
            .unwrap_or_else(|| panic!("the server does not stop"))
    }

    fn address(&self, is: impl Fn(&Endpoint) -> Option<SocketAddr>) -> SocketAddr {
        let address = self.endpoints.iter().find_map(is);
        address.unwrap_or_else(|| panic!("the server has no such listener: {:?}", self.endpoints))
    }

    fn stopped(&mut self) -> Option<Summary> {
        drop(self.stop.take()?);
        self.summary.recv_timeout(PATIENCE).ok()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if self.stop.is_none() {
            return;
        }
        let summary = self.stopped();
        if thread::panicking() {
            return;
        }
        match summary {
            Some(Summary { panics: 0, .. }) => {}
            Some(Summary {
                panics,
                first_panic,
                ..
            }) => {
                panic!(
                    "{panics} sessions panicked, first: {}",
                    first_panic.unwrap_or_default()
                )
            }
            None => panic!("the server does not stop"),
        }
    }
}

/// The settings of a [`TestServer`].
pub struct TestServerBuilder {
    databases: MemoryBackendBuilder,
    backend: Option<Arc<dyn Backend>>,
    offer: Offer,
    access: Access,
    imitated: Option<Imitated>,
    replayed: Option<Replay>,
    recorded: Option<Arc<dyn RecordedServer>>,
    limits: Limits,
    faults: Faults,
    #[cfg(feature = "sru")]
    web: Option<Arc<dyn Web>>,
    ipv6: bool,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
    #[cfg(unix)]
    unix: Option<PathBuf>,
}

impl TestServerBuilder {
    /// Adds a database, or records to it.
    ///
    /// # Panics
    /// If a record has no ISO 2709 form.
    pub fn database(self, name: &str, records: impl IntoIterator<Item = MarcRecord>) -> Self {
        let databases = self.databases.add_records(name, records);
        let databases = databases.unwrap_or_else(|note| panic!("database {name}: {note}"));
        Self { databases, ..self }
    }

    /// Where docids are in the records of the databases added; by default in 001.
    pub fn docid(mut self, field: DocidField) -> Self {
        self.databases = self.databases.docid(field);
        self
    }

    /// The attributes that the databases added support.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.databases = self.databases.profile(profile);
        self
    }

    /// What Init offers.
    pub fn offer(self, offer: Offer) -> Self {
        Self { offer, ..self }
    }

    /// Who may open a session, and what users may do.
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Imitates another server, with its databases instead of those added.
    pub fn imitate(mut self, imitated: Imitated) -> Self {
        self.imitated = Some(imitated);
        self
    }

    /// Replays recorded conversations instead of searching databases: a request gets the answer of the same recorded request,
    /// or a diagnostic if there is none.
    pub fn replay(mut self, recording: Recording) -> Self {
        self.replayed = Some(Replay::new(&recording, false));
        self
    }

    /// [`TestServerBuilder::replay`], but a request that was not recorded gets the next answer to a request of its kind.
    pub fn replay_in_order(mut self, recording: Recording) -> Self {
        self.replayed = Some(Replay::new(&recording, true));
        self
    }

    /// Passes what clients send on to another server, and its answers back, instead of searching databases. The transcript has
    /// what both say.
    ///
    /// ```
    /// use z3950_server::recorded::RecordedHost;
    /// use z3950_server::testing::TestServer;
    ///
    /// let library = TestServer::demo();
    /// let between = TestServer::builder()
    ///     .passing_to(RecordedHost(library.addr().to_string()))
    ///     .rule("on search nth=2: delay 500ms")
    ///     .start();
    /// // … have a client talk to `between` …
    /// assert!(between.names().is_empty());
    /// ```
    pub fn passing_to(mut self, server: impl RecordedServer + 'static) -> Self {
        self.recorded = Some(Arc::new(server));
        self
    }

    /// Serves the demo catalogue instead of the databases added.
    pub fn demo(self) -> Self {
        self.backend(Arc::new(MemoryBackend::demo()))
    }

    /// Serves another backend instead of the databases added.
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Sets all limits. By default a test server drains faster than with [`Limits::default`].
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Changes some limits.
    pub fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Adds a fault.
    pub fn fault(mut self, when: When, fault: Fault) -> Self {
        self.faults = self.faults.on(when, fault);
        self
    }

    /// Adds a fault by a rule: `on search nth=2: delay 500ms`.
    ///
    /// # Panics
    /// If the rule is invalid.
    pub fn rule(self, rule: &str) -> Self {
        let rule = rule
            .parse()
            .unwrap_or_else(|error| panic!("{rule}: {error}"));
        Self {
            faults: self.faults.with(rule),
            ..self
        }
    }

    /// Sets all faults.
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Listens on `[::1]` as well.
    pub fn ipv6(self) -> Self {
        Self { ipv6: true, ..self }
    }

    /// Listens for TLS as well, on another port.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Listens on a Unix socket as well.
    #[cfg(unix)]
    pub fn unix(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix = Some(path.into());
        self
    }

    /// Has requests of HTTP that are not SRU's answered by `web`.
    #[cfg(feature = "sru")]
    pub fn web(self, web: Arc<dyn Web>) -> Self {
        Self {
            web: Some(web),
            ..self
        }
    }

    /// Starts the server, which accepts connections when this returns.
    ///
    /// # Panics
    /// If no thread can be started, or no port bound.
    pub fn start(self) -> TestServer {
        let limits = self.limits;
        let target = match (self.imitated, self.backend) {
            (Some(imitated), _) => imitated.target(limits),
            (None, Some(backend)) => Target::new(backend, limits),
            (None, None) => Target::new(Arc::new(self.databases.build()), limits),
        };
        let target = target.with_offer(self.offer).with_access(self.access);
        let habits = self.imitated.map(Imitated::faults).unwrap_or_default();
        let faults = habits.and(self.faults);
        let recorder = Arc::new(Recorder::default());
        let observer = Arc::clone(&recorder);
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell_endpoints, endpoints) = mpsc::channel();
        let (tell_summary, summary) = mpsc::channel();
        let serve = async move {
            let mut server = Server::new(target)
                .and_bind((Ipv4Addr::LOCALHOST, 0))
                .await?;
            if self.ipv6 {
                server = server.and_bind((Ipv6Addr::LOCALHOST, 0)).await?;
            }
            #[cfg(feature = "tls")]
            if let Some(tls) = self.tls {
                server = server.and_bind_tls((Ipv4Addr::LOCALHOST, 0), tls).await?;
            }
            #[cfg(unix)]
            if let Some(path) = self.unix {
                server = server.and_bind_unix(path).await?;
            }
            let server = server.replaying(self.replayed).with_faults(faults);
            let server = server.with_observer(observer);
            let server = match self.recorded {
                Some(recorded) => server.with_recorded(recorded),
                None => server,
            };
            #[cfg(feature = "sru")]
            let server = match self.web {
                Some(web) => server.with_web(web),
                None => server,
            };
            // The receiver only disappears with the test.
            let _ = tell_endpoints.send(server.endpoints());
            let summary = server.run(async { drop(stopped.await) }).await;
            let _ = tell_summary.send(summary);
            std::io::Result::Ok(())
        };
        let run = || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build()?.block_on(serve)
        };
        let thread = thread::Builder::new()
            .name("test server".to_owned())
            .spawn(run);
        let thread = thread.unwrap_or_else(|error| panic!("no thread for the server: {error}"));
        match endpoints.recv() {
            Ok(endpoints) => TestServer {
                endpoints,
                recorder,
                stop: Some(stop),
                summary,
            },
            Err(_) => panic!("the server does not start: {:?}", thread.join()),
        }
    }
}

/// A small MARC 21 record: a control number and a title.
pub fn record(docid: &str, title: &str) -> MarcRecord {
    let fields = vec![
        Field::control(b"001", docid.to_owned()),
        Field::data(b"245", "00", [("a", title)]),
    ];
    MarcRecord {
        fields,
        ..MarcRecord::default()
    }
}

#[cfg(test)]
mod tests;
