//! From the name of a target to an open session: its profile, its routes and its credentials.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use z3950::SharedLease;
use z3950::client::{Client, ClientOptions};
use z3950::error::{Cause, Error, Phase};
use z3950::lookup::{Attempt, Identifier, LookupHits, LookupOptions, lookup, lookup_shared};
use z3950::pager::PagerOptions;
use z3950::plan::id_pass;
use z3950::profile::{Profiles, Resolved};
use z3950::retrieve::OutcomeName;
use z3950::service::search::SearchOptions;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::{Reconnect, Session, SessionOptions};
use z3950::target::{Endpoint, redacted};
use z3950::url::{self, Host, Mode, Z3950Url};
use z3950_asn1::apdu::{DatabaseName, IdAuthentication, InitializeRequest, RpnQuery};
use z3950_asn1::query::Dialects;
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::Charset;

use crate::answer::{Answer, Envelope, Job, Piece, Work, Writing};
use crate::commands::connection::{self, ConnectionOptions, Setup};
use crate::commands::options::RecordRequest;
use crate::commands::seen::Seen;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::logging::shows_apdus;
use crate::console::output::{Failure, Output, Words};
use crate::console::pages::{PageReader, Pages};
use crate::console::report::{chain, explain, outcome_name};
use crate::render::shown;

/// The end of `--help` for commands with targets and `--json`.
pub(crate) const TARGET: &str = "\
Targets:
  A target is the name of a profile (see `z3950 targets list`), host[:port], ssl:host[:port],
  unix:path, connect:proxy:port,target, or a URL. /database or /database+database after a name or
  host selects databases (:database after a path); the default is the profile's, or Default.

Output of --json:
  One object per line. Every object of a command has the same keys, the first of which is v; keys
  without a value are null. outcome and message say how it ended, hits how many records match, and
  record has a record as --format json writes it.";

/// Opens sessions with targets.
#[derive(Clone)]
pub(crate) struct TargetClient {
    client: Client,
    /// The session of the prompt, which is used instead of new ones.
    open: Option<OpenSession>,
    /// How queries are read.
    pub(crate) dialects: Dialects,
    /// The given options that have no effect without TLS.
    of_tls: Vec<&'static str>,
    /// Whether the user and password of a URL are sent.
    sends_url_credentials: bool,
    /// Whether the built-in catalogue answers for all targets.
    is_demo: bool,
}

/// A command for one target, the same on the command line and at the prompt.
pub(crate) trait Service: Args {
    /// Its name at the prompt.
    const NAME: &'static str;

    /// Its summary in the prompt's help.
    const SUMMARY: &'static str;

    /// Whether it makes a result set that the prompt continues to use.
    const MAKES_SET: bool = false;

    /// The message after an interruption, unless the reason for it is enough.
    const INTERRUPTED: Option<&'static str> = None;

    /// The databases given instead of the target's.
    fn databases(&self) -> &[String];

    /// Checks what needs neither target nor credentials, before a password command runs.
    ///
    /// # Errors
    /// Arguments that are wrong.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Carries out the command and writes its answer. Arguments are read before it connects.
    ///
    /// # Errors
    /// Errors on this machine, and arguments that are wrong or conflict.
    fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> impl Future<Output = Result<Exit, Failure>>;
}

/// A command of the command line.
#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct AtTarget<S: Args> {
    /// The target: the name of a profile, an address or a URL.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    #[command(flatten)]
    pub(crate) asked: S,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

impl<S: Service> AtTarget<S> {
    /// Reads the options and resolves the target.
    pub(crate) async fn reach(
        &self,
        output: &Output,
    ) -> Result<(TargetClient, NamedTarget), Failure> {
        let databases = self.asked.databases();
        TargetClient::to(&self.target, databases, &self.connection, output).await
    }
}

/// Runs a command of the command line at its target.
pub(crate) async fn run<S: Service>(
    arguments: &AtTarget<S>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asked = &arguments.asked;
    asked.check()?;
    let (reach, place) = arguments.reach(output).await?;
    let waiting = output.waiting();
    let performed = Interrupt.or(asked.perform(&reach, &place, output));
    match waiting.during(performed).await {
        Ok(exit) => exit,
        Err(Stopped(exit)) => {
            if let Some(words) = S::INTERRUPTED {
                output.error(words);
            }
            Ok(exit)
        }
    }
}

