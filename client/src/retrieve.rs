//! A retrieval from the search to the record or the reason why there is none (RFC 2056 §4).
//! RFC 2056 leaves open what other hit counts than one mean: here nothing is delivered then, and no Present sent.

mod outcome;

use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;

pub use outcome::{Delivered, Outcome};

use crate::error::{Diagnostics, Error};
use crate::plan::Plan;
use crate::service::records::ResultRecord;
use crate::service::search::SearchResult;
use crate::session::Session;

/// How a retrieval went.
#[derive(Debug, Clone)]
pub struct Retrieval {
    /// What became of it.
    pub outcome: Outcome,
    /// What was asked, in order, and what the server had against it.
    pub steps: Vec<Step>,
    /// Whether the search was the one RFC 2056 §4 prescribes; false after [`Fallback::structure`].
    ///
    /// [`Fallback::structure`]: crate::plan::Fallback::structure
    pub conforming: bool,
}

/// One request of a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What was asked.
    pub request: Asked,
    /// The reasons the server gave for not doing it; empty if it did, or said nothing.
    pub diagnostics: Diagnostics,
}

/// What a step asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The known-item search.
    Search {
        /// The preferred syntax of a record that comes with the response.
        record_syntax: Option<Oid>,
        /// Whether the Structure attribute was sent.
        structure: bool,
    },
    /// The record.
    Present {
        /// The preferred syntax.
        record_syntax: Option<Oid>,
    },
}

impl From<Outcome> for Retrieval {
    /// An outcome without a request.
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            steps: Vec::new(),
            conforming: true,
        }
    }
}

/// Carries out the search of `plan`, and the Present it may need, on an open session, which stays open.
///
/// A plan without a docid finds nothing: [`Outcome::NoMatch`], and nothing is sent.
pub async fn retrieve(session: &Session, plan: &Plan) -> Retrieval {
    match attempt(session, plan).await {
        Ok(retrieval) => retrieval,
        Err(error) => Outcome::from(error).into(),
    }
}

/// The same, but a session that had ended before anything was sent is an error.
pub(crate) async fn attempt(session: &Session, plan: &Plan) -> Result<Retrieval, Error> {
    let mut quest = Quest::new(session, plan);
    let outcome = match quest.search().await {
        Err(error @ Error::Ended { .. }) => return Err(error),
        Err(error) => error.into(),
        Ok(found) => match found.hits {
            0 => Outcome::NoMatch,
            1 => quest.record(found).await,
            hits => Outcome::Ambiguous { hits },
        },
    };
    Ok(Retrieval {
        outcome,
        conforming: quest.is_conforming(),
        steps: quest.steps,
    })
}

/// A known-item search under way, with what has been tried.
pub(crate) struct Quest<'a> {
    session: &'a Session,
    plan: &'a Plan,
    /// The syntaxes not yet refused, most wanted first.
    syntaxes: &'a [Oid],
    structure: bool,
    pub(crate) steps: Vec<Step>,
}

impl<'a> Quest<'a> {
    pub(crate) fn new(session: &'a Session, plan: &'a Plan) -> Self {
        Self {
            session,
            plan,
            syntaxes: plan.record_syntaxes(),
            structure: true,
            steps: Vec::new(),
        }
    }

    /// Searches, again in another way where that is allowed.
    pub(crate) async fn search(&mut self) -> Result<SearchResult, Error> {
        loop {
            let (record_syntax, structure) = (self.record_syntax(), self.structure);
            let Some(request) = self.plan.search(record_syntax, structure) else {
                return Ok(nothing_found());
            };
            let result = self.session.search_request(request).await;
            let diagnostics = match &result {
                Ok(found) => found.diagnostics.clone(),
                Err(Error::Refused { diagnostics, .. }) => diagnostics.clone(),
                Err(_) => Diagnostics::default(),
            };
            let refused = matches!(result, Err(Error::Refused { .. }));
            let again =
                refused && (self.drop_structure(&diagnostics) || self.next_syntax(&diagnostics.0));
            self.note(
                Asked::Search {
                    record_syntax,
                    structure,
                },
                diagnostics,
            );
            if !again {
                return result;
            }
        }
    }

