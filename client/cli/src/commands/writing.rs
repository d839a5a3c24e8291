//! How an answer is written, the same for `get`, `lookup` and `search`: records in a format or in the envelope of `--json`,
//! and what came of an input in words or in an envelope.

use z3950::retrieve::OutcomeName;
use z3950_asn1::apdu::External;
use z3950_marc::charset::Charset;

use crate::answer::{Answer, Piece, Words};
use crate::commands::target::Unanswered;
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::render::{Format, Rendered, render};

/// How answers are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// Whether as envelopes.
    pub(crate) json: bool,
    /// How records are, where there are no envelopes.
    pub(crate) format: Format,
    /// The character set that records are in, if the command line knows.
    pub(crate) charset: Option<Charset>,
}

impl Writing {
    /// A record; of one that the format cannot hold only why, which is the answer to its input. `subject` is what the
    /// words are about.
    pub(crate) fn record(
        self,
        envelope: Envelope,
        record: &External,
        charset: Option<Charset>,
        subject: &str,
    ) -> (Piece, Answer) {
        if self.json {
            let (envelope, rendered) = envelope.record(record, charset);
            let piece = Piece {
                words: words(&rendered, subject),
                octets: envelope.octets(),
                is_record: false,
                is_repaired: rendered.is_repaired,
            };
            return (piece, Answer::of(&envelope, Exit::of_record(&rendered)));
        }
        let rendered = render(record, self.format, charset);
        let exit = Exit::of_record(&rendered);
        let mut piece = Piece {
            words: words(&rendered, subject),
            octets: Vec::new(),
            is_record: true,
            is_repaired: rendered.is_repaired,
        };
        let envelope = match &rendered.failure {
            None => {
                let envelope = envelope.with("outcome", OutcomeName::Delivered.as_str());
                let envelope = envelope.lost(&rendered);
                piece.octets = rendered.octets;
                envelope
            }
            Some(failure) => {
                piece
                    .words
                    .push(Words::Error(format!("{subject}: {failure}")));
                envelope.outcome(OutcomeName::NotWritten, failure)
            }
        };
        (piece, Answer::of(&envelope, exit))
    }

    /// The end of an input that brought no record, or none in its place. `subject` is what the words are about.
    pub(crate) fn end(
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
    pub(crate) fn failed(
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
    pub(crate) fn outcome(self, envelope: Envelope, exit: Exit, said: String) -> (Piece, Answer) {
        let answer = Answer::of(&envelope, exit);
        let piece = match self.json {
            true => Piece {
                octets: envelope.octets(),
                ..Piece::default()
            },
            false => Words::Error(said).into(),
        };
        (piece, answer)
    }
}

/// What a person should know of a record: of a loss also where notes are not wanted, as in a batch.
fn words(record: &Rendered, subject: &str) -> Vec<Words> {
    let kind = match record.is_loss {
        true => Words::Warning,
        false => Words::Note,
    };
    let notes = record.notes.iter();
    notes
        .map(|note| kind(format!("{subject}: {note}")))
        .collect()
}
