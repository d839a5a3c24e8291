//! Opens a session with a target that the user names, after resolving its profile, routes and credentials.

mod named;
mod open_session;
mod service;

use std::ffi::OsStr;
use std::sync::Arc;

use z3950::client::{Client, ClientOptions};
use z3950::error::{Cause, Error, Phase};
use z3950::find::{Events, SearchTarget, Wanted};
use z3950::plan::id_pass;
use z3950::profile::Profiles;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::{Session, SessionOptions};
use z3950::target::{Endpoint, redacted};
use z3950::transport::Connect;
use z3950::url::Host;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest};
use z3950_asn1::query::Dialects;
use z3950_asn1::types::InternationalString;

pub(crate) use self::named::{NamedTarget, Unanswered, heading};
pub(crate) use self::open_session::{NewResultSet, OpenSession, Seen};
pub(crate) use self::service::{AtTarget, Service, run};
use crate::answer::{Answer, Ask, Envelope, Job, Piece, Recipient, Writing};
use crate::commands::connection::{self, ConnectionOptions, Setup};
use crate::console::exit::Exit;
use crate::console::logging::shows_apdus;
use crate::console::output::{Failure, Output};
use crate::console::pages::Pages;
use crate::render::shown;

/// The text at the end of `--help`, for commands that have targets and `--json`.
pub(crate) const TARGET: &str = "\
Targets:
  A target is the name of a profile (see `z3950 targets list`), host[:port], ssl:host[:port],
  unix:path, connect:proxy:port,target, or a URL; http://host/database is a server of SRU.
  /database or /database+database after a name or host selects databases (:database after a
  path); the default is the profile's, or Default.

Output of --json:
  One object per line. Every object of a command has the same keys, the first of which is v; keys
  without a value are null. outcome and message say how it ended, hits how many records match, and
  record has a record as --format json writes it.";

/// A client that opens sessions with targets.
#[derive(Clone)]
pub(crate) struct TargetClient {
    client: Client,
    /// The prompt's session, which is used in place of new sessions; `None` on the command line.
    open: Option<OpenSession>,
    /// The settings for parsing queries.
    pub(crate) dialects: Dialects,
    /// The given options that have no effect without TLS.
    of_tls: Vec<&'static str>,
    /// Whether the user name and password in a URL are sent.
    sends_url_credentials: bool,
    /// Whether the built-in catalogue answers in place of all targets.
    is_demo: bool,
}

impl TargetClient {
    /// Creates a client from the options, the profiles and the environment.
    pub(crate) async fn new(connection: &ConnectionOptions) -> Result<Self, Failure> {
        let setup = Setup::read(connection).await?;
        let mut options = ClientOptions::default().with_timeouts(setup.timeouts);
        options.plan.init = setup.init;
        options.awaits_close = shows_apdus();
        let client = Client::with_routes(options, setup.routes);
        Ok(Self {
            client: client.with_profiles(setup.profiles),
            open: None,
            dialects: Dialects::default(),
            of_tls: connection::of_tls(&connection.network),
            sends_url_credentials: connection.identity.allow_url_credentials,
            is_demo: connection.network.demo,
        })
    }

    /// Sets how many times a request is sent again if its session is lost.
    pub(crate) fn with_repeats(self, max_repeats: usize) -> Self {
        let mut options = self.client.options().clone();
        options.max_repeats = max_repeats;
        Self {
            client: self.client.with_options(options),
            ..self
        }
    }

    /// Creates a client from the options, and resolves a target with it.
    pub(crate) async fn to(
        target: &OsStr,
        databases: &[String],
        connection: &ConnectionOptions,
        output: &Output,
    ) -> Result<(Self, NamedTarget), Failure> {
        let reach = Self::new(connection).await?;
        let place = reach.place(target, databases, output)?;
        Ok((reach, place))
    }

