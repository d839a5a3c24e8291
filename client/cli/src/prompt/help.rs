//! The commands `help` and `settings`. `help` describes all commands, one command with its examples, or the syntax of
//! queries; `settings` lists the settings.

use z3950_asn1::query::nearest;

use super::command::{CommandResult, Refusal};
use super::setters::SETTINGS;
use super::state::Prompt;
use super::table::{self, CommandEntry, Handler, entry};
use crate::commands::query::index_lines;
use crate::console::exit::Exit;
use crate::console::output::Output;
use crate::render::wrapped;

/// A help topic and its text.
type Topic = (&'static str, fn() -> String);

/// A group of commands: its title, and for each command the name, the arguments and the effect.
type Group = (
    &'static str,
    &'static [(&'static str, &'static str, &'static str)],
);

/// The help topics that are not commands.
const TOPICS: &[Topic] = &[
    ("all", all_commands),
    ("queries", || QUERIES.to_owned()),
    ("indexes", index_lines),
    ("prox", || PROXIMITY.to_owned()),
];

/// The most commonly used commands, in groups, with their arguments and short descriptions.
const USUAL: &[Group] = &[
    (
        "Sessions",
        &[
            ("open", "TARGET", "open a session"),
            ("close", "", "close it and stay here"),
            ("quit", "", "close all sessions and leave"),
        ],
    ),
    (
        "Searches",
        &[
            ("find", "QUERY", "search: war peace, ti:war au:tolstoy"),
            ("lookup", "ID...", "find records by ISBN, ISSN …"),
            ("scan", "TERM", "list the terms of an index"),
            ("sort", "KEY[:desc]", "sort the result"),
            ("base", "DATABASE...", "choose the databases"),
        ],
    ),
    (
        "Records",
        &[
            ("titles", "[N]", "list titles (Enter lists more)"),
            ("show", "[N]", "show a record (Enter shows the next)"),
            ("holdings", "[N]", "show its copies"),
            ("save", "FILE [all]", "write records to a file"),
        ],
    ),
    (
        "Settings",
        &[
            ("format", "[FORMAT]", "text, brief, csv, marcxml …"),
            ("elements", "[NAME]", "full (F) or brief (B) records"),
            ("settings", "", "show all settings"),
        ],
    ),
];

const QUERIES: &str = "\
Queries of find, unless querytype selects one language:
  war peace               words, all of which must occur
  \"war and peace\"         a phrase
  ti:war au:tolstoy       words in an index; help indexes lists them
  year:1850-1860          a range of years, also year:1850-, year:>1900, year:18??
  war -ti:peace           the same as war NOT ti:peace; AND and OR work too, in capitals
  @attr 1=4 war           PQF: an operand with attributes, here Use 4 (title)
  @and A B, @or, @not     PQF: operators come before their operands
  @set 1                  PQF: an earlier result set
  ccl: ti=war and au=x    CCL; set_cclfile names its qualifiers
  cql: title=war          CQL, which dc.title=war is taken for too; set_cqlfile names its indexes
help prox explains proximity";

const PROXIMITY: &str = "\
@prox EXCLUSION DISTANCE ORDERED RELATION WHICH UNIT A B
  EXCLUSION  1: not near each other; 0 or void: near each other
  DISTANCE   how many units apart the two are, compared by RELATION
  ORDERED    1: A comes before B; 0: in any order
  RELATION   1 <, 2 <=, 3 =, 4 >=, 5 >, 6 not equal
  WHICH      k: a unit of the standard; p: a private unit of the server
  UNIT       1 character, 2 word, 3 sentence, 4 paragraph, 5 section, 6 chapter, 7 document, 8 element
  e.g. find @prox 0 3 1 2 k 2 war peace";

/// The width of the name column in the list of commands.
const NAME: usize = 20;

/// Returns the text. If it is to be shown on a terminal, its lines are broken at spaces to fit the screen.
fn on_screen(text: &str, indent: usize, output: &Output) -> String {
    match output.screen() {
        Some((columns, _)) => wrapped(text, columns, indent),
        None => text.to_owned(),
    }
}

