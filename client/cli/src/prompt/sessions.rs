//! `close`, `sessions`, `use`: several sessions, one of which is the current one.

use super::command::{CommandResult, Refusal, number};
use super::search::hits_in_words;
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::console::output::Output;

impl Prompt {
    pub(super) async fn close(&mut self, arguments: &str, output: &mut Output) -> CommandResult {
        if !arguments.is_empty() {
            return Err(Refusal::Usage);
        }
        if self.has_session() && !self.is_open() {
            self.forget();
            output.note("the server had already closed the session");
        } else {
            let session = self.session()?;
            self.forget();
            session.close().await?;
            output.note("session closed");
        }
        self.say_current(output);
        Ok(Exit::Delivered)
    }

    fn say_current(&self, output: &Output) {
        if let Some(place) = self.place() {
            output.note(&format!("at {}", place.way.name));
        }
    }

    pub(super) fn list_sessions(&mut self, _: &str, output: &mut Output) -> CommandResult {
        if self.places.is_empty() {
            output.note("no session is open; use open TARGET");
        }
        for (index, place) in self.places.iter().enumerate() {
            let mark = if index == self.current { '*' } else { ' ' };
            let state = match (&place.result_set, place.session.is_open()) {
                (_, false) => "ended by the server".to_owned(),
                (Some(set), true) => hits_in_words(set.hits),
                (None, true) => "open".to_owned(),
            };
            output.line(&format!("{mark}{} {}  {state}", index + 1, place.way.name))?;
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn use_session(&mut self, number: &str, output: &mut Output) -> CommandResult {
        let number: usize = self::number(number)?;
        let index = number
            .checked_sub(1)
            .filter(|index| *index < self.places.len())
            .ok_or_else(|| {
                Refusal::wrong(format!(
                    "there is no session {number}; sessions lists the open ones"
                ))
            })?;
        self.current = index;
        self.say_current(output);
        Ok(Exit::Delivered)
    }
}
