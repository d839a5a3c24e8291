//! The form in which records are requested from a target: with holdings if a client requests them and the target supports them.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950::{Record, RecordForm};
use z3950_server::asn1::oid::{OPAC, Oid, XML};
use z3950_server::asn1::record::is_marc;

use crate::lock::lock;

/// The form in which records are requested from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceForm {
    /// Bibliographic records in the syntax of the target's profile.
    Plain,
    /// OPAC records, with copies and their availability.
    Holdings,
}

impl SourceForm {
    /// Returns the form for a client that requests this syntax.
    pub(super) fn of(syntax: Option<Oid>) -> Self {
        match syntax {
            Some(OPAC) => Self::Holdings,
            _ => Self::Plain,
        }
    }

    /// Returns the form as it is sent to the target.
    pub(super) fn records(self) -> RecordForm {
        match self {
            Self::Plain => RecordForm::default(),
            Self::Holdings => RecordForm::with_holdings(),
        }
    }
}

/// Returns whether a record can be read. For an OPAC record, this depends on its bibliographic record.
pub(super) fn is_usable(record: &Record) -> bool {
    record.syntax() != Some(OPAC) || {
        let inside = record.bibliographic();
        let syntax = inside.and_then(|inside| inside.syntax());
        syntax.is_some_and(|syntax| is_marc(&syntax) || syntax == XML)
    }
}

/// The time after which a target is asked again for a feature that it did not support.
const REFUSAL: Duration = Duration::from_secs(600);

/// The time of a target's latest failure at an optional feature: OPAC records, or facets.
#[derive(Debug, Default)]
pub(super) struct FeatureRefusal(Mutex<Option<Instant>>);

impl FeatureRefusal {
    /// Returns whether the failure is so recent that the target should not be asked for the feature.
    pub(super) fn is_fresh(&self) -> bool {
        lock(&self.0).is_some_and(|at| at.elapsed() < REFUSAL)
    }

    /// Returns the form to request from the target if `wanted` is the preferred form.
    pub(super) fn form(&self, wanted: SourceForm) -> SourceForm {
        if self.is_fresh() {
            SourceForm::Plain
        } else {
            wanted
        }
    }

    /// Marks the feature as failed at the target.
    pub(super) fn note(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Marks the feature as failed if the records received on a request for holdings do not have the OPAC form.
    pub(super) fn learn<'a>(&self, came: impl Iterator<Item = &'a Record>) {
        let mut came = came.peekable();
        if came.peek().is_some() && came.all(|record| record.syntax() != Some(OPAC)) {
            self.note();
        }
    }
}
