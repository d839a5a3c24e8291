//! Without the feature `save`, databases stay in memory.

use std::path::Path;

use super::catalogue::{Catalogue, DatabaseFiles};
use super::load::LoadError;
use crate::diagnostic::Diagnostic;

/// No files: the counterpart of the type in `save`.
#[derive(Debug, Default)]
pub(super) struct SavedFiles {}

/// No states of files.
#[derive(Debug)]
pub(super) struct Stamps {}

impl SavedFiles {
    pub(super) fn lock(_: &[DatabaseFiles]) -> Result<Self, LoadError> {
        Ok(Self {})
    }

    pub(super) fn stamps(&self) -> Stamps {
        Stamps {}
    }

    pub(super) fn removed(&self) -> Option<&Path> {
        None
    }

    pub(super) fn read(&mut self, _: Stamps) {}

    pub(super) fn keep(&mut self, _: &Catalogue, _: u16) -> Result<(), Diagnostic> {
        Ok(())
    }
}
