//! The state of the prompt between commands: the settings, and the open sessions with their result sets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use z3950::client::Client;
use z3950::error::Error;
use z3950::pace::Clock;
use z3950::profile::{Profile, Resolved};
use z3950::session::{End, Session};
use z3950::target::{Endpoint, Target, redacted};
use z3950::url::Mode;
use z3950_asn1::apdu::{DatabaseName, InitializeRequest};
use z3950_asn1::query::Dialects;
use z3950_marc::charset::Charset;

use super::command::{CommandResult, Refusal, number_or};
use super::questions::Prompter;
use super::settings::{Reconnects, Settings};
use crate::commands::options::RecordOutput;
use crate::commands::scan::TermList;
use crate::commands::target::{NamedTarget, OpenSession, Seen};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::pages::{PageReader, Pages};
use crate::tape::Tape;

/// How long to wait for the servers' responses to Close when a signal ends the program.
const FAREWELL: Duration = Duration::from_secs(1);

/// The database to search by default.
pub(super) const DEFAULT_DATABASE: &str = "Default";

/// The state of the prompt.
pub(crate) struct Prompt {
    pub(super) context: SessionContext,
    pub(super) mode: Mode,
    pub(super) settings: Settings,
    pub(super) dialects: Dialects,
    /// The sessions that have not been closed, in the order in which they were opened.
    pub(super) sessions: Vec<OpenedSession>,
    /// The index of the current session.
    pub(super) current: usize,
    /// The last target, which `open` without an argument opens again. It may contain a password.
    pub(super) last_target: Option<Vec<u8>>,
    /// The requests whose responses have not been handled yet, oldest first.
    pub(super) under_way: VecDeque<PendingRequest>,
    /// The databases to search in sessions whose target names no database.
    pub(super) databases: Vec<DatabaseName>,
    pub(super) seen: Seen,
    pub(super) history: Vec<String>,
    /// The command that an empty line continues.
    pub(super) goes_on: Option<&'static str>,
    /// Whether `quit` was entered, so that no further command is read.
    pub(super) is_leaving: bool,
    /// Whether to print a message that names the server when a session is opened.
    pub(super) greets: bool,
    /// Whether a command that fails ends the program.
    pub(super) stop_on_error: bool,
    /// The depth of nested `source` commands.
    pub(super) depth: usize,
}

/// The function that handles the response to a request.
pub(super) type Finish = Box<dyn FnOnce(&mut Prompt, &mut Output) -> CommandResult + Send>;

/// A request whose response has not been handled yet.
pub(super) struct PendingRequest {
    pub(super) session: Session,
    pub(super) answer: JoinHandle<Result<Finish, Error>>,
}

/// The maximum number of lines that `history` lists.
const MAX_HISTORY: usize = 1000;

/// The maximum number of result sets whose hits are stored.
const MAX_SETS: usize = 10_000;

impl Prompt {
    /// Creates a prompt that has no session and writes records as text.
    pub(crate) fn new(
        context: SessionContext,
        mode: Mode,
        records: &RecordOutput,
        stop_on_error: bool,
    ) -> Self {
        let settings = Settings {
            columns: records.fields.clone(),
            has_row_per_copy: records.row_per_copy,
            marc_charset: records.charset,
            ..Settings::new()
        };
        Self {
            context,
            mode,
            settings,
            dialects: Dialects::default(),
            sessions: Vec::new(),
            current: 0,
            last_target: None,
            under_way: VecDeque::new(),
            databases: Vec::new(),
            seen: Seen::default(),
            history: Vec::new(),
            goes_on: None,
            is_leaving: false,
            greets: true,
            stop_on_error,
            depth: 0,
        }
    }

    /// Returns the character set of records, if the settings or the profile specify it.
    pub(super) fn record_charset(&self) -> Option<Charset> {
        let known = |profile: &Profile| profile.record_charset;
        self.settings
            .marc_charset
            .or_else(|| self.profile().and_then(known))
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.opened().map(|opened| &opened.way.target.profile)
    }

