//! Messages that an input may cause any number of times. The first messages of each kind are printed; further
//! messages are counted, and logged with `-v`.

use crate::console::output::{Output, Words};
use crate::render::counted;

/// The maximum number of messages of one kind that are printed. A damaged file may have a fault at every octet.
pub(crate) const MOST_MESSAGES: u64 = 20;

/// The number of messages of each kind.
#[derive(Debug, Default)]
pub(crate) struct FewMessages {
    notes: u64,
    warnings: u64,
    errors: u64,
}

impl FewMessages {
    /// Prints a message. If [`MOST_MESSAGES`] of its kind have been printed, only counts and logs it.
    pub(crate) fn say(&mut self, words: Words, output: &Output) {
        let (count, message) = match &words {
            Words::Note(message) => (&mut self.notes, message),
            Words::Warning(message) => (&mut self.warnings, message),
            Words::Error(message) => (&mut self.errors, message),
        };
        *count += 1;
        if *count <= MOST_MESSAGES {
            output.say(&[words]);
        } else {
            tracing::info!("{message}");
        }
    }

    /// Prints how many messages of each kind were not printed.
    pub(crate) fn end(&self, output: &Output) {
        let counts = [
            (self.notes, "note"),
            (self.warnings, "warning"),
            (self.errors, "error"),
        ];
        for (count, kind) in counts {
            let more = count.saturating_sub(MOST_MESSAGES);
            if more > 0 {
                let words = counted(more, &format!("more {kind}"));
                output.note(&format!("{words}; -v shows all"));
            }
        }
    }
}
