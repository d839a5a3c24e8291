//! `z3950 get gopher://…`: fetches an item from a Gopher server, and interprets it according to its type (RFC 1436,
//! Gopher URL draft).

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950::Client;
use z3950::gopher::{
    self, Attributes, Body, GopherError, GopherOptions, GopherPlanError, MAX_REPLY, MenuItem,
    Question, QuestionKind, Reply,
};
use z3950::retrieve::{Outcome, OutcomeName};
use z3950::target::Endpoint;
use z3950::transport::{Connect, Routes};
use z3950::url::{
    BuildError, Caution, GopherPlus, GopherUrl, Locator, Mode, PlusRequest, PlusWire, Url,
};

use crate::answer::Envelope;
use crate::commands::connection::{self, Execution, Network};
use crate::commands::options::choices;
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::output::{Failure, Output};
use crate::console::report::explain;
use crate::render::{Format, columns_of, named, padded};
use z3950::error::chain;

/// Options that `get` has for Gopher URLs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options for gopher URLs")]
pub(crate) struct Arguments {
    /// The search term, if the URL is a search without one.
    #[arg(long, value_name = "TERM", hide_short_help = true)]
    query: Option<OsString>,

    /// Answer to a question in the item's form; repeat it for each question, in order.
    #[arg(
        long = "answer",
        value_name = "TEXT",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    answers: Vec<OsString>,

    /// How many tabs precede a Gopher+ string without a search term: two, as in the draft standard, or one, as older
    /// servers expect.
    #[arg(
        long,
        value_parser = choices(&[("draft", PlusWire::Draft, "Two, as the draft (§2.4) writes it; one before a filled form (§3.2)"), ("protocol", PlusWire::Protocol, "One, as servers of 1993 know it")]),
        default_value = "draft",
        value_name = "HOW",
        hide_short_help = true
    )]
    gopherplus_wire: PlusWire,

    /// The largest reply accepted, in octets.
    #[arg(long, default_value_t = MAX_REPLY, value_name = "OCTETS", hide_short_help = true)]
    max_size: usize,
}

/// The keys that `get --json` adds to an object.
pub(crate) const KEYS: [&str; 2] = ["url", "docid"];

/// The part of `get` that fetches Gopher URLs.
pub(crate) struct Fetch<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) execution: &'a Execution,
    pub(crate) network: &'a Network,
    pub(crate) format: Format,
    pub(crate) json: bool,
    /// The client whose gateway fetches the URLs, if it has a gateway.
    pub(crate) client: &'a Client,
}

impl Arguments {
    /// If an option has no effect on one of the URLs, returns a message about this; `None` if the options apply to all
    /// of them.
    pub(crate) fn misfit(&self, urls: &[OsString], mode: Mode) -> Option<String> {
        let needs = |url: &OsString, wanted: GopherPlanError| {
            let text = url.as_encoded_bytes();
            match GopherUrl::parse(text, mode) {
                // The URL is invalid, and the error about the URL is more helpful than one about the option.
                Err(_) if GopherUrl::has_scheme(text) => true,
                Err(_) => false,
                Ok(url) => match wanted {
                    GopherPlanError::NeedsSearchTerm => url.needs_search_term(),
                    _ => url.plus().map(GopherPlus::request) == Some(PlusRequest::Form),
                },
            }
        };
        let unfit = |is_given: bool, wanted: GopherPlanError, words: &str| {
            let url = urls.iter().find(|url| !needs(url, wanted.clone()))?;
            let url = named(url.as_encoded_bytes());
            is_given.then(|| format!("{words}, and {url} is not"))
        };
        let search = "--query is for Gopher searches without a term";
        let form =
            "--answer is for Gopher items with a form to fill in (a URL that ends in %09%09?)";
        unfit(
            self.query.is_some(),
            GopherPlanError::NeedsSearchTerm,
            search,
        )
        .or_else(|| {
            let is_given = !self.answers.is_empty();
            unfit(is_given, GopherPlanError::NeedsAnswers, form)
        })
    }

    /// Returns whether an option is given that only applies to searches or forms.
    pub(crate) fn has_input(&self) -> bool {
        self.query.is_some() || !self.answers.is_empty()
    }
}

