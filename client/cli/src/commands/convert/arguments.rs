//! The options of `z3950 convert`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;
use z3950_marc::Form;
use z3950_marc::charset::Charset;
use z3950_marc::stream::InputForm;

use crate::args::charset;
use crate::console::output::Failure;
use crate::render::Format;

/// For the end of `convert --help`.
const EXIT: &str = "\
Exit code 8: something of a record was lost. Wrong lengths and directories that
could be repaired are notes only.";

#[derive(Debug, Args)]
#[command(after_help = EXIT)]
pub(crate) struct Convert {
    /// Files of records; - is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(super) files: Vec<PathBuf>,

    /// The form of the input: marc, marcxml, json, mrk or line. Without it, how the input begins
    /// decides, then the name of the file.
    #[arg(long, value_name = "FORM", value_parser = input_form)]
    pub(super) from: Option<InputForm>,

    /// The form of the output: marc, marcxml, json, mrk, line, dc or brief. Without it, the form that the name of
    /// --output ends in (.mrc, .xml, .jsonl, .mrk or .txt), and line on standard output.
    #[arg(long, value_name = "FORM", value_parser = form)]
    pub(super) to: Option<Form>,

    /// The character set that records are in, whatever they say themselves.
    #[arg(long, value_name = "NAME", value_parser = charset)]
    pub(super) charset: Option<Charset>,

    /// The character set of marc and line output, such as marc-8 or iso5426; UTF-8 without it.
    #[arg(long, value_name = "NAME", value_parser = charset)]
    pub(super) to_charset: Option<Charset>,

    /// Leave out records that need any repair, instead of repairing them.
    #[arg(long)]
    pub(super) strict: bool,

    /// Pass over so many records first.
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    pub(super) offset: u64,

    /// Take no more records than this.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) limit: Option<u64>,

    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Replace an output that is there already.
    #[arg(long, requires = "output")]
    pub(super) force: bool,

    /// Begin a new file after so many records; {} in the name of the output is its number.
    #[arg(long, value_name = "N", requires = "output")]
    pub(super) split: Option<NonZeroU64>,

    /// Convert nothing, but list what is wrong, record by record; exit code 8 if anything is.
    #[arg(long, conflicts_with_all = ["to", "to_charset", "strict", "output", "split"])]
    pub(super) check: bool,

    /// Answer --check with a JSON object a line, one for each record in which something is wrong.
    #[arg(long, requires = "check")]
    pub(super) json: bool,
}

impl Convert {
    /// The form of the output: the one asked for, else the one that its name ends in.
    ///
    /// # Errors
    /// A name that says none.
    pub(super) fn form(&self) -> Result<Form, Failure> {
        let by_name = match (&self.output, self.to) {
            (_, Some(form)) => return Ok(form),
            (None, None) => return Ok(Form::Line),
            (Some(path), None) => Format::for_file(path, Format::default()),
        };
        let format =
            by_name.map_err(|words| Failure::Usage(format!("--output {words}, or give --to")))?;
        Ok(format.form().unwrap_or(Form::Line))
    }
}

fn input_form(text: &str) -> Result<InputForm, String> {
    let mut known = InputForm::ALL.into_iter();
    known
        .find(|form| form.name().eq_ignore_ascii_case(text))
        .ok_or_else(|| "none of marc, marcxml, json, mrk, line".to_owned())
}

fn form(text: &str) -> Result<Form, String> {
    let mut known = Form::ALL.into_iter();
    known
        .find(|form| form.name().eq_ignore_ascii_case(text))
        .ok_or_else(|| "none of marc, marcxml, json, mrk, line, dc, brief".to_owned())
}
