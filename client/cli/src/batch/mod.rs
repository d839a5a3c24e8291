//! Many inputs in one run: read as lines, written in their order, and continued where a run was broken off (no standard
//! has batches; what one retrieval is, RFC 2056 §4 says).
//!
//! | file | holds |
//! |---|---|
//! | `inputs` | lines of files and standard input, bounded; what is asked of which target |
//! | `sinks` | one file, or a file for each input |
//! | `report` | a line for each answer, as a table or as JSON |
//! | `resume` | how far a report goes, and whether it is about these inputs |
//! | `sync` | what is written reaches the disk |
//!
//! Output and report agree at any moment, even after a kill: a line of the report is written when the records it speaks
//! of are complete in the output, and says how long the output is then. To go on, a torn last line is cut from the
//! report and the output is cut back to the length in the line before it; what was asked for in between is asked for
//! again. After a power cut it may be the report that is ahead: then it is cut back to what the output has. Both are in the order of the inputs, so the lines of the report tell which inputs are done.

mod inputs;
mod report;
mod resume;
mod sinks;
mod sync;

pub(crate) use self::inputs::{Asks, InputError, Inputs, refusal};
pub(crate) use self::report::{Entry, Report, ReportForm};
pub(crate) use self::resume::{ResumeError, Resumed, Tally, Unanswered, resume};
pub(crate) use self::sinks::{FileSink, FolderSink, OutputFile, Remains};
pub(crate) use self::sync::{Syncer, Written};

#[cfg(test)]
mod tests;