impl Fetch<'_> {
    /// Fetches a URL and writes the reply.
    pub(crate) async fn run(&self, text: &OsStr, output: &mut Output) -> Result<Exit, Failure> {
        let text = text.as_encoded_bytes();
        let url = match GopherUrl::parse(text, self.execution.mode()) {
            Ok(url) => url,
            Err(error) => {
                output.error(&format!("{}: {error}", named(text)));
                return Ok(Exit::Usage);
            }
        };
        if !self.json && !matches!(self.format, Format::Text | Format::Json | Format::Raw) {
            let name = self.format.name();
            output.error(&format!(
                "{url} is not a MARC record, as --format {name} requires; try --format text, json or raw"
            ));
            return Ok(Exit::Usage);
        }
        let demo = "the built-in catalogue does not speak Gopher";
        let refusal = self.network.demo.then_some(demo);
        if let Some(words) = refusal {
            let envelope = envelope(&url).outcome(OutcomeName::NotSent, words);
            envelope.or_error(self.json, &format!("{url}: {words}"), output)?;
            return Ok(Exit::Usage);
        }
        let cautions = Locator::from(Url::Gopher(url.clone())).cautions();
        if cautions.contains(&Caution::EscapedControl) {
            output.warning(&format!("{}: {url}", Caution::EscapedControl));
        }
        let options = self.options();
        let retrieved = match self.completed(&url, &options, output).await? {
            Ok(complete) => self.fetched(&complete, &options).await?,
            Err(error) => Err(error),
        };
        match retrieved {
            Ok(reply) => {
                for note in &reply.notes {
                    output.note(&note.to_string());
                }
                self.write(&url, &reply, output)?;
                Ok(Exit::Delivered)
            }
            // Messages show the URL as it was given, because the answers added to it may contain a password.
            Err(error) => {
                let (exit, message) = explained(&error);
                let envelope = envelope(&url).outcome(outcome(&error), &message);
                envelope.or_error(self.json, &format!("{message} ({url})"), output)?;
                Ok(exit)
            }
        }
    }

    /// Fetches a URL that needs no further input, through the gateway if there is one.
    async fn fetched(
        &self,
        url: &GopherUrl,
        options: &GopherOptions,
    ) -> Result<Result<Reply, GopherError>, Failure> {
        if let Some(fetched) = self.client.gopher_by_gateway(url, options).await {
            return Ok(fetched);
        }
        let server = server(&connection::routes(self.network).await?, url)?;
        Ok(gopher::retrieve(url, options, &server).await)
    }

    /// Returns the URL with the search term or the answers to its form added. A form is first fetched from the server
    /// (RFC 1738 §3.4.5).
    async fn completed(
        &self,
        url: &GopherUrl,
        options: &GopherOptions,
        output: &mut Output,
    ) -> Result<Result<GopherUrl, GopherError>, Failure> {
        match gopher::plan(url, options) {
            Err(GopherPlanError::NeedsSearchTerm) => {
                let term = match &self.arguments.query {
                    Some(term) => Some(term.as_encoded_bytes().to_vec()),
                    None => ask("search for", output).await?,
                };
                let Some(term) = term else {
                    return Ok(Err(GopherPlanError::NeedsSearchTerm.into()));
                };
                Ok(url.to_builder().search(term).build().map_err(unsendable))
            }
            Err(GopherPlanError::NeedsAnswers) => {
                let given: Vec<Vec<u8>> = self
                    .arguments
                    .answers
                    .iter()
                    .map(|answer| answer.as_encoded_bytes().to_vec())
                    .collect();
                // Answers that cannot be sent are refused before anything is requested.
                if let Err(error) = filled(url, &given) {
                    return Ok(Err(error));
                }
                let Some(form) = gopher::form_of(url) else {
                    return Ok(Err(GopherPlanError::NoForm.into()));
                };
                let questions = match self.fetched(&form, options).await? {
                    Ok(reply) => reply.questions(),
                    Err(error) => return Ok(Err(error)),
                };
                if questions.is_empty() {
                    return Ok(Err(GopherPlanError::NoForm.into()));
                }
                let answered = answered(&questions, given, output).await?;
                Ok(answered.and_then(|answers| filled(url, &answers)))
            }
            _ => Ok(Ok(url.clone())),
        }
    }

    fn write(&self, url: &GopherUrl, reply: &Reply, output: &mut Output) -> Result<(), Failure> {
        match self.format {
            _ if self.json => envelope(url)
                .with("outcome", OutcomeName::Delivered.as_str())
                .with("record", object(url, reply))
                .write(output),
            Format::Json => output.line(&object(url, reply).to_string()),
            Format::Raw => output.octets(&reply.octets, true),
            _ => write_text(reply, output),
        }
    }

    fn options(&self) -> GopherOptions {
        let mut options = GopherOptions::default();
        options.timeouts = connection::timeouts(self.network);
        options.wire = self.arguments.gopherplus_wire;
        options.max_octets = self.arguments.max_size;
        options.allow_reserved_port = self.execution.allow_reserved_port;
        options
    }
}

