//! Determines the searches at one target, and the next step after each result. This module sends nothing itself.
//!
//! ```text
//!                 next attempt                       another way (Fallback)
//!               +--------------+                  +--------------------------+
//!               v              |                  v                          |
//!   identifier, attempt --> search --> nothing, refused, or its first record is refused
//!               ^              |                                 |
//!               |              +--> found                        +--> next identifier, or the end
//!               +------------------------------------------------+
//! ```
//!
//! A course is a sequence of ways, each of which changes the search or the form of the records. For a query, each way
//! has one attempt. For an identifier, each way has several attempts, which search for its notations in the indexes
//! that may contain it. A publication is treated like a single identifier, with attempts for title and author.

use z3950_asn1::apdu::{DiagRec, Query, RpnQuery};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;

use super::ways::Ways;
use crate::error::{Error, Phase};
use crate::lookup::{Attempt, Precondition};
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::search::{SearchOptions, SearchResult};

/// The searches to make at one target.
#[derive(Debug)]
pub(super) struct Course {
    subject: Subject,
    ways: Ways,
}

#[derive(Debug)]
enum Subject {
    /// A query that is sent unchanged: CQL for an SRU server. Later ways may replace it.
    Fixed(Query),
    /// A query of type 1, which is stored in `ways`.
    Query,
    Identifiers(Box<Identifiers>),
}

/// The identifiers to look up, and the position of the current search.
#[derive(Debug)]
struct Identifiers {
    /// The searches for each identifier.
    attempts: Vec<Vec<Attempt>>,
    current: usize,
    attempt: usize,
    /// Whether to search for the notations of the identifier one by one, because the search for all of them together
    /// was refused.
    one_by_one: bool,
    /// The answers to the searches in the current way.
    answers: Answers,
    /// The answers to the searches for earlier identifiers.
    earlier: Answers,
}

/// The kind of searches for identifiers that are made at a target in one round. If several targets are searched one
/// after the other, the exact searches are made at all of them before broader searches are made at any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All searches: the exact ones, followed by those that a fallback adds.
    All,
    /// Only the searches for the identifiers as given. Other rounds may follow.
    Exact,
    /// Only the searches that a fallback adds, after the exact ones.
    Broader {
        /// Whether the server answered at least one of the exact searches. None of them found a record.
        has_answered: bool,
    },
}

/// The answers to several searches that found no record.
#[derive(Debug, Default)]
struct Answers {
    refusal: Option<Error>,
    has_answered: bool,
    sources: SearchSources,
}

impl Answers {
    /// Returns the reason why there is no record, and resets the answers. If all searches were refused, the reason is
    /// the last refusal.
    fn end(&mut self) -> Error {
        let Self {
            refusal,
            has_answered,
            sources,
        } = std::mem::take(self);
        match refusal {
            Some(refusal) if !has_answered => refusal,
            _ => Error::of_nothing(&sources),
        }
    }
}

/// The next step after an answer to a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Make the same search in the next index, or for the next identifier.
    Search,
    /// Move to the next way, for this reason.
    Again(String),
    /// Stop, because no further search can be made.
    End,
}

/// The reason given for searching in another way after a search that found nothing.
const NOTHING: &str = "no record matches";

impl Course {
    /// Creates the searches for a query of type 1.
    pub(super) fn of_query(ways: Ways) -> Self {
        let subject = Subject::Query;
        Self { subject, ways }
    }

    /// Creates the searches for a query that is sent unchanged, followed by those of the other ways.
    pub(super) fn of_fixed_query(query: Query, ways: Ways) -> Self {
        let subject = Subject::Fixed(query);
        Self { subject, ways }
    }

    /// Creates the searches for a lookup in one round: those for each identifier, or those for a publication.
    /// `attempts` must contain at least one search.
    pub(super) fn of_lookup(attempts: Vec<Vec<Attempt>>, ways: Ways, round: Round) -> Self {
        let mut identifiers = Identifiers {
            attempts,
            current: 0,
            attempt: 0,
            one_by_one: false,
            answers: Answers::default(),
            earlier: Answers {
                has_answered: round == Round::Broader { has_answered: true },
                ..Answers::default()
            },
        };
        identifiers.begin(0);
        let subject = Subject::Identifiers(Box::new(identifiers));
        Self { subject, ways }
    }

    /// Returns the query of the current search, its search options, and its options for fetching records. Returns
    /// `None` if there are no searches.
    pub(super) fn search(&self) -> Option<(Query, SearchOptions, PagerOptions)> {
        let query = match &self.subject {
            Subject::Fixed(query) => {
                let other = self.ways.other_query().map(type_1);
                other.unwrap_or_else(|| query.clone())
            }
            Subject::Query => self.ways.query().map(type_1)?,
            Subject::Identifiers(identifiers) => type_1(&identifiers.attempt()?.query),
        };
        Some((query, self.ways.search(), self.ways.records()))
    }

    /// Returns the index of the current identifier, and the current search for it.
    pub(super) fn attempt(&self) -> Option<(usize, &Attempt)> {
        match &self.subject {
            Subject::Identifiers(identifiers) => {
                Some((identifiers.current, identifiers.attempt()?))
            }
            Subject::Fixed(_) | Subject::Query => None,
        }
    }

    /// Returns the difference between the current way and the original request; `None` if there is none.
    pub(super) fn form(&self) -> Option<String> {
        self.ways.form()
    }

    /// Returns the query of the current way in PQF, if it differs from the original query.
    pub(super) fn other_query(&self) -> Option<String> {
        let query = match self.subject {
            Subject::Fixed(_) => self.ways.other_query()?,
            _ => self.ways.query().filter(|_| self.form().is_some())?,
        };
        Some(query.to_string())
    }

