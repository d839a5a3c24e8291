//! `z3950 url check`: checks whether each URL is well formed, whether it is a locator or a name, and whether it needs
//! caution. With `--follow`, also checks whether the resource exists (RFC 1736 §3, RFC 1738 §6).

use std::ffi::OsString;
use std::path::PathBuf;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use z3950::Error;
use z3950::client::{Client, ClientOptions};
use z3950::gopher::{self, GopherError, GopherOptions, GopherPlanError};
use z3950::plan::{PlanOptions, plan};
use z3950::retrieve::Outcome;
use z3950::transport::Routes;
use z3950::url::{Kind, Locator, Url, UrlError, Z3950Url};
use z3950_asn1::bib1::diagnostics::Condition;

use super::UrlReading;
use crate::answer::Envelope;
use crate::commands::connection::{Network, mode};
use crate::commands::{connection, gopher as cli_gopher};
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::console::report::explain_outcome;
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
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,

    #[command(flatten)]
    reading: UrlReading,

    #[command(flatten)]
    network: Network,
}

pub(crate) fn run(
    arguments: &Arguments,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if !arguments.follow {
        let mut exit = Exit::Delivered;
        for text in texts(arguments)? {
            exit = exit.and(report(&Finding::of(text?, arguments), arguments, output)?);
        }
        return Ok(exit);
    }
    runtime.block_on(async {
        let follower = Follower::new(&arguments.network).await?;
        Interrupt.exit(follow(arguments, &follower, output)).await
    })
}

/// Returns the texts to check: the arguments, then the lines in the `--input` file, except blank lines.
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

/// The result of checking one text.
struct Finding {
    /// The text, without its user name and password.
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

/// The result of fetching the resource that a locator names. RFC 1736 §3 distinguishes an invalid locator (`gone`) from
/// an unreachable server (`unavailable`). A server that refuses the request is neither.
struct Followed {
    status: &'static str,
    detail: String,
    exit: Exit,
}

impl Followed {
    /// Creates a result. If `status` is `None`, the status is derived from the exit code.
    fn new((exit, detail): (Exit, String), status: Option<&'static str>) -> Self {
        let status = status.unwrap_or(match exit {
            Exit::Delivered => "alive",
            Exit::NoMatch => "gone",
            Exit::Ambiguous => "ambiguous",
            Exit::Transport => "unavailable",
            _ => "refused",
        });
        let (detail, exit) = match status {
            "alive" => (String::new(), exit),
            "gone" => (detail, Exit::FaultsFound),
            "unavailable" => (detail, Exit::Transport),
            _ => (detail, exit),
        };
        Self {
            status,
            detail,
            exit,
        }
    }
}

struct Follower {
    client: Client,
    /// The options for Gopher; `None` for `--demo`, which has no Gopher server.
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

    /// Fetches the resource that a locator names. Returns `None` if it cannot be fetched because its scheme is not
    /// supported, it opens a session, or it is a search without a term.
    async fn follow(&self, locator: &Locator) -> Option<Followed> {
        match locator.url() {
            Url::Z3950(url) if url.kind() == Kind::Retrieval => {
                let plan = self.client.plan(url).await.ok()?;
                let outcome = self.client.retrieve_plan(&plan).await.ok()?.outcome;
                // A database that does not exist counts as gone, but a database that cannot be searched does not.
                let status = match &outcome {
                    Outcome::Failed(Error::Refused { diagnostics, .. }) => match diagnostics {
                        all if all.has(Condition::DATABASE_DOES_NOT_EXIST.0) => Some("gone"),
                        all if all.has(Condition::TEMPORARY_SYSTEM_ERROR.0) => Some("unavailable"),
                        _ => None,
                    },
                    _ => None,
                };
                Some(Followed::new(explain_outcome(&outcome), status))
            }
            Url::Gopher(url) => {
                let server = cli_gopher::server(&self.routes, url).ok()?;
                let explained = match gopher::retrieve(url, self.gopher.as_ref()?, &server).await {
                    Ok(_) => (Exit::Delivered, String::new()),
                    Err(GopherError::Plan(error))
                        if !matches!(error, GopherPlanError::PortRefused(_)) =>
                    {
                        return None;
                    }
                    Err(error) => cli_gopher::explained(&error),
                };
                Some(Followed::new(explained, None))
            }
            _ => None,
        }
    }
}

fn report(finding: &Finding, arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let exit = match (&finding.read, &finding.followed) {
        (Err(_), _) => Exit::FaultsFound,
        (Ok(_), Some(followed)) => followed.exit,
        (Ok(_), None) => Exit::Delivered,
    };
    output.line(&if arguments.reading.json {
        object(finding).to_string()
    } else {
        row(finding)
    })?;
    Ok(exit)
}

/// Returns the JSON object that `--json` prints for a finding. Its `status` and `detail` are null if the URL was not
/// followed.
fn object(finding: &Finding) -> Envelope {
    let (locator, error) = match &finding.read {
        Ok(locator) => (Some(locator), None),
        Err(error) => (None, Some(error)),
    };
    let codes = |locator| {
        cautions(locator)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Value>()
    };
    let followed = finding.followed.as_ref();
    let detail = followed.map(|followed| followed.detail.as_str());
    let object = json!({
        "url": finding.text,
        "ok": locator.is_some(),
        "kind": locator.map(|locator| locator.kind().to_string()),
        "canonical": locator.map(Locator::canonical),
        "cautions": locator.map(codes),
        "status": followed.map(|followed| followed.status),
        "detail": detail.filter(|detail| !detail.is_empty()),
        "error": error.map(|error| error.kind().name()),
        "offset": error.map(UrlError::offset),
        "message": error.map(ToString::to_string),
    });
    object.into()
}

/// Returns a line with the columns `verdict  kind  URL  remarks`.
fn row(finding: &Finding) -> String {
    let (verdict, kind, remarks) = match &finding.read {
        Ok(locator) => {
            let followed = finding.followed.as_ref();
            let mut remarks: Vec<String> = cautions(locator)
                .into_iter()
                .map(|(_, words)| words)
                .collect();
            remarks.extend(followed.map(|followed| followed.detail.clone()));
            remarks.retain(|remark| !remark.is_empty());
            let verdict = followed.map_or("ok", |followed| followed.status);
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

/// Returns the codes and texts of the cautions about a URL. For a Z39.50 URL, they include the warnings from parsing
/// and planning.
fn cautions(locator: &Locator) -> Vec<(String, String)> {
    let of_url = locator.cautions();
    let of_url = of_url
        .iter()
        .map(|caution| (caution.code(), caution.to_string()));
    let mut cautions: Vec<_> = of_url.collect();
    if let Url::Z3950(url) = locator.url() {
        for remark in remarks(url) {
            if cautions.iter().all(|(code, _)| *code != remark.0) {
                cautions.push(remark);
            }
        }
    }
    cautions
}

fn remarks(url: &Z3950Url) -> Vec<(String, String)> {
    let warnings = url.warnings().iter();
    let mut remarks: Vec<_> = warnings
        .map(|warning| (warning.code(), warning.to_string()))
        .collect();
    match plan(url, &PlanOptions::default()) {
        Ok(plan) => {
            let warnings = plan.warnings.iter();
            remarks.extend(warnings.map(|warning| (warning.code(), warning.to_string())));
        }
        Err(error) => remarks.push((error.code().to_owned(), error.to_string())),
    }
    remarks
}
