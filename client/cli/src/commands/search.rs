//! `z3950 search`: sends queries to one or more targets in parallel. If a target fails, the other targets still answer
//! (Z39.50-2003 §3.2.2, §3.2.3, §3.2.7).

mod answers;
mod repeated;

use std::ffi::OsString;
use std::slice;

use clap::Args;
use z3950::target::redacted;
use z3950::{SortKey, SortKeyError};
use z3950_asn1::apdu::SortKeySpec;
use z3950_asn1::query::Dialects;

use self::answers::QueryAnswers;
use crate::answer::{Answer, Ask, Job, Recipient};
use crate::batch::{Batch, run_all};
use crate::commands::complete;
use crate::commands::connection::ConnectionOptions;
use crate::commands::facets;
use crate::commands::fallback::Fallbacks;
use crate::commands::options::{First, RecordOutput, RecordRequest, record_count};
use crate::commands::query::{QueryLanguage, QueryReader};
use crate::commands::target::{NamedTarget, Service, TARGET, TargetClient};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::{Format, Style, shown};

#[derive(Debug, Args)]
#[command(after_help = TARGET, override_usage = SEARCH_USAGE)]
pub(crate) struct Search {
    /// One or more targets, then the query: words with optional index names (ti:war au:tolstoy), joined by AND, OR or NOT in capitals, cut
    /// off with an asterisk (libr*), or PQF if it begins with @. Every target is searched, even if another one fails. With --input, give
    /// targets only: each line of the file is a query.
    #[arg(required = true, value_name = "TARGET... QUERY", add = complete::targets_and_query())]
    pub(crate) words: Vec<OsString>,

    #[command(flatten)]
    pub(crate) wanted: Wanted,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

/// The options for a search.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    #[command(flatten)]
    pub(crate) language: QueryLanguage,

    #[command(flatten)]
    pub(crate) asked: RecordRequest,

    /// Sort by an index (title, date …), descending with :desc; or by attributes (1=31). If repeated, the most important key
    /// comes first.
    #[arg(long = "sort", value_name = "KEY[:desc]", add = complete::sort_key())]
    pub(crate) sort: Vec<String>,

    #[command(flatten)]
    pub(crate) facets: facets::Arguments,

    #[command(flatten)]
    pub(crate) fallbacks: Fallbacks,

    #[command(flatten)]
    pub(crate) first: First,

    /// How many records from each target to show, or all; 0 prints only the number of hits [default: 10; all if they go to a file].
    #[arg(short = 'n', long, alias = "limit", value_name = "NUMBER|all", value_parser = record_count)]
    pub(crate) count: Option<u64>,
}

const SEARCH_USAGE: &str = "z3950 search [OPTIONS] <TARGET>... <QUERY>
       z3950 search [OPTIONS] <TARGET>... --input <FILE>";

/// The default number of records to show.
const SHOWN: u64 = 10;

pub(crate) async fn run(arguments: &Search, output: &mut Output) -> Result<Exit, Failure> {
    let wanted = &arguments.wanted;
    let batch = &arguments.batch;
    let has_files = !batch.inputs.is_empty();
    let (targets, query) = match arguments.words.as_slice() {
        targets if has_files => (targets, &[][..]),
        [targets @ .., query] if !targets.is_empty() => (targets, slice::from_ref(query)),
        _ => {
            let words = "what to search for is missing: z3950 search TARGET... QUERY";
            return Err(Failure::Usage(words.into()));
        }
    };
    let reader = QueryReader::new(&Dialects::default(), &wanted.language)?;
    // A syntax error is an error at every target, but an SRU server may know an index that is unknown here.
    let mut own_index = None;
    if let [query] = query {
        own_index = reader
            .read_sorted(query.as_encoded_bytes())
            .map_err(Failure::Usage)?
            .query
            .err();
    }
    let reach = TargetClient::new(&arguments.connection).await?;
    let reach = reach.with_repeats(batch.max_repeats());
    let is_written = batch.file().is_some();
    let is_redirected = !is_written && output.is_file();
    let count = wanted.count.unwrap_or(if is_written || is_redirected {
        u64::MAX
    } else {
        SHOWN
    });
    let is_seen = !is_written && output.is_terminal();
    let mut exit = Exit::Delivered;
    let mut places = Vec::new();
    for (index, text) in targets.iter().enumerate() {
        match reach.place(text, &wanted.asked.databases, output) {
            Ok(mut place) => {
                place.hint = hint(&reach, &arguments.words, index);
                // A word after the first may be part of the query and not a target. Without --demo, no host with that name is
                // found; with --demo, every host name leads to the catalogue, so the word is refused here.
                if place.is_demo
                    && index > 0
                    && let Some(hint) = place.hint.take()
                {
                    let word = shown(text.as_encoded_bytes());
                    return Err(Failure::Usage(format!("{word} is not a target; {hint}")));
                }
                places.push(place);
            }
            Err(failure) => {
                output.error(&failure.to_string());
                exit = exit.and(Exit::Usage);
            }
        }
    }
    if places.is_empty() {
        return Ok(exit);
    }
    if let Some(words) =
        own_index.filter(|_| !places.iter().any(|place| place.resolved.endpoint.is_sru()))
    {
        return Err(Failure::Usage(words));
    }
    let records = &wanted.asked.records;
    let format = match records.format {
        // Ten whole records would scroll off the screen.
        None if is_seen => Format::Brief,
        _ => batch.format(records.format())?,
    };
    let style = records.style_in(format)?;
    let mut answers = QueryAnswers::new(wanted, reader, &reach, places, &style, count)?;
    answers.counts_last = is_seen;
    answers.is_written = is_written;
    answers.names_queries = has_files;
    let mut job = job(answers, query, style);
    job.jobs = batch.jobs(job.targets.len());
    let ran = run_all(batch, job, output).await;
    // If a signal arrives, the program does not wait for the sessions to close.
    Interrupt.or_end(reach.close()).await;
    Ok(exit.and(ran?))
}

