//! Finds doubtful lines of a recording. These are events that a complete transcript is unlikely to contain, so they suggest that
//! the transcript was cut or edited.

use std::collections::HashMap;
use std::time::SystemTime;

use super::lines::{Line, LineEvent};

/// A checker for the lines of a transcript, which are added as they are read.
#[derive(Debug, Default)]
pub(super) struct TranscriptCheck {
    /// Whether a line that gives the version of the format has been read.
    has_version: bool,
    sessions: HashMap<u64, SessionCheck>,
    doubts: Vec<(usize, String)>,
    /// The number of doubts that were not kept because of the limit [`MAX_DOUBTS`].
    more: u64,
}

/// The state of a session at the current line.
#[derive(Debug, Default)]
struct SessionCheck {
    is_opened: bool,
    is_closed: bool,
    /// The time of the session's last line.
    time: Option<SystemTime>,
}

/// The maximum number of doubts that are kept.
const MAX_DOUBTS: usize = 20;
/// The maximum number of sessions that are checked.
const MAX_SESSIONS: usize = 1_000_000;

impl TranscriptCheck {
    /// Checks a line.
    ///
    /// # Errors
    /// The line comes before the version of the format, or belongs to a different transcript than the previous lines.
    pub(super) fn add(&mut self, number: usize, line: &Line) -> Result<(), &'static str> {
        match line {
            Line::Apdu(entry) => self.said(number, entry.session, entry.time),
            Line::Http(entry) => self.said(number, entry.session, entry.time),
            Line::Event(LineEvent::Opened(session)) => {
                self.has_version = true;
                let session = self.session(*session);
                match session.map(|session| std::mem::replace(&mut session.is_opened, true)) {
                    Some(true) => Err(
                        "the session was opened before: each transcript needs a file of its own",
                    ),
                    _ => Ok(()),
                }
            }
            Line::Event(LineEvent::Closed(session, _)) => {
                if let Some(session) = self.session(*session) {
                    session.is_closed = true;
                }
                Ok(())
            }
            Line::Event(LineEvent::Other(has_version)) => {
                self.has_version |= has_version;
                Ok(())
            }
            Line::Empty => Ok(()),
        }
    }

    fn said(&mut self, line: usize, number: u64, time: SystemTime) -> Result<(), &'static str> {
        if !self.has_version {
            return Err("no line before it names the version of the format");
        }
        let Some(session) = self.session(number) else {
            return Ok(());
        };
        if session.is_closed {
            return Err("the session was closed before");
        }
        let before = session.time.replace(time);
        if before.is_none() && !session.is_opened {
            self.doubt(
                line,
                &format!("the beginning of session {number} is missing"),
            );
        }
        if before.is_some_and(|before| time < before) {
            let words = format!("earlier than the line of session {number} before it");
            self.doubt(line, &words);
        }
        Ok(())
    }

    /// Returns the state of a session; `None` if there are too many sessions.
    fn session(&mut self, number: u64) -> Option<&mut SessionCheck> {
        let is_full = self.sessions.len() >= MAX_SESSIONS;
        if is_full && !self.sessions.contains_key(&number) {
            None
        } else {
            Some(self.sessions.entry(number).or_default())
        }
    }

    /// Adds a doubt about a line.
    pub(super) fn doubt(&mut self, line: usize, words: &str) {
        if self.doubts.len() < MAX_DOUBTS {
            self.doubts.push((line, words.to_owned()));
        } else {
            self.more += 1;
        }
    }

    /// Returns the doubts, sorted by line.
    pub(super) fn doubts(mut self) -> Vec<String> {
        self.doubts.sort();
        self.doubts.dedup();
        let doubts = self
            .doubts
            .iter()
            .map(|(line, words)| format!("line {line}: {words}"));
        let more = (self.more > 0).then(|| format!("{} further lines are doubtful", self.more));
        doubts.chain(more).collect()
    }
}
