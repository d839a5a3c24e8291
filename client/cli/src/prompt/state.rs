//! What the prompt remembers between commands, and how a line becomes one of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::time::timeout;
use z3950::error::Error;
use z3950::pace::Clock;
use z3950::profile::Profile;
use z3950::session::{End, Session};
use z3950::target::redacted;
use z3950::url::Mode;
use z3950_asn1::apdu::{AttributesPlusTerm, DatabaseName};
use z3950_asn1::oid::Oid;
use z3950_asn1::query::Dialects;
use z3950_marc::charset::Charset;

use super::command::{self, Answer, Run, Stop};
use super::opening::{Way, Ways};
use super::settings::{Reconnects, Settings};
use super::shared::Lent;
use super::waiting::UnderWay;
use crate::commands::seen::Seen;
use crate::commands::target::Place as Target;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{Document, Format};

/// How long servers have to answer Close before a signal ends the program.
const FAREWELL: Duration = Duration::from_secs(1);

/// The state of the prompt.
pub(crate) struct State {
    pub(super) ways: Ways,
    pub(super) mode: Mode,
    pub(super) settings: Settings,
    pub(super) dialects: Dialects,
    /// Those opened and not yet closed, in that order.
    pub(super) places: Vec<Place>,
    /// Which of them commands are for; an index of `places`.
    pub(super) current: usize,
    /// Where the last session was opened, for `open` alone; it may hold a password.
    pub(super) last_target: Option<Vec<u8>>,
    /// Requests whose answers nobody waits for yet.
    pub(super) under_way: UnderWay,
    /// The databases of sessions that name none.
    pub(super) databases: Vec<DatabaseName>,
    pub(super) seen: Seen,
    pub(super) history: Vec<String>,
    /// The command that Enter alone goes on with.
    pub(super) goes_on: Option<&'static str>,
    /// Whether `quit` was said.
    pub(super) is_leaving: bool,
    /// Whether the first command that fails ends everything.
    pub(super) stop_on_error: bool,
    /// How many files are being read within each other.
    pub(super) depth: usize,
}

/// A session, and what belongs to it.
pub(super) struct Place {
    pub(super) way: Way,
    pub(super) session: Session,
    /// When the server may be asked again; sessions with one server share it.
    pub(super) clock: Arc<Clock>,
    pub(super) databases: Vec<DatabaseName>,
    /// How many sets were named.
    pub(super) sets_named: u64,
    /// Hits of the sets by name, where they are known.
    pub(super) hits: BTreeMap<String, Option<u64>>,
    pub(super) result_set: Option<ResultSet>,
    pub(super) scanned: Option<Scanned>,
    /// That a command of the command line has the session now.
    pub(super) lent: Option<Lent>,
}

impl Place {
    /// How the session has ended.
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

/// The result set that commands without a name are for.
#[derive(Debug, Clone)]
pub(super) struct ResultSet {
    pub(super) name: String,
    /// `None` where the server does not know.
    pub(super) hits: Option<u64>,
    /// The position that `show` without one shows next.
    pub(super) next: u64,
}

/// Where the last scan ended.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    pub(super) attribute_set: Option<Oid>,
    pub(super) last: AttributesPlusTerm,
    pub(super) in_set: Option<String>,
}

/// How many lines `history` remembers.
const MAX_HISTORY: usize = 1000;

/// The most result sets whose hits are remembered.
const MAX_SETS: usize = 10_000;

impl State {
    /// A prompt without a session.
    ///
    /// Records are written in this format, read in this character set whatever they say, if one is given.
    pub(crate) fn new(
        ways: Ways,
        mode: Mode,
        output: Format,
        charset: Option<Charset>,
        stop_on_error: bool,
    ) -> Self {
        let settings = Settings {
            output,
            marc_charset: charset,
            ..Settings::default()
        };
        Self {
            ways,
            mode,
            settings,
            dialects: Dialects::default(),
            places: Vec::new(),
            current: 0,
            last_target: None,
            under_way: UnderWay::default(),
            databases: Vec::new(),
            seen: Seen::default(),
            history: Vec::new(),
            goes_on: None,
            is_leaving: false,
            stop_on_error,
            depth: 0,
        }
    }

