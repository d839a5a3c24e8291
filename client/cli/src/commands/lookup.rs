//! `z3950 lookup`: finds records by identifier, and reports in which form and in which field the identifier was found.

mod answers;
mod print;
mod sought;

use std::ffi::OsString;
use std::slice;

use clap::Args;
use z3950::lookup::{Kind, Preferences, identifiers};
use z3950::target::redacted;
use z3950_marc::edit::LocalTags;
use z3950_marc::{MarcRecord, language};

use self::answers::LookupAnswers;
use crate::answer::{Answer, Ask, Job, OR, Recipient};
use crate::batch::{Batch, run_all};
use crate::commands::complete;
use crate::commands::connection::ConnectionOptions;
use crate::commands::fallback::Fallbacks;
use crate::commands::options::{RecordOutput, RecordRequest, record_count};
use crate::commands::target::{NamedTarget, Service, TARGET, TargetClient};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::logging::shows_steps;
use crate::console::output::{Failure, Output};
use crate::render::{Format, Style, shown};

#[derive(Debug, Args)]
#[command(after_help = TARGET, override_usage = USAGE)]
pub(crate) struct Lookup {
    /// The target to search, unless --target names it, then identifiers: isbn:…, issn:…, lccn:…, oclc:…, local:… or
    /// docid:…; without a prefix, the type is guessed. Hyphens and spaces do not matter.
    #[arg(value_name = "TARGET ID", add = complete::targets_and_identifiers())]
    pub(crate) words: Vec<OsString>,

    /// A target to search, instead of TARGET. Several are asked in this order until one has the record.
    #[arg(long = "target", value_name = "TARGET", add = complete::target())]
    pub(crate) targets: Vec<OsString>,

    /// Ask every --target, even if one before it has the record. With --best, the best record of all is taken.
    #[arg(long, requires = "targets", hide_short_help = true)]
    pub(crate) all_targets: bool,

    #[command(flatten)]
    pub(crate) wanted: MatchOptions,

    /// Keep the fields with these tags of each record from --input, such as 001,852,9XX, in the record that is found for it, in place of
    /// its own.
    #[arg(
        long,
        value_name = "TAG,...",
        requires = "inputs",
        hide_short_help = true
    )]
    pub(crate) keep: Option<LocalTags>,

    /// Look up records from --input without a number by title and author.
    ///
    /// Only records with the same title count, apart from case, diacritics, punctuation, an article at its beginning, and a subtitle that
    /// one of them lacks. Records with a different author do not count. If several are left, the author, the kind of material, the year and
    /// the subtitle decide. The choice is in the report, and -v shows it.
    #[arg(long, requires = "inputs", conflicts_with = "column")]
    pub(crate) by_title: bool,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

const USAGE: &str = "z3950 lookup [OPTIONS] <TARGET> <ID>...
       z3950 lookup [OPTIONS] --target <TARGET>... <ID>...
       z3950 lookup [OPTIONS] <TARGET> --input <FILE>
       z3950 lookup [OPTIONS] --target <TARGET>... --input <FILE>";

/// The options for a lookup.
#[derive(Debug, Args)]
pub(crate) struct MatchOptions {
    #[command(flatten)]
    pub(crate) asked: RecordRequest,

    #[command(flatten)]
    pub(crate) fallbacks: Fallbacks,

    /// How many records to show if several match; with --best, among how many to choose.
    #[arg(short = 'n', long, alias = "limit", value_name = "NUMBER|all", default_value = "10", value_parser = record_count)]
    pub(crate) count: u64,

    /// The kind of identifiers without a prefix; isbn, issn, lccn, oclc, local or docid. Leading zeros that a spreadsheet
    /// program has removed from ISBNs and ISSNs are restored.
    #[arg(long, value_name = "KIND", value_parser = kind, hide_short_help = true, add = complete::identifier_kind())]
    pub(crate) kind: Option<Kind>,

