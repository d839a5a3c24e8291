//! The program z3950; everything it does is in [`z3950_client::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    z3950_client::cli::run(std::env::args_os()).into()
}
