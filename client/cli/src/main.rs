#![forbid(unsafe_code)]
//! The program z3950.

mod batch;
mod cli;
mod render;
mod repl;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os()).into()
}