    /// Returns the target of the current session. The settings of the prompt override those in the target's profile.
    pub(super) fn current_target(&self) -> Result<NamedTarget, Refusal> {
        let opened = self.opened().ok_or_else(unopened)?;
        let mut resolved = opened.way.target.clone();
        resolved.databases = self.searched();
        let (settings, profile) = (&self.settings, &mut resolved.profile);
        profile.query_charset = settings.query_charset.or(profile.query_charset);
        profile.record_charset = settings.marc_charset.or(profile.record_charset);
        let syntax = settings.record_syntaxes.first().copied();
        profile.record_syntax = syntax.or(profile.record_syntax);
        if let Some(name) = &settings.element_set {
            profile.element_set = Some(name.to_string_lossy().into_owned());
        }
        Ok(NamedTarget {
            text: redacted(&opened.way.text()),
            resolved: Arc::new(resolved),
            names_databases: true,
            hint: None,
            identity: None,
            is_demo: false,
        })
    }

    /// Returns the user who reads output page by page, if there is one.
    pub(super) fn reader_of_pages(&self) -> Option<Arc<dyn PageReader>> {
        self.context.asker.clone().map(|asker| asker as _)
    }

    /// Returns the pages in which a command writes its output.
    pub(super) fn pages(&self, output: &Output) -> Pages {
        Pages::new(self.reader_of_pages(), output)
    }

    /// Returns whether there is a current session, either open or ended by the server.
    pub(crate) fn has_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Returns whether the current session is open.
    pub(crate) fn is_open(&self) -> bool {
        self.opened().is_some_and(|opened| opened.session.is_open())
    }

    /// Returns whether to stop after a command that ended with this exit code. A search without hits is not a failure;
    /// nor is a search that was expected to find one record and found several, because each of them can be shown.
    pub(crate) fn stops_after(&self, exit: Exit) -> bool {
        let goes_on = matches!(exit, Exit::Delivered | Exit::NoMatch | Exit::Ambiguous);
        self.stop_on_error && !goes_on
    }

    /// Returns the prompt `z3950> `, which contains the number of the session if there are several.
    pub(super) fn prompt(&self) -> String {
        match self.sessions.len() {
            0 | 1 => "z3950> ".into(),
            _ => format!("z3950 {}> ", self.current + 1),
        }
    }

    /// Returns the databases named in sessions, settings and profiles, for completion.
    pub(super) fn known_databases(&self) -> BTreeSet<String> {
        let targets = self.sessions.iter().map(|opened| &opened.way.target);
        let named = targets.clone().flat_map(|target| &target.databases);
        let profiles = targets.map(|target| &target.profile);
        named
            .chain(&self.databases)
            .map(|name| name.0.to_string_lossy().into_owned())
            .chain(profiles.flat_map(|profile| profile.databases.iter().cloned()))
            .collect()
    }

    /// Returns the names of profiles and the open targets, for completion.
    pub(super) fn known_targets(&self) -> BTreeSet<String> {
        let profiles = self.context.client.profiles().iter();
        let opened = self.sessions.iter().map(|opened| opened.way.text());
        profiles
            .map(|(name, _)| name.to_owned())
            .chain(opened)
            .collect()
    }

