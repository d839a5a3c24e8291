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
        self.negotiated_charset(negotiated, output)?;
        let set: [fn(&mut Self, &str, &mut Output) -> CommandResult; 3] = [
            Self::display_charset,
            Self::marc_charset,
            Self::query_charset,
        ];
        if others.len() > set.len() {
            return Err(Refusal::Usage);
        }
        for (set, name) in set.into_iter().zip(others) {
            set(self, name, output)?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn negotiated_charset(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (proposed, records_too) = match words.as_slice() {
            [] => return self.say("negcharset", output),
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
        Ok(Exit::Delivered)
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

    pub(super) fn marc_charset(&mut self, name: &str, output: &mut Output) -> CommandResult {
        if name.is_empty() {
            return self.say("marccharset", output);
        }
        self.settings.marc_charset = charset(name)?;
        Ok(Exit::Delivered)
    }

    pub(super) fn query_charset(&mut self, name: &str, output: &mut Output) -> CommandResult {
        if name.is_empty() {
            return self.say("querycharset", output);
        }
        self.settings.query_charset = charset(name)?;
        Ok(Exit::Delivered)
    }

    pub(super) fn language(&mut self, code: &str, output: &mut Output) -> CommandResult {
        self.settings.language = match code {
            "" => return self.say("lang", output),
            "none" => None,
            code => Some(code.to_owned()),
        };
        Ok(Exit::Delivered)
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