/// The text at the end of the list of commands.
const HELP: &str = "
help COMMAND shows the arguments and examples of a command, help queries the syntax of queries; \
the first letters of a command are enough, as f for find
";

/// The text at the end of the list of usual commands.
const MORE_HELP: &str = "
help COMMAND describes a command, help all lists all commands
help queries shows the syntax of queries, help indexes their names
";

/// Returns a line for each command.
fn all_commands() -> String {
    let lines = table::all().map(|entry| format!("{:<NAME$} {}\n", entry.name, entry.summary));
    lines.chain([HELP.to_owned()]).collect()
}

/// Returns the usual commands in their groups.
fn usual_commands() -> String {
    let mut text = String::new();
    for (title, commands) in USUAL {
        text.push_str(&format!("{title}\n"));
        for (name, arguments, effect) in *commands {
            let usage = format!("{name} {arguments}");
            text.push_str(&format!("  {usage:<NAME$} {effect}\n"));
        }
    }
    text + MORE_HELP
}

impl Prompt {
    pub(super) async fn help(&mut self, name: &str, output: &mut Output) -> CommandResult {
        let topic = TOPICS.iter().find(|(topic, _)| *topic == name);
        let text = match topic {
            Some((_, text)) => text(),
            None if name.is_empty() => usual_commands(),
            None => {
                let topics = TOPICS.iter().map(|(topic, _)| *topic);
                let entry =
                    entry(name).ok_or_else(|| Refusal::wrong(table::unknown(name, topics)))?;
                output.line(&on_screen(&entry.help(), 2, output))?;
                if entry.name == "find" {
                    output.line(QUERIES)?;
                }
                return Ok(Exit::Delivered);
            }
        };
        let indent = match name {
            "" => NAME + 3,
            "all" => NAME + 1,
            _ => 4,
        };
        let text = on_screen(&text, indent, output);
        let mut pages = self.pages(output);
        pages.lines(&text, "commands", output).await?;
        Ok(Exit::Delivered)
    }

    /// Runs a command that never waits for a server.
    pub(super) fn run_here(
        &mut self,
        entry: &CommandEntry,
        text: &str,
        output: &mut Output,
    ) -> CommandResult {
        match entry.run {
            Handler::Set(_) if text.is_empty() => self.say(entry.name, output),
            Handler::Set(change) | Handler::Do(change) => {
                change(self, text).map(|()| Exit::Delivered)
            }
            Handler::Here(run) => run(self, text, output),
            Handler::There(_) => Err(Refusal::Usage),
        }
    }

    /// Shows all settings or, if `text` names a setting, runs its command with the rest of the text.
    pub(super) fn list_all(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if let Some(name) = text.split_whitespace().next() {
            let value = text.get(name.len()..).unwrap_or_default().trim();
            let found =
                entry(name).filter(|entry| SETTINGS.iter().any(|(known, _)| *known == entry.name));
            return match found {
                Some(found) => self.run_here(found, value, output),
                None => {
                    let hint = match nearest(name, SETTINGS.iter().map(|(known, _)| *known)) {
                        Some(nearest) => format!("did you mean {nearest}?"),
                        None => "settings lists them".to_owned(),
                    };
                    Err(Refusal::wrong(format!("{name} is not a setting; {hint}")))
                }
            };
        }
        for (name, value) in SETTINGS {
            output.line(&format!("{name:<20} {}", value(&self.settings, self)))?;
        }
        Ok(Exit::Delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f9_the_usual_commands_are_few_and_known() {
        let usual = USUAL.iter().flat_map(|(_, commands)| *commands);
        let names: Vec<&str> = usual.map(|(name, ..)| *name).collect();
        assert!((12..=18).contains(&names.len()), "{names:?}");
        for name in names {
            assert_eq!(entry(name).expect(name).name, name);
        }
        for line in usual_commands().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for (topic, _) in TOPICS {
            assert!(!table::all().any(|entry| entry.name == *topic), "{topic}");
        }
    }

    #[test]
    fn every_setting_has_a_command_that_needs_no_server() {
        for (name, _) in SETTINGS {
            let found = entry(name).expect(name);
            assert_eq!(found.name, *name);
            assert!(!matches!(found.run, Handler::There(_)), "{name}");
        }
    }
}