    /// The records of one answer, none of them written yet.
    pub(super) fn document(&self) -> Document {
        Document::new(self.settings.output, self.record_charset())
    }

    /// The character set that records are in, if the settings or the profile know.
    pub(super) fn record_charset(&self) -> Option<Charset> {
        let known = |profile: &Profile| profile.record_charset;
        self.settings
            .marc_charset
            .or_else(|| self.profile().and_then(known))
    }

    /// What is known of the server.
    pub(super) fn profile(&self) -> Option<&Profile> {
        self.place().map(|place| &place.way.target.profile)
    }

    /// The target of the open session as commands take it: what its profile says, and the settings over it.
    pub(super) fn here(&self) -> Option<Target> {
        let opened = self.place()?;
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
        Some(Target {
            text: redacted(&opened.way.text()),
            resolved,
            hint: None,
        })
    }

    /// Whether a session was opened, be it open still or ended by the server.
    pub(crate) fn has_session(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether a session is open.
    pub(crate) fn is_open(&self) -> bool {
        self.place().is_some_and(|place| place.session.is_open())
    }

    /// Whether nothing more is to be carried out.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether a command that ended so is the last. A search without hits has not failed.
    pub(crate) fn stops_after(&self, exit: Exit) -> bool {
        self.stop_on_error && !matches!(exit, Exit::Delivered | Exit::NoMatch)
    }

    /// `z3950> `, with the number of the session where there are several.
    pub(super) fn prompt(&self) -> String {
        match self.places.len() {
            0 | 1 => "z3950> ".into(),
            _ => format!("z3950 {}> ", self.current + 1),
        }
    }

    /// The databases that were named so far, and those that profiles of the servers name.
    pub(super) fn known_databases(&self) -> Vec<String> {
        let named = self.places.iter().flat_map(|place| &place.databases);
        let named = named.chain(&self.databases);
        let mut names: Vec<String> = named
            .map(|name| name.0.to_string_lossy().into_owned())
            .collect();
        let profiles = self.places.iter().map(|place| &place.way.target.profile);
        names.extend(profiles.flat_map(|profile| profile.databases.iter().cloned()));
        names.sort();
        names.dedup();
        names
    }

    /// The targets that `open` knows: profiles by name, and the sessions there are.
    pub(super) fn known_targets(&self) -> Vec<String> {
        let profiles = self.ways.client.profiles().iter();
        let opened = self.places.iter().map(|place| place.way.text());
        let mut names: Vec<String> = profiles
            .map(|(name, _)| name.to_owned())
            .chain(opened)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Keeps a line for `history`.
    pub(super) fn remember(&mut self, line: &str) {
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(0);
        }
        self.history.push(line.to_owned());
    }

    /// Closes the sessions that are open now, from another thread; servers have a second to answer.
    pub(super) fn farewell(&self, runtime: Handle) -> impl FnOnce() + Send + 'static {
        let sessions = self.places.iter().map(|place| place.session.clone());
        let sessions: Vec<Session> = sessions.collect();
        move || {
            let farewells = sessions.iter().map(Session::close);
            let farewells = futures_util::future::join_all(farewells);
            // What does not end in time ends with the program.
            let _ = runtime.block_on(async { timeout(FAREWELL, farewells).await });
        }
    }

    /// Closes every session that the prompt has opened.
    pub(crate) async fn close_all(&mut self) {
        let sessions = std::mem::take(&mut self.places);
        let farewells = sessions.iter().map(|place| place.session.close());
        // What ended otherwise need not be closed.
        let _ = futures_util::future::join_all(farewells).await;
    }

    /// Carries out a line; what it answers is data, what goes wrong is said on standard error.
    pub(crate) async fn line(&mut self, line: &str, output: &mut Output) -> Result<Exit, Failure> {
        let Some((name, arguments)) = command::split(line) else {
            return Ok(Exit::Delivered);
        };
        let Some(entry) = command::entry(name) else {
            output.error(&command::unknown(name));
            return Ok(Exit::Usage);
        };
        let answer = match entry.run {
            Run::Here(run) => run(self, arguments, output),
            Run::There(run) => run(self, arguments, output).await,
        };
        self.said(answer, &entry.usage(), output)
    }

