//! `close`, `sessions`, `use`: several sessions at once, one of them being the one that commands are for.

use super::command::{Answer, Stop};
use super::search::hits_in_words;
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::Output;

impl State {
    pub(super) async fn close(&mut self, arguments: &str, output: &mut Output) -> Answer {
        if !arguments.is_empty() {
            return Err(Stop::Usage);
        }
        if self.has_session() && !self.is_open() {
            self.forget();
            output.note("the server had already closed the session");
            if let Some(place) = self.place() {
                output.note(&format!("at {}", place.way.name));
            }
            return Ok(Exit::Delivered);
        }
        let session = self.session()?;
        self.forget();
        session.close().await?;
        output.note("session closed");
        if let Some(place) = self.place() {
            output.note(&format!("at {}", place.way.name));
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn list_sessions(&mut self, _: &str, output: &mut Output) -> Answer {
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

    pub(super) fn use_session(&mut self, number: &str, output: &mut Output) -> Answer {
        let number: usize = number.parse().map_err(|_| Stop::Usage)?;
        let index = number
            .checked_sub(1)
            .filter(|index| *index < self.places.len())
            .ok_or_else(|| {
                Stop::wrong(format!(
                    "there is no session {number}; sessions lists those there are"
                ))
            })?;
        self.current = index;
        if let Some(place) = self.place() {
            output.note(&format!("at {}", place.way.name));
        }
        Ok(Exit::Delivered)
    }
}
