//! What the prompt remembers between commands – session, databases, preferences, result set – and what each
//! command does with it.

use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::oid::Oid;
use z3950_asn1::query::Dialects;
use z3950_asn1::types::InternationalString;

use super::command::{Command, Entry, Span, TABLE};
use super::query::{self, QueryType};
use crate::cli::output::{Failure, Output};
use crate::cli::{Exit, SORT_LEFT_OUT, explain, explain_outcome, read_url};
use crate::client::Client;
use crate::error::{Diagnostics, Error};
use crate::open::{OpenError, Opened};
use crate::plan::{Plan, SessionDefaults, record_syntax_by_name};
use crate::render::{Document, shown};
use crate::retrieve::Outcome;
use crate::service::present::PresentOptions;
use crate::service::records::ResultRecord;
use crate::service::search::SearchOptions;
use crate::session::Session;
use crate::url::{Kind, Mode, Octets};

/// The database searched where none is named, as most servers understand it.
const DEFAULT_DATABASE: &str = "Default";

/// The state of the prompt.
pub(crate) struct State {
    client: Client,
    mode: Mode,
    /// Without records: each answer is a document of its own.
    document: Document,
    session: Option<Session>,
    preferences: SessionDefaults,
    query_type: QueryType,
    dialects: Dialects,
    result_set: Option<ResultSet>,
}

/// The set named `default` of the current session.
struct ResultSet {
    hits: u64,
    /// The position that `show` without one shows next.
    next: u64,
}

impl State {
    /// A prompt without a session.
    pub(crate) fn new(client: Client, mode: Mode, document: Document) -> Self {
        let preferences = SessionDefaults::default();
        Self {
            client,
            mode,
            document,
            session: None,
            preferences,
            query_type: QueryType::default(),
            dialects: Dialects::default(),
            result_set: None,
        }
    }