/// The open session of the prompt, as a command uses it.
#[derive(Clone)]
pub(crate) struct OpenSession {
    session: Session,
    /// The name for the result set of a search.
    pub(crate) set: String,
    left: Arc<Mutex<Left>>,
    seen: Seen,
    /// The user who reads pages.
    reader: Option<Arc<dyn PageReader>>,
}

/// What a command has changed in a session, even if it was interrupted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Left {
    /// Whether it has sent a search, which replaces the result set of that name.
    pub(crate) has_searched: bool,
    pub(crate) made: Option<Made>,
}

/// The result set of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    /// `None` if unknown to the server.
    pub(crate) hits: Option<u64>,
    /// The position after the last record shown.
    pub(crate) next: u64,
}

impl OpenSession {
    pub(crate) fn new(
        session: Session,
        set: String,
        seen: Seen,
        reader: Option<Arc<dyn PageReader>>,
    ) -> Self {
        Self {
            reader,
            session,
            set,
            left: Arc::default(),
            seen,
        }
    }

    /// What the command has changed so far.
    pub(crate) fn left(&self) -> Left {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session lent to one request at a time.
pub(crate) enum Borrowed {
    /// A place in a session of the client's pool.
    Shared(SharedLease),
    /// The prompt's session; the prompt itself reconnects.
    Open(Session),
}

/// A target of the command line.
#[derive(Clone)]
pub(crate) struct NamedTarget {
    /// As given, without user and password.
    pub(crate) text: String,
    pub(crate) resolved: Resolved,
    /// A hint for the message that the host has no address.
    pub(crate) hint: Option<String>,
    /// The user and password of its URL, if they are sent.
    pub(crate) identity: Option<IdAuthentication>,
    /// Whether the built-in catalogue answers for it.
    pub(crate) is_demo: bool,
}

/// Why a request has no answer.
pub(crate) struct Unanswered {
    pub(crate) error: Error,
    /// A hint for a host that has no address.
    pub(crate) hint: Option<String>,
}

impl TargetClient {
    /// Reads the options, the profiles and the environment.
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

    /// Reads the options and resolves a target.
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

    /// Uses the session of the prompt.
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

    /// The name for result sets of searches; `None` for the default.
    pub(crate) fn result_set(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.set.as_str())
    }

    /// Notes the result set of a search, for the prompt.
    pub(crate) fn note(&self, made: Made) {
        if let Some(open) = &self.open {
            open.lock().made = Some(made);
        }
    }

    /// Carries out a job at the prompt, whose user reads its records a page at a time. Returns how many were shown if the user
    /// wants no more.
    pub(crate) async fn write_pages<W: Work>(
        &self,
        job: Job<W>,
        output: &mut Output,
    ) -> Result<(Exit, Option<u64>), Failure> {
        let reader = self.open.as_ref().and_then(|open| open.reader.clone());
        job.write(Pages::new(reader, output), output).await
    }

    /// Notes that a user has seen the records before this position.
    pub(crate) fn note_seen(&self, next: u64) {
        if let Some(open) = &self.open
            && let Some(made) = &mut open.lock().made
        {
            made.next = next;
        }
    }

    /// Notes that a search is about to be sent.
    pub(crate) fn note_search(&self) {
        if let Some(open) = &self.open {
            open.lock().has_searched = true;
        }
    }

    /// Writes a record of a result set, or the diagnostic in its place. Messages name the record as `which`, after
    /// `subject`.
    pub(crate) fn write(
        &self,
        writing: &Writing,
        found: Answer,
        envelope: impl FnOnce() -> Envelope,
        slot: &ResultRecord,
        subject: &str,
        which: &str,
    ) -> (Piece, Answer) {
        let (external, substitute) = match slot {
            ResultRecord::Record {
                external,
                substitute,
                ..
            } => (external, substitute),
            ResultRecord::Diagnostic { diagnostic, .. } => {
                let refused = found
                    .ended(OutcomeName::RecordRefused)
                    .saying(format!("{which}: {diagnostic}"))
                    .diagnosed(std::slice::from_ref(diagnostic));
                return writing.end(refused, envelope, subject);
            }
        };
        let subject = format!("{subject}: {which}");
        let form = substitute.as_deref();
        let (mut piece, answer) =
            writing.record_in(form, found, envelope, external, &subject, which);
        if let Some(open) = &self.open
            && let Err(words) = open.seen.take(external)
        {
            piece.words.push(Words::Error(words));
        }
        (piece, answer)
    }

    /// Resolves a target. `databases` replace those of the target.
    pub(crate) fn place(
        &self,
        text: &OsStr,
        databases: &[String],
        output: &Output,
    ) -> Result<NamedTarget, Failure> {
        let text = shown(text.as_encoded_bytes());
        let resolved = self.client.profiles().resolve(&text);
        let mut resolved = resolved.map_err(|error| connection::usage(&error))?;
        let url = url::classify(&text).and_then(|_| Z3950Url::parse(&text, Mode::Lenient).ok());
        let mut identity = url.as_ref().and_then(Z3950Url::userinfo).map(id_pass);
        if identity.is_some() {
            // They replace those of the profile, even if they are not sent.
            resolved.profile.credentials = None;
            if !self.sends_url_credentials {
                output.warning(&format!("{}: {}", redacted(&text), connection::NOT_SENT));
                identity = None;
            }
        }
        if !databases.is_empty() {
            let names = databases.iter().map(String::as_str);
            resolved.databases = names.map(DatabaseName::from).collect();
        }
        resolved.databases = resolved.databases();
        if !matches!(resolved.endpoint, Endpoint::Tls(..)) && !self.of_tls.is_empty() {
            output.warning(&format!(
                "{}: the connection does not use TLS, so {} has no effect; ssl: before the host selects TLS",
                redacted(&text),
                self.of_tls.join(" and ")
            ));
        }
        connection::make_room(&resolved.profile, output);
        Ok(NamedTarget {
            text: redacted(&text),
            resolved,
            hint: None,
            identity,
            is_demo: self.is_demo,
        })
    }

    /// What Init sends, without what the profile adds.
    pub(crate) fn init(&self, place: &NamedTarget) -> InitializeRequest {
        let mut init = self.client.options().plan.init.clone();
        if place.identity.is_some() {
            init.id_authentication.clone_from(&place.identity);
        }
        init
    }

    /// Opens a session with a target, or returns the prompt's; see [`leave`](Self::leave).
    pub(crate) async fn session(&self, place: &NamedTarget) -> Result<Session, Unanswered> {
        match &self.open {
            Some(open) => Ok(open.session.clone()),
            None => self.session_with(place, |_| {}).await,
        }
    }

    /// Closes a session, unless it is the prompt's.
    pub(crate) async fn leave(&self, session: Session) {
        if self.open.is_none() {
            self.client.close(&session).await;
        }
    }

    /// Opens a session with changed options.
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

    /// Borrows a session from the pool, within the limits of the profile.
    pub(crate) async fn borrow(&self, place: &NamedTarget) -> Result<Borrowed, Unanswered> {
        if let Some(open) = &self.open {
            return Ok(Borrowed::Open(open.session.clone()));
        }
        let lease = self.client.share(&place.resolved, self.init(place)).await;
        let lease = lease.map_err(|error| self.unanswered(place, error))?;
        Ok(Borrowed::Shared(lease))
    }

    fn unanswered(&self, place: &NamedTarget, error: Error) -> Unanswered {
        let hint = match is_unresolved(&error) {
            true => place
                .hint
                .clone()
                .or_else(|| did_you_mean(self.client.profiles(), &place.resolved.endpoint.host())),
            false => None,
        };
        Unanswered { error, hint }
    }

    /// Whether a word looks like a target: it is the name of a profile, or has the punctuation of a host.
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

impl Borrowed {
    /// Makes a request that changes nothing. If the server has dropped a reused session, the request is repeated in a
    /// new one.
    pub(crate) async fn read<T, F>(&mut self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match self {
            Self::Shared(lease) => lease.read(request).await,
            Self::Open(session) => request(session.clone()).await,
        }
    }

    /// Looks up an identifier; see [`lookup_shared`].
    pub(crate) async fn lookup<'a>(
        &self,
        identifier: &Identifier,
        attempts: &'a [Attempt],
        options: &LookupOptions,
    ) -> Result<Option<LookupHits<'a>>, Error> {
        match self {
            Self::Shared(lease) => lookup_shared(lease, identifier, attempts, options).await,
            Self::Open(session) => lookup(session, attempts, options).await,
        }
    }

