//! `z3950 url wrap`: a URL between `<URL:` and `>`, in lines that e-mail leaves unchanged (RFC 1738 Appendix).

use std::ffi::OsString;

use z3950::url::extract::{MAX_WRAP_WIDTH, MIN_WRAP_WIDTH, wrap};
use z3950::url::{Encoded, Locator};

use super::{Redaction, UrlReading, answered, refuse};
use crate::commands::connection::mode;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// URLs of any scheme, printed in canonical form if the scheme is known.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,

    /// The longest line, in characters.
    #[arg(long, default_value_t = 72, value_parser = width)]
    width: usize,

    #[command(flatten)]
    reading: UrlReading,

    #[command(flatten)]
    showing: Redaction,
}

fn width(text: &str) -> Result<usize, String> {
    let width = text.parse().ok();
    width
        .filter(|width| (MIN_WRAP_WIDTH..=MAX_WRAP_WIDTH).contains(width))
        .ok_or_else(|| format!("not a number from {MIN_WRAP_WIDTH} to {MAX_WRAP_WIDTH}"))
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let json = arguments.reading.json.then_some(["wrapped"].as_slice());
    let mut exit = Exit::Delivered;
    for text in &arguments.urls {
        match Locator::parse(text.as_encoded_bytes(), mode(arguments.reading.strict)) {
            Ok(locator) => {
                let fragment = locator.fragment().map(Encoded::of_data);
                let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
                let url = match arguments.showing.redact {
                    true => locator.to_string(),
                    false => locator.to_string_with_secrets(),
                };
                arguments.showing.caution(locator.has_password(), output);
                let wrapped = wrap(&format!("{url}{fragment}"), arguments.width);
                output.line(&match arguments.reading.json {
                    true => answered([("wrapped", wrapped.into())]).to_string(),
                    false => wrapped,
                })?;
            }
            Err(error) => exit = exit.and(refuse(text, &error, json, output)?),
        }
    }
    Ok(exit)
}
