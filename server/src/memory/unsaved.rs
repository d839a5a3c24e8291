//! Replacements for the module `save` if the feature `save` is disabled: databases are only kept in memory.

use std::path::Path;
use std::sync::MutexGuard;

use super::MemoryBackend;
use super::catalogue::{Catalogue, DatabaseFiles, RecordChange};
use super::fields::Fields;
use super::load::LoadError;
use crate::diagnostic::Diagnostic;

pub(super) const JOURNAL_OCTETS: u64 = 0;

/// The replacement for the saved files of the module `save`; it has no files.
#[derive(Debug, Default)]
pub(super) struct SavedFiles {}

/// The replacement for the states of the saved files; it has no states.
#[derive(Debug)]
pub(super) struct FoundFiles {}

impl SavedFiles {
    pub(super) fn lock(_: &[DatabaseFiles], _: u64) -> Result<Self, LoadError> {
        Ok(Self {})
    }

    pub(super) fn examine(&mut self, _: &Fields) -> Result<FoundFiles, Vec<LoadError>> {
        Ok(FoundFiles {})
    }

    pub(super) fn removed(&self) -> Option<&Path> {
        None
    }

    pub(super) fn record_states(&mut self, _: FoundFiles) -> Vec<(u16, Vec<RecordChange>)> {
        Vec::new()
    }

    pub(super) fn commit<'a>(
        &mut self,
        _: &Catalogue,
        _: u16,
        _: impl Iterator<Item = &'a RecordChange>,
    ) -> Result<(), Diagnostic> {
        Ok(())
    }

    pub(super) fn is_due(&self, _: u16) -> bool {
        false
    }
}

impl MemoryBackend {
    pub(super) fn fold_all(&self, _: &MutexGuard<'_, ()>) {}

    pub(super) fn fold_when_due(&self, _: u16) {}
}
