//! Character sets: what is proposed to servers, what records and terms are in.

use z3950_asn1::charset::Charset;

use super::command::{Answer, Stop};
use super::setters::flag;
use super::state::State;
use crate::cli::Exit;
use crate::cli::output::Output;

impl State {
    pub(super) fn charset(&mut self, names: &str, output: &mut Output) -> Answer {
        let names: Vec<&str> = names.split_whitespace().collect();
        let (negotiated, others) = names.split_first().ok_or(Stop::Usage)?;
        self.negotiated_charset(negotiated, output)?;
        let set: [fn(&mut Self, &str, &mut Output) -> Answer; 3] = [
            Self::display_charset,
            Self::marc_charset,
            Self::query_charset,
        ];
        if others.len() > set.len() {
            return Err(Stop::Usage);
        }
        for (set, name) in set.into_iter().zip(others) {
            set(self, name, output)?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn negotiated_charset(&mut self, text: &str, output: &mut Output) -> Answer {
        let mut words = text.split_whitespace();
        let (proposed, records_too) = match (words.next(), words.next()) {
            (None, _) => return self.say("negcharset", output),
            (Some("-"), _) => (Vec::new(), false),
            (Some(names), records) => (
                names.split(',').map(str::to_owned).collect(),
                records.map_or(Ok(false), flag)?,
            ),
        };
        self.settings.proposed_charsets = proposed;
        self.settings.records_too = records_too;
        Ok(Exit::Delivered)
    }

    /// All that is written is UTF-8; nothing else is taken for one.
    pub(super) fn display_charset(&mut self, name: &str, output: &mut Output) -> Answer {
        match name {
            "" => self.say("displaycharset", output),
            "auto" | "-" => Ok(Exit::Delivered),
            name if Charset::by_name(name) == Charset::by_name("utf-8") => Ok(Exit::Delivered),
            name => Err(Stop::wrong(format!(
                "{name}: everything is written in UTF-8; the terminal must take that"
            ))),
        }
    }

    pub(super) fn marc_charset(&mut self, name: &str, output: &mut Output) -> Answer {
        if name.is_empty() {
            return self.say("marccharset", output);
        }
        self.settings.marc_charset = charset(name)?;
        Ok(Exit::Delivered)
    }

    pub(super) fn query_charset(&mut self, name: &str, output: &mut Output) -> Answer {
        if name.is_empty() {
            return self.say("querycharset", output);
        }
        self.settings.query_charset = charset(name)?;
        Ok(Exit::Delivered)
    }

    pub(super) fn language(&mut self, code: &str, output: &mut Output) -> Answer {
        self.settings.language = match code {
            "" => return self.say("lang", output),
            "none" => None,
            code => Some(code.to_owned()),
        };
        Ok(Exit::Delivered)
    }
}

fn charset(name: &str) -> Result<Option<Charset>, Stop> {
    match name {
        "auto" | "-" => Ok(None),
        name => Charset::by_name(name)
            .map(Some)
            .ok_or_else(|| Stop::wrong(format!("{name} is no known character set"))),
    }
}
