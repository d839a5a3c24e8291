//! `z3950 get`: retrieves the records that URLs name, each by the steps in RFC 2056 §4, from the connection to the
//! record.

use std::ffi::OsString;

use clap::Args;
use tracing::info;
use z3950::Error;
use z3950::client::{Client, ClientOptions};
use z3950::error::chain;
use z3950::find::{Ending, Event};
use z3950::plan::{Caution, Plan};
use z3950::retrieve::Outcome;
use z3950::service::ResultRecord;
use z3950::url::{GopherUrl, Kind, Mode, Z3950Url};
use z3950_asn1::oid::Oid;

use crate::answer::{Answer, Ask, Envelope, Job, Piece, Recipient, SourceNotes, Writing, refuse};
use crate::batch::{Batch, run_all};
use crate::commands::connection::{
    ConnectionOptions, Execution, NOT_SENT, Setup, hide_waiting_line,
};
use crate::commands::fallback::{again_as, found_by};
use crate::commands::gateway::GatewayOption;
use crate::commands::gopher;
use crate::commands::options::RecordOutput;
use crate::commands::plan::databases;
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::logging::shows_apdus;
use crate::console::output::{Failure, Output, Words};
use crate::console::report::explain_outcome;
use crate::render::{listed, named, shown};

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Retrieval URLs: z39.50r://host[:port]/database?docid[;esn=element-set][;rs=record-syntax], or gopher URLs
    #[arg(required_unless_present = "inputs", value_name = "URL")]
    pub(crate) urls: Vec<OsString>,

    #[command(flatten)]
    pub(crate) records: RecordOutput,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Print one JSON object per line, with the record inside.
    #[arg(long, conflicts_with_all = ["format", "fields", "row_per_copy"])]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) gopher: gopher::Arguments,

    #[command(flatten)]
    pub(crate) gateway: GatewayOption,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

pub(crate) async fn run(arguments: &Get, output: &mut Output) -> Result<Exit, Failure> {
    let batch = &arguments.batch;
    if batch.is_wanted() && arguments.gopher.has_input() {
        let words = "--query and --answer are for Gopher URLs, which a batch does not fetch";
        return Err(Failure::Usage(words.to_owned()));
    }
    let misfit = arguments
        .gopher
        .misfit(&arguments.urls, arguments.execution.mode());
    if let Some(words) = misfit {
        return Err(Failure::Usage(words));
    }
    let writing = Writing {
        json: arguments.json,
        style: arguments
            .records
            .style_in(batch.format(arguments.records.format())?)?,
        charset: arguments.records.charset,
    };
    let gateway = arguments
        .gateway
        .chosen(&arguments.connection, &arguments.execution)?;
    let setup = Setup::read(&arguments.connection).await?;
    let mut options = ClientOptions::default().with_timeouts(setup.timeouts);
    let identity = &arguments.connection.identity;
    options.plan = arguments.execution.plan_options(setup.init, identity);
    options.awaits_close = shows_apdus();
    options.max_repeats = batch.max_repeats();
    options.keep_open = arguments.execution.keep_open || batch.is_wanted();
    let mut client = Client::with_routes(options, setup.routes).with_profiles(setup.profiles);
    if let Some(gateway) = gateway {
        client = client.with_gateway(gateway.clone());
    }
    for url in arguments.urls.iter().filter(|_| gateway.is_none()) {
        let url = Z3950Url::parse(url.as_encoded_bytes(), Mode::Lenient);
        if let Some((_, entry)) = url.ok().and_then(|url| client.profiles().of_url(&url)) {
            hide_waiting_line(&entry.profile, output);
        }
    }
    let retriever = Retriever {
        client: client.clone(),
        mode: arguments.execution.mode(),
        is_demo: arguments.connection.network.demo,
        gateway: gateway.map(ToString::to_string),
        writing: writing.clone(),
        notes: SourceNotes::default(),
    };
    let retriever = &retriever;
    let job = |urls: &[OsString]| {
        let work = async move |ask: &Ask, recipient: &mut Recipient| {
            retriever.answer(ask, recipient).await
        };
        Job {
            jobs: batch.jobs(1),
            takes_urls: true,
            ..Job::new(work, urls, vec![String::new()], writing.style.clone())
        }
    };
    let exit = if batch.is_wanted() {
        run_all(batch, job(&arguments.urls), output).await?
    } else {
        print(arguments, &client, job, output).await?
    };
    // If a signal arrives, the program does not wait for the sessions to close.
    Interrupt.or_end(client.close_all()).await;
    Ok(exit)
}

