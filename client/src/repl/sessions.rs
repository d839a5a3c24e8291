//! `open`, `close`, `sessions`, `use`: sessions by target or URL (RFC 2056 §3), several at once.

use std::collections::BTreeMap;

use z3950_asn1::apdu::{DatabaseName, OtherInformation};
use z3950_asn1::format::conventions::Convention;

use super::command::{Answer, Stop};
use super::state::{Place, State};
use super::tape::Taped;
use crate::cli::output::Output;
use crate::cli::{Exit, explain_outcome, read_url};
use crate::client::ClientOptions;
use crate::open::{OpenError, Opened};
use crate::plan::{Plan, PlanOptions};
use crate::render::shown;
use crate::retrieve::Outcome;
use crate::service::init::InitOptions;
use crate::session::{Session, SessionOptions};
use crate::target::Target;
use crate::url;

/// The most sessions open at once.
const MAX_SESSIONS: usize = 64;

impl State {
    /// Opens a session: by a target as YAZ writes it, or by a URL, with the search that its docid asks for. Without a
    /// text, where the last one was.
    pub(super) async fn open(&mut self, text: &[u8], output: &mut Output) -> Answer {
        let again = self.last_target.clone().unwrap_or_default();
        let text = match text.trim_ascii() {
            [] if again.is_empty() => return Err(Stop::Usage),
            [] => again.as_bytes(),
            text => text,
        };
        if self.place().is_some_and(|place| !place.session.is_open()) {
            self.forget();
        }
        if self.places.len() >= MAX_SESSIONS {
            let reason = format!("{MAX_SESSIONS} sessions are open; close some of them");
            return Err(Stop::wrong(reason));
        }
        let shown = shown(text);
        let exit = match url::classify(text) {
            Some(_) => self.open_url(text, &shown, output).await?,
            None => self.open_target(&shown, output).await?,
        };
        self.last_target = Some(shown);
        Ok(exit)
    }

    /// The same for the command line, which ends where nothing could be opened.
    pub(crate) async fn first(
        &mut self,
        text: &[u8],
        output: &mut Output,
    ) -> Result<Exit, crate::cli::output::Failure> {
        match self.open(text, output).await {
            Ok(exit) => Ok(exit),
            Err(Stop::Usage) => Ok(Exit::Usage),
            Err(Stop::Because(exit, reason)) => {
                output.error(&reason);
                Ok(exit)
            }
            Err(Stop::Machine(failure)) => Err(failure),
        }
    }

    async fn open_target(&mut self, text: &str, output: &mut Output) -> Answer {
        let target = parse(text)?;
        let session = self.connect(&target, output).await?;
        let databases = target.databases.clone();
        self.opened(session, target.to_string(), databases, output);
        Ok(Exit::Delivered)
    }

    async fn connect(&mut self, target: &Target, output: &Output) -> Result<Session, Stop> {
        let mut init = self.init()?;
        let proxy = self.settings.proxy.as_deref().map(parse).transpose()?;
        if proxy.is_some() {
            let information = init
                .other_info
                .get_or_insert_with(OtherInformation::default);
            Convention::Proxy.put(information, target.to_string().as_str());
        }
        let options = SessionOptions {
            init,
            timeouts: self.client.options().timeouts,
            ..SessionOptions::default()
        };
        let first = proxy.as_ref().unwrap_or(target);
        let endpoint = &first.endpoint;
        let way = Taped {
            routes: self.routes.clone(),
            tape: self.tape.clone(),
            endpoint: Some((endpoint.clone(), first.proxy.clone())),
        };
        let host = endpoint.host();
        let opened = Session::connect(&host, endpoint.port(), &way, &options);
        opened.await.map_err(|error| {
            if let Some(hint) = advice(&error) {
                output.note(hint);
            }
            match Stop::from(error) {
                Stop::Because(exit, message) => {
                    let message = format!("{message} (server {})", first.endpoint);
                    Stop::Because(exit, message)
                }
                other => other,
            }
        })
    }

    /// What Init is to say, by the settings.
    pub(super) fn init(&self) -> Result<InitOptions, Stop> {
        self.settings
            .init(self.client.options().plan.init.clone())
            .map_err(|error| Stop::wrong(error.to_string()))
    }

    /// A retrieval URL opens a session too, whose first result set is its record.
    async fn open_url(&mut self, text: &[u8], shown: &str, output: &mut Output) -> Answer {
        let Some(url) = read_url(text, self.mode, output) else {
            return Ok(Exit::Usage);
        };
        let options = self.client.options().clone();
        let client = self.client.with_options(ClientOptions {
            plan: PlanOptions {
                init: self.init()?,
                ..options.plan
            },
            ..options
        });
        let plan = client
            .plan(&url)
            .map_err(|error| Stop::wrong(format!("{url}: {error}")))?;
        for warning in plan.warnings() {
            output.warning(&warning.to_string());
        }
        match client.open_plan(&plan).await {
            Ok(opened) => self.followed(opened, shown, output),
            Err(error) => Err(refused(error, &plan, output)),
        }
    }

