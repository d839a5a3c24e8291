//! How an answer is written, the same for `get`, `lookup` and `search`: records in a format or in the envelope of `--json`,
//! and what came of an input in words or in an envelope.

use z3950_asn1::apdu::External;
use z3950_asn1::charset::Charset;

use crate::batch::{Answer, Piece, Words};
use crate::cli::envelope::Envelope;
use crate::cli::exit::Exit;
use crate::cli::target::Unanswered;
use crate::render::{Format, Rendered, render};
use crate::retrieve::OutcomeName;

/// How answers are written.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Writing {
    /// Whether as envelopes.
    pub(in crate::cli) json: bool,
    /// How records are, where there are no envelopes.
    pub(in crate::cli) format: Format,
    /// The character set that records are in, if the command line knows.
    pub(in crate::cli) charset: Option<Charset>,
}

impl Writing {
    /// A record; of one that the format cannot hold only why, which is the answer to its input.
    pub(in crate::cli) fn record(
        self,
        envelope: Envelope,
        record: &External,
        charset: Option<Charset>,
    ) -> (Piece, Answer) {
        if self.json {
            let (envelope, notes) = envelope.record(record, charset);
            let answer = envelope.answer(Exit::Delivered);
            return (piece(notes, envelope.octets(), false), answer);
        }
        let Rendered {
            octets,
            notes,
            failure,
        } = render(record, self.format, charset);
        let mut piece = piece(notes, octets, true);
        let (envelope, exit) = match failure {
            None => (
                envelope.with("outcome", OutcomeName::Delivered),
                Exit::Delivered,
            ),
            Some(failure) => {
                let envelope = envelope.outcome(OutcomeName::NotWritten, &failure);
                piece.octets.clear();
                piece.words.push(Words::Error(failure));
                (envelope, Exit::Usage)
            }
        };
        (piece, envelope.answer(exit))
    }

    /// The end of an input that brought no record, or none in its place. `subject` is what the words are about.
    pub(in crate::cli) fn end(
        self,
        envelope: Envelope,
        exit: Exit,
        name: OutcomeName,
        words: &str,
        subject: &str,
    ) -> (Piece, Answer) {
        let said = format!("{subject}: {words}");
        self.outcome(envelope.outcome(name, words), exit, said)
    }

    /// The same for a failure.
    pub(in crate::cli) fn failed(
        self,
        envelope: Envelope,
        failure: &Unanswered,
        subject: &str,
    ) -> (Piece, Answer) {
        let (exit, words) = failure.explain();
        let said = format!("{subject}: {words}");
        self.outcome(envelope.failed(failure), exit, said)
    }

    /// The same for an envelope that has its outcome; says this where there are no envelopes.
    pub(in crate::cli) fn outcome(
        self,
        envelope: Envelope,
        exit: Exit,
        said: String,
    ) -> (Piece, Answer) {
        let answer = envelope.answer(exit);
        let piece = match self.json {
            true => piece(Vec::new(), envelope.octets(), false),
            false => Words::Error(said).into(),
        };
        (piece, answer)
    }
}

/// The answer to an input of which one record brought another answer: the graver one.
pub(in crate::cli) fn graver(all: Answer, one: Answer) -> Answer {
    let exit = Exit::of(all.exit);
    match exit.and(Exit::of(one.exit)) == exit {
        true => all,
        false => one,
    }
}

/// An input that is none: it has no envelope, only words, of which the report has the first line.
pub(in crate::cli) fn refused(words: String) -> (Piece, Answer) {
    let answer = Answer {
        outcome: OutcomeName::NotSent,
        exit: Exit::Usage as u8,
        message: words.lines().next().map(str::to_owned),
        ..Answer::default()
    };
    (Words::Error(words).into(), answer)
}

fn piece(notes: Vec<String>, octets: Vec<u8>, is_record: bool) -> Piece {
    Piece {
        words: notes.into_iter().map(Words::Note).collect(),
        octets,
        is_record,
    }
}
