//! Checks of the positions and the number of the records that a Present requests (Z39.50-2003 §3.2.3.1).

use z3950_asn1::apdu::{PresentRequest, PresentResponse, PresentStatus, Range, Record};

use crate::server::answers::{Reaction, Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::MAX;
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const PRESENT: &str = "Z39.50-2003 §3.2.3.1";
const OUT_OF_RANGE: &str = "Z39.50 clarification Present request out-of-range";

pub(super) const CHECKS: &[Check] = checks! {
    "present.first" Shall PRESENT:
        "The first record of a result set comes alone."
        => first;
    "present.several" Shall PRESENT:
        "Several records come in one answer; if only some fit, presentStatus says so."
        => several;
    "present.last" Shall PRESENT:
        "The last record of a result set comes."
        => last;
    "present.each" Practice "Z39.50-2003 §3.1.6":
        "The second record is the same alone and with the first."
        => each;
    "present.again" Practice "Z39.50-2003 §3.1.6":
        "A position that is presented again has the same record."
        => again;
    "present.status" Shall "Z39.50-2003 §3.2.3.1.8":
        "presentStatus of a presentResponse is success if all records came."
        => status;
    "present.count" Shall "Z39.50-2003 §3.2.3.1.7":
        "numberOfRecordsReturned of a presentResponse is the number of its records."
        => counted;
    "present.next-position" Should "Z39.50-2003 §3.2.3.1.7":
        "nextResultSetPosition of a presentResponse is that after its last record, or 0 after the last of the set."
        => next_position;
    "present.database" Should "Z39.50-2003 §3.2.3.1.6":
        "The first record of an answer names its database."
        => database;
    "present.past-end" Shall OUT_OF_RANGE:
        "A position after the last record is refused with a diagnostic."
        => refused_from_end(1, 1);
    "present.past-end.code" Should "Bib-1 diagnostic 13":
        "A position after the last record is refused with 13."
        => coded_from_end(1, 1);
    "present.across-end" Shall OUT_OF_RANGE:
        "More records than there are never come as a success with fewer."
        => across_end;
    "present.start.zero" Shall PRESENT:
        "Position 0 is refused with a diagnostic."
        => refused(0, 1);
    "present.start.zero.code" Should "Bib-1 diagnostic 13":
        "Position 0 is refused with 13."
        => coded(0, 1);
    "present.start.negative" Shall PRESENT:
        "A negative position is refused with a diagnostic."
        => refused(-1, 1);
    "present.start.across-zero" Shall PRESENT:
        "Records from a negative position to one in the set are refused with a diagnostic."
        => refused(-1, 3);
    "present.start.largest" Practice PRESENT:
        "Position 2147483647 is refused with a diagnostic."
        => refused(MAX, 1);
    "present.start.overflow" Practice PRESENT:
        "Position 2147483647 and the following one are refused with a diagnostic."
        => refused(MAX, 2);
    "present.start.2-to-the-31" Practice PRESENT:
        "Position 2147483648 is refused with a diagnostic."
        => refused(MAX + 1, 1);
    "present.start.2-to-the-32" Practice PRESENT:
        "Position 4294967297, which cut short would be 1, is refused with a diagnostic."
        => refused((1 << 32) + 1, 1);
    "present.number.zero" Practice PRESENT:
        "A request for no records is answered without records."
        => zero;
    "present.number.negative" Practice PRESENT:
        "A request for a negative number of records is refused with a diagnostic, or answered without records."
        => negative;
    "present.number.largest" Shall OUT_OF_RANGE:
        "2147483647 records from the last one never come as a success."
        => largest;
    "present.number.2-to-the-32" Practice OUT_OF_RANGE:
        "4294967297 records from the last one, which cut short would be 1, never come as a success."
        => beyond_32_bits;
    "present.ranges" Shall "Z39.50-2003 §3.2.3.1.2":
        "Records of additional ranges come with the others, or the request is refused with 243."
        => ranges;
    "present.after-failure" Shall PRESENT:
        "After a Present that failed, records come from the same set."
        => after_failure;
    "present.many" Practice "practice: clients page":
        "Twenty Presents of a record are answered alike."
        => many;
};

async fn of_hits(trial: &mut Trial, start: i64, number: i64) -> Checked<PresentResponse> {
    trial.hits(1).await?;
    trial.ask(trial.present(start, number)).await
}

async fn first(trial: &mut Trial) -> Checked {
    of_hits(trial, 1, 1).await?.has_records(1)
}

/// Fails unless all requested records were returned, or fewer records with a presentStatus that reports the shortfall.
fn complete(response: &PresentResponse, number: i64) -> Checked {
    let is_partial = !matches!(
        response.present_status,
        PresentStatus::SUCCESS | PresentStatus::FAILURE
    );
    if is_partial && response.returned() < number && response.returned() > 0 {
        response.counted()
    } else {
        response.has_records(number)
    }
}

async fn several(trial: &mut Trial) -> Checked {
    let hits = trial.hits(2).await?;
    let number = hits.min(5);
    complete(&trial.ask(trial.present(1, number)).await?, number)
}

async fn last(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    if hits > 10_000 {
        return Err(Verdict::not_judged(
            "the last of more than 10000 records is expensive",
        ));
    }
    trial.ask(trial.present(hits, 1)).await?.has_records(1)
}

/// Returns the octets of the records in an answer.
fn octets(response: &PresentResponse) -> Vec<&[u8]> {
    let records = response.records().iter();
    let octets = records.filter_map(|one| match &one.record {
        Record::RetrievalRecord(external) => Some(external.octets()),
        _ => None,
    });
    octets.collect()
}

async fn each(trial: &mut Trial) -> Checked {
    trial.hits(2).await?;
    let both = trial.ask(trial.present(1, 2)).await.given()?;
    let second = trial.ask(trial.present(2, 1)).await.given()?;
    let (both, alone) = (octets(&both), octets(&second));
    let (Some(beside), Some(alone)) = (both.get(1), alone.first()) else {
        return Err(Verdict::not_judged("the records did not come"));
    };
    want(beside == alone, "the same record", || {
        format!(
            "a record of {} octets, and one of {}",
            beside.len(),
            alone.len()
        )
    })
}

async fn again(trial: &mut Trial) -> Checked {
    let one = of_hits(trial, 1, 1).await.given()?;
    let two = trial.ask(trial.present(1, 1)).await?;
    want(octets(&one) == octets(&two), "the same record", || {
        two.summary()
    })
}

async fn status(trial: &mut Trial) -> Checked {
    let response = of_hits(trial, 1, 1).await?;
    response.has_records(1).given()?;
    let holds = response.present_status == PresentStatus::SUCCESS;
    want(holds, "presentStatus success", || response.summary())
}

async fn counted(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    trial.ask(trial.present(1, hits.min(3))).await?.counted()
}

async fn next_position(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    let response = trial.ask(trial.present(1, 1)).await?;
    response.has_records(1).given()?;
    let next = response.next_result_set_position;
    let holds = next == 2 || (next == 0 && hits == 1);
    want(holds, "nextResultSetPosition 2", || response.summary())
}

async fn database(trial: &mut Trial) -> Checked {
    let response = of_hits(trial, 1, 1).await?;
    let named = response
        .records()
        .first()
        .map(|record| record.name.is_some());
    match named {
        None => Err(Verdict::not_judged("no record came")),
        Some(named) => want(named, "the name of the database", || response.summary()),
    }
}

/// Fails unless the Present as a whole or each of its records was refused.
fn all_refused(response: &PresentResponse) -> Checked {
    let surrogates = response.surrogates().len();
    if surrogates > 0 && surrogates == response.records().len() {
        Ok(())
    } else {
        response.refused()
    }
}

fn all_refused_with(response: &PresentResponse, code: i64) -> Checked {
    let found = response.all_diagnostics();
    let holds = found.iter().any(|one| one.condition == code);
    want(holds, format!("diagnostic {code}"), || response.summary())
}

async fn refused(trial: &mut Trial, start: i64, number: i64) -> Checked {
    all_refused(&of_hits(trial, start, number).await?)
}

async fn coded(trial: &mut Trial, start: i64, number: i64) -> Checked {
    all_refused_with(&of_hits(trial, start, number).await?, 13)
}

async fn refused_from_end(trial: &mut Trial, after: i64, number: i64) -> Checked {
    let hits = trial.hits(1).await?;
    all_refused(&trial.ask(trial.present(hits + after, number)).await?)
}

async fn coded_from_end(trial: &mut Trial, after: i64, number: i64) -> Checked {
    let hits = trial.hits(1).await?;
    all_refused_with(&trial.ask(trial.present(hits + after, number)).await?, 13)
}

/// Fails unless the answer to a request for too many records indicates that some are missing.
fn honest(response: &PresentResponse, asked: i64) -> Checked {
    let records = i64::try_from(response.records().len()).unwrap_or(i64::MAX);
    let is_success = response.present_status == PresentStatus::SUCCESS;
    let holds = !is_success || records == asked;
    want(
        holds,
        "a failure, a partial presentStatus, or diagnostics in the places of the missing records",
        || response.summary(),
    )?;
    response.reaction().map(drop)
}

async fn across_end(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    honest(&trial.ask(trial.present(hits, 2)).await?, 2)
}

async fn zero(trial: &mut Trial) -> Checked {
    let response = of_hits(trial, 1, 0).await?;
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => response.has_records(0),
    }
}