    /// If several records match, take the best for copy cataloguing.
    ///
    /// The first difference decides: the number is valid in the record, cancelled, or absent; --best-language; the encoding level (leader
    /// position 17: full, core, minimal, preliminary, abbreviated, prepublication, unknown); the cataloguing source (040 $a), national
    /// libraries before others; the language of cataloguing (040 $b) of the record from --input; the rules (040 $e: RDA, others, unknown);
    /// the number of fields.
    #[arg(long)]
    pub(crate) best: bool,

    /// The cataloguing sources (040 $a) that --best prefers, best first. By default these, all alike: DLC, DNLM, DNAL, Uk,
    /// UKM, CaOONL, NLC, AuCNL, DE-101, FrPBN and FR-751131015.
    #[arg(
        long = "best-source",
        value_name = "CODE",
        value_delimiter = ',',
        requires = "best",
        hide_short_help = true
    )]
    pub(crate) sources: Vec<String>,

    /// The language of cataloguing (040 $b) that --best prefers to every encoding level and source: a MARC code such as
    /// eng. By default that of the record from --input, which decides after the source.
    #[arg(
        long = "best-language",
        value_name = "CODE",
        value_parser = language,
        requires = "best",
        hide_short_help = true
    )]
    pub(crate) language: Option<String>,
}

impl Lookup {
    /// Splits the words into the targets and the identifiers.
    fn split(&self) -> Result<(&[OsString], &[OsString]), Failure> {
        let (targets, identifiers) = match (self.targets.as_slice(), self.words.as_slice()) {
            ([], [target, identifiers @ ..]) => (slice::from_ref(target), identifiers),
            (targets, identifiers) => (targets, identifiers),
        };
        let missing = |what: &str| Err(Failure::Usage(format!("{what} is missing: {HOW}")));
        if targets.is_empty() {
            return missing("the target");
        }
        if identifiers.is_empty() && self.batch.inputs.is_empty() {
            return missing("what to look up");
        }
        Ok((targets, identifiers))
    }
}

const HOW: &str = "z3950 lookup TARGET ID..., or --input FILE in place of ID";

impl MatchOptions {
    /// Returns the preferences for `--best`; `None` without this option.
    fn preferences(&self) -> Result<Option<Preferences>, Failure> {
        if self.best && self.count == 0 {
            let words = "--best chooses among the records of --count, which is 0";
            return Err(Failure::Usage(words.into()));
        }
        Ok(self.best.then(|| {
            let mut preferences = Preferences::default();
            preferences.sources.clone_from(&self.sources);
            preferences.language.clone_from(&self.language);
            preferences
        }))
    }
}

pub(crate) async fn run(arguments: &Lookup, output: &mut Output) -> Result<Exit, Failure> {
    let (wanted, batch) = (&arguments.wanted, &arguments.batch);
    let (targets, identifiers) = arguments.split()?;
    let records = &wanted.asked.records;
    let style = records.style_in(batch.format(records.format())?)?;
    // Invalid options are rejected before a password command runs.
    wanted.preferences()?;
    if arguments.keep.is_some() && style.format() == Format::Raw {
        let words = "--keep changes records, which --format raw writes as the server sent them";
        return Err(Failure::Usage(words.into()));
    }
    let reach = TargetClient::new(&arguments.connection).await?;
    let reach = reach.with_repeats(batch.max_repeats());
    for word in identifiers.iter().filter_map(|word| word.to_str()) {
        if is_another_target(&reach, word) {
            output.note(&format!(
                "{} is looked up as an identifier; --target names each of several targets",
                redacted(word)
            ));
        }
    }
    let mut places = Vec::new();
    for target in targets {
        places.push(reach.place(target, &wanted.asked.databases, output)?);
    }
    let mut answers = LookupAnswers::new(wanted, &reach, places, &style)?;
    // One `Ask` goes to several targets if they are searched in turn, or if the best of all records is to be chosen.
    answers.is_joint = answers.places.len() > 1 && (!arguments.all_targets || wanted.best);
    answers.wanted.all_targets = arguments.all_targets;
    answers.keep.clone_from(&arguments.keep);
    answers.input_settings.by_title = arguments.by_title;
    answers.is_written = batch.file().is_some();
    answers.is_terse = (output.is_terminal() || batch.is_wanted()) && !shows_steps();
    let mut job = job(identifiers, answers, style);
    let usual = if arguments.all_targets {
        job.targets.len()
    } else {
        1
    };
    job.jobs = batch.jobs(usual);
    let exit = run_all(batch, job, output).await;
    // If a signal arrives, the program does not wait for the sessions to close.
    Interrupt.or_end(reach.close()).await;
    exit
}

