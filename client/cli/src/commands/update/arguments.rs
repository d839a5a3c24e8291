//! The options of `z3950 update`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use z3950_asn1::es::update::Action;
use z3950_asn1::oid::Oid;

use crate::args::{Connection, Records, TARGET, syntax};
use crate::commands::task::Tasking;

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Update {
    /// Where the database is.
    #[arg(value_name = "TARGET")]
    pub(super) target: OsString,

    /// What to do with the records.
    #[arg(value_enum, value_name = "ACTION")]
    pub(super) action: Change,

    /// Files of records in any form that `convert` reads; - is standard input. To delete records, their --id is enough.
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// The database to change, in the place of that of the target.
    #[arg(long = "database", value_name = "NAME")]
    pub(super) databases: Vec<String>,

    /// What the server calls the record; once for each record, in their order.
    #[arg(long = "id", value_name = "ID")]
    pub(super) ids: Vec<String>,

    /// How an --id travels.
    #[arg(
        long,
        value_enum,
        value_name = "TYPE",
        default_value_t,
        hide_short_help = true
    )]
    pub(super) id_type: IdType,

    /// Name each record by its control number, field 001.
    #[arg(long, conflicts_with = "ids")]
    pub(super) id_from_001: bool,

    /// The version of the service that the server has: 3, 1, or xml for the XML service of Index Data, whose documents say
    /// themselves what is done, and are sent whole.
    #[arg(
        long = "version",
        value_enum,
        value_name = "VERSION",
        default_value_t,
        hide_short_help = true
    )]
    pub(super) service: Service,

    /// The record syntax to send, by name or object identifier: xml, or one of MARC, into which records are put. Without
    /// it, XML records are sent as XML, others as USMARC or UNIMARC, whichever they are.
    #[arg(long, value_name = "NAME", value_parser = syntax)]
    pub(super) syntax: Option<Oid>,

    /// Send each file as it is, as one record of --syntax, or of XML if it begins with <.
    #[arg(long, hide_short_help = true)]
    pub(super) whole: bool,

    /// The schema of the records, by object identifier.
    #[arg(long, value_name = "OID", hide_short_help = true)]
    pub(super) schema: Option<Oid>,

    /// Ask for each record as it is after the update, in this element set, and write it.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) element_set: Option<String>,

    /// How many records to send in one request; many servers do all that are in one or none.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000), hide_short_help = true)]
    pub(super) per_request: u16,

    /// End at the first record that is refused or cannot be read.
    #[arg(long)]
    pub(super) stop_on_error: bool,

    #[command(flatten)]
    pub(super) records: Records,

    /// Answer with a JSON object a line, one for each record.
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) task: Tasking,

    #[command(flatten)]
    pub(super) connection: Connection,
}

/// What is done with records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Change {
    /// Add records that are not there yet.
    Insert,
    /// Put records in the place of those that are there.
    Replace,
    /// Take records away.
    Delete,
    /// Put in the place of what is there only the fields that a record has.
    Element,
    /// Add records, or put them in the place of those that are there; not in version 1.
    Special,
}

impl Change {
    /// The same as it travels.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Insert => Action::RECORD_INSERT,
            Self::Replace => Action::RECORD_REPLACE,
            Self::Delete => Action::RECORD_DELETE,
            Self::Element => Action::ELEMENT_UPDATE,
            Self::Special => Action::SPECIAL_UPDATE,
        }
    }
}

/// How a record's name travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum IdType {
    /// As octets, which is what most servers take.
    #[default]
    Opaque,
    /// As a text.
    String,
    /// As a number.
    Number,
}

/// The service that updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Service {
    /// Database Update of Z39.50-2003.
    #[default]
    #[value(name = "3")]
    Third,
    /// Database Update of Z39.50-1995.
    #[value(name = "1")]
    First,
    /// XML documents as tasks, 1.2.840.10003.9.1000.105.4.
    #[value(name = "xml")]
    Xml,
}
