//! The options for `z3950 update`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use z3950_asn1::es::update::Action;
use z3950_asn1::oid::Oid;

use crate::commands::complete;
use crate::commands::options::{RecordOutput, choices, syntax};
use crate::commands::task::TaskOptions;

/// What to do with which records.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to do with the records.
    #[arg(value_parser = choices(ACTIONS), value_name = "ACTION")]
    pub(super) action: Action,

    /// Record files in any format that `convert` reads; - is standard input. Not needed to delete records by
    /// --id.
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// The database to update, instead of the target's.
    #[arg(long = "database", value_name = "NAME", add = complete::database())]
    pub(super) databases: Vec<String>,

    /// The server's identifier for a record; repeat it for each record, in order.
    #[arg(long = "id", value_name = "ID")]
    pub(super) ids: Vec<String>,

    /// How to encode --id.
    #[arg(
        long,
        value_enum,
        value_name = "TYPE",
        default_value_t,
        hide_short_help = true
    )]
    pub(super) id_type: IdType,

    /// Identify each record by its control number, field 001.
    #[arg(long, conflicts_with = "ids")]
    pub(super) id_from_001: bool,

    /// The version of the update service: 3, 1, or xml for Index Data's XML service, whose documents specify the action
    /// themselves and are sent whole.
    #[arg(
        long = "version",
        value_enum,
        value_name = "VERSION",
        default_value_t,
        hide_short_help = true
    )]
    pub(super) service: Variant,

    /// The record syntax to send, by name or object identifier: xml, or a MARC syntax. By default, XML records are
    /// sent as XML, others as USMARC or UNIMARC, according to their format.
    #[arg(long, value_name = "NAME", value_parser = syntax, add = complete::syntax())]
    pub(super) syntax: Option<Oid>,

    /// Send each file unchanged, as one record in the syntax from --syntax, or in XML if it begins with <.
    #[arg(long, hide_short_help = true)]
    pub(super) whole: bool,

    /// The schema of the records, by object identifier.
    #[arg(long, value_name = "OID", hide_short_help = true)]
    pub(super) schema: Option<Oid>,

    /// Request each record after its update, in this element set, and print it.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) element_set: Option<String>,

    /// How many records to send in one request; many servers apply all or none of them.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000), hide_short_help = true)]
    pub(super) per_request: u16,

    /// Send nothing; say what would be sent, and which records cannot be or have faults. A session is opened to see whether the server
    /// offers updates.
    #[arg(long, hide_short_help = true)]
    pub(super) dry_run: bool,

    /// Stop at the first record that is refused or cannot be read.
    #[arg(long)]
    pub(super) stop_on_error: bool,

    #[command(flatten)]
    pub(super) records: RecordOutput,

    /// Print one JSON object per record.
    #[arg(long, conflicts_with_all = ["format", "fields", "row_per_copy"])]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) task: TaskOptions,
}

/// The actions that `update` can apply to records.
const ACTIONS: &[(&str, Action, &str)] = &[
    ("insert", Action::RECORD_INSERT, "Add new records"),
    (
        "replace",
        Action::RECORD_REPLACE,
        "Replace existing records",
    ),
    ("delete", Action::RECORD_DELETE, "Delete records"),
    (
        "element",
        Action::ELEMENT_UPDATE,
        "Replace only the fields that a record contains",
    ),
    (
        "special",
        Action::SPECIAL_UPDATE,
        "Add records, or replace existing ones; not in version 1",
    ),
];

impl Arguments {
    /// Returns the name of the action, as typed on the command line.
    pub(super) fn action_name(&self) -> &'static str {
        let mut actions = ACTIONS.iter();
        let found = actions.find(|(_, action, _)| *action == self.action);
        found.map_or("update", |(name, ..)| name)
    }
}

/// How a record's identifier is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum IdType {
    /// As octets, which most servers accept.
    #[default]
    Opaque,
    /// As a string.
    String,
    /// As a number.
    Number,
}

/// The update service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Variant {
    /// Database Update from Z39.50-2003.
    #[default]
    #[value(name = "3")]
    Third,
    /// Database Update from Z39.50-1995.
    #[value(name = "1")]
    First,
    /// XML documents as tasks, 1.2.840.10003.9.1000.105.4.
    #[value(name = "xml")]
    Xml,
}
