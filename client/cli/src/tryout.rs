//! `z3950 try`: executes a retrieval URL and a session URL (RFC 2056 §3, §4) against the built-in server, shows both
//! conversations, and then continues at the prompt with the open session.

mod layout;
mod words;

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::Args;
use tokio::runtime::Runtime;
use z3950::client::{Client, ClientOptions};
use z3950::profile::Profiles;
use z3950::retrieve::Outcome;
use z3950::transport::{Routes, Tcp};
use z3950::url::{Kind, Mode, Octets, Z3950Url};

use self::layout::{Conversation, Entry};
use crate::commands::connection::{RecordStrategy, demo};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::console::report::explain_outcome;
use crate::prompt::{Introduction, is_at_terminal, open_introduced};
use crate::render::{folded, named};
use crate::tape::Tape;

#[derive(Debug, Args)]
pub(crate) struct Try {
    /// A retrieval URL to execute instead of the example. The built-in server answers, whatever the host, and the
    /// session is opened with the databases in the URL.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<OsString>,

    #[command(flatten)]
    pub(crate) request: RecordStrategy,

    /// The built-in server always answers, so this option changes nothing.
    #[arg(long, hide = true)]
    pub(crate) demo: bool,
}

/// The width of the output if the width of the terminal is unknown.
const USUAL_WIDTH: usize = 80;
/// The maximum width of the output, because longer lines are hard to read.
const MAX_WIDTH: usize = 120;

/// The suggestions shown before the prompt. Each consists of a line to type and its effect.
const HINTS: [(&str, &str); 3] = [
    (
        "find ti:war",
        "searches for a title, by a Search in this session",
    ),
    (
        "makeurl 1",
        "gives the retrieval URL of the first record found",
    ),
    ("last 4", "lists the last four messages of this session"),
];

pub(crate) fn run(
    arguments: &Try,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let waiting = output.waiting();
    let retrieving = waiting.during(Interrupt.or(Retrieved::by(arguments, output)));
    let retrieved = match runtime.block_on(retrieving) {
        Ok(retrieved) => retrieved?,
        Err(Stopped(exit)) => return Ok(exit),
    };
    let exit = retrieved.exit();
    let (tape, mut options) = (Tape::default(), ClientOptions::default());
    options.plan.allow_reserved_port = true;
    let client = Client::with_routes(options, tape.on(retrieved.routes()));
    let client = client.with_profiles(Profiles::built_in());
    let url = session_url(&retrieved.url)?.to_string();
    let introduce = |output: &Output| retrieved.introduction(&url, &tape, output);
    let client = (client, tape.clone());
    let ended = open_introduced(client, &url, introduce, runtime, output)?;
    Ok(exit.and(ended))
}

/// A retrieval URL that was executed against the built-in server.
struct Retrieved {
    server: SocketAddr,
    url: Z3950Url,
    tape: Tape,
    outcome: Outcome,
}

impl Retrieved {
    /// Starts the server and executes the user's URL, or else the example.
    async fn by(arguments: &Try, output: &Output) -> Result<Self, Failure> {
        let server = demo().await?;
        let url = match &arguments.url {
            Some(text) => text.as_encoded_bytes().to_vec(),
            None => example(server).into_bytes(),
        };
        let url = retrieval_url(&url)?;
        let (tape, mut options) = (Tape::default(), ClientOptions::default());
        options.awaits_close = true;
        options.plan.strategy = arguments.request.strategy;
        // No connection is made to this port, because all hosts and ports lead to the built-in server.
        options.plan.allow_reserved_port = true;
        let routes = Routes::fixed(Tcp::new(server));
        let client = Client::with_routes(options, tape.on(routes));
        let refused = |error| Failure::Usage(format!("{url}: {error}"));
        let plan = client.plan(&url).await.map_err(refused)?;
        for warning in &plan.warnings {
            output.warning(&warning.to_string());
        }
        let retrieval = client.retrieve_plan(&plan).await.map_err(refused)?;
        Ok(Self {
            server,
            url,
            tape,
            outcome: retrieval.outcome,
        })
    }

    /// Returns routes that lead to the built-in server for every host, and never use a proxy.
    fn routes(&self) -> Routes {
        Routes::fixed(Tcp::new(self.server))
    }

