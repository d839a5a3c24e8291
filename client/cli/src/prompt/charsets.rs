//! The settings of character sets: those proposed to servers, and those of records, terms and output.

use z3950_marc::charset::Charset;

use super::command::{CommandResult, Refusal};
use super::settings::flag;
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::console::output::Output;

impl Prompt {
    pub(super) fn charset(&mut self, names: &str, output: &mut Output) -> CommandResult {
        let names: Vec<&str> = names.split_whitespace().collect();
        let (negotiated, others) = names.split_first().ok_or(Refusal::Usage)?;
        self.negotiated_charset(negotiated)?;
        if others.len() > 3 {
            return Err(Refusal::Usage);
        }
        let mut others = others.iter();
        if let Some(name) = others.next() {
            self.display_charset(name, output)?;
        }
        if let Some(name) = others.next() {
            self.marc_charset(name)?;
        }
        if let Some(name) = others.next() {
            self.query_charset(name)?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn negotiated_charset(&mut self, text: &str) -> Result<(), Refusal> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (proposed, records_too) = match words.as_slice() {
            ["-" | "none"] => (Vec::new(), false),
            // The version is ignored, as in yaz-client.
            [names, rest @ ..] if matches!(rest, [] | [_] | [_, "2" | "3"]) => (
                names.split(',').map(str::to_owned).collect(),
                rest.first().map_or(Ok(false), |records| flag(records))?,
            ),
            _ => return Err(Refusal::Usage),
        };
        self.settings.proposed_charsets = proposed;
        self.settings.records_too = records_too;
        Ok(())
    }

    /// The character set of data; messages are always in UTF-8.
    pub(super) fn display_charset(&mut self, name: &str, output: &mut Output) -> CommandResult {
        if name.is_empty() {
            return self.say("displaycharset", output);
        }
        self.settings.display_charset = charset(name)?;
        output.write_in(self.settings.display_charset);
        Ok(Exit::Delivered)
    }

    pub(super) fn marc_charset(&mut self, name: &str) -> Result<(), Refusal> {
        self.settings.marc_charset = charset(name)?;
        Ok(())
    }

    pub(super) fn query_charset(&mut self, name: &str) -> Result<(), Refusal> {
        self.settings.query_charset = charset(name)?;
        Ok(())
    }

    pub(super) fn language(&mut self, code: &str) -> Result<(), Refusal> {
        self.settings.language = match code {
            "none" => None,
            code => Some(code.to_owned()),
        };
        Ok(())
    }
}

fn charset(name: &str) -> Result<Option<Charset>, Refusal> {
    match name {
        "auto" | "-" => Ok(None),
        name => Charset::by_name(name)
            .map(Some)
            .ok_or_else(|| Refusal::wrong(format!("{name} is not a known character set"))),
    }
}
