//! A server for tests, which listens on a free loopback port, runs in its own thread, and keeps a transcript of its sessions.
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

mod builder;
mod draft;
mod recorder;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use z3950_marc::{Field, MarcRecord};

pub use self::builder::TestServerBuilder;
use self::draft::RecordingDraft;
use self::recorder::{Recorder, RecorderState};
use crate::fault::Faults;
use crate::listener::{Endpoint, Summary};
use crate::lock::lock;
use crate::recorded::RecordedHost;
pub use crate::transcript::{Direction, HttpEntry, TranscriptEntry};
use crate::transcript::{Recording, Replay, ReplayError};

/// The maximum time for which a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server, which several threads may share. Dropping it stops the server, and fails the test if a backend or a session
/// panicked. Fault rules that have not struck any request are then reported on standard error, because the test has not exercised
/// what it was meant to.
pub struct TestServer {
    endpoints: Vec<Endpoint>,
    recorder: Arc<Recorder>,
    stop: Option<oneshot::Sender<()>>,
    summary: Mutex<mpsc::Receiver<Summary>>,
    faults: Arc<Faults>,
    /// The number of rules at the beginning of `faults` that come from the imitated server and not from the test.
    habits: usize,
    /// The recording that the server writes; `None` if it does not record.
    draft: Option<RecordingDraft>,
    /// Whether the unfired rules have been returned to the caller, so that they are not printed.
    is_reported: bool,
}

/// The report on a server that has stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The totals of the server, or the reason why a new recording was not made; see [`TestServer::recorded`].
    pub summary: io::Result<Summary>,
    /// The APDUs of all sessions. The APDUs of each session are in order.
    pub transcript: Vec<TranscriptEntry>,
    /// The text of the fault rules that have not struck any request.
    pub unfired_rules: Vec<String>,
}

