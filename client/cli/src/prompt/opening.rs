//! The commands `open`, `init`, `close`, `sessions` and `use`: open sessions by target, profile or URL (RFC 2056 §3),
//! and reconnect after the server has closed a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use z3950::error::{Error, Phase};
use z3950::open::{self, OpenedSearch};
use z3950::pace::{Clock, Pace};
use z3950::plan::{self, id_pass};
use z3950::profile::{Resolved, SruMethod, SruOptions, sru_version};
use z3950::retrieve::Outcome;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::{Repeat, Session, SessionOptions};
use z3950::target::{Target, databases_of, redacted};
use z3950::url::{self, Kind, Z3950Url};
use z3950_asn1::apdu::{InitializeRequest, OtherInformation};
use z3950_asn1::format::conventions::Convention;

use super::command::{CommandResult, Refusal, number};
use super::questions::ScriptPrompter;
use super::search::{hits_in_words, of_hits, say_hits};
use super::settings::Reconnects;
use super::state::{ConnectInfo, OpenedSession, Prompt, unopened, written};
use crate::commands::connection::NOT_SENT;
use crate::commands::fallback::attempts;
use crate::commands::target::{did_you_mean, is_unresolved};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report::{explain, explain_outcome};
use crate::render::{named, shown, text_of};
use z3950::error::chain;

/// The maximum number of sessions that are open at the same time.
const MAX_SESSIONS: usize = 64;

/// The maximum number of requests that may be waiting for their responses at the same time, if `set_auto_wait` is off.
const PIPELINED: usize = 8;

impl Prompt {
    /// Opens a session with a target that is given in YAZ's notation, as the name of a profile, or as a URL. If a URL
    /// contains a docid, also searches for it. If the text is empty, opens the last target again.
    pub(super) async fn open(&mut self, text: &[u8], output: &mut Output) -> CommandResult {
        let again = self.last_target.clone().unwrap_or_default();
        let text = match text.trim_ascii() {
            [] if again.is_empty() => return Err(Refusal::Usage),
            [] => again.as_slice(),
            text => text,
        };
        if self
            .opened()
            .is_some_and(|opened| !opened.session.is_open())
        {
            self.forget();
        }
        if self.sessions.len() >= MAX_SESSIONS {
            let reason = format!("{MAX_SESSIONS} sessions are open; close some of them");
            return Err(Refusal::wrong(reason));
        }
        // The target is saved before it is opened, so that a target that could not be opened can be tried again.
        self.last_target = Some(text.to_vec());
        match url::classify(text) {
            Some(_) => self.open_url(text, output).await,
            None => self.open_target(&shown(text), output).await,
        }
    }

    /// Opens the target given on the command line.
    pub(crate) async fn first(
        &mut self,
        text: &[u8],
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let answer = self.open(text, output).await;
        self.report_refusal(answer, "open TARGET", output)
    }

    async fn open_target(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let mut resolved = self
            .context
            .client
            .profiles()
            .resolve(text)
            .map_err(|error| {
                if text.contains(char::is_whitespace) {
                    Refusal::wrong(format!(
                        "{}; open takes one target, and each further open another session",
                        chain(&error)
                    ))
                } else {
                    Refusal::caused(error)
                }
            })?;
        let mut init = self.init()?;
        if let Some(userinfo) = resolved.userinfo.take() {
            if self.context.client.options().plan.allow_url_credentials {
                init.id_authentication = Some(id_pass(&userinfo));
            } else {
                output.warning(&format!("{}: {NOT_SENT}", redacted(text)));
            }
        }
        let way = self.way(None, resolved, init, output).await?;
        let session = self.connect(&way, output).await?;
        self.make_current(session, way, output);
        Ok(Exit::Delivered)
    }

    /// Returns the Init request for the current settings.
    fn init(&self) -> Result<InitializeRequest, Refusal> {
        let init = self
            .settings
            .init(self.context.client.options().plan.init.clone());
        init.map_err(Refusal::wrong)
    }

    /// Returns the information for connecting to a target. It includes the Z39.50 proxy in the settings, if there is
    /// one, and the credentials in the settings or the profile.
    async fn way(
        &self,
        url: Option<String>,
        target: Resolved,
        init: InitializeRequest,
        output: &Output,
    ) -> Result<ConnectInfo, Refusal> {
        // Hide the waiting line, because the password command of a profile may prompt the user.
        let _held = output.waiting().hold();
        let options = self.context.client.options_at(&target, init).await;
        let mut init = options.map_err(Refusal::caused)?.init;
        let through = match self.settings.proxy.as_deref() {
            None => None,
            Some(proxy) => {
                let information = init
                    .other_info
                    .get_or_insert_with(OtherInformation::default);
                let meant = written(&target).to_string();
                Convention::Proxy.put(information, meant.as_str());
                Some(parse(proxy)?)
            }
        };
        Ok(ConnectInfo {
            url,
            target,
            through,
            init,
        })
    }

