//! Many inputs in one run. The inputs are read as lines and answered in order; an interrupted run can be resumed.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the options, and whether they can be combined |
//! | `run` | a run from the first input to the last, and its results so far |
//! | `destination` | the destination for records: standard output, a file or a folder |
//! | `progress` | the progress of a run, shown on a line of a terminal |
//! | `repeats` | inputs with the same request as an earlier one, which are processed only once |
//! | `inputs` | reads lines of bounded length from files and standard input, and pairs each input with each target |
//! | `rows`, `column`, `text` | the rows of a table; one of its columns; text as spreadsheet programs save it |
//! | `sinks` | writes records to one file, or to a file for each input |
//! | `report` | the report, from which a later run can resume |
//! | `report/form` | the lines of a report, one for each answer, as a table or as JSON |
//! | `report/saved` | a report that a spreadsheet program has saved again |
//! | `report/resume` | the complete part of a report, after a check that it belongs to the same inputs |
//! | `report/later` | the answers after an input that had no answer and is processed again |
//! | `sync` | syncing to disk |
//!
//! Output and report always agree, even after the process is killed: a line of the report is written when its records
//! are complete in the output, and it contains the length of the output at that point. To resume a run, an incomplete
//! last line is cut from the report, the output is cut to the length in the line before it, and the inputs after this
//! line are processed again. After a power cut, the report may be ahead of the output, and is then cut to the part that
//! the output contains. Report and output are in the order of the inputs, so the lines of the report show which inputs
//! are done. When an input without an answer is processed again, its answer is inserted before the answers to later
//! inputs.

mod arguments;
mod column;
mod destination;
mod inputs;
mod progress;
mod repeats;
mod report;
pub(crate) mod rows;
mod run;
mod sinks;
mod sync;
mod text;

pub(crate) use self::arguments::Batch;
pub(crate) use self::report::Tally;
pub(crate) use self::run::run_all;
pub(crate) use self::sinks::FileSink;

#[cfg(test)]
mod tests;