impl TestServer {
    /// Returns a builder for a server with default settings.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::new()
    }

    /// Starts a server with the demo catalogue.
    pub fn demo() -> Self {
        Self::builder().demo().start()
    }

    /// Starts a server that replays the recording in a file. If the environment variable `Z3950_RECORD` names a server, the
    /// conversations of clients with that server are recorded in the file instead.
    ///
    /// The variable is `HOST:PORT`. A new recording replaces the file when the server stops; until then it is in `FILE.part`. The
    /// file is not changed, and `FILE.part` is removed, if the test failed, if the recording could not be written completely, if
    /// a session did not reach the other server, or if there were no sessions. A symbolic link is followed; devices and pipes are
    /// refused.
    ///
    /// ```no_run
    /// use z3950_server::testing::TestServer;
    ///
    /// let library = TestServer::recorded("tests/said.jsonl");
    /// // … have a client talk to it …
    /// assert!(library.not_recorded().is_empty());
    /// ```
    ///
    /// # Panics
    /// If the file cannot be read or written. If no new recording was made, stopping or dropping the server panics.
    pub fn recorded(path: impl AsRef<Path>) -> Self {
        Self::try_recorded(path).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a server like [`TestServer::recorded`], but returns an error if the file cannot be read or written.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the file is not a recording; the operating system error if the file cannot be read or
    /// written.
    pub fn try_recorded(path: impl AsRef<Path>) -> io::Result<Self> {
        let server = std::env::var("Z3950_RECORD").ok();
        Self::recorded_from(path.as_ref(), server.filter(|server| !server.is_empty()))
    }

    /// Starts a server that records conversations with the given server; with `None`, starts a server that replays the recording.
    fn recorded_from(path: &Path, server: Option<String>) -> io::Result<Self> {
        let builder = Self::builder();
        let builder = match server {
            Some(server) => {
                let draft = RecordingDraft::begin(path, &server)?;
                builder.passing_to(RecordedHost(server)).drafting(draft)
            }
            None => {
                let replay = Replay::open(path).map_err(|error| {
                    let kind = match &error {
                        ReplayError::Io(error) => error.kind(),
                        _ => io::ErrorKind::InvalidData,
                    };
                    let path = path.display();
                    let hint = "Z3950_RECORD=HOST:PORT records it";
                    io::Error::new(kind, format!("cannot replay {path}: {error} ({hint})"))
                })?;
                builder.replay(replay)
            }
        };
        Ok(builder.start())
    }

    /// Returns the server's address on 127.0.0.1.
    pub fn addr(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tcp(address) if address.is_ipv4() => Some(*address),
            _ => None,
        })
    }

    /// Returns the server's address on `[::1]`.
    ///
    /// # Panics
    /// If the server was not started with [`TestServerBuilder::ipv6`].
    pub fn addr_v6(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tcp(address) if address.is_ipv6() => Some(*address),
            _ => None,
        })
    }

    /// Returns the server's address on 127.0.0.1 for TLS.
    ///
    /// # Panics
    /// If the server was not started with [`TestServerBuilder::tls`].
    #[cfg(feature = "tls")]
    pub fn addr_tls(&self) -> SocketAddr {
        self.address(|endpoint| match endpoint {
            Endpoint::Tls(address) => Some(*address),
            _ => None,
        })
    }

    /// Returns a retrieval URL of the server: `url("books?pg1342")` is `z39.50r://127.0.0.1:PORT/books?pg1342`.
    pub fn url(&self, rest: &str) -> String {
        format!("z39.50r://{}/{}", self.addr(), rest.trim_start_matches('/'))
    }

    /// Returns a session URL of the server: `session_url("books")` is `z39.50s://127.0.0.1:PORT/books`.
    pub fn session_url(&self, rest: &str) -> String {
        format!("z39.50s://{}/{}", self.addr(), rest.trim_start_matches('/'))
    }

    /// Returns an SRU URL of the server: `http_url("books")` is `http://127.0.0.1:PORT/books`.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::net::TcpStream;
    ///
    /// use z3950_server::testing::{TestServer, record};
    ///
    /// let server = TestServer::builder().database("cat", [record("id7", "Emma")]).start();
    /// assert_eq!(server.http_url("cat"), format!("http://{}/cat", server.addr()));
    /// // … have an SRU client talk to it; in this example, by hand …
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

    /// Returns the APDUs of all sessions so far. The APDUs of each session are in order.
    pub fn transcript(&self) -> Vec<TranscriptEntry> {
        lock(&self.recorder.state).entries.clone()
    }

    /// Returns the names of the APDUs so far: `["initRequest", "initResponse", …]`.
    pub fn names(&self) -> Vec<&'static str> {
        self.transcript()
            .iter()
            .map(TranscriptEntry::name)
            .collect()
    }

    /// Returns the conversations so far, which can be written to a file or replayed with [`TestServerBuilder::replay`].
    pub fn recording(&self) -> Recording {
        let state = lock(&self.recorder.state);
        Recording {
            entries: state.entries.clone(),
            messages: state.messages.clone(),
        }
    }

    /// Returns the HTTP messages of all sessions so far. The messages of each session are in order.
    pub fn http_messages(&self) -> Vec<HttpEntry> {
        lock(&self.recorder.state).messages.clone()
    }

    /// Returns the requests that a replay could not answer so far. If a request was repeated, it is included once.
    pub fn not_recorded(&self) -> Vec<TranscriptEntry> {
        lock(&self.recorder.state).not_recorded.clone()
    }

    /// Returns the text of the fault rules that have not struck any request so far.
    ///
    /// ```
    /// use z3950_server::testing::TestServer;
    ///
    /// let server = TestServer::builder().demo().rule("on search nth=2: fail 2").start();
    /// // … have a client talk to it, which gives up after the first search …
    /// assert_eq!(server.unfired_rules(), ["on search nth=2: fail 2"]);
    /// ```
    pub fn unfired_rules(&self) -> Vec<String> {
        let rules = self.faults.unfired();
        let own = rules.filter(|(number, _)| *number >= self.habits);
        own.map(|(_, rule)| rule.to_string()).collect()
    }

    /// Returns the number of connections accepted so far.
    pub fn sessions(&self) -> u64 {
        lock(&self.recorder.state).opened
    }

    /// Waits until the condition holds for the transcript, and returns the transcript.
    ///
    /// # Panics
    /// If the condition does not hold within 30 seconds.
    pub fn wait_until(
        &self,
        condition: impl Fn(&[TranscriptEntry]) -> bool,
    ) -> Vec<TranscriptEntry> {
        let found = self.wait_at_most(PATIENCE, condition);
        found.unwrap_or_else(|| panic!("condition never held; so far: {:#?}", self.transcript()))
    }

    /// Waits until the condition holds for the transcript, and returns the transcript; returns `None` if the condition does not
    /// hold in time.
    pub fn wait_at_most(
        &self,
        limit: Duration,
        condition: impl Fn(&[TranscriptEntry]) -> bool,
    ) -> Option<Vec<TranscriptEntry>> {
        let holds = |state: &RecorderState| condition(&state.entries);
        self.recorder.wait(limit, holds)
    }

    /// Waits until at least one connection has been accepted and all connections have ended, and returns the transcript.
    ///
    /// # Panics
    /// If a connection is still open after 30 seconds.
    pub fn wait_for_end(&self) -> Vec<TranscriptEntry> {
        let is_over = |state: &RecorderState| state.opened > 0 && state.opened == state.closed;
        let found = self.recorder.wait(PATIENCE, is_over);
        found.unwrap_or_else(|| panic!("a session is still open: {:#?}", self.transcript()))
    }

    /// Stops the server and returns its totals. Panics in sessions are reported in the totals and do not fail the test.
    ///
    /// # Panics
    /// If a new recording should have been made but was not; see [`TestServer::recorded`].
    pub fn stop(self) -> Summary {
        self.try_stop().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Stops the server like [`TestServer::stop`], but returns an error instead of panicking.
    ///
    /// # Errors
    /// A new recording should have been made but was not; see [`TestServer::recorded`].
    pub fn try_stop(mut self) -> io::Result<Summary> {
        self.end()
    }

    /// Stops the server like [`TestServer::try_stop`], and also returns all APDUs of all sessions, and the rules that have not
    /// struck any request, which are then not reported on standard error.
    pub fn stop_and_report(mut self) -> Report {
        let summary = self.end();
        self.is_reported = true;
        Report {
            summary,
            transcript: self.transcript(),
            unfired_rules: self.unfired_rules(),
        }
    }

    fn end(&mut self) -> io::Result<Summary> {
        let summary = self
            .stopped()
            .unwrap_or_else(|| panic!("the server does not stop"));
        let finished = self.draft.take().map_or(Ok(()), RecordingDraft::finish);
        finished.map(|()| summary)
    }

    fn address(&self, is: impl Fn(&Endpoint) -> Option<SocketAddr>) -> SocketAddr {
        let address = self.endpoints.iter().find_map(is);
        address.unwrap_or_else(|| panic!("the server has no such listener: {:?}", self.endpoints))
    }

    fn stopped(&mut self) -> Option<Summary> {
        drop(self.stop.take()?);
        lock(&self.summary).recv_timeout(PATIENCE).ok()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let summary = self.stop.is_some().then(|| self.stopped());
        if thread::panicking() {
            return;
        }
        let unfired = self.unfired_rules();
        for rule in unfired.iter().filter(|_| !self.is_reported) {
            // Write past the output capture of the test harness, which hides the output of passing tests; a failed write does
            // not matter.
            let _ = writeln!(
                io::stderr(),
                "warning: the rule `{rule}` of a test server never fired"
            );
        }
        let Some(summary) = summary else {
            return;
        };
        match summary {
            Some(Summary { panics: 0, .. }) => {
                let finished = self.draft.take().map_or(Ok(()), RecordingDraft::finish);
                finished.unwrap_or_else(|error| panic!("{error}"));
            }
            Some(Summary {
                panics,
                first_panic,
                ..
            }) => {
                panic!(
                    "{panics} sessions panicked; the first: {}",
                    first_panic.unwrap_or_default()
                )
            }
            None => panic!("the server does not stop"),
        }
    }
}

/// Creates a small MARC 21 record with a control number and a title.
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