    /// Adds a line to the list shown by `history`.
    pub(super) fn remember(&mut self, line: &str) {
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(0);
        }
        self.history.push(line.to_owned());
    }

    /// Returns a function that closes the open sessions in another thread, and waits for the servers' responses for at
    /// most [`FAREWELL`].
    pub(super) fn farewell(&self, runtime: Handle) -> impl FnOnce() + Send + 'static {
        let sessions: Vec<Session> = self
            .sessions
            .iter()
            .map(|opened| opened.session.clone())
            .collect();
        move || {
            let farewells = sessions.iter().map(Session::close);
            let farewells = futures_util::future::join_all(farewells);
            // Sessions that have not closed within this time end together with the program.
            let _ = runtime.block_on(async { timeout(FAREWELL, farewells).await });
        }
    }

    /// Closes all sessions that the prompt has opened.
    pub(crate) async fn close_all(&mut self) {
        let sessions = std::mem::take(&mut self.sessions);
        let client = &self.context.client;
        let farewells = sessions.iter().map(|opened| client.close(&opened.session));
        futures_util::future::join_all(farewells).await;
    }

    /// Prints the reason why a command was not performed, and returns its exit code.
    pub(super) fn report_refusal(
        &self,
        answer: CommandResult,
        usage: &str,
        output: &Output,
    ) -> Result<Exit, Failure> {
        match answer {
            Ok(exit) => Ok(exit),
            Err(Refusal::Usage) => {
                output.error(&format!("usage: {usage}"));
                Ok(Exit::Usage)
            }
            Err(Refusal::Because(exit, reason)) => {
                output.error(&reason);
                Ok(exit)
            }
            Err(Refusal::Machine(failure)) => Err(failure),
        }
    }

    /// Returns the current session.
    pub(super) fn opened(&self) -> Option<&OpenedSession> {
        self.sessions.get(self.current)
    }

    pub(super) fn opened_mut(&mut self) -> Option<&mut OpenedSession> {
        self.sessions.get_mut(self.current)
    }

    /// Returns the current session if it is open. A session that the server has ended stays in the list of sessions, so
    /// that commands report this until another session is opened.
    pub(super) fn session(&self) -> Result<Session, Refusal> {
        match self.opened() {
            Some(opened) if opened.session.is_open() => {
                let reference_id = self.settings.reference_id.clone();
                Ok(opened.session.with_reference_id(reference_id))
            }
            Some(_) => Err(self.ended()),
            None => Err(unopened()),
        }
    }

    /// Returns the refusal for a command whose session has ended.
    fn ended(&self) -> Refusal {
        let end = self
            .opened()
            .map_or("no session is open", OpenedSession::end);
        let commands = match self.settings.reconnects {
            Reconnects::Never => "open",
            _ => "open, find, search or scan",
        };
        let words = format!("{end}; use {commands} to open another");
        Refusal::Because(Exit::Transport, words)
    }

    /// Removes the current session from the list of sessions.
    pub(super) fn forget(&mut self) -> Option<OpenedSession> {
        if self.current >= self.sessions.len() {
            return None;
        }
        let opened = self.sessions.remove(self.current);
        self.current = self.sessions.len().saturating_sub(1);
        Some(opened)
    }

    /// Returns the current result set, or a refusal if there is none.
    pub(super) fn result_set(&self) -> Result<CurrentSet, Refusal> {
        if self.has_session() && !self.is_open() {
            return Err(self.ended());
        }
        let set = self.opened().and_then(|opened| opened.result_set.clone());
        set.ok_or_else(|| {
            Refusal::wrong(if self.under_way.is_empty() {
                "there is no result set; find QUERY makes one"
            } else {
                "there is no result set yet; wait_response waits for the answer to find"
            })
        })
    }

    /// Makes a result set the current one.
    pub(super) fn found(&mut self, name: String, hits: Option<u64>) {
        if let Some(opened) = self.opened_mut() {
            if opened.hits.len() < MAX_SETS {
                opened.hits.insert(name.clone(), hits);
            }
            opened.result_set = Some(CurrentSet {
                name,
                hits,
                next: 1,
                next_title: 1,
            });
        }
    }

    /// Returns the databases to search: the databases of the current session, or else the databases in the settings.
    pub(super) fn searched(&self) -> Vec<DatabaseName> {
        match self.opened() {
            Some(opened) => opened.way.target.databases(),
            None if self.databases.is_empty() => vec![DEFAULT_DATABASE.into()],
            None => self.databases.clone(),
        }
    }

    pub(super) fn quit(&mut self, arguments: &str) -> Result<(), Refusal> {
        if !arguments.is_empty() {
            return Err(Refusal::Usage);
        }
        self.is_leaving = true;
        Ok(())
    }

    pub(super) fn show_history(&mut self, count: &str, output: &mut Output) -> CommandResult {
        let count = number_or(count, usize::MAX)?;
        let first = self.history.len().saturating_sub(count);
        for (number, line) in self.history.iter().enumerate().skip(first) {
            output.line(&format!("{:>5}  {line}", number + 1))?;
        }
        Ok(Exit::Delivered)
    }
}

/// Returns the refusal for a command that needs a session.
pub(super) fn unopened() -> Refusal {
    Refusal::wrong("no session is open; use open TARGET")
}

