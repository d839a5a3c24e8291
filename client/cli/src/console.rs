//! Input, output, messages, exit codes and signals of the program.

pub(crate) mod exit;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod logging;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod password;
pub(crate) mod report;
pub(crate) mod waiting;