    async fn connect(&self, way: &ConnectInfo, output: &Output) -> Result<Session, Refusal> {
        let client = &self.context.client;
        let mut options = SessionOptions::default();
        options.init = way.init.clone();
        options.timeouts = client.options().timeouts;
        options.max_pipelined = if self.settings.auto_wait {
            way.target.profile.pipelined.unwrap_or(1)
        } else {
            PIPELINED
        };
        options.sru = self.sru_options(Some(&way.target));
        options.access_control = self.context.asker.clone().map(|asker| asker as _);
        options.resource_control = match self.context.asker.clone() {
            Some(asker) => Some(asker as _),
            None => Some(Arc::new(ScriptPrompter) as _),
        };
        let (endpoint, proxy) = way.first();
        let opened = client.session(endpoint, proxy, &options);
        opened.await.map_err(|error| {
            if let Some(hint) = advice(&error) {
                output.note(hint);
            }
            let (exit, message) = explain(&error);
            let meant = is_unresolved(&error)
                .then(|| endpoint.host())
                .and_then(|host| did_you_mean(client.profiles(), &host));
            let hint = meant.map_or_else(String::new, |hint| format!("; {hint}"));
            Refusal::Because(exit, format!("{message} (server {endpoint}){hint}"))
        })
    }

    /// Returns the options for an SRU server: the options in its profile, unless the settings override them.
    fn sru_options(&self, target: Option<&Resolved>) -> SruOptions {
        let mut options = target
            .and_then(|target| target.profile.sru.clone())
            .unwrap_or_default();
        if let Some((method, version)) = self.settings.sru {
            options.method = method;
            options.version = version.unwrap_or(options.version);
        }
        options
    }

    /// Opens the session for a URL. The record of a retrieval URL becomes the first result set. An open session with
    /// the same server and the same Init request is reused.
    async fn open_url(&mut self, text: &[u8], output: &mut Output) -> CommandResult {
        let url = Z3950Url::parse(text, self.mode)
            .map_err(|error| Refusal::wrong(format!("{}: {error}", named(text))))?;
        let mut options = self.context.client.options().plan.clone();
        options.init = self.init()?;
        let plan = plan::plan(&url, &options)
            .map_err(|error| Refusal::wrong(format!("{url}: {error}")))?;
        let profiles = self.context.client.profiles();
        let plan = match profiles.of_url(&url) {
            Some((_, entry)) => plan.with_profile(&entry.profile),
            None => plan,
        };
        for warning in &plan.warnings {
            output.warning(&warning.to_string());
        }
        if let Some(port) = plan.refused_port() {
            return Err(Refusal::Because(
                Exit::PortRefused,
                Error::PortRefused(port).to_string(),
            ));
        }
        let mut target = Target::new(plan.endpoint());
        target.databases = databases_of(&url);
        let mut resolved = profiles.resolve_target(target);
        if url.userinfo().is_some() {
            // Credentials in the URL replace those of the profile, even if they are not sent.
            resolved.profile.credentials = None;
            if !options.allow_url_credentials {
                output.warning(&format!("{url}: {NOT_SENT}"));
            }
        }
        let init = plan.options.init.clone();
        let url = Some(url.to_string());
        let way = self.way(url, resolved, init, output).await?;
        let mut known = self.sessions.iter().find(|opened| {
            let there = &opened.way;
            there.first() == way.first() && there.init == way.init && opened.session.is_open()
        });
        let (session, found) = loop {
            let is_known = known.is_some();
            let session = match known.take() {
                Some(opened) => opened.session.clone(),
                None => self.connect(&way, output).await?,
            };
            match open::process(&session, &plan).await {
                Err(error) if is_known && Repeat::IfLost.allows(&error) => {}
                Err(error @ Error::Ended { .. }) => return Err(error.into()),
                Err(error) => break (session, Some(Err(error))),
                Ok(found) => break (session, found),
            }
        };
        self.make_current(session, way, output);
        self.settings.follow(&plan.defaults);
        match found {
            None => Ok(Exit::Delivered),
            Some(found) => self.found_at_first(found?, plan.kind, output),
        }
    }