/// Returns the connector for the server of a URL.
pub(crate) fn server(routes: &Routes, url: &GopherUrl) -> Result<Arc<dyn Connect>, Failure> {
    let endpoint = Endpoint::Tcp(url.host().clone(), url.port());
    routes
        .to(&endpoint, None)
        .map_err(|error| connection::usage(&error))
}

/// Returns the exit code for an error, and its message with all causes.
pub(crate) fn explained(error: &GopherError) -> (Exit, String) {
    if let GopherError::Connect(error) = error {
        return explain(error);
    }
    let mut message = chain(error);
    message.push_str(match error {
        GopherError::Plan(GopherPlanError::NeedsSearchTerm) => "; give one with --query",
        GopherError::Plan(GopherPlanError::NeedsAnswers) => "; give an --answer for each question",
        GopherError::TooLarge(_) => "; --max-size raises it",
        _ => "",
    });
    (outcome(error).into(), message)
}

/// Returns the object for `--json`, without the outcome.
fn envelope(url: &GopherUrl) -> Envelope {
    Envelope::new(url.host(), url.port(), Vec::new(), &KEYS).with("url", url.to_string())
}

fn outcome(error: &GopherError) -> OutcomeName {
    match error {
        GopherError::Plan(GopherPlanError::PortRefused(_)) => OutcomeName::PortRefused,
        GopherError::Plan(_) => OutcomeName::NotSent,
        GopherError::Connect(error) => Outcome::from(error.clone()).name(),
        GopherError::Interrupted { .. } => OutcomeName::Unavailable,
        GopherError::Server(error) if error.is_temporary() => OutcomeName::Unavailable,
        GopherError::Server(error) if error.is_gone() => OutcomeName::NoMatch,
        GopherError::Server(_) => OutcomeName::RecordRefused,
        _ => OutcomeName::ProtocolError,
    }
}

/// Returns the error for a term or answer that cannot be sent, because it contains a tab, a line end or a lone dot.
fn unsendable(error: BuildError) -> GopherError {
    GopherPlanError::from(error).into()
}

/// Returns the URL with the answers to the item's form (draft §3.2).
fn filled(url: &GopherUrl, answers: &[Vec<u8>]) -> Result<GopherUrl, GopherError> {
    let builder = url.to_builder().ask_forms(true).answers(answers);
    let built = builder.and_then(|builder| builder.build());
    built.map_err(unsendable)
}

/// Returns an answer to each question of a form: those that were given, in order, followed by those that the user types
/// at a terminal. Without a terminal, shows the questions that have no answer.
async fn answered(
    questions: &[Question],
    given: Vec<Vec<u8>>,
    output: &mut Output,
) -> Result<Result<Vec<Vec<u8>>, GopherError>, Failure> {
    let wanted = questions
        .iter()
        .filter(|question| question.wants_answer())
        .count();
    if given.len() > wanted {
        let error = GopherPlanError::TooManyAnswers {
            questions: wanted,
            answers: given.len(),
        };
        return Ok(Err(error.into()));
    }
    let mut given = given.into_iter();
    let mut answers = Vec::new();
    for question in questions {
        let prompt = match (question.kind, question.options.is_empty()) {
            (QuestionKind::Password, _) => format!("{} (shown as it is typed)", question.prompt),
            (_, true) => question.prompt.clone(),
            (_, false) => format!("{} [{}]", question.prompt, question.options.join("|")),
        };
        if !question.wants_answer() {
            output.note(&prompt);
        } else if let Some(answer) = given.next() {
            answers.push(answer);
        } else if !is_attended() {
            output.note(&format!("no answer: {prompt}"));
        } else if let Some(answer) = ask(&prompt, output).await? {
            answers.push(answer);
        }
    }
    if answers.len() < wanted {
        return Ok(Err(GopherPlanError::NeedsAnswers.into()));
    }
    Ok(Ok(answers))
}

