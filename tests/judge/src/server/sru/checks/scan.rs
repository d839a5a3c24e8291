//! Checks of scan: the terms of an index, their order, positions and numbers of records.

use z3950_asn1::sru::Version;

use super::super::answer::JudgedReply;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "scan.terms" Shall all scan "terms":
        "Each term of a scan has a value."
        => values;
    "scan.repeated" Shall all scan "terms":
        "A scan that is repeated lists the same terms."
        => repeated;
    "scan.different" Shall any scan "terms":
        "No term of a scan is listed twice."
        => different;
    "scan.ascending" Practice any scan "terms":
        "Terms of a scan that are letters ascend, regardless of their case."
        => ascending;
    "scan.next" Shall any scan "scanClause":
        "A scan from the second term of a list begins with that term."
        => from_second;
    "scan.maximum.one" Shall all scan "maximumTerms":
        "With maximumTerms 1 no more than one term comes."
        => maximum(1);
    "scan.maximum.three" Shall all scan "maximumTerms":
        "With maximumTerms 3 no more than three terms come."
        => maximum(3);
    "scan.maximum.omitted" Shall all scan "maximumTerms":
        "A scan without maximumTerms brings as many terms as the server chooses."
        => maximum_omitted;
    "scan.maximum.negative" Shall all diagnostic "6":
        "A negative maximumTerms is refused."
        => refused("maximumTerms", "-1");
    "scan.maximum.word" Shall all diagnostic "6":
        "A maximumTerms that is no number is refused."
        => refused("maximumTerms", "few");
    "scan.position.one" Shall all scan "responsePosition":
        "Without responsePosition the list begins as with responsePosition 1."
        => position_one;
    "scan.position.two" Should any scan "responsePosition":
        "With responsePosition 2 the start term is the second of the list."
        => shifted(2);
    "scan.position.last" Should any scan "responsePosition":
        "With responsePosition maximumTerms the start term is the last of the list."
        => shifted(3);
    "scan.position.zero" Should any scan "responsePosition":
        "With responsePosition 0 the list begins after the start term."
        => shifted(0);
    "scan.position.after" Should any scan "responsePosition":
        "With responsePosition maximumTerms plus 1 the list ends before the start term."
        => shifted(4);
    "scan.position.far" Should any diagnostic "120":
        "A responsePosition far beyond maximumTerms is refused, or brings terms."
        => far;
    "scan.position.word" Shall all diagnostic "6":
        "A responsePosition that is no number is refused."
        => refused("responsePosition", "first");
    "scan.records" Should all scan "numberOfRecords":
        "A search for a term of a scan finds as many records as the scan says."
        => records;
    "scan.where" Shall any scan "whereInList":
        "whereInList is first, last, only or inner."
        => places;
    "scan.where.first" Shall any scan "whereInList":
        "Only the first of all terms has whereInList first or only."
        => first_place;
    "scan.clause.missing" Shall old diagnostic "7":
        "A scan without a clause is refused."
        => without_clause;
    "scan.clause.syntax" Shall all diagnostic "10":
        "A scan clause that is no search clause is refused."
        => clause("dc.title =");
    "scan.clause.boolean" Should any diagnostic "10":
        "A scan clause with a boolean is refused."
        => clause("a and b");
    "scan.index.unknown" Shall all diagnostic "16":
        "A scan of an unknown index is refused."
        => clause("dc.z3950conformance=a");
    "scan.index.unknown.code" Should any diagnostic "16":
        "A scan of an unknown index is refused with 16, unsupported index, or 15 or 17."
        => unknown_index;
    "scan.parameter.unknown" Should all diagnostic "8":
        "A parameter that scan does not have is refused with 8."
        => unknown_parameter;
};

async fn listed(trial: &mut SruTrial, version: Version, maximum: usize) -> Checked<JudgedReply> {
    let scan = trial
        .scan(version)?
        .with("maximumTerms", maximum.to_string());
    let reply = trial.ask(&scan).await?.accepted()?;
    want(!reply.terms().is_empty(), "terms", || reply.summary())?;
    Ok(reply)
}

/// Returns at least `least` terms of the index, which the check needs. Ends the check if this fails.
async fn terms(trial: &mut SruTrial, version: Version, least: usize) -> Checked<Vec<String>> {
    let reply = listed(trial, version, least).await.given()?;
    let found: Vec<String> = reply.values().into_iter().map(str::to_owned).collect();
    if found.len() >= least {
        Ok(found)
    } else {
        Err(Verdict::not_judged(format!(
            "needs a scan with {}",
            counted(least, "term")
        )))
    }
}

/// Returns a scan clause for the index of the usual scan, but with this start term.
fn from(trial: &SruTrial, term: &str) -> Checked<String> {
    let clause = trial.offer.scan_clause.as_deref().unwrap_or_default();
    let (index, _) = clause
        .rsplit_once('=')
        .ok_or_else(|| Verdict::not_offered("no scan"))?;
    let term = term.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("{index}=\"{term}\""))
}

async fn values(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = listed(trial, version, 5).await?;
    let values = reply.values();
    let holds = !values.is_empty()
        && values.len() == reply.terms().len()
        && values.iter().all(|value| !value.is_empty());
    want(holds, "a value in each term", || reply.summary())
}

async fn repeated(trial: &mut SruTrial, version: Version) -> Checked {
    let first = listed(trial, version, 5).await.given()?;
    let again = listed(trial, version, 5).await?;
    want(first.values() == again.values(), "the same terms", || {
        again.summary()
    })
}

async fn different(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = listed(trial, version, 10).await?;
    let mut values = reply.values();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    want(values.len() == count, "no term twice", || reply.summary())
}

