//! The answer to one input of `get`, `lookup` or `search`: pieces as they come, and then how it ended.
//!
//! A command does the [`Work`]. [`Job::print`] writes the pieces to standard output; a batch writes them where its options
//! say.

mod print;
mod runner;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use z3950::retrieve::OutcomeName;

pub(crate) use self::print::{Job, Printed};
pub(crate) use self::runner::{Event, run};
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::shown;

/// The longest input, in octets; a longer one is refused.
pub(crate) const MAX_INPUT: usize = 65_536;

/// What a command does with each input.
pub(crate) trait Work {
    /// Answers an ask. Work that sends more records than there is [`Recipient::room`] for waits until it may
    /// ([`Recipient::ready_for`]), and holds nothing meanwhile that another ask may need.
    ///
    /// # Errors
    /// Those of [`Recipient::send`]; what goes wrong with the ask itself is an answer.
    async fn answer(&self, ask: &Ask, recipient: &mut impl Recipient) -> Result<Answer, Failure>;
}

/// Where the pieces of an answer go.
pub(crate) trait Recipient {
    /// How many records may be sent now.
    fn room(&self) -> u64 {
        u64::MAX
    }

    /// Waits until this many records may be sent.
    async fn ready_for(&mut self, _records: u64) {}

    /// Takes the next piece.
    ///
    /// # Errors
    /// Nothing more can be written.
    async fn send(&mut self, piece: impl Into<Piece>) -> Result<(), Failure>;
}

/// An input on its way to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Which input it is, 1-based. The same text further down is another input.
    pub(crate) position: u64,
    /// Which of the targets is asked, 0-based.
    pub(crate) target: usize,
    /// The input, shared by all targets that are asked.
    pub(crate) input: Arc<[u8]>,
    /// Whether the input is longer than [`MAX_INPUT`]; of a line of a file, only its beginning is here then.
    pub(crate) is_cut: bool,
    /// Where it was read, unless the command line has it.
    pub(crate) origin: Option<Origin>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) name: Arc<str>,
    /// 1-based.
    pub(crate) line: u64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.name, self.line)
    }
}

impl fmt::Display for Ask {
    /// The input, what is not text in it as `\xNN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.input))
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// What a person should know.
    pub(crate) words: Vec<Words>,
    /// What the output gets; may be nothing.
    pub(crate) octets: Vec<u8>,
    /// Whether the octets are a record, and not a line of their own.
    pub(crate) is_record: bool,
    /// Whether the record had to be repaired.
    pub(crate) is_repaired: bool,
}

/// Something said to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Words {
    /// A remark.
    Note(String),
    /// What a person should know although it worked.
    Warning(String),
    /// What went wrong.
    Error(String),
}

impl Words {
    /// Says them.
    pub(crate) fn say(&self, output: &Output) {
        match self {
            Self::Note(words) => output.note(words),
            Self::Warning(words) => output.warning(words),
            Self::Error(words) => output.error(words),
        }
    }
}

impl From<Words> for Piece {
    fn from(words: Words) -> Self {
        Self {
            words: vec![words],
            ..Self::default()
        }
    }
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// What came of it, in a word.
    pub(crate) outcome: OutcomeName,
    /// The exit code of a program that asks for this alone.
    pub(crate) exit: u8,
    /// How many records match.
    pub(crate) hits: Option<u64>,
    /// Which of several ways was successful.
    pub(crate) step: Option<String>,
    /// What the server said: an object with the keys `set`, `code`, `text` and `addinfo`.
    pub(crate) diagnostic: Option<Value>,
    /// The outcome in plain words.
    pub(crate) message: Option<String>,
}

impl Answer {
    /// What an envelope says of an input that ends with this exit code.
    pub(crate) fn of(envelope: &Envelope, exit: Exit) -> Self {
        let text = |key: &str| envelope.value(key)?.as_str().map(str::to_owned);
        Self {
            outcome: text("outcome")
                .and_then(|word| word.parse().ok())
                .unwrap_or_default(),
            exit: exit as u8,
            hits: envelope.value("hits").and_then(Value::as_u64),
            step: text("step"),
            diagnostic: envelope.value("diagnostic").cloned(),
            message: text("message"),
        }
    }

    /// The graver of two answers: that to an input, and that of one of its records.
    pub(crate) fn graver(self, of_record: Self) -> Self {
        let exit = Exit::of(self.exit);
        match exit.and(Exit::of(of_record.exit)) == exit {
            true => self,
            false => of_record,
        }
    }
}

/// The answer to an input that cannot be carried out. It has no envelope, only words; the report has their first line.
pub(crate) async fn refuse(
    ask: &Ask,
    words: String,
    recipient: &mut impl Recipient,
) -> Result<Answer, Failure> {
    let answer = Answer {
        outcome: OutcomeName::NotSent,
        exit: Exit::Usage as u8,
        message: words.lines().next().map(str::to_owned),
        ..Answer::default()
    };
    let words = match &ask.origin {
        Some(origin) => format!("{origin}: {words}"),
        None => words,
    };
    recipient.send(Words::Error(words)).await?;
    Ok(answer)
}

/// Answers an ask, unless its input is too long.
async fn answer<W: Work>(
    work: &W,
    ask: &Ask,
    recipient: &mut impl Recipient,
) -> Result<Answer, Failure> {
    if ask.is_cut {
        let words = format!("input {} has more than {MAX_INPUT} octets", ask.position);
        return refuse(ask, words, recipient).await;
    }
    work.answer(ask, recipient).await
}
