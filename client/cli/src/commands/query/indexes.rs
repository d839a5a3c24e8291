//! `z3950 query indexes`: the index names that all query languages use, with their Use values (Z39.50-2003 §ATR.1).

use std::fmt::Write;

use clap::Args;
use serde_json::json;
use z3950_asn1::bib1::attributes::use_name;
use z3950_asn1::query::names::{IndexName, TABLE};

use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::wrapped;

#[derive(Debug, Args)]
#[command(after_help = page())]
pub(crate) struct IndexList {
    /// Print a JSON object per index.
    #[arg(long)]
    json: bool,
}

impl IndexList {
    /// Lists the indexes.
    pub(super) fn print(&self, output: &mut Output) -> Result<Exit, Failure> {
        if self.json {
            for index in TABLE {
                let object = json!({
                    "name": index.name,
                    "aliases": index.aliases,
                    "use": index.use_value,
                    "use_name": use_name(index.use_value),
                    "structure": index.structure,
                    "example": index.example,
                });
                Envelope::from(object).write(output)?;
            }
            return Ok(Exit::Delivered);
        }
        let lines = index_lines();
        let lines = match output.screen() {
            Some((columns, _)) => wrapped(&lines, columns, 4),
            None => lines,
        };
        output.line(lines.trim_end())?;
        Ok(Exit::Delivered)
    }
}

/// Returns the text at the end of the help page, which is also part of the manual page.
fn page() -> String {
    let mut page = String::from("Index names:\n");
    for line in index_lines().lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "    {line}");
    }
    page.push_str(NOTES);
    page
}

/// The notes that follow the list of indexes.
const NOTES: &str = "
  Words without an index name are searched in any. A server need not have every index:
  z3950 explain TARGET lists its own.";

/// Returns a line with the titles of the columns, followed by a line for each index.
pub(crate) fn index_lines() -> String {
    let width = |of: fn(&IndexName) -> String| {
        let widths = TABLE.iter().map(|index| of(index).chars().count());
        widths.max().unwrap_or(0)
    };
    let (names, meanings) = (width(names), width(meaning));
    let mut lines = String::new();
    let mut row = |name: &str, number: &str, meaning: &str, example: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(
            lines,
            "{name:<names$}  {number:>4}  {meaning:<meanings$}  {example}"
        );
    };
    row("Names", "Use", "Bib-1", "Example");
    for index in TABLE {
        let number = index.use_value.to_string();
        row(&self::names(index), &number, &meaning(index), index.example);
    }
    lines
}

fn names(index: &IndexName) -> String {
    let names = std::iter::once(index.name).chain(index.aliases.iter().copied());
    names.collect::<Vec<_>>().join(", ")
}

fn meaning(index: &IndexName) -> String {
    use_name(index.use_value).unwrap_or_default().to_owned()
}