    /// The record of a result set that has exactly one: from the response to the search, else by Present.
    ///
    /// A Present follows even where the search gave a reason for sending no record: it may have been the search.
    pub(crate) async fn record(&mut self, found: SearchResult) -> Outcome {
        let mut outcome = match self.pushed(found) {
            Some(outcome) => outcome,
            None => self.present().await,
        };
        while self.next_syntax(outcome.diagnostics()) {
            outcome = self.present().await;
        }
        outcome
    }

    /// What the response to the search holds in the place of the record, if anything.
    pub(crate) fn pushed(&self, found: SearchResult) -> Option<Outcome> {
        found
            .records
            .into_iter()
            .next()
            .map(|slot| judge(slot, self.record_syntax()))
    }

    /// Whether the search was the one prescribed.
    pub(crate) fn is_conforming(&self) -> bool {
        self.structure
    }

    async fn present(&mut self) -> Outcome {
        let record_syntax = self.record_syntax();
        let result = self
            .session
            .present_request(self.plan.present(1, record_syntax))
            .await;
        let outcome = match result.map(|presented| presented.records.into_iter().next()) {
            Ok(Some(slot)) => judge(slot, record_syntax),
            // No record, no diagnostic, and yet no failure: servers must not, but some do.
            Ok(None) => Outcome::PresentFailed {
                diagnostics: Diagnostics::default(),
            },
            Err(error) => error.into(),
        };
        self.note(
            Asked::Present { record_syntax },
            Diagnostics(outcome.diagnostics().to_vec()),
        );
        outcome
    }

    fn record_syntax(&self) -> Option<Oid> {
        self.syntaxes.first().copied()
    }

    fn note(&mut self, request: Asked, diagnostics: Diagnostics) {
        self.steps.push(Step {
            request,
            diagnostics,
        });
    }

    /// Goes on to the next syntax if the server refused this one, another is left and trying it is allowed.
    fn next_syntax(&mut self, diagnostics: &[DiagRec]) -> bool {
        let refused = diagnostics.iter().any(|diagnostic| {
            let DiagRec::DefaultFormat(diagnostic) = diagnostic else {
                return false;
            };
            let condition = Condition(diagnostic.condition);
            matches!(
                condition,
                Condition::NOT_AVAILABLE_IN_SYNTAX | Condition::RECORD_SYNTAX
            )
        });
        match self.syntaxes {
            [_, rest @ ..] if refused && !rest.is_empty() && self.plan.fallback().syntax => {
                self.syntaxes = rest;
                tracing::info!(record_syntax = ?self.record_syntax(), "record syntax refused, trying the next");
                true
            }
            _ => false,
        }
    }

    /// Leaves the Structure attribute out if the server refused it and doing so is allowed.
    fn drop_structure(&mut self, diagnostics: &Diagnostics) -> bool {
        let again = self.structure
            && self.plan.fallback().structure
            && diagnostics.has(Condition::STRUCTURE.0);
        if again {
            self.structure = false;
            tracing::info!("Structure attribute refused, searching without it");
        }
        again
    }
}

/// What stands in the place of the record, as an outcome.
fn judge(slot: ResultRecord, requested: Option<Oid>) -> Outcome {
    match slot {
        ResultRecord::Diagnostic { diagnostic, .. } => Outcome::RecordDiagnostic { diagnostic },
        ResultRecord::Record {
            database,
            external: record,
        } => {
            let syntax = record.direct_reference;
            let mismatch = requested.is_some() && syntax != requested;
            Outcome::Delivered(Box::new(Delivered {
                record,
                database,
                syntax,
                requested,
                mismatch,
            }))
        }
    }
}

fn nothing_found() -> SearchResult {
    SearchResult {
        next_position: 1,
        ..SearchResult::default()
    }
}
