//! How a search for records ended.

use z3950_asn1::format::sources::SearchSources;

use super::at_target::TargetOutcome;
use super::wanted::SearchTarget;
use super::{Best, Found};
use crate::error::{Diagnostics, Error};
use crate::retrieve::{Outcome, OutcomeName};

/// How a search for records ended, at all targets together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ending {
    /// The outcome. Several records are [`OutcomeName::Ambiguous`] only where an identifier should have found one.
    pub outcome: OutcomeName,
    /// How many records match at all targets that were asked; `None` if no server has said so.
    pub hits: Option<u64>,
    /// The name of the target that had a record first, or the best record.
    pub target: Option<String>,
    /// Which search found something there: see [`Found::step`].
    pub step: Option<String>,
    /// Which of several records was taken, and why.
    pub choice: Option<String>,
    /// The sources of the records, if they come from several and the servers say so.
    pub sources: SearchSources,
    /// The targets that had no answer, by their names, each with the reason.
    pub failed: Vec<(String, Error)>,
    /// The diagnostics of the first target that refused.
    pub diagnostics: Diagnostics,
}

impl Ending {
    pub(super) fn of(
        outcomes: &[TargetOutcome],
        targets: &[SearchTarget],
        best: Option<&Best>,
    ) -> Self {
        let mut ending = Self::default();
        let mut first: Option<&Found> = None;
        let mut chosen: Option<&Found> = None;
        let mut hits: Option<u64> = None;
        for (outcome, place) in outcomes.iter().zip(targets) {
            if let Some(found) = &outcome.found {
                ending.sources.join(found.sources.clone());
                hits = match (hits, found.result.count()) {
                    (Some(before), Some(more)) => Some(before.saturating_add(more)),
                    (before, more) => before.or(more),
                };
                let is_hit = found.result.count() != Some(0);
                first = first.or(Some(found).filter(|_| is_hit));
                chosen = chosen.or(Some(found)
                    .filter(|found| best.is_some_and(|best| best.target == found.target)));
            }
            match &outcome.error {
                Some(Error::NoMatch) => hits = hits.or(Some(0)),
                Some(error) => {
                    ending.failed.push((place.name.clone(), error.clone()));
                    if ending.diagnostics.is_empty() {
                        ending.diagnostics = Diagnostics(error.diagnostics().to_vec());
                    }
                }
                None => {}
            }
        }
        let found = chosen.or(first);
        ending.outcome = match (found, ending.failed.first()) {
            (Some(found), _) => outcome_of(found, outcomes, best),
            (None, Some((_, error))) => Outcome::from(error.clone()).name(),
            (None, None) => OutcomeName::NoMatch,
        };
        if let Some(found) = found {
            ending.target = targets.get(found.target).map(|place| place.name.clone());
            ending.step.clone_from(&found.step);
        }
        ending.choice = best.map(|best| best.choice.clone());
        ending.hits = hits;
        ending
    }
}

fn outcome_of(found: &Found, outcomes: &[TargetOutcome], best: Option<&Best>) -> OutcomeName {
    let has_delivered = outcomes.iter().any(|outcome| outcome.delivered > 0);
    if !has_delivered {
        return match found.identifier {
            // Only the number was wanted, or every record was refused.
            _ if outcomes.iter().all(|outcome| outcome.records.is_empty()) => OutcomeName::Found,
            _ => OutcomeName::RecordRefused,
        };
    }
    if found.identifier.is_some() && best.is_none() && found.result.hits != 1 {
        return OutcomeName::Ambiguous;
    }
    OutcomeName::Delivered
}
