//! Chooses one of several records for copy cataloguing, and gives the reason for the choice.

use super::at_target::TargetOutcome;
use super::event::{Best, Found};
use super::wanted::{SearchTarget, Wanted};
use crate::lookup::{Merit, Preferences};
use crate::protocol::service::ResultRecord;

/// A record that may be chosen.
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
            let of = if compared < hits {
                format!("the first {number} of {hits}")
            } else {
                number.to_string()
            };
            let reason = first.merit.reason(&second.merit, &name(second));
            format!("{own} is the best of {of} records: {reason}")
        }
        None if compared < hits => format!(
            "{own} is the only one of {hits} records that was compared (--count {})",
            wanted.count
        ),
        None => format!("{own} is the only record"),
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
    let found = found.and_then(|found| Some((found, wanted.identifiers().get(found.identifier?)?)));
    found.into_iter().flat_map(move |(found, identifier)| {
        let records = (1..).zip(&outcome.records);
        records.filter_map(move |(position, record)| match record {
            ResultRecord::Record { external, .. } => Some(Candidate {
                merit: Merit::of(external, identifier, preferences),
                found,
                position,
                record,
            }),
            ResultRecord::Diagnostic { .. } => None,
        })
    })
}
