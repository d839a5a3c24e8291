//! Counts the records in a load, and reports the counts.

use std::fmt;
use std::path::Path;

use z3950_front::engine::opensearch::LoadPart;
use z3950_server::memory::Note;

use crate::engine::bar::LoadBar;
use crate::failure::{complain, note};
use crate::words::counted;

/// The maximum number of repaired records that are named in messages.
const MOST_NAMED: u64 = 100;
/// The number of records after which the progress is reported if there is no progress line.
const REPORTED: u64 = 50_000;

/// The number of records with each result.
#[derive(Debug, Default)]
pub(super) struct LoadSums {
    /// The number of records that were stored or deleted.
    pub(super) loaded: u64,
    /// The number of records that replaced earlier records.
    replaced: u64,
    /// The number of records that were to be deleted but do not exist.
    absent: u64,
    /// The number of records that were repaired; only the first ones are named in messages.
    repaired: u64,
    /// The number of records that were left out; each of them is named in a message.
    pub(super) left_out: u64,
    /// The number of records that the last progress message reported.
    told: u64,
}

impl LoadSums {
    /// Adds the results of a part of the load.
    pub(super) fn add(&mut self, part: &LoadPart, bar: &LoadBar) {
        self.loaded += part.changed;
        self.replaced += part.replaced;
        self.absent += part.absent;
        let so_far = self.loaded + self.absent;
        if bar.is_hidden() && so_far >= self.told + REPORTED {
            note(&format_args!("{} so far", counted(so_far, "record")));
            self.told = so_far;
        }
    }

    /// Counts and reports a record that was repaired or left out.
    pub(super) fn tell(&mut self, path: &Path, note: &Note, bar: &LoadBar) {
        let path = path.display();
        if matches!(note, Note::LeftOut { .. }) {
            self.left_out += 1;
            bar.complain(&format_args!("{path}: {note}"));
            return;
        }
        self.repaired += 1;
        if self.repaired <= MOST_NAMED {
            bar.note(&format_args!("{path}: {note}"));
        }
    }

    /// Reports all sums. If no records were loaded, the number of loaded records is only reported if the load is complete.
    pub(super) fn tell_all(&self, is_deletion: bool, is_complete: bool) {
        let say = |number, what: &dyn fmt::Display| {
            note(&format_args!("{} {what}", counted(number, "record")));
        };
        if is_complete || self.loaded > 0 {
            match (is_deletion, self.replaced) {
                (true, _) => say(self.loaded, &"deleted"),
                (false, 0) => say(self.loaded, &"loaded"),
                (false, 1) => say(self.loaded, &"loaded, 1 of them replaced an earlier one"),
                (false, replaced) => {
                    let what = format!("loaded, {replaced} of them replaced earlier ones");
                    say(self.loaded, &what);
                }
            }
        }
        if self.absent > 0 {
            say(self.absent, &"not in the engine");
        }
        if self.repaired > MOST_NAMED {
            say(
                self.repaired,
                &format_args!("repaired, {MOST_NAMED} of them named"),
            );
        } else if self.repaired > 0 {
            say(self.repaired, &"repaired");
        }
        if self.left_out > 0 {
            let left_out = counted(self.left_out, "record");
            complain(&format_args!("{left_out} left out"));
        }
    }
}
