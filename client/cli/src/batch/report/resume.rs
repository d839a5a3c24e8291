//! Determines how much of an interrupted batch is complete. It compares the report with the inputs line by line, in
//! constant memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::iter::Peekable;

use z3950::retrieve::OutcomeName;

use super::form::{ParsedLine, ReportForm};
use super::later::LaterLines;
use crate::answer::{Ask, OR};
use crate::console::exit::Exit;
use crate::console::output::Failure;

/// The maximum length of a report line in octets. The program never writes a longer line.
pub(super) const MAX_LINE: u64 = 1 << 20;

/// The part of an interrupted batch that is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Resumed {
    /// The number of answers in the report.
    pub(crate) answers: u64,
    /// The length of the report in octets, up to the end of its last complete line; 0 if even its header is incomplete.
    pub(crate) report_length: u64,
    /// The length of the output in octets according to the report.
    pub(crate) output_length: u64,
    pub(crate) tally: Tally,
    /// The number of the first line whose recorded length exceeds the length of the output file, and the recorded
    /// length. Its input and all later inputs are processed again.
    pub(crate) ahead: Option<(u64, u64)>,
    /// The number of inputs without an answer, which are processed again.
    pub(crate) unanswered: u64,
    /// The later lines that must be inserted between new answers; `None` if there are none.
    pub(crate) later: Option<LaterLines>,
}

/// The numbers of answers, by exit code and outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tally(BTreeMap<(Exit, &'static str), u64>);

impl Tally {
    /// Adds one answer with this exit code and outcome.
    pub(crate) fn add(&mut self, exit: Exit, outcome: OutcomeName) {
        *self.0.entry((exit, outcome.as_str())).or_default() += 1;
    }

    /// Returns the exit codes that occurred.
    pub(crate) fn exits(&self) -> impl Iterator<Item = Exit> {
        self.0.keys().map(|(exit, _)| *exit)
    }

    /// Returns the total number of answers.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl fmt::Display for Tally {
    /// Writes the number of answers for each outcome, such as `4990 delivered, 10 no match`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ((exit, outcome), count)) in self.0.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{count} {outcome}")?;
            if *exit == Exit::FaultsFound {
                f.write_str(" with damage")?;
            }
        }
        Ok(())
    }
}

/// The report lines whose inputs had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnansweredLines {
    /// The 1-based number of the first unanswered line, or of the line after the last line if all are answered.
    first: u64,
    /// The number of the first of the consecutive unanswered lines at the end of the report, or of the line after the
    /// last line.
    tail: u64,
    count: u64,
}

impl UnansweredLines {
    /// Finds the unanswered lines of a report. Errors in lines are reported later, by [`resume`].
    ///
    /// # Errors
    /// Fails if the report cannot be read.
    pub(crate) fn of(mut report: impl BufRead, form: ReportForm) -> Result<Self, String> {
        let mut first = None;
        let (mut tail, mut count) = (1, 0);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let bounded = report.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            bounded.map_err(unread)?;
            let Some(text) = line.strip_suffix(b"\n").filter(|text| !text.contains(&0)) else {
                break;
            };
            let kept = std::str::from_utf8(text)
                .ok()
                .and_then(|text| form.read(text));
            if kept.is_some_and(|kept| is_unanswered(kept.exit)) {
                count += 1;
                first = first.or(Some(number));
            } else {
                tail = number + 1;
            }
        }
        Ok(Self {
            first: first.unwrap_or(tail),
            tail,
            count,
        })
    }

    /// Keeps only the unanswered lines at the end, for a run in which answers after an unanswered input cannot be
    /// inserted again.
    pub(crate) fn at_end(self) -> Self {
        Self {
            first: self.tail,
            ..self
        }
    }
}

fn is_unanswered(exit: u8) -> bool {
    exit == Exit::Transport as u8
}