    /// Shows the result of a URL's search. For a session URL, it is not an error if the search finds nothing, because
    /// the session is open. For a retrieval URL, it is an error if the search finds no record or several records,
    /// because the URL must identify one record (RFC 2056 §4).
    fn found_at_first(
        &mut self,
        found: OpenedSearch,
        kind: Kind,
        output: &mut Output,
    ) -> CommandResult {
        for note in attempts(&found.steps, found.step.as_deref()) {
            output.note(&note);
        }
        self.found(DEFAULT_RESULT_SET.into(), found.hits);
        say_hits(found.hits, output)?;
        match found.record {
            None if kind == Kind::Session => Ok(Exit::Delivered),
            None => Ok(match found.hits {
                Some(hits) if hits > 1 => Exit::Ambiguous,
                hits => of_hits(hits),
            }),
            Some(Outcome::Delivered(delivered)) => {
                self.passed(1);
                let mut writer = self.writer(self.settings.output)?;
                let record = ResultRecord::from(*delivered);
                let exit = writer.write(&record, "the record", output)?;
                writer.printed.end(false, output)?;
                Ok(exit)
            }
            Some(outcome) => {
                let (exit, message) = explain_outcome(&outcome);
                Err(Refusal::Because(exit, message))
            }
        }
    }

    /// Makes a new or reused session the current session.
    fn make_current(&mut self, session: Session, way: ConnectInfo, output: &Output) {
        let known = self
            .sessions
            .iter()
            .position(|opened| opened.session.is_same(&session));
        let what = match known {
            Some(_) => "session reused",
            None => "session open",
        };
        self.greet(what, &session, &way, output);
        self.databases.clone_from(&way.target.databases);
        if let Some(index) = known
            && let Some(opened) = self.sessions.get_mut(index)
        {
            // The session is still open, so its earlier result sets are kept, but none of them is current.
            opened.way = way;
            opened.result_set = None;
            self.current = index;
            return;
        }
        let mut neighbours = self.sessions.iter();
        let neighbour = neighbours.find(|opened| opened.way.first().0 == way.first().0);
        let clock =
            neighbour.map_or_else(Arc::<Clock>::default, |opened| Arc::clone(&opened.clock));
        let pause = way.target.profile.pause.unwrap_or_default();
        self.sessions.push(OpenedSession {
            session: session.with_pace(Pace::new(&clock, pause)),
            clock,
            way,
            sets_named: 0,
            hits: BTreeMap::new(),
            result_set: None,
            scanned: None,
            command_session: None,
        });
        self.current = self.sessions.len() - 1;
    }

    /// Reconnects if the server has closed the session, unless `set_auto_reconnect` is off.
    pub(super) async fn reopen_if_closed(&mut self, output: &mut Output) -> Result<(), Refusal> {
        if self.has_session() && !self.is_open() && self.settings.reconnects != Reconnects::Never {
            self.reopen(output).await?;
        }
        Ok(())
    }

    /// Reconnects after the server has closed the session, with the same databases.
    pub(super) async fn reopen(&mut self, output: &mut Output) -> Result<(), Refusal> {
        let Some(lost) = self.forget() else {
            return Err(unopened());
        };
        let sets = if lost.hits.is_empty() {
            ""
        } else {
            "; the result sets made in it are gone"
        };
        output.note(&format!(
            "{}{sets}; reconnecting to {}",
            lost.end(),
            lost.way.name()
        ));
        let session = self.connect(&lost.way, output).await?;
        self.make_current(session, lost.way, output);
        Ok(())
    }

    /// Sets the options for SRU servers or, without arguments, shows those for the current server. If the current
    /// session is with an SRU server, it is reopened with the new options.
    pub(super) async fn sru(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (method, version) = match words.as_slice() {
            [] => {
                let target = self.opened().map(|opened| &opened.way.target);
                let SruOptions {
                    method, version, ..
                } = self.sru_options(target);
                output.line(&format!("{method} {}", version.as_str()))?;
                return Ok(Exit::Delivered);
            }
            [method] => (method, None),
            [method, version] => {
                let known = sru_version(version)
                    .ok_or_else(|| Refusal::wrong(format!("{version} is not 1.1, 1.2 or 2.0")))?;
                (method, Some(known))
            }
            _ => return Err(Refusal::Usage),
        };
        let method: SruMethod = method.parse().map_err(Refusal::wrong)?;
        self.settings.sru = Some((method, version));
        let opened = self
            .opened()
            .filter(|opened| opened.way.target.endpoint.is_sru());
        if let Some(way) = opened.map(|opened| opened.way.clone()) {
            let session = self.connect(&way, output).await?;
            if let Some(opened) = self.opened_mut() {
                let pause = way.target.profile.pause.unwrap_or_default();
                let pace = Pace::new(&opened.clock, pause);
                opened.session = session.with_pace(pace);
                opened.forget_sets();
            }
        }
        Ok(Exit::Delivered)
    }

