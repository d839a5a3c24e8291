//! From the text of a target to an open session: its profile, its ways and its credentials.

use std::ffi::OsStr;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use z3950::Lease;
use z3950::client::{Client, ClientOptions};
use z3950::error::{Cause, Error, Phase, ProtocolFault};
use z3950::pager::PagerOptions;
use z3950::profile::{Profiles, Resolved};
use z3950::retrieve::{Outcome, OutcomeName};
use z3950::service::init::InitOptions;
use z3950::service::search::SearchOptions;
use z3950::session::{Reconnect, Session, SessionOptions};
use z3950::target::{Endpoint, redacted};
use z3950::url::Host;
use z3950_asn1::apdu::{DatabaseName, External, RpnQuery};
use z3950_asn1::query::Dialects;
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::Charset;

use crate::args::{Asked, Connection};
use crate::commands::connection::{self, Setup};
use crate::commands::seen::Seen;
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report::explain;
use crate::render::shown;

/// What it takes to get from a target to a session.
#[derive(Clone)]
pub(crate) struct Reach {
    client: Client,
    /// That of the prompt: what is asked is asked there.
    open: Option<OpenSession>,
    /// The tables by which queries are read.
    dialects: Dialects,
    /// The options given that only TLS uses.
    of_tls: Vec<&'static str>,
}

/// What a command asks of a target; the same on the command line and at the prompt.
pub(crate) trait Service: Args {
    /// Whether it leaves a result set that the prompt goes on with.
    const MAKES_SET: bool = false;

    /// What to say where it is interrupted.
    const INTERRUPTED: &str = "interrupted";

    /// Carries it out, and says what came of it.
    ///
    /// # Errors
    /// A fault of the machine, and arguments that do not go together.
    fn perform(
        &self,
        reach: &Reach,
        place: &Place,
        output: &mut Output,
    ) -> impl Future<Output = Result<Exit, Failure>>;
}

/// A session that is open already, and what was found in it.
#[derive(Clone)]
pub(crate) struct OpenSession {
    session: Session,
    /// The name of the result set that a search makes.
    name: InternationalString,
    left: Arc<Mutex<Left>>,
    seen: Seen,
}

/// What a command has left in a session, even one that was broken off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Left {
    /// Whether it has sent a search, which takes the place of what had the name.
    pub(crate) has_searched: bool,
    pub(crate) made: Option<Made>,
}

/// A result set that a search has made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    /// `None` where the server does not know.
    pub(crate) hits: Option<u64>,
    /// The position after the last record shown.
    pub(crate) next: u64,
}

impl OpenSession {
    /// A session in which searches make result sets of that name.
    pub(crate) fn new(session: Session, name: &str, seen: Seen) -> Self {
        Self {
            session,
            name: name.into(),
            left: Arc::default(),
            seen,
        }
    }

    /// What the command has left until now.
    pub(crate) fn left(&self) -> Left {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session for one user.
pub(crate) enum Borrowed {
    /// From the client's pool.
    Lease(Box<Lease>),
    /// That of the prompt, which opens it anew by itself.
    Open(Session),
}

/// A target of the command line.
#[derive(Clone)]
pub(crate) struct Place {
    /// As it was written, but for user and password.
    pub(crate) text: String,
    /// What it means.
    pub(crate) resolved: Resolved,
    /// What may be meant by the text where no server has that name.
    pub(crate) hint: Option<String>,
}

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// The server's character set cannot write the query.
    Query(String),
    /// What the server said, or what came in the way.
    Session(Error),
    /// The server's name has no address; and what may have been meant.
    Unresolved(Error, String),
}

impl Reach {
    /// Reads the options, the profiles and the environment.
    pub(crate) async fn new(connection: &Connection) -> Result<Self, Failure> {
        let setup = Setup::read(connection).await?;
        let mut options = ClientOptions::default().with_timeouts(setup.timeouts);
        options.plan.init = setup.init;
        let client = Client::with_routes(options, setup.routes);
        Ok(Self {
            client: client.with_profiles(setup.profiles),
            open: None,
            dialects: Dialects::default(),
            of_tls: connection::of_tls(&connection.network),
        })
    }

    /// To the session of the prompt alone.
    pub(crate) fn open(client: Client, session: OpenSession, dialects: Dialects) -> Self {
        Self {
            client,
            open: Some(session),
            dialects,
            of_tls: Vec::new(),
        }
    }

    /// The name that searches give to what they find; `None` for the default.
    pub(crate) fn result_set(&self) -> Option<&InternationalString> {
        self.open.as_ref().map(|open| &open.name)
    }

