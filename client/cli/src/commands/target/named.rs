//! A target as named by a user, and the reason why a request to it failed.

use std::fmt;
use std::sync::Arc;

use z3950::error::Error;
use z3950::find::Ending;
use z3950::profile::Resolved;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::{IdAuthentication, RpnQuery};
use z3950_marc::charset::Charset;

use crate::answer::{Answer, Envelope, is_part};
use crate::console::exit::Exit;
use crate::console::report::explain;
use crate::render::{numbered, shown};
use z3950::error::chain;

/// A target given on the command line.
#[derive(Clone)]
pub(crate) struct NamedTarget {
    /// The target as the user typed it, without its user name and password.
    pub(crate) text: String,
    pub(crate) resolved: Arc<Resolved>,
    /// Whether the target or its profile names databases. If not, the default databases are used.
    pub(crate) names_databases: bool,
    /// A hint to add to the message if the host name has no address.
    pub(crate) hint: Option<String>,
    /// The user name and password in the target's URL, if they will be sent.
    pub(crate) identity: Option<IdAuthentication>,
    /// Whether the built-in catalogue answers in place of the target.
    pub(crate) is_demo: bool,
}

/// The reason why a request failed.
pub(crate) struct Unanswered {
    pub(crate) error: Error,
    /// A hint for the user, if the host name has no address.
    pub(crate) hint: Option<String>,
}

/// Returns the line to show before a record. It consists of `subject`, the position such as `3 of 17`, and the part of
/// the database. Returns `None` for a single record if there is neither a subject nor a part.
pub(crate) fn heading(
    subject: Option<&str>,
    position: u64,
    hits: Option<u64>,
    part: Option<&str>,
) -> Option<String> {
    let number = numbered(position, hits);
    let which = match part {
        Some(part) => format!("{number}, {part}"),
        None => number,
    };
    match subject {
        Some(subject) => Some(format!("{subject}: {which}")),
        None => (hits != Some(1) || part.is_some()).then_some(which),
    }
}

impl NamedTarget {
    /// Returns the names of the target's databases.
    pub(crate) fn databases(&self) -> Vec<String> {
        let names = self.resolved.databases.iter();
        names.map(|name| shown(name.0.as_bytes())).collect()
    }

    /// Returns the part of the database that contains a record, such as `union@lib.example/cat`.
    pub(crate) fn part(&self, slot: &ResultRecord) -> Option<String> {
        let ResultRecord::Record { database, .. } = slot else {
            return None;
        };
        let [asked] = self.resolved.databases.as_slice() else {
            return None;
        };
        let name = shown(database.as_ref()?.as_bytes());
        is_part(&name, &shown(asked.0.as_bytes())).then_some(name)
    }

    /// Returns the character set of the records, if the command line or the profile names one.
    pub(crate) fn charset(&self, given: Option<Charset>) -> Option<Charset> {
        given.or(self.resolved.profile.record_charset)
    }

    /// Returns the query with the attributes and in the character set of the profile.
    ///
    /// # Errors
    /// Fails if the character set cannot represent a term.
    pub(crate) fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, Error> {
        self.resolved.adapted(query).map_err(Error::Term)
    }
}

impl fmt::Display for NamedTarget {
    /// Writes the target as the user typed it. It is followed by `(--demo)` if the built-in catalogue answers, or by
    /// the server if the target is the name of a profile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.text.split('/').next().unwrap_or_default();
        let name = self.resolved.name.as_deref();
        match name.filter(|name| name.eq_ignore_ascii_case(written)) {
            _ if self.is_demo => write!(f, "{} (--demo)", self.text),
            Some(_) => write!(f, "{} ({})", self.text, self.resolved.endpoint),
            None => f.write_str(&self.text),
        }
    }
}

impl Unanswered {
    /// Returns the exit code and the message for this failure.
    pub(crate) fn explain(&self) -> (Exit, String) {
        let (exit, words) = explain(&self.error);
        match &self.hint {
            Some(hint) => (exit, format!("{}; {hint}", chain(&self.error))),
            None => (exit, words),
        }
    }

    /// Returns the answer to an input that failed in this way after records had been found.
    pub(crate) fn of(&self, found: Answer) -> Answer {
        let mut answer = self.answer();
        answer.ending.hits = answer.ending.hits.or(found.ending.hits);
        answer.ending.step = found.ending.step;
        answer.ending.step_name = found.ending.step_name;
        answer.ending.target = found.ending.target;
        answer
    }

    /// Returns the answer to an input that failed in this way.
    pub(crate) fn answer(&self) -> Answer {
        let mut ending = Ending::default();
        if let Error::Incomplete(failed) = &self.error {
            ending.hits = Some(0);
            ending.sources = failed.sources().clone();
        }
        Answer::from(ending)
            .ended(self.error.code())
            .saying(self.explain().1)
            .diagnosed(self.error.diagnostics())
    }
}

impl Envelope {
    /// Creates the object for an answer from a target, with the additional key `target`.
    pub(crate) fn of(place: &NamedTarget, own: &[&str]) -> Self {
        let endpoint = &place.resolved.endpoint;
        let own = [&["target"], own].concat();
        Self::new(&endpoint.host(), endpoint.port(), place.databases(), &own)
            .with("target", place.text.as_str())
    }
}

impl From<Error> for Box<Answer> {
    fn from(error: Error) -> Self {
        Unanswered::from(error).into()
    }
}

impl From<Unanswered> for Box<Answer> {
    fn from(unanswered: Unanswered) -> Self {
        Self::new(unanswered.answer())
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self { error, hint: None }
    }
}
