//! `z3950 url check`: of each URL whether it is well formed, a locator or a name, and what to be careful about;
//! with `--follow` also what became of the thing it leads to (RFC 1736 §3, RFC 1738 §6).

use std::ffi::OsString;
use std::path::PathBuf;

use futures_util::{StreamExt, stream};
use serde_json::Value;
use z3950::client::{Client, ClientOptions};
use z3950::gopher::{self, GopherError, GopherOptions, GopherPlanError};
use z3950::plan::{PlanOptions, plan};
use z3950::retrieve::Outcome;
use z3950::transport::Routes;
use z3950::url::{Kind, Locator, Url, UrlError, Z3950Url};

use super::{Remark, answered, mode, refusal, set};
use crate::args::{Network, Reading};
use crate::commands::{connection, gopher as cli_gopher};
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::console::report::explain_outcome;
use crate::console::runtime::{end, threads};
use crate::render::named;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// URLs of any scheme.
    #[arg(required_unless_present = "input", value_name = "URL")]
    urls: Vec<OsString>,

    /// A file with one URL per line; - is standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Fetch z39.50r and gopher URLs, and report whether each is alive, gone (no such record, database or item),
    /// ambiguous (more than one record), refused by the server, or unavailable (no connection or no response: try
    /// again later). The exit code is 8 for gone, and 4, 5 and 6 for the others.
    #[arg(long)]
    follow: bool,

    /// How many URLs to fetch in parallel.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    network: Network,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    if !arguments.follow {
        let mut exit = Exit::Delivered;
        for text in texts(arguments)? {
            exit = exit.and(report(&Finding::of(text?, arguments), arguments, output)?);
        }
        return Ok(exit);
    }
    let runtime = threads()?;
    let exit = runtime.block_on(async {
        let follower = Follower::new(&arguments.network).await?;
        match Interrupt.or(follow(arguments, &follower, output)).await {
            Ok(exit) => exit,
            Err(Stopped(exit)) => Ok(exit),
        }
    });
    end(runtime);
    exit
}

/// The texts to check, one after the other; blank lines of the file are none.
fn texts(arguments: &Arguments) -> Result<impl Iterator<Item = Result<Vec<u8>, Failure>>, Failure> {
    let given = arguments
        .urls
        .iter()
        .map(|url| Ok(url.as_encoded_bytes().to_vec()));
    let mut lines = arguments.input.as_deref().map(Lines::open).transpose()?;
    let read = std::iter::from_fn(move || lines.as_mut()?.next().transpose());
    let is_text = |line: &Result<Vec<u8>, Failure>| match line {
        Ok(line) => !line.trim_ascii().is_empty(),
        Err(_) => true,
    };
    Ok(given.chain(read.filter(is_text)))
}

async fn follow(
    arguments: &Arguments,
    follower: &Follower,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let checks = stream::iter(texts(arguments)?).map(|text| async {
        let mut finding = Finding::of(text?, arguments);
        if let Ok(locator) = &finding.read {
            finding.followed = follower.follow(locator).await;
        }
        Ok::<_, Failure>(finding)
    });
    let mut findings = std::pin::pin!(checks.buffered(usize::from(arguments.jobs)));
    let mut exit = Exit::Delivered;
    while let Some(finding) = findings.next().await {
        exit = exit.and(report(&finding?, arguments, output)?);
    }
    Ok(exit)
}

/// What there is to say of one text.
struct Finding {
    /// The text, without user and password.
    text: String,
    read: Result<Locator, UrlError>,
    followed: Option<Followed>,
}

impl Finding {
    fn of(text: Vec<u8>, arguments: &Arguments) -> Self {
        Self {
            text: named(&text),
            read: Locator::parse(&text, mode(arguments.reading.strict)),
            followed: None,
        }
    }
}

/// What came of following a locator.
struct Followed {
    status: Status,
    detail: String,
    exit: Exit,
}

/// What became of the thing that a locator leads to: RFC 1736 §3 wants a locator that leads nowhere told apart from a
/// server that is away, and neither of them is a server that answers otherwise.
#[derive(Clone, Copy)]
enum Status {
    /// It was fetched.
    Alive,
    /// The server says that there is no such thing: the locator is invalid.
    Gone,
    /// The server has more than one, so the locator does not say which.
    Ambiguous,
    /// The server says no, and not that the thing is missing; or the port is not to be connected to.
    Refused,
    /// There is no server, or no answer: worth trying again.
    Unavailable,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Gone => "gone",
            Self::Ambiguous => "ambiguous",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Follows locators.
struct Follower {
    client: Client,
    /// `None` with `--demo`, whose catalogue speaks no Gopher.
    gopher: Option<GopherOptions>,
    routes: Routes,
}

impl Follower {
    async fn new(network: &Network) -> Result<Self, Failure> {
        let timeouts = connection::timeouts(network);
        let routes = connection::routes(network).await?;
        let options = ClientOptions::default().with_timeouts(timeouts);
        Ok(Self {
            client: Client::with_routes(options, routes.clone()),
            routes,
            gopher: (!network.demo).then(|| {
                let mut options = GopherOptions::default();
                options.timeouts = timeouts;
                options
            }),
        })
    }

