//! The builder of a test server.

use std::net::{Ipv4Addr, Ipv6Addr};
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use z3950_marc::MarcRecord;

use super::TestServer;
use super::draft::RecordingDraft;
use super::recorder::Recorder;
use crate::access::{Access, Authenticate};
use crate::backend::Backend;
use crate::fault::{Fault, Faults, When};
use crate::imitate::Imitated;
use crate::limits::Limits;
use crate::listener::Server;
use crate::memory::{DocidField, MemoryBackend, MemoryBackendBuilder, Profile};
use crate::observer::Observer;
use crate::offer::Offer;
use crate::recorded::RecordedServer;
use crate::target::Target;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::transcript::Replay;
#[cfg(feature = "sru")]
use crate::web::Web;

/// A builder for a [`TestServer`].
pub struct TestServerBuilder {
    databases: MemoryBackendBuilder,
    backend: Option<Arc<dyn Backend>>,
    offer: Offer,
    access: Access,
    authenticate: Option<Arc<dyn Authenticate>>,
    imitated: Option<Imitated>,
    replayed: Option<Replay>,
    recorded: Option<Arc<dyn RecordedServer>>,
    draft: Option<RecordingDraft>,
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
    /// Creates a builder for a server without databases and with default settings.
    pub(super) fn new() -> Self {
        Self {
            databases: MemoryBackend::builder(),
            backend: None,
            offer: Offer::default(),
            access: Access::default(),
            authenticate: None,
            imitated: None,
            replayed: None,
            recorded: None,
            draft: None,
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

    /// Adds a database with these records, or adds the records to a database that was added before.
    ///
    /// # Panics
    /// If a record cannot be written in ISO 2709.
    pub fn database(self, name: &str, records: impl IntoIterator<Item = MarcRecord>) -> Self {
        let databases = self
            .databases
            .add_records(name, records)
            .unwrap_or_else(|note| panic!("database {name}: {note}"));
        Self { databases, ..self }
    }

    /// Sets the docid field for the databases added; by default, 001.
    pub fn docid(mut self, field: DocidField) -> Self {
        self.databases = self.databases.docid(field);
        self
    }

    /// Sets the attributes that the databases added support.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.databases = self.databases.profile(profile);
        self
    }

    /// Sets the server's offer at Init.
    pub fn offer(self, offer: Offer) -> Self {
        Self { offer, ..self }
    }

    /// Sets the access control: the admission to sessions, and the rights of users.
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets the login check, which replaces the list in [`Access::users`].
    pub fn authenticate(mut self, authenticate: Arc<dyn Authenticate>) -> Self {
        self.authenticate = Some(authenticate);
        self
    }

    /// Imitates another server, with the databases of the imitation instead of the databases added.
    pub fn imitate(mut self, imitated: Imitated) -> Self {
        self.imitated = Some(imitated);
        self
    }

    /// Replays recorded conversations instead of searching databases: a request that was recorded gets the recorded answer, a
    /// Present gets the recorded records, and any other request gets a diagnostic. See also [`TestServer::not_recorded`].
    pub fn replay(mut self, replay: impl Into<Replay>) -> Self {
        self.replayed = Some(replay.into());
        self
    }

    /// Replays like [`TestServerBuilder::replay`], except that a request that was not recorded gets the answer to the next
    /// recorded request of the same kind.
    pub fn replay_in_order(self, replay: impl Into<Replay>) -> Self {
        self.replay(replay.into().in_order())
    }

    /// Passes requests on to another server and its answers back to the client, instead of searching databases. The transcript
    /// contains the requests and the answers.
    pub fn passing_to(mut self, server: impl RecordedServer + 'static) -> Self {
        self.recorded = Some(Arc::new(server));
        self
    }

    /// Also writes a recording to the given draft.
    pub(super) fn drafting(mut self, draft: RecordingDraft) -> Self {
        self.draft = Some(draft);
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

    /// Replaces all limits. By default, a test server shuts down faster than with [`Limits::default`].
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Changes limits with a function, such as `|limits| limits.sessions = 2`.
    pub fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Adds a fault that strikes the requests matched by `when`.
    pub fn fault(mut self, when: When, fault: Fault) -> Self {
        self.faults = self.faults.on(when, fault);
        self
    }

    /// Adds a fault that is given as the text of a rule, such as `on search nth=2: delay 500ms`.
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

    /// Replaces all faults.
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Also listens on `[::1]`.
    pub fn ipv6(self) -> Self {
        Self { ipv6: true, ..self }
    }

    /// Also listens for TLS, on another port.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Also listens on a Unix socket.
    #[cfg(unix)]
    pub fn unix(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix = Some(path.into());
        self
    }

    /// Sets the handler of HTTP requests other than SRU.
    #[cfg(feature = "sru")]
    pub fn web(self, web: Arc<dyn Web>) -> Self {
        Self {
            web: Some(web),
            ..self
        }
    }

    /// Starts the server, which already accepts connections when this function returns.
    ///
    /// # Panics
    /// If a thread cannot be started, or a port cannot be bound.
    pub fn start(self) -> TestServer {
        let limits = self.limits;
        let target = match (self.imitated, self.backend) {
            (Some(imitated), _) => imitated.target(limits),
            (None, Some(backend)) => Target::new(backend, limits),
            (None, None) => Target::new(Arc::new(self.databases.build()), limits),
        };
        let target = target.with_offer(self.offer).with_access(self.access);
        let target = match self.authenticate {
            Some(authenticate) => target.with_authenticate(authenticate),
            None => target,
        };
        let habits = self.imitated.map(Imitated::faults).unwrap_or_default();
        let habit_rules = habits.len();
        let faults = habits.and(self.faults);
        let recorder = Arc::new(Recorder::default());
        let mut observers: Vec<Arc<dyn Observer>> = vec![Arc::clone(&recorder) as _];
        observers.extend(self.draft.iter().flat_map(RecordingDraft::observers));
        let observer = Arc::new(observers);
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
            let server = server.with_faults(faults).with_observer(observer);
            let server = match self.replayed {
                Some(replay) => server.with_replay(replay),
                None => server,
            };
            let server = match self.recorded {
                Some(recorded) => server.with_recorded(recorded),
                None => server,
            };
            #[cfg(feature = "sru")]
            let server = match self.web {
                Some(web) => server.with_web(web),
                None => server,
            };
            // Sending fails only if the test has ended and dropped the receiver.
            let _ = tell_endpoints.send((server.endpoints(), server.handle().faults()));
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
            Ok((endpoints, faults)) => TestServer {
                endpoints,
                recorder,
                stop: Some(stop),
                summary: Mutex::new(summary),
                faults,
                habits: habit_rules,
                draft: self.draft,
                is_reported: false,
            },
            Err(_) => panic!("the server does not start: {:?}", thread.join()),
        }
    }
}