    /// Says why a command was not carried out, if it was not.
    pub(super) fn said(
        &self,
        answer: Answer,
        usage: &str,
        output: &Output,
    ) -> Result<Exit, Failure> {
        match answer {
            Ok(exit) => Ok(exit),
            Err(Stop::Usage) => {
                output.error(&format!("usage: {usage}"));
                Ok(Exit::Usage)
            }
            Err(Stop::Because(exit, reason)) => {
                output.error(&reason);
                Ok(exit)
            }
            Err(Stop::Machine(failure)) => Err(failure),
        }
    }

    /// The session that commands are for, with what belongs to it.
    pub(super) fn place(&self) -> Option<&Place> {
        self.places.get(self.current)
    }

    pub(super) fn place_mut(&mut self) -> Option<&mut Place> {
        self.places.get_mut(self.current)
    }

    /// The session, if one is open. One that the server has ended stays known, so that every command that needs it says so
    /// until another is opened.
    pub(super) fn session(&self) -> Result<Session, Stop> {
        match self.place() {
            Some(place) if place.session.is_open() => {
                let reference_id = self.settings.reference_id.clone();
                Ok(place.session.with_reference_id(reference_id))
            }
            Some(_) => Err(self.lost()),
            None => Err(Stop::wrong("no session is open; use open TARGET")),
        }
    }

    /// How the session has ended, and what opens another.
    fn lost(&self) -> Stop {
        let end = self.place().map_or("no session is open", Place::end);
        let commands = match self.settings.reconnects {
            Reconnects::Never => "open",
            _ => "open, find, search or scan",
        };
        let words = format!("{end}; use {commands} to open another");
        Stop::Because(Exit::Transport, words)
    }

    /// Takes the session out of the list.
    pub(super) fn forget(&mut self) -> Option<Place> {
        if self.current >= self.places.len() {
            return None;
        }
        let place = self.places.remove(self.current);
        self.current = self.places.len().saturating_sub(1);
        Some(place)
    }

    /// The result set, or that there is none.
    pub(super) fn result_set(&self) -> Result<ResultSet, Stop> {
        if self.has_session() && !self.is_open() {
            return Err(self.lost());
        }
        let set = self.place().and_then(|place| place.result_set.clone());
        set.ok_or_else(|| {
            Stop::wrong(match self.under_way.is_empty() {
                true => "there is no result set; find QUERY makes one",
                false => "there is no result set yet; wait_response takes up the answer to find",
            })
        })
    }

    /// Makes a set the one that commands are for.
    pub(super) fn found(&mut self, name: String, hits: Option<u64>) {
        if let Some(place) = self.place_mut() {
            if place.hits.len() < MAX_SETS {
                place.hits.insert(name.clone(), hits);
            }
            place.result_set = Some(ResultSet {
                name,
                hits,
                next: 1,
            });
        }
    }

    /// The databases to search.
    pub(super) fn searched(&self) -> Vec<DatabaseName> {
        let named = match self.place() {
            Some(place) => &place.databases,
            None => &self.databases,
        };
        match named.as_slice() {
            [] => vec![DatabaseName::from(super::DEFAULT_DATABASE)],
            named => named.to_vec(),
        }
    }

    pub(super) fn quit(&mut self, arguments: &str, _: &mut Output) -> Answer {
        if !arguments.is_empty() {
            return Err(Stop::Usage);
        }
        self.is_leaving = true;
        Ok(Exit::Delivered)
    }

    pub(super) fn show_history(&mut self, count: &str, output: &mut Output) -> Answer {
        let count: usize = match count {
            "" => usize::MAX,
            number => number.parse().map_err(|_| Stop::Usage)?,
        };
        let first = self.history.len().saturating_sub(count);
        for (number, line) in self.history.iter().enumerate().skip(first) {
            output.line(&format!("{:>5}  {line}", number + 1))?;
        }
        Ok(Exit::Delivered)
    }
}
