//! The options of commands that ask a target for something, and of those about targets.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use z3950::RecordForm;
use z3950_asn1::oid::Oid;

use super::{Connection, Identity, Known, Lang, Records, Tables, Wait, seconds};
use crate::batch::Batch;

/// What a TARGET is and what `--json` gives, for the help of every command that has them.
pub(crate) const TARGET: &str = "\
Targets:
  A target is the name of a profile (see `z3950 targets list`), host[:port], ssl:host[:port],
  unix:path, connect:proxy:port,target, or a URL. /database or /database+database after a name or
  host selects databases (:database after a path); the default is the profile's, or Default.

Output of --json:
  One object per line. Every object of a command has the same keys, the first of which is v; keys
  without a value are null. client/docs/formats.md describes them.";

#[derive(Debug, Args)]
#[command(after_help = TARGET, override_usage = SEARCH_USAGE)]
pub(crate) struct Search {
    /// One or more targets, then the query: words with optional index names (ti:war au:tolstoy), or PQF if it begins
    /// with @. Every target is searched, even if another one fails. With --input, give targets only: each line of the
    /// file is a query.
    #[arg(required = true, value_name = "TARGET... QUERY")]
    pub(crate) words: Vec<OsString>,

    #[command(flatten)]
    pub(crate) wanted: Wanted,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What a search is to show.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    #[command(flatten)]
    pub(crate) language: Language,

    #[command(flatten)]
    pub(crate) asked: Asked,

    /// Sort by an index (title, date …) or by attributes (1=31), descending with :desc; if repeated, the most
    /// important key comes first.
    #[arg(long = "sort", value_name = "KEY[:desc]")]
    pub(crate) sort: Vec<String>,

    #[command(flatten)]
    pub(crate) facets: crate::commands::facets::Arguments,

    /// The position of the first record to show.
    #[arg(long, value_name = "POSITION", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub(crate) start: u64,

    /// How many records of each target to show; 0 prints only the number of hits [default: 10, or all with --output].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) count: Option<u64>,
}

const SEARCH_USAGE: &str = "z3950 search [OPTIONS] <TARGET>... <QUERY>
       z3950 search [OPTIONS] <TARGET>... --input <FILE>";

/// The language of a query.
#[derive(Debug, Args)]
pub(crate) struct Language {
    /// The query language [default: pqf if the query begins with @, otherwise names].
    #[arg(long, visible_alias = "language", value_enum)]
    pub(crate) lang: Option<Lang>,

    #[command(flatten)]
    pub(crate) tables: Tables,
}

/// Which records are wanted, and how.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The database to search, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<String>,

    /// The element set to request.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) element_set: Option<String>,

    /// The record syntax to request, by name or object identifier.
    #[arg(long, value_name = "NAME", value_parser = syntax)]
    pub(crate) syntax: Option<Oid>,

    #[command(flatten)]
    pub(crate) records: Records,

    /// Print one JSON object per line, with the record inside.
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
pub(crate) struct Lookup {
    /// The target to search.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// isbn:…, issn:…, lccn:…, oclc:…, local:… or docid:…; without a prefix, the type is guessed. Hyphens and spaces
    /// do not matter.
    #[arg(required_unless_present = "inputs", value_name = "ID")]
    pub(crate) identifiers: Vec<String>,

    #[command(flatten)]
    pub(crate) wanted: Matches,

    #[command(flatten)]
    pub(crate) batch: Batch,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What a lookup is to show.
#[derive(Debug, Args)]
pub(crate) struct Matches {
    #[command(flatten)]
    pub(crate) asked: Asked,

    /// How many records to show if several match.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) count: u64,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Probe {
    /// The target to test.
    #[arg(value_name = "TARGET")]
    pub(crate) target: OsString,

    /// The database to use, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<String>,

    /// A word that occurs in records of the database.
    #[arg(long, value_name = "WORD", default_value = "a")]
    pub(crate) term: String,

    /// How long to wait between requests.
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds, hide_short_help = true)]
    pub(crate) pause: Wait,

    /// Print one JSON object per test.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Commands on target profiles; only check connects.
#[derive(Debug, Subcommand)]
pub(crate) enum Targets {
    /// List all profiles and their servers.
    List(Listing),
    /// Show the profiles of targets.
    Show(Show),
    /// Add a profile to your file of targets. Credentials can be given too; of the password, only its source is
    /// stored.
    Add(Box<Add>),
    /// Check that a session can be opened with each target.
    Check(Box<Check>),
    /// Print the path of your file of targets.
    Path(Known),
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: Known,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Show {
    /// Names of profiles, or hosts.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: Known,
}

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Check {
    /// Names of profiles, or hosts.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The name of the profile: letters, digits, - and _.
    #[arg(value_name = "NAME", value_parser = name)]
    pub(crate) name: String,

    /// The address of the server: host[:port][/database[+database]], preceded by ssl: for TLS.
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,

    /// A title to display.
    #[arg(long)]
    pub(crate) title: Option<String>,

    /// The record syntax to request, by name.
    #[arg(long, value_name = "NAME")]
    pub(crate) syntax: Option<String>,

    /// The element set to request.
    #[arg(long, value_name = "NAME")]
    pub(crate) element_set: Option<String>,

    /// The character set of its records.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) record_charset: Option<String>,

    /// The character set to send queries in.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) query_charset: Option<String>,

    /// An attribute to add to operands without one of its type, such as 4=2; may be repeated.
    #[arg(long = "attribute", value_name = "TYPE=VALUE")]
    pub(crate) attributes: Vec<String>,

    /// Attributes to search for a docid with, such as 1=12; may be repeated, best first.
    #[arg(long = "docid", value_name = "ATTRIBUTES")]
    pub(crate) docid: Vec<String>,

    /// How many records to request in one Present.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) chunk: Option<u32>,

    /// The minimum time between requests.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) pause: Option<Wait>,

    /// How many sessions may be open at once.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) sessions: Option<u16>,

    /// A note to display, such as restrictions on use.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    pub(crate) known: Known,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// A file of captured APDUs, raw or in hexadecimal (both directions of a TCP stream may follow each other), or a
    /// transcript of z3950d in lines of JSON; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Also list the octets of each APDU.
    #[arg(long)]
    pub(crate) octets: bool,

    /// Show users and passwords, which are hidden by default.
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Print one JSON object per APDU.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// The shell to complete commands in.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// A record syntax by name or object identifier.
pub(crate) fn syntax(text: &str) -> Result<Oid, String> {
    Oid::record_syntax_by_name(text.as_bytes()).ok_or_else(|| {
        "unknown record syntax; known are usmarc, unimarc, xml, sutrs, opac, grs-1 and others"
            .to_owned()
    })
}

/// A name that TOML takes without quotes.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("a name can only contain letters, digits, - and _".to_owned()),
    }
}
