//! Reads scripted faults from the rules in `faults` and from the `[[fault]]` tables.

use std::mem;

use z3950_server::fault::{Fault, Faults, Rule, When};

use super::Config;
use super::section::{Value, any_text, number};
use super::setting::{parse, settings};

/// A rule of a `[[fault]]` table while the table is read.
#[derive(Default)]
pub(super) struct FaultTable {
    when: When,
    fault: Option<Fault>,
}

settings! {
    /// A fault, with a key for each part of its rule. The keys below are equivalent to
    /// `faults = ["on search session=1 nth=2 … : delay 500ms"]`.
    FAULT "[[fault]]": FaultTable = FaultTable::default() => {
        ///on = "search"
        "on": Parsed(|rule, request| When::on(request).map(|when| rule.when = when));
        /// Conditions for the fault: the number of the session, the Nth such request in each session, and the Nth such request
        /// in all sessions together.
        ///session = 1
        "session": Other(|rule, value| rule.restrict(value, value.read("a number from 1", number::<u32>)));
        ///nth = 2
        "nth": Other(|rule, value| rule.restrict(value, value.read("a number from 1", number::<u32>)));
        ///nth-of-all = 2
        "nth-of-all": Other(|rule, value| rule.restrict(value, value.read("a number from 1", number::<u32>)));
        ///database = "books"
        "database": Other(|rule, value| rule.restrict(value, value.read("a text", any_text)));
        ///docid = "pg1342"
        "docid": Other(|rule, value| rule.restrict(value, value.read("a text", any_text)));
        ///syntax = "usmarc"
        "syntax": Other(|rule, value| rule.restrict(value, value.read("a text", any_text)));
        ///do = "delay 500ms"
        "do": Required(|rule, value| rule.fault = value.parse(str::parse));
    }
}

impl FaultTable {
    /// Adds a condition to the rule. The condition is named by the key of `value`.
    fn restrict(&mut self, value: &Value<'_>, condition: Option<impl ToString>) {
        let Some(condition) = condition else {
            return;
        };
        match self.when.clone().with(value.key, &condition.to_string()) {
            Ok(when) => self.when = when,
            Err(reason) => value.section.note(format!("{}: {reason}", value.key)),
        }
    }
}

/// Adds a rule.
pub(super) fn add(config: &mut Config, rule: &str) -> Result<(), String> {
    let rule = parse(rule)?;
    config.faults = mem::take(&mut config.faults).with(rule);
    Ok(())
}

/// Adds the rule from a command-line option. The value `help`, which requests the list of faults, adds no rule.
pub(super) fn add_or_help(config: &mut Config, rule: &str) -> Result<(), String> {
    if rule == "help" {
        Ok(())
    } else {
        add(config, rule)
    }
}

/// Adds the rules of the `[[fault]]` tables.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults) {
    value.tables(|section| {
        let mut rule = FaultTable::default();
        section.fill(&[&FAULT], &mut rule);
        if let Some(fault) = rule.fault {
            *faults = mem::take(faults).with(Rule::new(rule.when, fault));
        }
    });
}