/// Reads a report, and removes the `Ask`s that it answers from `asks`. Unanswered `Ask`s at its end are not removed;
/// earlier ones are added to [`LaterLines::asks`]. `shown` returns the target and input of an `Ask` in the form used in
/// the report. `is_there` returns whether the output contains all records for an `Ask`, given its input and the length,
/// both as in the report. `remember` is called with each answered `Ask` and its line.
///
/// After a power cut, the report may be ahead of the output, or end in octets that were never written (NUL). Only the
/// part that agrees with the output is then used.
///
/// # Errors
/// Fails if the report has a different format, contains different inputs, or cannot be read.
pub(crate) fn resume(
    mut report: impl BufRead,
    form: ReportForm,
    unanswered: UnansweredLines,
    asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
    shown: impl Fn(&Ask) -> (String, String),
    is_there: impl Fn(&Ask, &str, u64) -> bool,
    mut remember: impl FnMut(&Ask, &ParsedLine, OutcomeName),
) -> Result<Resumed, String> {
    let mut resumed = Resumed::default();
    let mut line = Vec::new();
    let header = form.header();
    let mut number = 0;
    loop {
        line.clear();
        let bounded = report.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let length = u64::try_from(bounded.map_err(unread)?).unwrap_or(MAX_LINE);
        let is_header = number == 0 && !header.is_empty();
        number += 1;
        if unanswered.count > 0 && number == unanswered.tail {
            resumed.unanswered = unanswered.count;
            return Ok(resumed);
        }
        let malformed = || {
            let hint = match number {
                1 => "",
                _ => {
                    "; if it is damaged, remove it and all lines after it, and --resume continues from there"
                }
            };
            format!("line {number} is not one of a report in this form{hint}")
        };
        // After a power cut, a report may end with NUL in place of octets that were never written. The octets before the NUL are
        // an incomplete line, so they must be the beginning of a valid line.
        let (begin, is_unwritten) = match line.iter().position(|octet| *octet == 0) {
            Some(end) => (line.get(..end).unwrap_or_default(), true),
            None => (&*line, false),
        };
        let text = line.strip_suffix(b"\n");
        let Some(text) = text.filter(|_| !is_unwritten) else {
            let is_begun = if is_header {
                header.as_bytes().starts_with(begin)
            } else {
                form.may_begin(begin)
            };
            let is_torn = is_begun && (is_unwritten || length < MAX_LINE);
            return if is_torn {
                Ok(resumed)
            } else {
                Err(malformed())
            };
        };
        if is_header {
            if line != header.as_bytes() {
                return Err(malformed());
            }
            resumed.report_length += length;
            continue;
        }
        let text = std::str::from_utf8(text).ok();
        let kept = text
            .and_then(|text| form.read(text))
            .ok_or_else(malformed)?;
        let outcome: Result<OutcomeName, _> = kept.outcome.parse();
        let outcome = outcome.map_err(|error| {
            format!("line {number}: {error}; a report of another version cannot be continued")
        })?;
        let of_report = (kept.target.clone().unwrap_or_default(), kept.input.clone());
        let reported = || named(kept.position, &of_report);
        let ask = match asks.peek() {
            Some(Ok(ask)) => ask,
            Some(Err(failure)) => return Err(failure.to_string()),
            None => {
                let reported = reported();
                return Err(format!(
                    "line {number} is about {reported}, but the inputs end before it"
                ));
            }
        };
        let of_ask = shown(ask);
        let is_same = form.shows(&of_report.1, &of_ask.1) && is_of(form, &of_report.0, &of_ask.0);
        if ask.position != kept.position || !is_same {
            let (reported, asked) = (reported(), named(ask.position, &of_ask));
            return Err(format!(
                "line {number} is about {reported}, but the inputs now have {asked}"
            ));
        }
        if !is_there(ask, &of_ask.1, kept.length) {
            resumed.ahead = Some((number, kept.length));
            return Ok(resumed);
        }
        let ask = asks.next().transpose().map_err(|error| error.to_string())?;
        if number < unanswered.first {
            resumed.report_length += length;
            resumed.answers += 1;
            resumed.output_length = kept.length;
        } else {
            let begin = resumed.report_length;
            let later = resumed.later.get_or_insert_with(|| LaterLines {
                report_end: begin,
                ..LaterLines::default()
            });
            later.count += 1;
            later.report_end += length;
            later.output_end = kept.length;
            if is_unanswered(kept.exit) {
                later.asks.extend(ask);
                continue;
            }
        }
        if let Some(ask) = &ask {
            remember(ask, &kept, outcome);
        }
        resumed.tally.add(Exit::of(kept.exit), outcome);
    }
}

/// Returns whether the target in a report is the target of the `Ask` or, if that is a list of targets such as `a or b`,
/// one of the targets in the list.
fn is_of(form: ReportForm, reported: &str, asked: &str) -> bool {
    let mut each = asked.split(OR);
    form.shows(reported, asked) || each.any(|one| form.shows(reported, one))
}

fn unread(error: io::Error) -> String {
    format!("cannot read it: {error}")
}

/// Returns a description of an input, such as `input 7, isbn:0306406152 at lib.example/books`.
fn named(position: u64, (target, input): &(String, String)) -> String {
    match target.as_str() {
        "" => format!("input {position}, {input}"),
        target => format!("input {position}, {input} at {target}"),
    }
}

#[cfg(test)]
mod tests;