async fn negative(trial: &mut Trial) -> Checked {
    let response = of_hits(trial, 1, -1).await?;
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => response.has_records(0),
    }
}

async fn largest(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    honest(&trial.ask(trial.present(hits, MAX)).await?, MAX)
}

async fn beyond_32_bits(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    let number = (1 << 32) + 1;
    honest(&trial.ask(trial.present(hits, number)).await?, number)
}

async fn ranges(trial: &mut Trial) -> Checked {
    trial.hits(2).await?;
    trial.needs_version_3()?;
    let request = PresentRequest {
        additional_ranges: Some(vec![Range {
            starting_position: 2,
            number_of_records: 1,
        }]),
        ..trial.present(1, 1)
    };
    let response = trial.ask(request).await?;
    response.not_offered_if(&[243])?;
    complete(&response, 2)
}

async fn after_failure(trial: &mut Trial) -> Checked {
    let response = of_hits(trial, 0, 1).await.given()?;
    if response.succeeded() {
        return Err(Verdict::not_judged("position 0 was not refused"));
    }
    trial.ask(trial.present(1, 1)).await?.has_records(1)
}

async fn many(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    for _ in 0..20 {
        trial.ask(trial.present(1, 1)).await?.has_records(1)?;
    }
    Ok(())
}