/// Returns a hint if the word at `index` is not a target, because the query is not quoted, or precedes the target.
fn hint(reach: &TargetClient, words: &[OsString], index: usize) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let word = *words.get(index)?;
    if reach.is_target(word) {
        return None;
    }
    let mut later = words.iter().skip(index + 1);
    if let Some(target) = later.find(|word| reach.is_target(word)) {
        let target = redacted(target);
        return Some(format!(
            "targets come before the query: z3950 search {target} '{word}'"
        ));
    }
    let first = index.checked_sub(1).and_then(|_| words.first())?;
    let query = words.get(index..)?.join(" ");
    Some(format!(
        "a query of several words is quoted: z3950 search {} '{query}'",
        redacted(first)
    ))
}

/// A search in the prompt's session.
#[derive(Debug, Args)]
pub(crate) struct SearchHere {
    /// The query: words with optional index names (ti:war au:tolstoy), or PQF if it begins with @.
    #[arg(value_name = "QUERY")]
    query: OsString,

    #[command(flatten)]
    wanted: Wanted,
}

impl Service for SearchHere {
    const NAME: &'static str = "search";
    const SUMMARY: &'static str =
        "search and show the records found, as z3950 search does; search --help lists the options";
    const MAKES_SET: bool = true;

    fn databases(&self) -> &[String] {
        &self.wanted.asked.databases
    }

    fn records(&mut self) -> Option<&mut RecordOutput> {
        Some(&mut self.wanted.asked.records)
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let wanted = &self.wanted;
        let style = wanted.asked.records.style()?;
        let count = wanted.count.unwrap_or(SHOWN);
        let places = vec![place.clone()];
        let reader = QueryReader::new(&reach.dialects, &wanted.language)?;
        let mut answers = QueryAnswers::new(wanted, reader, reach, places, &style, count)?;
        answers.counts_last = output.is_terminal();
        let job = job(answers, slice::from_ref(&self.query), style);
        let (exit, shown) = reach.write_pages(job, output).await?;
        if let Some(shown) = shown {
            reach.note_seen(wanted.first.position().saturating_add(shown));
        }
        Ok(exit)
    }
}

fn job(
    answers: QueryAnswers,
    query: &[OsString],
    style: Style,
) -> Job<impl AsyncFn(&Ask, &mut Recipient) -> Answer> {
    let targets = answers
        .places
        .iter()
        .map(|place| place.text.clone())
        .collect();
    let work =
        async move |ask: &Ask, recipient: &mut Recipient| answers.answer(ask, recipient).await;
    Job::new(work, query, targets, style)
}

impl Wanted {
    fn keys(&self) -> Result<Vec<SortKeySpec>, Failure> {
        let keys = self.sort.iter().map(|text| text.parse());
        let specs = keys.map(|key| key.map(|key: SortKey| key.as_spec().clone()));
        let keys: Result<Vec<_>, SortKeyError> = specs.collect();
        keys.map_err(|error| Failure::Usage(format!("--sort: {error}")))
    }
}