    /// The name for the result set of a lookup: that of the place in a shared session.
    pub(crate) fn own_set(&self) -> InternationalString {
        match self {
            Self::Shared(lease) => lease.result_set().clone(),
            Self::Open(_) => DEFAULT_RESULT_SET.into(),
        }
    }

    /// How to reconnect if the session is lost.
    pub(crate) fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Shared(lease) => Some(lease.reconnect()),
            Self::Open(_) => None,
        }
    }
}

/// Whether an error means that the host has no address.
pub(crate) fn is_unresolved(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Dns(_)
        }
    )
}

/// Suggests a profile with a name like that of the host.
pub(crate) fn did_you_mean(profiles: &Profiles, host: &Host) -> Option<String> {
    let (name, entry) = profiles.nearest(&host.to_string())?;
    Some(match &entry.profile.title {
        Some(title) => format!("did you mean {name} ({title})?"),
        None => format!("did you mean {name}?"),
    })
}

impl NamedTarget {
    /// The names of the databases.
    pub(crate) fn databases(&self) -> Vec<String> {
        let names = self.resolved.databases.iter();
        names.map(|name| shown(name.0.as_bytes())).collect()
    }

    /// How to search for the requested records, and how to present them.
    pub(crate) fn options(&self, asked: &RecordRequest) -> (SearchOptions, PagerOptions) {
        let form = asked.form();
        (
            self.resolved.search_options(&form),
            self.resolved.pager_options(&form),
        )
    }