    /// Notes what a search has made, for the one who goes on with it.
    pub(crate) fn note(&self, made: Made) {
        if let Some(open) = &self.open {
            open.lock().made = Some(made);
        }
    }

    /// Notes that a search is about to be sent.
    pub(crate) fn note_search(&self) {
        if let Some(open) = &self.open {
            open.lock().has_searched = true;
        }
    }

    /// Takes note of a record that is shown.
    ///
    /// # Errors
    /// Words about the file that records are appended to.
    pub(crate) fn show(&self, record: &External) -> Result<(), String> {
        match &self.open {
            Some(open) => open.seen.take(record),
            None => Ok(()),
        }
    }

    /// The tables by which queries are read.
    pub(crate) fn dialects(&self) -> &Dialects {
        &self.dialects
    }

    /// What a target means; says why if it is none. `databases` replace those it names.
    pub(crate) fn place(
        &self,
        text: &OsStr,
        databases: &[String],
        output: &Output,
    ) -> Option<Place> {
        let text = shown(text.as_encoded_bytes());
        let mut resolved = match self.client.profiles().resolve(&text) {
            Ok(resolved) => resolved,
            Err(error) => {
                output.error(&crate::console::report::chain(&error));
                return None;
            }
        };
        if !databases.is_empty() {
            let names = databases.iter().map(String::as_str);
            resolved.databases = names.map(DatabaseName::from).collect();
        }
        resolved.databases = resolved.databases();
        if !matches!(resolved.endpoint, Endpoint::Tls(..)) && !self.of_tls.is_empty() {
            output.warning(&format!(
                "{}: the connection is without TLS, so that {} has no effect; ssl: before the host asks for TLS",
                redacted(&text),
                self.of_tls.join(" and ")
            ));
        }
        Some(Place {
            text: redacted(&text),
            resolved,
            hint: None,
        })
    }

    /// What is said at Init, but for what profiles add.
    pub(crate) fn init(&self) -> &InitOptions {
        &self.client.options().plan.init
    }

    /// Opens a session there, unless one is open; see [`leave`](Self::leave).
    pub(crate) async fn session(&self, place: &Place) -> Result<Session, Unanswered> {
        match &self.open {
            Some(open) => Ok(open.session.clone()),
            None => self.session_with(place, |_| {}).await,
        }
    }

    /// Closes a session that was opened for one command.
    pub(crate) async fn leave(&self, session: Session) {
        if self.open.is_none() {
            // What ended otherwise need not be closed.
            let _ = session.close().await;
        }
    }

    /// The same with options changed.
    pub(crate) async fn session_with(
        &self,
        place: &Place,
        change: impl FnOnce(&mut SessionOptions),
    ) -> Result<Session, Unanswered> {
        let mut options = self.options(place).await?;
        change(&mut options);
        let Resolved {
            endpoint, proxy, ..
        } = &place.resolved;
        let session = self.client.session(endpoint, proxy.as_deref(), &options);
        session.await.map_err(|error| self.unanswered(place, error))
    }

    /// Borrows a session there, within what the profile says that the server bears.
    pub(crate) async fn borrow(&self, place: &Place) -> Result<Borrowed, Unanswered> {
        if let Some(open) = &self.open {
            return Ok(Borrowed::Open(open.session.clone()));
        }
        let lease = self
            .client
            .lease_at(&place.resolved, self.init().clone())
            .await;
        let lease = lease.map_err(|error| self.unanswered(place, error))?;
        Ok(Borrowed::Lease(Box::new(lease)))
    }

    /// How to open sessions there. Who to be is what the options of the command say, else the profile.
    async fn options(&self, place: &Place) -> Result<SessionOptions, Unanswered> {
        let options = self
            .client
            .options_at(&place.resolved, self.init().clone())
            .await;
        Ok(options?)
    }

    fn unanswered(&self, place: &Place, error: Error) -> Unanswered {
        let hint = match is_unresolved(&error) {
            true => place
                .hint
                .clone()
                .or_else(|| did_you_mean(self.client.profiles(), &place.resolved.endpoint.host())),
            false => None,
        };
        match hint {
            Some(hint) => Unanswered::Unresolved(error, hint),
            None => error.into(),
        }
    }

    /// Whether a word looks like a target: a profile has its name, or it has what sets a host off from a word.
    pub(crate) fn is_target(&self, word: &str) -> bool {
        let has_mark = word.contains(['.', '/', ':']) && !word.contains(char::is_whitespace);
        let profiles = self.client.profiles();
        profiles.named(word).is_some() || (has_mark && profiles.resolve(word).is_ok())
    }