    fn followed(&mut self, opened: Opened, target: &str, output: &mut Output) -> Answer {
        let databases = opened.defaults.databases.iter();
        let databases = databases
            .map(|name| DatabaseName::from(name.as_bytes()))
            .collect();
        self.opened(opened.session, target.to_owned(), databases, output);
        self.settings.follow(&opened.defaults);
        let found = match opened.found {
            None => return Ok(Exit::Delivered),
            Some(found) => found?,
        };
        self.found(
            crate::service::search::DEFAULT_RESULT_SET.into(),
            found.hits,
        );
        super::search::say_hits(found.hits, output)?;
        match found.record {
            None => Ok(Exit::Delivered),
            Some(Outcome::Delivered(delivered)) => {
                self.passed(1);
                let mut document = self.document();
                let exit = self.write(delivered.record, &mut document, output)?;
                output.end(&mut document)?;
                Ok(exit)
            }
            Some(outcome) => {
                let (exit, message) = explain_outcome(&outcome);
                Err(Stop::Because(exit, message))
            }
        }
    }

    /// Takes up a session, new or known already.
    fn opened(
        &mut self,
        session: Session,
        target: String,
        databases: Vec<DatabaseName>,
        output: &Output,
    ) {
        let known = self
            .places
            .iter()
            .position(|place| place.session.is_same(&session));
        let server = session.server_info();
        let name = server.implementation_name.as_deref();
        output.note(&format!(
            "{} with {} at {target}, version {}",
            match known {
                Some(_) => "session taken up",
                None => "session open",
            },
            name.unwrap_or("a server without a name"),
            server.version
        ));
        for text in &server.text {
            output.note(text);
        }
        self.databases.clone_from(&databases);
        let place = Place {
            target,
            session,
            databases,
            sets_named: 0,
            hits: BTreeMap::new(),
            result_set: None,
            scanned: None,
        };
        match known.and_then(|index| Some((index, self.places.get_mut(index)?))) {
            Some((index, known)) => {
                // Sets made before are there still.
                known.databases = place.databases;
                known.target = place.target;
                known.result_set = None;
                self.current = index;
            }
            None => {
                self.places.push(place);
                self.current = self.places.len() - 1;
            }
        }
    }

    /// Opens the session anew that the server has dropped, with the databases it had.
    pub(super) async fn reopen(&mut self, output: &mut Output) -> Result<(), Stop> {
        let Some(lost) = self.forget() else {
            return Err(Stop::wrong("no session is open; open TARGET opens one"));
        };
        output.note(&format!(
            "the server has ended the session; opening another at {}",
            lost.target
        ));
        let target = parse(&lost.target)?;
        let session = self.connect(&target, output).await?;
        self.opened(session, lost.target, lost.databases, output);
        Ok(())
    }

    pub(super) async fn close(&mut self, arguments: &str, _: &mut Output) -> Answer {
        if !arguments.is_empty() {
            return Err(Stop::Usage);
        }
        let session = self.session()?;
        self.forget();
        session.close().await?;
        Ok(Exit::Delivered)
    }

    pub(super) fn list_sessions(&mut self, _: &str, output: &mut Output) -> Answer {
        for (index, place) in self.places.iter().enumerate() {
            let mark = if index == self.current { '*' } else { ' ' };
            let state = match (&place.result_set, place.session.is_open()) {
                (_, false) => "ended by the server".to_owned(),
                (Some(set), true) => format!("{} hits", set.hits),
                (None, true) => "open".to_owned(),
            };
            output.line(&format!("{mark}{} {}  {state}", index + 1, place.target))?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn use_session(&mut self, number: &str, output: &mut Output) -> Answer {
        let number: usize = number.parse().map_err(|_| Stop::Usage)?;
        let index = number
            .checked_sub(1)
            .filter(|index| *index < self.places.len())
            .ok_or_else(|| {
                Stop::wrong(format!(
                    "there is no session {number}; sessions lists those there are"
                ))
            })?;
        self.current = index;
        if let Some(place) = self.place() {
            output.note(&format!("at {}", place.target));
        }
        Ok(Exit::Delivered)
    }
}

pub(super) fn parse(text: &str) -> Result<Target, Stop> {
    text.parse().map_err(|error: crate::target::TargetError| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Stop::wrong(format!("{error}{}", cause.unwrap_or_default()))
    })
}

/// What may help when a session could not be opened.
fn advice(error: &crate::error::Error) -> Option<&'static str> {
    use crate::error::{Error, Phase};
    let phase = match error {
        Error::InitRejected(_) => Phase::Init,
        Error::Unavailable { phase, .. } | Error::ProtocolClosed { phase, .. } => *phase,
        _ => return None,
    };
    (phase == Phase::Init).then_some(
        "the server ended it during Init: check authentication, its list of addresses, or the port",
    )
}

fn refused(error: OpenError, plan: &Plan, output: &Output) -> Stop {
    match error {
        OpenError::Session(error) => {
            if let Some(hint) = advice(&error) {
                output.note(hint);
            }
            match Stop::from(error) {
                Stop::Because(exit, message) => Stop::Because(
                    exit,
                    format!("{message} (server {}:{})", plan.host(), plan.port()),
                ),
                other => other,
            }
        }
        OpenError::PortRefused(_) => Stop::Because(Exit::PortRefused, error.to_string()),
        OpenError::Plan(_) => Stop::wrong(error.to_string()),
    }
}
