//! Selects records, and deletes and adds fields before a record is written.

use z3950_marc::{EditError, MarcRecord};

use super::Convert;
use crate::render::counted;

/// The conditions and changes that the arguments request.
pub(super) struct Revision<'a> {
    arguments: &'a Convert,
    /// The number of records that were examined.
    seen: u64,
    /// The number of records that fulfil all conditions.
    selected: u64,
    /// For each deletion, whether it has deleted something in at least one record.
    has_deleted: Vec<bool>,
}

impl<'a> Revision<'a> {
    pub(super) fn new(arguments: &'a Convert) -> Self {
        Self {
            arguments,
            seen: 0,
            selected: 0,
            has_deleted: vec![false; arguments.delete.len()],
        }
    }

    /// Returns whether a record fulfils all conditions.
    pub(super) fn selects(&mut self, record: &MarcRecord) -> bool {
        let is_selected = self
            .arguments
            .select
            .iter()
            .all(|condition| condition.holds(record));
        self.seen += 1;
        self.selected += u64::from(is_selected);
        is_selected
    }

    /// Deletes fields from a record and adds fields to it, as the arguments request.
    pub(super) fn revise(&mut self, record: &mut MarcRecord) -> Result<(), EditError> {
        for (deletion, has_deleted) in self.arguments.delete.iter().zip(&mut self.has_deleted) {
            *has_deleted |= deletion.apply(record);
        }
        let mut fields = self.arguments.add.iter();
        fields.try_for_each(|field| record.insert_ordered(field.clone()))
    }

    /// Returns the notes to print at the end: the number of selected records, and the deletions that found nothing to
    /// delete.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.arguments.select.is_empty() && self.seen > 0 {
            let (seen, selected) = (counted(self.seen, "record"), self.selected);
            notes.push(format!("{selected} of {seen} selected"));
        }
        let deletions = self.arguments.delete.iter().zip(&self.has_deleted);
        let missing = deletions.filter(|(_, has_deleted)| !**has_deleted);
        if self.selected > 0 && !self.arguments.check {
            notes.extend(
                missing.map(|(deletion, _)| format!("--delete {deletion}: no record has it")),
            );
        }
        notes
    }
}