    /// Closes the sessions that nobody uses any more.
    pub(crate) async fn close(&self) {
        self.client.close_all().await;
    }
}

impl Borrowed {
    /// Makes a request that changes nothing. In a session that others may have used before, it is made again if the server
    /// has dropped that meanwhile.
    pub(crate) async fn read<T, F>(&mut self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match self {
            Self::Lease(lease) => lease.read(request).await,
            Self::Open(session) => request(session.clone()).await,
        }
    }

    /// What opens a session like this one, to go on in where this one is lost.
    pub(crate) fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Lease(lease) => Some(lease.reconnect()),
            Self::Open(_) => None,
        }
    }
}

/// Whether a server's name has no address.
pub(crate) fn is_unresolved(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Dns(_)
        }
    )
}

/// Names the profile that may have been meant by the name of a host.
pub(crate) fn did_you_mean(profiles: &Profiles, host: &Host) -> Option<String> {
    let (name, entry) = profiles.nearest(&host.to_string())?;
    Some(match &entry.profile.title {
        Some(title) => format!("did you mean {name} ({title})?"),
        None => format!("did you mean {name}?"),
    })
}

impl Place {
    /// Its databases as they are shown, joined by `+`.
    pub(crate) fn databases(&self) -> Vec<String> {
        let names = self.resolved.databases.iter();
        names.map(|name| shown(name.0.as_bytes())).collect()
    }

    /// How to search there for such records as are asked for, and how to have them presented.
    pub(crate) fn options(&self, asked: &Asked) -> (SearchOptions, PagerOptions) {
        let form = asked.form();
        (
            self.resolved.search_options(&form),
            self.resolved.pager_options(&form),
        )
    }

    /// The character set its records are in, if the command line or the profile knows.
    pub(crate) fn charset(&self, given: Option<Charset>) -> Option<Charset> {
        given.or(self.resolved.profile.record_charset)
    }

    /// The query as this server wants it: with the attributes of its profile, in its character set.
    ///
    /// # Errors
    /// A term that the character set cannot write.
    pub(crate) fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, Unanswered> {
        self.resolved.adapted(query).map_err(|error| {
            let words = crate::console::report::chain(&error);
            Unanswered::Query(words)
        })
    }
}

impl fmt::Display for Place {
    /// As it was written, and the server of one written as the name of a profile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.text.split('/').next().unwrap_or_default();
        let name = self.resolved.name.as_deref();
        match name.filter(|name| name.eq_ignore_ascii_case(written)) {
            Some(_) => write!(f, "{} ({})", self.text, self.resolved.endpoint),
            None => f.write_str(&self.text),
        }
    }
}

impl Unanswered {
    /// What it is in words, and the exit code for it.
    pub(crate) fn explain(&self) -> (Exit, String) {
        match self {
            Self::Query(reason) => (Exit::Usage, reason.clone()),
            Self::Session(error) => explain(error),
            Self::Unresolved(error, hint) => {
                let words = crate::console::report::chain(error);
                (Exit::Transport, format!("{words}; {hint}"))
            }
        }
    }
}

impl Envelope {
    /// An answer from a target, which has the key `target` beside those given.
    pub(crate) fn of(place: &Place, own: &[&str]) -> Self {
        let endpoint = &place.resolved.endpoint;
        let own = [&["target"], own].concat();
        Self::new(&endpoint.host(), endpoint.port(), place.databases(), &own)
            .with("target", place.text.as_str())
    }

    /// The same, with a failure as its outcome.
    pub(crate) fn failed(self, failure: &Unanswered) -> Self {
        let (_, message) = failure.explain();
        match failure {
            Unanswered::Query(_) => self.outcome(OutcomeName::NotSent, &message),
            Unanswered::Session(error) | Unanswered::Unresolved(error, _) => self
                .outcome(outcome_name(error), &message)
                .diagnosed(error.diagnostics()),
        }
    }
}

/// The name of the outcome that an error is.
fn outcome_name(error: &Error) -> OutcomeName {
    match error {
        Error::ProtocolError {
            fault: ProtocolFault::NotGranted(_),
            ..
        } => OutcomeName::NotGranted,
        Error::Refused {
            phase: Phase::ExtendedServices,
            ..
        } => OutcomeName::TaskFailed,
        Error::Credentials(_) => OutcomeName::NoCredentials,
        error => Outcome::from(error.clone()).name(),
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self::Session(error)
    }
}
