//! `--fallback`: the searches and record syntaxes to try after a refusal, in addition to those in RFC 2056 §4, and
//! messages about the attempts.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use z3950::plan::{Fallback, is_prescribed};
use z3950::retrieve::Step;

#[derive(Debug, Args)]
pub(crate) struct Fallbacks {
    /// If the server refuses a search or finds nothing, try other ways of searching: those listed, or all. Each attempt
    /// is reported.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        num_args = 0..=1,
        default_missing_value = "all",
        hide_short_help = true
    )]
    fallback: Vec<FallbackStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FallbackStep {
    /// All of the following.
    All,
    /// Try other attributes: those in the target's profile, Use 1032 with and without Structure, 12, 1007, and the
    /// number that the docid looks like; for a query fewer attributes, broader indexes and any index; after a
    /// diagnostic about attributes (such as 114), or if nothing is found.
    Attributes,
    /// After diagnostic 118, try without the Structure attribute.
    Structure,
    /// After diagnostics 23 and 111, try the databases one by one until one has the record.
    Databases,
    /// After diagnostics 227, 238 and 239, try the next record syntax in `rs=`, then that in the target's profile, then
    /// none; `search` and `lookup` also try others without this option, unless --syntax is given.
    Syntax,
    /// After diagnostics 25 and 26, try without an element set.
    ElementSet,
}

impl Fallbacks {
    pub(crate) fn allowed(&self) -> Fallback {
        let has =
            |what| self.fallback.contains(&FallbackStep::All) || self.fallback.contains(&what);
        let mut allowed = Fallback::default();
        allowed.attributes = has(FallbackStep::Attributes);
        allowed.structure = has(FallbackStep::Structure);
        allowed.databases = has(FallbackStep::Databases);
        allowed.syntax = has(FallbackStep::Syntax);
        allowed.element_set = has(FallbackStep::ElementSet);
        allowed
    }
}

/// Adds the default value of `--fallback` if the argument that follows the option is not one of its values, but for
/// example a URL.
pub(crate) fn complete(arguments: &mut [OsString]) {
    let options = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .count();
    for index in 0..options {
        if arguments
            .get(index)
            .is_none_or(|argument| argument != "--fallback")
        {
            continue;
        }
        let next = arguments.get(index + 1).and_then(|next| next.to_str());
        let has_value = next.is_some_and(|next| {
            let mut names = next.split(',');
            names.all(|name| FallbackStep::from_str(name, false).is_ok())
        });
        if let Some(argument) = arguments.get_mut(index)
            && !has_value
        {
            *argument = "--fallback=all".into();
        }
    }
}

/// Returns the message for a failed attempt at a search, lookup or retrieval that is followed by another attempt.
pub(crate) fn again_as(subject: &str, reason: &str, step: &str) -> String {
    format!("{subject}: {reason}; asked again: {step}")
}

/// Returns a message about each failed attempt and the attempt after it, and about the successful attempt if it was not
/// the search in RFC 2056.
pub(crate) fn attempts(steps: &[Step], step: Option<&str>) -> Vec<String> {
    let pairs = steps.iter().zip(steps.iter().skip(1));
    // A step in the same form is the usual Present after a search, not another attempt.
    let again = pairs
        .filter(|(failed, next)| failed.form != next.form)
        .map(|(failed, next)| again_as(&failed.form, &failed.reason(), &next.form));
    again.chain(step.and_then(found_by)).collect()
}

/// Returns the message for a search that differs from the one prescribed by RFC 2056.
pub(crate) fn found_by(step: &str) -> Option<String> {
    let words = || format!("found by {step}, which is not the search of RFC 2056");
    (!is_prescribed(step)).then(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        fallbacks: Fallbacks,
        urls: Vec<String>,
    }

    #[test]
    fn a_fallback_may_be_named_or_not() {
        let none = Fallback::default();
        let mut syntax = none;
        syntax.syntax = true;
        let mut two = syntax;
        two.element_set = true;
        for (line, allowed, urls) in [
            ("u", none, 1),
            ("--fallback u", Fallback::ALL, 1),
            ("u --fallback", Fallback::ALL, 1),
            ("--fallback --fallback syntax u", Fallback::ALL, 1),
            ("--fallback all u v", Fallback::ALL, 2),
            ("--fallback syntax u", syntax, 1),
            ("--fallback=syntax u", syntax, 1),
            ("--fallback syntax,element-set u", two, 1),
            ("--fallback syntax u --fallback element-set", two, 1),
            ("-- --fallback u", none, 2),
        ] {
            let words = std::iter::once("z3950").chain(line.split(' '));
            let mut arguments: Vec<OsString> = words.map(OsString::from).collect();
            complete(&mut arguments);
            let line_read = Line::try_parse_from(arguments).expect(line);
            assert_eq!(line_read.fallbacks.allowed(), allowed, "{line}");
            assert_eq!(line_read.urls.len(), urls, "{line}");
        }
    }
}