/// Returns whether a word in the position of an identifier looks like a target: it is the name of a profile, or a host
/// with a port or a database.
fn is_another_target(reach: &TargetClient, word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let has_port = !port.is_empty() && port.bytes().all(|octet| octet.is_ascii_digit());
    let is_name = host.contains('.') && host.bytes().any(|octet| octet.is_ascii_alphabetic());
    let is_host = if has_port {
        host.contains('.') || host == "localhost"
    } else {
        is_name && word.contains('/')
    };
    reach.is_target(word) && (is_host || !word.contains([':', '/', '.']))
}

/// Returns the kind of identifier with this prefix.
fn kind(text: &str) -> Result<Kind, String> {
    let mut kinds = Kind::ALL.into_iter();
    let found = kinds.find(|kind| kind.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| format!("must be {}", Kind::ALL.map(Kind::name).join(", ")))
}

/// Checks that the text is a MARC language code, and returns the code in lower case.
fn language(text: &str) -> Result<String, String> {
    match (language::is_code(text), language::code_of(text)) {
        (true, _) => Ok(text.to_ascii_lowercase()),
        (false, Some(code)) => Err(format!("the MARC code of this language is {code}")),
        (false, None) => Err("it is not a MARC language code such as eng, fre or ger".to_owned()),
    }
}

/// A lookup in the prompt's session.
#[derive(Debug, Args)]
pub(crate) struct LookupHere {
    /// isbn:…, issn:…, lccn:…, oclc:…, local:… or docid:…; without a prefix, the type is guessed. Hyphens and spaces
    /// do not matter.
    #[arg(required = true, value_name = "ID")]
    identifiers: Vec<OsString>,

    #[command(flatten)]
    wanted: MatchOptions,
}

impl Service for LookupHere {
    const NAME: &'static str = "lookup";
    const SUMMARY: &'static str = "find records by ISBN, ISSN, LCCN, OCLC number, control number or docid, as z3950 lookup does";

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
        let style = self.wanted.asked.records.style()?;
        let places = vec![place.clone()];
        let mut answers = LookupAnswers::new(&self.wanted, reach, places, &style)?;
        answers.is_terse = output.is_terminal() && !shows_steps();
        let job = job(&self.identifiers, answers, style);
        Ok(reach.write_pages(job, output).await?.0)
    }
}

fn job(
    identifiers: &[OsString],
    answers: LookupAnswers,
    style: Style,
) -> Job<impl AsyncFn(&Ask, &mut Recipient) -> Answer> {
    let mut targets: Vec<String> = answers.names().map(str::to_owned).collect();
    if answers.is_joint {
        targets = vec![targets.join(OR)];
    }
    // With --keep, the output also depends on the input record, so equal answers cannot be shared.
    let is_shared = answers.keep.is_none();
    let key_of = is_shared.then(|| answers.input_settings.key_of(answers.wanted.best.is_some()));
    let work =
        async move |ask: &Ask, recipient: &mut Recipient| answers.answer(ask, recipient).await;
    Job {
        names_records: Some(record_name),
        key_of,
        ..Job::new(work, identifiers, targets, style)
    }
}

/// Returns the identifiers of a record, separated by spaces, or its control number if it has none.
fn record_name(record: &MarcRecord) -> String {
    let identifiers = identifiers(record);
    if identifiers.is_empty() {
        let number = shown(record.control_number().unwrap_or_default());
        return if number.is_empty() {
            String::new()
        } else {
            format!("001 {number}")
        };
    }
    let texts: Vec<String> = identifiers.iter().map(ToString::to_string).collect();
    texts.join(" ")
}