    /// The character set of the records, if the command line or the profile names one.
    pub(crate) fn charset(&self, given: Option<Charset>) -> Option<Charset> {
        given.or(self.resolved.profile.record_charset)
    }

    /// The query with the attributes of the profile, in its character set.
    ///
    /// # Errors
    /// A term that the character set cannot represent.
    pub(crate) fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, Error> {
        self.resolved.adapted(query).map_err(Error::Term)
    }
}

impl fmt::Display for NamedTarget {
    /// As given, with the server if that is the name of a profile, or that the built-in catalogue answers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.text.split('/').next().unwrap_or_default();
        let name = self.resolved.name.as_deref();
        match name.filter(|name| name.eq_ignore_ascii_case(written)) {
            _ if self.is_demo => write!(f, "{} (--demo)", self.text),
            Some(_) => write!(f, "{} ({})", self.text, self.resolved.endpoint),
            None => f.write_str(&self.text),
        }
    }
}

impl Unanswered {
    /// The exit code and message.
    pub(crate) fn explain(&self) -> (Exit, String) {
        let (exit, words) = explain(&self.error);
        match &self.hint {
            Some(hint) => (exit, format!("{}; {hint}", chain(&self.error))),
            None => (exit, words),
        }
    }

    /// The answer of an input that fails like this.
    pub(crate) fn answer(&self) -> Answer {
        Answer::default()
            .ended(outcome_name(&self.error))
            .saying(self.explain().1)
            .diagnosed(self.error.diagnostics())
    }
}

impl Envelope {
    /// An answer of a target; it adds the key `target`.
    pub(crate) fn of(place: &NamedTarget, own: &[&str]) -> Self {
        let endpoint = &place.resolved.endpoint;
        let own = [&["target"], own].concat();
        Self::new(&endpoint.host(), endpoint.port(), place.databases(), &own)
            .with("target", place.text.as_str())
    }
}

impl From<Error> for Box<Answer> {
    fn from(error: Error) -> Self {
        Unanswered::from(error).into()
    }
}

impl From<Unanswered> for Box<Answer> {
    fn from(unanswered: Unanswered) -> Self {
        Self::new(unanswered.answer())
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self { error, hint: None }
    }
}