    /// Whether a session is open.
    pub(crate) fn is_open(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_open)
    }

    /// Closes every session that the prompt has opened.
    pub(crate) async fn close_all(&mut self) {
        self.client.close_all().await;
        self.session = None;
    }

    /// Carries out a command; what it answers is data, what goes wrong is said on standard error.
    pub(super) async fn execute(
        &mut self,
        command: Command,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        match command {
            Command::Open(url) => self.open(url.as_bytes(), output).await,
            Command::Find(query) => self.find(&query, output).await,
            Command::Show(span) => self.show(span, output).await,
            Command::Base(names) => self.base(&names, output),
            Command::Format(name) => self.record_syntax(name.as_deref(), output),
            Command::Elements(name) => self.elements(name, output),
            Command::Querytype(name) => self.querytype(name.as_deref(), output),
            Command::Close => self.close(output).await,
            Command::Help(entry) => help(entry, output),
            Command::Quit => Ok(Exit::Delivered),
        }
    }

    /// Opens the session of a URL, with the search that its docid asks for.
    pub(crate) async fn open(&mut self, text: &[u8], output: &mut Output) -> Result<Exit, Failure> {
        let Some(url) = read_url(text, self.mode, output) else {
            return Ok(Exit::Usage);
        };
        if url.kind() == Kind::Retrieval {
            output.error(&format!("{url} retrieves a record; use: z3950 get '{url}'"));
            return Ok(Exit::Usage);
        }
        let plan = match self.client.plan(&url) {
            Ok(plan) => plan,
            Err(error) => {
                output.error(&format!("{url}: {error}"));
                return Ok(Exit::Usage);
            }
        };
        plan.warnings()
            .iter()
            .for_each(|warning| output.warning(&warning.to_string()));
        match self.client.open_plan(&plan).await {
            Ok(opened) => self.opened(opened, &plan, output),
            Err(error) => Ok(refused(&error, &plan, output)),
        }
    }

    fn opened(
        &mut self,
        opened: Opened,
        plan: &Plan,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let server = opened.session.server_info();
        let name = server
            .implementation_name
            .as_deref()
            .unwrap_or("a server without a name");
        let state = if opened.reused {
            "session taken up"
        } else {
            "session open"
        };
        output.note(&format!(
            "{state} with {name} at {}:{}, version {}",
            plan.host(),
            plan.port(),
            server.version
        ));
        self.session = Some(opened.session);
        self.preferences = opened.defaults;
        self.result_set = None;
        match opened.found {
            None => Ok(Exit::Delivered),
            Some(Err(error)) => Ok(failed(&error, output)),
            Some(Ok(found)) => {
                self.found(found.hits, output)?;
                match found.record {
                    None => Ok(Exit::Delivered),
                    Some(Outcome::Delivered(delivered)) => {
                        self.passed(1);
                        let mut document = self.document.clone();
                        let exit = output.record(&delivered.record, &mut document)?;
                        output.end(&mut document)?;
                        Ok(exit)
                    }
                    Some(outcome) => {
                        let (exit, message) = explain_outcome(&outcome);
                        output.error(&message);
                        Ok(exit)
                    }
                }
            }
        }
    }

    /// The session, if one is open; says so if not.
    fn session(&mut self, output: &Output) -> Result<Session, Exit> {
        match &self.session {
            Some(session) if session.is_open() => Ok(session.clone()),
            Some(_) => {
                output.error("the server has ended the session; open URL opens another");
                self.session = None;
                Err(Exit::Transport)
            }
            None => {
                output.error("no session is open; open URL opens one");
                Err(Exit::Usage)
            }
        }
    }

    async fn find(&mut self, text: &str, output: &mut Output) -> Result<Exit, Failure> {
        let session = match self.session(output) {
            Ok(session) => session,
            Err(exit) => return Ok(exit),
        };
        let query = match query::read(self.query_type, &self.dialects, text) {
            Ok(query) => {
                if query::leaves_sorting_out(self.query_type, &self.dialects, text) {
                    output.note(SORT_LEFT_OUT);
                }
                query
            }
            Err(query::Refused { error, text }) => {
                output.error(&format!("{error}\n{}", error.pointed_out(text).trim_end()));
                return Ok(Exit::Usage);
            }
        };
        let databases = match self.preferences.databases.as_slice() {
            [] => vec![DatabaseName::from(DEFAULT_DATABASE)],
            names => names
                .iter()
                .map(|name| DatabaseName::from(name.as_bytes()))
                .collect(),
        };
        self.result_set = None;
        let options = SearchOptions {
            databases,
            ..SearchOptions::default()
        };
        match session.search(query, &options).await {
            Ok(result) => {
                self.found(result.hits, output)?;
                Ok(Exit::Delivered)
            }
            Err(error) => Ok(failed(&error, output)),
        }
    }

    fn found(&mut self, hits: u64, output: &mut Output) -> Result<(), Failure> {
        self.result_set = Some(ResultSet { hits, next: 1 });
        output.line(&format!(
            "{hits} {}",
            if hits == 1 { "hit" } else { "hits" }
        ))
    }

    /// Position `position` has been shown.
    fn passed(&mut self, position: u64) {
        if let Some(set) = &mut self.result_set {
            set.next = position.saturating_add(1);
        }
    }

    async fn show(&mut self, span: Option<Span>, output: &mut Output) -> Result<Exit, Failure> {
        let session = match self.session(output) {
            Ok(session) => session,
            Err(exit) => return Ok(exit),
        };
        let span = match (&self.result_set, span) {
            (None, _) => {
                output.error("there is no result set; find QUERY makes one");
                return Ok(Exit::Usage);
            }
            (Some(set), None) if set.next > set.hits => {
                output.error(&format!("all {} records have been shown", set.hits));
                return Ok(Exit::Usage);
            }
            (Some(set), None) => Span {
                start: set.next,
                count: 1,
            },
            (Some(_), Some(span)) => span,
        };
        let mut document = self.document.clone();
        let exit = self.records(&session, span, &mut document, output).await;
        output.end(&mut document)?;
        exit
    }

    /// Presents until all records of the span have come: a server may answer with fewer than were asked for.
    async fn records(
        &mut self,
        session: &Session,
        span: Span,
        document: &mut Document,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let options = PresentOptions {
            element_set: self
                .preferences
                .element_set
                .as_ref()
                .map(|name| InternationalString::from(name.as_bytes())),
            record_syntax: self.preferences.record_syntax,
            ..PresentOptions::default()
        };
        let mut exit = Exit::Delivered;
        let mut position = span.start;
        let mut wanted = span.count;
        while wanted > 0 {
            let result = match session.present(position, wanted, &options).await {
                Ok(result) => result,
                Err(error) => return Ok(exit.and(failed(&error, output))),
            };
            if result.records.is_empty() {
                output.error(&format!("the server sent no record at position {position}"));
                return Ok(exit.and(Exit::Transport));
            }
            for record in result.records {
                match record {
                    ResultRecord::Record { external, .. } => {
                        exit = exit.and(output.record(&external, document)?);
                    }
                    ResultRecord::Diagnostic { diagnostic, .. } => {
                        output.error(&format!(
                            "record {position}: {}",
                            Diagnostics(vec![diagnostic])
                        ));
                        exit = exit.and(Exit::Refused);
                    }
                }
                self.passed(position);
                position = position.saturating_add(1);
                wanted = wanted.saturating_sub(1);
            }
        }
        Ok(exit)
    }

    fn base(&mut self, names: &[String], output: &mut Output) -> Result<Exit, Failure> {
        if names.is_empty() {
            let names: Vec<String> = self
                .preferences
                .databases
                .iter()
                .map(|name| shown(name.as_bytes()))
                .collect();
            output.line(
                if names.is_empty() {
                    DEFAULT_DATABASE.into()
                } else {
                    names.join(" ")
                }
                .as_str(),
            )?;
        } else {
            self.preferences.databases = names
                .iter()
                .map(|name| Octets::from(name.as_str()))
                .collect();
        }
        Ok(Exit::Delivered)
    }

    fn record_syntax(&mut self, name: Option<&str>, output: &mut Output) -> Result<Exit, Failure> {
        match name {
            None => {
                let syntax = self.preferences.record_syntax;
                output.line(&syntax.map_or("none".into(), |syntax: Oid| format!("{syntax:?}")))?;
            }
            Some("none") => self.preferences.record_syntax = None,
            Some(name) => match record_syntax_by_name(name.as_bytes()) {
                Some(syntax) => self.preferences.record_syntax = Some(syntax),
                None => {
                    output.error(&format!(
                        "record syntax {name} is not known; give its object identifier"
                    ));
                    return Ok(Exit::Usage);
                }
            },
        }
        Ok(Exit::Delivered)
    }

    fn elements(&mut self, name: Option<String>, output: &mut Output) -> Result<Exit, Failure> {
        match name.as_deref() {
            None => {
                let name = self.preferences.element_set.as_ref();
                output.line(&name.map_or("none".into(), |name| shown(name.as_bytes())))?;
            }
            Some("none") => self.preferences.element_set = None,
            Some(name) => self.preferences.element_set = Some(Octets::from(name)),
        }
        Ok(Exit::Delivered)
    }

    fn querytype(&mut self, name: Option<&str>, output: &mut Output) -> Result<Exit, Failure> {
        let Some(name) = name else {
            output.line(self.query_type.name())?;
            return Ok(Exit::Delivered);
        };
        match QueryType::by_name(name) {
            Some(query_type) => {
                self.query_type = query_type;
                Ok(Exit::Delivered)
            }
            None => {
                let names = QueryType::names();
                output.error(&format!("{name} is not a query type: {names}"));
                Ok(Exit::Usage)
            }
        }
    }

    async fn close(&mut self, output: &Output) -> Result<Exit, Failure> {
        let session = match self.session(output) {
            Ok(session) => session,
            Err(exit) => return Ok(exit),
        };
        self.session = None;
        self.result_set = None;
        match session.close().await {
            Ok(()) => Ok(Exit::Delivered),
            Err(error) => Ok(failed(&error, output)),
        }
    }
}

fn help(entry: Option<&Entry>, output: &mut Output) -> Result<Exit, Failure> {
    match entry {
        Some(entry) => output.line(&entry.help())?,
        None => {
            for entry in TABLE {
                output.line(&format!("{:<24} {}", entry.usage(), entry.summary))?;
            }
        }
    }
    Ok(Exit::Delivered)
}

fn failed(error: &Error, output: &Output) -> Exit {
    let (exit, message) = explain(error);
    output.error(&message);
    exit
}

fn refused(error: &OpenError, plan: &Plan, output: &Output) -> Exit {
    match error {
        OpenError::Session(error) => {
            let (exit, message) = explain(error);
            output.error(&format!(
                "{message} (server {}:{})",
                plan.host(),
                plan.port()
            ));
            exit
        }
        OpenError::PortRefused(_) => {
            output.error(&error.to_string());
            Exit::PortRefused
        }
        OpenError::Plan(_) => {
            output.error(&error.to_string());
            Exit::Usage
        }
    }
}