    /// Creates a client that uses the prompt's session.
    pub(crate) fn open(client: Client, session: OpenSession, dialects: Dialects) -> Self {
        Self {
            client,
            open: Some(session),
            dialects,
            of_tls: Vec::new(),
            sends_url_credentials: false,
            is_demo: false,
        }
    }

    /// Returns the name for the result sets of searches; `None` for the default name.
    pub(crate) fn result_set(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.set.as_str())
    }

    /// Stores the result set that a search created, so that the prompt can use it.
    pub(crate) fn note(&self, set: NewResultSet) {
        if let Some(open) = &self.open {
            open.lock().new_set = Some(set);
        }
    }

    /// Answers the inputs of a job at the prompt, where the user reads records a page at a time. Returns the number of
    /// records shown if the user stops.
    pub(crate) async fn write_pages(
        &self,
        job: Job<impl AsyncFn(&Ask, &mut Recipient) -> Answer>,
        output: &mut Output,
    ) -> Result<(Exit, Option<u64>), Failure> {
        let reader = self.open.as_ref().and_then(|open| open.reader.clone());
        job.write(Pages::new(reader, output), output).await
    }

    /// Records that the user has seen the records before this position.
    pub(crate) fn note_seen(&self, next: u64) {
        if let Some(open) = &self.open
            && let Some(set) = &mut open.lock().new_set
        {
            set.next = next;
        }
    }

    /// Records that a search is about to be sent.
    pub(crate) fn note_search(&self) {
        if let Some(open) = &self.open {
            open.lock().has_searched = true;
        }
    }

    /// Formats a record from a result set, or the diagnostic in its place. Messages begin with `subject`, and refer to
    /// the record as `which`.
    pub(crate) fn write(
        &self,
        writing: &Writing,
        found: Answer,
        envelope: impl FnOnce() -> Envelope,
        slot: &ResultRecord,
        subject: &str,
        which: &str,
    ) -> (Piece, Answer) {
        let subject = format!("{subject}: {which}");
        let written = writing.slot(found, envelope, slot, &subject, which);
        match &self.open {
            Some(open) => open.seen.note(slot, written),
            None => written,
        }
    }

    /// Resolves a target. If `databases` are given, they replace the databases of the target.
    pub(crate) fn place(
        &self,
        text: &OsStr,
        databases: &[String],
        output: &Output,
    ) -> Result<NamedTarget, Failure> {
        let text = shown(text.as_encoded_bytes());
        let mut resolved = self
            .client
            .profiles()
            .resolve(&text)
            .map_err(|error| connection::usage(&error))?;
        let mut identity = resolved.userinfo.take().as_ref().map(id_pass);
        if identity.is_some() && !self.sends_url_credentials {
            output.warning(&format!("{}: {}", redacted(&text), connection::NOT_SENT));
            identity = None;
        }
        if !databases.is_empty() {
            let names = databases.iter().map(String::as_str);
            resolved.databases = names.map(DatabaseName::from).collect();
        }
        let names_databases = !resolved.databases.is_empty();
        resolved.databases = resolved.databases();
        let has_tls = matches!(resolved.endpoint, Endpoint::Tls(..) | Endpoint::Https(..));
        if !has_tls && !self.of_tls.is_empty() {
            let hint = if resolved.endpoint.is_sru() {
                "https: selects TLS"
            } else {
                "ssl: before the host selects TLS"
            };
            output.warning(&format!(
                "{}: the connection does not use TLS, so {} has no effect; {hint}",
                redacted(&text),
                self.of_tls.join(" and ")
            ));
        }
        connection::hide_waiting_line(&resolved.profile, output);
        Ok(NamedTarget {
            text: redacted(&text),
            resolved: Arc::new(resolved),
            names_databases,
            hint: None,
            identity,
            is_demo: self.is_demo,
        })
    }

    /// Returns the Init request, to which the profile has not added anything yet.
    pub(crate) fn init(&self, place: &NamedTarget) -> InitializeRequest {
        let mut init = self.client.options().plan.init.clone();
        if place.identity.is_some() {
            init.id_authentication.clone_from(&place.identity);
        }
        init
    }

    /// Opens a session with a target, or returns the prompt's session. The caller must pass the session to
    /// [`leave`](Self::leave) when it is done.
    pub(crate) async fn session(&self, place: &NamedTarget) -> Result<Session, Unanswered> {
        match &self.open {
            Some(open) => Ok(open.session.clone()),
            None => self.session_with(place, |_| {}).await,
        }
    }

    /// Closes a session, unless it is the prompt's session.
    pub(crate) async fn leave(&self, session: Session) {
        if self.open.is_none() {
            self.client.close(&session).await;
        }
    }

    /// Opens a session with the given options.
    pub(crate) async fn session_with(
        &self,
        place: &NamedTarget,
        change: impl FnOnce(&mut SessionOptions),
    ) -> Result<Session, Unanswered> {
        let mut options = self
            .client
            .options_at(&place.resolved, self.init(place))
            .await?;
        change(&mut options);
        let (endpoint, proxy) = (&place.resolved.endpoint, place.resolved.proxy.as_deref());
        let session = self.client.session(endpoint, proxy, &options);
        session.await.map_err(|error| self.unanswered(place, error))
    }

    /// Returns the connector to a target and the options of its sessions, for requests that are not made in a session.
    pub(crate) async fn connector(
        &self,
        place: &NamedTarget,
    ) -> Result<(Arc<dyn Connect>, SessionOptions), Unanswered> {
        let options = self
            .client
            .options_at(&place.resolved, self.init(place))
            .await?;
        let (endpoint, proxy) = (&place.resolved.endpoint, place.resolved.proxy.as_deref());
        Ok((self.client.connector(endpoint, proxy)?, options))
    }

    /// Searches for records at targets, or in the prompt's session. In the prompt's session, the result set is named
    /// `set`, or `default` if that is `None`.
    pub(crate) fn find<'a>(
        &self,
        places: impl IntoIterator<Item = &'a NamedTarget>,
        wanted: Wanted,
        set: Option<&str>,
    ) -> Events {
        let targets = places.into_iter().map(|named| {
            let mut target =
                SearchTarget::new(&named.text, Arc::clone(&named.resolved), self.init(named));
            let open = self.open.as_ref();
            let set = set.map_or_else(|| DEFAULT_RESULT_SET.into(), InternationalString::from);
            target.session = open.map(|open| (open.session.clone(), set));
            target
        });
        self.client.find(targets, wanted)
    }

    /// Returns an error as the reason why a request failed, with a hint if the host has no address.
    pub(crate) fn unanswered(&self, place: &NamedTarget, error: Error) -> Unanswered {
        let hint = if is_unresolved(&error) {
            place
                .hint
                .clone()
                .or_else(|| did_you_mean(self.client.profiles(), &place.resolved.endpoint.host()))
        } else {
            None
        };
        Unanswered { error, hint }
    }

    /// Returns whether a word looks like a target: it is the name of a profile, or has the punctuation of a host.
    pub(crate) fn is_target(&self, word: &str) -> bool {
        let has_mark = word.contains(['.', '/', ':']) && !word.contains(char::is_whitespace);
        let profiles = self.client.profiles();
        profiles.named(word).is_some() || (has_mark && profiles.resolve(word).is_ok())
    }

    /// Closes all unused sessions.
    pub(crate) async fn close(&self) {
        self.client.close_all().await;
    }
}

/// Returns whether the error means that the host name has no address.
pub(crate) fn is_unresolved(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Dns(_),
            ..
        }
    )
}

/// Suggests a profile whose name is similar to the name of the host.
pub(crate) fn did_you_mean(profiles: &Profiles, host: &Host) -> Option<String> {
    let (name, entry) = profiles.nearest(&host.to_string())?;
    Some(match &entry.profile.title {
        Some(title) => format!("did you mean {name} ({title})?"),
        None => format!("did you mean {name}?"),
    })
}
