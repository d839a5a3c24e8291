//! Checks of the selection and numbering of records: startRecord, maximumRecords, numberOfRecords, recordPosition and
//! nextRecordPosition.

use z3950_asn1::sru::Version;

use super::super::answer::JudgedReply;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::requests::NOWHERE;
use crate::server::verdict::{CHANGING, Checked, Preparation, Verdict, counted, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "search.count" Shall all search "numberOfRecords":
        "A search that is repeated finds the same number of records."
        => count;
    "search.zero" Shall all search "numberOfRecords":
        "A query that nothing matches finds 0 records, without diagnostics."
        => zero;
    "search.zero.records" Shall all search "records":
        "The answer to a search that finds nothing has no records and no next position."
        => zero_records;
    "search.maximum.zero" Shall all search "maximumRecords":
        "With maximumRecords 0 the number comes without records."
        => maximum_zero;
    "search.maximum.one" Shall all search "maximumRecords":
        "With maximumRecords 1 no more than one record comes."
        => maximum(1);
    "search.maximum.two" Shall all search "maximumRecords":
        "With maximumRecords 2 no more than two records come."
        => maximum(2);
    "search.maximum.large" Shall all search "maximumRecords":
        "No more records come than were found, however many were asked for."
        => maximum(100_000);
    "search.maximum.omitted" Shall all search "maximumRecords":
        "Without maximumRecords the server chooses the number, and no more records come than were found."
        => maximum_omitted;
    "search.maximum.negative" Shall all diagnostic "6":
        "A negative maximumRecords is refused."
        => refused("maximumRecords", "-1", &[]);
    "search.maximum.negative.code" Should all diagnostic "6":
        "A negative maximumRecords is refused with 6, unsupported parameter value."
        => refused("maximumRecords", "-1", &[6]);
    "search.maximum.word" Shall all diagnostic "6":
        "A maximumRecords that is no number is refused."
        => refused("maximumRecords", "few", &[]);
    "search.maximum.word.code" Should all diagnostic "6":
        "A maximumRecords that is no number is refused with 6, unsupported parameter value."
        => refused("maximumRecords", "few", &[6]);
    "search.start.first" Shall all search "startRecord":
        "Without startRecord the first record comes, as with startRecord 1."
        => first;
    "search.start.second" Shall all search "startRecord":
        "With startRecord 2 the second record of the list comes first."
        => second;
    "search.start.last" Shall all search "startRecord":
        "With startRecord numberOfRecords the last record comes, alone."
        => last;
    "search.start.zero" Shall all search "startRecord":
        "startRecord 0 is refused: positions begin with 1."
        => refused("startRecord", "0", &[]);
    "search.start.zero.code" Should all diagnostic "6":
        "startRecord 0 is refused with 6, unsupported parameter value, or 61."
        => refused("startRecord", "0", &[6, 61]);
    "search.start.negative" Shall all search "startRecord":
        "A negative startRecord is refused."
        => refused("startRecord", "-1", &[]);
    "search.start.word" Shall all search "startRecord":
        "A startRecord that is no number is refused."
        => refused("startRecord", "first", &[]);
    "search.start.word.code" Should all diagnostic "6":
        "A startRecord that is no number is refused with 6, unsupported parameter value."
        => refused("startRecord", "first", &[6]);
    "search.start.beyond" Shall all search "startRecord":
        "A startRecord after the last record is refused, or brings no records."
        => beyond(1, &[]);
    "search.start.beyond.code" Should all diagnostic "61":
        "A startRecord after the last record is refused with 61, first record position out of range."
        => beyond(1, &[61]);
    "search.start.far" Should all diagnostic "61":
        "A startRecord above 2147483647 is refused with 61, or with 6."
        => beyond(2_147_483_647, &[61, 6]);
    "search.start.huge" Shall all diagnostic "61":
        "A startRecord of 21 digits is refused."
        => refused("startRecord", "100000000000000000000", &[]);
    "search.position" Shall all search "recordPosition":
        "If records have a recordPosition, it is their position in the result, from startRecord on."
        => positions;
    "search.position.given" Should all search "recordPosition":
        "Records have a recordPosition."
        => position_given;
    "search.next" Shall all search "nextRecordPosition":
        "If there is a nextRecordPosition, it is that after the last record of the answer."
        => next;
    "search.next.given" Should all search "nextRecordPosition":
        "While records remain, there is a nextRecordPosition."
        => next_given;
    "search.next.end" Should all search "nextRecordPosition":
        "After the last record there is no nextRecordPosition."
        => next_at_end;
    "search.pages" Shall all search "startRecord":
        "Searches for one record each bring the records of the whole list."
        => pages;
};