/// Answers the URLs in order. Gopher URLs do not lead to records, so they are fetched directly, and are not allowed in
/// a batch.
async fn print<W: AsyncFn(&Ask, &mut Recipient) -> Answer>(
    arguments: &Get,
    client: &Client,
    job: impl Fn(&[OsString]) -> Job<W>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let is_gopher = |url: &OsString| GopherUrl::has_scheme(url.as_encoded_bytes());
    let gopher = gopher::Fetch {
        arguments: &arguments.gopher,
        execution: &arguments.execution,
        network: &arguments.connection.network,
        format: arguments.records.format(),
        json: arguments.json,
        client,
    };
    let urls = arguments.urls.as_slice();
    let mut exit = Exit::Delivered;
    for urls in urls.chunk_by(|one, other| !is_gopher(one) && !is_gopher(other)) {
        let one = match urls {
            [url] if is_gopher(url) => {
                let waiting = output.waiting();
                let fetched = Interrupt.exit(gopher.run(url, output));
                waiting.during(fetched).await?
            }
            urls => job(urls).print(output).await?,
        };
        exit = exit.and(one);
        if one.is_by_signal() {
            break;
        }
    }
    Ok(exit)
}

/// The implementation of `get`, which retrieves the records that URLs name.
struct Retriever {
    client: Client,
    mode: Mode,
    /// Whether the built-in catalogue answers in place of servers.
    is_demo: bool,
    /// The gateway that is used in place of the servers; `None` without a gateway.
    gateway: Option<String>,
    writing: Writing,
    notes: SourceNotes,
}

