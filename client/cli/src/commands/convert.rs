//! `z3950 convert`: converts record files to another format, or checks or counts them, in constant memory.

mod arguments;
mod dedupe;
mod progress;
mod revise;
mod run;
mod sink;
mod sorted;
mod source;
mod stats;

use std::path::Path;

use z3950_files::same;

pub(crate) use self::arguments::Convert;
use self::run::Run;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::Format;

/// Converts or checks all files. The exit code is 8 if records were left out or lost data, or if a check finds faults.
pub(crate) fn run(arguments: &Convert, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(path) = arguments
        .files
        .iter()
        .find(|path| is_output(path, arguments))
    {
        output.error(&format!("{} is both input and output", path.display()));
        return Ok(Exit::Usage);
    }
    let style = arguments.style()?;
    if arguments.to_charset.is_some() && !matches!(style.format(), Format::Marc | Format::Text) {
        output.error("--to-charset is for --format marc and line; other formats are always UTF-8");
        return Ok(Exit::Usage);
    }
    Run::new(arguments, style, output)?.carry_out()
}

/// Returns whether an input file is also the output file.
fn is_output(path: &Path, arguments: &Convert) -> bool {
    let output = arguments.file();
    output.is_some_and(|output| same(path, output))
}