    /// Returns whether the next step depends on whether the server refuses the first record.
    pub(super) fn minds_first_record(&self) -> bool {
        matches!(self.subject, Subject::Identifiers(_)) || self.ways.minds_records()
    }

    /// Moves to the next search after a search that found nothing.
    pub(super) fn after_nothing(&mut self, found: &SearchResult) -> Next {
        let Subject::Identifiers(identifiers) = &mut self.subject else {
            return self.another_way(NOTHING.to_owned(), Ways::after_nothing);
        };
        identifiers.answers.has_answered = true;
        identifiers.answers.sources.join(found.sources());
        let is_single = |one: &Attempt| one.precondition == Precondition::Refusal;
        identifiers.one_by_one &= identifiers.attempt().is_some_and(is_single);
        self.next_attempt()
    }

    /// Moves to the next search after an error. Only a refusal is followed by another search.
    pub(super) fn after_error(&mut self, error: &Error) -> Next {
        let Error::Refused { phase, diagnostics } = error else {
            return Next::End;
        };
        match &mut self.subject {
            // Only a refused search is retried: if a Present is refused, some of the records have already been received.
            Subject::Identifiers(identifiers) if *phase == Phase::Search => {
                identifiers.one_by_one = !diagnostics.has(Condition::USE.0);
                identifiers.answers.refusal = Some(error.clone());
                self.next_attempt()
            }
            Subject::Identifiers(identifiers) => {
                identifiers.answers = Answers {
                    refusal: Some(error.clone()),
                    ..Answers::default()
                };
                self.next_way()
            }
            _ if matches!(phase, Phase::Search | Phase::Present) => self
                .another_way(diagnostics.to_string(), |ways| {
                    ways.after_refusal(&diagnostics.0)
                }),
            _ => Next::End,
        }
    }

    /// Moves to the next search after a diagnostic in place of the first record.
    pub(super) fn after_first_refused(&mut self, diagnostic: &DiagRec) -> Next {
        self.another_way(diagnostic.to_string(), |ways| {
            ways.after_refusal(std::slice::from_ref(diagnostic))
        })
    }

    /// Moves to the search that narrows the current one, which found more records than are compared. Returns false if
    /// there is no such search.
    pub(super) fn narrow(&mut self) -> bool {
        let Subject::Identifiers(identifiers) = &mut self.subject else {
            return false;
        };
        let all = identifiers.attempts.get(identifiers.current);
        let next = all.and_then(|all| all.get(identifiers.attempt + 1));
        let narrows = next.is_some_and(|next| next.precondition == Precondition::TooMany);
        identifiers.attempt += usize::from(narrows);
        narrows
    }

    /// After [`Next::End`], returns the reason why no record was found for any identifier; `None` for a query.
    pub(super) fn end(&mut self) -> Option<Error> {
        match &mut self.subject {
            Subject::Identifiers(identifiers) => Some(identifiers.earlier.end()),
            Subject::Fixed(_) | Subject::Query => None,
        }
    }

    fn another_way(&mut self, reason: String, advance: impl FnOnce(&mut Ways) -> bool) -> Next {
        if !advance(&mut self.ways) {
            return Next::End;
        }
        if let Subject::Identifiers(identifiers) = &mut self.subject {
            identifiers.begin(identifiers.current);
        }
        Next::Again(reason)
    }

    /// Moves to the next search for the identifier in the current way. If there is none, moves to the next way.
    fn next_attempt(&mut self) -> Next {
        if let Subject::Identifiers(identifiers) = &mut self.subject {
            identifiers.attempt += 1;
            identifiers.skip();
            if identifiers.attempt().is_some() {
                return Next::Search;
            }
        }
        self.next_way()
    }

    /// Moves to the next way for the identifier. If there is none, moves to the next identifier.
    fn next_way(&mut self) -> Next {
        let Subject::Identifiers(identifiers) = &mut self.subject else {
            return Next::End;
        };
        let error = identifiers.answers.end();
        let next = match &error {
            Error::Refused { diagnostics, .. } => self
                .another_way(diagnostics.to_string(), |ways| {
                    ways.after_refusal(&diagnostics.0)
                }),
            Error::NoMatch => self.another_way(NOTHING.to_owned(), Ways::after_nothing),
            other => self.another_way(other.to_string(), Ways::after_nothing),
        };
        let Subject::Identifiers(identifiers) = &mut self.subject else {
            return next;
        };
        if next != Next::End {
            return next;
        }
        match error {
            Error::NoMatch => identifiers.earlier.has_answered = true,
            error => identifiers.earlier.refusal = Some(error),
        }
        identifiers.begin(identifiers.current + 1);
        if identifiers.attempt().is_none() {
            return Next::End;
        }
        self.ways.restart();
        Next::Search
    }
}

impl Identifiers {
    fn attempt(&self) -> Option<&Attempt> {
        self.attempts.get(self.current)?.get(self.attempt)
    }

    /// Moves to the first search for the identifier with index `current`, or to the next identifier that has searches.
    fn begin(&mut self, current: usize) {
        let rest = self.attempts.iter().skip(current);
        self.current = current + rest.take_while(|attempts| attempts.is_empty()).count();
        self.attempt = 0;
        self.one_by_one = false;
        self.answers = Answers::default();
        self.skip();
    }

    /// Skips searches that narrow another search. Also skips searches for single notations, unless the notations are
    /// being searched for one by one.
    fn skip(&mut self) {
        let is_skipped = |attempt: &Attempt| match attempt.precondition {
            Precondition::None => false,
            Precondition::Refusal => !self.one_by_one,
            Precondition::TooMany => true,
        };
        while self.attempt().is_some_and(is_skipped) {
            self.attempt += 1;
        }
    }
}

fn type_1(query: &RpnQuery) -> Query {
    Query::Type1(query.clone())
}
