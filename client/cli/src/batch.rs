//! Many inputs in one run: read as lines, written in their order, and continued where a run was broken off (no standard
//! has batches; what one retrieval is, RFC 2056 §4 says).
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the options, and whether they go together |
//! | `run`, `state` | a run from the first input to the last, and what came of it so far |
//! | `destination` | where records go: standard output, a file or a folder |
//! | `progress` | how far a run has come, on a line of a terminal |
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

mod arguments;
mod destination;
mod inputs;
mod progress;
mod report;
mod resume;
mod run;
mod sinks;
mod state;
mod sync;

pub(crate) use self::arguments::Batch;
pub(crate) use self::run::run_all;
pub(crate) use self::sinks::{FileSink, OutputFile, Remains};

#[cfg(test)]
mod tests;
