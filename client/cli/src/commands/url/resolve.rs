//! `z3950 url resolve`: resolves a partial URL against a base URL (RFC 1630).

use std::ffi::{OsStr, OsString};

use z3950::url::{
    Locator, Mode, ResolveError, ResolveMode, UrlError, UrlErrorKind, classify, generic, resolve,
};

use super::{Redaction, answer, refusal};
use crate::commands::options::choices;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The base URL; its user and password, if any, are kept in the result.
    #[arg(value_name = "BASE")]
    base: OsString,

    /// A relative URL such as ../b; an absolute URL is printed unchanged.
    #[arg(value_name = "REFERENCE", allow_hyphen_values = true)]
    reference: OsString,

    /// How to interpret leading slashes: as in the examples of RFC 1630, or as in its text.
    #[arg(long, value_name = "NAME", default_value = "examples", value_parser = choices(&[
        ("examples", ResolveMode::Rfc1630Examples, "As in the examples of RFC 1630: one slash is the root, two start a host, more are matched in the base"),
        ("prose", ResolveMode::Rfc1630Prose, "As in the text of RFC 1630: any number is matched in the base, and a query alone replaces the last segment"),
    ]))]
    profile: ResolveMode,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    showing: Redaction,
}

/// The command's keys in the object that `--json` prints.
const KEYS: [&str; 2] = ["uri", "in"];

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let resolved = (|| {
        let base = text(&arguments.base).map_err(ResolveError::Base)?;
        let reference = text(&arguments.reference).map_err(ResolveError::Reference)?;
        resolve(base, reference, arguments.profile)
    })();
    match resolved {
        Ok(uri) => {
            remark(&uri, output);
            let has_password = generic::redact(&uri) != uri;
            arguments.showing.caution(has_password, output);
            let uri = if arguments.showing.redact {
                generic::redact(&uri)
            } else {
                uri
            };
            output.line(&if arguments.json {
                answer(&KEYS).with("uri", uri).to_string()
            } else {
                uri
            })?;
            Ok(Exit::Delivered)
        }
        Err(error) => {
            let faulty = match error {
                ResolveError::Base(_) => "base",
                _ => "reference",
            };
            let answer = refusal(&error.refusal(), &KEYS).with("in", faulty);
            answer.or_error(arguments.json, &error.to_string(), output)?;
            Ok(Exit::Usage)
        }
    }
}

fn text(argument: &OsStr) -> Result<&str, UrlError> {
    std::str::from_utf8(argument.as_encoded_bytes())
        .map_err(|fault| UrlError::at(UrlErrorKind::InvalidCharacter, fault.valid_up_to()))
}

/// Prints a warning if the result is malformed. This can happen because the resolution ignores the rules of the scheme.
fn remark(uri: &str, output: &Output) {
    if let Err(error) = Locator::parse(uri, Mode::Lenient) {
        output.warning(&format!("the result is malformed: {error}"));
    } else if classify(uri).is_some() {
        output
            .note("RFC 2056 gives partial forms no meaning; the result may not be what was meant");
    }
}
