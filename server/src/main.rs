//! The program `z3950d`: databases of MARC records, served until a signal comes.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
