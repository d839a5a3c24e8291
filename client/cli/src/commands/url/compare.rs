//! `z3950 url compare`: compares two URLs by their canonical forms (RFC 1630, RFC 2056 §5). Different URLs may still lead
//! to the same resource (RFC 1736 §2.3).

use std::ffi::OsString;

use z3950::url::Locator;

use super::{UrlReading, answer, refusal};
use crate::commands::connection::mode;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::named;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A URL of any scheme.
    #[arg(value_name = "URL")]
    first: OsString,

    /// The URL to compare it with. The exit code is 0 if both are the same locator, and 3 if they are not; different
    /// locators may still lead to the same record.
    #[arg(value_name = "OTHER")]
    second: OsString,

    #[command(flatten)]
    reading: UrlReading,
}

/// The command's keys in the object that `--json` prints.
const KEYS: [&str; 3] = ["same", "canonical", "in"];

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let UrlReading { strict, json } = arguments.reading;
    let mut locators = Vec::new();
    for (place, text) in [("first", &arguments.first), ("second", &arguments.second)] {
        let text = text.as_encoded_bytes();
        match Locator::parse(text, mode(strict)) {
            Ok(locator) => locators.push(locator),
            Err(error) => {
                let words = format!("{}: {error}", named(text));
                let answer = refusal(&error, &KEYS).with("in", place);
                answer.or_error(json, &words, output)?;
                return Ok(Exit::Usage);
            }
        }
    }
    let is_same = locators.windows(2).all(|pair| match pair {
        [one, other] => one.same_locator(other),
        _ => true,
    });
    let mut canonical: Vec<String> = locators.iter().map(Locator::canonical).collect();
    if json {
        let answer = answer(&KEYS).with("same", is_same);
        output.line(&answer.with("canonical", canonical).to_string())?;
    } else {
        output.line(if is_same { "same" } else { "different" })?;
        if is_same {
            canonical.truncate(1);
        }
        canonical.iter().try_for_each(|url| output.line(url))?;
    }
    Ok(if is_same {
        Exit::Delivered
    } else {
        Exit::NoMatch
    })
}
