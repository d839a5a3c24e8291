//! The options of commands that ask a target for something, and of those about targets.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use z3950::RecordForm;
use z3950::plan::record_syntax_by_name;
use z3950_asn1::oid::Oid;

use super::{Connection, Identity, Known, Lang, Records, Tables, Wait, seconds};
use crate::commands::batch::Batch;

/// What a TARGET is and what `--json` gives, for the help of every command that has them.
pub(crate) const TARGET: &str = "\
Targets:
  A target is the name of a profile (z3950 targets list), with databases of one's own behind a
  slash if need be; or host[:port][/database[+database]], ssl:host…, unix:path[:database],
  connect:proxy:port,target; or a URL. Without a database it is that of the profile, else Default.

Answers of --json:
  An object a line, with v first and then the same keys for every answer of a command; null where
  there is nothing. client/docs/formats.md describes them.";

#[derive(Debug, Args)]
#[command(after_help = TARGET, override_usage = SEARCH_USAGE)]
pub(crate) struct Search {
    /// Where to search, which may be several targets, and behind them what to search for: words and index names
    /// (ti:war au:tolstoy), or PQF if it begins with @. With --input only targets: each line is a query.
    #[arg(required = true, value_name = "TARGET... QUERY")]
    pub(crate) words: Vec<OsString>,

    #[command(flatten)]
    pub(crate) language: Language,

    #[command(flatten)]
    pub(crate) asked: Asked,

    /// Sort by an index (title, date …) or by attributes (1=31), behind which :desc turns the order; the most
    /// important first.
    #[arg(long = "sort", value_name = "KEY[:desc]")]
    pub(crate) sort: Vec<String>,

    #[command(flatten)]
    pub(crate) facets: crate::commands::facets::Arguments,

    /// The position of the first record to show.
    #[arg(long, value_name = "POSITION", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub(crate) start: u64,

    /// How many records of each target to show, 10 unless this says otherwise; 0 only tells how many there are. With
    /// --output all of them.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) count: Option<u64>,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

const SEARCH_USAGE: &str = "z3950 search [OPTIONS] <TARGET>... <QUERY>
       z3950 search [OPTIONS] <TARGET>... --input <FILE>";

/// The language of a query.
#[derive(Debug, Args)]
pub(crate) struct Language {
    /// The language that the query is written in. Without this it is pqf if it begins with @, else names.
    #[arg(long, visible_alias = "language", value_enum)]
    pub(crate) lang: Option<Lang>,

    #[command(flatten)]
    pub(crate) tables: Tables,
}

/// Which records are wanted, and how.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// A database to search, in the place of those of the target; may be given several times.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<String>,

    /// The element set to ask for.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) element_set: Option<String>,

    /// The record syntax to ask for, by name or object identifier.
    #[arg(long, value_name = "NAME", value_parser = syntax)]
    pub(crate) syntax: Option<Oid>,

    #[command(flatten)]
    pub(crate) records: Records,

    /// Answer with a JSON object a line, an envelope around each record.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

impl Asked {
    /// The form that records are wanted in.
    pub(crate) fn form(&self) -> RecordForm {
        RecordForm::new(self.syntax, self.element_set.clone())
    }
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Scan {
    /// Where to look.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// The term to look around: ti:war, or PQF if it begins with @.
    #[arg(value_name = "TERM", allow_hyphen_values = true)]
    pub(crate) term: OsString,

    #[command(flatten)]
    pub(crate) language: Language,

    /// A database, in the place of those of the target; may be given several times.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<String>,

    /// How many terms to ask for.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) size: u64,

    /// Where among them the given term is to stand; 1 is first.
    #[arg(long, value_name = "POSITION", default_value_t = 1)]
    pub(crate) position: u64,

    /// Count only the records that a query finds, as Index Data's servers can; the query is in the language of the term.
    #[arg(
        long,
        value_name = "QUERY",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) set: Option<OsString>,

    /// How many terms to leave out between two.
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) step: Option<u64>,

    /// Answer with a JSON object a line, one for each term.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Lookup {
    /// Where to look.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// isbn:…, issn:…, lccn:…, oclc:…, local:… or docid:…; without a prefix the shape decides.
    #[arg(required_unless_present = "inputs", value_name = "ID")]
    pub(crate) identifiers: Vec<String>,

    #[command(flatten)]
    pub(crate) asked: Asked,

    /// How many records to show where several match.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) count: u64,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Probe {
    /// What to try out.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// A database, in the place of those of the target; may be given several times.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<String>,

    /// A word that records of the database have in them.
    #[arg(long, value_name = "WORD", default_value = "a")]
    pub(crate) term: String,

    /// How long to wait between two requests.
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds, hide_short_help = true)]
    pub(crate) pause: Wait,

    /// Answer with a JSON object a line, one for each thing tried.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Commands on target profiles; only check connects.
#[derive(Debug, Subcommand)]
pub(crate) enum Targets {
    /// List the names of all profiles with their servers.
    List(Listing),
    /// Show all that is known of targets.
    Show(Show),
    /// Add a profile to your own file of targets, with the credentials that --user and its like say: of the password only
    /// where it comes from.
    Add(Box<Add>),
    /// Open a session with each target and close it.
    Check(Box<Check>),
    /// Print where your own file of targets is.
    Path(Known),
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Answer with a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: Known,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Show {
    /// Names of profiles, or places.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,

    /// Answer with a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: Known,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Check {
    /// Names of profiles, or places.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,

    /// Answer with a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What to call it: letters, digits, - and _.
    #[arg(value_name = "NAME", value_parser = name)]
    pub(crate) name: String,

    /// Where it is: host[:port][/database[+database]], with ssl: in front for TLS.
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,

    /// What people call it.
    #[arg(long)]
    pub(crate) title: Option<String>,

    /// The record syntax to ask for, by name.
    #[arg(long, value_name = "NAME")]
    pub(crate) syntax: Option<String>,

    /// The element set to ask for.
    #[arg(long, value_name = "NAME")]
    pub(crate) element_set: Option<String>,

    /// The character set its records are in.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) record_charset: Option<String>,

    /// The character set it takes queries in.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) query_charset: Option<String>,

    /// An attribute for operands that have none of its type, such as 4=2; may be given several times.
    #[arg(long = "attribute", value_name = "TYPE=VALUE")]
    pub(crate) attributes: Vec<String>,

    /// A way to search for a docid, such as 1=12; may be given several times, best first.
    #[arg(long = "docid", value_name = "ATTRIBUTES")]
    pub(crate) docid: Vec<String>,

    /// How many records to ask for in one Present.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) chunk: Option<u32>,

    /// The least time between two requests.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) pause: Option<Wait>,

    /// How many sessions to have open at once.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) sessions: Option<u16>,

    /// What else one should know of it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    pub(crate) known: Known,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// APDUs as they were captured, raw or as hexadecimal digits; of a TCP stream both directions may follow each
    /// other. Or a transcript of z3950d, in lines of JSON. - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// List the octets of each APDU too.
    #[arg(long)]
    pub(crate) octets: bool,

    /// Show users and passwords too, which are left out otherwise.
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Answer with a JSON object a line, one for each APDU.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// A record syntax by name or object identifier.
pub(crate) fn syntax(text: &str) -> Result<Oid, String> {
    record_syntax_by_name(text).ok_or_else(|| {
        "no known record syntax; usmarc, unimarc, xml, sutrs, opac and grs-1 are some".to_owned()
    })
}

/// A name that TOML takes without quotes.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("only letters, digits, - and _ can stand in a name".to_owned()),
    }
}
