//! Faults: rules as text in `faults`, and `[[fault]]` tables.

use std::str::FromStr;

use z3950_server::fault::{Fault, Faults, Rule, When};

use super::section::{Section, number, string};

pub(super) fn read(top: &Section<'_>) -> Faults {
    let mut faults = Faults::new();
    for value in top.values("faults") {
        match string(value.get_ref()).map(Rule::from_str) {
            Some(Ok(rule)) => faults = faults.with(rule),
            Some(Err(error)) => top.note(value, format!("faults: {error}")),
            None => top.note(value, "faults holds what is not a text"),
        }
    }
    let rules = top.sections("fault", fault);
    rules.into_iter().flatten().fold(faults, Faults::with)
}

fn fault(section: &Section<'_>) -> Option<Rule> {
    let when = section.parse("on", When::on);
    let fault = section.need("do", "a text", string);
    let fault = fault.and_then(|_| section.parse("do", Fault::from_str));
    let mut when = when.unwrap_or_default();
    for key in ["session", "nth", "nth-of-all"] {
        if let Some(number) = section.read(key, "a number from 1", number::<u32>) {
            when = condition(section, when, key, &number.to_string());
        }
    }
    for key in ["database", "docid", "syntax"] {
        if let Some(text) = section.read(key, "a text", string) {
            when = condition(section, when, key, text);
        }
    }
    Some(Rule::new(when, fault?))
}

fn condition(section: &Section<'_>, when: When, key: &str, value: &str) -> When {
    let unchanged = when.clone();
    when.with(key, value).unwrap_or_else(|reason| {
        section.note_whole(format!("{key}: {reason}"));
        unchanged
    })
}
