//! The form in which a target is asked for records: with holdings, if a client wants them and the target has them.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950::{Record, RecordForm};
use z3950_server::asn1::oid::{OPAC, Oid, XML};
use z3950_server::asn1::record::is_marc;

use crate::lock::lock;

/// The form in which a target is asked for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceForm {
    /// Bibliographic records, in the syntax of the target's profile.
    Plain,
    /// OPAC records, with copies and whether they are available.
    Holdings,
}

impl SourceForm {
    /// Returns the form for a client that wants this syntax.
    pub(super) fn of(syntax: Option<Oid>) -> Self {
        match syntax {
            Some(OPAC) => Self::Holdings,
            _ => Self::Plain,
        }
    }

    /// Returns the form as the target is asked for it.
    pub(super) fn records(self) -> RecordForm {
        match self {
            Self::Plain => RecordForm::default(),
            Self::Holdings => RecordForm::with_holdings(),
        }
    }
}

/// Returns whether a record can be read: an OPAC record only if its bibliographic record can.
pub(super) fn is_usable(record: &Record) -> bool {
    record.syntax() != Some(OPAC) || {
        let inside = record.bibliographic();
        let syntax = inside.and_then(|inside| inside.syntax());
        syntax.is_some_and(|syntax| is_marc(&syntax) || syntax == XML)
    }
}

/// How long to wait before a target is asked again for something that it does not have.
const REFUSAL: Duration = Duration::from_secs(600);

/// Whether a target has failed at a feature that not all targets have: OPAC records, or facets.
#[derive(Debug, Default)]
pub(super) struct FeatureRefusal(Mutex<Option<Instant>>);

impl FeatureRefusal {
    /// Returns whether the target should not be asked at present.
    pub(super) fn is_fresh(&self) -> bool {
        lock(&self.0).is_some_and(|at| at.elapsed() < REFUSAL)
    }

    /// Returns the form to ask for if this one is wanted.
    pub(super) fn form(&self, wanted: SourceForm) -> SourceForm {
        if self.is_fresh() {
            SourceForm::Plain
        } else {
            wanted
        }
    }

    /// Notes that the target has failed.
    pub(super) fn note(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Learns from records that came in answer to a request for holdings.
    pub(super) fn learn<'a>(&self, came: impl Iterator<Item = &'a Record>) {
        let mut came = came.peekable();
        if came.peek().is_some() && came.all(|record| record.syntax() != Some(OPAC)) {
            self.note();
        }
    }
}
