//! Chooses one of several records for copy cataloguing, and gives the reason for the choice.

use super::at_target::TargetOutcome;
use super::event::{Best, Found};
use super::wanted::{SearchTarget, Wanted};
use crate::lookup::{Merit, Preferences};
use crate::protocol::service::ResultRecord;

/// A record among which the best one is chosen.
struct Candidate<'a> {
    merit: Merit,
    found: &'a Found,
    position: u64,
    record: &'a ResultRecord,
}

/// Returns the best of the records found, with the reason for the choice; `None` if there are only diagnostics.
pub(super) fn best<'a>(
    outcomes: &'a [TargetOutcome],
    targets: &[SearchTarget],
    wanted: &'a Wanted,
    preferences: &'a Preferences,
) -> Option<(Best, &'a ResultRecord)> {
    // Of the records found by title, only those that are most like the publication are compared.
    let likeness = outcomes.iter().filter_map(TargetOutcome::likeness).min();
    let outcomes: Vec<&TargetOutcome> = outcomes
        .iter()
        .filter(|outcome| outcome.likeness() == likeness)
        .collect();
    let mut candidates: Vec<Candidate<'a>> = outcomes
        .iter()
        .flat_map(|outcome| candidates(outcome, wanted, preferences))
        .collect();
    // The sort is stable, so the first of equally good records stays first.
    candidates.sort_by(|one, other| one.merit.compare(&other.merit));
    let first = candidates.first()?;
    let delivered = outcomes.iter().filter(|outcome| outcome.delivered > 0);
    let found: Vec<&Found> = delivered
        .filter_map(|outcome| outcome.found.as_deref())
        .collect();
    let hits = found.iter().map(|found| found.result.hits).sum();
    let matching: u64 = found.iter().map(|found| found.matching()).sum();
    let name = |candidate: &Candidate<'_>| {
        let own = match candidate.merit.control_number() {
            Some(number) => number.trim().to_owned(),
            None => format!("record {}", candidate.position),
        };
        match targets.get(candidate.found.target) {
            Some(place) if found.len() > 1 => format!("{own} ({})", place.name),
            _ => own,
        }
    };
    let own = name(first);
    let number = candidates.len();
    let compared = u64::try_from(number).unwrap_or(u64::MAX);
    let choice = match candidates.get(1) {
        Some(second) => {
            let of = if compared < matching {
                format!("the first {number} of {matching}")
            } else {
                number.to_string()
            };
            let reason = first.merit.reason(&second.merit, &name(second));
            format!("{own} is the best of {of} records: {reason}")
        }
        None if compared < matching => format!(
            "{own} is the only one of {matching} records that was compared (--count {})",
            wanted.count
        ),
        None => format!("{own} is the only record"),
    };
    let choice = match (&first.found.by_title, number) {
        (Some(by_title), 1) => by_title.choice.clone(),
        (Some(by_title), _) => format!("{}; {choice}", by_title.choice),
        (None, _) => choice,
    };
    let best = Best {
        target: first.found.target,
        position: first.position,
        hits,
        choice,
    };
    Some((best, first.record))
}

fn candidates<'a>(
    outcome: &'a TargetOutcome,
    wanted: &'a Wanted,
    preferences: &'a Preferences,
) -> impl Iterator<Item = Candidate<'a>> {
    let found = outcome.found.as_deref();
    found.into_iter().flat_map(move |found| {
        let identifier = found
            .identifier
            .and_then(|index| wanted.identifiers().get(index));
        outcome
            .records
            .iter()
            .filter_map(move |(position, record)| match record {
                ResultRecord::Record { external, .. } => Some(Candidate {
                    merit: Merit::of(external, identifier, preferences),
                    found,
                    position: *position,
                    record,
                }),
                ResultRecord::Diagnostic { .. } => None,
            })
    })
}