    /// Sends Init again in the same session, with the current settings. This deletes all result sets. If a target is
    /// given, opens the target instead.
    pub(super) async fn init_again(&mut self, target: &str, output: &mut Output) -> CommandResult {
        if !target.is_empty() {
            return self.open(target.as_bytes(), output).await;
        }
        let (session, init) = (self.session()?, self.init()?);
        let begun = session.init(&init).await?;
        if let Some(opened) = self.opened_mut() {
            opened.session = begun;
            opened.way.init = init;
            opened.forget_sets();
        }
        if let Some(opened) = self.opened() {
            self.greet("new session opened", &opened.session, &opened.way, output);
        }
        Ok(Exit::Delivered)
    }

    pub(super) async fn close(&mut self, arguments: &str, output: &mut Output) -> CommandResult {
        if !arguments.is_empty() {
            return Err(Refusal::Usage);
        }
        let exit = self.last_responses(output).await?;
        if self.has_session() && !self.is_open() {
            self.forget();
            output.note("the server had already closed the session");
        } else {
            let session = self.session()?;
            self.forget();
            session.close().await?;
            output.note("session closed");
        }
        self.say_current(output);
        Ok(exit)
    }

    fn say_current(&self, output: &Output) {
        if let Some(opened) = self.opened() {
            output.note(&format!("at {}", opened.way.name()));
        }
    }

    pub(super) fn list_sessions(&mut self, _: &str, output: &mut Output) -> CommandResult {
        if self.sessions.is_empty() {
            output.note("no session is open; use open TARGET");
        }
        for (index, opened) in self.sessions.iter().enumerate() {
            let mark = if index == self.current { '*' } else { ' ' };
            let state = match (&opened.result_set, opened.session.is_open()) {
                (_, false) => "ended by the server".to_owned(),
                (Some(set), true) => hits_in_words(set.hits),
                (None, true) => "open".to_owned(),
            };
            let name = opened.way.name();
            output.line(&format!("{mark}{} {name}  {state}", index + 1))?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn use_session(&mut self, number: &str, output: &mut Output) -> CommandResult {
        let number: usize = self::number(number)?;
        let index = number
            .checked_sub(1)
            .filter(|index| *index < self.sessions.len())
            .ok_or_else(|| {
                Refusal::wrong(format!(
                    "there is no session {number}; sessions lists the open ones"
                ))
            })?;
        self.current = index;
        self.say_current(output);
        Ok(Exit::Delivered)
    }

    /// Prints the server's name, protocol version and messages, and the SRU options if it is an SRU server.
    fn greet(&self, what: &str, session: &Session, way: &ConnectInfo, output: &Output) {
        let server = session.server_info();
        let implementation = server.response.implementation_name.as_ref();
        let implementation =
            implementation.map_or_else(|| "a server without a name".to_owned(), text_of);
        let protocol = if way.target.endpoint.is_sru() {
            let options = self.sru_options(Some(&way.target));
            format!("version {} by {}", options.version.as_str(), options.method)
        } else {
            format!("version {}", server.version)
        };
        if self.greets {
            output.note(&format!(
                "{what} with {implementation} at {}, {protocol}",
                way.name()
            ));
        }
        for text in &server.text {
            output.note(text);
        }
        if !server.diagnostics.is_empty() {
            output.warning(&server.diagnostics.to_string());
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Target, Refusal> {
    text.parse::<Target>().map_err(Refusal::caused)
}

/// Returns advice about an error that prevented a session from being opened.
fn advice(error: &Error) -> Option<&'static str> {
    let phase = match error {
        Error::InitRejected(_) => Phase::Init,
        Error::Unavailable { phase, .. } | Error::ProtocolClosed { phase, .. } => *phase,
        _ => return None,
    };
    (phase == Phase::Init).then_some(
        "the server ended it during Init: check authentication, its list of addresses, or the port",
    )
}