/// The client, the recorded APDUs and the channel to the user. All sessions share them.
pub(crate) struct SessionContext {
    pub(crate) client: Client,
    pub(crate) tape: Tape,
    /// Passes questions from servers to the user; `None` if there is no user at a terminal.
    pub(crate) asker: Option<Arc<Prompter>>,
}

/// The information with which a session was opened, and can be opened again.
#[derive(Clone, PartialEq)]
pub(super) struct ConnectInfo {
    /// The URL with which the session was opened; `None` if no URL was used, or if other databases have been selected
    /// since.
    pub(super) url: Option<String>,
    /// The server, its profile, and the databases to search.
    pub(super) target: Resolved,
    /// The Z39.50 proxy through which to connect.
    pub(super) through: Option<Target>,
    pub(super) init: InitializeRequest,
}

impl ConnectInfo {
    /// Returns the target in the notation that `open` accepts.
    pub(super) fn text(&self) -> String {
        let url = self.url.clone();
        url.unwrap_or_else(|| written(&self.target).to_string())
    }

    /// Returns the name of the target, for messages.
    pub(super) fn name(&self) -> String {
        let text = self.text();
        match &self.target.name {
            Some(name) if self.url.is_none() => format!("{text} ({name})"),
            _ => text,
        }
    }

    /// Selects different databases for the session.
    pub(super) fn select(&mut self, databases: Vec<DatabaseName>) {
        self.url = None;
        self.target.databases = databases;
    }

    /// Returns the endpoint to connect to, and the HTTP or SOCKS proxy.
    pub(super) fn first(&self) -> (&Endpoint, Option<&str>) {
        match &self.through {
            Some(through) => (&through.endpoint, through.proxy.as_deref()),
            None => (&self.target.endpoint, self.target.proxy.as_deref()),
        }
    }
}

/// Converts a resolved target to a target that can be displayed.
pub(super) fn written(resolved: &Resolved) -> Target {
    let mut target = Target::new(resolved.endpoint.clone());
    target.proxy = resolved.proxy.clone();
    target.databases = resolved.databases.clone();
    target
}

/// A session and its result sets.
pub(super) struct OpenedSession {
    pub(super) way: ConnectInfo,
    pub(super) session: Session,
    /// The clock for the pauses between requests, shared by all sessions with the same server.
    pub(super) clock: Arc<Clock>,
    /// The number of result sets named so far.
    pub(super) sets_named: u64,
    /// The number of hits in each result set, by the name of the set.
    pub(super) hits: BTreeMap<String, Option<u64>>,
    pub(super) result_set: Option<CurrentSet>,
    /// The last scan. Its start has been moved to the last term listed, so that a scan without arguments continues
    /// there.
    pub(super) scanned: Option<TermList>,
    /// The session while a subcommand of the program uses it; `None` at other times.
    pub(super) command_session: Option<CommandSession>,
}

impl OpenedSession {
    /// Forgets all result sets, because the session has been reopened.
    pub(super) fn forget_sets(&mut self) {
        self.sets_named = 0;
        self.hits.clear();
        self.result_set = None;
        self.scanned = None;
    }

    /// Returns a phrase for messages that describes why the session has ended.
    pub(super) fn end(&self) -> &'static str {
        match self.session.ended().now_or_never() {
            Some(End::Failed(error))
                if !error.is_connection_lost()
                    && !matches!(*error, Error::ProtocolClosed { .. }) =>
            {
                "the session was given up after an error"
            }
            _ => "the server has closed the session",
        }
    }
}

/// The result set that commands use by default.
#[derive(Debug, Clone)]
pub(super) struct CurrentSet {
    pub(super) name: String,
    /// The number of hits; `None` if the server does not know it.
    pub(super) hits: Option<u64>,
    /// The position of the record that `show` shows next.
    pub(super) next: u64,
    /// The position of the title that `titles` lists next.
    pub(super) next_title: u64,
}

/// A session that is in use by a subcommand of the program.
pub(super) struct CommandSession {
    pub(super) session: OpenSession,
    pub(super) makes_set: bool,
    /// The message to show if the command is interrupted.
    pub(super) interrupted: Option<&'static str>,
}