/// Reads a line from the terminal. Returns `None` at the end of the input.
async fn ask(prompt: &str, output: &mut Output) -> Result<Option<Vec<u8>>, Failure> {
    if !is_attended() {
        return Ok(None);
    }
    output.note(&format!("{prompt}?"));
    // Reading blocks, so it runs in another thread and Ctrl-C can still end the program.
    tokio::task::spawn_blocking(|| Lines::stdin().next())
        .await
        .map_err(|error| Failure::machine("read from the terminal", &error))?
}

fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn write_text(reply: &Reply, output: &mut Output) -> Result<(), Failure> {
    match &reply.body {
        Body::Text(octets) | Body::Binary(octets) => output.octets(octets, false),
        Body::Menu(items) => write_menu(items, output),
        Body::Attributes(items) => {
            items
                .iter()
                .flat_map(|item| &item.blocks)
                .try_for_each(|block| {
                    output.line(&format!("{}:", block.name))?;
                    let mut lines = block.lines.iter();
                    lines.try_for_each(|line| output.line(&format!(" {line}")))
                })
        }
    }
}

/// The maximum width of the menu's display strings, in characters.
const WIDEST: usize = 60;

fn write_menu(items: &[MenuItem], output: &mut Output) -> Result<(), Failure> {
    let located = items.iter().filter(|item| item.url.is_some());
    let width = located
        .map(|item| columns_of(&item.display))
        .max()
        .unwrap_or(0)
        .min(WIDEST);
    for item in items {
        let display = &item.display;
        output.line(&match &item.url {
            _ if item.is_information() => format!("  {display}"),
            None => format!("{} {display}", item.item_type),
            Some(url) => format!("{} {}  {url}", item.item_type, padded(display, width)),
        })?;
    }
    Ok(())
}

/// Returns an object with the type and contents of the item.
fn object(url: &GopherUrl, reply: &Reply) -> Value {
    let (kind, content, value) = match &reply.body {
        Body::Text(octets) => octets_value("text", octets),
        Body::Binary(octets) => octets_value("binary", octets),
        Body::Menu(items) => ("menu", "items", items.iter().map(item_value).collect()),
        Body::Attributes(items) => (
            "attributes",
            "items",
            items.iter().map(attributes_value).collect(),
        ),
    };
    json!({
        "url": url.canonical(),
        "type": url.item_type().to_string(),
        "kind": kind,
        content: value,
    })
}

/// Returns the octets as text if they are UTF-8, and otherwise in base64.
fn octets_value(kind: &'static str, octets: &[u8]) -> (&'static str, &'static str, Value) {
    match std::str::from_utf8(octets) {
        Ok(text) => (kind, "text", text.into()),
        Err(_) => (kind, "base64", STANDARD.encode(octets).into()),
    }
}

fn item_value(item: &MenuItem) -> Value {
    json!({
        "type": item.item_type.to_string(),
        "display": item.display,
        "selector": item.selector.to_string(),
        "host": item.host,
        "port": item.port,
        "plus": item.plus.map(String::from),
        "url": item.url,
    })
}

fn attributes_value(item: &Attributes) -> Value {
    let views: Vec<Value> = item
        .views()
        .iter()
        .map(|view| json!({ "format": view.format, "language": view.language, "size": view.size }))
        .collect();
    let questions: Vec<Value> = item
        .questions()
        .iter()
        .map(|question| {
            let kind = format!("{:?}", question.kind).to_lowercase();
            json!({ "kind": kind, "prompt": question.prompt, "options": question.options })
        })
        .collect();
    let blocks: serde_json::Map<String, Value> = item
        .blocks
        .iter()
        .map(|block| (block.name.clone(), json!(block.lines)))
        .collect();
    json!({
        "item": item.item().as_ref().map(item_value),
        "abstract": item.abstract_text(),
        "views": views,
        "questions": questions,
        "blocks": blocks,
    })
}