async fn ascending(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = listed(trial, version, 10).await?;
    let values = reply.values();
    let letters = values
        .iter()
        .filter(|value| value.bytes().all(|octet| octet.is_ascii_alphabetic()));
    let letters: Vec<String> = letters.map(|value| value.to_ascii_lowercase()).collect();
    want(letters.is_sorted(), "terms in ascending order", || {
        reply.summary()
    })
}

async fn from_second(trial: &mut SruTrial, version: Version) -> Checked {
    let list = terms(trial, version, 2).await?;
    let second = list.get(1).map(String::as_str).unwrap_or_default();
    let scan = trial
        .scan(version)?
        .with("scanClause", from(trial, second)?);
    let reply = trial.ask(&scan).await?.accepted()?;
    want(
        reply.values().first() == Some(&second),
        format!("{second:?} first"),
        || reply.summary(),
    )
}

async fn maximum(trial: &mut SruTrial, version: Version, most: usize) -> Checked {
    let reply = listed(trial, version, most).await?;
    let holds = (1..=most).contains(&reply.terms().len());
    want(holds, format!("terms, {most} at most"), || reply.summary())
}

async fn maximum_omitted(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial.scan(version)?.without("maximumTerms");
    let reply = trial.ask(&scan).await?.accepted()?;
    want(!reply.terms().is_empty(), "terms", || reply.summary())
}

async fn refused(trial: &mut SruTrial, version: Version, name: &str, value: &str) -> Checked {
    let scan = trial.scan(version)?.with(name, value);
    trial.ask(&scan).await?.refused_with(&[])
}

async fn position_one(trial: &mut SruTrial, version: Version) -> Checked {
    let by_default = listed(trial, version, 3).await.given()?;
    let scan = trial
        .scan(version)?
        .with("maximumTerms", "3")
        .with("responsePosition", "1");
    let reply = trial.ask(&scan).await?.accepted()?;
    want(
        reply.values() == by_default.values(),
        "the same terms",
        || reply.summary(),
    )
}

/// Requests three terms around the fourth term of a list, with the given response position. Fails unless they agree with the
/// list.
async fn shifted(trial: &mut SruTrial, version: Version, position: usize) -> Checked {
    let list = terms(trial, version, 7).await?;
    let fourth = list.get(3).map(String::as_str).unwrap_or_default();
    let scan = trial
        .scan(version)?
        .with("scanClause", from(trial, fourth)?);
    let scan = scan
        .with("maximumTerms", "3")
        .with("responsePosition", position.to_string());
    let reply = trial.ask(&scan).await?.not_offered_if(&[120])?.accepted()?;
    // The fourth term of the list has to be at `position` in the answer, counted from 1.
    let begin = 4 - position;
    let wanted = list.get(begin..begin + 3).unwrap_or_default();
    want(reply.values() == wanted, format!("{wanted:?}"), || {
        reply.summary()
    })
}

async fn far(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial.scan(version)?.with("responsePosition", "1000");
    let reply = trial.ask(&scan).await?;
    let holds = !reply.diagnostics().is_empty() || !reply.terms().is_empty();
    want(holds, "diagnostic 120 or 6, or terms", || reply.summary())
}

async fn records(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let reply = listed(trial, version, 1).await.given()?;
    let term = reply.terms().first();
    let said = term.and_then(|term| term.text_of("numberOfRecords"));
    let said: u64 = said
        .and_then(|said| said.parse().ok())
        .ok_or_else(|| Verdict::not_offered("terms have no number of records"))?;
    let value = reply.values().first().copied().unwrap_or_default();
    let query = from(trial, value)?;
    let found = trial
        .ask(&trial.search_for(version, &query))
        .await
        .and_then(JudgedReply::accepted)
        .given()?;
    want(
        found.hits() == Some(said),
        format!("{} for {value:?}", counted(said, "record")),
        || found.summary(),
    )
}

async fn places(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = listed(trial, version, 5).await?;
    let places = reply
        .terms()
        .iter()
        .filter_map(|term| term.text_of("whereInList"));
    let places: Vec<&str> = places.collect();
    if places.is_empty() {
        return Err(Verdict::not_offered("terms do not say where they are"));
    }
    let holds = places
        .iter()
        .all(|place| matches!(*place, "first" | "last" | "only" | "inner"));
    want(holds, "first, last, only or inner", || places.join(" "))
}

async fn first_place(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = listed(trial, version, 5).await?;
    let mut places = reply.terms().iter().map(|term| term.text_of("whereInList"));
    if places.clone().all(|place| place.is_none()) {
        return Err(Verdict::not_offered("terms do not say where they are"));
    }
    places.next();
    let holds = places.all(|place| !matches!(place, Some("first" | "only")));
    want(holds, "first for the first term only", || reply.summary())
}

async fn without_clause(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial.scan(version)?.without("scanClause");
    trial.ask(&scan).await?.refused_with(&[])
}

async fn clause(trial: &mut SruTrial, version: Version, clause: &str) -> Checked {
    let scan = trial.scan(version)?.with("scanClause", clause);
    trial.ask(&scan).await?.refused_with(&[])
}

async fn unknown_index(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial
        .scan(version)?
        .with("scanClause", "dc.z3950conformance=a");
    trial.ask(&scan).await?.refused_with(&[16, 15, 17])
}

async fn unknown_parameter(trial: &mut SruTrial, version: Version) -> Checked {
    let scan = trial.scan(version)?.with("z3950Conformance", "1");
    trial.ask(&scan).await?.refused_with(&[8])
}