impl Retriever {
    async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let (url, plan) = match self.plan(&ask.input).await {
            Ok(planned) => planned,
            Err(words) => return refuse(ask, words, recipient).await,
        };
        info!(
            host = %plan.host,
            port = plan.port,
            databases = %listed(&databases(&plan)),
            docid = %docid(&plan),
            element_set = plan.defaults.element_set.as_ref().map(tracing::field::display),
            record_syntax = plan.defaults.record_syntax.map(tracing::field::debug),
            "retrieving"
        );
        for warning in &plan.warnings {
            recipient.send(Words::Warning(warning.to_string())).await;
        }
        if plan
            .cautions
            .contains(&Caution::Credentials { sent: false })
        {
            let words = format!("{url}: {NOT_SENT}");
            recipient.send(Words::Warning(words)).await;
        }
        let mut form = plan.searches().into_iter().next().unwrap_or_default();
        let mut record = None;
        let mut failure = None;
        let mut requested = None;
        let mut ended = Ending::default();
        let mut events = self.client.find_planned(plan.clone());
        while let Some(event) = events.next().await {
            match event {
                Event::Again { reason, step, .. } => {
                    let words = again_as(&form, &reason, &step);
                    recipient.send(Words::Note(words)).await;
                    form = step;
                }
                Event::Found(found) => {
                    if let Some(words) = found.step.as_deref().and_then(found_by) {
                        recipient.send(Words::Note(words)).await;
                    }
                    let server = format!("{}:{}", plan.host, plan.port);
                    for words in self.notes.of(&server, &found.sources, self.writing.json) {
                        recipient.send(words).await;
                    }
                }
                Event::Record { record: came, .. } => record = Some(came),
                Event::Done {
                    record_syntax,
                    error,
                    ..
                } => (requested, failure) = (record_syntax, error),
                Event::Ended(ending) => ended = *ending,
                _ => {}
            }
        }
        let outcome = match record {
            Some(ResultRecord::Diagnostic { diagnostic, .. }) => {
                Outcome::RecordDiagnostic { diagnostic }
            }
            Some(record) => {
                let delivered = self.delivered(&url, &plan, ended, &record, requested);
                return recipient.last(delivered).await;
            }
            None => Outcome::Failed(failure.unwrap_or(Error::NoMatch)),
        };
        let failed = self.failed(&url, &plan, ended, &outcome);
        recipient.last(failed).await
    }

    /// Parses and plans a URL. Fails with the reason why it cannot be retrieved.
    async fn plan(&self, text: &[u8]) -> Result<(Z3950Url, Plan), String> {
        if GopherUrl::has_scheme(text) {
            let url = named(text);
            return Err(format!("{url} is not a record; use: z3950 get {url}"));
        }
        let url = Z3950Url::parse(text, self.mode)
            .map_err(|error| format!("{}: {error}", named(text)))?;
        if url.kind() == Kind::Session {
            let demo = if self.is_demo { "--demo " } else { "" };
            return Err(format!(
                "{url} opens a session; use: z3950 {demo}open {url}"
            ));
        }
        match self.client.plan(&url).await {
            Ok(plan) => Ok((url, plan)),
            Err(error) => Err(format!("{url}: {}", chain(&error))),
        }
    }

    /// Formats the reason why a record was not retrieved.
    fn failed(
        &self,
        url: &Z3950Url,
        plan: &Plan,
        ended: Ending,
        outcome: &Outcome,
    ) -> (Piece, Answer) {
        let (exit, message) = explain_outcome(outcome);
        let way = match &self.gateway {
            Some(gateway) => format!(", through the gateway {gateway}"),
            None if self.is_demo => ", --demo".to_owned(),
            None => String::new(),
        };
        let words = format!(
            "{message} (docid {}, {}, server {}:{}{way})",
            docid(plan),
            listed(&databases(plan)),
            plan.host,
            plan.port,
        );
        let mut answer = Answer::from(ended).saying(message);
        answer.exit = exit;
        self.writing.end_with(answer, || envelope(url, plan), words)
    }

    /// Formats the retrieved record, and returns it with the answer.
    fn delivered(
        &self,
        url: &Z3950Url,
        plan: &Plan,
        ended: Ending,
        record: &ResultRecord,
        requested: Option<Oid>,
    ) -> (Piece, Answer) {
        // The command line and the profile override the character set that the record declares.
        let mut writing = self.writing.clone();
        writing.charset = writing.charset.or(plan.record_charset());
        let sources = ended.sources.clone();
        let answer = Answer::from(ended).with_source_messages(&sources);
        let subject = url.to_string();
        let envelope = || envelope(url, plan);
        let (mut piece, answer) = writing.slot(answer, envelope, record, &subject, "the record");
        if let ResultRecord::Record { external, .. } = record
            && let (Some(requested), Some(syntax)) = (requested, external.direct_reference)
            && requested != syntax
        {
            let words = format!("the server sent {syntax:?} instead of {requested:?}");
            piece.words.insert(0, Words::Note(words));
        }
        (piece, answer)
    }
}

fn envelope(url: &Z3950Url, plan: &Plan) -> Envelope {
    Envelope::new(&plan.host, plan.port, databases(plan), &gopher::KEYS)
        .with("url", url.to_string())
        .with("docid", docid(plan))
        .requested(plan.defaults.record_syntax)
}

fn docid(plan: &Plan) -> String {
    plan.docid
        .as_ref()
        .map_or_else(String::new, |docid| shown(docid.as_bytes()))
}