    /// `None` for what cannot be followed: other schemes, sessions, searches without a term.
    async fn follow(&self, locator: &Locator) -> Option<Followed> {
        match locator.url() {
            Url::Z3950(url) if url.kind() == Kind::Retrieval => {
                let retrieval = self.client.retrieve(url).await.ok()?;
                let (exit, detail) = explain_outcome(&retrieval.outcome);
                let status = status(&retrieval.outcome);
                Some(Followed::new(status, detail, exit))
            }
            Url::Gopher(url) => {
                let way = cli_gopher::way(&self.routes, url).ok()?;
                match gopher::retrieve(url, self.gopher.as_ref()?, &way).await {
                    Ok(_) => Some(Followed::new(Status::Alive, String::new(), Exit::Delivered)),
                    Err(GopherError::Plan(error))
                        if !matches!(error, GopherPlanError::PortRefused(_)) =>
                    {
                        None
                    }
                    Err(error) => {
                        let status = gopher_status(&error);
                        let (exit, detail) = cli_gopher::explained(&error);
                        Some(Followed::new(status, detail, exit))
                    }
                }
            }
            _ => None,
        }
    }
}

impl Followed {
    fn new(status: Status, detail: String, exit: Exit) -> Self {
        Self {
            exit: match status {
                Status::Gone => Exit::FaultsFound,
                _ => exit,
            },
            detail: match status {
                Status::Alive => String::new(),
                _ => detail,
            },
            status,
        }
    }
}

/// A database that does not exist is as good as no record; one that exists and cannot be searched is not.
fn status(outcome: &Outcome) -> Status {
    /// Bib-1 diagnostic: the database does not exist.
    const NO_DATABASE: i64 = 235;
    /// Bib-1 diagnostic: temporary system error.
    const TEMPORARY: i64 = 2;
    match outcome {
        Outcome::Delivered(_) => Status::Alive,
        Outcome::NoMatch => Status::Gone,
        Outcome::Ambiguous { .. } => Status::Ambiguous,
        Outcome::SearchFailed { diagnostics } | Outcome::PresentFailed { diagnostics } => {
            match diagnostics {
                diagnostics if diagnostics.has(NO_DATABASE) => Status::Gone,
                diagnostics if diagnostics.has(TEMPORARY) => Status::Unavailable,
                _ => Status::Refused,
            }
        }
        Outcome::RecordDiagnostic { .. }
        | Outcome::InitRejected(_)
        | Outcome::AccessRefused { .. }
        | Outcome::PortRefused { .. } => Status::Refused,
        // The server or the way to it failed.
        _ => Status::Unavailable,
    }
}

fn gopher_status(error: &GopherError) -> Status {
    match error {
        GopherError::Server(error) if error.is_gone() => Status::Gone,
        GopherError::Server(error) if error.is_temporary() => Status::Unavailable,
        GopherError::Server(_) | GopherError::Plan(_) => Status::Refused,
        _ => Status::Unavailable,
    }
}

fn report(finding: &Finding, arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let exit = match (&finding.read, &finding.followed) {
        (Err(_), _) => Exit::FaultsFound,
        (Ok(_), Some(followed)) => followed.exit,
        (Ok(_), None) => Exit::Delivered,
    };
    output.line(&match arguments.reading.json {
        true => object(finding).to_string(),
        false => row(finding),
    })?;
    Ok(exit)
}

/// The object of a text; `status` and `detail` are null where it was not followed.
fn object(finding: &Finding) -> Value {
    const KEYS: [&str; 7] = [
        "url",
        "ok",
        "kind",
        "canonical",
        "cautions",
        "status",
        "detail",
    ];
    let followed = finding.followed.as_ref();
    let mut value = match &finding.read {
        Ok(locator) => answered([
            ("url", Value::Null),
            ("ok", true.into()),
            ("kind", locator.kind().to_string().into()),
            ("canonical", locator.canonical().into()),
            (
                "cautions",
                cautions(locator)
                    .into_iter()
                    .map(|caution| caution.code)
                    .collect(),
            ),
            (
                "status",
                followed.map(|followed| followed.status.name()).into(),
            ),
            (
                "detail",
                followed
                    .map(|followed| followed.detail.as_str())
                    .filter(|detail| !detail.is_empty())
                    .into(),
            ),
        ]),
        Err(error) => {
            let mut value = refusal(error, &KEYS);
            set(&mut value, "ok", false);
            value
        }
    };
    set(&mut value, "url", finding.text.as_str());
    value
}

/// `verdict  kind  URL  remarks`, in columns.
fn row(finding: &Finding) -> String {
    let (verdict, kind, remarks) = match &finding.read {
        Ok(locator) => {
            let followed = finding.followed.as_ref();
            let mut remarks: Vec<String> = cautions(locator)
                .into_iter()
                .map(|caution| caution.words)
                .collect();
            remarks.extend(followed.map(|followed| followed.detail.clone()));
            remarks.retain(|remark| !remark.is_empty());
            let verdict = followed.map_or("ok", |followed| followed.status.name());
            (verdict, locator.kind().to_string(), remarks)
        }
        Err(error) => ("malformed", "-".to_owned(), vec![error.to_string()]),
    };
    let line = format!(
        "{verdict:<11}  {kind:<7}  {}  {}",
        finding.text,
        remarks.join("; ")
    );
    line.trim_end().to_owned()
}

/// What to be careful about; of a Z39.50 URL also what its reader remarked, and why it cannot be carried out.
fn cautions(locator: &Locator) -> Vec<Remark> {
    let mut cautions: Vec<Remark> = locator.cautions().iter().map(Remark::from).collect();
    if let Url::Z3950(url) = locator.url() {
        for remark in remarks(url) {
            if cautions.iter().all(|caution| caution.code != remark.code) {
                cautions.push(remark);
            }
        }
    }
    cautions
}

fn remarks(url: &Z3950Url) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = url.warnings().iter().map(Remark::from).collect();
    match plan(url, &PlanOptions::default()) {
        Ok(plan) => remarks.extend(plan.warnings().iter().map(|warning| Remark {
            code: warning.code(),
            words: warning.to_string(),
        })),
        Err(error) => remarks.push(Remark {
            code: error.code().to_owned(),
            words: error.to_string(),
        }),
    }
    remarks
}