async fn count(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let first = trial.ask(&search).await?.accepted()?.counted()?;
    let reply = trial.ask(&search).await?;
    want(
        reply.hits() == Some(first),
        format!("{} again", counted(first, "record")),
        || reply.summary(),
    )
}

/// Returns a query for a word that does not occur in any record, in the index of the query with hits.
pub(super) fn nowhere(trial: &SruTrial) -> Checked<String> {
    let query = trial.query(0)?;
    Ok(match query.rsplit_once('=') {
        Some((index, _)) if !query.contains([' ', '(']) => format!("{index}={NOWHERE}"),
        _ => NOWHERE.to_owned(),
    })
}

async fn zero(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search_for(version, &nowhere(trial)?);
    let reply = trial.ask(&search).await?.accepted()?;
    if reply.hits() != Some(0) {
        let again = trial.ask(&search).await.given()?;
        if again.hits() != reply.hits() {
            return Err(Verdict::not_judged(CHANGING));
        }
    }
    want(reply.hits() == Some(0), "numberOfRecords 0", || {
        reply.summary()
    })
}

async fn zero_records(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search_for(version, &nowhere(trial)?);
    let reply = trial.ask(&search).await?;
    if reply.hits() != Some(0) {
        return Err(Verdict::not_judged("no search without hits was found"));
    }
    let has_next = reply.root().child("nextRecordPosition").is_some();
    let holds = reply.records().is_empty() && !has_next;
    want(holds, "no records and no nextRecordPosition", || {
        reply.summary()
    })
}

async fn maximum_zero(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("maximumRecords", "0");
    let reply = trial.ask(&search).await?.accepted()?;
    let holds = reply.records().is_empty() && reply.hits().is_some_and(|hits| hits > 0);
    want(holds, "the number of records, and none of them", || {
        reply.summary()
    })
}

async fn maximum(trial: &mut SruTrial, version: Version, most: u64) -> Checked {
    let search = trial.search(version)?;
    let search = search.with("maximumRecords", most.to_string());
    // Some servers refuse large numbers instead of sending fewer records.
    let reply = trial.ask(&search).await?.not_offered_if(&[6, 60])?;
    fits(&reply.accepted()?, most)
}

async fn maximum_omitted(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.without("maximumRecords");
    let reply = trial.ask(&search).await?.accepted()?;
    fits(&reply, u64::MAX)
}

/// Fails if the answer has more records than requested, or more than were found.
fn fits(reply: &JudgedReply, most: u64) -> Checked {
    let most = reply.counted()?.min(most);
    let records = u64::try_from(reply.records().len()).unwrap_or(u64::MAX);
    want(
        records <= most,
        format!("{} at most", counted(most, "record")),
        || reply.summary(),
    )
}

async fn refused(
    trial: &mut SruTrial,
    version: Version,
    name: &str,
    value: &str,
    numbers: &[u16],
) -> Checked {
    let search = trial.search(version)?.with(name, value);
    trial.ask(&search).await?.refused_with(numbers)
}

async fn beyond(trial: &mut SruTrial, version: Version, more: u64, numbers: &[u16]) -> Checked {
    let search = trial.search(version)?;
    let hits = trial.given(&search).await?.counted().given()?;
    let start = hits.saturating_add(more).to_string();
    let reply = trial.ask(&search.with("startRecord", start)).await?;
    match numbers {
        [] => want(reply.records().is_empty(), "no records", || reply.summary()),
        numbers => reply.refused_with(numbers),
    }
}

