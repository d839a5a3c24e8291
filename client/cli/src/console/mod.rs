//! Between the commands and the terminal: input, output, messages, exit codes, signals.

pub(crate) mod envelope;
pub(crate) mod exit;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod logging;
pub(crate) mod output;
pub(crate) mod report;
pub(crate) mod runtime;
