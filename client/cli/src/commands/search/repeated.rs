//! Collects the reasons why records found by a search are not shown. Each reason is printed once; at the end, the number of other records
//! to which it applies is printed.

use z3950::retrieve::OutcomeName;

use crate::answer::Answer;
use crate::console::output::Words;
use crate::render::counted;

/// The reasons why records were not shown, each with the number of records to which it applies, not counting the first.
#[derive(Default)]
pub(super) struct RepeatedReasons(Vec<(String, u64)>);

/// The maximum number of reasons that are stored.
const MAX_REASONS: usize = 20;

impl RepeatedReasons {
    /// Returns whether the record at `position` was left out for the same reason as an earlier record. A new reason is stored.
    pub(super) fn has(&mut self, answer: &Answer, position: u64) -> bool {
        let is_about_record = matches!(
            answer.ending.outcome,
            OutcomeName::NotWritten | OutcomeName::RecordRefused
        );
        let Some(message) = answer.message.as_deref().filter(|_| is_about_record) else {
            return false;
        };
        let which = format!("record {position}: ");
        let reason = message.strip_prefix(&which).unwrap_or(message);
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| known == reason) {
            *count += 1;
            return true;
        }
        if self.0.len() < MAX_REASONS {
            self.0.push((reason.to_owned(), 0));
        }
        false
    }

    /// Returns a message for each reason that applies to more than one record.
    pub(super) fn words(self, subject: &str) -> impl Iterator<Item = Words> {
        let several = self.0.into_iter().filter(|(_, count)| *count > 0);
        several.map(move |(reason, count)| {
            let records = counted(count, "more record");
            Words::Error(format!("{subject}: {records}: {reason}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_printed_once_and_counted() {
        let mut repeated = RepeatedReasons::default();
        let mut has = |position, message: &str| {
            let answer = Answer::default().ended(OutcomeName::RecordRefused);
            repeated.has(&answer.saying(message), position)
        };
        assert!(!has(1, "record 1: no"));
        assert!(!has(2, "never"));
        assert!(has(3, "record 3: no"));
        assert!(has(4, "no"));
        for other in 2..MAX_REASONS {
            assert!(!has(1, &other.to_string()));
        }
        // The maximum number of reasons is reached, so a new reason is not remembered.
        assert!(!has(1, "last") && !has(2, "last"));
        assert!(!repeated.has(&Answer::default().saying("no"), 1));
        let words: Vec<_> = repeated.words("x").collect();
        assert_eq!(words, [Words::Error("x: 2 more records: no".into())]);
    }
}