    /// Returns the exit code with which `get` would end.
    fn exit(&self) -> Exit {
        match &self.outcome {
            Outcome::Delivered(_) => Exit::Delivered,
            outcome => explain_outcome(outcome).0,
        }
    }

    /// Returns text that compares the conversation for the retrieval with the one for the session, which has just been
    /// opened for `url` and recorded on `tape`. At a terminal, suggestions for what to type follow.
    fn introduction(&self, url: &str, tape: &Tape, output: &Output) -> Introduction {
        let width = output
            .screen()
            .map_or(USUAL_WIDTH, |(columns, _)| columns)
            .min(MAX_WIDTH);
        let mut lines = self.heading(url, width);
        lines.extend(self.conversations(tape, width));
        lines.push(String::new());
        for words in [
            "→ sent by this client, ← sent by the server; sections (§) of Z39.50-2003.",
            "A retrieval ends by itself; a session lasts until its user ends it.",
        ] {
            lines.extend(folded(words, width, 0));
        }
        if is_at_terminal(output) {
            lines.extend(hints(width));
        }
        let text = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let error = match &self.outcome {
            Outcome::Delivered(_) => None,
            outcome => Some(explain_outcome(outcome).1),
        };
        Introduction { text, error }
    }

    fn conversations(&self, session: &Tape, width: usize) -> Vec<String> {
        let result = match &self.outcome {
            Outcome::Delivered(_) => "The retrieval is over, and has its record.",
            _ => "The retrieval is over, without a record.",
        };
        let closed = Entry::state("(closed)", result);
        let retrieval = Conversation::new("Retrieval", &self.tape, closed);
        let open = Entry::state("(open)", "The session waits for what its user asks next.");
        let session = Conversation::new("Session", session, open);
        layout::conversations(&retrieval, &session, width)
    }

    /// Returns the lines that name the server and both URLs.
    fn heading(&self, session: &str, width: usize) -> Vec<String> {
        let server = format!(
            "Both kinds of URL of RFC 2056, carried out at a built-in server, {}, to which every host leads in this command:",
            self.server
        );
        let mut lines = folded(&server, width, 0);
        lines.push(String::new());
        for (name, url) in [
            ("retrieval (RFC 2056 §4)", self.url.to_string()),
            ("session (RFC 2056 §3)", session.to_owned()),
        ] {
            lines.extend(folded(&format!("{name:<25}{url}"), width, 2));
        }
        lines.push(String::new());
        lines
    }
}

/// Returns the lines with suggestions for what to type at the prompt.
fn hints(width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.extend(folded(
        "You are in the session now. Type, for example:",
        width,
        0,
    ));
    for (command, purpose) in HINTS {
        lines.extend(folded(&format!("  {command:<13}{purpose}"), width, 15));
    }
    lines.extend(folded(
        "`help` lists the usual commands, `help all` lists all of them; `quit` ends the session and the server.",
        width,
        0,
    ));
    lines
}

/// Returns the retrieval URL that is executed if the user gives none.
fn example(server: SocketAddr) -> String {
    let port = server.port();
    format!("z39.50r://localhost:{port}/books?pg1342;esn=f;rs=marc")
}

/// Parses a retrieval URL.
fn retrieval_url(text: &[u8]) -> Result<Z3950Url, Failure> {
    let refused = |words: String| Failure::Usage(format!("{}: {words}", named(text)));
    let url = Z3950Url::parse(text, Mode::Lenient).map_err(|error| refused(error.to_string()))?;
    match url.kind() {
        Kind::Retrieval => Ok(url),
        Kind::Session => Err(refused(
            "this is a session URL; `try` takes a retrieval URL, and opens a session with its databases".to_owned(),
        )),
    }
}

/// Returns a session URL with the server and the databases of a retrieval URL.
fn session_url(url: &Z3950Url) -> Result<Z3950Url, Failure> {
    let session = url.to_builder().kind(Kind::Session);
    let session = session.without_docid().without_element_set();
    let session = session
        .record_syntaxes(std::iter::empty::<Octets>())
        .without_extensions();
    session
        .build()
        .map_err(|error| Failure::Usage(format!("{url}: {error}")))
}