/// Requests some records. Fails unless at least one record is returned.
async fn some(
    trial: &mut SruTrial,
    version: Version,
    start: u64,
    most: u64,
) -> Checked<JudgedReply> {
    let search = trial.search(version)?;
    let search = search
        .with("startRecord", start.to_string())
        .with("maximumRecords", most.to_string());
    let reply = trial.ask(&search).await?.accepted()?;
    want(!reply.records().is_empty(), "records", || reply.summary())?;
    Ok(reply)
}

/// Returns the data of the first record in an answer, or `None` if there are no records.
fn first_data(reply: &JudgedReply) -> Option<&super::super::tree::XmlNode> {
    reply.records().first()?.child("recordData")
}

async fn first(trial: &mut SruTrial, version: Version) -> Checked {
    let by_default = trial.ask(&trial.search(version)?).await?.accepted()?;
    let at_one = some(trial, version, 1, 1).await?;
    let holds = first_data(&by_default) == first_data(&at_one);
    want(holds, "the same record", || at_one.summary())
}

async fn second(trial: &mut SruTrial, version: Version) -> Checked {
    trial.query(2)?;
    let both = some(trial, version, 1, 2).await.given()?;
    let Some(wanted) = both.records().get(1) else {
        return Err(Verdict::not_judged("the server sends one record at a time"));
    };
    let reply = some(trial, version, 2, 1).await?;
    let holds = first_data(&reply) == wanted.child("recordData");
    want(holds, "the second record of the list", || reply.summary())
}

async fn last(trial: &mut SruTrial, version: Version) -> Checked {
    let hits = trial
        .given(&trial.search(version)?)
        .await?
        .counted()
        .given()?;
    let reply = some(trial, version, hits, 2).await?;
    want(reply.records().len() == 1, "1 record", || reply.summary())
}

async fn positions(trial: &mut SruTrial, version: Version) -> Checked {
    let start = if trial.offer.hits > 1 { 2 } else { 1 };
    let reply = some(trial, version, start, 3).await?;
    let found = reply.records().iter();
    let found = found.filter_map(|record| record.text_of("recordPosition"));
    let found: Vec<&str> = found.collect();
    if found.is_empty() {
        return Err(Verdict::not_offered("records have no position"));
    }
    let wanted: Vec<String> = (start..)
        .take(reply.records().len())
        .map(|at| at.to_string())
        .collect();
    want(
        found == wanted,
        format!("positions {}", wanted.join(" ")),
        || format!("positions {}", found.join(" ")),
    )
}

async fn position_given(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = some(trial, version, 1, 3).await?;
    let mut records = reply.records().iter();
    let holds = records.all(|record| record.child("recordPosition").is_some());
    want(holds, "recordPosition in each record", || reply.summary())
}

async fn next(trial: &mut SruTrial, version: Version) -> Checked {
    trial.query(2)?;
    let reply = some(trial, version, 1, 1).await?;
    let Some(next) = reply.root().text_of("nextRecordPosition") else {
        return Err(Verdict::not_offered("there is no nextRecordPosition"));
    };
    let wanted = (reply.records().len() + 1).to_string();
    want(
        next == wanted,
        format!("nextRecordPosition {wanted}"),
        || reply.summary(),
    )
}

async fn next_given(trial: &mut SruTrial, version: Version) -> Checked {
    trial.query(2)?;
    let reply = some(trial, version, 1, 1).await?;
    let holds = reply.root().child("nextRecordPosition").is_some();
    want(holds, "nextRecordPosition", || reply.summary())
}

async fn next_at_end(trial: &mut SruTrial, version: Version) -> Checked {
    let hits = trial
        .given(&trial.search(version)?)
        .await?
        .counted()
        .given()?;
    let reply = some(trial, version, hits, 1).await?;
    let holds = reply.root().child("nextRecordPosition").is_none();
    want(holds, "no nextRecordPosition", || reply.summary())
}

async fn pages(trial: &mut SruTrial, version: Version) -> Checked {
    trial.query(2)?;
    let whole = some(trial, version, 1, 3).await.given()?;
    for (start, record) in (1..).zip(whole.records()) {
        let reply = some(trial, version, start, 1).await?;
        let wanted = format!("record {start} of the list");
        want(
            first_data(&reply) == record.child("recordData"),
            wanted,
            || reply.summary(),
        )?;
    }
    Ok(())
}
